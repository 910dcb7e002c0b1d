"""Convex polygons in the plane across a normal: (u, v) there, h along it (m)."""

from __future__ import annotations

import warp as wp

from sharnir.kernels.types import DOUBLE, real, vec3

CLIPPED = wp.constant(16)  # corners of the part that two faces of ROOM corners share
CODE = wp.constant(32768)  # a feature is (number in the one) × CODE + (number in the other)
ON_EDGE = wp.constant(
    real(1.0e-7 if DOUBLE else 1.0e-5)
)  # of an edge's length: corners so close outside count as inside

corners = wp.array(dtype=vec3)
numbers = wp.array(dtype=int)
reals = wp.array(dtype=real)


@wp.func
def _side(p: vec3, q: vec3, x: vec3, turn: real):
    """How far x is inside of edge pq times the edge's length, m²; corners that all but touch it are inside."""
    du = q[0] - p[0]
    dv = q[1] - p[1]
    return turn * (du * (x[1] - p[1]) - dv * (x[0] - p[0])) + ON_EDGE * (du * du + dv * dv)


@wp.func
def _crossing_code(I: numbers, reference: int, size: int, edge: int, tag: int):
    """Feature of the point where an edge of the reference meets what `tag` says: an edge of the other polygon (its
    number), or another edge of the reference (−1 − edge), which makes it a corner of the reference."""
    code = (I[reference + edge] + 1) * CODE + tag + 1
    if tag < 0:
        other = -1 - tag
        corner = wp.where((other + 1) % size == edge, edge, other)
        code = (I[reference + corner] + 1) * CODE
    return code


@wp.func
def clip(
    V: corners, I: numbers, reference: int, size: int, other: int, count: int, turn: real,
    Q: corners, code: numbers, tag: numbers,
):  # fmt: skip
    """The part of a polygon (or segment) V[other …] inside V[reference …], which is counter-clockwise for turn = 1, by
    Sutherland and Hodgman. Written to Q, with features, from the index returned first; how many is returned second."""
    k = int(0)
    while k < count:
        Q[k] = V[other + k]
        code[k] = I[other + k] + 1
        tag[k] = I[other + k]
        k += 1
    closed = count > 2
    now = int(0)
    c = int(0)
    while c < size and count > 0:
        then = CLIPPED - now
        p = V[reference + c]
        q = V[reference + wp.where(c + 1 == size, 0, c + 1)]
        kept = int(0)
        k = int(0)
        here = _side(p, q, Q[now], turn)
        start = here
        while k < count:
            i = now + k
            last = k + 1 == count
            j = wp.where(last, now, i + 1)
            there = start
            if not last:
                there = _side(p, q, Q[j], turn)
            if here >= real(0.0) and kept < CLIPPED:
                Q[then + kept] = Q[i]
                code[then + kept] = code[i]
                tag[then + kept] = tag[i]
                kept += 1
            if (here >= real(0.0)) != (there >= real(0.0)) and (closed or not last) and kept < CLIPPED:
                Q[then + kept] = Q[i] + (Q[j] - Q[i]) * (here / (here - there))
                code[then + kept] = _crossing_code(I, reference, size, c, tag[i])
                tag[then + kept] = wp.where(here >= real(0.0) and closed, -1 - c, tag[i])
                kept += 1
            here = there
            k += 1
        count = kept
        now = then
        c += 1
    return now, count


@wp.func
def _better(new: real, old: real, slack: real):
    return new > old + slack


@wp.func
def choose(Q: corners, gap: reals, first: int, count: int, slack: real):
    """Four of the points that keep the deepest and most of the area. Earlier ones win ties within `slack` (m), so that
    equal ones do not alternate from step to step."""
    a = int(0)
    k = int(1)
    while k < count:
        if _better(-gap[k], -gap[a], slack):
            a = k
        k += 1
    b = int(a)
    most = real(0.0)
    k = int(0)
    while k < count:
        du = Q[first + k][0] - Q[first + a][0]
        dv = Q[first + k][1] - Q[first + a][1]
        far = wp.sqrt(du * du + dv * dv)
        if _better(far, most, slack):
            most = far
            b = k
        k += 1
    eu = Q[first + b][0] - Q[first + a][0]
    ev = Q[first + b][1] - Q[first + a][1]
    length = wp.max(wp.sqrt(eu * eu + ev * ev), real(1.0e-30))
    c = int(-1)
    d = int(-1)
    left = real(0.0)
    right = real(0.0)
    k = int(0)
    while k < count:
        off = (eu * (Q[first + k][1] - Q[first + a][1]) - ev * (Q[first + k][0] - Q[first + a][0])) / length
        if _better(off, left, slack):
            left = off
            c = k
        if _better(-off, right, slack):
            right = -off
            d = k
        k += 1
    return wp.vec4i(a, b, c, d)
