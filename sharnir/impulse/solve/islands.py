"""Which bodies a contact holds together with which: an island, where the sweeps have not settled (M-61)."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import CONTACT_MASS_SIZE, MAX_ISLAND_DOFS, Scratch, State
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.kernels.columns import get, get_int, put, put_int
from sharnir.kernels.types import real

MASS_RATIO = wp.constant(real(30.0))  # times lighter than the mean of all bodies: there sweeps crawl


@wp.func
def find_worst_light_contact(work: Scratch, epsilon: real, w: int):
    """The contact of something light whose impulse changed most in the last sweep, if that is more than ε; else −1."""
    worst = epsilon
    found = int(-1)
    c = int(0)
    while c < contact_count(work, w):
        if (
            get(work.contact_impulse_change, c, w) > worst
            and get(work.contact_mass, CONTACT_MASS_SIZE * c + 16, w) > MASS_RATIO
        ):
            worst = get(work.contact_impulse_change, c, w)
            found = c
        c += 1
    return found


@wp.func
def find_island(work: Scratch, root: int, w: int):
    """The first of the trees that are joined with one; paths to it are halved on the way."""
    i = int(root)
    while get_int(work.island_parent, i, w) != i:
        parent = get_int(work.island_parent, i, w)
        put_int(work.island_parent, i, w, get_int(work.island_parent, parent, w))
        i = get_int(work.island_parent, i, w)
    return i


@wp.func
def unite_trees(work: Scratch, a: int, b: int, w: int):
    """Two trees belong together; −1 is the world, which joins nothing."""
    if a >= 0 and b >= 0:
        first = find_island(work, a, w)
        second = find_island(work, b, w)
        put_int(work.island_parent, wp.max(first, second), w, wp.min(first, second))


@wp.func
def root_of_scalar(plan: Layout, l: int, k: int):
    """Root link of the tree that entry k of line l belongs to."""
    return plan.dof_root[plan.index[plan.scalar_index_start[l] + k]]


@wp.func
def build_islands(plan: Layout, state: State, work: Scratch, w: int):
    """Which trees contacts and lines join, and how many velocity coordinates they have together."""
    i = int(0)
    while i < plan.links:
        put_int(work.island_parent, i, w, i)
        put_int(work.island_size, i, w, 0)
        i += 1
    c = int(0)
    while c < contact_count(work, w):
        unite_trees(work, get_int(work.contact_trees, 2 * c, w), get_int(work.contact_trees, 2 * c + 1, w), w)
        c += 1
    l = int(0)
    while l < plan.scalars:
        k = int(1)
        while k < plan.scalar_row_length[l]:
            unite_trees(work, root_of_scalar(plan, l, 0), root_of_scalar(plan, l, k), w)
            k += 1
        l += 1
    d = int(0)
    while d < plan.dofs:
        island = find_island(work, plan.dof_root[d], w)
        put_int(work.island_size, island, w, get_int(work.island_size, island, w) + 1)
        d += 1


@wp.func
def find_contact_island(plan: Layout, state: State, work: Scratch, c: int, w: int):
    return find_island(
        work, wp.max(get_int(work.contact_trees, 2 * c, w), get_int(work.contact_trees, 2 * c + 1, w)), w
    )


@wp.func
def skip_large_islands(plan: Layout, state: State, work: Scratch, w: int):
    """Contacts of islands that are too large count as seen to."""
    c = int(0)
    while c < contact_count(work, w):
        if get_int(work.island_size, find_contact_island(plan, state, work, c, w), w) > MAX_ISLAND_DOFS:
            put(work.contact_impulse_change, c, w, real(0.0))
        c += 1


@wp.func
def list_island(plan: Layout, state: State, work: Scratch, seed: int, w: int):
    """Coordinates, contacts and lines of the island of contact `seed`; returns how many coordinates there are. The
    contacts count as seen to."""
    island = find_contact_island(plan, state, work, seed, w)
    c = int(0)
    n = int(0)
    while c < contact_count(work, w):
        if find_contact_island(plan, state, work, c, w) == island:
            n += 1
            put_int(work.island_contacts, n, w, c)
            put(work.contact_impulse_change, c, w, real(0.0))
        c += 1
    put_int(work.island_contacts, 0, w, n)
    size = int(0)
    d = int(0)
    while d < plan.dofs:
        if find_island(work, plan.dof_root[d], w) == island:
            put_int(work.island_dofs, size, w, d)
            put_int(work.dof_in_island, d, w, size)
            size += 1
        d += 1
    l = int(0)
    n = int(0)
    while l < plan.scalars:
        if get(work.scalar_K, l, w) > real(0.0) and find_island(work, root_of_scalar(plan, l, 0), w) == island:
            n += 1
            put_int(work.island_scalars, n, w, l)
        l += 1
    put_int(work.island_scalars, 0, w, n)
    return size
