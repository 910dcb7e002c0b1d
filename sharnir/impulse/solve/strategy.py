"""Impulses of all rows for their target velocities: choice among PGS, dense PGS with Newton steps, active contacts and
GPU lanes, with bilateral rows optionally solved directly (M-39..M-42, M-48)."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Scratch, State, StepContext
from sharnir.impulse.layout.layout import MAX_DELASSUS_ROWS, Layout
from sharnir.impulse.row_kinds import CONTACT_IMPULSES
from sharnir.impulse.rows.assembly import assemble_scalars, factor_joints, whiten_joints
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.rows.contact_rows import assemble_contact, found_contact_count, store_contact_count
from sharnir.impulse.rows.restitution import whiten_momenta_before
from sharnir.impulse.slots import DelassusState, Method, ReportItem, Setting, Status, StatusReal, StopReason
from sharnir.impulse.solve.active_sweeps import run_pgs_active
from sharnir.impulse.solve.bilateral_ldl import bilateral_residual, factor_bilateral, solve_bilateral
from sharnir.impulse.solve.bilateral_projection import project_rows, set_velocity_offsets, update_bilateral_impulses
from sharnir.impulse.solve.delassus import ensure_delassus
from sharnir.impulse.solve.gpu_pgs import run_pgs_gpu
from sharnir.impulse.solve.pgs import QUIET_SWEEPS, has_nothing_to_sweep, run_pgs, run_pgs_dense
from sharnir.kernels.columns import get, item, item_int, put, put_int, set_item
from sharnir.kernels.lanes import uses_lanes
from sharnir.kernels.types import array2, read_ticks, real
from sharnir.kernels.vector_ops import copy, load_state


@wp.func
def load_previous_impulses(plan: Layout, state: State, work: Scratch, scale: real, w: int):
    """Warm start: impulses of joints and scalar rows ← those of the previous step times `scale`."""
    load_state(state.p, work.p, plan.contact_p_start, scale, w)


@wp.func
def active_sweep_applies(plan: Layout, state: State, work: Scratch, direct: int, dense: bool, w: int):
    """Whether `run_pgs_active` applies: contacts are the only rows, too many for the dense Delassus matrix, in the
    accelerated default method (M-85). direct: 1 if bilateral rows are solved directly; dense: the Delassus matrix may
    be used."""
    applies = (
        plan.island_newton == 1
        and plan.joints + plan.scalars == 0
        and direct == 0
        and not dense
        and contact_count(work, w) > 0
    )
    return (
        applies
        and int(state.settings[Setting.METHOD, 0]) == Method.PREDICTIVE
        and state.settings[Setting.ACCELERATE, 0] > real(0.0)
    )


@wp.func
def solve_rows(ctx: StepContext, direct: int, z: array2, dt: real, end: wp.float64, w: int):
    """Solve for the impulses of all rows at their present target velocities: by sweeps alone or, with direct = 1,
    bilateral rows by LDLᵀ and the others by sweeps in their null space (M-42, M-48). end: clock ticks at which to stop.
    Returns the number of sweeps, the last change of an impulse, N s, and the `StopReason`."""
    if direct == 1:
        solve_bilateral(ctx.layout, ctx.work, z, ctx.work.p, 0, w)
        if has_nothing_to_sweep(ctx.layout, ctx.work, 1, w):
            return 1, bilateral_residual(ctx.layout, ctx.work, z, ctx.work.p, w), StopReason.CONVERGED
        copy(
            ctx.work.p,
            ctx.work.p_initial,
            ctx.layout.contact_p_start + CONTACT_IMPULSES * contact_count(ctx.work, w),
            w,
        )
        set_velocity_offsets(ctx, z, w)
    dense = (
        ctx.layout.dense_delassus == 1
        and 3 * contact_count(ctx.work, w) <= MAX_DELASSUS_ROWS
        and int(ctx.state.settings[Setting.METHOD, 0]) == Method.PREDICTIVE
    )
    dense = dense and direct == 0 and uses_lanes() == 0
    n = int(0)
    worst = real(0.0)
    reason = int(-1)
    if uses_lanes() == 1 and direct == 0:
        n, worst, reason = run_pgs_gpu(ctx, z, end, w)
    stage = int(0)  # 0: a few sweeps, if so many were enough in the step before; 1: rows may be few; 2: islands at once
    if dense and int(item(ctx.state.prev_step, 5, w)) > QUIET_SWEEPS:
        stage = 1
    if active_sweep_applies(ctx.layout, ctx.state, ctx.work, direct, dense, w):
        n, worst, reason = run_pgs_active(ctx, z, end, w)
    while reason < 0:
        use_dense = int(0)
        if dense and stage == 1:
            use_dense = wp.where(ensure_delassus(ctx.layout, ctx.work, w), 1, 0)
        if use_dense == 1:
            n, worst, reason = run_pgs_dense(ctx, n, z, end, w)
        else:
            max_sweeps = int(ctx.state.settings[Setting.MAX_SWEEPS, 0])
            if dense and stage == 0:
                max_sweeps = wp.min(max_sweeps, int(QUIET_SWEEPS))
            n, worst, reason = run_pgs(ctx, direct, n, max_sweeps, wp.where(stage == 2, 1, 0), z, end, w)
        stage += 1
    if direct == 1:
        update_bilateral_impulses(ctx, ctx.work.p, w)
    return n + direct, worst, reason


@wp.func
def solve_and_report(ctx: StepContext, direct: int, z: array2, dt: real, end: wp.float64, w: int):
    """Solve for the impulses of all rows (`solve_rows`) and add sweeps, residual and stop reason to the report."""
    n, worst, reason = solve_rows(ctx, direct, z, dt, end, w)
    set_item(ctx.state.report, ReportItem.SWEEP_COUNT, w, item(ctx.state.report, ReportItem.SWEEP_COUNT, w) + real(n))
    set_item(ctx.state.report, ReportItem.SWEEP_RESIDUAL, w, worst)
    set_item(ctx.state.report, ReportItem.STOP_REASON, w, real(reason))
    set_item(ctx.state.prev_step, 3, w, real(end - read_ticks()))


@wp.func
def assemble_all_rows(
    ctx: StepContext,
    direct: int,
    h: real,
    dt: real,
    scale: real,
    stiffness_scale: real,
    predict_limits: int,
    update_history: int,
    at_new_poses: int,
    w: int,
):
    """Assemble all rows at the start of a step and factor their blocks; or, with at_new_poses = 1, only joints and
    equalities at the poses the step led to, since limits and contacts wait for the next step.

    h: time forces act, s; scale: of the warm-start impulses; stiffness_scale: see `set_compliant_row`; predict_limits:
    1 if limits look ahead to the end of the step; update_history: see `factor_bilateral`. Returns the smallest pivot
    ratio of the loops relative to their past.
    """
    assemble_model_rows(ctx, h, dt, stiffness_scale, predict_limits, at_new_poses, w)
    if at_new_poses == 0:
        chord_scale = real(0.0)
        if predict_limits == 1:
            chord_scale = step_ratio(ctx.state, dt, w)
        match_cursor = int(0)
        c = int(0)
        while c < found_contact_count(ctx.layout, ctx.state, w):
            match_cursor = assemble_contact(ctx, c, match_cursor, scale, chord_scale, dt, w)
            c += 1
    return factor_row_blocks(ctx, direct, predict_limits, update_history, at_new_poses, w)


@wp.func
def step_ratio(state: State, dt: real, w: int):
    """dt over the previous step's dt; 0 where there was none."""
    ratio = real(0.0)
    if item(state.prev_step, 0, w) > real(0.0):
        ratio = dt / item(state.prev_step, 0, w)
    return ratio


@wp.func
def assemble_model_rows(
    ctx: StepContext, h: real, dt: real, stiffness_scale: real, predict_limits: int, at_new_poses: int, w: int
):
    """Assemble the rows of joints and scalar constraints, mark the Delassus matrix stale, and compute the momenta
    before the step where restitution needs them. h: time forces act, s."""
    put(ctx.work.status_real, StatusReal.SWEEP_TOLERANCE, w, ctx.state.settings[Setting.EPSILON, 0])
    put_int(ctx.work.status, Status.DELASSUS, w, DelassusState.STALE)
    whiten_joints(ctx, at_new_poses, w)
    assemble_scalars(ctx, h, dt, stiffness_scale, predict_limits, w)
    if (
        at_new_poses == 0
        and ctx.layout.contact_model.has_pairs == 1
        and ctx.layout.contact_model.needs_velocity_before == 1
    ):
        whiten_momenta_before(ctx.tree, ctx.here, ctx.state, ctx.work, w)


@wp.func
def factor_row_blocks(
    ctx: StepContext, direct: int, predict_limits: int, update_history: int, at_new_poses: int, w: int
):
    """Choose the rows that act and factor their blocks: bilateral LDLᵀ, joint blocks, or projection of the others.
    Returns the smallest pivot ratio of the loops relative to their past."""
    if at_new_poses == 0:
        store_contact_count(ctx.layout, ctx.state, ctx.work, w)
    else:
        drop_unilateral_rows(ctx.layout, ctx.work, w)
    weakest = real(1.0)
    if ctx.layout.bilaterals > 0 and predict_limits == 1:
        weakest = factor_bilateral(ctx, update_history, w)
    if direct == 0:
        factor_joints(ctx.loops, ctx.layout, ctx.work, w)
    elif not has_nothing_to_sweep(ctx.layout, ctx.work, 1, w):
        project_rows(ctx, w)
    return weakest


@wp.func
def drop_unilateral_rows(plan: Layout, work: Scratch, w: int):
    """Drop limits and contacts, so that only joints and equalities act."""
    put_int(work.contact_count, 0, w, 0)
    l = int(0)
    while l < plan.scalars:
        if plan.scalar_lower[l] != plan.scalar_upper[l]:
            put(work.scalar_K, l, w, real(0.0))
        put(work.scalar_position_next, l, w, get(work.scalar_position, l, w))
        l += 1


@wp.func
def use_direct(plan: Layout, state: State, w: int):
    """1 if there are bilateral rows, they are to be solved directly, and there is room to project all contacts."""
    direct = int(0)
    if plan.bilaterals > 0 and state.settings[Setting.BILATERAL_DIRECT, 0] > real(0.0):
        direct = 1
        if plan.max_contacts > 0:
            if item_int(state.contacts.count, 0, w) > plan.max_projected_contacts:
                direct = 0
    return direct
