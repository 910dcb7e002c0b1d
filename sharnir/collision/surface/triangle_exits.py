"""Ways out of a triangle other than through its own face: over to a neighbour, or out of a face of the other shape."""

from __future__ import annotations

import warp as wp

from sharnir.collision.contact_reduction import Ball
from sharnir.collision.convex.support_mapping import core_radius, core_support
from sharnir.collision.shapes import Geometry, Placed
from sharnir.collision.surface.internal_edges import FAR_BELOW, FLAT_EDGE, Patch, is_side
from sharnir.enums import BOX, CAPSULE, CYLINDER, HULL, SPHERE
from sharnir.kernels.types import column, real, vec3


@wp.struct
class Beside:
    """How a shape lies on the neighbours of a triangle across convex edges: below a thin ridge much is deep for one
    side and hardly inside for the other, which is the one that counts."""

    depth: real  # m, how far it reaches below the plane of one of them, the least; ≥ 0
    normal: vec3  # halfway between that one's and the triangle's own, which it is without such neighbours; world


@wp.func
def compared(geo: Geometry, S: Placed, u: vec3, v: vec3, w: vec3, normal: vec3, B: Placed, best: Beside):
    """The better one of `best` and the neighbour with corners v, u, w (m, frame of S) of a triangle."""
    out = best
    if wp.dot(normal, w - u) < -FLAT_EDGE * wp.length(w - u):
        other = wp.normalize(wp.cross(u - v, w - v))
        up = S.R * other
        depth = core_radius(B) - wp.dot(up, core_support(geo, B, -up) - S.x - S.R * u)
        if depth < out.depth:
            out.depth = wp.max(depth, real(0.0))
            out.normal = S.R * wp.normalize(normal + other)
    return out


@wp.func
def beside(geo: Geometry, S: Placed, patch: Patch, B: Placed):
    """B on the neighbours of a triangle of S."""
    out = Beside()
    out.depth = FAR_BELOW
    out.normal = S.R * patch.normal
    if (patch.shared & 1) == 1:
        out = compared(geo, S, patch.a, patch.b, patch.across_ab, patch.normal, B, out)
    if (patch.shared & 2) == 2:
        out = compared(geo, S, patch.b, patch.c, patch.across_bc, patch.normal, B, out)
    if (patch.shared & 4) == 4:
        out = compared(geo, S, patch.c, patch.a, patch.across_ca, patch.normal, B, out)
    return out


@wp.func
def half_extent(B: Placed, ball: Ball):
    """Of B along its own axes, or more, m."""
    out = vec3(real(2.0) * ball.radius)  # a hull's middle need not be that of its box
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
def hull_way(geo: Geometry, hull: int, a: vec3, b: vec3, c: vec3):
    """The face of a hull through which the way out of it is shortest for a triangle, and how long it is (m)."""
    best = geo.hull_face[hull]
    least = FAR_BELOW
    f = geo.hull_face[hull]
    while f < geo.hull_face[hull + 1]:
        n = geo.face_normal[f]
        inside = wp.min(wp.min(wp.dot(n, a), wp.dot(n, b)), wp.dot(n, c))
        depth = wp.dot(n, geo.vertex[geo.corner[geo.face_corner[f]]]) - inside
        if depth < least:
            least = depth
            best = f
        f += 1
    return best, least


@wp.func
def through_faces(geo: Geometry, S: Placed, patch: Patch, B: Placed, ball: Ball, best: Beside):
    """The better one of `best` and the way of a triangle out of a face of B, if the surface has that side."""
    back = wp.transpose(B.R)
    turn = back * S.R
    shift = back * (S.x - ball.center)
    a = turn * patch.a + shift
    b = turn * patch.b + shift
    c = turn * patch.c + shift
    depth = FAR_BELOW
    normal = vec3()
    if B.kind == HULL:
        face, depth_of_face = hull_way(geo, B.data, a, b, c)
        depth = depth_of_face
        normal = -(B.R * geo.face_normal[face])
    else:
        half = half_extent(B, ball)
        low = wp.min(wp.min(a, b), c)
        high = wp.max(wp.max(a, b), c)
        for k in range(3):
            if half[k] - low[k] < depth:
                depth = half[k] - low[k]
                normal = -column(B.R, k)
            if high[k] + half[k] < depth:
                depth = high[k] + half[k]
                normal = column(B.R, k)
    out = best
    if depth < best.depth and is_side(geo, S, patch, wp.transpose(S.R) * normal):
        out.depth = wp.max(depth, real(0.0))
        out.normal = normal
    return out
