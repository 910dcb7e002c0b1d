"""The triangles of a mesh near a convex shape, from its tree of boxes, and what surrounds them."""

from __future__ import annotations

import warp as wp

from sharnir.collision.contact_reduction import Ball
from sharnir.collision.convex.support_mapping import centre, core_radius, core_support
from sharnir.collision.shapes import Geometry, Placed
from sharnir.collision.surface.internal_edges import Patch
from sharnir.kernels.types import column, real, vec3


@wp.struct
class Bounds:
    """A box along the axes of a surface, m."""

    low: vec3
    high: vec3


@wp.func
def bounds_in(geo: Geometry, S: Placed, B: Placed):
    """The box of a convex shape B in the frame of S."""
    out = Bounds()
    r = core_radius(B)
    for k in range(3):
        axis = column(S.R, k)
        out.low[k] = wp.dot(axis, core_support(geo, B, -axis) - S.x) - r
        out.high[k] = wp.dot(axis, core_support(geo, B, axis) - S.x) + r
    return out


@wp.func
def enlarged(box: Bounds, margin: real):
    """By a margin on all sides."""
    out = Bounds()
    out.low = box.low - vec3(margin)
    out.high = box.high + vec3(margin)
    return out


@wp.func
def ball_about(B: Placed, box: Bounds):
    """About the middle of a shape that has a box."""
    out = Ball()
    out.center = centre(B)
    out.radius = real(0.5) * wp.length(box.high - box.low)
    return out


@wp.func
def overlaps(box: Bounds, low: vec3, high: vec3):
    out = low[0] <= box.high[0] and high[0] >= box.low[0] and low[1] <= box.high[1]
    return out and high[1] >= box.low[1] and low[2] <= box.high[2] and high[2] >= box.low[2]


@wp.func
def mesh_patch(geo: Geometry, k: int):
    """Triangle k with its neighbourhood."""
    out = Patch()
    out.number = k
    out.at_a = geo.mesh_corner[3 * k]
    out.at_b = geo.mesh_corner[3 * k + 1]
    out.at_c = geo.mesh_corner[3 * k + 2]
    out.a = geo.mesh_vertex[out.at_a]
    out.b = geo.mesh_vertex[out.at_b]
    out.c = geo.mesh_vertex[out.at_c]
    out.normal = wp.normalize(wp.cross(out.b - out.a, out.c - out.a))
    if geo.mesh_opposite[3 * k] >= 0:
        out.across_ab = geo.mesh_vertex[geo.mesh_opposite[3 * k]]
        out.shared += 1
    if geo.mesh_opposite[3 * k + 1] >= 0:
        out.across_bc = geo.mesh_vertex[geo.mesh_opposite[3 * k + 1]]
        out.shared += 2
    if geo.mesh_opposite[3 * k + 2] >= 0:
        out.across_ca = geo.mesh_vertex[geo.mesh_opposite[3 * k + 2]]
        out.shared += 4
    return out
