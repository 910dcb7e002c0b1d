"""From triangle to triangle of a surface, those near a convex shape only, in a fixed order."""

from __future__ import annotations

import warp as wp

from sharnir.collision.contact_reduction import Ball
from sharnir.collision.shapes import Geometry, Placed
from sharnir.collision.surface.height_field import field_patch, first_cell
from sharnir.collision.surface.internal_edges import Patch, field_vertex
from sharnir.collision.surface.mesh_bvh import Bounds, ball_about, bounds_in, enlarged, mesh_patch, overlaps
from sharnir.enums import HEIGHT_FIELD
from sharnir.kernels.types import real


@wp.struct
class Walk:
    """Where a walk is."""

    more: int  # 1 while there is a triangle
    ball: Ball  # about the shape
    box: Bounds  # of the shape, with a margin, in the frame of the surface
    triangle: int  # of a mesh; of a cell: 0 or 1
    last: int  # of a mesh: first triangle after the leaf
    node: int  # of a mesh: the next one
    row: int  # of a height field
    column: int


@wp.func
def begin(geo: Geometry, S: Placed, B: Placed, margin: real):
    """Before the first triangle of S within a margin (m) of the box of B."""
    out = Walk()
    tight = bounds_in(geo, S, B)
    out.ball = ball_about(B, tight)
    out.box = enlarged(tight, margin)
    if S.kind == HEIGHT_FIELD:
        out.row = wp.max(first_cell(out.box.low[0], S.size[0], geo.field_rows[S.data] - 1), 0)
        out.column = wp.max(first_cell(out.box.low[1], S.size[1], geo.field_columns[S.data] - 1), 0)
        out.triangle = -1
    else:
        out.node = geo.mesh_node[S.data]
    return out


@wp.func
def next_in_field(geo: Geometry, S: Placed, walk: Walk):
    out = walk
    rows = geo.field_rows[S.data] - 1
    columns = geo.field_columns[S.data] - 1
    last_row = wp.min(first_cell(out.box.high[0], S.size[0], rows), rows - 1)
    last_column = wp.min(first_cell(out.box.high[1], S.size[1], columns), columns - 1)
    out.more = 0
    if out.column > last_column:  # nothing along y
        out.row = last_row + 1
    out.triangle += 1
    while out.more == 0 and out.row <= last_row:
        if out.triangle == 2:
            out.triangle = 0
            out.column += 1
            if out.column > last_column:
                out.column = wp.max(first_cell(out.box.low[1], S.size[1], columns), 0)
                out.row += 1
        if out.row <= last_row:
            a = field_vertex(geo, S, out.row, out.column)
            c = field_vertex(geo, S, out.row + 1, out.column + 1)
            b = field_vertex(geo, S, out.row + 1 - out.triangle, out.column + out.triangle)
            if out.box.low[2] <= wp.max(wp.max(a[2], b[2]), c[2]):
                out.more = 1
            else:
                out.triangle += 1
    return out


@wp.func
def next_in_mesh(geo: Geometry, S: Placed, walk: Walk):
    out = walk
    end = geo.mesh_node[S.data + 1]
    if out.more == 1:
        out.triangle += 1
    out.more = 0
    while out.more == 0 and (out.triangle < out.last or out.node < end):
        if out.triangle < out.last:
            a = geo.mesh_vertex[geo.mesh_corner[3 * out.triangle]]
            b = geo.mesh_vertex[geo.mesh_corner[3 * out.triangle + 1]]
            c = geo.mesh_vertex[geo.mesh_corner[3 * out.triangle + 2]]
            if overlaps(out.box, wp.min(wp.min(a, b), c), wp.max(wp.max(a, b), c)):
                out.more = 1
            else:
                out.triangle += 1
        elif overlaps(out.box, geo.node_low[out.node], geo.node_high[out.node]):
            out.triangle = geo.node_first[out.node]
            out.last = out.triangle + geo.node_count[out.node]
            out.node += 1
        else:
            out.node = geo.node_skip[out.node]
    return out


@wp.func
def onward(geo: Geometry, S: Placed, walk: Walk):
    """At the next triangle, if there is one."""
    out = Walk()
    if S.kind == HEIGHT_FIELD:
        out = next_in_field(geo, S, walk)
    else:
        out = next_in_mesh(geo, S, walk)
    return out


@wp.func
def patch_at(geo: Geometry, S: Placed, walk: Walk):
    """The triangle where a walk is."""
    out = Patch()
    if S.kind == HEIGHT_FIELD:
        out = field_patch(geo, S, walk.row, walk.column, walk.triangle)
    else:
        out = mesh_patch(geo, walk.triangle)
    return out
