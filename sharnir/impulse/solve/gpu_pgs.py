"""Projected Gauss–Seidel loop by the lanes of a CUDA warp (M-67): iterates as those of one thread, up to the order of
sums."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import StepContext
from sharnir.impulse.layout.layout import MAX_DELASSUS_ROWS
from sharnir.impulse.slots import DelassusState, Setting, Status, StatusReal, StopReason
from sharnir.impulse.solve.contact_block import warm_start_contacts
from sharnir.impulse.solve.gpu_sweep import (
    LaneRows,
    apply_warm_start,
    assign_lane_rows,
    fill_shared_memory,
    list_active_scalars_lanes,
    load_row_impulses,
    load_row_targets,
    load_z_registers,
    scatter_dense_rows,
    store_row_impulses,
    store_z_registers,
    sweep_registers,
)
from sharnir.impulse.solve.pgs import QUIET_SWEEPS, acceleration_factor, check_convergence, stop_reason
from sharnir.kernels.columns import get, get_int, item, put_int
from sharnir.kernels.lanes import MAX_LANE_ROWS, allocate_shared, lane_sum
from sharnir.kernels.types import array2, real, vec2, vec4


@wp.func
def run_pgs_gpu(ctx: StepContext, z: array2, end: wp.float64, w: int):
    """Assign rows to lanes and run the loop in registers. Returns the number of sweeps, the last change, N s, and the
    `StopReason`, TOO_LARGE where the rows do not fit into registers."""
    n = int(0)
    worst = real(0.0)
    reason = int(StopReason.CONVERGED)
    list_active_scalars_lanes(ctx.layout, ctx.work, w)
    lane_rows = assign_lane_rows(ctx.layout, ctx.work, w)
    if lane_rows.rows > MAX_LANE_ROWS:
        reason = -1
        warm_start_contacts(ctx, z, w)
    elif lane_rows.rows > 0:
        if get_int(ctx.work.status, Status.DELASSUS, w) == DelassusState.STALE:
            scatter_dense_rows(ctx, lane_rows, w)
            put_int(ctx.work.status, Status.DELASSUS, w, DelassusState.READY)
        n, worst, reason = run_pgs_registers(ctx, lane_rows, z, end, w)
    return n, worst, reason


@wp.func
def run_pgs_registers(ctx: StepContext, lane_rows: LaneRows, z: array2, end: wp.float64, w: int):
    """Projected Gauss–Seidel in registers, all rows assigned to lanes. Restarts where the CPU does, after its first
    QUIET_SWEEPS sweeps. Returns the number of sweeps, the last change, N s, and the `StopReason`."""
    max_sweeps = int(ctx.state.settings[Setting.MAX_SWEEPS, 0])
    epsilon = get(ctx.work.status_real, StatusReal.SWEEP_TOLERANCE, w)
    restart_at = int(0)  # sweeps after which one thread, too, begins anew: it has first tried whether a few are enough
    if 3 * lane_rows.contacts <= MAX_DELASSUS_ROWS and int(item(ctx.state.prev_step, 5, w)) <= QUIET_SWEEPS:
        restart_at = QUIET_SWEEPS
    p, scalar_impulses = load_row_impulses(ctx.layout, ctx.work, lane_rows, ctx.work.p, w)
    z_own = load_z_registers(ctx.layout, z, w)
    targets = load_row_targets(ctx.work, lane_rows, w)
    if get_int(ctx.work.status, Status.WARM_STARTED, w) == 0:
        z_own = apply_warm_start(ctx.layout, ctx.work, lane_rows, z_own, p, w)
        put_int(ctx.work.status, Status.WARM_STARTED, w, 1)
    p_direction = vec2()
    scalar_direction = vec4()
    z_direction = vec2()
    shared = allocate_shared(z)
    fill_shared_memory(ctx.layout, ctx.work, lane_rows, shared, w)
    worst = real(0.0)
    last_change2 = real(0.0)
    change_at_check = real(1.0e30)
    n = int(0)
    status = int(1)
    while status == 1 and n < max_sweeps:
        p_old = p
        scalar_impulses_old = scalar_impulses
        z_own_old = z_own
        worst, z_own, p, scalar_impulses = sweep_registers(
            ctx, lane_rows, shared, targets, z_own, p, scalar_impulses, w
        )
        n += 1
        status, change_at_check = check_convergence(
            ctx.state, n, worst, epsilon, change_at_check, wp.where(lane_rows.contacts > 0, 1, 0), end, w
        )
        if n == restart_at:
            last_change2 = real(0.0)
            change_at_check = real(1.0e30)
            p_direction = vec2()
            scalar_direction = vec4()
            z_direction = vec2()
        elif status == 1 and ctx.state.settings[Setting.ACCELERATE, 0] > real(0.0) and n < max_sweeps:
            p_change = p - p_old
            scalar_change = scalar_impulses - scalar_impulses_old
            z_change = z_own - z_own_old
            change2 = lane_sum(wp.dot(p_change, p_change) + wp.dot(scalar_change, scalar_change))
            beta = acceleration_factor(last_change2, change2)
            p = p + p_direction * beta
            scalar_impulses = scalar_impulses + scalar_direction * beta
            z_own = z_own + z_direction * beta
            p_direction = p_change + p_direction * beta
            scalar_direction = scalar_change + scalar_direction * beta
            z_direction = z_change + z_direction * beta
            last_change2 = change2
    store_row_impulses(ctx, lane_rows, p, scalar_impulses, ctx.work.p, w)
    store_z_registers(ctx.layout, z_own, z, w)
    return n, worst, stop_reason(ctx.state, status, worst, epsilon)
