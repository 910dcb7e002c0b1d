"""Islands: kinematic trees joined by contacts and scalar rows, by union–find, for the islands in which sweeps have not
converged (M-61)."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import MAX_ISLAND_DOFS, Scratch, State
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.slots import ContactMass
from sharnir.kernels.columns import get, get_int, put, put_int
from sharnir.kernels.types import real

MASS_RATIO = wp.constant(real(30.0))  # mean body mass over a contact's effective mass: above it sweeps converge slowly


@wp.func
def find_worst_light_contact(work: wp.ref[Scratch], epsilon: real, w: int):
    """Contact with a mass ratio above MASS_RATIO whose impulse changed most in the last sweep, if by more than ε; else
    −1."""
    worst = epsilon
    found = int(-1)
    c = int(0)
    while c < contact_count(work, w):
        if (
            get(work.contact_impulse_change, c, w) > worst
            and get(work.contact_mass, ContactMass.SIZE * c + ContactMass.LIGHTNESS, w) > MASS_RATIO
        ):
            worst = get(work.contact_impulse_change, c, w)
            found = c
        c += 1
    return found


@wp.func
def find_island(work: wp.ref[Scratch], root: int, w: int):
    """Union–find representative of the island that tree `root` belongs to, with path halving."""
    i = int(root)
    while get_int(work.island_parent, i, w) != i:
        parent = get_int(work.island_parent, i, w)
        put_int(work.island_parent, i, w, get_int(work.island_parent, parent, w))
        i = get_int(work.island_parent, i, w)
    return i


@wp.func
def unite_trees(work: wp.ref[Scratch], a: int, b: int, w: int):
    """Union of the islands of two trees; −1 is the world, which joins nothing."""
    if a >= 0 and b >= 0:
        first = find_island(work, a, w)
        second = find_island(work, b, w)
        put_int(work.island_parent, wp.max(first, second), w, wp.min(first, second))


@wp.func
def root_of_scalar(layout: wp.ref[Layout], l: int, k: int):
    """Root link of the tree that entry k of scalar row l belongs to."""
    return layout.dof_root[layout.index[layout.scalar_index_start[l] + k]]


@wp.func
def build_islands(layout: wp.ref[Layout], state: wp.ref[State], work: wp.ref[Scratch], w: int):
    """Build the islands: union of trees over contacts and scalar rows, and the number of velocity coordinates
    of each."""
    i = int(0)
    while i < layout.links:
        put_int(work.island_parent, i, w, i)
        put_int(work.island_size, i, w, 0)
        i += 1
    c = int(0)
    while c < contact_count(work, w):
        unite_trees(work, get_int(work.contact_trees, 2 * c, w), get_int(work.contact_trees, 2 * c + 1, w), w)
        c += 1
    l = int(0)
    while l < layout.scalars:
        k = int(1)
        while k < layout.scalar_row_length[l]:
            unite_trees(work, root_of_scalar(layout, l, 0), root_of_scalar(layout, l, k), w)
            k += 1
        l += 1
    d = int(0)
    while d < layout.dofs:
        island = find_island(work, layout.dof_root[d], w)
        put_int(work.island_size, island, w, get_int(work.island_size, island, w) + 1)
        d += 1


@wp.func
def find_contact_island(layout: wp.ref[Layout], state: wp.ref[State], work: wp.ref[Scratch], c: int, w: int):
    """Representative of the island that contact c belongs to."""
    return find_island(
        work, wp.max(get_int(work.contact_trees, 2 * c, w), get_int(work.contact_trees, 2 * c + 1, w)), w
    )


@wp.func
def skip_large_islands(layout: wp.ref[Layout], state: wp.ref[State], work: wp.ref[Scratch], w: int):
    """Mark the contacts of islands larger than MAX_ISLAND_DOFS coordinates as handled, by zeroing their
    impulse change."""
    c = int(0)
    while c < contact_count(work, w):
        if get_int(work.island_size, find_contact_island(layout, state, work, c, w), w) > MAX_ISLAND_DOFS:
            put(work.contact_impulse_change, c, w, real(0.0))
        c += 1


@wp.func
def list_island(layout: wp.ref[Layout], state: wp.ref[State], work: wp.ref[Scratch], seed: int, w: int):
    """List coordinates, contacts and scalar rows of the island of contact `seed`, and mark its contacts as handled.
    Returns the number of velocity coordinates."""
    island = find_contact_island(layout, state, work, seed, w)
    c = int(0)
    n = int(0)
    while c < contact_count(work, w):
        if find_contact_island(layout, state, work, c, w) == island:
            n += 1
            put_int(work.island_contacts, n, w, c)
            put(work.contact_impulse_change, c, w, real(0.0))
        c += 1
    put_int(work.island_contacts, 0, w, n)
    size = int(0)
    d = int(0)
    while d < layout.dofs:
        if find_island(work, layout.dof_root[d], w) == island:
            put_int(work.island_dofs, size, w, d)
            put_int(work.dof_in_island, d, w, size)
            size += 1
        d += 1
    l = int(0)
    n = int(0)
    while l < layout.scalars:
        if get(work.scalar_K, l, w) > real(0.0) and find_island(work, root_of_scalar(layout, l, 0), w) == island:
            n += 1
            put_int(work.island_scalars, n, w, l)
        l += 1
    put_int(work.island_scalars, 0, w, n)
    return size
