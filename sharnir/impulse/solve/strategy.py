"""Impulses of all rows for the speeds sought: sweeps to ε, a cap or the end of time, some rows solved directly
(M-39..M-42, M-48)."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.loop_joints import LoopJoints
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.impulse.data import (
    ACCELERATE,
    BILATERAL_DIRECT,
    CONVERGED,
    DELASSUS_STATE,
    EPSILON,
    MAX_SWEEPS,
    METHOD,
    PREDICTIVE,
    STOP_REASON,
    SWEEP_COUNT,
    SWEEP_RESIDUAL,
    SWEEP_TOLERANCE,
    Scratch,
    State,
)
from sharnir.impulse.layout.layout import MAX_DELASSUS_ROWS, Layout
from sharnir.impulse.row_kinds import CONTACT_IMPULSES
from sharnir.impulse.rows.assembly import assemble_scalars, factor_joints, whiten_joints
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.rows.contact_rows import assemble_contact, found_contact_count, store_contact_count
from sharnir.impulse.rows.restitution import whiten_momenta_before
from sharnir.impulse.solve.active_sweeps import run_pgs_active
from sharnir.impulse.solve.bilateral_ldl import bilateral_residual, factor_bilateral, solve_bilateral
from sharnir.impulse.solve.bilateral_projection import project_rows, set_velocity_offsets, update_bilateral_impulses
from sharnir.impulse.solve.delassus import UNKNOWN, ensure_delassus
from sharnir.impulse.solve.gpu_pgs import run_pgs_gpu
from sharnir.impulse.solve.pgs import QUIET_SWEEPS, has_nothing_to_sweep, run_pgs, run_pgs_dense
from sharnir.kernels.columns import get, item, item_int, put, put_int, set_item
from sharnir.kernels.lanes import uses_lanes
from sharnir.kernels.types import array2, read_ticks, real
from sharnir.kernels.vector_ops import copy, load_state


@wp.func
def load_previous_impulses(plan: Layout, state: State, work: Scratch, scale: real, w: int):
    load_state(state.p, work.p, plan.contact_p_start, scale, w)


@wp.func
def active_sweep_applies(plan: Layout, state: State, work: Scratch, direct: int, dense: bool, w: int):
    """Whether contacts are all there is to sweep, and only those are to be whose impulses change (M-85)."""
    applies = (
        plan.island_newton == 1
        and plan.joints + plan.scalars == 0
        and direct == 0
        and not dense
        and contact_count(work, w) > 0
    )
    return applies and int(state.settings[METHOD, 0]) == PREDICTIVE and state.settings[ACCELERATE, 0] > real(0.0)


@wp.func
def solve_rows(
    loops: LoopJoints,
    plan: Layout,
    state: State,
    work: Scratch,
    direct: int,
    z: array2,
    dt: real,
    end: wp.float64,
    w: int,
):
    """Impulses of all rows for the speeds now sought: by sweeps alone, or with the rows that bind both ways held by a
    direct solution (M-42, M-48). Returns sweeps, the last change of an impulse and the reason of stopping."""
    if direct == 1:
        solve_bilateral(plan, work, z, work.p, 0, w)
        if has_nothing_to_sweep(plan, work, 1, w):
            return 1, bilateral_residual(plan, work, z, work.p, w), CONVERGED
        copy(work.p, work.p_initial, plan.contact_p_start + CONTACT_IMPULSES * contact_count(work, w), w)
        set_velocity_offsets(plan, work, z, w)
    dense = (
        plan.dense_delassus == 1
        and 3 * contact_count(work, w) <= MAX_DELASSUS_ROWS
        and int(state.settings[METHOD, 0]) == PREDICTIVE
    )
    dense = dense and direct == 0 and uses_lanes() == 0
    n = int(0)
    worst = real(0.0)
    reason = int(-1)
    if uses_lanes() == 1 and direct == 0:
        n, worst, reason = run_pgs_gpu(plan, state, work, z, end, w)
    stage = int(0)  # 0: a few sweeps, if so many were enough in the step before; 1: rows may be few; 2: islands at once
    if dense and int(item(state.prev_step, 5, w)) > QUIET_SWEEPS:
        stage = 1
    if active_sweep_applies(plan, state, work, direct, dense, w):
        n, worst, reason = run_pgs_active(plan, state, work, z, end, w)
    while reason < 0:
        use_dense = int(0)
        if dense and stage == 1:
            use_dense = wp.where(ensure_delassus(plan, work, w), 1, 0)
        if use_dense == 1:
            n, worst, reason = run_pgs_dense(plan, state, work, n, z, end, w)
        else:
            max_sweeps = int(state.settings[MAX_SWEEPS, 0])
            if dense and stage == 0:
                max_sweeps = wp.min(max_sweeps, int(QUIET_SWEEPS))
            n, worst, reason = run_pgs(
                loops, plan, state, work, direct, n, max_sweeps, wp.where(stage == 2, 1, 0), z, end, w
            )
        stage += 1
    if direct == 1:
        update_bilateral_impulses(plan, work, work.p, w)
    return n + direct, worst, reason


@wp.func
def solve_and_report(
    loops: LoopJoints,
    plan: Layout,
    state: State,
    work: Scratch,
    direct: int,
    z: array2,
    dt: real,
    end: wp.float64,
    w: int,
):
    """The same, reported."""
    n, worst, reason = solve_rows(loops, plan, state, work, direct, z, dt, end, w)
    set_item(state.report, SWEEP_COUNT, w, item(state.report, SWEEP_COUNT, w) + real(n))
    set_item(state.report, SWEEP_RESIDUAL, w, worst)
    set_item(state.report, STOP_REASON, w, real(reason))
    set_item(state.prev_step, 3, w, real(end - read_ticks()))


@wp.func
def assemble_all_rows(
    tree: Tree, ws: Workspace, loops: LoopJoints, plan: Layout, state: State, work: Scratch, direct: int, h: real, dt: real,
    scale: real, stiffness_scale: real, predict_limits: int, update_history: int, at_new_poses: int, w: int,
):  # fmt: skip
    """All rows at the start of a step, and the factors of their blocks; or again, at the poses it led to: those of
    joints and equalities, limits and contacts wait for the next step. ahead: limits look ahead; learn: see
    `factor_bound`. Returns how weak the loops are against their past."""
    assemble_model_rows(tree, ws, loops, plan, state, work, h, dt, stiffness_scale, predict_limits, at_new_poses, w)
    if at_new_poses == 0:
        chord_scale = real(0.0)
        if predict_limits == 1:
            chord_scale = step_ratio(state, dt, w)
        match_cursor = int(0)
        c = int(0)
        while c < found_contact_count(plan, state, w):
            match_cursor = assemble_contact(tree, ws, plan, state, work, c, match_cursor, scale, chord_scale, dt, w)
            c += 1
    return factor_row_blocks(loops, plan, state, work, direct, predict_limits, update_history, at_new_poses, w)


@wp.func
def step_ratio(state: State, dt: real, w: int):
    """A step dt over the one before it; 0 where there was none."""
    ratio = real(0.0)
    if item(state.prev_step, 0, w) > real(0.0):
        ratio = dt / item(state.prev_step, 0, w)
    return ratio


@wp.func
def assemble_model_rows(
    tree: Tree, ws: Workspace, loops: LoopJoints, plan: Layout, state: State, work: Scratch, h: real, dt: real, stiffness_scale: real,
    predict_limits: int, at_new_poses: int, w: int,
):  # fmt: skip
    """Rows of joints and lines, and what contacts need to know of the motion before the step."""
    put(work.status_real, SWEEP_TOLERANCE, w, state.settings[EPSILON, 0])
    put_int(work.status, DELASSUS_STATE, w, UNKNOWN)
    whiten_joints(tree, ws, loops, plan, work, at_new_poses, w)
    assemble_scalars(tree, ws, loops, plan, state, work, h, dt, stiffness_scale, predict_limits, w)
    if at_new_poses == 0 and plan.contact_model.has_pairs == 1 and plan.contact_model.needs_velocity_before == 1:
        whiten_momenta_before(tree, ws, state, work, w)


@wp.func
def factor_row_blocks(
    loops: LoopJoints,
    plan: Layout,
    state: State,
    work: Scratch,
    direct: int,
    predict_limits: int,
    update_history: int,
    at_new_poses: int,
    w: int,
):
    """Which rows act, and the factors of their blocks; how weak the loops are."""
    if at_new_poses == 0:
        store_contact_count(plan, state, work, w)
    else:
        drop_unilateral_rows(plan, work, w)
    weakest = real(1.0)
    if plan.bilaterals > 0 and predict_limits == 1:
        weakest = factor_bilateral(plan, state, work, update_history, w)
    if direct == 0:
        factor_joints(loops, plan, work, w)
    elif not has_nothing_to_sweep(plan, work, 1, w):
        project_rows(plan, state, work, w)
    return weakest


@wp.func
def drop_unilateral_rows(plan: Layout, work: Scratch, w: int):
    """Limits and contacts are left out."""
    put_int(work.contact_count, 0, w, 0)
    l = int(0)
    while l < plan.scalars:
        if plan.scalar_lower[l] != plan.scalar_upper[l]:
            put(work.scalar_K, l, w, real(0.0))
        put(work.scalar_position_next, l, w, get(work.scalar_position, l, w))
        l += 1


@wp.func
def use_direct(plan: Layout, state: State, w: int):
    """1 if rows that bind both ways exist and are to be solved directly, and contacts are few enough for that."""
    direct = int(0)
    if plan.bilaterals > 0 and state.settings[BILATERAL_DIRECT, 0] > real(0.0):
        direct = 1
        if plan.max_contacts > 0:
            if item_int(state.contacts.count, 0, w) > plan.max_projected_contacts:
                direct = 0
    return direct
