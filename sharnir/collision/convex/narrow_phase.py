"""The points where two convex shapes touch, or come closer than a margin.

Balls and capsules have closed forms. For every other pair first the normal and the gap are found (half-spaces: given;
boxes: separating axes; all else: the walks of `gjk` and `penetration`), then the points along them (`manifold`).
"""

from __future__ import annotations

import warp as wp

from sharnir.collision.convex.box_sat import box_axis
from sharnir.collision.convex.epa import depth
from sharnir.collision.convex.gjk import FAR, TOGETHER, distance
from sharnir.collision.convex.manifold import BOUNDED, FACING, Meeting, put_meeting
from sharnir.collision.convex.primitives import ball_and_solid, balls, is_round, over_plane
from sharnir.collision.convex.support_mapping import centre, core_radius, core_support, on_rim
from sharnir.collision.convex.triangle import UPRIGHT, leans, side_normal
from sharnir.collision.shapes import Found, Geometry, Placed
from sharnir.enums import BOX, CAPSULE, CYLINDER, HALF_SPACE, HULL, SPHERE, TRIANGLE
from sharnir.kernels.columns import put3
from sharnir.kernels.types import column, real, vec3


@wp.func
def _rank(kind: int):
    """Shapes are compared in this order, whatever the order they come in."""
    rank = int(3)
    if kind == HALF_SPACE:
        rank = 0
    elif kind == SPHERE:
        rank = 1
    elif kind == CAPSULE:
        rank = 2
    return rank


@wp.func
def _either(second: bool, A: Placed, B: Placed):
    S = Placed()
    S.kind = wp.where(second, B.kind, A.kind)
    S.data = wp.where(second, B.data, A.data)
    S.R = wp.where(second, B.R, A.R)
    S.x = wp.where(second, B.x, A.x)
    S.size = wp.where(second, B.size, A.size)
    return S


@wp.func
def _extent(geo: Geometry, S: Placed):
    """About how large a shape is, m."""
    e = wp.length(S.size)
    if S.kind == HULL:
        e = wp.length(geo.vertex[geo.hull_vertex[S.data]])
    elif S.kind == TRIANGLE:
        e = wp.length(column(S.R, 1) - column(S.R, 0)) + wp.length(column(S.R, 2) - column(S.R, 0))
    return e


@wp.func
def _by_plane(geo: Geometry, A: Placed, B: Placed):
    """A is a half-space."""
    m = Meeting()
    m.normal = column(A.R, 2)
    m.on_b = core_support(geo, B, -m.normal)
    m.gap = wp.dot(m.normal, m.on_b - A.x)
    m.on_a = m.on_b - m.normal * m.gap
    m.gap = m.gap - core_radius(B)
    m.size = _extent(geo, B)
    m.sure = FACING
    return m


@wp.func
def _by_walks(geo: Geometry, A: Placed, B: Placed, margin: real):
    """Any two cores. Where they are farther apart than `margin` (m), `normal` is a direction that shows it."""
    m = Meeting()
    m.size = _extent(geo, A) + _extent(geo, B)
    m.sure = FACING
    W = wp.zeros(shape=(4,), dtype=vec3)
    P = wp.zeros(shape=(4,), dtype=vec3)
    radii = core_radius(A) + core_radius(B)
    state, v, on_a, count = distance(geo, A, B, margin + radii, W, P, m.size)
    m.on_a = on_a
    m.normal = -v
    m.gap = real(1.0e30)
    if state != FAR:
        if state == TOGETHER:
            normal, deep, deepest = depth(geo, A, B, W, P, count, m.size)
            m.normal = normal
            m.gap = -deep - radii
            m.on_a = deepest
            m.on_b = deepest - normal * deep
        else:
            apart = wp.length(v)
            m.normal = v / -apart
            m.gap = apart - radii
            m.on_b = on_a - v
        # walks end with a chord of a rim; the point itself is off it
        apart = m.gap + radii
        alone_a, rim_a = on_rim(A, m.normal)
        alone_b, rim_b = on_rim(B, -m.normal)
        if alone_b:
            m.on_a = rim_b - m.normal * apart
            m.on_b = rim_b
        elif alone_a:
            m.on_a = rim_a
            m.on_b = rim_a + m.normal * apart
    return m


@wp.func
def _off_face(geo: Geometry, A: Placed, B: Placed, second: bool, m: Meeting):
    """A meeting with a triangle (A, or B) goes through its face where it would go out of its back, or lean over an edge
    that goes on; else it stays as it is."""
    S = _either(second, A, B)
    O = _either(not second, A, B)
    out = side_normal(S, centre(O))
    sign = wp.where(second, real(-1.0), real(1.0))
    normal = m.normal * sign  # from the triangle to the other
    if wp.length_sq(out) > real(0.5) and (wp.dot(normal, out) < -UPRIGHT or leans(S, normal)):
        lowest = core_support(geo, O, -out)
        m.normal = out * sign
        m.gap = wp.dot(out, lowest - S.x - column(S.R, 0)) - core_radius(O)
        m.sure = BOUNDED
    return m


@wp.func
def _solids(geo: Geometry, A: Placed, B: Placed, origin: vec3, margin: real, found: Found, n: int, flip: real, w: int):
    """Pairs without a closed form. Boxes apart may be nearest at corners, which separating axes do not see: then no
    point is found along theirs, and they are walked. Where no point is found, the normal of the one that would be next
    is a direction from A to B along which they were last seen apart."""
    before = n
    boxes = A.kind == BOX and B.kind == BOX
    attempt = wp.where(boxes, 0, 1)
    while attempt < 2:
        m = Meeting()
        if A.kind == HALF_SPACE:
            m = _by_plane(geo, A, B)
        elif attempt == 0:
            normal, gap = box_axis(A, B, margin)
            m.normal = normal
            m.gap = gap
            m.size = wp.length(A.size) + wp.length(B.size)
        else:
            m = _by_walks(geo, A, B, margin)
            if m.gap < margin and (A.kind == TRIANGLE or B.kind == TRIANGLE):
                m = _off_face(geo, A, B, A.kind != TRIANGLE, m)
        attempt += 1
        if m.gap < margin:
            n = put_meeting(geo, A, B, m, origin, margin, found, n, flip, w)
        else:
            attempt = 2
        if n > before:
            attempt = 2
        elif n < found.most:
            put3(found.normal, n, w, m.normal * flip)
    return n


@wp.func
def touch(geo: Geometry, A: Placed, B: Placed, margin: real, found: Found, n: int, w: int):
    """Append the points of A and B that are less than `margin` (m) apart, at most four; returns how many there are.

    For triangles see `support_mapping`. Normals point from A to B. For what is left where there are none see
    `_solids`.
    """
    swap = _rank(B.kind) < _rank(A.kind)
    P = _either(swap, A, B)
    Q = _either(not swap, A, B)
    flip = wp.where(swap, real(-1.0), real(1.0))
    if is_round(P) and is_round(Q):
        n = balls(P, Q, margin, found, n, flip, w)
    elif P.kind == HALF_SPACE and is_round(Q):
        n = over_plane(P, Q, margin, found, n, flip, w)
    elif P.kind == SPHERE and (Q.kind == BOX or Q.kind == CYLINDER or Q.kind == TRIANGLE):
        n = ball_and_solid(P, Q, margin, found, n, flip, w)
    elif Q.kind != HALF_SPACE:
        origin = P.x  # far from the world's, coordinates about it keep more digits
        Q.x = Q.x - origin
        P.x = vec3()
        n = _solids(geo, P, Q, origin, margin, found, n, flip, w)
    return n
