"""Unilateral and bounded rows projected onto the null space of the bilateral rows B: Ŵ_u = W_u − W_u W_Bᵀ (W_B W_Bᵀ +
Γ)⁻¹ W_B (M-48).

Sweeping Ŵ_u leaves the velocities of B unchanged; the impulses of B follow once at the end.
"""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Context, Iterate, Scratch
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.row_kinds import CONTACT_IMPULSES, SCALAR_IMPULSES, BilateralKind, RowKind
from sharnir.impulse.rows.contact_frame import contact_count, contact_velocity
from sharnir.impulse.rows.contact_mass import compute_contact_mass
from sharnir.impulse.slots import BLOCK_ROWS, CONTACT_HALVES, SIDES, Half
from sharnir.impulse.solve.bilateral_ldl import bilateral_rank, compliance_of, scatter, solve_bilateral, solve_ldl
from sharnir.impulse.tolerances import TOL_DEPENDENT
from sharnir.kernels.columns import get, get_int, put
from sharnir.kernels.types import array2, real
from sharnir.kernels.vector_ops import row_dot, row_row_dot

MAX_MOTOR_TRIES = 8  # limits to which motors may yield in a solution, one after the other
MIN_LIMIT_EXCESS = wp.constant(real(1.0e-9))  # m/s or rad/s, by which motors may drive a limit
MIN_MOTOR_RATIO2 = wp.constant(
    real(1.0e-6)
)  # squared velocity of a row per velocity of motors: below, they do not drive it


@wp.func
def solve_bilateral_response(layout: wp.ref[Layout], work: wp.ref[Scratch], w: int):
    """x ← (W_B W_Bᵀ + Γ)⁻¹ W_B d for the dense scratch row d: impulses of B that cancel what d does to B, but for the
    sign."""
    c = int(0)
    while c < bilateral_rank(layout, work, w):
        b = get_int(work.active_bilateral, c, w)
        value = row_dot(
            work.W,
            layout.bilateral_W_start[b],
            layout.bilateral_row_length[b],
            layout.index,
            layout.bilateral_index_start[b],
            work.dense_row,
            w,
        )
        put(work.bilateral_x, c, w, value)
        c += 1
    solve_ldl(layout, work, w)


@wp.func
def project_dense_row(ctx: Context, target: int, w: int):
    """W[target …] ← Ŵ of the row in the dense scratch: dense over the velocity coordinates and one slack per compliant
    row of B. The scratch is cleared."""
    solve_bilateral_response(ctx.layout, ctx.work, w)
    c = int(0)
    while c < bilateral_rank(ctx.layout, ctx.work, w):
        b = get_int(ctx.work.active_bilateral, c, w)
        value = get(ctx.work.bilateral_x, c, w)
        scatter(
            ctx,
            ctx.layout.bilateral_W_start[b],
            ctx.layout.bilateral_row_length[b],
            ctx.layout.bilateral_index_start[b],
            -value,
            w,
        )
        if ctx.layout.bilateral_slack[b] >= 0:
            put(
                ctx.work.dense_row,
                ctx.layout.bilateral_slack[b],
                w,
                -value * wp.sqrt(compliance_of(ctx.layout, ctx.work, b, w)),
            )
        c += 1
    d = int(0)
    while d < ctx.layout.z_size:
        put(ctx.work.W, target + d, w, get(ctx.work.dense_row, d, w))
        put(ctx.work.dense_row, d, w, real(0.0))
        d += 1


@wp.func
def project_rows(ctx: Context, w: int):
    """Project all unilateral and bounded scalar rows and all contact rows onto the null space of B, and compute their
    effective masses (M-48). A projected row with next to nothing left of its diagonal gets 0 and does not act."""
    l = int(0)
    while l < ctx.layout.scalars:
        if get(ctx.work.scalar_K, l, w) > real(0.0) and ctx.layout.scalar_bounded_kinds[l] != 0:
            target = ctx.layout.scalar_projected_start + l * ctx.layout.z_size
            scatter(
                ctx,
                ctx.layout.scalar_W_start[l],
                ctx.layout.scalar_row_length[l],
                ctx.layout.scalar_index_start[l],
                real(1.0),
                w,
            )
            project_dense_row(ctx, target, w)
            K = row_row_dot(ctx.work.W, target, target, ctx.layout.z_size, w)
            if K <= TOL_DEPENDENT * get(ctx.work.scalar_K, l, w):
                K = real(0.0)
            put(ctx.work.scalar_K_projected, l, w, K)
        l += 1
    c = int(0)
    while c < contact_count(ctx.work, w):
        j = int(0)
        while j < get_int(ctx.work.contact_row_count, c, w):
            scatter_contact_row(ctx, c, j, real(1.0), w)
            project_dense_row(
                ctx, ctx.layout.contact_projected_start + (CONTACT_IMPULSES * c + j) * ctx.layout.z_size, w
            )
            j += 1
        compute_contact_mass(ctx.layout, ctx.state, ctx.work, c, 1, w)
        c += 1


@wp.func
def scatter_contact_row(ctx: Context, c: int, row: int, factor: real, w: int):
    """Add one row of a contact, both halves, times `factor` to the dense scratch row. row: 0 to 5."""
    at = CONTACT_HALVES * c
    side = int(0)
    while side < SIDES:
        length = get_int(ctx.work.contact_halves, at + Half.LENGTH, w)
        start = get_int(ctx.work.contact_halves, at, w) + row * length
        scatter(ctx, start, length, get_int(ctx.work.contact_halves, at + Half.INDEX_START, w), factor, w)
        at += Half.SIZE
        side += 1


@wp.func
def set_velocity_offsets(ctx: Context, z: array2, w: int):
    """Set the velocity of every projected row beyond Ŵ·z, once B has its target velocities; slacks of z start at 0."""
    d = ctx.layout.dofs
    while d < ctx.layout.z_size:
        put(z, d, w, real(0.0))
        d += 1
    l = int(0)
    while l < ctx.layout.scalars:
        if get(ctx.work.scalar_K, l, w) > real(0.0) and ctx.layout.scalar_bounded_kinds[l] != 0:
            velocity = row_dot(
                ctx.work.W,
                ctx.layout.scalar_W_start[l],
                ctx.layout.scalar_row_length[l],
                ctx.layout.index,
                ctx.layout.scalar_index_start[l],
                z,
                w,
            )
            projected = row_dot(
                ctx.work.W,
                ctx.layout.scalar_projected_start + l * ctx.layout.z_size,
                ctx.layout.z_size,
                ctx.layout.index,
                ctx.layout.identity_index_start,
                z,
                w,
            )
            put(ctx.work.projected_velocity_offset, l, w, velocity - projected)
        l += 1
    c = int(0)
    while c < contact_count(ctx.work, w):
        row = int(0)
        while row < get_int(ctx.work.contact_row_count, c, w):
            at = ctx.layout.scalars + CONTACT_IMPULSES * c + row
            put(ctx.work.projected_velocity_offset, at, w, real(0.0))
            put(ctx.work.projected_velocity_offset, at + 1, w, real(0.0))
            put(ctx.work.projected_velocity_offset, at + 2, w, real(0.0))
            offset = contact_velocity(ctx, c, row, 0, z, w) - contact_velocity(ctx, c, row, 1, z, w)
            put(ctx.work.projected_velocity_offset, at, w, offset[0])
            put(ctx.work.projected_velocity_offset, at + 1, w, offset[1])
            put(ctx.work.projected_velocity_offset, at + 2, w, offset[2])
            row += BLOCK_ROWS
        c += 1


@wp.func
def lower_motor_targets(ctx: Context, l: int, change: real, w: int):
    """Change the target velocities of motors without bound so that the velocity of scalar row l changes by `change`
    (m/s or rad/s), by as little as possible: Δs̄ = x change/|x|², x the change of the row's velocity per change of each
    target (M-101). Returns 1 if motors move the row."""
    scatter(
        ctx,
        ctx.layout.scalar_W_start[l],
        ctx.layout.scalar_row_length[l],
        ctx.layout.scalar_index_start[l],
        real(1.0),
        w,
    )
    solve_bilateral_response(ctx.layout, ctx.work, w)
    d = int(0)
    while d < ctx.layout.z_size:
        put(ctx.work.dense_row, d, w, real(0.0))
        d += 1
    size2 = real(0.0)
    c = int(0)
    while c < bilateral_rank(ctx.layout, ctx.work, w):
        if ctx.layout.bilateral_kind[get_int(ctx.work.active_bilateral, c, w)] == BilateralKind.MOTOR:
            x = get(ctx.work.bilateral_x, c, w)
            size2 = size2 + x * x
        c += 1
    c = int(0)
    while c < bilateral_rank(ctx.layout, ctx.work, w) and size2 > MIN_MOTOR_RATIO2:
        b = get_int(ctx.work.active_bilateral, c, w)
        if ctx.layout.bilateral_kind[b] == BilateralKind.MOTOR:
            at = ctx.layout.bilateral_source[b]
            target = get(ctx.work.motor_velocity, at, w) + change * get(ctx.work.bilateral_x, c, w) / size2
            put(ctx.work.motor_velocity, at, w, target)
        c += 1
    return wp.where(size2 > MIN_MOTOR_RATIO2, 1, 0)


@wp.func
def driven_excess(ctx: Context, l: int, z: array2, w: int):
    """Change of the velocity of scalar row l that its limit needs, m/s or rad/s, where the bilateral rows, at velocities
    z, leave it no freedom; else 0."""
    change = real(0.0)
    if (ctx.layout.scalar_bounded_kinds[l] & RowKind.BOUND) != 0 and get(ctx.work.scalar_K, l, w) > real(0.0):
        if get(ctx.work.scalar_K_projected, l, w) == real(0.0):
            first = ctx.layout.scalar_index_start[l]
            length = ctx.layout.scalar_row_length[l]
            s = row_dot(ctx.work.W, ctx.layout.scalar_W_start[l], length, ctx.layout.index, first, z, w)
            change = wp.clamp(s, get(ctx.work.velocity_lower, l, w), get(ctx.work.velocity_upper, l, w)) - s
    return change


@wp.func
def yield_motors_to_limits(ctx: Context, x: wp.ref[Iterate], w: int):
    """Lower the targets of motors without bound where they drive a limit that the bilateral rows leave no freedom
    (M-101), and solve these again: sweeps could not hold it. x: at the present targets of the bilateral rows."""
    tries = int(0)
    while tries < MAX_MOTOR_TRIES:
        tries += 1
        worst = MIN_LIMIT_EXCESS
        at = int(-1)
        l = int(0)
        while l < ctx.layout.scalars:
            excess = wp.abs(driven_excess(ctx, l, x.z, w))
            if excess > worst:
                worst = excess
                at = l
            l += 1
        if at < 0:
            tries = MAX_MOTOR_TRIES
        elif lower_motor_targets(ctx, at, driven_excess(ctx, at, x.z, w), w) == 1:
            solve_bilateral(ctx.layout, ctx.work, x.z, x.p, 0, w)
        else:
            tries = MAX_MOTOR_TRIES


@wp.func
def update_bilateral_impulses(ctx: Context, p: array2, w: int):
    """Add to p_B the response of the bilateral rows to the change of the swept impulses since p_initial: (W_B W_Bᵀ + Γ)
    Δp_B = −W_B Σ W_uᵀ Δp_u (M-48)."""
    l = int(0)
    while l < ctx.layout.scalars:
        bounded_kinds = ctx.layout.scalar_bounded_kinds[l]
        if get(ctx.work.scalar_K, l, w) > real(0.0) and bounded_kinds != 0:
            change = real(0.0)
            j = int(0)
            while j < SCALAR_IMPULSES:
                if (bounded_kinds & (1 << j)) != 0:
                    at = ctx.layout.scalar_p_start + SCALAR_IMPULSES * l + j
                    change = change + get(p, at, w) - get(ctx.work.p_initial, at, w)
                j += 1
            scatter(
                ctx,
                ctx.layout.scalar_W_start[l],
                ctx.layout.scalar_row_length[l],
                ctx.layout.scalar_index_start[l],
                change,
                w,
            )
        l += 1
    k = int(0)
    while k < contact_count(ctx.work, w):
        row = int(0)
        while row < get_int(ctx.work.contact_row_count, k, w):
            at = ctx.layout.contact_p_start + CONTACT_IMPULSES * k + row
            scatter_contact_row(ctx, k, row, get(p, at, w) - get(ctx.work.p_initial, at, w), w)
            row += 1
        k += 1
    solve_bilateral_response(ctx.layout, ctx.work, w)
    c = int(0)
    while c < bilateral_rank(ctx.layout, ctx.work, w):
        at = ctx.layout.bilateral_p[get_int(ctx.work.active_bilateral, c, w)]
        put(p, at, w, get(p, at, w) - get(ctx.work.bilateral_x, c, w))
        c += 1
    d = int(0)
    while d < ctx.layout.z_size:
        put(ctx.work.dense_row, d, w, real(0.0))
        d += 1
