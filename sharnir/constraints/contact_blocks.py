"""What the solution of one contact needs of its rows: blocks of W Wᵀ (M-56)."""

from __future__ import annotations

import warp as wp

from sharnir.constraints.plan import CONTACT_P, Plan
from sharnir.constraints.tolerances import NOTHING, REDUNDANT
from sharnir.constraints.work import CONTACT_K, Work
from sharnir.maths import get_int, mat33, put, real, row_product


@wp.func
def row_block(plan: Plan, work: Work, c: int, i: int, j: int, held: int, w: int):
    """W_i·W_j of two rows of contact c."""
    total = real(0.0)
    if held == 1:
        start = plan.dense_contact + CONTACT_P * c * plan.width
        total = row_product(work.W, start + i * plan.width, start + j * plan.width, plan.width, w)
    else:
        a = get_int(work.contact_at, 6 * c, w)
        na = get_int(work.contact_at, 6 * c + 1, w)
        b = get_int(work.contact_at, 6 * c + 3, w)
        nb = get_int(work.contact_at, 6 * c + 4, w)
        total = row_product(work.W, a + i * na, a + j * na, na, w) + row_product(work.W, b + i * nb, b + j * nb, nb, w)
    return total


@wp.func
def block_of_contact(plan: Plan, work: Work, c: int, held: int, w: int):
    """What the solve of contact c needs of its block W Wᵀ."""
    nn = row_block(plan, work, c, 0, 0, held, w)
    tt = row_block(plan, work, c, 1, 1, held, w)
    ss = row_block(plan, work, c, 2, 2, held, w)
    nt = row_block(plan, work, c, 0, 1, held, w)
    ns = row_block(plan, work, c, 0, 2, held, w)
    ts = row_block(plan, work, c, 1, 2, held, w)
    K = mat33(nn, nt, ns, nt, tt, ts, ns, ts, ss)
    inverse = mat33()
    if wp.determinant(K) > REDUNDANT * nn * tt * ss:
        inverse = wp.inverse(K)
    at = CONTACT_K * c
    i = int(0)
    while i < 9:
        put(work.contact_K, at + i, w, inverse[i / 3, i % 3])
        i += 1
    put(work.contact_K, at + 9, w, inverse_of(nn))
    put(work.contact_K, at + 10, w, inverse_of(largest_of(tt, ts, ss)))
    put(work.contact_K, at + 11, w, nt)
    put(work.contact_K, at + 12, w, ns)
    if get_int(work.contact_rows, c, w) == 6:
        spin = row_block(plan, work, c, 3, 3, held, w)
        tt = row_block(plan, work, c, 4, 4, held, w)
        ss = row_block(plan, work, c, 5, 5, held, w)
        ts = row_block(plan, work, c, 4, 5, held, w)
        put(work.contact_K, at + 13, w, inverse_of(spin))
        put(work.contact_K, at + 14, w, inverse_of(largest_of(tt, ts, ss)))


@wp.func
def inverse_of(weight: real):
    return wp.where(weight > NOTHING, real(1.0) / weight, real(0.0))


@wp.func
def largest_of(a: real, b: real, c: real):
    """Largest eigenvalue of [a b; b c]."""
    spread = real(0.5) * (a - c)
    return real(0.5) * (a + c) + wp.sqrt(spread * spread + b * b)
