"""Projected Gauss–Seidel on the dense Delassus matrix A = W Wᵀ = J M⁻¹ Jᵀ, for at most MAX_DELASSUS_ROWS rows (M-63).

Row velocities are updated by columns of A, and z is recovered once at the end. A sweep through z has to wait for every
row's product with it; for some twenty contacts A is small, its columns are contiguous and a row's velocity is known
when its turn comes: three times as fast. Rows are those of the contacts, three each, then the active scalar rows, one
each; impulses stand in the same order, four for each scalar row.
"""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Context, Iterate, Scratch
from sharnir.impulse.layout.layout import MAX_DELASSUS_ROWS, Layout
from sharnir.impulse.row_kinds import CONTACT_IMPULSES, FURTHER_SCALAR_IMPULSES, SCALAR_IMPULSES
from sharnir.impulse.rows.contact_frame import apply_contact_impulse, contact_count, contact_velocity, halves_of
from sharnir.impulse.slots import BLOCK_ROWS, CONTACT_HALVES, SIDES, ContactMass, DelassusState, Half, Mu, Status
from sharnir.impulse.solve.coulomb_cone import solve_cone_dense
from sharnir.impulse.solve.islands.partition import MASS_RATIO
from sharnir.impulse.solve.pgs_sweep import list_active_scalars, scalar_row_of, scalar_velocity_of, update_scalar
from sharnir.kernels.columns import get, get3, get_int, ints2, put, put_int
from sharnir.kernels.dense import add_column, dot_interleaved, scatter_interleaved
from sharnir.kernels.types import C_REAL, SIMD4_NATIVE, array2, real
from sharnir.kernels.vector_ops import indices, row_add, slot_native

TOL_SELF_STRESS = wp.constant(real(1.0e-5))  # of Σ A_ii Δp_i² (M-83): a change of less energy is self-stress


@wp.func
def active_scalar_count(work: wp.ref[Scratch], w: int):
    """Number of active scalar rows."""
    return get_int(work.active_scalars, 0, w)


@wp.func
def row_count(work: wp.ref[Scratch], w: int):
    """Number of rows of the Delassus matrix: three per contact and one per active scalar row."""
    return BLOCK_ROWS * contact_count(work, w) + active_scalar_count(work, w)


@wp.func
def pad_to_four(rows: int):
    """Round a number of rows up to a multiple of four: entries of a column of A."""
    return (rows + 3) & ~3


@wp.func
def ensure_delassus(layout: wp.ref[Layout], work: wp.ref[Scratch], w: int):
    """Build the Delassus matrix if it is stale and usable, and return whether it is ready. It is not usable where there
    are no contacts, more than MAX_DELASSUS_ROWS rows, or contacts with torsional or rolling friction (six rows)."""
    if get_int(work.status, Status.DELASSUS, w) == DelassusState.STALE:
        list_active_scalars(layout, work, get_int(work.status, Status.IS_DIRECT, w), w)
        contacts = contact_count(work, w)
        rows = row_count(work, w)
        readiness = int(DelassusState.READY)
        if contacts == 0 or rows > MAX_DELASSUS_ROWS:
            readiness = DelassusState.UNUSABLE
        else:
            c = int(0)
            while c < contacts:
                if get_int(work.contact_row_count, c, w) != BLOCK_ROWS:
                    readiness = DelassusState.UNUSABLE
                c += 1
        if readiness == DelassusState.READY:
            build_delassus(layout, work, contacts, rows, w)
        put_int(work.status, Status.DELASSUS, w, readiness)
        put_int(work.status, Status.LU_VALID, w, 0)
    return get_int(work.status, Status.DELASSUS, w) == DelassusState.READY


@wp.func
def swept_scalar_row(layout: wp.ref[Layout], work: wp.ref[Scratch], l: int, w: int):
    """Scalar row l as it is swept in this step: projected where bilateral rows are solved directly."""
    return scalar_row_of(layout, work, l, get_int(work.status, Status.IS_DIRECT, w), w)


@wp.func
def scatter_contact_interleaved(layout: wp.ref[Layout], work: wp.ref[Scratch], c: int, sign: real, w: int):
    """Write the three rows of contact c, interleaved, into the dense scratch, times `sign`; sign 0 clears the
    entries."""
    side = int(0)
    while side < SIDES:
        at = halves_of(layout, c, get_int(work.status, Status.IS_DIRECT, w)) + Half.SIZE * side
        start = get_int(work.contact_halves, at, w)
        length = get_int(work.contact_halves, at + Half.LENGTH, w)
        first = get_int(work.contact_halves, at + Half.INDEX_START, w)
        scatter_interleaved(work.W, start, length, BLOCK_ROWS, layout.index, first, sign, work.dense_row, w)
        side += 1


@wp.func
def scatter_scalar_interleaved(layout: wp.ref[Layout], work: wp.ref[Scratch], l: int, sign: real, w: int):
    """Write scalar row l into the first lane of the interleaved dense scratch, times `sign`; sign 0 clears the
    entries."""
    row = swept_scalar_row(layout, work, l, w)
    scatter_interleaved(work.W, row.start, row.length, 1, layout.index, row.first, sign, work.dense_row, w)


@wp.func
def dot_scalar_interleaved(layout: wp.ref[Layout], work: wp.ref[Scratch], l: int, w: int):
    """Dot products of scalar row l with the rows in the interleaved dense scratch: three entries of A, of which only
    the first counts where the scratch holds a scalar row."""
    row = swept_scalar_row(layout, work, l, w)
    return dot_interleaved(work.W, row.start, row.length, layout.index, row.first, work.dense_row, w)


@wp.func_native(f"""
#if defined(__CUDA_ARCH__)
    const long long n = W.shape[1];
    for (int b = 0; b <= c; ++b)
        for (int i = 0; i < {BLOCK_ROWS}; ++i)
            for (int j = 0; j < {BLOCK_ROWS}; ++j) {{
                {C_REAL} sum = 0;
                for (int side = 0; side < {SIDES}; ++side) {{
                    const int* half = halves.data + (long long)(first + {CONTACT_HALVES}*b + {Half.SIZE}*side)*n + w;
                    const int length = {slot_native("half", Half.LENGTH)};
                    for (int k = 0; k < length; ++k)
                        sum += W.data[(long long)({slot_native("half", Half.W_START)} + i*length + k)*n + w]
                             * D.data[(long long)(4*index.data[{slot_native("half", Half.INDEX_START)} + k] + j)*n + w];
                }}
                A.data[(long long)(({BLOCK_ROWS}*c + j)*stride + {BLOCK_ROWS}*b + i)*n + w] = sum;
                A.data[(long long)(({BLOCK_ROWS}*b + i)*stride + {BLOCK_ROWS}*c + j)*n + w] = sum;
            }}
#else
    {SIMD4_NATIVE}
    for (int b = 0; b <= c; ++b) {{
        four x = 0, y = 0, z = 0;
        for (int side = 0; side < {SIDES}; ++side) {{
            const int* half = halves.data + first + {CONTACT_HALVES}*b + {Half.SIZE}*side;
            const int length = half[{Half.LENGTH}];
            const {C_REAL}* row = W.data + half[{Half.W_START}];
            const int* at = index.data + half[{Half.INDEX_START}];
            for (int k = 0; k < length; ++k) {{
                const four d = *(const four*)(D.data + 4*at[k]);
                x += row[k] * d;
                y += row[length + k] * d;
                z += row[2*length + k] * d;
            }}
        }}
        {C_REAL}* right = A.data + {BLOCK_ROWS}*c*stride + {BLOCK_ROWS}*b;
        {C_REAL}* left = A.data + {BLOCK_ROWS}*b*stride + {BLOCK_ROWS}*c;
        for (int j = 0; j < {BLOCK_ROWS}; ++j) {{
            right[j*stride] = x[j]; right[j*stride + 1] = y[j]; right[j*stride + 2] = z[j];
            left[j] = x[j]; left[stride + j] = y[j]; left[2*stride + j] = z[j];
        }}
    }}
#endif
""")
def put_contact_delassus(
    W: array2, halves: ints2, first: int, index: indices, D: array2, c: int, A: array2, stride: int, w: int
):
    """Fill the 3 × 3 blocks of A = W Wᵀ between contact c and contacts 0 … c, on both sides of the diagonal. halves:
    `Scratch.contact_halves`, those of the contacts from `first` on; D[4 k + j]: row j of contact c at coordinate k;
    stride: padded column length of A."""
    ...


@wp.func
def build_delassus(layout: wp.ref[Layout], work: wp.ref[Scratch], contacts: int, rows: int, w: int):
    """Build A ← W Wᵀ by columns; contacts and rows: how many there are."""
    n = pad_to_four(rows)
    c = int(0)
    while c < contacts:
        scatter_contact_interleaved(layout, work, c, real(1.0), w)
        first_half = halves_of(layout, 0, get_int(work.status, Status.IS_DIRECT, w))
        put_contact_delassus(
            work.W, work.contact_halves, first_half, layout.index, work.dense_row, c, work.delassus, n, w
        )
        k = int(0)
        while k < active_scalar_count(work, w):
            l = get_int(work.active_scalars, 1 + k, w)
            row = BLOCK_ROWS * contacts + k
            entries = dot_scalar_interleaved(layout, work, l, w)
            j = int(0)
            while j < BLOCK_ROWS:
                put(work.delassus, (BLOCK_ROWS * c + j) * n + row, w, entries[j])
                put(work.delassus, row * n + BLOCK_ROWS * c + j, w, entries[j])
                j += 1
            k += 1
        scatter_contact_interleaved(layout, work, c, real(0.0), w)
        c += 1
    build_scalar_delassus(layout, work, contacts, n, w)


@wp.func
def build_scalar_delassus(layout: wp.ref[Layout], work: wp.ref[Scratch], contacts: int, n: int, w: int):
    """Fill the entries of A between scalar rows. n: padded column length of A."""
    k = int(0)
    while k < active_scalar_count(work, w):
        l = get_int(work.active_scalars, 1 + k, w)
        scatter_scalar_interleaved(layout, work, l, real(1.0), w)
        row = BLOCK_ROWS * contacts + k
        i = int(0)
        while i <= k:
            entries = dot_scalar_interleaved(layout, work, get_int(work.active_scalars, 1 + i, w), w)
            put(work.delassus, row * n + BLOCK_ROWS * contacts + i, w, entries[0])
            put(work.delassus, (BLOCK_ROWS * contacts + i) * n + row, w, entries[0])
            i += 1
        scatter_scalar_interleaved(layout, work, l, real(0.0), w)
        k += 1


@wp.func
def gather_delassus_rows(ctx: Context, x: wp.ref[Iterate], w: int):
    """Gather row velocities W z and impulses of all rows, and remember the impulses; returns the number of impulses.
    Padding of the velocities is set to zero."""
    contacts = contact_count(ctx.work, w)
    c = int(0)
    while c < contacts:
        s = contact_velocity(ctx, c, 0, x.direct, x.z, w)
        at = ctx.layout.contact_p_start + CONTACT_IMPULSES * c
        k = int(0)
        while k < BLOCK_ROWS:
            put(ctx.work.row_velocity, BLOCK_ROWS * c + k, w, s[k])
            put(ctx.work.row_impulse, BLOCK_ROWS * c + k, w, get(x.p, at + k, w))
            put(ctx.work.row_impulse_initial, BLOCK_ROWS * c + k, w, get(x.p, at + k, w))
            k += 1
        c += 1
    k = int(0)
    while k < active_scalar_count(ctx.work, w):
        l = get_int(ctx.work.active_scalars, 1 + k, w)
        row = scalar_row_of(ctx.layout, ctx.work, l, x.direct, w)
        velocity = scalar_velocity_of(ctx.layout, ctx.work, row, x.z, w)
        put(ctx.work.row_velocity, BLOCK_ROWS * contacts + k, w, velocity)
        at = BLOCK_ROWS * contacts + SCALAR_IMPULSES * k
        j = int(0)
        while j < SCALAR_IMPULSES:
            p = get(x.p, ctx.layout.scalar_p_start + SCALAR_IMPULSES * l + j, w)
            put(ctx.work.row_impulse, at + j, w, p)
            put(ctx.work.row_impulse_initial, at + j, w, p)
            j += 1
        k += 1
    k = row_count(ctx.work, w)
    while k < pad_to_four(row_count(ctx.work, w)):
        put(ctx.work.row_velocity, k, w, real(0.0))
        k += 1
    return BLOCK_ROWS * contacts + SCALAR_IMPULSES * active_scalar_count(ctx.work, w)


@wp.func
def scatter_delassus_rows(ctx: Context, x: wp.ref[Iterate], w: int):
    """Scatter the impulses of all rows back to p, and add Wᵀ of their change since `gather_delassus_rows` to z."""
    contacts = contact_count(ctx.work, w)
    c = int(0)
    while c < contacts:
        impulse = get3(ctx.work.row_impulse, c, w)
        at = ctx.layout.contact_p_start + CONTACT_IMPULSES * c
        put(x.p, at, w, impulse[0])
        put(x.p, at + 1, w, impulse[1])
        put(x.p, at + 2, w, impulse[2])
        added = impulse - get3(ctx.work.row_impulse_initial, c, w)
        apply_contact_impulse(ctx, c, 0, added, x, w)
        c += 1
    k = int(0)
    while k < active_scalar_count(ctx.work, w):
        l = get_int(ctx.work.active_scalars, 1 + k, w)
        at = BLOCK_ROWS * contacts + SCALAR_IMPULSES * k
        change = real(0.0)
        j = int(0)
        while j < SCALAR_IMPULSES:
            new = get(ctx.work.row_impulse, at + j, w)
            change = change + (new - get(ctx.work.row_impulse_initial, at + j, w))
            put(x.p, ctx.layout.scalar_p_start + SCALAR_IMPULSES * l + j, w, new)
            j += 1
        row = scalar_row_of(ctx.layout, ctx.work, l, x.direct, w)
        row_add(ctx.work.W, row.start, row.length, ctx.layout.index, row.first, change, x.z, w)
        k += 1


@wp.func
def sweep_delassus(ctx: Context, w: int):
    """One projected Gauss–Seidel sweep on the Delassus matrix: all active scalar rows, then all contacts. Returns the
    largest change of an impulse, N s (M-42)."""
    contacts = contact_count(ctx.work, w)
    n = pad_to_four(row_count(ctx.work, w))
    worst = real(0.0)
    k = int(0)
    while k < active_scalar_count(ctx.work, w):
        l = get_int(ctx.work.active_scalars, 1 + k, w)
        row = BLOCK_ROWS * contacts + k
        s = get(ctx.work.row_velocity, row, w)
        at = BLOCK_ROWS * contacts + SCALAR_IMPULSES * k
        total, change = update_scalar(ctx, swept_scalar_row(ctx.layout, ctx.work, l, w), s, ctx.work.row_impulse, at, w)
        worst = wp.max(worst, change)
        if change > real(0.0):
            add_column(ctx.work.delassus, row * n, n, total, ctx.work.row_velocity, w)
        k += 1
    c = int(0)
    while c < contacts:
        mu = get(ctx.work.contact_mu, Mu.SIZE * c, w)
        contact_change = solve_cone_dense(
            ctx.work.delassus,
            n,
            ctx.work.contact_mass,
            ContactMass.SIZE * c,
            mu,
            ctx.work.contact_target,
            c,
            ctx.work.row_velocity,
            ctx.work.row_impulse,
            ctx.work.contact_mode,
            w,
        )
        put(ctx.work.contact_impulse_change, c, w, contact_change)
        worst = max(worst, contact_change)
        c += 1
    return worst


@wp.func
def change_is_self_stress(work: wp.ref[Scratch], w: int):
    """Whether the last sweep changed impulses only within the null space of Wᵀ (self-stress, M-83): the energy Δpᵀ A Δp
    of the change is next to nothing against Σ A_ii Δp_i², that of each row's change alone.

    Target velocities of linearly dependent rows then contradict each other, and sweeps would go on until something else
    gives. Not applied where a contact moves something light: there slow convergence looks the same.
    """
    contacts = contact_count(work, w)
    n = pad_to_four(row_count(work, w))
    coupled_energy = real(0.0)
    diagonal_energy = real(0.0)
    mass_ratio = real(0.0)
    row = int(0)
    while row < row_count(work, w):
        change = real(0.0)
        if row < BLOCK_ROWS * contacts:
            mass_ratio = wp.max(
                mass_ratio, get(work.contact_mass, ContactMass.SIZE * (row / BLOCK_ROWS) + ContactMass.LIGHTNESS, w)
            )
            change = get(work.row_impulse, row, w) - get(work.row_impulse_old, row, w)
        else:
            at = row + FURTHER_SCALAR_IMPULSES * (row - BLOCK_ROWS * contacts)
            k = int(0)
            while k < SCALAR_IMPULSES:
                change = change + get(work.row_impulse, at + k, w) - get(work.row_impulse_old, at + k, w)
                k += 1
        coupled_energy = coupled_energy + change * (get(work.row_velocity, row, w) - get(work.row_velocity_old, row, w))
        diagonal_energy = diagonal_energy + change * change * get(work.delassus, row * n + row, w)
        row += 1
    return coupled_energy <= TOL_SELF_STRESS * diagonal_energy and mass_ratio <= MASS_RATIO
