"""Which of the points found matter in a step. Pairs are sought as far as any of their points may come nearer; of those
that fall or turn together most do not."""

from __future__ import annotations

import warp as wp

from sharnir.collision.buffers import Places
from sharnir.collision.contact_reduction import move_point
from sharnir.collision.shapes import Geometry
from sharnir.dynamics.forces import pivot
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.kernels.columns import get, get3, get_int, put_int
from sharnir.kernels.types import real, vec3


@wp.func
def speed_along(tree: Tree, ws: Workspace, link: int, x: vec3, d: vec3, w: int):
    """Of the point of a link that is at x (world, m) along d, m/s; 0 for the world."""
    speed = real(0.0)
    if link >= 0:
        arm = x - pivot(tree, ws, link, w)
        speed = wp.dot(d, get3(ws.a, 2 * link, w) + wp.cross(get3(ws.a, 2 * link + 1, w), arm))
    return speed


@wp.func
def drop_far(tree: Tree, ws: Workspace, geo: Geometry, places: Places, margin: real, n: int, dt: real, w: int):
    """Of n points keep those that are within a margin (m), or come there in a step as bodies move now; returns how many
    they are."""
    fall = wp.length(tree.gravity) * dt
    kept = int(0)
    k = int(0)
    while k < n:
        a = get_int(places.shape, 2 * k, w)
        b = get_int(places.shape, 2 * k + 1, w)
        normal = get3(places.found.normal, k, w)
        x = get3(places.found.point, k, w)
        closing = speed_along(tree, ws, geo.link[a], x, normal, w)
        closing = closing - speed_along(tree, ws, geo.link[b], x, normal, w)
        if get(places.found.gap, k, w) < margin + dt * (wp.max(closing, real(0.0)) + fall):
            if kept < k:
                move_point(places.found, k, kept, w)
                put_int(places.shape, 2 * kept, w, a)
                put_int(places.shape, 2 * kept + 1, w, b)
            kept += 1
        k += 1
    return kept
