"""Unilateral and bounded rows projected onto the null space of the bilateral rows B: Ŵ_u = W_u − W_u W_Bᵀ (W_B W_Bᵀ +
Γ)⁻¹ W_B (M-48).

Sweeping Ŵ_u leaves the velocities of B unchanged; the impulses of B follow once at the end.
"""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Context, Iterate, Scratch, make_iterate
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.row_kinds import CONTACT_IMPULSES, SCALAR_IMPULSES, BilateralKind, RowKind, Targets
from sharnir.impulse.rows.contact_frame import (
    apply_contact_impulse,
    contact_count,
    contact_velocity,
    halves_of,
)
from sharnir.impulse.rows.contact_mass import compute_contact_mass
from sharnir.impulse.slots import BLOCK_ROWS, SIDES, Half
from sharnir.impulse.solve.bilateral_ldl import bilateral_rank, compliance_of, scatter, solve_bilateral, solve_ldl
from sharnir.impulse.solve.joint_tree.reduction import SparseRow, make_sparse_row, reduce_contact_rows, reduce_row
from sharnir.impulse.solve.pgs_sweep import takes_part
from sharnir.impulse.tolerances import TOL_DEPENDENT
from sharnir.kernels.columns import get, get_int, put, put_int
from sharnir.kernels.types import array2, real, vec3
from sharnir.kernels.vector_ops import clear, clear_columns, move_and_clear, row_add, row_dot, row_row_dot

MAX_MOTOR_TRIES = 8  # limits to which motors may yield in a solution, one after the other
MIN_LIMIT_EXCESS = wp.constant(real(1.0e-9))  # m/s or rad/s, by which motors may drive a limit
MIN_MOTOR_RATIO2 = wp.constant(
    real(1.0e-6)
)  # squared velocity of a row per velocity of motors: below, they do not drive it


@wp.func
def scatter_row(ctx: Context, row: SparseRow, w: int):
    """Add a row of W to the dense scratch row, in reduced coordinates where a tree of joints is eliminated."""
    if ctx.layout.tree_joints > 0:
        reduce_row(ctx, row, ctx.work.dense_row, 0, w)
    else:
        scatter(ctx, row.start, row.length, row.first, real(1.0), w)


@wp.func
def scatter_scalar_row(ctx: Context, l: int, w: int):
    """Add scalar row l to the dense scratch row."""
    start = ctx.layout.scalar_W_start[l]
    scatter_row(ctx, make_sparse_row(start, ctx.layout.scalar_row_length[l], ctx.layout.scalar_index_start[l]), w)


@wp.func
def scatter_contact_row(ctx: Context, c: int, row: int, w: int):
    """Add one row of a contact, both halves, to the dense scratch row. row: 0 to 5."""
    at = halves_of(ctx.layout, c, 0)
    side = int(0)
    while side < SIDES:
        length = get_int(ctx.work.contact_halves, at + Half.LENGTH, w)
        start = get_int(ctx.work.contact_halves, at, w) + row * length
        first = get_int(ctx.work.contact_halves, at + Half.INDEX_START, w)
        scatter_row(ctx, make_sparse_row(start, length, first), w)
        at += Half.SIZE
        side += 1


@wp.func
def solve_bilateral_response(ctx: Context, w: int):
    """x ← (W_B W_Bᵀ + Γ)⁻¹ W_B d for the dense scratch row d: impulses of B, without the tree of joints, that cancel
    what d does to B, but for the sign."""
    c = int(0)
    while c < bilateral_rank(ctx.layout, ctx.work, w):
        b = get_int(ctx.work.active_bilateral, c, w)
        value = row_dot(
            ctx.work.W,
            ctx.layout.factor_W_start[b],
            ctx.layout.factor_row_length[b],
            ctx.layout.index,
            ctx.layout.factor_index_start[b],
            ctx.work.dense_row,
            w,
        )
        put(ctx.work.bilateral_x, c, w, value)
        c += 1
    solve_ldl(ctx.layout, ctx.work, w)


@wp.func
def project_dense_row(ctx: Context, w: int):
    """Project the row in the dense scratch, in place: dense over the reduced coordinates of its component."""
    if bilateral_rank(ctx.layout, ctx.work, w) > 0:
        solve_bilateral_response(ctx, w)
    c = int(0)
    while c < bilateral_rank(ctx.layout, ctx.work, w):
        b = get_int(ctx.work.active_bilateral, c, w)
        value = get(ctx.work.bilateral_x, c, w)
        scatter(
            ctx,
            ctx.layout.factor_W_start[b],
            ctx.layout.factor_row_length[b],
            ctx.layout.factor_index_start[b],
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


@wp.func
def project_rows(ctx: Context, w: int):
    """Project all unilateral and bounded scalar rows and all contact rows onto the null space of B, and compute their
    effective masses (M-48). A projected row with next to nothing left of its diagonal gets 0 and does not act."""
    l = int(0)
    while l < ctx.layout.scalars:
        K = real(0.0)
        if takes_part(ctx.layout, ctx.work, l, 1, w):
            scatter_scalar_row(ctx, l, w)
            project_dense_row(ctx, w)
            first = ctx.layout.scalar_component_first[l]
            size = ctx.layout.scalar_component_size[l]
            start = ctx.layout.scalar_projected_start + l * ctx.layout.reduced_size + first
            move_and_clear(ctx.work.dense_row, first, ctx.work.W, start, size, w)
            K = row_row_dot(ctx.work.W, start, start, size, w)
            if K <= TOL_DEPENDENT * get(ctx.work.scalar_K, l, w):
                K = real(0.0)
        put(ctx.work.scalar_K_projected, l, w, K)
        l += 1
    c = int(0)
    while c < contact_count(ctx.work, w):
        place_projected_rows(ctx.layout, ctx.work, c, w)
        count = get_int(ctx.work.contact_row_count, c, w)
        j = int(0)
        if ctx.layout.tree_joints > 0 and bilateral_rank(ctx.layout, ctx.work, w) == 0:
            clear_projected_rows(ctx.layout, ctx.work, c, w)
            reduce_contact_rows(ctx, halves_of(ctx.layout, c, 0), halves_of(ctx.layout, c, 1), count, w)
            j = count
        while j < count:
            scatter_contact_row(ctx, c, j, w)
            project_dense_row(ctx, w)
            at = halves_of(ctx.layout, c, 1)
            side = int(0)
            while side < SIDES:
                length = get_int(ctx.work.contact_halves, at + Half.LENGTH, w)
                start = get_int(ctx.work.contact_halves, at, w) + j * length
                first = ctx.layout.index[get_int(ctx.work.contact_halves, at + Half.INDEX_START, w)]
                move_and_clear(ctx.work.dense_row, first, ctx.work.W, start, length, w)
                at += Half.SIZE
                side += 1
            j += 1
        compute_contact_mass(ctx.layout, ctx.state, ctx.work, c, 1, w)
        c += 1


@wp.func
def place_projected_rows(layout: wp.ref[Layout], work: wp.ref[Scratch], c: int, w: int):
    """Halves of the projected rows of contact c: dense over the components of its two bodies; none on the second side
    where that is the same component, or the world."""
    at = halves_of(layout, c, 1)
    start = layout.contact_projected_start + CONTACT_IMPULSES * layout.reduced_size * c
    seen = int(-1)
    side = int(0)
    while side < SIDES:
        link = get_int(work.contact_trees, SIDES * c + side, w)
        first = int(0)
        length = int(0)
        if link >= 0:
            if layout.link_component_first[link] != seen:
                first = layout.link_component_first[link]
                length = layout.link_component_size[link]
                seen = first
        put_int(work.contact_halves, at, w, start)
        put_int(work.contact_halves, at + Half.LENGTH, w, length)
        put_int(work.contact_halves, at + Half.INDEX_START, w, layout.identity_index_start + first)
        start += get_int(work.contact_row_count, c, w) * length
        at += Half.SIZE
        side += 1


@wp.func
def clear_projected_rows(layout: wp.ref[Layout], work: wp.ref[Scratch], c: int, w: int):
    """Zero the projected rows of contact c, which follow each other."""
    at = halves_of(layout, c, 1)
    length = get_int(work.contact_halves, at + Half.LENGTH, w)
    length = length + get_int(work.contact_halves, at + Half.SIZE + Half.LENGTH, w)
    clear_columns(work.W, get_int(work.contact_halves, at, w), get_int(work.contact_row_count, c, w) * length, w)


@wp.func
def set_velocity_offsets(ctx: Context, z: array2, w: int):
    """Set the velocity of every projected row once B has its target velocities, at the whitened velocities z: where the
    reduced velocities of sweeps are 0."""
    l = int(0)
    while l < ctx.layout.scalars:
        if get(ctx.work.scalar_K_projected, l, w) > real(0.0):
            velocity = row_dot(
                ctx.work.W,
                ctx.layout.scalar_W_start[l],
                ctx.layout.scalar_row_length[l],
                ctx.layout.index,
                ctx.layout.scalar_index_start[l],
                z,
                w,
            )
            put(ctx.work.projected_velocity_offset, l, w, velocity)
        l += 1
    c = int(0)
    while c < contact_count(ctx.work, w):
        row = int(0)
        while row < get_int(ctx.work.contact_row_count, c, w):
            at = ctx.layout.scalars + CONTACT_IMPULSES * c + row
            offset = contact_velocity(ctx, c, row, 0, z, w)
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
    scatter_scalar_row(ctx, l, w)
    solve_bilateral_response(ctx, w)
    clear(ctx.work.dense_row, ctx.layout.reduced_size, w)
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
    """Change of the velocity of scalar row l that its limit needs, m/s or rad/s, where the bilateral rows, at
    velocities z, leave it no freedom; else 0."""
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
            solve_bilateral(ctx, x.z, x.p, int(Targets.VELOCITIES), w)
        else:
            tries = MAX_MOTOR_TRIES


@wp.func
def apply_swept_impulses(ctx: Context, z: array2, p: array2, targets: int, w: int):
    """After sweeps over projected rows: z += W_uᵀ Δp_u, Δp_u the change of the swept impulses since p_initial (since 0
    of pseudo-impulses), and the bilateral rows solved again: their response (M-48)."""
    since = wp.where(targets == Targets.POSITIONS, real(0.0), real(1.0))
    l = int(0)
    while l < ctx.layout.scalars:
        bounded_kinds = ctx.layout.scalar_bounded_kinds[l]
        if get(ctx.work.scalar_K_projected, l, w) > real(0.0):
            change = real(0.0)
            j = int(0)
            while j < SCALAR_IMPULSES:
                if (bounded_kinds & (1 << j)) != 0:
                    at = ctx.layout.scalar_p_start + SCALAR_IMPULSES * l + j
                    change = change + get(p, at, w) - since * get(ctx.work.p_initial, at, w)
                j += 1
            row_add(
                ctx.work.W,
                ctx.layout.scalar_W_start[l],
                ctx.layout.scalar_row_length[l],
                ctx.layout.index,
                ctx.layout.scalar_index_start[l],
                change,
                z,
                w,
            )
        l += 1
    x = make_iterate(z, p, 0)
    c = int(0)
    while c < contact_count(ctx.work, w):
        row = int(0)
        while row < get_int(ctx.work.contact_row_count, c, w):
            at = ctx.layout.contact_p_start + CONTACT_IMPULSES * c + row
            change3 = vec3(
                get(p, at, w) - since * get(ctx.work.p_initial, at, w),
                get(p, at + 1, w) - since * get(ctx.work.p_initial, at + 1, w),
                get(p, at + 2, w) - since * get(ctx.work.p_initial, at + 2, w),
            )
            apply_contact_impulse(ctx, c, row, change3, x, w)
            row += BLOCK_ROWS
        c += 1
    solve_bilateral(ctx, z, p, targets, w)
