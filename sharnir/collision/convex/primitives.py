"""Closed forms: balls and capsules among each other, balls against boxes, cylinders and triangles."""

from __future__ import annotations

import warp as wp

from sharnir.collision.convex.gjk import nearest_on_triangle
from sharnir.collision.convex.support_mapping import TINY, any_normal
from sharnir.collision.convex.triangle import leans, side_normal
from sharnir.collision.shapes import Found, Placed, put_point
from sharnir.enums import BOX, CAPSULE, SPHERE, TRIANGLE
from sharnir.kernels.types import column, real, vec3

PARALLEL = wp.constant(real(0.03))  # sine of the angle below which two axes give two points


@wp.func
def put_balls(
    found: Found, n: int, a: vec3, ra: real, b: vec3, rb: real, normal: vec3, feature: int, margin: real, flip: real,
    w: int,
):  # fmt: skip
    """The point between a ball about a and a ball about b, seen along a given normal from a to b."""
    along = wp.dot(normal, b - a)
    gap = along - ra - rb
    if gap < margin:
        point = (a + b + normal * (ra - rb)) * real(0.5)
        n = put_point(found, n, normal * flip, point, gap, feature, w)
    return n


@wp.func
def is_round(S: Placed):
    """A ball or a capsule."""
    return S.kind == SPHERE or S.kind == CAPSULE


@wp.func
def over_plane(P: Placed, Q: Placed, margin: real, found: Found, n: int, flip: real, w: int):
    """A ball, or the two ends of a capsule, over a half-space P."""
    normal = column(P.R, 2)
    half = vec3()
    ends = int(1)
    if Q.kind == CAPSULE:
        half = column(Q.R, 2) * Q.size[1]
        ends = 2
    k = int(0)
    while k < ends:
        centre = Q.x + half * real(2 * k - 1)
        gap = wp.dot(normal, centre - P.x) - Q.size[0]
        if gap < margin:
            point = centre - normal * (Q.size[0] + real(0.5) * gap)
            n = put_point(found, n, normal * flip, point, gap, k, w)
        k += 1
    return n


@wp.func
def _inside_box(p: vec3, h: vec3):
    """Nearest point on the surface to p inside a box, and the outward normal there; box frame."""
    q = p
    e = vec3()
    x = h[0] - wp.abs(p[0])
    y = h[1] - wp.abs(p[1])
    z = h[2] - wp.abs(p[2])
    if x <= y and x <= z:
        e[0] = wp.where(p[0] < real(0.0), real(-1.0), real(1.0))
        q[0] = e[0] * h[0]
    elif y <= z:
        e[1] = wp.where(p[1] < real(0.0), real(-1.0), real(1.0))
        q[1] = e[1] * h[1]
    else:
        e[2] = wp.where(p[2] < real(0.0), real(-1.0), real(1.0))
        q[2] = e[2] * h[2]
    return q, e


@wp.func
def _inside_cylinder(p: vec3, r: real, h: real):
    """As `_inside_box` of a cylinder."""
    across = wp.sqrt(p[0] * p[0] + p[1] * p[1])
    e = vec3(real(0.0), real(0.0), wp.where(p[2] < real(0.0), real(-1.0), real(1.0)))
    q = vec3(p[0], p[1], e[2] * h)
    if r - across < h - wp.abs(p[2]):
        e = vec3(real(1.0), real(0.0), real(0.0))
        if across > TINY * r:
            e = vec3(p[0] / across, p[1] / across, real(0.0))
        q = vec3(e[0] * r, e[1] * r, p[2])
    return q, e


@wp.func
def _surface(B: Placed, x: vec3):
    """Point of the surface of B nearest to x, unit normal out of B there if x is inside, and whether it is (1, 0)."""
    q = vec3()
    e = vec3()
    inside = int(0)
    if B.kind == TRIANGLE:
        a = column(B.R, 0) + B.x - x
        b = column(B.R, 1) + B.x - x
        c = column(B.R, 2) + B.x - x
        q, share = nearest_on_triangle(a, b, c)
        size = wp.length(b - a) + wp.length(c - a)
        if wp.length(q) <= TINY * size:
            inside = 1
            e = side_normal(B, x)
            if wp.length_sq(e) < real(0.5):
                e = any_normal(b - a)
        q = q + x
    else:
        p = wp.transpose(B.R) * (x - B.x)
        c = p
        size = B.size[0]
        if B.kind == BOX:
            c = vec3(
                wp.clamp(p[0], -B.size[0], B.size[0]),
                wp.clamp(p[1], -B.size[1], B.size[1]),
                wp.clamp(p[2], -B.size[2], B.size[2]),
            )
            q, e = _inside_box(c, B.size)
        else:
            across = wp.sqrt(p[0] * p[0] + p[1] * p[1])
            inward = wp.min(real(1.0), B.size[0] / wp.max(across, real(1.0e-30)))
            c = vec3(p[0] * inward, p[1] * inward, wp.clamp(p[2], -B.size[1], B.size[1]))
            q, e = _inside_cylinder(c, B.size[0], B.size[1])
        if wp.length(p - c) <= TINY * size:
            inside = 1
        else:
            q = c
        q = B.x + B.R * q
        e = B.R * e
    return q, e, inside


@wp.func
def ball_and_solid(A: Placed, B: Placed, margin: real, found: Found, n: int, flip: real, w: int):
    """A ball A and a box, cylinder or triangle B. Where it leans over an edge that goes on, the neighbour has it."""
    q, out, inside = _surface(B, A.x)
    normal = -out
    if inside == 0:
        normal = wp.normalize(q - A.x)
    astray = int(0)
    if B.kind == TRIANGLE:
        if leans(B, -normal):
            astray = 1
    if astray == 0:
        n = put_balls(found, n, A.x, A.size[0], q, real(0.0), normal, 0, margin, flip, w)
    return n


@wp.func
def _nearest_of_segments(u: vec3, hu: real, v: vec3, hv: real, x: vec3):
    """Parameters s, t of the nearest points s u and x + t v; |s| ≤ hu, |t| ≤ hv; u and v of unit length."""
    c = wp.dot(u, v)
    xu = wp.dot(x, u)
    xv = wp.dot(x, v)
    # 1 − c² of nearly parallel axes is rounding; |u × v|² is not
    sine = wp.length_sq(wp.cross(u, v))
    s = real(0.0)
    if sine > TINY * TINY:
        s = wp.clamp((xu - c * xv) / sine, -hu, hu)
    t = c * s - xv
    if wp.abs(t) > hv:
        t = wp.clamp(t, -hv, hv)
    s = wp.clamp(xu + t * c, -hu, hu)
    return s, wp.clamp(c * s - xv, -hv, hv)


@wp.func
def balls(A: Placed, B: Placed, margin: real, found: Found, n: int, flip: real, w: int):
    """Balls and capsules: a ball is a capsule of length 0. Two points where axes are nearly parallel."""
    ra = A.size[0]
    rb = B.size[0]
    ha = wp.where(A.kind == CAPSULE, A.size[1], real(0.0))
    hb = wp.where(B.kind == CAPSULE, B.size[1], real(0.0))
    u = column(A.R, 2)
    v = column(B.R, 2)
    x = B.x - A.x
    if A.kind == SPHERE and B.kind == SPHERE:
        u = vec3()
    s, t = _nearest_of_segments(u, ha, v, hb, x)
    a = u * s
    b = x + v * t
    apart = wp.length(b - a)
    normal = (b - a) / wp.max(apart, real(1.0e-30))
    if apart <= TINY * (ra + rb):  # the axes meet: out of the plane of both
        normal = wp.cross(u, v)
        sine = wp.length(normal)
        if ha > real(0.0) and hb > real(0.0) and sine > TINY:
            normal = normal / sine
        elif hb > ha:
            normal = any_normal(v)
        else:
            normal = any_normal(u)
    if apart - ra - rb < margin:
        two = int(0)
        if ha > real(0.0) and hb > real(0.0) and wp.length_sq(wp.cross(u, v)) < PARALLEL * PARALLEL:
            middle = wp.dot(x, u)
            reach = hb * wp.abs(wp.dot(u, v))
            low = wp.max(-ha, middle - reach)
            high = wp.min(ha, middle + reach)
            if high - low > real(1.0e-3) * (ra + rb):
                two = 1
                end = int(0)
                while end < 2:
                    along = wp.where(end == 0, low, high)
                    on_a = u * along
                    on_b = x + v * wp.clamp(wp.dot(on_a - x, v), -hb, hb)
                    n = put_balls(found, n, A.x + on_a, ra, A.x + on_b, rb, normal, end + 1, margin, flip, w)
                    end += 1
        if two == 0:
            n = put_balls(found, n, A.x + a, ra, A.x + b, rb, normal, 0, margin, flip, w)
    return n
