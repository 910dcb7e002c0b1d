"""Ways out of a triangle other than through its own face: over to a neighbour, or out of a face of the other shape."""

from __future__ import annotations

import warp as wp

from sharnir.collision.contact_reduction import WorldSphere
from sharnir.collision.convex.support_mapping import core_radius, core_support
from sharnir.collision.shapes import Geometry, ShapePose
from sharnir.collision.surface.internal_edges import (
    MAX_FLAT_EDGE_SINE,
    UNLIMITED_DEPTH,
    SurfaceTriangle,
    is_outer_direction,
)
from sharnir.enums import BOX, CAPSULE, CYLINDER, HULL, SPHERE
from sharnir.kernels.types import column, real, vec3


@wp.struct
class TriangleExit:
    """How a shape lies on the neighbours of a triangle across convex edges: below a thin ridge much is deep for one
    side and hardly inside for the other, which is the one that counts."""

    depth: real  # m, how far it reaches below the plane of one of them, the least; ≥ 0
    normal: vec3  # halfway between that one's and the triangle's own, which it is without such neighbours; world


@wp.func
def update_neighbour_exit(
    geo: Geometry, S: ShapePose, u: vec3, v: vec3, opposite: vec3, normal: vec3, B: ShapePose, best: TriangleExit
):
    """The better one of `best` and the neighbour with corners v, u, w (m, frame of S) of a triangle."""
    out = best
    if wp.dot(normal, opposite - u) < -MAX_FLAT_EDGE_SINE * wp.length(opposite - u):
        other_normal = wp.normalize(wp.cross(u - v, opposite - v))
        up = S.R * other_normal
        depth = core_radius(B) - wp.dot(up, core_support(geo, B, -up) - S.x - S.R * u)
        if depth < out.depth:
            out.depth = wp.max(depth, real(0.0))
            out.normal = S.R * wp.normalize(normal + other_normal)
    return out


@wp.func
def find_neighbour_exit(geo: Geometry, S: ShapePose, triangle: SurfaceTriangle, B: ShapePose):
    """B on the neighbours of a triangle of S."""
    out = TriangleExit()
    out.depth = UNLIMITED_DEPTH
    out.normal = S.R * triangle.normal
    if (triangle.neighbour_bits & 1) == 1:
        out = update_neighbour_exit(geo, S, triangle.a, triangle.b, triangle.opposite_ab, triangle.normal, B, out)
    if (triangle.neighbour_bits & 2) == 2:
        out = update_neighbour_exit(geo, S, triangle.b, triangle.c, triangle.opposite_bc, triangle.normal, B, out)
    if (triangle.neighbour_bits & 4) == 4:
        out = update_neighbour_exit(geo, S, triangle.c, triangle.a, triangle.opposite_ca, triangle.normal, B, out)
    return out


@wp.func
def local_half_extents(B: ShapePose, sphere: WorldSphere):
    """Of B along its own axes, or more, m."""
    out = vec3(real(2.0) * sphere.radius)  # a hull's middle need not be that of its box
    if B.kind == BOX:
        out = B.size
    elif B.kind == SPHERE:
        out = vec3(B.size[0])
    elif B.kind == CYLINDER:
        out = vec3(B.size[0], B.size[0], B.size[1])
    elif B.kind == CAPSULE:
        out = vec3(B.size[0], B.size[0], B.size[0] + B.size[1])
    return out


@wp.func
def find_hull_exit_face(geo: Geometry, hull: int, a: vec3, b: vec3, c: vec3):
    """The face of a hull through which the way out of it is shortest for a triangle, and how long it is (m)."""
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
    """The better one of `best` and the way of a triangle out of a face of B, if the surface has that side."""
    world_to_b = wp.transpose(B.R)
    R_ab = world_to_b * S.R
    x_ab = world_to_b * (S.x - sphere.center)
    a = R_ab * triangle.a + x_ab
    b = R_ab * triangle.b + x_ab
    c = R_ab * triangle.c + x_ab
    depth = UNLIMITED_DEPTH
    normal = vec3()
    if B.kind == HULL:
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
