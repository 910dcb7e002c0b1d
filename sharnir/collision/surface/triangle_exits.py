"""Exits of a convex shape from a triangle of a surface other than through the triangle's own face: over a convex edge
to a neighbour's face, or through a face of the convex shape itself."""

from __future__ import annotations

import warp as wp

from sharnir.collision.convex.support_mapping import core_radius, core_support
from sharnir.collision.shapes import EdgeFlag, Geometry, ShapePose, WorldSphere
from sharnir.collision.surface.internal_edges import (
    MAX_FLAT_EDGE_SINE,
    UNLIMITED_DEPTH,
    SurfaceTriangle,
    is_outer_direction,
)
from sharnir.enums import ShapeKind
from sharnir.kernels.types import column, real, vec3


@wp.struct
class TriangleExit:
    """The shortest exit found so far of a convex shape from a triangle. Below a thin ridge a shape is deep for one face
    and hardly inside for the neighbour across the ridge; the smaller depth counts."""

    depth: real  # m, ≥ 0, the least depth below the plane of a neighbour across a convex edge
    # unit, world: bisector of that neighbour's normal and the triangle's own; the triangle's own without such
    # neighbours
    normal: vec3


@wp.struct
class TriangleEdge:
    """Edge of a triangle with the neighbour across it, whose corners are v, u and `opposite`; surface frame, m."""

    u: vec3
    v: vec3
    opposite: vec3


@wp.func
def make_edge(u: vec3, v: vec3, opposite: vec3):
    """The edge from u to v with the third corner of the neighbour across it; surface frame, m."""
    out = TriangleEdge()
    out.u = u
    out.v = v
    out.opposite = opposite
    return out


@wp.func
def update_neighbour_exit(
    geo: Geometry, S: ShapePose, edge: TriangleEdge, normal: vec3, B: ShapePose, best: TriangleExit
):
    """The shorter of `best` and the exit over an edge, if it is convex, to the neighbour across it. normal: of the
    triangle, frame of S. B: the convex shape."""
    out = best
    across = edge.opposite - edge.u
    if wp.dot(normal, across) < -MAX_FLAT_EDGE_SINE * wp.length(across):
        other_normal = wp.normalize(wp.cross(edge.u - edge.v, edge.opposite - edge.v))
        up = S.R * other_normal
        depth = core_radius(B) - wp.dot(up, core_support(geo, B, -up) - S.x - S.R * edge.u)
        if depth < out.depth:
            out.depth = wp.max(depth, real(0.0))
            out.normal = S.R * wp.normalize(normal + other_normal)
    return out


@wp.func
def find_neighbour_exit(geo: Geometry, S: ShapePose, triangle: SurfaceTriangle, B: ShapePose):
    """The shortest exit of a convex shape B from a triangle of S over its convex edges."""
    out = TriangleExit()
    out.depth = UNLIMITED_DEPTH
    out.normal = S.R * triangle.normal
    if (triangle.neighbour_bits & EdgeFlag.AB) == EdgeFlag.AB:
        edge = make_edge(triangle.a, triangle.b, triangle.opposite_ab)
        out = update_neighbour_exit(geo, S, edge, triangle.normal, B, out)
    if (triangle.neighbour_bits & EdgeFlag.BC) == EdgeFlag.BC:
        edge = make_edge(triangle.b, triangle.c, triangle.opposite_bc)
        out = update_neighbour_exit(geo, S, edge, triangle.normal, B, out)
    if (triangle.neighbour_bits & EdgeFlag.CA) == EdgeFlag.CA:
        edge = make_edge(triangle.c, triangle.a, triangle.opposite_ca)
        out = update_neighbour_exit(geo, S, edge, triangle.normal, B, out)
    return out


@wp.func
def local_half_extents(B: ShapePose, sphere: WorldSphere):
    """Half-extents of a box along the axes of B that bounds B, or a larger one, m."""
    out = vec3(real(2.0) * sphere.radius)  # a hull's middle need not be that of its box
    if B.kind == ShapeKind.BOX:
        out = B.size
    elif B.kind == ShapeKind.SPHERE:
        out = vec3(B.size[0])
    elif B.kind == ShapeKind.CYLINDER:
        out = vec3(B.size[0], B.size[0], B.size[1])
    elif B.kind == ShapeKind.CAPSULE:
        out = vec3(B.size[0], B.size[0], B.size[0] + B.size[1])
    return out


@wp.func
def find_hull_exit_face(geo: Geometry, hull: int, a: vec3, b: vec3, c: vec3):
    """The face of a hull through which the translation of triangle a b c (m, hull frame) out of the hull is shortest,
    and the length of that translation (m)."""
    best = geo.hull_face_start[hull]
    min_depth = UNLIMITED_DEPTH
    f = geo.hull_face_start[hull]
    while f < geo.hull_face_start[hull + 1]:
        n = geo.face_normal[f]
        inside = wp.min(wp.min(wp.dot(n, a), wp.dot(n, b)), wp.dot(n, c))
        depth = wp.dot(n, geo.vertex[geo.face_vertex[geo.face_corner_start[f]]]) - inside
        if depth < min_depth:
            min_depth = depth
            best = f
        f += 1
    return best, min_depth


@wp.func
def update_other_face_exit(
    geo: Geometry, S: ShapePose, triangle: SurfaceTriangle, B: ShapePose, sphere: WorldSphere, best: TriangleExit
):
    """The shorter of `best` and the exit of a triangle of S through a face of B, if the surface has an outside in that
    direction."""
    world_to_b = wp.transpose(B.R)
    R_ab = world_to_b * S.R
    x_ab = world_to_b * (S.x - sphere.center)
    a = R_ab * triangle.a + x_ab
    b = R_ab * triangle.b + x_ab
    c = R_ab * triangle.c + x_ab
    depth = UNLIMITED_DEPTH
    normal = vec3()
    if B.kind == ShapeKind.HULL:
        face, depth_of_face = find_hull_exit_face(geo, B.data, a, b, c)
        depth = depth_of_face
        normal = -(B.R * geo.face_normal[face])
    else:
        half_extents = local_half_extents(B, sphere)
        low = wp.min(wp.min(a, b), c)
        high = wp.max(wp.max(a, b), c)
        for k in range(3):
            if half_extents[k] - low[k] < depth:
                depth = half_extents[k] - low[k]
                normal = -column(B.R, k)
            if high[k] + half_extents[k] < depth:
                depth = high[k] + half_extents[k]
                normal = column(B.R, k)
    out = best
    if depth < best.depth and is_outer_direction(geo, S, triangle, wp.transpose(S.R) * normal):
        out.depth = wp.max(depth, real(0.0))
        out.normal = normal
    return out
