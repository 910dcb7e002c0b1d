"""Split impulses by the 32 lanes of a CUDA warp, one warp per world (M-43, M-67): the iterates of
`sweep_split_impulses`."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import StepContext
from sharnir.impulse.row_kinds import BOUND
from sharnir.impulse.slots import ContactMass
from sharnir.impulse.solve.gpu_sweep import LaneRows, broadcast_row, dense_width, replace_row
from sharnir.impulse.solve.split_impulse import contact_push_speed
from sharnir.kernels.columns import get, get_int
from sharnir.kernels.lanes import lane_index, lane_sum, load_dense_row, read_lane, read_lane_int
from sharnir.kernels.types import real, vec2


@wp.func
def sweep_split_impulses_registers(
    ctx: StepContext,
    lane_rows: LaneRows,
    compliance: real,
    dt: real,
    erp: real,
    z0: vec2,
    p0: vec2,
    bound_impulse0: real,
    w: int,
):
    """One sweep of pseudo-impulses in registers: limits, then normals of contacts. Returns the largest change, z, and
    this lane's pseudo-impulses of contact rows and of its limit. compliance: see `sweep_normal`."""
    wide = dense_width(ctx.layout)
    worst = real(0.0)
    z = z0
    p = p0
    bound_impulse = bound_impulse0
    r = int(0)
    while r < lane_rows.scalars:
        l = get_int(ctx.work.active_scalars, 1 + r, w)
        if (ctx.layout.scalar_row_kinds[l] & BOUND) != 0:
            K = get(ctx.work.scalar_K, l, w)
            before = read_lane(bound_impulse, r)
            row = load_dense_row(ctx.work.gpu_dense_rows, wide, r, w)
            s = lane_sum(wp.dot(row, z)) - K * before
            after = (wp.clamp(s, get(ctx.work.velocity_lower, l, w), get(ctx.work.velocity_upper, l, w)) - s) / K
            if lane_index() == r:
                bound_impulse = after
            z = z + row * (after - before)
            worst = wp.max(worst, wp.abs(after - before))
        r += 1
    c = int(0)
    while c < lane_rows.contacts:
        before = broadcast_row(p, r)
        inverse = get(ctx.work.contact_mass, ContactMass.SIZE * c + 9, w)
        row = load_dense_row(ctx.work.gpu_dense_rows, wide, r, w)
        error = contact_push_speed(ctx.work, c, dt, erp, w) - lane_sum(wp.dot(row, z))
        after = wp.max((before + error * inverse) / (real(1.0) + compliance), real(0.0))
        p = replace_row(p, r, after)
        z = z + row * (after - before)
        worst = wp.max(worst, wp.abs(after - before))
        r += read_lane_int(lane_rows.contact_row_count, c)
        c += 1
    return worst, z, p, bound_impulse
