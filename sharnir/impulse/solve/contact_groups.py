"""Groups of trees that impulses of contacts and bilateral rows connect, by union–find over root links."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Context, Scratch
from sharnir.impulse.row_kinds import CONTACT_IMPULSES
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.slots import GroupSum
from sharnir.kernels.columns import get, get_int, put, put_int
from sharnir.kernels.types import array2, real


@wp.func
def find_group(work: wp.ref[Scratch], link: int, w: int):
    """Group of a root link."""
    i = int(link)
    while get_int(work.contact_group, i, w) != i:
        i = get_int(work.contact_group, i, w)
    return i


@wp.func
def join_groups(work: wp.ref[Scratch], a: int, b: int, w: int):
    """Unite the groups of two root links; −1, the world, unites nothing."""
    if a >= 0 and b >= 0:
        first = find_group(work, a, w)
        second = find_group(work, b, w)
        put_int(work.contact_group, wp.max(first, second), w, wp.min(first, second))


@wp.func
def join_row(ctx: Context, first: int, length: int, w: int):
    """Unite the trees whose coordinates a row acts on, `length` of them from place `first` of the index on."""
    k = int(1)
    while k < length:
        here = ctx.layout.dof_root[ctx.layout.index[first + k]]
        join_groups(ctx.work, here, ctx.layout.dof_root[ctx.layout.index[first]], w)
        k += 1


@wp.func
def group_trees(ctx: Context, p: array2, q: array2, w: int):
    """Unite the trees that contact impulses p or q and bilateral rows connect; sums of all groups ← 0."""
    i = int(0)
    while i < ctx.layout.links:
        put_int(ctx.work.contact_group, i, w, i)
        put(ctx.work.group_sum, GroupSum.SIZE * i, w, real(0.0))
        put(ctx.work.group_sum, GroupSum.SIZE * i + GroupSum.SECOND, w, real(0.0))
        i += 1
    b = int(0)
    while b < ctx.layout.bilaterals:
        join_row(ctx, ctx.layout.bilateral_index_start[b], ctx.layout.bilateral_row_length[b], w)
        b += 1
    c = int(0)
    while c < contact_count(ctx.work, w):
        at = ctx.layout.contact_p_start + CONTACT_IMPULSES * c
        if get(p, at, w) > real(0.0) or get(q, at, w) > real(0.0):
            first = get_int(ctx.work.contact_trees, 2 * c, w)
            join_groups(ctx.work, first, get_int(ctx.work.contact_trees, 2 * c + 1, w), w)
        c += 1


@wp.func
def root_of_contact(work: wp.ref[Scratch], c: int, w: int):
    """Root link of a tree that contact c acts on."""
    return wp.max(get_int(work.contact_trees, 2 * c, w), get_int(work.contact_trees, 2 * c + 1, w))


@wp.func
def add_to_group(work: wp.ref[Scratch], root: int, slot: int, value: real, w: int):
    """A `GroupSum` of the group of a root link += value."""
    at = GroupSum.SIZE * find_group(work, root, w) + slot
    put(work.group_sum, at, w, get(work.group_sum, at, w) + value)
