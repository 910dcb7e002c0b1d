"""Which bodies a contact holds together with which: an island, where the sweeps have not settled (M-61)."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import CONTACT_K, MOST_SOLVED, State, Work
from sharnir.impulse.layout.layout import Plan
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.kernels.columns import get, get_int, put, put_int
from sharnir.kernels.types import real

LIGHT = wp.constant(real(30.0))  # times lighter than the mean of all bodies: there sweeps crawl


@wp.func
def restless(work: Work, epsilon: real, w: int):
    """The contact of something light whose impulse changed most in the last sweep, if that is more than ε; else −1."""
    worst = epsilon
    found = int(-1)
    c = int(0)
    while c < contact_count(work, w):
        if get(work.contact_change, c, w) > worst and get(work.contact_K, CONTACT_K * c + 16, w) > LIGHT:
            worst = get(work.contact_change, c, w)
            found = c
        c += 1
    return found


@wp.func
def island_of(work: Work, root: int, w: int):
    """The first of the trees that are joined with one; paths to it are halved on the way."""
    i = int(root)
    while get_int(work.mark, i, w) != i:
        up = get_int(work.mark, i, w)
        put_int(work.mark, i, w, get_int(work.mark, up, w))
        i = get_int(work.mark, i, w)
    return i


@wp.func
def join(work: Work, a: int, b: int, w: int):
    """Two trees belong together; −1 is the world, which joins nothing."""
    if a >= 0 and b >= 0:
        first = island_of(work, a, w)
        second = island_of(work, b, w)
        put_int(work.mark, wp.max(first, second), w, wp.min(first, second))


@wp.func
def root_of_line(plan: Plan, l: int, k: int):
    """Root link of the tree that entry k of line l belongs to."""
    return plan.dof_root[plan.index[plan.line_first[l] + k]]


@wp.func
def mark_islands(plan: Plan, state: State, work: Work, w: int):
    """Which trees contacts and lines join, and how many velocity coordinates they have together."""
    i = int(0)
    while i < plan.links:
        put_int(work.mark, i, w, i)
        put_int(work.island_size, i, w, 0)
        i += 1
    c = int(0)
    while c < contact_count(work, w):
        join(work, get_int(work.contact_root, 2 * c, w), get_int(work.contact_root, 2 * c + 1, w), w)
        c += 1
    l = int(0)
    while l < plan.lines:
        k = int(1)
        while k < plan.line_length[l]:
            join(work, root_of_line(plan, l, 0), root_of_line(plan, l, k), w)
            k += 1
        l += 1
    d = int(0)
    while d < plan.dofs:
        here = island_of(work, plan.dof_root[d], w)
        put_int(work.island_size, here, w, get_int(work.island_size, here, w) + 1)
        d += 1


@wp.func
def island_of_contact(plan: Plan, state: State, work: Work, c: int, w: int):
    return island_of(work, wp.max(get_int(work.contact_root, 2 * c, w), get_int(work.contact_root, 2 * c + 1, w)), w)


@wp.func
def small_only(plan: Plan, state: State, work: Work, w: int):
    """Contacts of islands that are too large count as seen to."""
    c = int(0)
    while c < contact_count(work, w):
        if get_int(work.island_size, island_of_contact(plan, state, work, c, w), w) > MOST_SOLVED:
            put(work.contact_change, c, w, real(0.0))
        c += 1


@wp.func
def list_island(plan: Plan, state: State, work: Work, seed: int, w: int):
    """Coordinates, contacts and lines of the island of contact `seed`; returns how many coordinates there are. The
    contacts count as seen to."""
    here = island_of_contact(plan, state, work, seed, w)
    c = int(0)
    n = int(0)
    while c < contact_count(work, w):
        if island_of_contact(plan, state, work, c, w) == here:
            n += 1
            put_int(work.island_contact, n, w, c)
            put(work.contact_change, c, w, real(0.0))
        c += 1
    put_int(work.island_contact, 0, w, n)
    size = int(0)
    d = int(0)
    while d < plan.dofs:
        if island_of(work, plan.dof_root[d], w) == here:
            put_int(work.island_dof, size, w, d)
            put_int(work.island_at, d, w, size)
            size += 1
        d += 1
    l = int(0)
    n = int(0)
    while l < plan.lines:
        if get(work.K, l, w) > real(0.0) and island_of(work, root_of_line(plan, l, 0), w) == here:
            n += 1
            put_int(work.island_line, n, w, l)
        l += 1
    put_int(work.island_line, 0, w, n)
    return size
