"""Impacts at the start of a step (M-86..M-89): their impulses act like external ones, once, before the velocity phase
solves for all others."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Context, make_iterate
from sharnir.impulse.row_kinds import CONTACT_IMPULSES, SCALAR_IMPULSES, RowKind, ScalarImpulse, Targets
from sharnir.impulse.rows.contact_frame import apply_contact_impulse, contact_count
from sharnir.impulse.rows.restitution import may_have_impacts, set_impact_rows, warm_start_resting
from sharnir.impulse.slots import BLOCK_ROWS, JOINT_ROWS, ReportItem, Setting, Status, StatusReal
from sharnir.impulse.solve.bilateral_ldl import solve_bilateral
from sharnir.impulse.solve.bilateral_projection import set_velocity_offsets
from sharnir.impulse.solve.contact_work import bound_added_energy, contact_impulse_of
from sharnir.impulse.solve.impacts.impact_mix import are_all_elastic, blend_impacts
from sharnir.impulse.solve.impacts.reflections import impact_power, list_impacts, reflect
from sharnir.impulse.solve.impacts.resting_impulses import settle_resting
from sharnir.impulse.solve.joint_tree.reduction import reduce_velocity
from sharnir.impulse.solve.pgs import impulse_count
from sharnir.impulse.solve.pgs_sweep import apply_model_impulses, sweep_joint
from sharnir.impulse.step.residuals import predict_joint_targets
from sharnir.kernels.columns import get, get_int, put, put_int, set_item
from sharnir.kernels.types import array2, real
from sharnir.kernels.vector_ops import clear, copy, row_dot

JOINT_REST_SWEEPS = 100  # over loop joints, so that they rest before impacts


@wp.func
def load_velocity_at_impact(ctx: Context, w: int):
    """z_impact ← whitened velocities at the time of q, half of the step's known forces and of the last impulses of
    joints and scalar rows after the momenta P; z_kick ← what all of them add (M-86)."""
    d = int(0)
    while d < ctx.layout.dofs:
        before = get(ctx.work.z_before, d, w)
        after = get(ctx.work.z_momentum, d, w) + (get(ctx.here.z, d, w) - get(ctx.work.z_base, d, w))
        put(ctx.work.z_kick, d, w, after - before)
        put(ctx.work.z_impact, d, w, real(0.5) * (before + after))
        d += 1
    while d < ctx.layout.z_size:
        put(ctx.work.z_kick, d, w, real(0.0))
        put(ctx.work.z_impact, d, w, real(0.0))
        d += 1


@wp.func
def hold_bilateral(ctx: Context, z: array2, p: array2, w: int):
    """Give the bilateral rows the velocities that they have in an impact: joints and couplings rest, motors without
    bound keep theirs, compliant forces only resist the change. p: scratch for impulses."""
    clear(p, ctx.layout.contact_p_start, w)
    l = int(0)
    while l < ctx.layout.scalars:
        kinds = ctx.layout.scalar_row_kinds[l] & ~ctx.layout.scalar_bounded_kinds[l]
        if (kinds & RowKind.COMPLIANT) != 0:
            start = ctx.layout.scalar_W_start[l]
            length = ctx.layout.scalar_row_length[l]
            s = row_dot(ctx.work.W, start, length, ctx.layout.index, ctx.layout.scalar_index_start[l], z, w)
            at = ctx.layout.scalar_p_start + SCALAR_IMPULSES * l + ScalarImpulse.COMPLIANT
            put(p, at, w, -s / get(ctx.work.compliant_gamma, l, w))  # so that it is where it wants to be
        l += 1
    solve_bilateral(ctx, z, p, int(Targets.IMPACT), w)


@wp.func
def prepare_impacts(ctx: Context, direct: int, dt: real, w: int):
    """Velocities at the time of q with joints at rest and the forces of resting contacts, and `impact` of all
    contacts."""
    x = make_iterate(ctx.work.z_impact, ctx.work.p_inelastic, direct)
    kick = make_iterate(ctx.work.z_kick, ctx.work.p_inelastic, direct)
    if direct == 1:
        hold_bilateral(ctx, ctx.work.z_impact, ctx.work.p_inelastic, w)
        set_velocity_offsets(ctx, ctx.work.z_impact, w)
        clear(ctx.work.z_impact, ctx.layout.z_size, w)
        if ctx.layout.tree_joints > 0:
            reduce_velocity(ctx, ctx.work.z_kick, w)
    elif ctx.layout.joints > 0:
        clear(ctx.work.joint_target, JOINT_ROWS * ctx.layout.joints, w)
        clear(x.p, ctx.layout.contact_p_start, w)
        n = int(0)
        change = real(1.0)
        while n < JOINT_REST_SWEEPS and change > get(ctx.work.status_real, StatusReal.SWEEP_TOLERANCE, w):
            change = real(0.0)
            k = int(0)
            while k < ctx.layout.joints:
                change = wp.max(change, sweep_joint(ctx, k, x, w))
                k += 1
            n += 1
    set_impact_rows(ctx, direct, dt, w)
    warm_start_resting(ctx, x, w)
    settle_resting(ctx, x, kick, w)
    set_impact_rows(ctx, direct, dt, w)


@wp.func
def bound_impacts(ctx: Context, direct: int, w: int):
    """Scale the impulses p_reflected so that they add no energy to the velocities without those of contacts at rest,
    which the solution of the step finds anew (M-111). Not where loop joints are swept: there contacts alone may."""
    if direct == 1 or ctx.layout.joints == 0:
        x = make_iterate(ctx.work.z_half_kick, ctx.work.p_reflected, direct)
        c = int(0)
        while c < contact_count(ctx.work, w):
            row = int(0)
            while row < get_int(ctx.work.contact_row_count, c, w):
                apply_contact_impulse(ctx, c, row, contact_impulse_of(ctx, c, row, x.p, w), x, w)
                row += BLOCK_ROWS
            c += 1
        bound_added_energy(ctx, x, 1, w)


@wp.func
def store_impacts(ctx: Context, direct: int, w: int):
    """Make the impulses p_reflected of impacts part of the step: its momenta, reported forces, and work of impulses."""
    bound_impacts(ctx, direct, w)
    work = impact_power(ctx, ctx.work.p_reflected, direct, ctx.work.z_impact, w)
    at_impact = make_iterate(ctx.work.z_impact, ctx.work.p_reflected, direct)
    z = make_iterate(ctx.here.z, ctx.work.p_reflected, 0)
    z_momentum = make_iterate(ctx.work.z_momentum, ctx.work.p_reflected, 0)
    z_base = make_iterate(ctx.work.z_base, ctx.work.p_reflected, 0)
    c = int(0)
    while c < contact_count(ctx.work, w):
        row = int(0)
        while row < CONTACT_IMPULSES:
            p = contact_impulse_of(ctx, c, row, ctx.work.p_reflected, w)
            put(ctx.work.p_impact, CONTACT_IMPULSES * c + row, w, p[0])
            put(ctx.work.p_impact, CONTACT_IMPULSES * c + row + 1, w, p[1])
            put(ctx.work.p_impact, CONTACT_IMPULSES * c + row + 2, w, p[2])
            if p[0] != real(0.0) or p[1] != real(0.0) or p[2] != real(0.0):
                apply_contact_impulse(ctx, c, row, p, at_impact, w)
                apply_contact_impulse(ctx, c, row, p, z, w)
                apply_contact_impulse(ctx, c, row, p, z_momentum, w)
                apply_contact_impulse(ctx, c, row, p, z_base, w)
            row += BLOCK_ROWS
        c += 1
    if direct == 0:
        apply_model_impulses(ctx.loops, ctx.layout, ctx.work, at_impact.z, at_impact.p, w)
    work = work + impact_power(ctx, ctx.work.p_reflected, direct, ctx.work.z_impact, w)
    set_item(ctx.state.report, ReportItem.IMPULSE_WORK, w, real(0.5) * work)
    put_int(ctx.work.status, Status.HAS_IMPACTS, w, 1)
    put_int(ctx.work.status, Status.LOOSE_ITERATION, w, 0)


@wp.func
def apply_impacts(ctx: Context, extrapolation_ratio: real, w: int):
    """Impacts with restitution of the step: found by the velocities at the time of q, made at its start. Nothing is
    done unless a contact that bounces would close within the step. extrapolation_ratio: of the joints' targets."""
    if ctx.layout.contact_model.has_restitution == 1 and contact_count(ctx.work, w) > 0:
        dt = ctx.state.settings[Setting.DT, 0]
        load_velocity_at_impact(ctx, w)
        if may_have_impacts(ctx, dt, w) == 1:
            direct = get_int(ctx.work.status, Status.IS_DIRECT, w)
            prepare_impacts(ctx, direct, dt, w)
            count, bouncing = list_impacts(ctx, direct, ctx.work.z_impact, w)
            if bouncing > 0:
                compressed = make_iterate(ctx.work.z_compressed, ctx.work.p_compression, direct)
                reflected = make_iterate(ctx.work.z_reflected, ctx.work.p_reflected, direct)
                copy(ctx.work.z_impact, reflected.z, ctx.layout.z_size, w)
                clear(reflected.p, impulse_count(ctx.layout, ctx.work, w), w)
                reflect(ctx, compressed, reflected, w)
                if not are_all_elastic(ctx, reflected.p, w):
                    inelastic = make_iterate(ctx.work.z_compressed, ctx.work.p_inelastic, direct)
                    blend_impacts(ctx, inelastic, reflected.p, w)
                store_impacts(ctx, direct, w)
            if direct == 0 and ctx.layout.joints > 0:
                predict_joint_targets(ctx.layout, ctx.state, ctx.work, extrapolation_ratio, dt, w)
