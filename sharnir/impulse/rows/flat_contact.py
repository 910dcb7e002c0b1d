"""Where the friction of a flat contact acts (M-109): its points, drawn toward the centre of pressure."""

from __future__ import annotations

import warp as wp

from sharnir.collision.buffers import ContactCount
from sharnir.dynamics.momenta import rotation_offset
from sharnir.impulse.data import Context
from sharnir.impulse.rows.contact_frame import shape_pair_of
from sharnir.impulse.slots import CONTACT_KEY_SIZE, ContactKey, PrevContact
from sharnir.kernels.columns import get, get3, item, item3, item_int
from sharnir.kernels.lanes import uses_lanes
from sharnir.kernels.types import SPATIAL, VEC3, real, vec3


@wp.func
def pressure_offset(ctx: Context, first: int, pair: int, normal: vec3, w: int):
    """Where the centre of pressure of a shape pair was in the step before, from the middle of its points (m). first: of
    the pair among the previous contacts."""
    middle = vec3()
    loaded = vec3()
    load = real(0.0)
    n = real(0.0)
    k = int(first)
    while (
        k < item_int(ctx.state.prev_contact_keys, ContactKey.COUNT, w)
        and item_int(ctx.state.prev_contact_keys, ContactKey.PAIR + CONTACT_KEY_SIZE * k, w) == pair
    ):
        x = item3(ctx.state.prev_contact_geometry, PrevContact.SIZE * k, w)
        p = wp.max(wp.dot(item3(ctx.state.prev_contact_impulse, SPATIAL * k, w), normal), real(0.0))
        middle = middle + x
        loaded = loaded + x * p
        load = load + p
        n = n + real(1.0)
        k += 1
    out = vec3()
    if load > real(0.0):
        out = loaded / load - middle / n
    return out


@wp.func
def middle_of_pair(ctx: Context, c: int, pair: int, w: int):
    """Middle of the points of the pair of contact c, world, m."""
    first = int(c)
    while first > 0 and shape_pair_of(ctx.layout, ctx.state, first - 1, w) == pair:
        first -= 1
    middle = vec3()
    k = int(first)
    while k < item_int(ctx.state.contacts.count, ContactCount.STORED, w) and (
        shape_pair_of(ctx.layout, ctx.state, k, w) == pair
    ):
        middle = middle + item3(ctx.state.contacts.point, VEC3 * k, w)
        k += 1
    return middle / real(k - first)


@wp.func
def friction_arm(ctx: Context, c: int, first: int, normal: vec3, w: int):
    """From contact c to where its friction acts (m, world). first: of its pair among the previous contacts. On the CPU,
    where contacts come one after the other, the centre of a pair is found once, and then known from the contact
    before."""
    share = item(ctx.state.contacts.drawn_share, c, w)
    arm = vec3()
    if share > real(0.0):
        pair = shape_pair_of(ctx.layout, ctx.state, c, w)
        x = item3(ctx.state.contacts.point, VEC3 * c, w)
        is_next = uses_lanes() == 0 and c > 0
        if is_next:
            is_next = shape_pair_of(ctx.layout, ctx.state, c - 1, w) == pair
        if is_next:
            arm = (
                get3(ctx.work.contact_arm, c - 1, w) + (item3(ctx.state.contacts.point, VEC3 * (c - 1), w) - x) * share
            )
        else:
            arm = (middle_of_pair(ctx, c, pair, w) + pressure_offset(ctx, first, pair, normal, w) - x) * share
        arm = arm - normal * wp.dot(normal, arm)
    return arm


@wp.func
def travel_of_arm(ctx: Context, a: int, b: int, arm: vec3, w: int):
    """What an arm adds to the travel (m, axes of link a) of the surface of link b against link a in the step whose
    displacements are in the workspace."""
    ua = vec3()
    sa = real(1.0)
    if a >= 0:
        ua = -get3(ctx.here.Qu, a, w)
        sa = get(ctx.here.Qs, a, w)
    ub = vec3()
    sb = real(1.0)
    if b >= 0:
        ub = get3(ctx.here.Qu, b, w)
        sb = get(ctx.here.Qs, b, w)
    return rotation_offset(ub * sa + ua * sb + wp.cross(ua, ub), sa * sb - wp.dot(ua, ub), arm)
