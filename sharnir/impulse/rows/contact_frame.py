"""Contact frame, velocity W·z and impulse Wᵀp of contacts (M-54..M-57).

A contact row is two halves, one per body, each whitened over the ancestors of that body; the world has none.
"""

from __future__ import annotations

import warp as wp

from sharnir.collision.contact_model import PROPERTIES_PER_PAIR
from sharnir.impulse.data import Context, Iterate, Scratch, State
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.row_kinds import CONTACT_IMPULSES
from sharnir.impulse.slots import BLOCK_ROWS, CONTACT_HALVES, SIDES, Half, Status
from sharnir.kernels.columns import get, get3, get_int, item3, item_int, put
from sharnir.kernels.types import VEC3, array2, real, vec3
from sharnir.kernels.vector_ops import row3_add, row3_dot, row_add, row_dot

MAX_TOUCHING_GAP = wp.constant(real(2.0e-6))  # m: contacts with a wider gap carry no load (M-55)


@wp.func
def contact_count(work: wp.ref[Scratch], w: int):
    """How many contacts have rows."""
    return get_int(work.contact_count, 0, w)


@wp.func
def make_tangents(normal: vec3):
    """Two unit vectors that complete the normal to a right-handed frame."""
    helper = vec3(real(0.0), real(1.0), real(0.0))
    if wp.abs(normal[1]) > real(0.9):
        helper = vec3(real(0.0), real(0.0), real(1.0))
    t1 = wp.normalize(wp.cross(helper, normal))
    return t1, wp.cross(normal, t1)


@wp.func
def material_pair_of(layout: wp.ref[Layout], state: wp.ref[State], c: int, w: int):
    """Place of the material pair of contact c in the table of pair properties."""
    a = layout.contact_model.material[item_int(state.contacts.shape, 2 * c, w)]
    b = layout.contact_model.material[item_int(state.contacts.shape, 2 * c + 1, w)]
    return (a * layout.contact_model.material_count + b) * PROPERTIES_PER_PAIR


@wp.func
def shape_pair_of(layout: wp.ref[Layout], state: wp.ref[State], c: int, w: int):
    """Key of the two shapes of contact c; contacts are sorted by it."""
    return item_int(state.contacts.shape, 2 * c, w) * layout.contact_model.geo.count + item_int(
        state.contacts.shape, 2 * c + 1, w
    )


@wp.func
def contact_frame_of(state: wp.ref[State], work: wp.ref[Scratch], c: int, w: int):
    """Normal and two tangents of contact c, world axes."""
    return (
        item3(state.contacts.normal, VEC3 * c, w),
        get3(work.contact_tangents, 2 * c, w),
        get3(work.contact_tangents, 2 * c + 1, w),
    )


@wp.func
def halves_of(layout: wp.ref[Layout], c: int, direct: int):
    """Place of the two halves of contact c in `contact_halves`. direct: of its projected rows."""
    return CONTACT_HALVES * (c + direct * layout.max_contacts)


@wp.func
def contact_velocity(ctx: Context, c: int, row: int, direct: int, z: array2, w: int):
    """Velocities of three rows of contact c from `row` on: second body relative to the first. direct: of the projected
    rows, with their offsets."""
    s = multiply_contact_rows(ctx, c, row, direct, z, w)
    if direct == 1:
        o = ctx.layout.scalars + CONTACT_IMPULSES * c + row
        s = s + vec3(
            get(ctx.work.projected_velocity_offset, o, w),
            get(ctx.work.projected_velocity_offset, o + 1, w),
            get(ctx.work.projected_velocity_offset, o + 2, w),
        )
    return s


@wp.func
def multiply_contact_rows(ctx: Context, c: int, row: int, direct: int, z: array2, w: int):
    """W z of three rows of contact c from `row` on. direct: Ŵ z of the projected rows."""
    at = halves_of(ctx.layout, c, direct)
    return multiply_contact_half(ctx.layout, ctx.work, at, row, z, w) + multiply_contact_half(
        ctx.layout, ctx.work, at + Half.SIZE, row, z, w
    )


@wp.func
def multiply_contact_half(layout: wp.ref[Layout], work: wp.ref[Scratch], at: int, row: int, z: array2, w: int):
    """W z of three rows within one body's half, described by `contact_halves` from place `at` on."""
    length = get_int(work.contact_halves, at + Half.LENGTH, w)
    start = get_int(work.contact_halves, at, w) + row * length
    return row3_dot(work.W, start, length, layout.index, get_int(work.contact_halves, at + Half.INDEX_START, w), z, w)


@wp.func
def apply_contact_impulse(ctx: Context, c: int, row: int, p: vec3, x: wp.ref[Iterate], w: int):
    """z += Wᵀ p of three rows of contact c from `row` on."""
    at = halves_of(ctx.layout, c, x.direct)
    side = int(0)
    while side < SIDES:
        length = get_int(ctx.work.contact_halves, at + Half.LENGTH, w)
        if length > 0:
            start = get_int(ctx.work.contact_halves, at, w) + row * length
            row3_add(
                ctx.work.W,
                start,
                length,
                ctx.layout.index,
                get_int(ctx.work.contact_halves, at + Half.INDEX_START, w),
                p,
                x.z,
                w,
            )
        at += Half.SIZE
        side += 1


@wp.func
def normal_velocity(layout: wp.ref[Layout], work: wp.ref[Scratch], c: int, direct: int, z: array2, w: int):
    """Velocity of the normal row of contact c."""
    s = real(0.0)
    if direct == 1:
        s = get(work.projected_velocity_offset, layout.scalars + CONTACT_IMPULSES * c, w)
    at = halves_of(layout, c, direct)
    side = int(0)
    while side < SIDES:
        start = get_int(work.contact_halves, at, w)
        length = get_int(work.contact_halves, at + Half.LENGTH, w)
        s = s + row_dot(
            work.W, start, length, layout.index, get_int(work.contact_halves, at + Half.INDEX_START, w), z, w
        )
        at += Half.SIZE
        side += 1
    return s


@wp.func
def apply_normal_impulse(ctx: Context, c: int, direct: int, p: real, z: array2, w: int):
    """z += Wᵀ p of the normal row of contact c."""
    at = halves_of(ctx.layout, c, direct)
    side = int(0)
    while side < SIDES:
        start = get_int(ctx.work.contact_halves, at, w)
        length = get_int(ctx.work.contact_halves, at + Half.LENGTH, w)
        row_add(
            ctx.work.W,
            start,
            length,
            ctx.layout.index,
            get_int(ctx.work.contact_halves, at + Half.INDEX_START, w),
            p,
            z,
            w,
        )
        at += Half.SIZE
        side += 1


@wp.func
def contact_impulse_of(layout: wp.ref[Layout], state: wp.ref[State], work: wp.ref[Scratch], c: int, w: int):
    """Impulse (N s) and angular impulse about the contact point (N m s) of contact c on the second body, those of
    impacts included, world axes."""
    normal, t1, t2 = contact_frame_of(state, work, c, w)
    at = layout.contact_p_start + CONTACT_IMPULSES * c
    friction = t1 * get(work.p, at + 1, w) + t2 * get(work.p, at + 2, w)
    f = normal * get(work.p, at, w) + t1 * get(work.p, at + 1, w) + t2 * get(work.p, at + 2, w)
    n = (
        normal * get(work.p, at + BLOCK_ROWS, w)
        + t1 * get(work.p, at + BLOCK_ROWS + 1, w)
        + t2 * get(work.p, at + BLOCK_ROWS + 2, w)
    )
    arm = get3(work.contact_arm, c, w)
    if wp.dot(arm, arm) > real(0.0):
        n = n + wp.cross(arm, friction)
    if get_int(work.status, Status.HAS_IMPACTS, w) == 1:
        impact_f, impact_n = impact_impulse_of(state, work, c, w)
        f = f + impact_f
        n = n + impact_n
    return f, n


@wp.func
def contact_force_of(layout: wp.ref[Layout], state: wp.ref[State], work: wp.ref[Scratch], c: int, w: int):
    """Impulse (N s) of contact c on the second body, that of impacts included, world axes."""
    normal, t1, t2 = contact_frame_of(state, work, c, w)
    at = layout.contact_p_start + CONTACT_IMPULSES * c
    p = vec3(get(work.p, at, w), get(work.p, at + 1, w), get(work.p, at + 2, w))
    if get_int(work.status, Status.HAS_IMPACTS, w) == 1:
        p = p + get3(work.p_impact, SIDES * c, w)
    return normal * p[0] + t1 * p[1] + t2 * p[2]


@wp.func
def impact_impulse_of(state: wp.ref[State], work: wp.ref[Scratch], c: int, w: int):
    """Impulse (N s) and angular impulse about the contact point (N m s) on the second body of contact c that impacts
    have in it, world axes."""
    normal, t1, t2 = contact_frame_of(state, work, c, w)
    p = get3(work.p_impact, SIDES * c, w)
    angular = get3(work.p_impact, SIDES * c + 1, w)
    friction = t1 * p[1] + t2 * p[2]
    moment = wp.cross(get3(work.contact_arm, c, w), friction)
    return normal * p[0] + friction, normal * angular[0] + t1 * angular[1] + t2 * angular[2] + moment


@wp.func
def exclude_open_contacts(work: wp.ref[Scratch], w: int):
    """Contacts at this instant rather than over a step: those with a gap wider than MAX_TOUCHING_GAP get no impulse,
    and chord terms are taken out of the targets."""
    c = int(0)
    while c < contact_count(work, w):
        k = int(0)
        while k < BLOCK_ROWS:
            chord = get(work.contact_chord, VEC3 * c + k, w)
            put(work.contact_target, BLOCK_ROWS * c + k, w, get(work.contact_target, BLOCK_ROWS * c + k, w) + chord)
            k += 1
        if get(work.contact_gap, c, w) > MAX_TOUCHING_GAP:
            put(work.contact_target, BLOCK_ROWS * c, w, real(-wp.inf))
        c += 1
