"""Contact matching for warm starts (M-60, M-66): a contact inherits impulse and chord term of the previous step's
contact with the same shape pair and feature id, or else of the nearest unmatched one with a similar normal (M-84)."""

from __future__ import annotations

import warp as wp

from sharnir.collision.buffers import ContactCount
from sharnir.impulse.data import Context, Scratch, State
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.row_kinds import CONTACT_IMPULSES
from sharnir.impulse.rows.contact_frame import (
    contact_count,
    contact_frame_of,
    contact_impulse_of,
    impact_impulse_of,
    shape_pair_of,
)
from sharnir.impulse.rows.extrapolation import extrapolation_order_of
from sharnir.impulse.slots import BLOCK_ROWS, CONTACT_KEY_SIZE, JOINT_ROWS, ContactKey, PrevChord, PrevContact, Status
from sharnir.kernels.columns import (
    get,
    get3,
    get_int,
    item,
    item3,
    item_int,
    put,
    put3,
    set_item,
    set_item3,
    set_item_int,
)
from sharnir.kernels.types import SPATIAL, VEC3, real, vec3

MIN_NORMAL_COSINE = wp.constant(real(0.9))  # least cosine between the normals of a contact in successive steps
UNMATCHED_DISTANCE2 = wp.constant(real(1.0e30))  # m²: distance of contacts whose normals differ


@wp.func
def rotate_with_normal(normal_before: vec3, normal_now: vec3, x: vec3):
    """Rotate x as the normal has turned, by the least rotation; unchanged where the normals differ much."""
    c = wp.dot(normal_before, normal_now)
    out = x
    if c > MIN_NORMAL_COSINE:
        axis = wp.cross(normal_before, normal_now)
        out = x * c + wp.cross(axis, x) + axis * (wp.dot(axis, x) / (real(1.0) + c))
    return out


@wp.func
def predict_contact_chord(ctx: Context, c: int, previous: int, chord: vec3, w: int):
    """Predict the chord term of contact c: `chord` of its previous step, extrapolated by the order that the joints'
    chord terms have, so that both fit together (M-66). previous: its number in the previous step, −1 for none. What the
    differences at the end of the step need is written to `contact_chord_prev` and `contact_chord_known`."""
    change = vec3()
    curve = vec3()
    known = real(0.0)
    if previous >= 0:
        normal_before = item3(ctx.state.prev_contact_geometry, PrevContact.SIZE * previous + PrevContact.NORMAL, w)
        normal_now = item3(ctx.state.contacts.normal, VEC3 * c, w)
        change = rotate_with_normal(
            normal_before, normal_now, item3(ctx.state.prev_contact_chord, PrevChord.SIZE * previous, w)
        )
        curve = rotate_with_normal(
            normal_before,
            normal_now,
            item3(ctx.state.prev_contact_chord, PrevChord.SIZE * previous + PrevChord.CURVE, w),
        )
        known = item(ctx.state.prev_contact_chord, PrevChord.SIZE * previous + PrevChord.KNOWN, w)
    put3(ctx.work.contact_chord_prev, 2 * c, w, chord)
    put3(ctx.work.contact_chord_prev, 2 * c + 1, w, change)
    put(ctx.work.contact_chord_known, c, w, known)
    order = extrapolation_order_of(ctx.state.joint_chord, JOINT_ROWS * ctx.layout.joints, w)
    out = chord
    if order > real(0.5):
        out = out + change
    if order > real(1.5):
        out = out + curve
    return out


@wp.func
def store_chord_differences(state: wp.ref[State], work: wp.ref[Scratch], c: int, chord: vec3, w: int):
    """Store first and second differences of the chord term of contact c."""
    known = get(work.contact_chord_known, c, w)
    change = vec3()
    curve = vec3()
    if known > real(0.5):
        change = chord - get3(work.contact_chord_prev, 2 * c, w)
    if known > real(1.5):
        curve = change - get3(work.contact_chord_prev, 2 * c + 1, w)
    set_item3(state.prev_contact_chord, PrevChord.SIZE * c, w, change)
    set_item3(state.prev_contact_chord, PrevChord.SIZE * c + PrevChord.CURVE, w, curve)
    set_item(state.prev_contact_chord, PrevChord.SIZE * c + PrevChord.KNOWN, w, wp.min(known + real(1.0), real(2.0)))


@wp.func
def find_current(layout: wp.ref[Layout], state: wp.ref[State], c: int, pair: int, feature: int, w: int):
    """Which present contact of the shape pair of contact c has this feature id; −1: none."""
    found = int(-1)
    k = int(c)
    while k > 0 and shape_pair_of(layout, state, k - 1, w) == pair:
        k -= 1
    while k < item_int(state.contacts.count, ContactCount.STORED, w) and shape_pair_of(layout, state, k, w) == pair:
        if item_int(state.contacts.feature, k, w) == feature:
            found = k
        k += 1
    return found


@wp.func
def find_previous(state: wp.ref[State], first: int, pair: int, feature: int, w: int):
    """Which previous contact of a shape pair, from place `first` on, had this feature id; −1: none."""
    found = int(-1)
    k = int(first)
    while (
        k < item_int(state.prev_contact_keys, ContactKey.COUNT, w)
        and item_int(state.prev_contact_keys, ContactKey.PAIR + CONTACT_KEY_SIZE * k, w) == pair
        and found < 0
    ):
        if item_int(state.prev_contact_keys, ContactKey.FEATURE + CONTACT_KEY_SIZE * k, w) == feature:
            found = k
        k += 1
    return found


@wp.func
def contact_distance2(state: wp.ref[State], previous: int, c: int, w: int):
    """Squared distance (m²) of contact c from contact `previous` of the previous step; UNMATCHED_DISTANCE2 if their
    normals differ."""
    x = item3(state.contacts.point, VEC3 * c, w) - item3(state.prev_contact_geometry, PrevContact.SIZE * previous, w)
    cosine = wp.dot(
        item3(state.contacts.normal, VEC3 * c, w),
        item3(state.prev_contact_geometry, PrevContact.SIZE * previous + PrevContact.NORMAL, w),
    )
    return wp.where(cosine > MIN_NORMAL_COSINE, wp.dot(x, x), UNMATCHED_DISTANCE2)


@wp.func
def match_by_position(layout: wp.ref[Layout], state: wp.ref[State], c: int, first: int, pair: int, w: int):
    """Match contact c, whose feature id is new, by position (M-84): nearest previous contact of its pair whose feature
    id is gone, unless another new contact is nearer to that one; −1: none."""
    found = int(-1)
    nearest = UNMATCHED_DISTANCE2
    k = int(first)
    while (
        k < item_int(state.prev_contact_keys, ContactKey.COUNT, w)
        and item_int(state.prev_contact_keys, ContactKey.PAIR + CONTACT_KEY_SIZE * k, w) == pair
    ):
        distance = contact_distance2(state, k, c, w)
        if (
            distance < nearest
            and find_current(
                layout,
                state,
                c,
                pair,
                item_int(state.prev_contact_keys, ContactKey.FEATURE + CONTACT_KEY_SIZE * k, w),
                w,
            )
            < 0
        ):
            found = k
            nearest = distance
        k += 1
    k = int(c)
    while k > 0 and shape_pair_of(layout, state, k - 1, w) == pair:
        k -= 1
    while (
        found >= 0
        and k < item_int(state.contacts.count, ContactCount.STORED, w)
        and shape_pair_of(layout, state, k, w) == pair
    ):
        distance = contact_distance2(state, found, k, w)
        if distance < nearest or (distance == nearest and k < c):
            if find_previous(state, first, pair, item_int(state.contacts.feature, k, w), w) < 0:
                found = -1
        k += 1
    return found


@wp.func
def match_contact(ctx: Context, c: int, match_cursor: int, warm_factor: real, chord_scale: real, w: int):
    """Warm-start contact c: impulses ← warm_factor times those of its match in the previous step, chord term ←
    chord_scale times its prediction. match_cursor: the first place of its pair among the previous contacts, or where it
    would be."""
    pair = shape_pair_of(ctx.layout, ctx.state, c, w)
    feature = item_int(ctx.state.contacts.feature, c, w)
    count = item_int(ctx.state.prev_contact_keys, ContactKey.COUNT, w)
    normal, t1, t2 = contact_frame_of(ctx.state, ctx.work, c, w)
    linear = vec3()
    angular = vec3()
    chord = vec3()
    found = find_previous(ctx.state, match_cursor, pair, feature, w)
    if (
        found < 0
        and match_cursor < count
        and item_int(ctx.state.prev_contact_keys, ContactKey.PAIR + CONTACT_KEY_SIZE * match_cursor, w) == pair
    ):
        found = match_by_position(ctx.layout, ctx.state, c, match_cursor, pair, w)
    if found >= 0:
        normal_before = item3(ctx.state.prev_contact_geometry, PrevContact.SIZE * found + PrevContact.NORMAL, w)
        linear = item3(ctx.state.prev_contact_impulse, SPATIAL * found, w) * warm_factor
        angular = item3(ctx.state.prev_contact_impulse, SPATIAL * found + VEC3, w) * warm_factor
        if ctx.layout.contact_model.has_restitution == 1:
            linear = linear - item3(ctx.state.prev_contact_impact, SPATIAL * found, w) * warm_factor
            angular = angular - item3(ctx.state.prev_contact_impact, SPATIAL * found + VEC3, w) * warm_factor
        friction_moment = wp.dot(wp.cross(get3(ctx.work.contact_arm, c, w), linear), normal)
        angular = angular - normal * friction_moment
        chord = rotate_with_normal(
            normal_before,
            normal,
            item3(ctx.state.prev_contact_geometry, PrevContact.SIZE * found + PrevContact.CHORD, w),
        )
    at = ctx.layout.contact_p_start + CONTACT_IMPULSES * c
    put(ctx.work.p, at, w, wp.max(wp.dot(linear, normal), real(0.0)))
    put(ctx.work.p, at + 1, w, wp.dot(linear, t1))
    put(ctx.work.p, at + 2, w, wp.dot(linear, t2))
    if get_int(ctx.work.contact_row_count, c, w) == BLOCK_ROWS:
        angular = vec3()
    put(ctx.work.p, at + BLOCK_ROWS, w, wp.dot(angular, normal))
    put(ctx.work.p, at + BLOCK_ROWS + 1, w, wp.dot(angular, t1))
    put(ctx.work.p, at + BLOCK_ROWS + 2, w, wp.dot(angular, t2))
    if ctx.layout.joints > 0:
        chord = predict_contact_chord(ctx, c, found, chord, w)
    put3(ctx.work.contact_chord, c, w, vec3(wp.dot(chord, normal), wp.dot(chord, t1), wp.dot(chord, t2)) * chord_scale)


@wp.func
def find_pair_from(state: wp.ref[State], pair: int, start: int, w: int):
    """First place of a shape pair among the previous contacts, or where it would be, from `start` on: they are sorted
    by shape pair as the present ones are."""
    found = int(start)
    count = item_int(state.prev_contact_keys, ContactKey.COUNT, w)
    while found < count and item_int(state.prev_contact_keys, ContactKey.PAIR + CONTACT_KEY_SIZE * found, w) < pair:
        found += 1
    return found


@wp.func
def find_pair_start(state: wp.ref[State], pair: int, w: int):
    """First place of a shape pair among the previous contacts, or where it would be, by bisection."""
    low = int(0)
    high = item_int(state.prev_contact_keys, ContactKey.COUNT, w)
    while low < high:
        middle = (low + high) // 2
        if item_int(state.prev_contact_keys, ContactKey.PAIR + CONTACT_KEY_SIZE * middle, w) < pair:
            low = middle + 1
        else:
            high = middle
    return low


@wp.func
def store_contact(layout: wp.ref[Layout], state: wp.ref[State], work: wp.ref[Scratch], c: int, w: int):
    """Store key, impulse, geometry and chord term of contact c for the next step."""
    set_item_int(state.prev_contact_keys, ContactKey.PAIR + CONTACT_KEY_SIZE * c, w, shape_pair_of(layout, state, c, w))
    set_item_int(
        state.prev_contact_keys, ContactKey.FEATURE + CONTACT_KEY_SIZE * c, w, item_int(state.contacts.feature, c, w)
    )
    linear, angular = contact_impulse_of(layout, state, work, c, w)
    set_item3(state.prev_contact_impulse, SPATIAL * c, w, linear)
    set_item3(state.prev_contact_impulse, SPATIAL * c + VEC3, w, angular)
    if layout.contact_model.has_restitution == 1:
        impact_linear = vec3()
        impact_angular = vec3()
        if get_int(work.status, Status.HAS_IMPACTS, w) == 1:
            impact_linear, impact_angular = impact_impulse_of(state, work, c, w)
        set_item3(state.prev_contact_impact, SPATIAL * c, w, impact_linear)
        set_item3(state.prev_contact_impact, SPATIAL * c + VEC3, w, impact_angular)
    set_item3(state.prev_contact_geometry, PrevContact.SIZE * c, w, item3(state.contacts.point, VEC3 * c, w))
    normal, t1, t2 = contact_frame_of(state, work, c, w)
    chord = get3(work.contact_chord, c, w)
    set_item3(state.prev_contact_geometry, PrevContact.SIZE * c + PrevContact.NORMAL, w, normal)
    set_item(state.prev_contact_geometry, PrevContact.SIZE * c + PrevContact.GAP, w, item(state.contacts.gap, c, w))
    chord_world = normal * chord[0] + t1 * chord[1] + t2 * chord[2]
    set_item3(state.prev_contact_geometry, PrevContact.SIZE * c + PrevContact.CHORD, w, chord_world)
    if layout.joints > 0:
        store_chord_differences(state, work, c, chord_world, w)


@wp.func
def store_contacts(layout: wp.ref[Layout], state: wp.ref[State], work: wp.ref[Scratch], w: int):
    """Store all contacts for the next step; `commit_velocities` has stored how many."""
    c = int(0)
    while c < contact_count(work, w):
        store_contact(layout, state, work, c, w)
        c += 1
