"""Contacts: their frames, speeds and impulses (M-54..M-58).

Each row of a contact is two halves, one per body, whitened over the ancestors of that body; the world has none.
"""

from __future__ import annotations

import warp as wp

from sharnir.collision.pipeline import PROPERTIES
from sharnir.impulse.data import State, Work
from sharnir.impulse.layout.layout import Plan
from sharnir.impulse.row_kinds import CONTACT_P
from sharnir.kernels.columns import get, get3, get_int, item3, item_int, put
from sharnir.kernels.types import array2, real, vec3
from sharnir.kernels.vector_ops import row_add, row_dot, three_add, three_dot

CLOSED_GAP = wp.constant(real(2.0e-6))  # m, beyond what points that bear may hover at (M-55)


@wp.func
def contact_count(work: Work, w: int):
    """How many points there are rows for."""
    return get_int(work.touching, 0, w)


@wp.func
def tangents(normal: vec3):
    """Two unit vectors across the normal."""
    side = vec3(real(0.0), real(1.0), real(0.0))
    if wp.abs(normal[1]) > real(0.9):
        side = vec3(real(0.0), real(0.0), real(1.0))
    t1 = wp.normalize(wp.cross(side, normal))
    return t1, wp.cross(normal, t1)


@wp.func
def properties_of(plan: Plan, state: State, c: int, w: int):
    """Where the table has the pair of materials that meet in contact c."""
    a = plan.surfaces.material[item_int(state.touch.shape, 2 * c, w)]
    b = plan.surfaces.material[item_int(state.touch.shape, 2 * c + 1, w)]
    return (a * plan.surfaces.materials + b) * PROPERTIES


@wp.func
def pair_of(plan: Plan, state: State, c: int, w: int):
    """A number for the two shapes of contact c, growing with c."""
    return item_int(state.touch.shape, 2 * c, w) * plan.surfaces.geo.count + item_int(state.touch.shape, 2 * c + 1, w)


@wp.func
def frame_of(state: State, work: Work, c: int, w: int):
    """Normal and tangents of contact c."""
    return item3(state.touch.normal, 3 * c, w), get3(work.contact_side, 2 * c, w), get3(work.contact_side, 2 * c + 1, w)


@wp.func
def contact_speed(plan: Plan, work: Work, c: int, row: int, held: int, z: array2, w: int):
    """Speeds of three rows of contact c from `row` on: what the second body has against the first."""
    s = contact_product(plan, work, c, row, held, z, w)
    if held == 1:
        o = plan.lines + CONTACT_P * c + row
        s = s + vec3(get(work.offset, o, w), get(work.offset, o + 1, w), get(work.offset, o + 2, w))
    return s


@wp.func
def contact_product(plan: Plan, work: Work, c: int, row: int, held: int, z: array2, w: int):
    """W z of three rows of contact c from `row` on."""
    if held == 1:
        start = plan.dense_contact + (CONTACT_P * c + row) * plan.width
        return three_dot(work.W, start, plan.width, plan.index, plan.every, z, w)
    return half_product(plan, work, 6 * c, row, z, w) + half_product(plan, work, 6 * c + 3, row, z, w)


@wp.func
def half_product(plan: Plan, work: Work, at: int, row: int, z: array2, w: int):
    """The same of one half, which `contact_at` describes from place `at` on."""
    length = get_int(work.contact_at, at + 1, w)
    start = get_int(work.contact_at, at, w) + row * length
    return three_dot(work.W, start, length, plan.index, get_int(work.contact_at, at + 2, w), z, w)


@wp.func
def push_contact(plan: Plan, work: Work, c: int, row: int, held: int, p: vec3, z: array2, w: int):
    """z += Wᵀ p of three rows of contact c from `row` on."""
    if held == 1:
        start = plan.dense_contact + (CONTACT_P * c + row) * plan.width
        three_add(work.W, start, plan.width, plan.index, plan.every, p, z, w)
    else:
        at = 6 * c
        side = int(0)
        while side < 2:
            length = get_int(work.contact_at, at + 1, w)
            if length > 0:
                start = get_int(work.contact_at, at, w) + row * length
                three_add(work.W, start, length, plan.index, get_int(work.contact_at, at + 2, w), p, z, w)
            at += 3
            side += 1


@wp.func
def normal_speed(plan: Plan, work: Work, c: int, held: int, z: array2, w: int):
    """Speed of the normal row of contact c alone."""
    s = real(0.0)
    if held == 1:
        start = plan.dense_contact + CONTACT_P * c * plan.width
        s = row_dot(work.W, start, plan.width, plan.index, plan.every, z, w)
        s = s + get(work.offset, plan.lines + CONTACT_P * c, w)
    else:
        at = 6 * c
        while at < 6 * c + 6:
            start = get_int(work.contact_at, at, w)
            length = get_int(work.contact_at, at + 1, w)
            s = s + row_dot(work.W, start, length, plan.index, get_int(work.contact_at, at + 2, w), z, w)
            at += 3
    return s


@wp.func
def push_normal(plan: Plan, work: Work, c: int, held: int, p: real, z: array2, w: int):
    """z += Wᵀ p of the normal row of contact c."""
    if held == 1:
        start = plan.dense_contact + CONTACT_P * c * plan.width
        row_add(work.W, start, plan.width, plan.index, plan.every, p, z, w)
    else:
        at = 6 * c
        while at < 6 * c + 6:
            start = get_int(work.contact_at, at, w)
            length = get_int(work.contact_at, at + 1, w)
            row_add(work.W, start, length, plan.index, get_int(work.contact_at, at + 2, w), p, z, w)
            at += 3


@wp.func
def impulse_of_contact(plan: Plan, state: State, work: Work, c: int, w: int):
    """Impulse and angular impulse on the second body, world axes."""
    normal, t1, t2 = frame_of(state, work, c, w)
    at = plan.first_contact + CONTACT_P * c
    f = normal * get(work.p, at, w) + t1 * get(work.p, at + 1, w) + t2 * get(work.p, at + 2, w)
    n = normal * get(work.p, at + 3, w) + t1 * get(work.p, at + 4, w) + t2 * get(work.p, at + 5, w)
    return f, n


@wp.func
def only_closed(work: Work, w: int):
    """Contacts as they are now, not over a step: those with a gap do not act, and paths have no bend."""
    c = int(0)
    while c < contact_count(work, w):
        k = int(0)
        while k < 3:
            bend = get(work.contact_bend, 3 * c + k, w)
            put(work.contact_target, 3 * c + k, w, get(work.contact_target, 3 * c + k, w) + bend)
            k += 1
        if get(work.contact_gap, c, w) > CLOSED_GAP:
            put(work.contact_target, 3 * c, w, real(-wp.inf))
        c += 1
