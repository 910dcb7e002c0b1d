"""Mesh triangles near a convex shape by BVH traversal, with their neighbours."""

from __future__ import annotations

import warp as wp

from sharnir.collision.convex.support_mapping import core_center_of, core_radius, core_support
from sharnir.collision.shapes import TRIANGLE_CORNERS, EdgeFlag, Geometry, ShapePose, WorldSphere
from sharnir.collision.surface.internal_edges import SurfaceTriangle
from sharnir.kernels.types import column, real, vec3


@wp.struct
class LocalAabb:
    """A box along the axes of a surface, m."""

    low: vec3
    high: vec3


@wp.func
def compute_local_aabb(geo: Geometry, S: ShapePose, B: ShapePose):
    """Box of a convex shape B in the frame of S, m."""
    out = LocalAabb()
    r = core_radius(B)
    for k in range(3):
        axis = column(S.R, k)
        out.low[k] = wp.dot(axis, core_support(geo, B, -axis) - S.x) - r
        out.high[k] = wp.dot(axis, core_support(geo, B, axis) - S.x) + r
    return out


@wp.func
def enlarge_aabb(aabb: LocalAabb, margin: real):
    """A box enlarged by a margin (m) on all sides."""
    out = LocalAabb()
    out.low = aabb.low - vec3(margin)
    out.high = aabb.high + vec3(margin)
    return out


@wp.func
def make_bounding_sphere(B: ShapePose, aabb: LocalAabb):
    """Sphere about the center of a shape with the radius of its box."""
    out = WorldSphere()
    out.center = core_center_of(B)
    out.radius = real(0.5) * wp.length(aabb.high - aabb.low)
    return out


@wp.func
def is_aabb_overlapping(aabb: LocalAabb, low: vec3, high: vec3):
    """Whether a box overlaps another."""
    out = low[0] <= aabb.high[0] and high[0] >= aabb.low[0] and low[1] <= aabb.high[1]
    return out and high[1] >= aabb.low[1] and low[2] <= aabb.high[2] and high[2] >= aabb.low[2]


@wp.func
def mesh_triangle_of(geo: Geometry, k: int):
    """Triangle k of the meshes with its neighbours."""
    out = SurfaceTriangle()
    out.index = k
    out.vertex_a = geo.mesh_triangle_vertex[TRIANGLE_CORNERS * k]
    out.vertex_b = geo.mesh_triangle_vertex[TRIANGLE_CORNERS * k + 1]
    out.vertex_c = geo.mesh_triangle_vertex[TRIANGLE_CORNERS * k + 2]
    out.a = geo.mesh_vertex[out.vertex_a]
    out.b = geo.mesh_vertex[out.vertex_b]
    out.c = geo.mesh_vertex[out.vertex_c]
    out.normal = wp.normalize(wp.cross(out.b - out.a, out.c - out.a))
    if geo.mesh_opposite_vertex[TRIANGLE_CORNERS * k] >= 0:
        out.opposite_ab = geo.mesh_vertex[geo.mesh_opposite_vertex[TRIANGLE_CORNERS * k]]
        out.neighbour_bits += EdgeFlag.AB
    if geo.mesh_opposite_vertex[TRIANGLE_CORNERS * k + 1] >= 0:
        out.opposite_bc = geo.mesh_vertex[geo.mesh_opposite_vertex[TRIANGLE_CORNERS * k + 1]]
        out.neighbour_bits += EdgeFlag.BC
    if geo.mesh_opposite_vertex[TRIANGLE_CORNERS * k + 2] >= 0:
        out.opposite_ca = geo.mesh_vertex[geo.mesh_opposite_vertex[TRIANGLE_CORNERS * k + 2]]
        out.neighbour_bits += EdgeFlag.CA
    return out
