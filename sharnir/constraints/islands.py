"""Which bodies a contact holds together with which: an island, where the sweeps have not settled (M-61)."""

from __future__ import annotations

import warp as wp

from sharnir.constraints.contacts import contact_count
from sharnir.constraints.plan import Plan
from sharnir.constraints.work import MOST_SOLVED, State, Work
from sharnir.maths import get, get_int, item_int, put, put_int, real

ABROAD, HERE = range(2)  # marks of trees


@wp.func
def restless(work: Work, epsilon: real, w: int):
    """The contact whose impulse changed most in the last sweep, if that is more than ε; else −1."""
    worst = epsilon
    found = int(-1)
    c = int(0)
    while c < contact_count(work, w):
        if get(work.contact_change, c, w) > worst:
            worst = get(work.contact_change, c, w)
            found = c
        c += 1
    return found


@wp.func
def root_of(plan: Plan, state: State, c: int, side: int, w: int):
    """Root link of the tree of one of the bodies of contact c; −1 for the world."""
    link = plan.surfaces.geo.link[item_int(state.touch.shape, 2 * c + side, w)]
    root = int(-1)
    if link >= 0:
        root = plan.link_root[link]
    return root


@wp.func
def join(work: Work, a: int, b: int, w: int):
    """Mark both trees if one of them is; 1 if that is new."""
    more = int(0)
    if a >= 0 and b >= 0:
        if get_int(work.mark, a, w) != get_int(work.mark, b, w):
            put_int(work.mark, a, w, HERE)
            put_int(work.mark, b, w, HERE)
            more = 1
    return more


@wp.func
def root_of_line(plan: Plan, l: int, k: int):
    """Root link of the tree that entry k of line l belongs to."""
    return plan.dof_root[plan.index[plan.line_first[l] + k]]


@wp.func
def mark_island(plan: Plan, state: State, work: Work, seed: int, w: int):
    """Mark all trees that contacts and lines join with those of contact `seed`."""
    i = int(0)
    while i < plan.links:
        put_int(work.mark, i, w, ABROAD)
        i += 1
    side = int(0)
    while side < 2:
        root = root_of(plan, state, seed, side, w)
        if root >= 0:
            put_int(work.mark, root, w, HERE)
        side += 1
    going = int(1)
    while going > 0:
        more = int(0)
        c = int(0)
        while c < contact_count(work, w):
            more += join(work, root_of(plan, state, c, 0, w), root_of(plan, state, c, 1, w), w)
            c += 1
        l = int(0)
        while l < plan.lines:
            k = int(1)
            while k < plan.line_length[l]:
                more += join(work, root_of_line(plan, l, 0), root_of_line(plan, l, k), w)
                k += 1
            l += 1
        going = more


@wp.func
def list_island(plan: Plan, state: State, work: Work, w: int):
    """Coordinates, contacts and lines of the marked trees; returns how many coordinates there are. The contacts count
    as seen to."""
    c = int(0)
    n = int(0)
    while c < contact_count(work, w):
        root = wp.max(root_of(plan, state, c, 0, w), root_of(plan, state, c, 1, w))
        if get_int(work.mark, root, w) == HERE:
            n += 1
            put_int(work.island_contact, n, w, c)
            put(work.contact_change, c, w, real(0.0))
        c += 1
    put_int(work.island_contact, 0, w, n)
    size = int(0)
    d = int(0)
    while d < plan.dofs:
        if get_int(work.mark, plan.dof_root[d], w) == HERE:
            if size < MOST_SOLVED:
                put_int(work.island_dof, size, w, d)
                put_int(work.island_at, d, w, size)
            size += 1
        d += 1
    l = int(0)
    n = int(0)
    while l < plan.lines:
        if get(work.K, l, w) > real(0.0) and get_int(work.mark, root_of_line(plan, l, 0), w) == HERE:
            n += 1
            put_int(work.island_line, n, w, l)
        l += 1
    put_int(work.island_line, 0, w, n)
    return size
