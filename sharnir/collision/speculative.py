"""Cull speculative contacts: keep a contact only if its gap can close within the step at the present normal velocity of
the two bodies there. (The pair margin bounds the motion of any point and is too wide for bodies moving together.)"""

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
    """Velocity along d of the point of a link at x (world, m), m/s; 0 for the world."""
    speed = real(0.0)
    if link >= 0:
        arm = x - pivot_of(tree, ws, link, w)
        speed = wp.dot(d, get3(ws.a, 2 * link, w) + wp.cross(get3(ws.a, 2 * link + 1, w), arm))
    return speed


@wp.func
def cull_speculative(
    tree: Tree, ws: Workspace, geo: Geometry, scratch: CollisionScratch, margin: real, n: int, dt: real, w: int
):
    """Keep those of n contacts whose gap is within a margin (m), or gets there within dt (s) at the present velocities
    and gravity; returns how many."""
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
