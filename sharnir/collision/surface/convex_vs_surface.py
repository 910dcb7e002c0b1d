"""The points where any two shapes meet: convex ones, and a convex one on a height field or mesh."""

from __future__ import annotations

import warp as wp

from sharnir.collision.contact_reduction import Ball, deepest, keep_point
from sharnir.collision.convex.gjk import APART, FAR, TOGETHER, distance
from sharnir.collision.convex.narrow_phase import touch
from sharnir.collision.convex.support_mapping import core_radius, core_support
from sharnir.collision.shapes import Found, Geometry, Placed
from sharnir.collision.surface.internal_edges import (
    FAR_BELOW,
    TILT,
    Patch,
    WayOut,
    plane_of,
    sift_plane,
    sift_triangle,
    triangle_of,
    way_out,
)
from sharnir.collision.surface.triangle_exits import Beside, beside, half_extent, through_faces
from sharnir.collision.surface.triangle_iterator import Walk, begin, onward, patch_at
from sharnir.enums import HEIGHT_FIELD, MESH, SPHERE
from sharnir.kernels.columns import get, get3, put3
from sharnir.kernels.types import column, real, vec3

ALL, TRIANGLES, PLANES, DONE = range(4)  # what is compared: two convex shapes, a triangle, the plane of a triangle


@wp.func
def is_surface(S: Placed):
    return S.kind == HEIGHT_FIELD or S.kind == MESH


@wp.func
def height_over(geo: Geometry, S: Placed, patch: Patch, B: Placed):
    """Of the lowest point of the core of B over the plane of a triangle, m."""
    up = S.R * patch.normal
    return wp.dot(up, core_support(geo, B, -up) - S.x - S.R * patch.a)


@wp.func
def in_front(S: Placed, patch: Patch, center: vec3):
    """How far a point is in front of a triangle, m."""
    return wp.dot(S.R * patch.normal, center - S.x - S.R * patch.a)


@wp.func
def in_reach(S: Placed, patch: Patch, B: Placed, lowest: real, margin: real, ball: Ball):
    """Whether B reaches down to the plane of a triangle that reaches into a box about B along B's axes."""
    near = lowest < margin + core_radius(B)
    if near:
        back = wp.transpose(B.R)
        turn = back * S.R
        shift = back * (S.x - ball.center)
        a = turn * patch.a + shift
        b = turn * patch.b + shift
        c = turn * patch.c + shift
        half = half_extent(B, ball) + vec3(margin)
        low = wp.min(wp.min(a, b), c)
        high = wp.max(wp.max(a, b), c)
        near = low[0] <= half[0] and low[1] <= half[1] and low[2] <= half[2]
        near = near and high[0] >= -half[0] and high[1] >= -half[1] and high[2] >= -half[2]
    return near


@wp.func
def may_sink(S: Placed, patch: Patch, lowest: real, count: int, ball: Ball):
    """Whether points of B below a triangle count although none has the triangle's normal: the shortest way out may be
    past its edges. A height field is solid; a mesh holds what it touches and what is, by its middle, in front."""
    held = S.kind == HEIGHT_FIELD or (count > 0 and in_front(S, patch, ball.center) > real(0.0))
    return held and lowest < real(0.0)


@wp.func
def encounter(geo: Geometry, T: Placed, B: Placed, up: vec3, margin: real, ball: Ball):
    """Whether the core of B is in a triangle (TOGETHER), apart from it within a margin (APART), or neither: farther, or
    nearest from behind. `touch` would take the last for deep inside: it does not know the other side of a ridge."""
    state = int(APART)
    if B.kind != SPHERE:
        W = wp.zeros(shape=(4,), dtype=vec3)
        P = wp.zeros(shape=(4,), dtype=vec3)
        here = T  # far from the world's origin, coordinates about it keep more digits
        there = B
        here.x = vec3()
        there.x = B.x - T.x
        size = ball.radius + wp.length(column(T.R, 1)) + wp.length(column(T.R, 2))
        state, v, on_t, count = distance(geo, here, there, margin + core_radius(B), W, P, size)
        if state == APART and wp.dot(v, up) > TILT * wp.length(v):
            state = FAR
    return state


@wp.func
def with_escape(found: Found, first: int, n: int, least: WayOut, ball: Ball, w: int):
    """Add the shortest way out if there is one and no point that touches; returns the new n. By rounding, what just
    touches may count as an overlap."""
    if least.depth < FAR_BELOW and n < found.most:
        alone = n == first
        if not alone:
            alone = get(found.gap, deepest(found, first, n, w), w) > TILT * ball.radius
        if alone:
            n = keep_point(found, first, n, least.normal, least.point, -least.depth, least.feature, ball, w)
    return n


@wp.func
def turn_normals(found: Found, first: int, end: int, w: int):
    k = int(first)
    while k < end:
        put3(found.normal, k, w, -get3(found.normal, k, w))
        k += 1


@wp.func
def meet(geo: Geometry, A: Placed, B: Placed, margin: real, found: Found, n: int, w: int):
    """Append the points of A and B that are less than `margin` (m) apart; returns how many there are then. Normals
    point from A to B.

    At most four of two convex shapes; at most KEPT on a height field or mesh, among which candidates need room for four
    more. Two surfaces do not meet. `touch` is called at a single place: it is large, and inlined.
    """
    swap = is_surface(B)
    S = A
    O = B
    if swap:
        S = B
        O = A
    first = n
    doing = int(ALL)
    walk = Walk()
    patch = Patch()
    ball = Ball()
    near = Beside()
    state = int(FAR)
    least = WayOut()
    least.depth = FAR_BELOW
    if is_surface(S):
        doing = DONE
        if not is_surface(O):
            walk = onward(geo, S, begin(geo, S, O, margin))
            ball = walk.ball
            if walk.more == 1:
                patch = patch_at(geo, S, walk)
                doing = TRIANGLES
    while doing != DONE:
        T = S
        if doing == TRIANGLES:
            T = triangle_of(S, patch)
        elif doing == PLANES:
            T = plane_of(S, patch)
        end = int(n)
        lowest = real(0.0)
        if doing == TRIANGLES:
            lowest = height_over(geo, S, patch, O)
            state = FAR
            if in_reach(S, patch, O, lowest, margin, ball):
                state = encounter(geo, T, O, S.R * patch.normal, margin, ball)
        if doing != TRIANGLES or state != FAR:
            end = touch(geo, T, O, margin, found, n, w)
        stored = wp.min(end, found.most)
        onwards = int(1)
        if doing == ALL:
            n = end
        elif doing == PLANES:
            n = sift_plane(S, patch, ball, near.depth, core_radius(O), found, first, n, stored, w)
        else:
            count = end - n
            if stored > n:
                near = beside(geo, S, patch, O)
                if state == TOGETHER:
                    near = through_faces(geo, S, patch, O, ball, near)
                if state == TOGETHER and (S.kind == HEIGHT_FIELD or in_front(S, patch, ball.center) > real(0.0)):
                    least = way_out(geo, S, patch, O, near.normal, least)
            n, flat = sift_triangle(geo, S, patch, ball, near.depth, found, first, n, stored, w)
            if flat == 0 and may_sink(S, patch, lowest, count, ball):
                onwards = 0
        if doing == ALL:
            doing = DONE
        elif onwards == 0:
            doing = PLANES
        else:
            doing = TRIANGLES
            walk = onward(geo, S, walk)
            if walk.more == 1:
                patch = patch_at(geo, S, walk)
            else:
                doing = DONE
    n = with_escape(found, first, n, least, ball, w)
    if swap:
        turn_normals(found, first, n, w)
    return n
