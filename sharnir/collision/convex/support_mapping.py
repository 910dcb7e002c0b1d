"""Support mapping of convex shapes, each a core and a radius around it: a sphere's core is a point, a capsule's a
segment, all others have radius 0. Triangles as shapes: see `sharnir.collision.convex.triangle`."""

from __future__ import annotations

import warp as wp

from sharnir.collision.shapes import Geometry, ShapePose
from sharnir.enums import ShapeKind
from sharnir.geometry.support_table import CUBE_MAP_CELLS
from sharnir.kernels.types import DOUBLE, column, real, vec3

TOL_ZERO_LENGTH = wp.constant(real(1.0e-10 if DOUBLE else 1.0e-5))  # relative to a size: lengths that may be rounding
# distance of the axis's cosine from 0 and 1 from which a rim has a single support point
MIN_RIM_OBLIQUITY = wp.constant(real(1.0e-4))
HALF_CUBE_MAP_CELLS = wp.constant(real(CUBE_MAP_CELLS / 2))


@wp.func
def core_radius(S: ShapePose):
    """Radius around the core, m."""
    r = real(0.0)
    if S.kind == ShapeKind.SPHERE or S.kind == ShapeKind.CAPSULE:
        r = S.size[0]
    return r


@wp.func
def core_center_of(S: ShapePose):
    """An interior point of the core, world, m."""
    c = S.x
    if S.kind == ShapeKind.TRIANGLE:
        c = S.x + (column(S.R, 0) + column(S.R, 1) + column(S.R, 2)) * real(1.0 / 3.0)
    return c


@wp.func
def cube_map_cell_of(d: vec3):
    """Index of the cube-map cell that direction d points to; faces x, y, z, −x, −y, −z of CUBE_MAP_CELLS ×
    CUBE_MAP_CELLS cells."""
    k = int(0)
    if wp.abs(d[1]) > wp.abs(d[0]):
        k = 1
    if wp.abs(d[2]) > wp.abs(d[k]):
        k = 2
    scale = HALF_CUBE_MAP_CELLS / wp.max(wp.abs(d[k]), real(1.0e-30))
    row = wp.clamp(int(d[(k + 1) % 3] * scale + HALF_CUBE_MAP_CELLS), 0, CUBE_MAP_CELLS - 1)
    col = wp.clamp(int(d[(k + 2) % 3] * scale + HALF_CUBE_MAP_CELLS), 0, CUBE_MAP_CELLS - 1)
    return (wp.where(d[k] < real(0.0), k + 3, k) * CUBE_MAP_CELLS + row) * CUBE_MAP_CELLS + col


@wp.func
def hull_support(geo: Geometry, hull: int, d: vec3):
    """Support vertex of a hull along d: its index (counted over all hulls) and position; shape frame, m."""
    cell = geo.hull_cell_start[hull]
    if geo.hull_cell_start[hull + 1] - cell > 1:
        cell = cell + cube_map_cell_of(d)
    i = geo.cell_vertex_start[cell]
    last = geo.cell_vertex_start[cell + 1]
    best = int(i)
    max_along = wp.dot(geo.cell_vertex_position[i], d)
    i += 1
    while i < last:
        along = wp.dot(geo.cell_vertex_position[i], d)
        if along > max_along:
            max_along = along
            best = i
        i += 1
    return geo.cell_vertex[best], geo.cell_vertex_position[best]


@wp.func
def _cylinder_support(S: ShapePose, e: vec3):
    """Support point of a cylinder along e, both in its frame, m."""
    out = S.size[0] / wp.max(wp.sqrt(e[0] * e[0] + e[1] * e[1]), real(1.0e-30))
    return vec3(e[0] * out, e[1] * out, wp.where(e[2] < real(0.0), -S.size[1], S.size[1]))


@wp.func
def find_rim_support(S: ShapePose, d: vec3):
    """Whether the support of a cylinder along a unit vector d (world) is a single rim point, and that point
    (world, m)."""
    e = wp.transpose(S.R) * d
    is_single = (
        S.kind == ShapeKind.CYLINDER
        and wp.abs(e[2]) > MIN_RIM_OBLIQUITY
        and wp.abs(e[2]) < real(1.0) - MIN_RIM_OBLIQUITY
    )
    return is_single, S.x + S.R * _cylinder_support(S, e)


@wp.func
def core_support(geo: Geometry, S: ShapePose, d: vec3):
    """Support point of the core along d, world, m."""
    zero = real(0.0)
    p = vec3()
    if S.kind == ShapeKind.TRIANGLE:
        k = int(0)
        max_along = wp.dot(column(S.R, 0), d)
        if wp.dot(column(S.R, 1), d) > max_along:
            k = 1
            max_along = wp.dot(column(S.R, 1), d)
        if wp.dot(column(S.R, 2), d) > max_along:
            k = 2
        p = S.x + column(S.R, k)
    else:
        e = wp.transpose(S.R) * d
        c = vec3()
        if S.kind == ShapeKind.BOX:
            c = vec3(
                wp.where(e[0] < zero, -S.size[0], S.size[0]),
                wp.where(e[1] < zero, -S.size[1], S.size[1]),
                wp.where(e[2] < zero, -S.size[2], S.size[2]),
            )
        elif S.kind == ShapeKind.HULL:
            vertex, c = hull_support(geo, S.data, e)
        elif S.kind == ShapeKind.CAPSULE:
            c = vec3(zero, zero, wp.where(e[2] < zero, -S.size[1], S.size[1]))
        elif S.kind == ShapeKind.CYLINDER:
            c = _cylinder_support(S, e)
        p = S.x + S.R * c
    return p


@wp.func
def make_perpendicular(d: vec3):
    """A unit vector perpendicular to d, a function of d only."""
    e = vec3(real(0.0), -d[2], d[1])
    if wp.abs(d[0]) < wp.abs(d[1]) or wp.abs(d[0]) < wp.abs(d[2]):
        e = wp.where(wp.abs(d[1]) < wp.abs(d[2]), vec3(-d[2], real(0.0), d[0]), vec3(-d[1], d[0], real(0.0)))
    size = wp.length(e)
    return wp.where(size > real(0.0), e / wp.max(size, real(1.0e-30)), vec3(real(0.0), real(0.0), real(1.0)))
