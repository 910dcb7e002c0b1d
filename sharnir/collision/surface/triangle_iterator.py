"""Iterator over the triangles of a surface near a convex shape, in a fixed order."""

from __future__ import annotations

import warp as wp

from sharnir.collision.shapes import TRIANGLE_CORNERS, Geometry, ShapePose, WorldSphere
from sharnir.collision.surface.height_field import field_cell_of, field_triangle_of
from sharnir.collision.surface.internal_edges import SurfaceTriangle, field_vertex_of
from sharnir.collision.surface.mesh_bvh import (
    LocalAabb,
    compute_local_aabb,
    enlarge_aabb,
    is_aabb_overlapping,
    make_bounding_sphere,
    mesh_triangle_of,
)
from sharnir.enums import ShapeKind
from sharnir.kernels.types import real


@wp.struct
class TriangleIterator:
    """State of the iterator."""

    valid: int  # 1 while it is at a triangle
    sphere: WorldSphere  # bounding sphere of the convex shape
    aabb: LocalAabb  # of the convex shape, with margin, in the frame of the surface
    triangle: int  # of a mesh; of a height field's cell: 0 or 1
    leaf_end: int  # of a mesh: first triangle after the leaf
    next_node: int  # of a mesh: next BVH node
    row: int  # of a height field
    column: int


@wp.func
def begin_triangles(geo: Geometry, S: ShapePose, B: ShapePose, margin: real):
    """Iterator before the first triangle of S within a margin (m) of the box of B."""
    out = TriangleIterator()
    aabb = compute_local_aabb(geo, S, B)
    out.sphere = make_bounding_sphere(B, aabb)
    out.aabb = enlarge_aabb(aabb, margin)
    if S.kind == ShapeKind.HEIGHT_FIELD:
        out.row = wp.max(field_cell_of(out.aabb.low[0], S.size[0], geo.field_rows[S.data] - 1), 0)
        out.column = wp.max(field_cell_of(out.aabb.low[1], S.size[1], geo.field_columns[S.data] - 1), 0)
        out.triangle = -1
    else:
        out.next_node = geo.mesh_node_start[S.data]
    return out


@wp.func
def advance_in_field(geo: Geometry, S: ShapePose, iterator: TriangleIterator):
    """Advance to the next triangle of a height field whose cell is in the box and which reaches above its bottom."""
    out = iterator
    rows = geo.field_rows[S.data] - 1
    columns = geo.field_columns[S.data] - 1
    last_row = wp.min(field_cell_of(out.aabb.high[0], S.size[0], rows), rows - 1)
    last_column = wp.min(field_cell_of(out.aabb.high[1], S.size[1], columns), columns - 1)
    out.valid = 0
    if out.column > last_column:  # nothing along y
        out.row = last_row + 1
    out.triangle += 1
    while out.valid == 0 and out.row <= last_row:
        if out.triangle == 2:
            out.triangle = 0
            out.column += 1
            if out.column > last_column:
                out.column = wp.max(field_cell_of(out.aabb.low[1], S.size[1], columns), 0)
                out.row += 1
        if out.row <= last_row:
            a = field_vertex_of(geo, S, out.row, out.column)
            c = field_vertex_of(geo, S, out.row + 1, out.column + 1)
            b = field_vertex_of(geo, S, out.row + 1 - out.triangle, out.column + out.triangle)
            if out.aabb.low[2] <= wp.max(wp.max(a[2], b[2]), c[2]):
                out.valid = 1
            else:
                out.triangle += 1
    return out


@wp.func
def advance_in_mesh(geo: Geometry, S: ShapePose, iterator: TriangleIterator):
    """Advance to the next triangle of a mesh whose box overlaps that of the shape."""
    out = iterator
    end = geo.mesh_node_start[S.data + 1]
    if out.valid == 1:
        out.triangle += 1
    out.valid = 0
    while out.valid == 0 and (out.triangle < out.leaf_end or out.next_node < end):
        if out.triangle < out.leaf_end:
            a = geo.mesh_vertex[geo.mesh_triangle_vertex[TRIANGLE_CORNERS * out.triangle]]
            b = geo.mesh_vertex[geo.mesh_triangle_vertex[TRIANGLE_CORNERS * out.triangle + 1]]
            c = geo.mesh_vertex[geo.mesh_triangle_vertex[TRIANGLE_CORNERS * out.triangle + 2]]
            if is_aabb_overlapping(out.aabb, wp.min(wp.min(a, b), c), wp.max(wp.max(a, b), c)):
                out.valid = 1
            else:
                out.triangle += 1
        elif is_aabb_overlapping(out.aabb, geo.node_low[out.next_node], geo.node_high[out.next_node]):
            out.triangle = geo.node_first[out.next_node]
            out.leaf_end = out.triangle + geo.node_count[out.next_node]
            out.next_node += 1
        else:
            out.next_node = geo.node_skip[out.next_node]
    return out


@wp.func
def advance_triangle(geo: Geometry, S: ShapePose, iterator: TriangleIterator):
    """Advance to the next triangle, if there is one."""
    out = TriangleIterator()
    if S.kind == ShapeKind.HEIGHT_FIELD:
        out = advance_in_field(geo, S, iterator)
    else:
        out = advance_in_mesh(geo, S, iterator)
    return out


@wp.func
def current_triangle_of(geo: Geometry, S: ShapePose, iterator: TriangleIterator):
    """The triangle at which the iterator is, with its neighbours."""
    out = SurfaceTriangle()
    if S.kind == ShapeKind.HEIGHT_FIELD:
        out = field_triangle_of(geo, S, iterator.row, iterator.column, iterator.triangle)
    else:
        out = mesh_triangle_of(geo, iterator.triangle)
    return out
