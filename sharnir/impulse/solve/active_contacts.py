"""Where impulses still change among many contacts: there sweeps go on, the others rest and are looked at now and then
(M-85)."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import CONTACT_K, Work
from sharnir.impulse.layout.layout import Plan
from sharnir.impulse.row_kinds import CONTACT_P
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.solve.contact_block import largest, rub_contact, sweep_contact, sweep_turning
from sharnir.impulse.solve.islands import root_of_line
from sharnir.kernels.columns import get, get_int, put, put_int
from sharnir.kernels.indexed_blocks import extrapolate_listed, keep_listed
from sharnir.kernels.types import array2, real, vec3
from sharnir.kernels.vector_ops import clear


@wp.func
def calm_all(plan: Plan, work: Work, w: int):
    """No tree of bodies is stirred."""
    i = int(0)
    while i < plan.links:
        put_int(work.stirred, i, w, 0)
        i += 1


@wp.func
def rest_all(plan: Plan, work: Work, w: int):
    """Nor does any contact take part in sweeps."""
    calm_all(plan, work, w)
    c = int(0)
    while c < contact_count(work, w):
        put_int(work.resting, c, w, 1)
        c += 1
    i = int(0)
    while i < plan.links:
        put_int(work.unmoved, i, w, 1)
        i += 1
    put_int(work.awake, 0, w, 0)
    put_int(work.moved, 0, w, 0)


@wp.func
def stir(work: Work, c: int, w: int):
    """The trees of both bodies of contact c are stirred. Returns how many were not yet."""
    more = int(0)
    side = int(0)
    while side < 2:
        root = get_int(work.contact_root, 2 * c + side, w)
        if root >= 0:
            if get_int(work.stirred, root, w) == 0:
                put_int(work.stirred, root, w, 1)
                more += 1
        side += 1
    return more


@wp.func
def stir_line(plan: Plan, work: Work, l: int, w: int):
    """All trees that line l moves are stirred."""
    k = int(0)
    while k < plan.line_length[l]:
        put_int(work.stirred, root_of_line(plan, l, k), w, 1)
        k += 1


@wp.func
def is_stirred(work: Work, c: int, w: int):
    """1 if one of the trees of contact c is."""
    out = int(0)
    side = int(0)
    while side < 2:
        root = get_int(work.contact_root, 2 * c + side, w)
        if root >= 0:
            out = wp.max(out, get_int(work.stirred, root, w))
        side += 1
    return out


@wp.func
def look_at_resting(plan: Plan, work: Work, z: array2, p: array2, w: int):
    """Contacts that rest, once. Returns the largest change of an impulse."""
    worst = real(0.0)
    c = int(0)
    while c < contact_count(work, w):
        if get_int(work.resting, c, w) == 1:
            change = sweep_contact(plan, work, c, 0, z, p, w)
            put(work.contact_change, c, w, change)
            worst = wp.max(worst, change)
        c += 1
    return worst


@wp.func
def stir_resting(plan: Plan, work: Work, least: real, w: int):
    """What changed by more than `least` when contacts that rest were looked at stirs its bodies. Returns how many."""
    more = int(0)
    c = int(0)
    while c < contact_count(work, w):
        if get_int(work.resting, c, w) == 1 and get(work.contact_change, c, w) > least:
            more += stir(work, c, w)
        c += 1
    return more


@wp.func
def wake(plan: Plan, work: Work, p: array2, w: int):
    """Contacts of stirred bodies take part from now on."""
    count = get_int(work.awake, 0, w)
    c = int(0)
    while c < contact_count(work, w):
        if get_int(work.resting, c, w) == 1:
            if is_stirred(work, c, w) == 1:
                put_int(work.resting, c, w, 0)
                count += 1
                put_int(work.awake, count, w, c)
                at = plan.first_contact + CONTACT_P * c
                k = int(0)
                while k < CONTACT_P:
                    put(work.p_way, at + k, w, real(0.0))
                    put(work.p_old, at + k, w, get(p, at + k, w))
                    k += 1
                move(plan, work, c, 0, w)
                move(plan, work, c, 1, w)
        c += 1
    put_int(work.awake, 0, w, count)


@wp.func
def move(plan: Plan, work: Work, c: int, side: int, w: int):
    """Coordinates of the tree of one of the bodies of contact c are among those that sweeps move."""
    root = get_int(work.contact_root, 2 * c + side, w)
    if root >= 0:
        if get_int(work.unmoved, root, w) == 1:
            put_int(work.unmoved, root, w, 0)
            count = get_int(work.moved, 0, w)
            d = plan.tree_first[root]
            while d < plan.tree_first[root] + plan.tree_size[root]:
                count += 1
                put_int(work.moved, count, w, d)
                put(work.z_way, d, w, real(0.0))
                d += 1
            put_int(work.moved, 0, w, count)


@wp.func
def sweep_stirred(plan: Plan, work: Work, least: real, z: array2, p: array2, w: int):
    """Contacts that take part, once; those that change by more than `least` stir their bodies. Returns the largest
    change, the sum of squares of all, and how many bodies were not yet stirred."""
    worst = real(0.0)
    gone = real(0.0)
    more = int(0)
    i = int(1)
    while i <= get_int(work.awake, 0, w):
        c = get_int(work.awake, i, w)
        at = plan.first_contact + CONTACT_P * c
        old = keep_three(work, p, at, w)
        d = rub_contact(plan, work, c, 0, old, z, p, w)
        change = largest(d)
        gone = gone + wp.dot(d, d)
        if get_int(work.contact_rows, c, w) == 6:
            keep_three(work, p, at + 3, w)
            d = sweep_turning(plan, work, c, get(p, at, w), 0, z, p, w)
            change = wp.max(change, largest(d))
            gone = gone + wp.dot(d, d)
        change = change * get(work.contact_K, CONTACT_K * c + 15, w)
        put(work.contact_change, c, w, change)
        worst = wp.max(worst, change)
        if change > least:
            more += stir(work, c, w)
        i += 1
    return worst, gone, more


@wp.func
def keep_three(work: Work, p: array2, at: int, w: int):
    """Three impulses, before a sweep."""
    old = vec3(get(p, at, w), get(p, at + 1, w), get(p, at + 2, w))
    put(work.p_old, at, w, old[0])
    put(work.p_old, at + 1, w, old[1])
    put(work.p_old, at + 2, w, old[2])
    return old


@wp.func
def extrapolate_stirred(plan: Plan, work: Work, beta: real, z: array2, p: array2, w: int):
    """`spans.extrapolate` of contacts that take part and of what they move."""
    extrapolate_listed(p, work.p_old, work.p_way, beta, work.awake, plan.first_contact, CONTACT_P, plan.contact_rows, w)
    extrapolate_listed(z, work.z_old, work.z_way, beta, work.moved, 0, 1, 1, w)


@wp.func
def start_anew(plan: Plan, work: Work, z: array2, p: array2, w: int):
    """Directions ← 0: what impulses and coordinates are now they were before the sweep."""
    clear(work.p_way, plan.impulses, w)
    clear(work.z_way, plan.width, w)
    keep_listed(p, work.p_old, work.awake, plan.first_contact, CONTACT_P, plan.contact_rows, w)
    keep_listed(z, work.z_old, work.moved, 0, 1, 1, w)
