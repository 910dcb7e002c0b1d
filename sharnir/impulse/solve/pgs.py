"""Projected Gauss–Seidel loops until impulses converge (M-42): through z or, where rows are few, on the dense Delassus
matrix with semismooth Newton steps in between (M-63, M-64). Accelerated sweeps are nonsmooth conjugate gradients."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Scratch, State, StepContext
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.row_kinds import CONTACT_IMPULSES
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.slots import Method, ReportItem, Setting, Status, StatusReal, StopReason
from sharnir.impulse.solve.active_set_newton import newton_applies, newton_step
from sharnir.impulse.solve.delassus import (
    change_is_self_stress,
    gather_delassus_rows,
    row_count,
    scatter_delassus_rows,
    sweep_delassus,
)
from sharnir.impulse.solve.island_newton import solve_islands
from sharnir.impulse.solve.islands import find_worst_light_contact
from sharnir.impulse.solve.pgs_sweep import list_active_scalars, sweep
from sharnir.kernels.columns import get, item, put_int, set_item
from sharnir.kernels.types import DOUBLE, array2, read_ticks, real
from sharnir.kernels.vector_ops import clear, column_distance2, copy, extrapolate

# DENSE_NEWTON_AFTER: sweeps before the first Newton step; DENSE_NEWTON_BACK_OFF: sweeps, at least, after Newton steps
# that failed
DENSE_NEWTON_AFTER, DENSE_NEWTON_BACK_OFF = 1, 10
MAX_DENSE_NEWTON_TRIES = 3  # Newton steps within which the change of impulses must halve
LU_REUSE_RATIO = wp.constant(real(0.3))  # of the last change: a Newton step that leaves less keeps its LU
SELF_STRESS_AFTER = 4  # sweeps before changes are tested for self-stress (M-83)
QUIET_SWEEPS = 3  # sweeps of a step at rest: less work than the Delassus matrix
ISLAND_NEWTON_EVERY = 50  # sweeps: small islands are then solved by convex Newton
PGS_CHECK_EVERY = 200  # sweeps between progress checks, without contacts
PGS_CHECK_EVERY_ACCEPTED = 10  # where changes are acceptable already, and frozen contacts are swept
PGS_CHECK_EVERY_CONTACT = 100  # with contacts: the next step continues from what this one leaves
PGS_CHECK_EVERY_DENSE = 50  # on the Delassus matrix, with Newton steps in between
PGS_STALL_RATIO_CONTACT = wp.constant(real(0.5))  # of the change at the last check, with contacts: more is a stall
PGS_STALL_RATIO = wp.constant(real(0.9))  # of the change at the last check, without contacts: more is a stall


@wp.func
def is_out_of_time(state: State, unreported: real, end: wp.float64, w: int):
    """Whether the clock has passed `end`, or a replayed step ran out of time at this sweep; the sweep is reported.
    unreported: sweeps not yet in the report."""
    total_sweeps = item(state.report, ReportItem.SWEEP_COUNT, w) + unreported
    late = read_ticks() > end or total_sweeps >= state.settings[Setting.REPLAY_CUT, 0]
    if late and total_sweeps < item(state.report, ReportItem.CUT_AFTER, w):
        set_item(state.report, ReportItem.CUT_AFTER, w, total_sweeps)
    return late


@wp.func
def has_nothing_to_sweep(plan: Layout, work: Scratch, direct: int, w: int):
    """Whether no row is left for sweeps. direct: 1 if joints and other bilateral rows are solved directly."""
    rows = contact_count(work, w)
    if direct == 0:
        rows = rows + plan.joints
    l = int(0)
    while l < plan.scalars and rows == 0:
        if get(work.scalar_K, l, w) > real(0.0) and (direct == 0 or plan.scalar_bounded_kinds[l] != 0):
            rows = 1
        l += 1
    return rows == 0


@wp.func
def island_newton_applies(plan: Layout, state: State):
    """Whether islands may be solved by convex Newton: default method, and no bilateral rows."""
    return int(state.settings[Setting.METHOD, 0]) == Method.PREDICTIVE and plan.island_newton == 1


@wp.func
def check_convergence(
    state: State,
    sweeps_done: int,
    worst: real,
    epsilon: real,
    change_at_check: real,
    progress_rule: int,
    end: wp.float64,
    w: int,
):
    """Decide after `sweeps_done` sweeps whether to continue. Returns a `SweepStatus` and the change at the last
    progress check.

    worst: largest impulse change of this sweep, N s; change_at_check: that of the last check; progress_rule: without
    contacts, with contacts, or on the Delassus matrix. Stalled: less than half (contacts) or 10 % (no contacts)
    progress between checks; if the change is acceptable already, a stall counts as convergence.
    """
    check_every = int(PGS_CHECK_EVERY)
    stall_ratio = PGS_STALL_RATIO
    stall_status = int(3)
    if progress_rule > 0:
        check_every = wp.where(progress_rule == 2, PGS_CHECK_EVERY_DENSE, PGS_CHECK_EVERY_CONTACT)
        stall_ratio = PGS_STALL_RATIO_CONTACT
    if worst <= state.settings[Setting.TOL_ACCEPT, 0]:
        check_every = int(PGS_CHECK_EVERY_ACCEPTED)
        stall_ratio = PGS_STALL_RATIO_CONTACT
        stall_status = 0
    status = int(1)
    if worst <= epsilon:
        status = 0
    elif is_out_of_time(state, real(sweeps_done), end, w):
        status = 2
    elif sweeps_done % check_every == 0:
        if worst > stall_ratio * change_at_check:
            status = stall_status
        change_at_check = worst
    return status, change_at_check


@wp.func
def stop_reason(state: State, status: int, worst: real, epsilon: real):
    """`StopReason` for the report from the `SweepStatus` a loop ended with; worst: last change of an impulse, N s."""
    reason = int(StopReason.CONVERGED)
    if status == 2:
        reason = int(StopReason.OUT_OF_TIME)
    elif status == 3 or (status == 1 and worst > wp.max(epsilon, state.settings[Setting.TOL_ACCEPT, 0])):
        reason = int(StopReason.CAPPED)
    return reason


@wp.func
def acceleration_factor(last_change2: real, change2: real):
    """Fletcher–Reeves factor β = |d|²/|d₋|² by which the last search direction is followed; 0, a restart, unless the
    change decreased. last_change2, change2: squared changes of the previous and the present sweep."""
    beta = real(0.0)
    if last_change2 > real(0.0) and change2 < last_change2:
        beta = change2 / last_change2
    return beta


@wp.func
def run_pgs(
    ctx: StepContext,
    direct: int,
    sweeps_before: int,
    max_sweeps: int,
    islands_first: int,
    z: array2,
    end: wp.float64,
    w: int,
):
    """Projected Gauss–Seidel through z until impulses change by less than ε, `max_sweeps` sweeps are made or the clock
    passes `end` (M-42).

    sweeps_before: sweeps made already; islands_first: 1 to solve islands by convex Newton after the first sweep.
    Returns the number of sweeps, the last change, N s, and the `StopReason`, MORE_SWEEPS where the settings allow more
    than `max_sweeps`.
    """
    accelerate = ctx.state.settings[Setting.ACCELERATE, 0] > real(0.0)
    impulses = ctx.layout.contact_p_start + CONTACT_IMPULSES * contact_count(ctx.work, w)
    epsilon = get(ctx.work.status_real, StatusReal.SWEEP_TOLERANCE, w)
    worst = real(0.0)
    last_change2 = real(0.0)
    change_at_check = real(1.0e30)
    progress_rule = int(0)
    if (
        direct == 0
        and int(ctx.state.settings[Setting.METHOD, 0]) == Method.PREDICTIVE
        and contact_count(ctx.work, w) > 0
    ):
        progress_rule = 1
    n = int(sweeps_before)
    status = int(1)
    if accelerate:
        clear(ctx.work.p_direction, impulses, w)
        clear(ctx.work.z_direction, ctx.layout.z_size, w)
    if has_nothing_to_sweep(ctx.layout, ctx.work, direct, w):
        status = 0
    else:
        list_active_scalars(ctx.layout, ctx.work, direct, w)
    while status == 1 and n < max_sweeps:
        if accelerate:
            copy(ctx.work.p, ctx.work.p_old, impulses, w)
            copy(z, ctx.work.z_old, ctx.layout.z_size, w)
        worst = sweep(ctx, direct, z, ctx.work.p, w)
        n += 1
        status, change_at_check = check_convergence(
            ctx.state, n, worst, epsilon, change_at_check, progress_rule, end, w
        )
        if wp.static(DOUBLE):
            if (
                status == 1
                and (n % ISLAND_NEWTON_EVERY == 0 or (islands_first == 1 and n == sweeps_before + 1))
                and island_newton_applies(ctx.layout, ctx.state)
            ):
                solve_islands(ctx, epsilon, z, ctx.work.p, w)
                clear(ctx.work.p_direction, impulses, w)
                clear(ctx.work.z_direction, ctx.layout.z_size, w)
                copy(ctx.work.p, ctx.work.p_old, impulses, w)
                copy(z, ctx.work.z_old, ctx.layout.z_size, w)
                last_change2 = real(0.0)
        if status == 1 and accelerate and n < max_sweeps:
            change2 = column_distance2(ctx.work.p, ctx.work.p_old, impulses, w)
            beta = acceleration_factor(last_change2, change2)
            extrapolate(ctx.work.p, ctx.work.p_old, ctx.work.p_direction, beta, impulses, w)
            extrapolate(z, ctx.work.z_old, ctx.work.z_direction, beta, ctx.layout.z_size, w)
            last_change2 = change2
    reason = stop_reason(ctx.state, status, worst, epsilon)
    if status == 1 and reason == StopReason.CAPPED and max_sweeps < int(ctx.state.settings[Setting.MAX_SWEEPS, 0]):
        reason = -1
    return n, worst, reason


@wp.func
def run_pgs_dense(ctx: StepContext, sweeps_before: int, z: array2, end: wp.float64, w: int):
    """Projected Gauss–Seidel on the dense Delassus matrix, with semismooth Newton steps in between (M-63, M-64).

    Newton steps begin after the first sweep. If the change has not halved after MAX_DENSE_NEWTON_TRIES of them they are
    undone, and the next waits for as many sweeps as there were, at least DENSE_NEWTON_BACK_OFF. Returns the number of
    sweeps, the last change, N s, and the `StopReason`, USE_NEWTON where islands are to be solved by convex Newton.
    """
    accelerate = ctx.state.settings[Setting.ACCELERATE, 0] > real(0.0)
    impulses = gather_delassus_rows(ctx, z, ctx.work.p, w)
    rows = row_count(ctx.work, w)
    max_sweeps = int(ctx.state.settings[Setting.MAX_SWEEPS, 0])
    epsilon = get(ctx.work.status_real, StatusReal.SWEEP_TOLERANCE, w)
    worst = real(0.0)
    last_change2 = real(0.0)
    change_at_check = real(1.0e30)
    n = int(sweeps_before)
    newton_at = int(max_sweeps)
    if wp.static(DOUBLE):
        if ctx.layout.island_newton == 1 and accelerate and newton_applies(ctx.layout, ctx.work, w):
            newton_at = sweeps_before + DENSE_NEWTON_AFTER
    last_change = real(1.0e30)
    change_before_newton = real(1.0e30)  # the change before the first of some leaps
    newton_tries = int(0)
    status = int(1)
    if accelerate:
        clear(ctx.work.p_direction, impulses, w)
        clear(ctx.work.z_direction, rows, w)
    while status == 1 and n < max_sweeps:
        newton_done = int(0)
        if wp.static(DOUBLE):
            if n >= newton_at:
                if newton_tries == 0:
                    copy(ctx.work.row_impulse, ctx.work.row_impulse_saved, impulses, w)
                    copy(ctx.work.row_velocity, ctx.work.row_velocity_saved, rows, w)
                    change_before_newton = last_change
                newton_step(ctx.layout, ctx.work, w)
                newton_done = 1
                newton_tries += 1
                last_change2 = real(0.0)
        if accelerate:
            copy(ctx.work.row_impulse, ctx.work.p_old, impulses, w)
            copy(ctx.work.row_velocity, ctx.work.z_old, rows, w)
        worst = sweep_delassus(ctx, w)
        n += 1
        status, change_at_check = check_convergence(ctx.state, n, worst, epsilon, change_at_check, 2, end, w)
        if (
            status == 1
            and accelerate
            and n >= sweeps_before + SELF_STRESS_AFTER
            and worst <= ctx.state.settings[Setting.TOL_LOOSE, 0]
        ):
            if change_is_self_stress(ctx.work, w):
                status = 0
        if newton_done == 1 and status != 0:
            newton_at = n
            if not worst <= LU_REUSE_RATIO * last_change:
                put_int(ctx.work.status, Status.LU_VALID, w, 0)
            if worst <= real(0.5) * change_before_newton:
                newton_tries = 0
            elif newton_tries == MAX_DENSE_NEWTON_TRIES or status != 1:
                newton_tries = 0
                newton_at = n + wp.max(DENSE_NEWTON_BACK_OFF, n)
                if not worst <= change_before_newton:
                    copy(ctx.work.row_impulse_saved, ctx.work.row_impulse, impulses, w)
                    copy(ctx.work.row_velocity_saved, ctx.work.row_velocity, rows, w)
                    copy(ctx.work.row_impulse, ctx.work.p_old, impulses, w)
                    copy(ctx.work.row_velocity, ctx.work.z_old, rows, w)
                    worst = change_before_newton
        last_change = worst
        if status == 1 and n % ISLAND_NEWTON_EVERY == 0 and island_newton_applies(ctx.layout, ctx.state):
            if find_worst_light_contact(ctx.work, epsilon, w) >= 0:
                status = 4
        if (
            status == 1 and accelerate and n < max_sweeps and n < newton_at
        ):  # a leap starts, and may end, where bounds hold
            change2 = column_distance2(ctx.work.row_impulse, ctx.work.p_old, impulses, w)
            beta = acceleration_factor(last_change2, change2)
            extrapolate(ctx.work.row_impulse, ctx.work.p_old, ctx.work.p_direction, beta, impulses, w)
            extrapolate(ctx.work.row_velocity, ctx.work.z_old, ctx.work.z_direction, beta, rows, w)
            last_change2 = change2
    scatter_delassus_rows(ctx, z, ctx.work.p, w)
    reason = stop_reason(ctx.state, status, worst, epsilon)
    if status == 4:
        reason = -1
    return n, worst, reason
