"""Projected Gauss–Seidel sweep by the 32 lanes of a CUDA warp, one warp per world (M-67).

Each lane keeps in registers z of up to two coordinates (lane and lane + 32) and the impulses of up to two contact rows,
and broadcasts them when the others need them; rows are dense. The iterates are those of `pgs_sweep`.
"""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Scratch, StepContext
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.row_kinds import BOUND, CONTACT_IMPULSES, SATURATION_EXCESS
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.slots import ContactMass
from sharnir.impulse.solve.contact_block import torsional_rolling_impulse
from sharnir.impulse.solve.coulomb_cone import solve_cone_shared
from sharnir.impulse.solve.pgs_sweep import solve_scalar
from sharnir.kernels.columns import LANES, get, get_int
from sharnir.kernels.lanes import (
    MAX_LANE_ROWS,
    SHARED_CONTACT_SIZE,
    SHARED_SCALAR_SIZE,
    count_lanes,
    dense_row3_add,
    dense_row3_dot,
    get_shared,
    lane_index,
    lane_rank,
    lane_sum,
    load_dense_row,
    load_dense_row3,
    put_int_unsynced,
    put_shared,
    put_unsynced,
    read_lane,
    read_lane_int,
    sync_lanes,
    vec2i,
    vec6i,
)
from sharnir.kernels.types import array2, real, vec2, vec3, vec4


@wp.func
def list_active_scalars_lanes(plan: Layout, work: Scratch, w: int):
    """`list_active_scalars` by the lanes of a warp, in the same order (ballot and prefix count)."""
    n = int(0)
    first = int(0)
    while first < plan.scalars:
        l = first + lane_index()
        active = int(0)
        if l < plan.scalars:
            if get(work.scalar_K, l, w) > real(0.0):
                active = 1
        before = lane_rank(active)
        if active == 1:
            put_int_unsynced(work.active_scalars, 1 + n + before, w, l)
        n += count_lanes(active)
        first += LANES
    put_int_unsynced(work.active_scalars, 0, w, n)
    sync_lanes()


@wp.struct
class LaneRows:
    """Rows of a world as one lane sees them: a contact of its own, and the owners of the two rows whose impulses it
    keeps."""

    scalars: int  # number of active scalar rows, which come first
    contacts: int  # number of contacts
    rows: int  # number of all rows; MAX_LANE_ROWS + 1 if they do not fit
    contact_first_row: int  # first row of this lane's contact
    contact_row_count: int  # rows of this lane's contact, 3 or 6
    contact_halves: vec6i  # of both halves of its contact: start of rows in W, entries of a row, start in `index`
    impulse_at: vec2i  # of its two rows: place of their impulse in p, -1 for scalar rows
    target_at: vec2i  # of its two rows: place of their target velocity, -1 for none


@wp.func
def assign_lane_rows(plan: Layout, work: Scratch, w: int):
    """Assign active scalar rows and contacts of world w to lanes. `rows` is MAX_LANE_ROWS + 1 where they do not fit
    into registers."""
    lane_rows = LaneRows()
    lane_rows.scalars = get_int(work.active_scalars, 0, w)
    lane_rows.contacts = contact_count(work, w)
    lane_rows.rows = lane_rows.scalars
    if plan.gpu_lanes == 0 or lane_rows.scalars > LANES or lane_rows.contacts > LANES:
        lane_rows.rows = MAX_LANE_ROWS + 1
    else:
        c = lane_index()
        if c < lane_rows.contacts:
            lane_rows.contact_row_count = get_int(work.contact_row_count, c, w)
            k = int(0)
            while k < 6:
                lane_rows.contact_halves[k] = get_int(work.contact_halves, 6 * c + k, w)
                k += 1
        lane_rows.impulse_at = vec2i(-1, -1)
        lane_rows.target_at = vec2i(-1, -1)
        c = int(0)
        while c < lane_rows.contacts:
            if lane_index() == c:
                lane_rows.contact_first_row = lane_rows.rows
            width = read_lane_int(lane_rows.contact_row_count, c)
            k = int(0)
            while k < 2:
                j = lane_index() + k * LANES - lane_rows.rows
                if j >= 0 and j < width:
                    lane_rows.impulse_at[k] = plan.contact_p_start + CONTACT_IMPULSES * c + j
                    if j < 3:
                        lane_rows.target_at[k] = 3 * c + j
                k += 1
            lane_rows.rows += width
            c += 1
    return lane_rows


@wp.func
def scatter_dense_rows(ctx: StepContext, lane_rows: LaneRows, w: int):
    """Write all rows dense, one after the other, so that each lane reads its coordinates of a row without an index."""
    wide = dense_width(ctx.layout)
    k = lane_index()
    while k < lane_rows.rows * wide:
        ctx.work.gpu_dense_rows[w, k] = real(0.0)
        k += LANES
    sync_lanes()
    r = int(0)
    while r < lane_rows.scalars:
        l = get_int(ctx.work.active_scalars, 1 + r, w)
        scatter_sparse_rows(
            ctx,
            ctx.layout.scalar_W_start[l],
            ctx.layout.scalar_row_length[l],
            ctx.layout.scalar_index_start[l],
            1,
            r * wide,
            w,
        )
        r += 1
    c = int(0)
    while c < lane_rows.contacts:
        side = int(0)
        while side < 2:
            start = read_lane_int(lane_rows.contact_halves[3 * side], c)
            length = read_lane_int(lane_rows.contact_halves[3 * side + 1], c)
            first = read_lane_int(lane_rows.contact_halves[3 * side + 2], c)
            width = read_lane_int(lane_rows.contact_row_count, c)
            scatter_sparse_rows(
                ctx, start, length, first, width, read_lane_int(lane_rows.contact_first_row, c) * wide, w
            )
            side += 1
        c += 1
    sync_lanes()


@wp.func
def scatter_sparse_rows(ctx: StepContext, start: int, length: int, first: int, count: int, to: int, w: int):
    """Write `count` consecutive sparse rows of W into dense rows that begin at `to`."""
    k = lane_index()
    while k < length:
        at = to + ctx.layout.index[first + k]
        j = int(0)
        while j < count:
            ctx.work.gpu_dense_rows[w, at + j * dense_width(ctx.layout)] = get(ctx.work.W, start + j * length + k, w)
            j += 1
        k += LANES


@wp.func
def dense_width(plan: Layout):
    """Entries of a dense row: z_size rounded up to a multiple of the lanes."""
    return (plan.z_size + LANES - 1) // LANES * LANES


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
    if low >= 0 and low < 3:
        a = wp.where(low == 0, three[0], wp.where(low == 1, three[1], three[2]))
    if high >= 0 and high < 3:
        b = wp.where(high == 0, three[0], wp.where(high == 1, three[1], three[2]))
    return vec2(a, b)


@wp.func
def load_row_impulses(plan: Layout, work: Scratch, lane_rows: LaneRows, p: array2, w: int):
    """Load this lane's impulses from p: of its two contact rows, and the four of its scalar row."""
    scalar_impulses = vec4()
    if lane_index() < lane_rows.scalars:
        l = get_int(work.active_scalars, 1 + lane_index(), w)
        kinds = plan.scalar_row_kinds[l]
        for k in range(4):
            if (kinds & (SATURATION_EXCESS | (1 << k))) != 0:
                scalar_impulses[k] = get(p, plan.scalar_p_start + 4 * l + k, w)
    contact_impulses = vec2()
    if lane_rows.impulse_at[0] >= 0:
        contact_impulses[0] = get(p, lane_rows.impulse_at[0], w)
    if lane_rows.impulse_at[1] >= 0:
        contact_impulses[1] = get(p, lane_rows.impulse_at[1], w)
    return contact_impulses, scalar_impulses


@wp.func
def store_row_impulses(
    ctx: StepContext, lane_rows: LaneRows, contact_impulses: vec2, scalar_impulses: vec4, p: array2, w: int
):
    """Store this lane's impulses to p: of its two contact rows, and the four of its scalar row."""
    if lane_index() < lane_rows.scalars:
        l = get_int(ctx.work.active_scalars, 1 + lane_index(), w)
        kinds = ctx.layout.scalar_row_kinds[l]
        for k in range(4):
            if (kinds & (SATURATION_EXCESS | (1 << k))) != 0:
                put_unsynced(p, ctx.layout.scalar_p_start + 4 * l + k, w, scalar_impulses[k])
    if lane_rows.impulse_at[0] >= 0:
        put_unsynced(p, lane_rows.impulse_at[0], w, contact_impulses[0])
    if lane_rows.impulse_at[1] >= 0:
        put_unsynced(p, lane_rows.impulse_at[1], w, contact_impulses[1])
    sync_lanes()


@wp.func
def load_z_registers(plan: Layout, z: array2, w: int):
    """z of the two coordinates this lane keeps."""
    n = lane_index()
    z_own = vec2()
    if n < plan.z_size:
        z_own[0] = get(z, n, w)
    if n + LANES < plan.z_size:
        z_own[1] = get(z, n + LANES, w)
    return z_own


@wp.func
def store_z_registers(plan: Layout, z_own: vec2, z: array2, w: int):
    """Store z of the two coordinates this lane keeps."""
    n = lane_index()
    if n < plan.z_size:
        put_unsynced(z, n, w, z_own[0])
    if n + LANES < plan.z_size:
        put_unsynced(z, n + LANES, w, z_own[1])
    sync_lanes()


@wp.func
def fill_shared_memory(plan: Layout, work: Scratch, lane_rows: LaneRows, shared: array2, w: int):
    """Fill shared memory with what sweeps need: effective-mass block, friction and change weight of contacts; W·W,
    bounds and whether nothing but a bound acts, of scalar rows."""
    c = lane_index()
    if c < lane_rows.contacts:
        at = SHARED_CONTACT_SIZE * c
        k = int(0)
        while k < 13:
            put_shared(shared, at + k, get(work.contact_mass, ContactMass.SIZE * c + k, w))
            k += 1
        put_shared(shared, at + 13, get(work.contact_mu, 3 * c, w))
        put_shared(shared, at + 14, get(work.contact_mass, ContactMass.SIZE * c + 15, w))
    if lane_index() < lane_rows.scalars:
        l = get_int(work.active_scalars, 1 + lane_index(), w)
        at = SHARED_CONTACT_SIZE * LANES + SHARED_SCALAR_SIZE * lane_index()
        put_shared(shared, at, get(work.scalar_K, l, w))
        put_shared(shared, at + 1, get(work.velocity_lower, l, w))
        put_shared(shared, at + 2, get(work.velocity_upper, l, w))
        put_shared(shared, at + 3, wp.where(plan.scalar_row_kinds[l] == BOUND, real(1.0), real(0.0)))
    sync_lanes()


@wp.func
def load_row_targets(work: Scratch, lane_rows: LaneRows, w: int):
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
    return wp.min(r + 3, MAX_LANE_ROWS - 3)


@wp.func
def apply_warm_start(plan: Layout, work: Scratch, lane_rows: LaneRows, z0: vec2, p: vec2, w: int):
    """z + Wᵀ p of the contacts' warm-start impulses, in registers."""
    wide = dense_width(plan)
    z = z0
    r = lane_rows.scalars
    while r < lane_rows.rows:
        z = dense_row3_add(load_dense_row3(work.gpu_dense_rows, wide, r, w), broadcast_row3(p, r), z)
        r += 3
    return z


@wp.func
def sweep_scalars_registers(
    ctx: StepContext, lane_rows: LaneRows, shared: array2, z0: vec2, scalar_impulses0: vec4, w: int
):
    """Sweep the active scalar rows once in registers. Returns the largest change of an impulse, N s, z and this lane's
    impulses."""
    wide = dense_width(ctx.layout)
    worst = real(0.0)
    z = z0
    scalar_impulses = scalar_impulses0
    r = int(0)
    while r < lane_rows.scalars:
        row = load_dense_row(ctx.work.gpu_dense_rows, wide, r, w)
        at = SHARED_CONTACT_SIZE * LANES + SHARED_SCALAR_SIZE * r
        K = get_shared(shared, at)
        s = lane_sum(wp.dot(row, z))
        change = real(0.0)
        if get_shared(shared, at + 3) > real(0.0):
            before = read_lane(scalar_impulses[0], r)
            free = s - K * before
            after = (wp.clamp(free, get_shared(shared, at + 1), get_shared(shared, at + 2)) - free) / K
            change = after - before
            worst = wp.max(worst, wp.abs(change))
            if lane_index() == r:
                scalar_impulses[0] = after
        else:
            l = get_int(ctx.work.active_scalars, 1 + r, w)
            old = vec4(
                read_lane(scalar_impulses[0], r),
                read_lane(scalar_impulses[1], r),
                read_lane(scalar_impulses[2], r),
                read_lane(scalar_impulses[3], r),
            )
            before = old[0] + old[1] + old[2] + old[3]
            new = solve_scalar(ctx, l, ctx.layout.scalar_row_kinds[l], s - K * before, K, w)
            d = new - old
            worst = wp.max(worst, wp.max(max_abs3(vec3(d[0], d[1], d[2])), wp.abs(d[3])))
            change = new[0] + new[1] + new[2] + new[3] - before
            if lane_index() == r:
                scalar_impulses = new
        z = z + row * change
        r += 1
    return worst, z, scalar_impulses


@wp.func
def max_abs3(d: vec3):
    """Largest absolute component."""
    return wp.max(wp.max(wp.abs(d[0]), wp.abs(d[1])), wp.abs(d[2]))


@wp.func
def sweep_registers(
    ctx: StepContext,
    lane_rows: LaneRows,
    shared: array2,
    targets: vec2,
    z0: vec2,
    p0: vec2,
    scalar_impulses0: vec4,
    w: int,
):
    """One sweep over all rows in registers, in the order of `sweep`; the rows of the next contact are fetched while one
    is solved. Returns the largest change of an impulse, N s, z, and this lane's impulses of contacts and scalar rows.
    """
    wide = dense_width(ctx.layout)
    rows = load_dense_row3(ctx.work.gpu_dense_rows, wide, wp.min(lane_rows.scalars, MAX_LANE_ROWS - 3), w)
    worst, z, scalar_impulses = sweep_scalars_registers(ctx, lane_rows, shared, z0, scalar_impulses0, w)
    p = p0
    r = lane_rows.scalars
    c = int(0)
    while c < lane_rows.contacts:
        prefetched = load_dense_row3(ctx.work.gpu_dense_rows, wide, next_row3(r), w)
        old = broadcast_row3(p, r)
        s = dense_row3_dot(rows, z) - broadcast_row3(targets, r)
        new = solve_cone_shared(shared, SHARED_CONTACT_SIZE * c, old, s)
        p = replace_row3(p, r, new)
        z = dense_row3_add(rows, new - old, z)
        change = max_abs3(new - old)
        rows = prefetched
        r += 3
        if read_lane_int(lane_rows.contact_row_count, c) == 6:
            prefetched = load_dense_row3(ctx.work.gpu_dense_rows, wide, next_row3(r), w)
            old = broadcast_row3(p, r)
            torsional = torsional_rolling_impulse(ctx.work, c, new[0], old, dense_row3_dot(rows, z), w)
            p = replace_row3(p, r, torsional)
            z = dense_row3_add(rows, torsional - old, z)
            change = wp.max(change, max_abs3(torsional - old))
            rows = prefetched
            r += 3
        worst = wp.max(worst, change * get_shared(shared, SHARED_CONTACT_SIZE * c + 14))
        c += 1
    return worst, z, p, scalar_impulses
