"""Rows that act one way or within bounds, swept with the rows B that bind both ways held (M-48).

Ŵ_u = W_u − W_u W_Bᵀ (W_B W_Bᵀ + Γ)⁻¹ W_B: a change of their impulses never disturbs B, which answers at the end.
"""

from __future__ import annotations

import warp as wp

from sharnir.constraints.direct import give_of, rank_of, scatter, solve_bound
from sharnir.constraints.plan import Plan
from sharnir.constraints.rows import block_of_contact
from sharnir.constraints.tolerances import DEPENDENT
from sharnir.constraints.work import Work
from sharnir.maths import array2, get, get_int, put, real, row_dot, row_product


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
def project_row(plan: Plan, work: Work, start: int, length: int, first: int, target: int, w: int):
    """W[target…] ← Ŵ of a row: dense over the velocity coordinates and one slack per soft row of B."""
    scatter(plan, work, start, length, first, real(1.0), w)
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
    while n < get_int(work.touching, 0, w):
        c = get_int(work.touching, n + 1, w)
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
    while n < get_int(work.touching, 0, w):
        c = get_int(work.touching, n + 1, w)
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
    while n < get_int(work.touching, 0, w):
        c = get_int(work.touching, n + 1, w)
        link = plan.contact_link[c]
        j = int(0)
        while j < 3:
            at = plan.first_contact + 3 * c + j
            start = plan.contact_start[c] + j * plan.link_length[link]
            change = get(p, at, w) - get(work.p_start, at, w)
            scatter(plan, work, start, plan.link_length[link], plan.link_first[link], change, w)
            j += 1
        n += 1
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
