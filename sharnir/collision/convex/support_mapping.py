"""Convex shapes as a core and a radius around it: a ball is a point, a capsule a segment, the rest have radius 0.

How a TRIANGLE is a `Placed`: see `sharnir.collision.convex.triangle`.
"""

from __future__ import annotations

import warp as wp

from sharnir.collision.shapes import Geometry, Placed
from sharnir.enums import BOX, CAPSULE, CYLINDER, HULL, SPHERE, TRIANGLE
from sharnir.geometry.support_table import SIDE
from sharnir.kernels.types import DOUBLE, column, real, vec3

TINY = wp.constant(real(1.0e-10 if DOUBLE else 1.0e-5))  # of a size: lengths that rounding may have made
OBLIQUE = wp.constant(real(1.0e-4))  # from an axis or the plane across it
HALF_SIDE = wp.constant(real(SIDE / 2))


@wp.func
def core_radius(S: Placed):
    """Radius around the core, m."""
    r = real(0.0)
    if S.kind == SPHERE or S.kind == CAPSULE:
        r = S.size[0]
    return r


@wp.func
def centre(S: Placed):
    """A point of the core, world, m."""
    c = S.x
    if S.kind == TRIANGLE:
        c = S.x + (column(S.R, 0) + column(S.R, 1) + column(S.R, 2)) * real(1.0 / 3.0)
    return c


@wp.func
def cell_along(d: vec3):
    """Of a cube's faces x, y, z, −x, −y, −z, each cut into SIDE × SIDE cells, the cell that d points to."""
    k = int(0)
    if wp.abs(d[1]) > wp.abs(d[0]):
        k = 1
    if wp.abs(d[2]) > wp.abs(d[k]):
        k = 2
    scale = HALF_SIDE / wp.max(wp.abs(d[k]), real(1.0e-30))
    row = wp.clamp(int(d[(k + 1) % 3] * scale + HALF_SIDE), 0, SIDE - 1)
    col = wp.clamp(int(d[(k + 2) % 3] * scale + HALF_SIDE), 0, SIDE - 1)
    return (wp.where(d[k] < real(0.0), k + 3, k) * SIDE + row) * SIDE + col


@wp.func
def hull_support(geo: Geometry, hull: int, d: vec3):
    """Vertex (counted over all hulls) farthest along d, and where it is; shape frame, m."""
    cell = geo.hull_cell[hull]
    if geo.hull_cell[hull + 1] - cell > 1:
        cell = cell + cell_along(d)
    i = geo.cell[cell]
    last = geo.cell[cell + 1]
    best = int(i)
    most = wp.dot(geo.extreme[i], d)
    i += 1
    while i < last:
        along = wp.dot(geo.extreme[i], d)
        if along > most:
            most = along
            best = i
        i += 1
    return geo.extreme_vertex[best], geo.extreme[best]


@wp.func
def _rim_point(S: Placed, e: vec3):
    """Point of a cylinder farthest along e, both in its frame, m."""
    out = S.size[0] / wp.max(wp.sqrt(e[0] * e[0] + e[1] * e[1]), real(1.0e-30))
    return vec3(e[0] * out, e[1] * out, wp.where(e[2] < real(0.0), -S.size[1], S.size[1]))


@wp.func
def on_rim(S: Placed, d: vec3):
    """Whether a cylinder has a single point farthest along a unit vector d (world), and that point, world, m."""
    e = wp.transpose(S.R) * d
    alone = S.kind == CYLINDER and wp.abs(e[2]) > OBLIQUE and wp.abs(e[2]) < real(1.0) - OBLIQUE
    return alone, S.x + S.R * _rim_point(S, e)


@wp.func
def core_support(geo: Geometry, S: Placed, d: vec3):
    """Point of the core farthest along d, world, m."""
    zero = real(0.0)
    p = vec3()
    if S.kind == TRIANGLE:
        k = int(0)
        most = wp.dot(column(S.R, 0), d)
        if wp.dot(column(S.R, 1), d) > most:
            k = 1
            most = wp.dot(column(S.R, 1), d)
        if wp.dot(column(S.R, 2), d) > most:
            k = 2
        p = S.x + column(S.R, k)
    else:
        e = wp.transpose(S.R) * d
        c = vec3()
        if S.kind == BOX:
            c = vec3(
                wp.where(e[0] < zero, -S.size[0], S.size[0]),
                wp.where(e[1] < zero, -S.size[1], S.size[1]),
                wp.where(e[2] < zero, -S.size[2], S.size[2]),
            )
        elif S.kind == HULL:
            at, c = hull_support(geo, S.data, e)
        elif S.kind == CAPSULE:
            c = vec3(zero, zero, wp.where(e[2] < zero, -S.size[1], S.size[1]))
        elif S.kind == CYLINDER:
            c = _rim_point(S, e)
        p = S.x + S.R * c
    return p


@wp.func
def any_normal(d: vec3):
    """A unit vector perpendicular to d, the same for the same d."""
    e = vec3(real(0.0), -d[2], d[1])
    if wp.abs(d[0]) < wp.abs(d[1]) or wp.abs(d[0]) < wp.abs(d[2]):
        e = wp.where(wp.abs(d[1]) < wp.abs(d[2]), vec3(-d[2], real(0.0), d[0]), vec3(-d[1], d[0], real(0.0)))
    size = wp.length(e)
    return wp.where(size > real(0.0), e / wp.max(size, real(1.0e-30)), vec3(real(0.0), real(0.0), real(1.0)))
