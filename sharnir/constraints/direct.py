"""Direct solution of the rows that bind both ways: LDLᵀ within an envelope, rank-revealing (M-46..M-48).

The rows B are those of loop joints, couplings, soft forces and motors without a bound. (W_B W_Bᵀ + Γ) p = r is factored
once a step, in an order fixed by the model; a row that the rows before it imply gets no impulse. The remaining rows
are swept as they act with B held: Ŵ_u = W_u − W_u W_Bᵀ (W_B W_Bᵀ + Γ)⁻¹ W_B, so that a change of their impulses never
disturbs B.
"""

from __future__ import annotations

import warp as wp

from sharnir.constraints.plan import ACT_HOLD, ACT_MOTOR, ACT_SOFT, OF_JOINT, Plan
from sharnir.constraints.rows import block_of_contact, get_count
from sharnir.constraints.tolerances import ASKEW, DEPENDENT, FIRM_AGAIN, HOPELESS, LOOSE, MEMORY, NOTHING, VAGUE, WEAK
from sharnir.constraints.work import State, Work
from sharnir.maths import array2, get, item, put, real, row_add, row_dot, row_product, set_item


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
    """LDLᵀ of W_B W_Bᵀ + Γ; rows of L within the envelope, inverse pivots apart.

    A row of a joint that has long been held by others but for less than LOOSE of its weight gets no impulse: a planar
    linkage whose axes are a little off keeps moving, and its errors are reported. A motor without bound gives up where
    loops run into a dead end. Returns how weak the weakest joint is against its own past; learn: this is the past of
    the steps to come.
    """
    weakest = real(1.0)
    b = int(0)
    while b < plan.bound:
        start = plan.bind_start[b]
        length = plan.bind_length[b]
        first = plan.bind_first[b]
        left = plan.envelope_left[b]
        at = plan.envelope_start[b] - left
        inverse = real(0.0)
        j = left
        while j < b:
            put(work.L, at + j, w, real(0.0))
            j += 1
        weight = row_product(work.W, start, start, length, w) + give_of(plan, work, b, w)
        if weight > NOTHING:
            scatter(plan, work, start, length, first, real(1.0), w)
            n = plan.near_start[b]
            while n < plan.near_start[b + 1]:
                j = plan.near[n]
                if get(work.pivot, j, w) > real(0.0):
                    value = row_dot(
                        work.W, plan.bind_start[j], plan.bind_length[j], plan.index, plan.bind_first[j], work.dense, w
                    )
                    put(work.L, at + j, w, value)
                n += 1
            wipe(plan, work, length, first, w)
            pivot = weight
            j = left
            while j < b:
                if get(work.pivot, j, w) > real(0.0):
                    from_ = wp.max(left, plan.envelope_left[j])
                    other = plan.envelope_start[j] - plan.envelope_left[j]
                    entry = get(work.L, at + j, w) - row_product(work.L, at + from_, other + from_, j - from_, w)
                    put(work.L, at + j, w, entry)
                j += 1
            j = left
            while j < b:
                entry = get(work.L, at + j, w)
                if entry != real(0.0):
                    scaled = entry * get(work.pivot, j, w)
                    pivot = pivot - entry * scaled
                    put(work.L, at + j, w, scaled)
                j += 1
            free = plan.bind_weight[b]
            firm = real(1.0)
            if plan.bind_act[b] == ACT_MOTOR:
                free = weight
            if free > real(0.0):
                if learn == 1:
                    set_item(state.firm, b, w, firmness(wp.max(pivot, real(0.0)) / free, item(state.firm, b, w)))
                firm = wp.max(item(state.firm, b, w), real(0.0))
                if firm > LOOSE and plan.bind_act[b] == OF_JOINT:
                    weakest = wp.min(weakest, wp.max(pivot, real(0.0)) / (free * firm))
            given_up = real(0.0)
            if plan.bind_act[b] == ACT_MOTOR:
                given_up = HOPELESS * firm * free
            if pivot > DEPENDENT * weight and firm > LOOSE and pivot > given_up:
                weak = real(plan.bodies) * WEAK * firm * plan.bind_weight[b]
                inverse = pivot / (pivot * pivot + weak * weak)
        put(work.pivot, b, w, inverse)
        if plan.bind_act[b] == ACT_MOTOR and inverse == real(0.0):
            put(work.motor_bound, plan.bind_of[b], w, real(0.0))
        if plan.bind_act[b] == OF_JOINT:
            immobile = weight <= LOOSE * plan.bind_weight[b]
            off = item(state.firm, b, w) < real(0.0) and (immobile or item(state.firm, b, w) < -ASKEW)
            put(work.off, plan.bind_of[b], w, wp.where(off, real(1.0), real(0.0)))
        b += 1
    return weakest


@wp.func
def solve_bound(plan: Plan, x: array2, work: Work, w: int):
    """x ← (W_B W_Bᵀ + Γ)⁻¹ x, 0 for rows that others imply."""
    b = int(0)
    while b < plan.bound:
        if get(work.pivot, b, w) > real(0.0):
            left = plan.envelope_left[b]
            at = plan.envelope_start[b] - left
            n = left
            value = get(x, b, w)
            while n < b:
                value = value - get(work.L, at + n, w) * get(x, n, w)
                n += 1
            put(x, b, w, value)
        else:
            put(x, b, w, real(0.0))
        b += 1
    b = plan.bound - 1
    while b >= 0:
        pivot = get(work.pivot, b, w)
        if pivot > real(0.0):
            left = plan.envelope_left[b]
            at = plan.envelope_start[b] - left
            value = get(x, b, w)  # the rows after it have taken their part; divide by the pivot last
            value = value * pivot - get(work.back, b, w)
            put(x, b, w, value)
            n = left
            while n < b:
                put(work.back, n, w, get(work.back, n, w) + get(work.L, at + n, w) * value)
                n += 1
        put(work.back, b, w, real(0.0))
        b -= 1


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
    """Give all bound rows the speeds sought; positions: only joints and equalities, the others hold no position.
    Returns the largest impulse."""
    b = int(0)
    while b < plan.bound:
        lack = real(0.0)
        if get(work.pivot, b, w) > real(0.0) and (positions == 0 or plan.bind_act[b] < ACT_MOTOR):
            lack = missing_of(plan, work, b, z, p, w)
        put(work.x, b, w, lack)
        b += 1
    solve_bound(plan, work.x, work, w)
    worst = real(0.0)
    b = int(0)
    while b < plan.bound:
        value = get(work.x, b, w)
        if value != real(0.0):
            row_add(work.W, plan.bind_start[b], plan.bind_length[b], plan.index, plan.bind_first[b], value, z, w)
            put(p, plan.bind_p[b], w, get(p, plan.bind_p[b], w) + value)
            worst = wp.max(worst, wp.abs(value))
        b += 1
    return worst


@wp.func
def largest_lack(plan: Plan, work: Work, z: array2, p: array2, w: int):
    """The largest impulse that bound rows, each by itself, still lack."""
    worst = real(0.0)
    b = int(0)
    while b < plan.bound:
        if get(work.pivot, b, w) > real(0.0):
            start = plan.bind_start[b]
            weight = row_product(work.W, start, start, plan.bind_length[b], w) + give_of(plan, work, b, w)
            worst = wp.max(worst, wp.abs(missing_of(plan, work, b, z, p, w)) / weight)
        b += 1
    return worst


@wp.func
def project_row(plan: Plan, work: Work, start: int, length: int, first: int, target: int, w: int):
    """W[target…] ← Ŵ of a row: dense over the velocity coordinates and one slack per soft row of B."""
    scatter(plan, work, start, length, first, real(1.0), w)
    b = int(0)
    while b < plan.bound:
        value = row_dot(work.W, plan.bind_start[b], plan.bind_length[b], plan.index, plan.bind_first[b], work.dense, w)
        put(work.x, b, w, value)
        b += 1
    solve_bound(plan, work.x, work, w)
    b = int(0)
    while b < plan.bound:
        value = get(work.x, b, w)
        if value != real(0.0):
            scatter(plan, work, plan.bind_start[b], plan.bind_length[b], plan.bind_first[b], -value, w)
            if plan.bind_slack[b] >= 0:
                put(work.dense, plan.bind_slack[b], w, -value * wp.sqrt(give_of(plan, work, b, w)))
        b += 1
    d = int(0)
    while d < plan.width:
        put(work.W, target + d, w, get(work.dense, d, w))
        put(work.dense, d, w, real(0.0))
        d += 1


@wp.func
def project_rows(plan: Plan, work: Work, w: int):
    """Ŵ of all lines and contacts that act one way or within bounds."""
    l = int(0)
    while l < plan.lines:
        if get(work.K, l, w) > real(0.0) and plan.line_loose[l] != 0:
            target = plan.dense_line + l * plan.width
            project_row(plan, work, plan.line_start[l], plan.line_length[l], plan.line_first[l], target, w)
            K = row_product(work.W, target, target, plan.width, w)
            if K <= DEPENDENT * get(work.K, l, w):
                K = real(0.0)
            put(work.K_held, l, w, K)
        l += 1
    n = int(0)
    while n < get_count(work, 0, w):
        c = get_count(work, n + 1, w)
        link = plan.contact_link[c]
        length = plan.link_length[link]
        j = int(0)
        target = plan.dense_contact + 3 * c * plan.width
        while j < 3:
            start = plan.contact_start[c] + j * length
            project_row(plan, work, start, length, plan.link_first[link], target + j * plan.width, w)
            j += 1
        block_of_contact(work, c, target, plan.width, w)
        n += 1


@wp.func
def set_offsets(plan: Plan, work: Work, z: array2, w: int):
    """What the speed of a projected row is beyond Ŵ·z, now that B has the speeds sought; slacks start at 0."""
    d = plan.dofs
    while d < plan.width:
        put(z, d, w, real(0.0))
        d += 1
    l = int(0)
    while l < plan.lines:
        if get(work.K, l, w) > real(0.0) and plan.line_loose[l] != 0:
            full = row_dot(work.W, plan.line_start[l], plan.line_length[l], plan.index, plan.line_first[l], z, w)
            held = row_dot(work.W, plan.dense_line + l * plan.width, plan.width, plan.index, plan.every, z, w)
            put(work.offset, l, w, full - held)
        l += 1
    n = int(0)
    while n < get_count(work, 0, w):
        c = get_count(work, n + 1, w)
        link = plan.contact_link[c]
        length = plan.link_length[link]
        j = int(0)
        while j < 3:
            start = plan.contact_start[c] + j * length
            full = row_dot(work.W, start, length, plan.index, plan.link_first[link], z, w)
            start = plan.dense_contact + (3 * c + j) * plan.width
            held = row_dot(work.W, start, plan.width, plan.index, plan.every, z, w)
            put(work.offset, plan.lines + 3 * c + j, w, full - held)
            j += 1
        n += 1


@wp.func
def answer_of_bound(plan: Plan, work: Work, p: array2, w: int):
    """p of B ← with what it answered to the change of the loose impulses since p_start:
    (W_B W_Bᵀ + Γ) Δp_B = −W_B Σ W_uᵀ Δp_u."""
    l = int(0)
    while l < plan.lines:
        loose = plan.line_loose[l]
        if get(work.K, l, w) > real(0.0) and loose != 0:
            change = real(0.0)
            j = int(0)
            while j < 4:
                if (loose & (1 << j)) != 0:
                    at = plan.first_line + 4 * l + j
                    change = change + get(p, at, w) - get(work.p_start, at, w)
                j += 1
            scatter(plan, work, plan.line_start[l], plan.line_length[l], plan.line_first[l], change, w)
        l += 1
    n = int(0)
    while n < get_count(work, 0, w):
        c = get_count(work, n + 1, w)
        link = plan.contact_link[c]
        j = int(0)
        while j < 3:
            at = plan.first_contact + 3 * c + j
            start = plan.contact_start[c] + j * plan.link_length[link]
            change = get(p, at, w) - get(work.p_start, at, w)
            scatter(plan, work, start, plan.link_length[link], plan.link_first[link], change, w)
            j += 1
        n += 1
    b = int(0)
    while b < plan.bound:
        value = row_dot(work.W, plan.bind_start[b], plan.bind_length[b], plan.index, plan.bind_first[b], work.dense, w)
        put(work.x, b, w, -value)
        b += 1
    solve_bound(plan, work.x, work, w)
    b = int(0)
    while b < plan.bound:
        put(p, plan.bind_p[b], w, get(p, plan.bind_p[b], w) + get(work.x, b, w))
        b += 1
    b = int(0)
    while b < plan.width:
        put(work.dense, b, w, real(0.0))
        b += 1
