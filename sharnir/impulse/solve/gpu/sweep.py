"""Projected Gauss–Seidel sweep by the 32 lanes of a CUDA warp, one warp per world (M-67).

Each lane keeps in registers z of up to two coordinates (lane and lane + 32) and the impulses of up to two contact rows,
and broadcasts them when the others need them; rows are dense. The iterates are those of `pgs_sweep`.
"""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Context, Scratch
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.row_kinds import CONTACT_IMPULSES, SCALAR_IMPULSES, RowKind, ScalarImpulse
from sharnir.impulse.slots import BLOCK_ROWS, ContactMass, Mu
from sharnir.impulse.solve.contact_block import torsional_rolling_impulse
from sharnir.impulse.solve.coulomb_cone import solve_cone_shared
from sharnir.impulse.solve.gpu.lane_rows import (
    LaneIterate,
    LaneRows,
    dense_width,
)
from sharnir.impulse.solve.pgs_sweep import solve_scalar
from sharnir.kernels.columns import LANES, get, get_int
from sharnir.kernels.lanes import (
    MAX_LANE_ROWS,
    SharedContact,
    SharedScalar,
    dense_row3_add,
    dense_row3_dot,
    get_shared,
    lane_index,
    lane_sum,
    load_dense_row,
    load_dense_row3,
    put_shared,
    put_unsynced,
    read_lane,
    read_lane_int,
    sync_lanes,
)
from sharnir.kernels.types import array2, max_abs3, real, vec2, vec3, vec4


@wp.func
def broadcast_row(x: vec2, r: int):
    """Value of row r, broadcast from the lane that keeps it. x: this lane's two values."""
    return read_lane(wp.where(r < LANES, x[0], x[1]), r % LANES)


@wp.func
def broadcast_row3(x: vec2, r: int):
    """Values of rows r, r + 1, r + 2, broadcast from the lanes that keep them."""
    return vec3(broadcast_row(x, r), broadcast_row(x, r + 1), broadcast_row(x, r + 2))


@wp.func
def replace_row(x: vec2, r: int, value: real):
    """The lane's two values x, with `value` in place of row r if it keeps that row."""
    a = x[0]
    b = x[1]
    if lane_index() == r:
        a = value
    if lane_index() + LANES == r:
        b = value
    return vec2(a, b)


@wp.func
def replace_row3(x: vec2, r: int, three: vec3):
    """The lane's two values x, with those of `three` (rows r to r + 2) that it keeps in place."""
    low = lane_index() - r
    high = low + LANES
    a = x[0]
    b = x[1]
    if low >= 0 and low < BLOCK_ROWS:
        a = wp.where(low == 0, three[0], wp.where(low == 1, three[1], three[2]))
    if high >= 0 and high < BLOCK_ROWS:
        b = wp.where(high == 0, three[0], wp.where(high == 1, three[1], three[2]))
    return vec2(a, b)


@wp.func
def load_row_impulses(layout: wp.ref[Layout], work: wp.ref[Scratch], lane_rows: LaneRows, p: array2, w: int):
    """Load this lane's impulses from p: of its two contact rows, and the four of its scalar row."""
    scalar_impulses = vec4()
    if lane_index() < lane_rows.scalars:
        l = get_int(work.active_scalars, 1 + lane_index(), w)
        kinds = layout.scalar_row_kinds[l]
        for k in range(SCALAR_IMPULSES):
            if (kinds & (RowKind.SATURATION_EXCESS | (1 << k))) != 0:
                scalar_impulses[k] = get(p, layout.scalar_p_start + SCALAR_IMPULSES * l + k, w)
    contact_impulses = vec2()
    if lane_rows.impulse_at[0] >= 0:
        contact_impulses[0] = get(p, lane_rows.impulse_at[0], w)
    if lane_rows.impulse_at[1] >= 0:
        contact_impulses[1] = get(p, lane_rows.impulse_at[1], w)
    return contact_impulses, scalar_impulses


@wp.func
def store_row_impulses(ctx: Context, x: wp.ref[LaneIterate], p: array2, w: int):
    """Store this lane's impulses to p: of its two contact rows, and the four of its scalar row."""
    if lane_index() < x.rows.scalars:
        l = get_int(ctx.work.active_scalars, 1 + lane_index(), w)
        kinds = ctx.layout.scalar_row_kinds[l]
        for k in range(SCALAR_IMPULSES):
            if (kinds & (RowKind.SATURATION_EXCESS | (1 << k))) != 0:
                put_unsynced(p, ctx.layout.scalar_p_start + SCALAR_IMPULSES * l + k, w, x.scalar[k])
    if x.rows.impulse_at[0] >= 0:
        put_unsynced(p, x.rows.impulse_at[0], w, x.p[0])
    if x.rows.impulse_at[1] >= 0:
        put_unsynced(p, x.rows.impulse_at[1], w, x.p[1])
    sync_lanes()


@wp.func
def load_z_registers(layout: wp.ref[Layout], z: array2, w: int):
    """z of the two coordinates this lane keeps."""
    n = lane_index()
    z_own = vec2()
    if n < layout.z_size:
        z_own[0] = get(z, n, w)
    if n + LANES < layout.z_size:
        z_own[1] = get(z, n + LANES, w)
    return z_own


@wp.func
def store_z_registers(layout: wp.ref[Layout], z_own: vec2, z: array2, w: int):
    """Store z of the two coordinates this lane keeps."""
    n = lane_index()
    if n < layout.z_size:
        put_unsynced(z, n, w, z_own[0])
    if n + LANES < layout.z_size:
        put_unsynced(z, n + LANES, w, z_own[1])
    sync_lanes()


@wp.func
def fill_shared_memory(layout: wp.ref[Layout], work: wp.ref[Scratch], lane_rows: LaneRows, shared: array2, w: int):
    """Fill shared memory with what sweeps need: effective-mass block, friction and change weight of contacts; W·W,
    bounds and whether nothing but a bound acts, of scalar rows."""
    c = lane_index()
    if c < lane_rows.contacts:
        at = SharedContact.SIZE * c
        k = int(0)
        while k < SharedContact.MU:
            put_shared(shared, at + k, get(work.contact_mass, ContactMass.SIZE * c + k, w))
            k += 1
        put_shared(shared, at + SharedContact.MU, get(work.contact_mu, Mu.SIZE * c, w))
        weight = get(work.contact_mass, ContactMass.SIZE * c + ContactMass.CHANGE_WEIGHT, w)
        put_shared(shared, at + SharedContact.CHANGE_WEIGHT, weight)
    if lane_index() < lane_rows.scalars:
        l = get_int(work.active_scalars, 1 + lane_index(), w)
        at = SharedContact.SIZE * LANES + SharedScalar.SIZE * lane_index()
        put_shared(shared, at + SharedScalar.K, get(work.scalar_K, l, w))
        put_shared(shared, at + SharedScalar.LOWER, get(work.velocity_lower, l, w))
        put_shared(shared, at + SharedScalar.UPPER, get(work.velocity_upper, l, w))
        put_shared(
            shared,
            at + SharedScalar.ONLY_BOUND,
            wp.where(layout.scalar_row_kinds[l] == RowKind.BOUND, real(1.0), real(0.0)),
        )
    sync_lanes()


@wp.func
def load_row_targets(work: wp.ref[Scratch], lane_rows: LaneRows, w: int):
    """Target velocities of the two contact rows this lane keeps, m/s."""
    targets = vec2()
    if lane_rows.target_at[0] >= 0:
        targets[0] = get(work.contact_target, lane_rows.target_at[0], w)
    if lane_rows.target_at[1] >= 0:
        targets[1] = get(work.contact_target, lane_rows.target_at[1], w)
    return targets


@wp.func
def next_row3(r: int):
    """First of the three rows after those from r on, clamped to rows that exist: what is fetched ahead."""
    return wp.min(r + BLOCK_ROWS, MAX_LANE_ROWS - BLOCK_ROWS)


@wp.func
def apply_warm_start(layout: wp.ref[Layout], work: wp.ref[Scratch], lane_rows: LaneRows, z0: vec2, p: vec2, w: int):
    """z + Wᵀ p of the contacts' warm-start impulses, in registers."""
    wide = dense_width(layout)
    z = z0
    r = lane_rows.scalars
    while r < lane_rows.rows:
        z = dense_row3_add(load_dense_row3(work.gpu_dense_rows, wide, r, w), broadcast_row3(p, r), z)
        r += BLOCK_ROWS
    return z


@wp.func
def sweep_scalars_registers(ctx: Context, x: wp.ref[LaneIterate], w: int):
    """Sweep the active scalar rows once in registers; returns the largest change of an impulse, N s."""
    wide = dense_width(ctx.layout)
    worst = real(0.0)
    r = int(0)
    while r < x.rows.scalars:
        row = load_dense_row(ctx.work.gpu_dense_rows, wide, r, w)
        at = SharedContact.SIZE * LANES + SharedScalar.SIZE * r
        K = get_shared(x.shared, at + SharedScalar.K)
        s = lane_sum(wp.dot(row, x.z))
        change = real(0.0)
        if get_shared(x.shared, at + SharedScalar.ONLY_BOUND) > real(0.0):
            before = read_lane(x.scalar[0], r)
            free = s - K * before
            lower = get_shared(x.shared, at + SharedScalar.LOWER)
            after = (wp.clamp(free, lower, get_shared(x.shared, at + SharedScalar.UPPER)) - free) / K
            change = after - before
            worst = wp.max(worst, wp.abs(change))
            if lane_index() == r:
                x.scalar[0] = after
        else:
            l = get_int(ctx.work.active_scalars, 1 + r, w)
            old = vec4(
                read_lane(x.scalar[0], r),
                read_lane(x.scalar[1], r),
                read_lane(x.scalar[2], r),
                read_lane(x.scalar[ScalarImpulse.COMPLIANT], r),
            )
            before = old[0] + old[1] + old[2] + old[ScalarImpulse.COMPLIANT]
            new = solve_scalar(ctx, l, ctx.layout.scalar_row_kinds[l], s - K * before, K, w)
            d = new - old
            worst = wp.max(worst, wp.max(max_abs3(vec3(d[0], d[1], d[2])), wp.abs(d[ScalarImpulse.COMPLIANT])))
            change = new[0] + new[1] + new[2] + new[ScalarImpulse.COMPLIANT] - before
            if lane_index() == r:
                x.scalar = new
        x.z = x.z + row * change
        r += 1
    return worst


@wp.func
def sweep_registers(ctx: Context, x: wp.ref[LaneIterate], w: int):
    """One sweep over all rows in registers, in the order of `sweep`; the rows of the next contact are fetched while one
    is solved. Returns the largest change of an impulse, N s."""
    wide = dense_width(ctx.layout)
    rows = load_dense_row3(ctx.work.gpu_dense_rows, wide, wp.min(x.rows.scalars, MAX_LANE_ROWS - BLOCK_ROWS), w)
    worst = sweep_scalars_registers(ctx, x, w)
    r = x.rows.scalars
    c = int(0)
    while c < x.rows.contacts:
        prefetched = load_dense_row3(ctx.work.gpu_dense_rows, wide, next_row3(r), w)
        old = broadcast_row3(x.p, r)
        s = dense_row3_dot(rows, x.z) - broadcast_row3(x.targets, r)
        new = solve_cone_shared(x.shared, SharedContact.SIZE * c, old, s)
        x.p = replace_row3(x.p, r, new)
        x.z = dense_row3_add(rows, new - old, x.z)
        change = max_abs3(new - old)
        rows = prefetched
        r += BLOCK_ROWS
        if read_lane_int(x.rows.contact_row_count, c) == CONTACT_IMPULSES:
            prefetched = load_dense_row3(ctx.work.gpu_dense_rows, wide, next_row3(r), w)
            old = broadcast_row3(x.p, r)
            torsional = torsional_rolling_impulse(ctx.work, c, new[0], old, dense_row3_dot(rows, x.z), w)
            x.p = replace_row3(x.p, r, torsional)
            x.z = dense_row3_add(rows, torsional - old, x.z)
            change = wp.max(change, max_abs3(torsional - old))
            rows = prefetched
            r += BLOCK_ROWS
        worst = wp.max(worst, change * get_shared(x.shared, SharedContact.SIZE * c + SharedContact.CHANGE_WEIGHT))
        c += 1
    return worst
