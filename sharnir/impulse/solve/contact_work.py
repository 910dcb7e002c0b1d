"""Impulses of contacts and limits that sweeps leave before they have converged, and those of impacts, are scaled down
where they would add energy (M-111).

Converged ones only take energy, against moving surfaces. A mean of no impulses and of these still obeys friction cones
and bounds, and adds nothing if it is near enough to none.
"""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Context, Iterate
from sharnir.impulse.row_kinds import CONTACT_IMPULSES, SCALAR_IMPULSES
from sharnir.impulse.rows.contact_frame import apply_contact_impulse, contact_count, contact_velocity
from sharnir.impulse.rows.warn import warn_of
from sharnir.impulse.slots import BLOCK_ROWS, GroupSum, StepWarning
from sharnir.impulse.solve.contact_groups import add_to_group, find_group, group_trees, join_row, root_of_contact
from sharnir.impulse.solve.pgs_sweep import limit_impulse, scalar_row_of, scalar_velocity_of
from sharnir.impulse.tolerances import TOL_ADDED_ENERGY
from sharnir.kernels.columns import get, get3, get_int, put
from sharnir.kernels.types import array2, real, vec3
from sharnir.kernels.vector_ops import copy, row_add

# of the share that adds nothing: chord terms (M-60), which count in the energy, are evaluated after the solution
MOST_SHARE = wp.constant(real(0.999))


@wp.func
def contact_impulse_of(ctx: Context, c: int, row: int, p: array2, w: int):
    """Three impulses of contact c from `row` on."""
    at = ctx.layout.contact_p_start + CONTACT_IMPULSES * c + row
    return vec3(get(p, at, w), get(p, at + 1, w), get(p, at + 2, w))


@wp.func
def limit_root(ctx: Context, l: int, w: int):
    """Root link of a tree that scalar row l acts on."""
    return ctx.layout.dof_root[ctx.layout.index[ctx.layout.scalar_index_start[l]]]


@wp.func
def add_powers(ctx: Context, x: wp.ref[Iterate], at_impact: int, slot: int, w: int):
    """A `GroupSum` of all groups += Σ p·s (J) of impulses x.p at velocities x.z, against moving surfaces: of contacts
    the mean velocities over the step, or with at_impact those at its start."""
    c = int(0)
    while c < contact_count(ctx.work, w):
        p = contact_impulse_of(ctx, c, 0, x.p, w)
        if p[0] > real(0.0):
            s = contact_velocity(ctx, c, 0, x.direct, x.z, w)
            chord = real(0.0)
            if at_impact == 0:
                chord = get(ctx.work.contact_chord, BLOCK_ROWS * c, w)
            target = get3(ctx.work.contact_target, c, w)
            power = wp.dot(p, s - vec3(-chord, target[1], target[2]))
            if get_int(ctx.work.contact_row_count, c, w) == CONTACT_IMPULSES:
                torque = contact_impulse_of(ctx, c, BLOCK_ROWS, x.p, w)
                power = power + wp.dot(torque, contact_velocity(ctx, c, BLOCK_ROWS, x.direct, x.z, w))
            add_to_group(ctx.work, root_of_contact(ctx.work, c, w), slot, power, w)
        c += 1
    l = int(0)
    while l < ctx.layout.scalars:
        bound = limit_impulse(ctx.layout, x.p, l, w)
        if bound != real(0.0):
            row = scalar_row_of(ctx.layout, ctx.work, l, x.direct, w)
            rate = scalar_velocity_of(ctx.layout, ctx.work, row, x.z, w)
            add_to_group(ctx.work, limit_root(ctx, l, w), slot, bound * rate, w)
        l += 1


@wp.func
def apply_shares(ctx: Context, x: wp.ref[Iterate], remove: int, w: int):
    """remove 1: take what impulses x.p of contacts and limits do from x.z; 0: scale them by the share of their group
    (`GroupSum.FIRST`) and apply them."""
    c = int(0)
    while c < contact_count(ctx.work, w):
        if contact_impulse_of(ctx, c, 0, x.p, w)[0] > real(0.0):
            share = real(-1.0)
            if remove == 0:
                share = get(ctx.work.group_sum, group_of_contact(ctx, c, w), w)
            k = int(0)
            while k < get_int(ctx.work.contact_row_count, c, w):
                p = contact_impulse_of(ctx, c, k, x.p, w) * share
                apply_contact_impulse(ctx, c, k, p, x, w)
                if remove == 0:
                    put_contact_impulse(ctx, c, k, p, x.p, w)
                k += BLOCK_ROWS
        c += 1
    l = int(0)
    while l < ctx.layout.scalars:
        bound = limit_impulse(ctx.layout, x.p, l, w)
        if bound != real(0.0):
            share = real(-1.0)
            if remove == 0:
                share = get(ctx.work.group_sum, GroupSum.SIZE * find_group(ctx.work, limit_root(ctx, l, w), w), w)
                put(x.p, ctx.layout.scalar_p_start + SCALAR_IMPULSES * l, w, share * bound)
            row = scalar_row_of(ctx.layout, ctx.work, l, x.direct, w)
            row_add(ctx.work.W, row.start, row.length, ctx.layout.index, row.first, share * bound, x.z, w)
        l += 1


@wp.func
def group_of_contact(ctx: Context, c: int, w: int):
    """Place of the sums of the group of contact c."""
    return GroupSum.SIZE * find_group(ctx.work, root_of_contact(ctx.work, c, w), w)


@wp.func
def put_contact_impulse(ctx: Context, c: int, row: int, value: vec3, p: array2, w: int):
    """Store three impulses of contact c from `row` on."""
    at = ctx.layout.contact_p_start + CONTACT_IMPULSES * c + row
    put(p, at, w, value[0])
    put(p, at + 1, w, value[1])
    put(p, at + 2, w, value[2])


@wp.func
def set_shares(ctx: Context, most: real, w: int):
    """FIRST of all groups ← the largest share κ ≤ 1 of their impulses that adds no energy: with the power P₁ after all
    of them and P₀ before, κ of them add κ P₀ + ½ κ² (P₁ − P₀). Where that is less than 1, `most` of it. Returns how
    many groups have less than 1."""
    count = int(0)
    i = int(0)
    while i < ctx.layout.links:
        after = get(ctx.work.group_sum, GroupSum.SIZE * i, w)
        before = get(ctx.work.group_sum, GroupSum.SIZE * i + GroupSum.SECOND, w)
        share = real(1.0)
        if before + after > TOL_ADDED_ENERGY * (after - before):
            share = wp.clamp(most * real(-2.0) * before / (after - before), real(0.0), real(1.0))
            count += 1
        put(ctx.work.group_sum, GroupSum.SIZE * i, w, share)
        i += 1
    return count


@wp.func
def group_pushed_trees(ctx: Context, p: array2, w: int):
    """Groups of the trees that impulses p of contacts and limits connect."""
    group_trees(ctx, p, p, w)
    l = int(0)
    while l < ctx.layout.scalars:
        if limit_impulse(ctx.layout, p, l, w) != real(0.0):
            join_row(ctx, ctx.layout.scalar_index_start[l], ctx.layout.scalar_row_length[l], w)
        l += 1


@wp.func
def bound_added_energy(ctx: Context, x: wp.ref[Iterate], at_impact: int, w: int):
    """Scale unconverged impulses of contacts and limits, x.p, and what they do to x.z, so that they add no energy,
    group by group (M-111). at_impact: 1 for impacts at the start of the step."""
    group_pushed_trees(ctx, x.p, w)
    copy(x.z, ctx.work.z_unconverged, ctx.layout.z_size, w)
    add_powers(ctx, x, at_impact, int(GroupSum.FIRST), w)
    apply_shares(ctx, x, 1, w)
    add_powers(ctx, x, at_impact, int(GroupSum.SECOND), w)
    if set_shares(ctx, wp.where(at_impact == 1, real(1.0), MOST_SHARE), w) > 0:
        apply_shares(ctx, x, 0, w)
        warn_of(ctx.state, int(StepWarning.ENERGY_LIMITED), w)
    else:
        copy(ctx.work.z_unconverged, x.z, ctx.layout.z_size, w)
