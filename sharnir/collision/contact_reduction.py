"""Few points for a pair of shapes that meet in many: the deepest one, and those farthest apart."""

from __future__ import annotations

import warp as wp

from sharnir.collision.shapes import Found
from sharnir.kernels.columns import get, get3, get_int, put, put3, put_int
from sharnir.kernels.types import real, vec3

KEPT = 8  # points of a pair, at most
DEPTH = wp.constant(real(4.0))  # how much more depth counts than distance from the middle
CLEAR = wp.constant(real(1.0e-5))  # of a size: gaps that differ by less are the same
SAME = wp.constant(real(1.0e-3))  # of a size: points nearer to each other are one


@wp.struct
class Ball:
    """The shape that is touched, roughly."""

    center: vec3  # world, m
    radius: real  # m


@wp.func
def write_point(found: Found, k: int, normal: vec3, point: vec3, gap: real, feature: int, w: int):
    put3(found.normal, k, w, normal)
    put3(found.point, k, w, point)
    put(found.gap, k, w, gap)
    put_int(found.feature, k, w, feature)


@wp.func
def move_point(found: Found, source: int, target: int, w: int):
    normal = get3(found.normal, source, w)
    point = get3(found.point, source, w)
    write_point(found, target, normal, point, get(found.gap, source, w), get_int(found.feature, source, w), w)


@wp.func
def unlike(found: Found, k: int, normal: vec3, point: vec3, ball: Ball, w: int):
    """How different a stored point is from another, m²: by place, and by normal on the scale of the ball."""
    d = get3(found.point, k, w) - point
    e = (get3(found.normal, k, w) - normal) * ball.radius
    return wp.dot(d, d) + wp.dot(e, e)


@wp.func
def deepest(found: Found, first: int, n: int, w: int):
    best = int(first)
    k = int(first + 1)
    while k < n:
        if get(found.gap, k, w) < get(found.gap, best, w):
            best = k
        k += 1
    return best


@wp.func
def use(found: Found, k: int, ball: Ball, w: int):
    """How far out and how deep a point is, m."""
    return wp.length(get3(found.point, k, w) - ball.center) - DEPTH * get(found.gap, k, w)


@wp.func
def least_useful(found: Found, first: int, n: int, ball: Ball, w: int):
    """Of the two points most alike the one nearer to the middle and less deep; never the deepest one of all
    if it is clearly deeper than the other."""
    spared = deepest(found, first, n, w)
    clear = CLEAR * ball.radius
    worst = int(first)
    least = real(1.0e30)
    i = int(first)
    while i < n:
        normal = get3(found.normal, i, w)
        point = get3(found.point, i, w)
        j = int(i + 1)
        while j < n:
            d = unlike(found, j, normal, point, ball, w)
            if d < least:
                least = d
                worst = j
                lower = get(found.gap, i, w) - get(found.gap, j, w)
                j_better = use(found, i, ball, w) < use(found, j, ball, w) and not (i == spared and lower < -clear)
                if j_better or (j == spared and lower > clear):
                    worst = i
            j += 1
        i += 1
    return worst


@wp.func
def keep_point(
    found: Found, first: int, n: int, normal: vec3, point: vec3, gap: real, feature: int, ball: Ball, w: int
):
    """Add a point to those from `first` to n, at most KEPT; returns the new n, which must be one there is room for.

    Of the same point found twice the deeper one counts.
    """
    k = int(first)
    near = int(-1)
    while k < n and near < 0:
        if unlike(found, k, normal, point, ball, w) < SAME * SAME * ball.radius * ball.radius:
            near = k
        k += 1
    if near >= 0:
        if gap < get(found.gap, near, w):
            write_point(found, near, normal, point, gap, feature, w)
    else:
        write_point(found, n, normal, point, gap, feature, w)
        n += 1
        if n - first > KEPT:
            out = least_useful(found, first, n, ball, w)
            n -= 1
            if out < n:
                move_point(found, n, out, w)
    return n
