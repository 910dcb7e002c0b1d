"""Direct solution of the bilateral rows B: rank-revealing LDLᵀ within an envelope (M-46..M-48).

B are the rows of loop joints, couplings, compliant forces and motors without a bound. (W_B W_Bᵀ + Γ) p = r is factored
once a step, in an elimination order fixed by the model; a row that is linearly dependent on the rows before it is left
out: it gets no impulse.
"""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Context, Scratch, State
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.row_kinds import BilateralKind, Targets
from sharnir.impulse.rows.warn import warn_of
from sharnir.impulse.slots import JOINT_ROWS, Setting, StepWarning
from sharnir.impulse.solve.joint_tree.factor import factor_joint_tree
from sharnir.impulse.solve.joint_tree.reduction import make_sparse_row, reduce_row
from sharnir.impulse.solve.joint_tree.solution import solve_joint_tree
from sharnir.impulse.tolerances import (
    CREEP_RATIO,
    DEAD_END_RATIO,
    FOLD_RATIO,
    MIN_MOTOR_SHARE,
    MIN_PIVOT_RATIO,
    MIN_STORED_RATIO,
    PIVOT_DAMPING,
    PIVOT_RATIO_DECAY,
    PIVOT_RATIO_RESUME,
    TOL_DEPENDENT,
    TOL_MISALIGNED,
)
from sharnir.kernels.columns import get, get_int, item, put, put_int, set_item
from sharnir.kernels.types import array2, real
from sharnir.kernels.vector_ops import clear_columns, column_add, column_dot, row_add, row_dot, row_row_dot


@wp.func
def scatter(ctx: Context, start: int, length: int, first: int, factor: real, w: int):
    """Add a sparse row of W, times `factor`, to the dense scratch row."""
    row_add(ctx.work.W, start, length, ctx.layout.index, first, factor, ctx.work.dense_row, w)


@wp.func
def wipe(layout: wp.ref[Layout], work: wp.ref[Scratch], length: int, first: int, w: int):
    """Clear the dense scratch row where a sparse row has entries."""
    k = int(0)
    while k < length:
        put(work.dense_row, layout.index[first + k], w, real(0.0))
        k += 1


@wp.func
def compliance_of(layout: wp.ref[Layout], work: wp.ref[Scratch], b: int, w: int):
    """γ of compliant bilateral row b, 1/kg; 0 for a rigid one."""
    gamma = real(0.0)
    if layout.bilateral_kind[b] == BilateralKind.COMPLIANT:
        gamma = get(work.compliant_gamma, layout.bilateral_source[b], w)
    return gamma


@wp.func
def filter_pivot_ratio(ratio: real, previous: real):
    """Running pivot ratio of a row from the present one and the remembered one: the larger of the present and the
    slowly fading past, or the present one after a negative past. Negative while the row is dropped (at most
    MIN_PIVOT_RATIO), until the present ratio exceeds PIVOT_RATIO_RESUME."""
    filtered = wp.max(ratio, PIVOT_RATIO_DECAY * wp.abs(previous))
    if previous < real(0.0):
        filtered = ratio
    if filtered <= MIN_PIVOT_RATIO or (previous < real(0.0) and ratio <= PIVOT_RATIO_RESUME):
        filtered = -wp.max(filtered, MIN_STORED_RATIO)
    return filtered


@wp.func
def factor_bilateral(ctx: Context, update_history: int, w: int):
    """Factor W_B W_Bᵀ + Γ = L D Lᵀ over the independent rows (M-46, M-47): each row of L within the envelope, inverse
    pivots apart.

    Returns the smallest pivot ratio of a joint's row relative to its own past, 1 at most. update_history: 1 if the
    ratios found become the past of the steps to come.
    """
    weakest = real(1.0)
    rank = int(0)
    if ctx.layout.tree_joints > 0:
        factor_joint_tree(ctx, w)
        reduce_bilateral_rows(ctx, w)
    b = int(0)
    while b < ctx.layout.bilaterals:
        put_int(ctx.work.rank_before, b, w, rank)
        start = ctx.layout.factor_W_start[b]
        diagonal = row_row_dot(ctx.work.W, start, start, ctx.layout.factor_row_length[b], w) + compliance_of(
            ctx.layout, ctx.work, b, w
        )
        inverse = real(0.0)
        if diagonal > ctx.state.settings[Setting.MIN_ROW_K, 0]:
            pivot = eliminate_row(ctx, b, rank, diagonal, w)
            weakest = wp.min(weakest, track_pivot_ratio(ctx, b, diagonal, pivot, update_history, w))
            inverse = inverse_pivot(ctx.layout, ctx.state, b, diagonal, pivot, w)
            if ctx.layout.bilateral_kind[b] == BilateralKind.MOTOR and weakest < FOLD_RATIO:
                slow_motor(ctx, b, pivot / diagonal, w)
        if inverse > real(0.0):
            put(ctx.work.L_inverse_pivot, rank, w, inverse)
            put_int(ctx.work.active_bilateral, rank, w, b)
            left = get_int(ctx.work.rank_before, ctx.layout.envelope_first_column[b], w)
            put_int(ctx.work.L_first_column, rank, w, left)
            put_int(ctx.work.L_row_start, rank, w, ctx.layout.envelope_row_start[b] - left)
            rank += 1
        elif ctx.layout.bilateral_kind[b] == BilateralKind.MOTOR:
            put(ctx.work.motor_bound, ctx.layout.bilateral_source[b], w, real(0.0))
        if ctx.layout.bilateral_kind[b] == BilateralKind.JOINT:
            pivot_ratio = item(ctx.state.pivot_ratio, ctx.layout.bilateral_ratio[b], w)
            immobile = diagonal <= MIN_PIVOT_RATIO * ctx.layout.bilateral_free_K[b]
            dropped = pivot_ratio < real(0.0) and (immobile or pivot_ratio < -TOL_MISALIGNED)
            put(ctx.work.joint_row_dropped, ctx.layout.bilateral_source[b], w, wp.where(dropped, real(1.0), real(0.0)))
        b += 1
    put_int(ctx.work.rank_before, ctx.layout.bilaterals, w, rank)
    return weakest


@wp.func
def reduce_bilateral_rows(ctx: Context, w: int):
    """The bilateral rows beside the tree of joints, in reduced coordinates."""
    b = int(0)
    while b < ctx.layout.bilaterals:
        start = ctx.layout.factor_W_start[b]
        clear_columns(ctx.work.W, start, ctx.layout.factor_row_length[b], w)
        row = make_sparse_row(
            ctx.layout.bilateral_W_start[b], ctx.layout.bilateral_row_length[b], ctx.layout.bilateral_index_start[b]
        )
        reduce_row(ctx, row, ctx.work.W, start - ctx.layout.index[ctx.layout.factor_index_start[b]], w)
        b += 1


@wp.func
def slow_motor(ctx: Context, b: int, ratio: real, w: int):
    """Lower the target velocity of the motor without bound of row b in front of a dead end, from all of it at
    FOLD_RATIO of the pivot ratio it lately had to next to nothing at CREEP_RATIO (M-103). A motor that turns round
    leaves with a step at its full speed, which takes it out of where it creeps. ratio: its present pivot ratio."""
    remembered = item(ctx.state.pivot_ratio, ctx.layout.bilateral_ratio[b], w)
    l = ctx.layout.bilateral_source[b]
    target = get(ctx.work.motor_velocity, l, w)
    turns_round = target * item(ctx.state.scalar_velocity, l, w) < real(-0.5) * MIN_MOTOR_SHARE * target * target
    if remembered > real(0.0) and ratio < FOLD_RATIO * remembered and not turns_round:
        share = wp.max((ratio / remembered - CREEP_RATIO) / (FOLD_RATIO - CREEP_RATIO), MIN_MOTOR_SHARE)
        put(ctx.work.motor_velocity, l, w, share * target)
        warn_of(ctx.state, StepWarning.MOTOR_SLOWED, w)


@wp.func
def eliminate_row(ctx: Context, b: int, rank: int, diagonal: real, w: int):
    """Compute the row of L that bilateral row b has after the `rank` active rows before it, and return its pivot.
    diagonal: its entry of W_B W_Bᵀ + Γ, 1/kg."""
    left = get_int(ctx.work.rank_before, ctx.layout.envelope_first_column[b], w)
    at = ctx.layout.envelope_row_start[b] - left
    c = int(left)
    while c < rank:
        put(ctx.work.L, at + c, w, real(0.0))
        c += 1
    length = ctx.layout.factor_row_length[b]
    first = ctx.layout.factor_index_start[b]
    scatter(ctx, ctx.layout.factor_W_start[b], length, first, real(1.0), w)
    n = ctx.layout.coupled_row_start[b]
    while n < ctx.layout.coupled_row_start[b + 1]:
        j = ctx.layout.coupled_rows[n]
        c = get_int(ctx.work.rank_before, j, w)
        if get_int(ctx.work.rank_before, j + 1, w) > c:
            value = row_dot(
                ctx.work.W,
                ctx.layout.factor_W_start[j],
                ctx.layout.factor_row_length[j],
                ctx.layout.index,
                ctx.layout.factor_index_start[j],
                ctx.work.dense_row,
                w,
            )
            put(ctx.work.L, at + c, w, value)
        n += 1
    wipe(ctx.layout, ctx.work, length, first, w)
    c = int(left)
    while c < rank:
        overlap = wp.max(left, get_int(ctx.work.L_first_column, c, w))
        product = column_dot(
            ctx.work.L, at + overlap, ctx.work.L, get_int(ctx.work.L_row_start, c, w) + overlap, c - overlap, w
        )
        put(ctx.work.L, at + c, w, get(ctx.work.L, at + c, w) - product)
        c += 1
    pivot = diagonal
    c = int(left)
    while c < rank:
        entry = get(ctx.work.L, at + c, w)
        scaled = entry * get(ctx.work.L_inverse_pivot, c, w)
        pivot = pivot - entry * scaled
        put(ctx.work.L, at + c, w, scaled)
        c += 1
    return pivot


@wp.func
def track_pivot_ratio(ctx: Context, b: int, diagonal: real, pivot: real, update_history: int, w: int):
    """Pivot ratio of row b relative to its remembered one; 1 for rows that are not a joint's. The ratio is the pivot
    over the diagonal the row would have between free bodies. With `update_history` the remembered ratio is updated."""
    free_diagonal = ctx.layout.bilateral_free_K[b]
    if ctx.layout.bilateral_kind[b] == BilateralKind.MOTOR:
        free_diagonal = diagonal
    relative = real(1.0)
    if free_diagonal > real(0.0):
        ratio = wp.max(pivot, real(0.0)) / free_diagonal
        if update_history == 1:
            previous = item(ctx.state.pivot_ratio, ctx.layout.bilateral_ratio[b], w)
            if previous <= real(0.0) or ratio >= FOLD_RATIO * previous:  # near a fold nothing is forgotten
                set_item(ctx.state.pivot_ratio, ctx.layout.bilateral_ratio[b], w, filter_pivot_ratio(ratio, previous))
        remembered = item(ctx.state.pivot_ratio, ctx.layout.bilateral_ratio[b], w)
        if remembered > MIN_PIVOT_RATIO and ctx.layout.bilateral_kind[b] == BilateralKind.JOINT:
            relative = ratio / remembered
    return relative


@wp.func
def inverse_pivot(layout: wp.ref[Layout], state: wp.ref[State], b: int, diagonal: real, pivot: real, w: int):
    """1/pivot of a row that acts, else 0 (M-47).

    A joint's row whose running pivot ratio is at most MIN_PIVOT_RATIO gets no impulse: a planar linkage whose axes are
    a little off keeps moving, and its errors are reported. A motor without bound is dropped where loops run into a dead
    end. In maximal coordinates a row whose pivot falls far below its past, as at a fold, is regularised: pivot/(pivot²
    + ε²).
    """
    pivot_ratio = real(1.0)
    min_pivot = TOL_DEPENDENT * diagonal
    regularisation = real(0.0)
    if layout.bilateral_kind[b] == BilateralKind.MOTOR:
        pivot_ratio = wp.max(item(state.pivot_ratio, layout.bilateral_ratio[b], w), real(0.0))
        min_pivot = wp.max(min_pivot, DEAD_END_RATIO * pivot_ratio * diagonal)
    elif layout.bilateral_free_K[b] > real(0.0):
        pivot_ratio = wp.max(item(state.pivot_ratio, layout.bilateral_ratio[b], w), real(0.0))
        regularisation = real(layout.is_maximal) * PIVOT_DAMPING * pivot_ratio * layout.bilateral_free_K[b]
    inverse = real(0.0)
    if pivot > min_pivot and pivot_ratio > MIN_PIVOT_RATIO:
        inverse = pivot / (pivot * pivot + regularisation * regularisation)
    return inverse


@wp.func
def bilateral_rank(layout: wp.ref[Layout], work: wp.ref[Scratch], w: int):
    """Rank of B: number of bilateral rows that act."""
    return get_int(work.rank_before, layout.bilaterals, w)


@wp.func
def solve_ldl(layout: wp.ref[Layout], work: wp.ref[Scratch], w: int):
    """x ← (W_B W_Bᵀ + Γ)⁻¹ x over the rows that act, by the LDLᵀ factors."""
    rank = bilateral_rank(layout, work, w)
    c = int(0)
    while c < rank:
        left = get_int(work.L_first_column, c, w)
        product = column_dot(work.L, get_int(work.L_row_start, c, w) + left, work.bilateral_x, left, c - left, w)
        put(work.bilateral_x, c, w, get(work.bilateral_x, c, w) - product)
        c += 1
    c = int(0)
    while c < rank:
        put(work.bilateral_x, c, w, get(work.bilateral_x, c, w) * get(work.L_inverse_pivot, c, w))
        c += 1
    c = rank - 1
    while c > 0:
        left = get_int(work.L_first_column, c, w)
        column_add(
            work.L,
            get_int(work.L_row_start, c, w) + left,
            -get(work.bilateral_x, c, w),
            work.bilateral_x,
            left,
            c - left,
            w,
        )
        c -= 1


@wp.func
def bilateral_error(ctx: Context, b: int, targets: int, z: array2, p: array2, w: int):
    """What the velocity W z of bilateral row b (and γ p of a compliant row) is short of by the `Targets`."""
    kind = ctx.layout.bilateral_kind[b]
    source = ctx.layout.bilateral_source[b]
    error = -row_dot(
        ctx.work.W,
        ctx.layout.bilateral_W_start[b],
        ctx.layout.bilateral_row_length[b],
        ctx.layout.index,
        ctx.layout.bilateral_index_start[b],
        z,
        w,
    )
    if kind == BilateralKind.COMPLIANT:
        error = error - get(ctx.work.compliant_gamma, source, w) * get(p, ctx.layout.bilateral_p[b], w)
        if targets == Targets.VELOCITIES:
            error = error + get(ctx.work.compliant_velocity, source, w)
    elif kind == BilateralKind.MOTOR:
        if targets != Targets.POSITIONS:
            error = error + get(ctx.work.motor_velocity, source, w)
    elif targets != Targets.IMPACT:
        if kind == BilateralKind.JOINT:
            error = error + get(ctx.work.joint_target, source, w)
        else:
            error = error + get(ctx.work.velocity_lower, source, w)
    return error


@wp.func
def solve_bilateral(ctx: Context, z: array2, p: array2, targets: int, w: int):
    """Solve all bilateral rows directly for their `Targets`: p += Δp, z += W_Bᵀ Δp (M-46), those of the tree of joints
    along it, before and after the others (M-115)."""
    if ctx.layout.tree_joints > 0:
        solve_joint_tree(ctx, z, p, targets, w)
    rank = bilateral_rank(ctx.layout, ctx.work, w)
    c = int(0)
    while c < rank:
        b = get_int(ctx.work.active_bilateral, c, w)
        put(ctx.work.bilateral_x, c, w, bilateral_error(ctx, b, targets, z, p, w))
        c += 1
    solve_ldl(ctx.layout, ctx.work, w)
    c = int(0)
    while c < rank:
        b = get_int(ctx.work.active_bilateral, c, w)
        value = get(ctx.work.bilateral_x, c, w)
        row_add(
            ctx.work.W,
            ctx.layout.bilateral_W_start[b],
            ctx.layout.bilateral_row_length[b],
            ctx.layout.index,
            ctx.layout.bilateral_index_start[b],
            value,
            z,
            w,
        )
        put(p, ctx.layout.bilateral_p[b], w, get(p, ctx.layout.bilateral_p[b], w) + value)
        c += 1
    if ctx.layout.tree_joints > 0 and rank > 0:
        solve_joint_tree(ctx, z, p, targets, w)


@wp.func
def bilateral_residual(ctx: Context, z: array2, p: array2, w: int):
    """Largest residual of a bilateral row as an impulse: |velocity error| over the row's own diagonal, N s."""
    worst = tree_residual(ctx, z, w)
    c = int(0)
    while c < bilateral_rank(ctx.layout, ctx.work, w):
        b = get_int(ctx.work.active_bilateral, c, w)
        start = ctx.layout.bilateral_W_start[b]
        diagonal = row_row_dot(ctx.work.W, start, start, ctx.layout.bilateral_row_length[b], w)
        diagonal = diagonal + compliance_of(ctx.layout, ctx.work, b, w)
        error = bilateral_error(ctx, b, int(Targets.VELOCITIES), z, p, w)
        worst = wp.max(worst, wp.abs(error) / diagonal)
        c += 1
    return worst


@wp.func
def tree_residual(ctx: Context, z: array2, w: int):
    """The same of the joints of the tree."""
    worst = real(0.0)
    t = int(0)
    while t < ctx.layout.tree_joints:
        k = ctx.layout.tree_joint[t]
        length = ctx.layout.joint_row_length[k]
        j = int(0)
        while j < ctx.layout.tree_rows[t]:
            r = JOINT_ROWS * k + j
            start = ctx.layout.joint_W_start[k] + j * length
            s = row_dot(ctx.work.W, start, length, ctx.layout.index, ctx.layout.joint_index_start[k], z, w)
            worst = wp.max(worst, wp.abs(get(ctx.work.joint_target, r, w) - s) * get(ctx.work.joint_mass, r, w))
            j += 1
        t += 1
    return worst
