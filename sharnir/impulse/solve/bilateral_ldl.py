"""Direct solution of the rows that bind both ways: LDLᵀ within an envelope, rank-revealing (M-46..M-48).

The rows B are those of loop joints, couplings, soft forces and motors without a bound. (W_B W_Bᵀ + Γ) p = r is factored
once a step, in an order fixed by the model; a row that the rows before it imply does not act: it gets no impulse.
"""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Scratch, State
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.row_kinds import BOUND_ROW, COMPLIANT_ROW, JOINT_ROW, MOTOR_ROW
from sharnir.impulse.tolerances import (
    DEAD_END_RATIO,
    MIN_PIVOT_RATIO,
    MIN_ROW_K,
    MIN_STORED_RATIO,
    PIVOT_DAMPING,
    PIVOT_RATIO_DECAY,
    PIVOT_RATIO_RESUME,
    TOL_DEPENDENT,
    TOL_MISALIGNED,
)
from sharnir.kernels.columns import get, get_int, item, put, put_int, set_item
from sharnir.kernels.types import array2, real
from sharnir.kernels.vector_ops import column_add, column_dot, row_add, row_dot, row_row_dot


@wp.func
def scatter(plan: Layout, work: Scratch, start: int, length: int, first: int, factor: real, w: int):
    """Add a row to the dense scratch."""
    row_add(work.W, start, length, plan.index, first, factor, work.dense_row, w)


@wp.func
def wipe(plan: Layout, work: Scratch, length: int, first: int, w: int):
    """Clear the dense scratch where a row has entries."""
    k = int(0)
    while k < length:
        put(work.dense_row, plan.index[first + k], w, real(0.0))
        k += 1


@wp.func
def compliance_of(plan: Layout, work: Scratch, b: int, w: int):
    """γ of a soft row, else 0."""
    gamma = real(0.0)
    if plan.bilateral_kind[b] == COMPLIANT_ROW:
        gamma = get(work.compliant_gamma, plan.bilateral_source[b], w)
    return gamma


@wp.func
def filter_pivot_ratio(ratio: real, previous: real):
    """How firmly a row is held, fading slowly; negative while it is too loose to count, until it is clearly firm."""
    filtered = wp.max(ratio, PIVOT_RATIO_DECAY * wp.abs(previous))
    if previous < real(0.0):
        filtered = ratio
    if filtered <= MIN_PIVOT_RATIO or (previous < real(0.0) and ratio <= PIVOT_RATIO_RESUME):
        filtered = -wp.max(filtered, MIN_STORED_RATIO)
    return filtered


@wp.func
def factor_bilateral(plan: Layout, state: State, work: Scratch, update_history: int, w: int):
    """LDLᵀ of W_B W_Bᵀ + Γ over the rows that act: each row of L within the envelope, inverse pivots apart.

    Returns how weak the weakest joint is against its own past; learn: this is the past of the steps to come.
    """
    weakest = real(1.0)
    rank = int(0)
    b = int(0)
    while b < plan.bilaterals:
        put_int(work.rank_before, b, w, rank)
        start = plan.bilateral_W_start[b]
        diagonal = row_row_dot(work.W, start, start, plan.bilateral_row_length[b], w) + compliance_of(plan, work, b, w)
        inverse = real(0.0)
        if diagonal > MIN_ROW_K:
            pivot = eliminate_row(plan, work, b, rank, diagonal, w)
            weakest = wp.min(weakest, track_pivot_ratio(plan, state, b, diagonal, pivot, update_history, w))
            inverse = inverse_pivot(plan, state, b, diagonal, pivot, w)
        if inverse > real(0.0):
            put(work.L_inverse_pivot, rank, w, inverse)
            put_int(work.active_bilateral, rank, w, b)
            left = get_int(work.rank_before, plan.envelope_first_column[b], w)
            put_int(work.L_first_column, rank, w, left)
            put_int(work.L_row_start, rank, w, plan.envelope_row_start[b] - left)
            rank += 1
        elif plan.bilateral_kind[b] == MOTOR_ROW:
            put(work.motor_bound, plan.bilateral_source[b], w, real(0.0))
        if plan.bilateral_kind[b] == JOINT_ROW:
            pivot_ratio = item(state.pivot_ratio, b, w)
            immobile = diagonal <= MIN_PIVOT_RATIO * plan.bilateral_free_K[b]
            dropped = pivot_ratio < real(0.0) and (immobile or pivot_ratio < -TOL_MISALIGNED)
            put(work.joint_row_dropped, plan.bilateral_source[b], w, wp.where(dropped, real(1.0), real(0.0)))
        b += 1
    put_int(work.rank_before, plan.bilaterals, w, rank)
    return weakest


@wp.func
def eliminate_row(plan: Layout, work: Scratch, b: int, rank: int, diagonal: real, w: int):
    """Row of L that b would have among the `rank` rows acting before it; returns its pivot."""
    left = get_int(work.rank_before, plan.envelope_first_column[b], w)
    at = plan.envelope_row_start[b] - left
    c = int(left)
    while c < rank:
        put(work.L, at + c, w, real(0.0))
        c += 1
    length = plan.bilateral_row_length[b]
    first = plan.bilateral_index_start[b]
    scatter(plan, work, plan.bilateral_W_start[b], length, first, real(1.0), w)
    n = plan.coupled_row_start[b]
    while n < plan.coupled_row_start[b + 1]:
        j = plan.coupled_rows[n]
        c = get_int(work.rank_before, j, w)
        if get_int(work.rank_before, j + 1, w) > c:
            value = row_dot(
                work.W,
                plan.bilateral_W_start[j],
                plan.bilateral_row_length[j],
                plan.index,
                plan.bilateral_index_start[j],
                work.dense_row,
                w,
            )
            put(work.L, at + c, w, value)
        n += 1
    wipe(plan, work, length, first, w)
    c = int(left)
    while c < rank:
        overlap = wp.max(left, get_int(work.L_first_column, c, w))
        product = column_dot(work.L, at + overlap, work.L, get_int(work.L_row_start, c, w) + overlap, c - overlap, w)
        put(work.L, at + c, w, get(work.L, at + c, w) - product)
        c += 1
    pivot = diagonal
    c = int(left)
    while c < rank:
        entry = get(work.L, at + c, w)
        scaled = entry * get(work.L_inverse_pivot, c, w)
        pivot = pivot - entry * scaled
        put(work.L, at + c, w, scaled)
        c += 1
    return pivot


@wp.func
def track_pivot_ratio(plan: Layout, state: State, b: int, diagonal: real, pivot: real, update_history: int, w: int):
    """How weakly row b is held against its own past, 1 for what is no joint's; with `learn` the past takes note."""
    free_diagonal = plan.bilateral_free_K[b]
    if plan.bilateral_kind[b] == MOTOR_ROW:
        free_diagonal = diagonal
    relative = real(1.0)
    if free_diagonal > real(0.0):
        ratio = wp.max(pivot, real(0.0)) / free_diagonal
        if update_history == 1:
            set_item(state.pivot_ratio, b, w, filter_pivot_ratio(ratio, item(state.pivot_ratio, b, w)))
        remembered = item(state.pivot_ratio, b, w)
        if remembered > MIN_PIVOT_RATIO and plan.bilateral_kind[b] == JOINT_ROW:
            relative = ratio / remembered
    return relative


@wp.func
def inverse_pivot(plan: Layout, state: State, b: int, diagonal: real, pivot: real, w: int):
    """1/pivot of a row that acts, else 0.

    A row of a joint that has long been held by others but for less than LOOSE of its weight gets no impulse: a planar
    linkage whose axes are a little off keeps moving, and its errors are reported. A motor without bound gives up where
    loops run into a dead end. In maximal coordinates a row that is held less than ever, as at a fold, gives way.
    """
    pivot_ratio = real(1.0)
    min_pivot = TOL_DEPENDENT * diagonal
    regularisation = real(0.0)
    if plan.bilateral_kind[b] == MOTOR_ROW:
        pivot_ratio = wp.max(item(state.pivot_ratio, b, w), real(0.0))
        min_pivot = wp.max(min_pivot, DEAD_END_RATIO * pivot_ratio * diagonal)
    elif plan.bilateral_free_K[b] > real(0.0):
        pivot_ratio = wp.max(item(state.pivot_ratio, b, w), real(0.0))
        regularisation = real(plan.is_maximal) * PIVOT_DAMPING * pivot_ratio * plan.bilateral_free_K[b]
    inverse = real(0.0)
    if pivot > min_pivot and pivot_ratio > MIN_PIVOT_RATIO:
        inverse = pivot / (pivot * pivot + regularisation * regularisation)
    return inverse


@wp.func
def bilateral_rank(plan: Layout, work: Scratch, w: int):
    """How many rows of B act."""
    return get_int(work.rank_before, plan.bilaterals, w)


@wp.func
def solve_ldl(plan: Layout, work: Scratch, w: int):
    """x ← (W_B W_Bᵀ + Γ)⁻¹ x, over the rows that act."""
    rank = bilateral_rank(plan, work, w)
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
def bilateral_velocity_error(plan: Layout, work: Scratch, b: int, z: array2, p: array2, w: int):
    """What a bound row's speed lacks."""
    kind = plan.bilateral_kind[b]
    source = plan.bilateral_source[b]
    target = real(0.0)
    if kind == JOINT_ROW:
        target = get(work.joint_target, source, w)
    elif kind == BOUND_ROW:
        target = get(work.velocity_lower, source, w)
    elif kind == MOTOR_ROW:
        target = get(work.motor_velocity, source, w)
    else:
        target = get(work.compliant_velocity, source, w) - get(work.compliant_gamma, source, w) * get(
            p, plan.bilateral_p[b], w
        )
    s = row_dot(
        work.W, plan.bilateral_W_start[b], plan.bilateral_row_length[b], plan.index, plan.bilateral_index_start[b], z, w
    )
    return target - s


@wp.func
def solve_bilateral(plan: Layout, work: Scratch, z: array2, p: array2, positions_only: int, w: int):
    """Give all bound rows the speeds sought; positions: only joints and equalities, the others hold no position."""
    rank = bilateral_rank(plan, work, w)
    c = int(0)
    while c < rank:
        b = get_int(work.active_bilateral, c, w)
        error = real(0.0)
        if positions_only == 0 or plan.bilateral_kind[b] < MOTOR_ROW:
            error = bilateral_velocity_error(plan, work, b, z, p, w)
        put(work.bilateral_x, c, w, error)
        c += 1
    solve_ldl(plan, work, w)
    c = int(0)
    while c < rank:
        b = get_int(work.active_bilateral, c, w)
        value = get(work.bilateral_x, c, w)
        row_add(
            work.W,
            plan.bilateral_W_start[b],
            plan.bilateral_row_length[b],
            plan.index,
            plan.bilateral_index_start[b],
            value,
            z,
            w,
        )
        put(p, plan.bilateral_p[b], w, get(p, plan.bilateral_p[b], w) + value)
        c += 1


@wp.func
def bilateral_residual(plan: Layout, work: Scratch, z: array2, p: array2, w: int):
    """The largest impulse that bound rows, each by itself, still lack."""
    worst = real(0.0)
    c = int(0)
    while c < bilateral_rank(plan, work, w):
        b = get_int(work.active_bilateral, c, w)
        start = plan.bilateral_W_start[b]
        diagonal = row_row_dot(work.W, start, start, plan.bilateral_row_length[b], w) + compliance_of(plan, work, b, w)
        worst = wp.max(worst, wp.abs(bilateral_velocity_error(plan, work, b, z, p, w)) / diagonal)
        c += 1
    return worst
