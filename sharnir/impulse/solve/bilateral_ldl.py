"""Direct solution of the rows that bind both ways: LDLᵀ within an envelope, rank-revealing (M-46..M-48).

The rows B are those of loop joints, couplings, soft forces and motors without a bound. (W_B W_Bᵀ + Γ) p = r is factored
once a step, in an order fixed by the model; a row that the rows before it imply does not act: it gets no impulse.
"""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import State, Work
from sharnir.impulse.layout.layout import Plan
from sharnir.impulse.row_kinds import ACT_HOLD, ACT_MOTOR, ACT_SOFT, OF_JOINT
from sharnir.impulse.tolerances import ASKEW, DEPENDENT, FIRM_AGAIN, HOPELESS, LOOSE, MEMORY, NOTHING, VAGUE, WEAK
from sharnir.kernels.columns import get, get_int, item, put, put_int, set_item
from sharnir.kernels.types import array2, real
from sharnir.kernels.vector_ops import column_add, column_dot, row_add, row_dot, row_product


@wp.func
def scatter(plan: Plan, work: Work, start: int, length: int, first: int, factor: real, w: int):
    """Add a row to the dense scratch."""
    row_add(work.W, start, length, plan.index, first, factor, work.dense, w)


@wp.func
def wipe(plan: Plan, work: Work, length: int, first: int, w: int):
    """Clear the dense scratch where a row has entries."""
    k = int(0)
    while k < length:
        put(work.dense, plan.index[first + k], w, real(0.0))
        k += 1


@wp.func
def give_of(plan: Plan, work: Work, b: int, w: int):
    """γ of a soft row, else 0."""
    give = real(0.0)
    if plan.bind_act[b] == ACT_SOFT:
        give = get(work.soft_give, plan.bind_of[b], w)
    return give


@wp.func
def firmness(now: real, before: real):
    """How firmly a row is held, fading slowly; negative while it is too loose to count, until it is clearly firm."""
    firm = wp.max(now, MEMORY * wp.abs(before))
    if before < real(0.0):
        firm = now
    if firm <= LOOSE or (before < real(0.0) and now <= FIRM_AGAIN):
        firm = -wp.max(firm, VAGUE)
    return firm


@wp.func
def factor_bound(plan: Plan, state: State, work: Work, learn: int, w: int):
    """LDLᵀ of W_B W_Bᵀ + Γ over the rows that act: each row of L within the envelope, inverse pivots apart.

    Returns how weak the weakest joint is against its own past; learn: this is the past of the steps to come.
    """
    weakest = real(1.0)
    rank = int(0)
    b = int(0)
    while b < plan.bound:
        put_int(work.before, b, w, rank)
        start = plan.bind_start[b]
        weight = row_product(work.W, start, start, plan.bind_length[b], w) + give_of(plan, work, b, w)
        inverse = real(0.0)
        if weight > NOTHING:
            pivot = eliminate(plan, work, b, rank, weight, w)
            weakest = wp.min(weakest, weakness(plan, state, b, weight, pivot, learn, w))
            inverse = inverse_pivot(plan, state, b, weight, pivot, w)
        if inverse > real(0.0):
            put(work.pivot, rank, w, inverse)
            put_int(work.acting, rank, w, b)
            left = get_int(work.before, plan.envelope_left[b], w)
            put_int(work.L_left, rank, w, left)
            put_int(work.L_start, rank, w, plan.envelope_start[b] - left)
            rank += 1
        elif plan.bind_act[b] == ACT_MOTOR:
            put(work.motor_bound, plan.bind_of[b], w, real(0.0))
        if plan.bind_act[b] == OF_JOINT:
            firm = item(state.firm, b, w)
            immobile = weight <= LOOSE * plan.bind_weight[b]
            off = firm < real(0.0) and (immobile or firm < -ASKEW)
            put(work.off, plan.bind_of[b], w, wp.where(off, real(1.0), real(0.0)))
        b += 1
    put_int(work.before, plan.bound, w, rank)
    return weakest


@wp.func
def eliminate(plan: Plan, work: Work, b: int, rank: int, weight: real, w: int):
    """Row of L that b would have among the `rank` rows acting before it; returns its pivot."""
    left = get_int(work.before, plan.envelope_left[b], w)
    at = plan.envelope_start[b] - left
    c = int(left)
    while c < rank:
        put(work.L, at + c, w, real(0.0))
        c += 1
    length = plan.bind_length[b]
    first = plan.bind_first[b]
    scatter(plan, work, plan.bind_start[b], length, first, real(1.0), w)
    n = plan.near_start[b]
    while n < plan.near_start[b + 1]:
        j = plan.near[n]
        c = get_int(work.before, j, w)
        if get_int(work.before, j + 1, w) > c:
            value = row_dot(
                work.W, plan.bind_start[j], plan.bind_length[j], plan.index, plan.bind_first[j], work.dense, w
            )
            put(work.L, at + c, w, value)
        n += 1
    wipe(plan, work, length, first, w)
    c = int(left)
    while c < rank:
        from_ = wp.max(left, get_int(work.L_left, c, w))
        done = column_dot(work.L, at + from_, work.L, get_int(work.L_start, c, w) + from_, c - from_, w)
        put(work.L, at + c, w, get(work.L, at + c, w) - done)
        c += 1
    pivot = weight
    c = int(left)
    while c < rank:
        entry = get(work.L, at + c, w)
        scaled = entry * get(work.pivot, c, w)
        pivot = pivot - entry * scaled
        put(work.L, at + c, w, scaled)
        c += 1
    return pivot


@wp.func
def weakness(plan: Plan, state: State, b: int, weight: real, pivot: real, learn: int, w: int):
    """How weakly row b is held against its own past, 1 for what is no joint's; with `learn` the past takes note."""
    free = plan.bind_weight[b]
    if plan.bind_act[b] == ACT_MOTOR:
        free = weight
    weak = real(1.0)
    if free > real(0.0):
        now = wp.max(pivot, real(0.0)) / free
        if learn == 1:
            set_item(state.firm, b, w, firmness(now, item(state.firm, b, w)))
        firm = item(state.firm, b, w)
        if firm > LOOSE and plan.bind_act[b] == OF_JOINT:
            weak = now / firm
    return weak


@wp.func
def inverse_pivot(plan: Plan, state: State, b: int, weight: real, pivot: real, w: int):
    """1/pivot of a row that acts, else 0.

    A row of a joint that has long been held by others but for less than LOOSE of its weight gets no impulse: a planar
    linkage whose axes are a little off keeps moving, and its errors are reported. A motor without bound gives up where
    loops run into a dead end. In maximal coordinates a row that is held less than ever, as at a fold, gives way.
    """
    firm = real(1.0)
    least = DEPENDENT * weight
    weak = real(0.0)
    if plan.bind_act[b] == ACT_MOTOR:
        firm = wp.max(item(state.firm, b, w), real(0.0))
        least = wp.max(least, HOPELESS * firm * weight)
    elif plan.bind_weight[b] > real(0.0):
        firm = wp.max(item(state.firm, b, w), real(0.0))
        weak = real(plan.bodies) * WEAK * firm * plan.bind_weight[b]
    inverse = real(0.0)
    if pivot > least and firm > LOOSE:
        inverse = pivot / (pivot * pivot + weak * weak)
    return inverse


@wp.func
def rank_of(plan: Plan, work: Work, w: int):
    """How many rows of B act."""
    return get_int(work.before, plan.bound, w)


@wp.func
def solve_bound(plan: Plan, work: Work, w: int):
    """x ← (W_B W_Bᵀ + Γ)⁻¹ x, over the rows that act."""
    rank = rank_of(plan, work, w)
    c = int(0)
    while c < rank:
        left = get_int(work.L_left, c, w)
        done = column_dot(work.L, get_int(work.L_start, c, w) + left, work.x, left, c - left, w)
        put(work.x, c, w, get(work.x, c, w) - done)
        c += 1
    c = int(0)
    while c < rank:
        put(work.x, c, w, get(work.x, c, w) * get(work.pivot, c, w))
        c += 1
    c = rank - 1
    while c > 0:
        left = get_int(work.L_left, c, w)
        column_add(work.L, get_int(work.L_start, c, w) + left, -get(work.x, c, w), work.x, left, c - left, w)
        c -= 1


@wp.func
def missing_of(plan: Plan, work: Work, b: int, z: array2, p: array2, w: int):
    """What a bound row's speed lacks."""
    act = plan.bind_act[b]
    of = plan.bind_of[b]
    sought = real(0.0)
    if act == OF_JOINT:
        sought = get(work.joint_target, of, w)
    elif act == ACT_HOLD:
        sought = get(work.lower, of, w)
    elif act == ACT_MOTOR:
        sought = get(work.motor_speed, of, w)
    else:
        sought = get(work.soft_speed, of, w) - get(work.soft_give, of, w) * get(p, plan.bind_p[b], w)
    s = row_dot(work.W, plan.bind_start[b], plan.bind_length[b], plan.index, plan.bind_first[b], z, w)
    return sought - s


@wp.func
def bind(plan: Plan, work: Work, z: array2, p: array2, positions: int, w: int):
    """Give all bound rows the speeds sought; positions: only joints and equalities, the others hold no position."""
    rank = rank_of(plan, work, w)
    c = int(0)
    while c < rank:
        b = get_int(work.acting, c, w)
        lack = real(0.0)
        if positions == 0 or plan.bind_act[b] < ACT_MOTOR:
            lack = missing_of(plan, work, b, z, p, w)
        put(work.x, c, w, lack)
        c += 1
    solve_bound(plan, work, w)
    c = int(0)
    while c < rank:
        b = get_int(work.acting, c, w)
        value = get(work.x, c, w)
        row_add(work.W, plan.bind_start[b], plan.bind_length[b], plan.index, plan.bind_first[b], value, z, w)
        put(p, plan.bind_p[b], w, get(p, plan.bind_p[b], w) + value)
        c += 1


@wp.func
def largest_lack(plan: Plan, work: Work, z: array2, p: array2, w: int):
    """The largest impulse that bound rows, each by itself, still lack."""
    worst = real(0.0)
    c = int(0)
    while c < rank_of(plan, work, w):
        b = get_int(work.acting, c, w)
        start = plan.bind_start[b]
        weight = row_product(work.W, start, start, plan.bind_length[b], w) + give_of(plan, work, b, w)
        worst = wp.max(worst, wp.abs(missing_of(plan, work, b, z, p, w)) / weight)
        c += 1
    return worst
