"""Cull speculative contacts: keep a contact only if its gap can close within the step at the present normal velocity of
the two bodies there. (The pair margin bounds the motion of any point and is too wide for bodies moving together.)"""

from __future__ import annotations

import warp as wp

from sharnir.collision.buffers import CollisionScratch
from sharnir.collision.contact_model import ContactModel
from sharnir.collision.contact_reduction import copy_contact
from sharnir.dynamics.forces import pivot_of
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.kernels.columns import get, get3, get_int, put_int
from sharnir.kernels.types import real, vec3


@wp.struct
class CollisionContext:
    """What collision detection of a world reads and writes."""

    tree: Tree
    ws: Workspace  # poses, and velocities in `a`
    model: ContactModel
    scratch: CollisionScratch
    dt: real  # s, step


@wp.func
def make_collision_context(
    tree: wp.ref[Tree], ws: wp.ref[Workspace], model: ContactModel, scratch: CollisionScratch, dt: real
):
    """The context of these parts. dt: step, s."""
    out = CollisionContext()
    out.tree = tree
    out.ws = ws
    out.model = model
    out.scratch = scratch
    out.dt = dt
    return out


@wp.func
def point_speed_along(tree: wp.ref[Tree], ws: wp.ref[Workspace], link: int, x: vec3, d: vec3, w: int):
    """Velocity along d of the point of a link at x (world, m), m/s; 0 for the world."""
    speed = real(0.0)
    if link >= 0:
        arm = x - pivot_of(tree, ws, link, w)
        speed = wp.dot(d, get3(ws.a, 2 * link, w) + wp.cross(get3(ws.a, 2 * link + 1, w), arm))
    return speed


@wp.func
def cull_speculative(ctx: CollisionContext, n: int, w: int):
    """Keep those of n contacts whose gap is within the margin, or gets there within the step at the present velocities
    and gravity; returns how many."""
    fall = wp.length(ctx.tree.gravity) * ctx.dt
    kept = int(0)
    k = int(0)
    while k < n:
        a = get_int(ctx.scratch.contact_shape, 2 * k, w)
        b = get_int(ctx.scratch.contact_shape, 2 * k + 1, w)
        normal = get3(ctx.scratch.contacts.normal, k, w)
        x = get3(ctx.scratch.contacts.point, k, w)
        closing = point_speed_along(ctx.tree, ctx.ws, ctx.model.geo.link[a], x, normal, w)
        closing = closing - point_speed_along(ctx.tree, ctx.ws, ctx.model.geo.link[b], x, normal, w)
        struck = real(0.0)
        if ctx.model.has_restitution == 1:
            struck = get(ctx.scratch.impact_speed_bound, a, w) + get(ctx.scratch.impact_speed_bound, b, w)
        if get(ctx.scratch.contacts.gap, k, w) < ctx.model.speculative_margin + ctx.dt * (
            wp.max(closing, real(0.0)) + struck + fall
        ):
            if kept < k:
                copy_contact(ctx.scratch.contacts, k, kept, w)
                put_int(ctx.scratch.contact_shape, 2 * kept, w, a)
                put_int(ctx.scratch.contact_shape, 2 * kept + 1, w, b)
            kept += 1
        k += 1
    return kept
