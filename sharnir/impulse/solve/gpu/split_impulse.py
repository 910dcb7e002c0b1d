"""Split impulses by the 32 lanes of a CUDA warp, one warp per world (M-43, M-67): the iterates of
`sweep_split_impulses`."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Context
from sharnir.impulse.row_kinds import RowKind
from sharnir.impulse.slots import ContactMass
from sharnir.impulse.solve.gpu.lane_rows import LaneIterate, dense_width
from sharnir.impulse.solve.gpu.sweep import broadcast_row, replace_row
from sharnir.impulse.solve.pgs_sweep import solve_bound
from sharnir.impulse.solve.split_impulse import SplitImpulseLoop, contact_push_speed, make_split_impulse_loop
from sharnir.kernels.columns import get, get_int
from sharnir.kernels.lanes import lane_index, lane_sum, load_dense_row, read_lane, read_lane_int
from sharnir.kernels.types import real


@wp.func
def sweep_split_impulses_registers(ctx: Context, x: wp.ref[LaneIterate], loop: wp.ref[SplitImpulseLoop], w: int):
    """One sweep of pseudo-impulses in registers: limits, then normals of contacts. This lane's pseudo-impulse of a
    limit is the first of its scalar impulses."""
    wide = dense_width(ctx.layout)
    worst = real(0.0)
    r = int(0)
    while r < x.rows.scalars:
        l = get_int(ctx.work.active_scalars, 1 + r, w)
        if (ctx.layout.scalar_row_kinds[l] & RowKind.BOUND) != 0:
            K = get(ctx.work.scalar_K, l, w)
            before = read_lane(x.scalar[0], r)
            row = load_dense_row(ctx.work.gpu_dense_rows, wide, r, w)
            after = solve_bound(ctx.work, l, lane_sum(wp.dot(row, x.z)) - K * before, K, w)
            if lane_index() == r:
                x.scalar[0] = after
            x.z = x.z + row * (after - before)
            worst = wp.max(worst, wp.abs(after - before))
        r += 1
    c = int(0)
    while c < x.rows.contacts:
        before = broadcast_row(x.p, r)
        inverse = get(ctx.work.contact_mass, ContactMass.SIZE * c + ContactMass.NORMAL, w)
        row = load_dense_row(ctx.work.gpu_dense_rows, wide, r, w)
        error = contact_push_speed(ctx.work, c, loop.dt, loop.erp, w) - lane_sum(wp.dot(row, x.z))
        after = wp.max((before + error * inverse) / (real(1.0) + loop.compliance), real(0.0))
        x.p = replace_row(x.p, r, after)
        x.z = x.z + row * (after - before)
        worst = wp.max(worst, wp.abs(after - before))
        r += read_lane_int(x.rows.contact_row_count, c)
        c += 1
    loop.worst = worst


iterate_split_impulses_registers = make_split_impulse_loop(
    "iterate_split_impulses_registers", LaneIterate, sweep_split_impulses_registers
)
