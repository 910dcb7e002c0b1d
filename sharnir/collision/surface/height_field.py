"""The triangles of a height field's cells, and what surrounds them."""

from __future__ import annotations

import warp as wp

from sharnir.collision.shapes import Geometry, Placed
from sharnir.collision.surface.internal_edges import Patch, field_vertex
from sharnir.kernels.types import real


@wp.func
def is_vertex(geo: Geometry, field: Placed, row: int, col: int):
    """1 where there is a height, 0 beyond the rim."""
    inside = row >= 0 and col >= 0 and row < geo.field_rows[field.data] and col < geo.field_columns[field.data]
    return wp.where(inside, 1, 0)


@wp.func
def nearest_vertex(geo: Geometry, field: Placed, row: int, col: int):
    """The point of a vertex, m; beyond the rim the last one before it."""
    row = wp.clamp(row, 0, geo.field_rows[field.data] - 1)
    return field_vertex(geo, field, row, wp.clamp(col, 0, geo.field_columns[field.data] - 1))


@wp.func
def field_patch(geo: Geometry, field: Placed, i: int, j: int, upper: int):
    """The lower or upper triangle of cell (i, j), beside the x or the y axis, with its neighbourhood."""
    columns = geo.field_columns[field.data]
    out = Patch()
    out.number = 2 * (i * (columns - 1) + j) + upper
    out.a = field_vertex(geo, field, i, j)
    out.at_a = i * columns + j
    if upper == 0:
        out.b = field_vertex(geo, field, i + 1, j)
        out.c = field_vertex(geo, field, i + 1, j + 1)
        out.at_b = out.at_a + columns
        out.at_c = out.at_b + 1
        out.across_ab = nearest_vertex(geo, field, i, j - 1)
        out.shared += is_vertex(geo, field, i, j - 1)
        out.across_bc = nearest_vertex(geo, field, i + 2, j + 1)
        out.shared += 2 * is_vertex(geo, field, i + 2, j + 1)
        out.across_ca = nearest_vertex(geo, field, i, j + 1)
        out.shared += 4 * is_vertex(geo, field, i, j + 1)
    else:
        out.b = field_vertex(geo, field, i + 1, j + 1)
        out.c = field_vertex(geo, field, i, j + 1)
        out.at_c = out.at_a + 1
        out.at_b = out.at_c + columns
        out.across_ab = nearest_vertex(geo, field, i + 1, j)
        out.shared += is_vertex(geo, field, i + 1, j)
        out.across_bc = nearest_vertex(geo, field, i + 1, j + 2)
        out.shared += 2 * is_vertex(geo, field, i + 1, j + 2)
        out.across_ca = nearest_vertex(geo, field, i - 1, j)
        out.shared += 4 * is_vertex(geo, field, i - 1, j)
    out.normal = wp.normalize(wp.cross(out.b - out.a, out.c - out.a))
    return out


@wp.func
def first_cell(x: real, half: real, cells: int):
    """Number of the cell that holds a coordinate; what is outside counts as the next one there."""
    at = wp.clamp((x + half) / (real(2.0) * half) * real(cells), real(-1.0), real(cells))
    return int(wp.floor(at))
