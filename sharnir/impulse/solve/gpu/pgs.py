"""Projected Gauss–Seidel by the lanes of a CUDA warp (M-67): iterates as those of one thread, up to the order of
sums."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Context
from sharnir.impulse.layout.layout import MAX_DELASSUS_ROWS
from sharnir.impulse.slots import (
    BLOCK_ROWS,
    DelassusState,
    PrevStep,
    ProgressRule,
    Setting,
    Status,
    StopReason,
)
from sharnir.impulse.solve.contact_block import warm_start_contacts
from sharnir.impulse.solve.gpu.lane_rows import (
    LaneIterate,
    LaneRows,
    assign_lane_rows,
    list_active_scalars_lanes,
    scatter_dense_rows,
)
from sharnir.impulse.solve.gpu.sweep import (
    apply_warm_start,
    fill_shared_memory,
    load_row_impulses,
    load_row_targets,
    load_z_registers,
    store_row_impulses,
    store_z_registers,
    sweep_registers,
)
from sharnir.impulse.solve.pgs_loop import (
    NO_CHANGE_YET,
    QUIET_SWEEPS,
    SweepLoop,
    acceleration_factor,
    begin_sweeps,
    make_pgs_loop,
    stop_reason_of,
)
from sharnir.kernels.columns import get_int, item, put_int
from sharnir.kernels.lanes import MAX_LANE_ROWS, allocate_shared, lane_sum
from sharnir.kernels.types import array2, real, vec2, vec4


@wp.func
def _sweep(ctx: Context, x: wp.ref[LaneIterate], loop: wp.ref[SweepLoop], w: int):
    x.p_old = x.p
    x.scalar_old = x.scalar
    x.z_old = x.z
    loop.worst = sweep_registers(ctx, x, w)


@wp.func
def _restart(ctx: Context, x: wp.ref[LaneIterate], loop: wp.ref[SweepLoop], w: int):
    """Start the acceleration anew where one thread does, which first tries whether a few sweeps are enough."""
    if loop.n == x.restart_at:
        loop.last_change2 = real(0.0)
        loop.change_at_check = NO_CHANGE_YET
        x.p_direction = vec2()
        x.scalar_direction = vec4()
        x.z_direction = vec2()


@wp.func
def _extrapolate(ctx: Context, x: wp.ref[LaneIterate], loop: wp.ref[SweepLoop], w: int):
    if loop.accelerate == 1 and loop.n != x.restart_at:
        p_change = x.p - x.p_old
        scalar_change = x.scalar - x.scalar_old
        z_change = x.z - x.z_old
        loop.change2 = lane_sum(wp.dot(p_change, p_change) + wp.dot(scalar_change, scalar_change))
        beta = acceleration_factor(loop.last_change2, loop.change2)
        x.p = x.p + x.p_direction * beta
        x.scalar = x.scalar + x.scalar_direction * beta
        x.z = x.z + x.z_direction * beta
        x.p_direction = p_change + x.p_direction * beta
        x.scalar_direction = scalar_change + x.scalar_direction * beta
        x.z_direction = z_change + x.z_direction * beta
        loop.last_change2 = loop.change2


iterate_pgs_registers = make_pgs_loop("iterate_pgs_registers", LaneIterate, _sweep, _restart, _extrapolate)


@wp.func
def run_pgs_gpu(ctx: Context, z: array2, end: wp.float64, w: int):
    """Assign rows to lanes and run the loop in registers. Returns the number of sweeps, the last change, N s, and the
    `StopReason`, UNFINISHED where the rows do not fit into registers."""
    n = int(0)
    worst = real(0.0)
    reason = int(StopReason.CONVERGED)
    list_active_scalars_lanes(ctx.layout, ctx.work, w)
    lane_rows = assign_lane_rows(ctx.layout, ctx.work, w)
    if lane_rows.rows > MAX_LANE_ROWS:
        reason = int(StopReason.UNFINISHED)
        warm_start_contacts(ctx, z, w)
    elif lane_rows.rows > 0:
        if get_int(ctx.work.status, Status.DELASSUS, w) == DelassusState.STALE:
            scatter_dense_rows(ctx, lane_rows, w)
            put_int(ctx.work.status, Status.DELASSUS, w, DelassusState.READY)
        n, worst, reason = run_pgs_registers(ctx, lane_rows, z, end, w)
    return n, worst, reason


@wp.func
def load_lanes(ctx: Context, lane_rows: LaneRows, z: array2, shared: array2, w: int):
    """Unknowns of a lane from memory; shared memory is filled, and the contacts' warm start applied once a step."""
    x = LaneIterate()
    x.rows = lane_rows
    x.shared = shared
    if BLOCK_ROWS * lane_rows.contacts <= MAX_DELASSUS_ROWS:
        if int(item(ctx.state.prev_step, PrevStep.SWEEPS, w)) <= QUIET_SWEEPS:
            x.restart_at = QUIET_SWEEPS
    p, scalar = load_row_impulses(ctx.layout, ctx.work, lane_rows, ctx.work.p, w)
    x.p = p
    x.scalar = scalar
    x.z = load_z_registers(ctx.layout, z, w)
    x.targets = load_row_targets(ctx.work, lane_rows, w)
    if get_int(ctx.work.status, Status.WARM_STARTED, w) == 0:
        x.z = apply_warm_start(ctx.layout, ctx.work, lane_rows, x.z, p, w)
        put_int(ctx.work.status, Status.WARM_STARTED, w, 1)
    fill_shared_memory(ctx.layout, ctx.work, lane_rows, shared, w)
    return x


@wp.func
def run_pgs_registers(ctx: Context, lane_rows: LaneRows, z: array2, end: wp.float64, w: int):
    """Sweep in registers, all rows assigned to lanes. Returns the number of sweeps, the last change, N s, and the
    `StopReason`."""
    x = load_lanes(ctx, lane_rows, z, allocate_shared(z), w)
    max_sweeps = int(ctx.state.settings[Setting.MAX_SWEEPS, 0])
    rule = wp.where(lane_rows.contacts > 0, int(ProgressRule.CONTACTS), int(ProgressRule.JOINTS))
    loop = begin_sweeps(ctx, 0, max_sweeps, rule, w)
    iterate_pgs_registers(ctx, x, loop, end, w)
    store_row_impulses(ctx, x, ctx.work.p, w)
    store_z_registers(ctx.layout, x.z, z, w)
    return loop.n, loop.worst, stop_reason_of(ctx.state, loop)
