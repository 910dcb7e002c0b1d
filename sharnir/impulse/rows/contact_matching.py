"""What contacts keep from step to step: impulses and bends, found again by the features that meet (M-60, M-66)."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import State, Work
from sharnir.impulse.layout.layout import Plan
from sharnir.impulse.row_kinds import CONTACT_P
from sharnir.impulse.rows.contact_frame import contact_count, frame_of, impulse_of_contact, pair_of
from sharnir.impulse.rows.extrapolation import order_of
from sharnir.kernels.columns import get, get3, item, item3, item_int, put, put3, set_item, set_item3, set_item_int
from sharnir.kernels.types import real, vec3

ALIKE = wp.constant(real(0.9))  # cosine, between the normals of a contact in steps that follow each other
FAR = wp.constant(real(1.0e30))  # m²


@wp.func
def turned_along(before: vec3, now: vec3, x: vec3):
    """x turned as a normal has turned, by the least rotation; not where that is no small one."""
    c = wp.dot(before, now)
    out = x
    if c > ALIKE:
        axis = wp.cross(before, now)
        out = x * c + wp.cross(axis, x) + axis * (wp.dot(axis, x) / (real(1.0) + c))
    return out


@wp.func
def expected_bend(plan: Plan, state: State, work: Work, c: int, before: int, bent: vec3, w: int):
    """Bend of contact c in the step to come, where it was contact `before` (−1: none) of the last step and had the bend
    `bent`: extrapolated by the order of the joints' aims, so that what is sought of both fits together (M-66)."""
    change = vec3()
    curve = vec3()
    steps = real(0.0)
    if before >= 0:
        was = item3(state.touched_at, 10 * before + 3, w)
        now = item3(state.touch.normal, 3 * c, w)
        change = turned_along(was, now, item3(state.touched_bent, 7 * before, w))
        curve = turned_along(was, now, item3(state.touched_bent, 7 * before + 3, w))
        steps = item(state.touched_bent, 7 * before + 6, w)
    put3(work.contact_bent, 2 * c, w, bent)
    put3(work.contact_bent, 2 * c + 1, w, change)
    put(work.contact_steps, c, w, steps)
    order = order_of(state.aim, 6 * plan.joints, w)
    out = bent
    if order > real(0.5):
        out = out + change
    if order > real(1.5):
        out = out + curve
    return out


@wp.func
def keep_bend(state: State, work: Work, c: int, bent: vec3, w: int):
    """Differences of the bend of contact c."""
    steps = get(work.contact_steps, c, w)
    change = vec3()
    curve = vec3()
    if steps > real(0.5):
        change = bent - get3(work.contact_bent, 2 * c, w)
    if steps > real(1.5):
        curve = change - get3(work.contact_bent, 2 * c + 1, w)
    set_item3(state.touched_bent, 7 * c, w, change)
    set_item3(state.touched_bent, 7 * c + 3, w, curve)
    set_item(state.touched_bent, 7 * c + 6, w, wp.min(steps + real(1.0), real(2.0)))


@wp.func
def place_now(plan: Plan, state: State, c: int, pair: int, feature: int, w: int):
    """Which contact of the pair of contact c has some features; −1: none."""
    found = int(-1)
    k = int(c)
    while k > 0 and pair_of(plan, state, k - 1, w) == pair:
        k -= 1
    while k < item_int(state.touch.count, 0, w) and pair_of(plan, state, k, w) == pair:
        if item_int(state.touch.feature, k, w) == feature:
            found = k
        k += 1
    return found


@wp.func
def place_before(state: State, first: int, pair: int, feature: int, w: int):
    """Which contact of a pair, of those of the step before from place `first` on, had some features; −1: none."""
    found = int(-1)
    k = int(first)
    while k < item_int(state.touched, 0, w) and item_int(state.touched, 1 + 2 * k, w) == pair and found < 0:
        if item_int(state.touched, 2 + 2 * k, w) == feature:
            found = k
        k += 1
    return found


@wp.func
def way2(state: State, before: int, c: int, w: int):
    """How far contact c is from where contact `before` of the step before was, squared; much where they look different
    ways."""
    x = item3(state.touch.point, 3 * c, w) - item3(state.touched_at, 10 * before, w)
    alike = wp.dot(item3(state.touch.normal, 3 * c, w), item3(state.touched_at, 10 * before + 3, w))
    return wp.where(alike > ALIKE, wp.dot(x, x), FAR)


@wp.func
def place_renamed(plan: Plan, state: State, c: int, first: int, pair: int, w: int):
    """Which contact of the step before contact c, whose features did not meet then, goes on with: of those of its pair
    whose features meet no more the nearest one, if no other new contact is nearer to that; −1: none (M-84)."""
    found = int(-1)
    least = FAR
    k = int(first)
    while k < item_int(state.touched, 0, w) and item_int(state.touched, 1 + 2 * k, w) == pair:
        way = way2(state, k, c, w)
        if way < least and place_now(plan, state, c, pair, item_int(state.touched, 2 + 2 * k, w), w) < 0:
            found = k
            least = way
        k += 1
    k = int(c)
    while k > 0 and pair_of(plan, state, k - 1, w) == pair:
        k -= 1
    while found >= 0 and k < item_int(state.touch.count, 0, w) and pair_of(plan, state, k, w) == pair:
        way = way2(state, found, k, w)
        if way < least or (way == least and k < c):
            if place_before(state, first, pair, item_int(state.touch.feature, k, w), w) < 0:
                found = -1
        k += 1
    return found


@wp.func
def recall_contact(plan: Plan, state: State, work: Work, c: int, last: int, scale: real, bend: real, w: int):
    """Impulses of contact c ← those the same features had in the step before, from place `last` of its contacts on,
    which are in the same order; its bend ← what is expected of it. Returns the place of this pair."""
    pair = pair_of(plan, state, c, w)
    feature = item_int(state.touch.feature, c, w)
    count = item_int(state.touched, 0, w)
    while last < count and item_int(state.touched, 1 + 2 * last, w) < pair:
        last += 1
    normal, t1, t2 = frame_of(state, work, c, w)
    f = vec3()
    n = vec3()
    bent = vec3()
    found = place_before(state, last, pair, feature, w)
    if found < 0 and last < count and item_int(state.touched, 1 + 2 * last, w) == pair:
        found = place_renamed(plan, state, c, last, pair, w)
    if found >= 0:
        before = item3(state.touched_at, 10 * found + 3, w)
        f = item3(state.touched_p, 6 * found, w) * scale
        n = item3(state.touched_p, 6 * found + 3, w) * scale
        bent = turned_along(before, normal, item3(state.touched_at, 10 * found + 7, w))
    at = plan.first_contact + CONTACT_P * c
    put(work.p, at, w, wp.max(wp.dot(f, normal), real(0.0)))
    put(work.p, at + 1, w, wp.dot(f, t1))
    put(work.p, at + 2, w, wp.dot(f, t2))
    put(work.p, at + 3, w, wp.dot(n, normal))
    put(work.p, at + 4, w, wp.dot(n, t1))
    put(work.p, at + 5, w, wp.dot(n, t2))
    if plan.joints > 0:
        bent = expected_bend(plan, state, work, c, found, bent, w)
    put3(work.contact_bend, c, w, vec3(wp.dot(bent, normal), wp.dot(bent, t1), wp.dot(bent, t2)) * bend)
    return last


@wp.func
def first_of_pair(state: State, pair: int, w: int):
    """Place among the contacts of the step before from which on those of a pair are."""
    low = int(0)
    high = item_int(state.touched, 0, w)
    while low < high:
        middle = (low + high) // 2
        if item_int(state.touched, 1 + 2 * middle, w) < pair:
            low = middle + 1
        else:
            high = middle
    return low


@wp.func
def keep_contact(plan: Plan, state: State, work: Work, c: int, w: int):
    """Impulse and bend of contact c, for the step to come."""
    set_item_int(state.touched, 1 + 2 * c, w, pair_of(plan, state, c, w))
    set_item_int(state.touched, 2 + 2 * c, w, item_int(state.touch.feature, c, w))
    f, n = impulse_of_contact(plan, state, work, c, w)
    set_item3(state.touched_p, 6 * c, w, f)
    set_item3(state.touched_p, 6 * c + 3, w, n)
    set_item3(state.touched_at, 10 * c, w, item3(state.touch.point, 3 * c, w))
    normal, t1, t2 = frame_of(state, work, c, w)
    bend = get3(work.contact_bend, c, w)
    set_item3(state.touched_at, 10 * c + 3, w, normal)
    set_item(state.touched_at, 10 * c + 6, w, item(state.touch.gap, c, w))
    bent = normal * bend[0] + t1 * bend[1] + t2 * bend[2]
    set_item3(state.touched_at, 10 * c + 7, w, bent)
    if plan.joints > 0:
        keep_bend(state, work, c, bent, w)


@wp.func
def keep_contacts(plan: Plan, state: State, work: Work, w: int):
    """The same of all."""
    c = int(0)
    while c < contact_count(work, w):
        keep_contact(plan, state, work, c, w)
        c += 1
