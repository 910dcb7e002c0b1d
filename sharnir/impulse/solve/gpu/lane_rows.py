"""Rows of a world assigned to the lanes of a CUDA warp, and written dense for them (M-67)."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Context, Scratch
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.row_kinds import CONTACT_IMPULSES
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.rows.whitened_rows import RowBlock, make_row_block
from sharnir.impulse.slots import BLOCK_ROWS, CONTACT_HALVES, SIDES, Half
from sharnir.kernels.columns import LANES, get, get_int
from sharnir.kernels.lanes import (
    MAX_LANE_ROWS,
    count_lanes,
    lane_index,
    lane_rank,
    put_int_unsynced,
    read_lane_int,
    sync_lanes,
    vec2i,
    vec6i,
)
from sharnir.kernels.types import array2, real, vec2, vec4


@wp.func
def list_active_scalars_lanes(layout: wp.ref[Layout], work: wp.ref[Scratch], w: int):
    """`list_active_scalars` by the lanes of a warp, in the same order (ballot and prefix count)."""
    n = int(0)
    first = int(0)
    while first < layout.scalars:
        l = first + lane_index()
        active = int(0)
        if l < layout.scalars:
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


@wp.struct
class LaneIterate:
    """The unknowns of a lane: two coordinates of z, two contact rows, the impulses of one scalar row."""

    rows: LaneRows
    shared: array2  # shared memory of the warp
    targets: vec2  # m/s, of its contact rows
    z: vec2
    p: vec2  # N s
    scalar: vec4  # N s: bound, friction, motor, compliant
    z_old: vec2  # before the last sweep
    p_old: vec2
    scalar_old: vec4
    z_direction: vec2  # search directions
    p_direction: vec2
    scalar_direction: vec4
    restart_at: int  # sweep after which the acceleration starts anew


@wp.func
def assign_lane_rows(layout: wp.ref[Layout], work: wp.ref[Scratch], w: int):
    """Assign active scalar rows and contacts of world w to lanes. `rows` is MAX_LANE_ROWS + 1 where they do not fit
    into registers."""
    lane_rows = LaneRows()
    lane_rows.scalars = get_int(work.active_scalars, 0, w)
    lane_rows.contacts = contact_count(work, w)
    lane_rows.rows = lane_rows.scalars
    if layout.gpu_lanes == 0 or lane_rows.scalars > LANES or lane_rows.contacts > LANES:
        lane_rows.rows = MAX_LANE_ROWS + 1
    else:
        c = lane_index()
        if c < lane_rows.contacts:
            lane_rows.contact_row_count = get_int(work.contact_row_count, c, w)
            k = int(0)
            while k < CONTACT_HALVES:
                lane_rows.contact_halves[k] = get_int(work.contact_halves, SIDES * Half.SIZE * c + k, w)
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
                    lane_rows.impulse_at[k] = layout.contact_p_start + CONTACT_IMPULSES * c + j
                    if j < BLOCK_ROWS:
                        lane_rows.target_at[k] = BLOCK_ROWS * c + j
                k += 1
            lane_rows.rows += width
            c += 1
    return lane_rows


@wp.func
def scatter_dense_rows(ctx: Context, lane_rows: LaneRows, w: int):
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
        block = make_row_block(ctx.layout.scalar_W_start[l], ctx.layout.scalar_row_length[l], 0, 1)
        scatter_sparse_rows(ctx, block, ctx.layout.scalar_index_start[l], r * wide, w)
        r += 1
    c = int(0)
    while c < lane_rows.contacts:
        side = int(0)
        while side < SIDES:
            start = read_lane_int(lane_rows.contact_halves[Half.SIZE * side], c)
            length = read_lane_int(lane_rows.contact_halves[Half.SIZE * side + Half.LENGTH], c)
            first = read_lane_int(lane_rows.contact_halves[Half.SIZE * side + Half.INDEX_START], c)
            block = make_row_block(start, length, 0, read_lane_int(lane_rows.contact_row_count, c))
            scatter_sparse_rows(ctx, block, first, read_lane_int(lane_rows.contact_first_row, c) * wide, w)
            side += 1
        c += 1
    sync_lanes()


@wp.func
def scatter_sparse_rows(ctx: Context, block: RowBlock, first: int, to: int, w: int):
    """Write the consecutive sparse rows of a block of W into dense rows that begin at `to`. first: start of their
    coordinates in `index`."""
    k = lane_index()
    while k < block.length:
        at = to + ctx.layout.index[first + k]
        j = int(0)
        while j < block.rows:
            value = get(ctx.work.W, block.start + j * block.length + k, w)
            ctx.work.gpu_dense_rows[w, at + j * dense_width(ctx.layout)] = value
            j += 1
        k += LANES


@wp.func
def dense_width(layout: wp.ref[Layout]):
    """Entries of a dense row: z_size rounded up to a multiple of the lanes."""
    return (layout.z_size + LANES - 1) // LANES * LANES
