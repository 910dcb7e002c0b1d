"""Which of the points found matter in a step. Pairs are sought as far as any of their points may come nearer; of those
that fall or turn together most do not."""

from __future__ import annotations

import warp as wp

from sharnir.collision.buffers import CollisionScratch
from sharnir.collision.contact_reduction import copy_contact
from sharnir.collision.shapes import Geometry
from sharnir.dynamics.forces import pivot_of
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.kernels.columns import get, get3, get_int, put_int
from sharnir.kernels.types import real, vec3


@wp.func
def point_speed_along(tree: Tree, ws: Workspace, link: int, x: vec3, d: vec3, w: int):
    """Of the point of a link that is at x (world, m) along d, m/s; 0 for the world."""
    speed = real(0.0)
    if link >= 0:
        arm = x - pivot_of(tree, ws, link, w)
        speed = wp.dot(d, get3(ws.a, 2 * link, w) + wp.cross(get3(ws.a, 2 * link + 1, w), arm))
    return speed


@wp.func
def cull_speculative(
    tree: Tree, ws: Workspace, geo: Geometry, scratch: CollisionScratch, margin: real, n: int, dt: real, w: int
):
    """Of n points keep those that are within a margin (m), or come there in a step as bodies move now; returns how many
    they are."""
    fall = wp.length(tree.gravity) * dt
    kept = int(0)
    k = int(0)
    while k < n:
        a = get_int(scratch.contact_shape, 2 * k, w)
        b = get_int(scratch.contact_shape, 2 * k + 1, w)
        normal = get3(scratch.contacts.normal, k, w)
        x = get3(scratch.contacts.point, k, w)
        closing = point_speed_along(tree, ws, geo.link[a], x, normal, w)
        closing = closing - point_speed_along(tree, ws, geo.link[b], x, normal, w)
        if get(scratch.contacts.gap, k, w) < margin + dt * (wp.max(closing, real(0.0)) + fall):
            if kept < k:
                copy_contact(scratch.contacts, k, kept, w)
                put_int(scratch.contact_shape, 2 * kept, w, a)
                put_int(scratch.contact_shape, 2 * kept + 1, w, b)
            kept += 1
        k += 1
    return kept
