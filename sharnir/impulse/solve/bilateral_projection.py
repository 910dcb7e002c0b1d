"""Rows that act one way or within bounds, swept with the rows B that bind both ways held (M-48).

Ŵ_u = W_u − W_u W_Bᵀ (W_B W_Bᵀ + Γ)⁻¹ W_B: a change of their impulses never disturbs B, which answers at the end.
"""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import State, Work
from sharnir.impulse.layout.layout import Plan
from sharnir.impulse.row_kinds import CONTACT_P
from sharnir.impulse.rows.contact_frame import contact_count, contact_speed
from sharnir.impulse.rows.contact_mass import block_of_contact
from sharnir.impulse.solve.bilateral_ldl import give_of, rank_of, scatter, solve_bound
from sharnir.impulse.tolerances import DEPENDENT
from sharnir.kernels.columns import get, get_int, put
from sharnir.kernels.types import array2, real
from sharnir.kernels.vector_ops import row_dot, row_product


@wp.func
def answer(plan: Plan, work: Work, w: int):
    """x ← (W_B W_Bᵀ + Γ)⁻¹ W_B d of the dense scratch d."""
    c = int(0)
    while c < rank_of(plan, work, w):
        b = get_int(work.acting, c, w)
        value = row_dot(work.W, plan.bind_start[b], plan.bind_length[b], plan.index, plan.bind_first[b], work.dense, w)
        put(work.x, c, w, value)
        c += 1
    solve_bound(plan, work, w)


@wp.func
def project_scratch(plan: Plan, work: Work, target: int, w: int):
    """W[target…] ← Ŵ of the row in the dense scratch: dense over the velocity coordinates and one slack per soft row of
    B; the scratch is cleared."""
    answer(plan, work, w)
    c = int(0)
    while c < rank_of(plan, work, w):
        b = get_int(work.acting, c, w)
        value = get(work.x, c, w)
        scatter(plan, work, plan.bind_start[b], plan.bind_length[b], plan.bind_first[b], -value, w)
        if plan.bind_slack[b] >= 0:
            put(work.dense, plan.bind_slack[b], w, -value * wp.sqrt(give_of(plan, work, b, w)))
        c += 1
    d = int(0)
    while d < plan.width:
        put(work.W, target + d, w, get(work.dense, d, w))
        put(work.dense, d, w, real(0.0))
        d += 1


@wp.func
def project_rows(plan: Plan, state: State, work: Work, w: int):
    """Ŵ of all lines and contacts that act one way or within bounds."""
    l = int(0)
    while l < plan.lines:
        if get(work.K, l, w) > real(0.0) and plan.line_loose[l] != 0:
            target = plan.dense_line + l * plan.width
            scatter(plan, work, plan.line_start[l], plan.line_length[l], plan.line_first[l], real(1.0), w)
            project_scratch(plan, work, target, w)
            K = row_product(work.W, target, target, plan.width, w)
            if K <= DEPENDENT * get(work.K, l, w):
                K = real(0.0)
            put(work.K_held, l, w, K)
        l += 1
    c = int(0)
    while c < contact_count(work, w):
        j = int(0)
        while j < get_int(work.contact_rows, c, w):
            scatter_contact(plan, work, c, j, real(1.0), w)
            project_scratch(plan, work, plan.dense_contact + (CONTACT_P * c + j) * plan.width, w)
            j += 1
        block_of_contact(plan, state, work, c, 1, w)
        c += 1


@wp.func
def scatter_contact(plan: Plan, work: Work, c: int, row: int, factor: real, w: int):
    """Add a row of a contact to the dense scratch."""
    at = 6 * c
    side = int(0)
    while side < 2:
        length = get_int(work.contact_at, at + 1, w)
        start = get_int(work.contact_at, at, w) + row * length
        scatter(plan, work, start, length, get_int(work.contact_at, at + 2, w), factor, w)
        at += 3
        side += 1


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
    c = int(0)
    while c < contact_count(work, w):
        row = int(0)
        while row < get_int(work.contact_rows, c, w):
            at = plan.lines + CONTACT_P * c + row
            put(work.offset, at, w, real(0.0))
            put(work.offset, at + 1, w, real(0.0))
            put(work.offset, at + 2, w, real(0.0))
            beyond = contact_speed(plan, work, c, row, 0, z, w) - contact_speed(plan, work, c, row, 1, z, w)
            put(work.offset, at, w, beyond[0])
            put(work.offset, at + 1, w, beyond[1])
            put(work.offset, at + 2, w, beyond[2])
            row += 3
        c += 1


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
    k = int(0)
    while k < contact_count(work, w):
        row = int(0)
        while row < get_int(work.contact_rows, k, w):
            at = plan.first_contact + CONTACT_P * k + row
            scatter_contact(plan, work, k, row, get(p, at, w) - get(work.p_start, at, w), w)
            row += 1
        k += 1
    answer(plan, work, w)
    c = int(0)
    while c < rank_of(plan, work, w):
        at = plan.bind_p[get_int(work.acting, c, w)]
        put(p, at, w, get(p, at, w) - get(work.x, c, w))
        c += 1
    d = int(0)
    while d < plan.width:
        put(work.dense, d, w, real(0.0))
        d += 1
