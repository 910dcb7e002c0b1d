"""Height-field triangles with their neighbours. Cell (i, j) has two triangles, split by the diagonal (i, j) – (i + 1, j
+ 1)."""

from __future__ import annotations

import warp as wp

from sharnir.collision.shapes import EdgeFlag, Geometry, ShapePose
from sharnir.collision.surface.internal_edges import SurfaceTriangle, field_vertex_of
from sharnir.kernels.types import real


@wp.func
def has_field_vertex(geo: Geometry, field: ShapePose, row: int, col: int):
    """1 if row, col is a vertex of a height field, 0 if it is beyond the rim."""
    inside = row >= 0 and col >= 0 and row < geo.field_rows[field.data] and col < geo.field_columns[field.data]
    return wp.where(inside, 1, 0)


@wp.func
def clamped_field_vertex_of(geo: Geometry, field: ShapePose, row: int, col: int):
    """Position of a vertex, field frame, m; beyond the rim that of the last vertex before it."""
    row = wp.clamp(row, 0, geo.field_rows[field.data] - 1)
    return field_vertex_of(geo, field, row, wp.clamp(col, 0, geo.field_columns[field.data] - 1))


@wp.func
def field_triangle_of(geo: Geometry, field: ShapePose, i: int, j: int, upper: int):
    """The lower (upper = 0, at the x axis) or upper triangle of cell (i, j) with its neighbours. neighbour_bits:
    `EdgeFlag`, of which AB is 1."""
    columns = geo.field_columns[field.data]
    out = SurfaceTriangle()
    out.index = 2 * (i * (columns - 1) + j) + upper
    out.a = field_vertex_of(geo, field, i, j)
    out.vertex_a = i * columns + j
    if upper == 0:
        out.b = field_vertex_of(geo, field, i + 1, j)
        out.c = field_vertex_of(geo, field, i + 1, j + 1)
        out.vertex_b = out.vertex_a + columns
        out.vertex_c = out.vertex_b + 1
        out.opposite_ab = clamped_field_vertex_of(geo, field, i, j - 1)
        out.neighbour_bits += has_field_vertex(geo, field, i, j - 1)
        out.opposite_bc = clamped_field_vertex_of(geo, field, i + 2, j + 1)
        out.neighbour_bits += EdgeFlag.BC * has_field_vertex(geo, field, i + 2, j + 1)
        out.opposite_ca = clamped_field_vertex_of(geo, field, i, j + 1)
        out.neighbour_bits += EdgeFlag.CA * has_field_vertex(geo, field, i, j + 1)
    else:
        out.b = field_vertex_of(geo, field, i + 1, j + 1)
        out.c = field_vertex_of(geo, field, i, j + 1)
        out.vertex_c = out.vertex_a + 1
        out.vertex_b = out.vertex_c + columns
        out.opposite_ab = clamped_field_vertex_of(geo, field, i + 1, j)
        out.neighbour_bits += has_field_vertex(geo, field, i + 1, j)
        out.opposite_bc = clamped_field_vertex_of(geo, field, i + 1, j + 2)
        out.neighbour_bits += EdgeFlag.BC * has_field_vertex(geo, field, i + 1, j + 2)
        out.opposite_ca = clamped_field_vertex_of(geo, field, i - 1, j)
        out.neighbour_bits += EdgeFlag.CA * has_field_vertex(geo, field, i - 1, j)
    out.normal = wp.normalize(wp.cross(out.b - out.a, out.c - out.a))
    return out


@wp.func
def field_cell_of(x: real, half: real, cells: int):
    """Index of the cell that holds a coordinate x (m); −1 or `cells` outside. half: half the extent of the field, m."""
    at = wp.clamp((x + half) / (real(2.0) * half) * real(cells), real(-1.0), real(cells))
    return int(wp.floor(at))
