"""Impulses of all rows for their target velocities: choice among PGS, dense PGS with Newton steps, active contacts and
GPU lanes, with bilateral rows optionally solved directly (M-39..M-42, M-48)."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Context, Iterate, Scratch, State, make_iterate
from sharnir.impulse.layout.layout import MAX_DELASSUS_ROWS, Layout
from sharnir.impulse.row_kinds import Targets
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.slots import (
    BLOCK_ROWS,
    Method,
    PrevStep,
    ReportItem,
    Setting,
    SolveStage,
    Status,
    StopReason,
)
from sharnir.impulse.solve.active_pgs import run_pgs_active
from sharnir.impulse.solve.bilateral_ldl import bilateral_residual, solve_bilateral
from sharnir.impulse.solve.bilateral_projection import (
    apply_swept_impulses,
    set_velocity_offsets,
    yield_motors_to_limits,
)
from sharnir.impulse.solve.contact_work import bound_added_energy
from sharnir.impulse.solve.delassus import ensure_delassus
from sharnir.impulse.solve.dense_pgs import run_pgs_dense
from sharnir.impulse.solve.gpu.pgs import run_pgs_gpu
from sharnir.impulse.solve.pgs import begin_pgs, has_nothing_to_sweep, impulse_count, run_pgs
from sharnir.impulse.solve.pgs_loop import QUIET_SWEEPS
from sharnir.kernels.columns import get_int, item, set_item
from sharnir.kernels.lanes import uses_lanes
from sharnir.kernels.types import read_ticks, real
from sharnir.kernels.vector_ops import clear, copy


@wp.func
def active_sweep_applies(
    layout: wp.ref[Layout], state: wp.ref[State], work: wp.ref[Scratch], direct: int, dense: bool, w: int
):
    """Whether `run_pgs_active` applies: contacts are the only rows, too many for the dense Delassus matrix, in the
    accelerated default method (M-85). direct: 1 if bilateral rows are solved directly; dense: the Delassus matrix may
    be used."""
    applies = (
        layout.island_newton == 1
        and layout.joints + layout.scalars == 0
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
def solve_rows(ctx: Context, bound_energy: int, end: wp.float64, w: int):
    """Solve for the impulses of all rows at their present target velocities: by sweeps alone or, where bilateral rows
    are solved directly, those by LDLᵀ and the others by sweeps in their null space (M-42, M-48). bound_energy: 1 where
    unconverged impulses may add none. end: clock ticks at which to stop. Returns the number of sweeps, the last change
    of an impulse, N s, and the `StopReason`."""
    direct = get_int(ctx.work.status, Status.IS_DIRECT, w)
    x = make_iterate(ctx.here.z, ctx.work.p, direct)
    if direct == 1:
        solve_bilateral(ctx, x.z, x.p, int(Targets.VELOCITIES), w)
        yield_motors_to_limits(ctx, x, w)
        if has_nothing_to_sweep(ctx.layout, ctx.work, 1, w):
            return 1, bilateral_residual(ctx, x.z, x.p, w), int(StopReason.CONVERGED)
        copy(x.p, ctx.work.p_initial, impulse_count(ctx.layout, ctx.work, w), w)
        set_velocity_offsets(ctx, x.z, w)
        x.z = ctx.work.z_reduced
        clear(x.z, ctx.layout.z_size, w)
    n, worst, reason = sweep_rows(ctx, x, end, w)
    if bound_energy == 1 and reason != StopReason.CONVERGED:
        bound_added_energy(ctx, x, 0, w)
    if direct == 1:
        apply_swept_impulses(ctx, ctx.here.z, x.p, int(Targets.VELOCITIES), w)
    return n + direct, worst, reason


@wp.func
def sweep_rows(ctx: Context, x: wp.ref[Iterate], end: wp.float64, w: int):
    """Choose among the ways to sweep: GPU lanes; active contacts; else sweeps through z until they converge or, where
    the dense Delassus matrix may be used, a few of them if so many were enough in the last step, and then the matrix.
    What is left unfinished is swept through z with islands solved at once."""
    dense = (
        ctx.layout.dense_delassus == 1
        and BLOCK_ROWS * contact_count(ctx.work, w) <= MAX_DELASSUS_ROWS
        and int(ctx.state.settings[Setting.METHOD, 0]) == Method.PREDICTIVE
    )
    dense = dense and uses_lanes() == 0 and (x.direct == 1 or ctx.layout.joints == 0)
    n = int(0)
    worst = real(0.0)
    reason = int(StopReason.UNFINISHED)
    if uses_lanes() == 1 and x.direct == 0:
        n, worst, reason = run_pgs_gpu(ctx, x.z, end, w)
    stage = int(SolveStage.THROUGH_Z)
    if dense and int(item(ctx.state.prev_step, PrevStep.SWEEPS, w)) > QUIET_SWEEPS:
        stage = int(SolveStage.DENSE)
    if active_sweep_applies(ctx.layout, ctx.state, ctx.work, x.direct, dense, w):
        n, worst, reason = run_pgs_active(ctx, x, end, w)
    while reason == StopReason.UNFINISHED:
        use_dense = int(0)
        if dense and stage == SolveStage.DENSE:
            use_dense = wp.where(ensure_delassus(ctx.layout, ctx.work, w), 1, 0)
        if use_dense == 1:
            n, worst, reason = run_pgs_dense(ctx, x, n, end, w)
        else:
            max_sweeps = int(ctx.state.settings[Setting.MAX_SWEEPS, 0])
            if dense and stage == SolveStage.THROUGH_Z:
                max_sweeps = wp.min(max_sweeps, int(QUIET_SWEEPS))
            loop = begin_pgs(ctx, n, max_sweeps, w)
            loop.islands_first = wp.where(stage == SolveStage.ISLANDS_FIRST, 1, 0)
            reason = run_pgs(ctx, x, loop, end, w)
            n = loop.n
            worst = loop.worst
        stage += 1
    return n, worst, reason


@wp.func
def report_solution(ctx: Context, sweeps: int, worst: real, reason: int, end: wp.float64, w: int):
    """Add sweeps, residual (N s) and `StopReason` of a solution to the report."""
    total = item(ctx.state.report, ReportItem.SWEEP_COUNT, w) + real(sweeps)
    set_item(ctx.state.report, ReportItem.SWEEP_COUNT, w, total)
    set_item(ctx.state.report, ReportItem.SWEEP_RESIDUAL, w, worst)
    set_item(ctx.state.report, ReportItem.STOP_REASON, w, real(reason))
    set_item(ctx.state.prev_step, PrevStep.TICKS_LEFT, w, real(end - read_ticks()))


@wp.func
def solve_and_report(ctx: Context, end: wp.float64, w: int):
    """Solve for the impulses of all rows (`solve_rows`) and report how."""
    n, worst, reason = solve_rows(ctx, 1, end, w)
    report_solution(ctx, n, worst, reason, end, w)


@wp.func
def sweep_and_report(ctx: Context, end: wp.float64, w: int):
    """Solve for the impulses of all rows by sweeps alone, and report how; the compiler then leaves out what only direct
    solutions need."""
    x = make_iterate(ctx.here.z, ctx.work.p, 0)
    n, worst, reason = sweep_rows(ctx, x, end, w)
    report_solution(ctx, n, worst, reason, end, w)
