"""What the solution of one contact needs of its rows: blocks of W Wᵀ (M-56)."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import CONTACT_K, MEAN_MASS, STRICT, State, Work
from sharnir.impulse.layout.layout import Plan
from sharnir.impulse.row_kinds import CONTACT_P
from sharnir.impulse.tolerances import NOTHING, REDUNDANT
from sharnir.kernels.columns import get_int, put
from sharnir.kernels.types import mat33, real
from sharnir.kernels.vector_ops import three_gram

STRICTEST = wp.constant(real(1000.0))
FIRMER = wp.constant(real(1.0e-3))  # of their own weight, to rows that imply each other: a step that is a little short


@wp.func
def products(plan: Plan, work: Work, c: int, row: int, held: int, w: int):
    """Products (aa, bb, cc, bc, ac, ab) of three rows of contact c from `row` on."""
    if held == 1:
        return three_gram(work.W, plan.dense_contact + (CONTACT_P * c + row) * plan.width, plan.width, w)
    return half_products(work, 6 * c, row, w) + half_products(work, 6 * c + 3, row, w)


@wp.func
def half_products(work: Work, at: int, row: int, w: int):
    """The same of one half, which `contact_at` describes from place `at` on."""
    length = get_int(work.contact_at, at + 1, w)
    return three_gram(work.W, get_int(work.contact_at, at, w) + row * length, length, w)


@wp.func
def block_of_contact(plan: Plan, state: State, work: Work, c: int, held: int, w: int):
    """What the solve of contact c needs of its block W Wᵀ; and how many times lighter than the mean of all bodies what
    it moves is: that many times more its changes count."""
    k = products(plan, work, c, 0, held, w)
    K = mat33(k[0], k[5], k[4], k[5], k[1], k[3], k[4], k[3], k[2])
    inverse = mat33()
    normal = k[0]
    if wp.min(k[0], wp.min(k[1], k[2])) > NOTHING:
        if wp.determinant(K) <= REDUNDANT * k[0] * k[1] * k[2]:
            normal = k[0] * (real(1.0) + FIRMER)
            side = real(1.0) + FIRMER
            K = mat33(normal, k[5], k[4], k[5], k[1] * side, k[3], k[4], k[3], k[2] * side)
        inverse = wp.inverse(K)
    at = CONTACT_K * c
    i = int(0)
    while i < 9:
        put(work.contact_K, at + i, w, inverse[i / 3, i % 3])
        i += 1
    put(work.contact_K, at + 9, w, inverse_of(normal))
    put(work.contact_K, at + 10, w, inverse_of(largest_of(k[1], k[3], k[2])))
    put(work.contact_K, at + 11, w, k[5])
    put(work.contact_K, at + 12, w, k[4])
    light = state.settings[MEAN_MASS, 0] * k[0]
    strict = wp.where(state.settings[STRICT, 0] > real(0.0), wp.clamp(light, real(1.0), STRICTEST), real(1.0))
    put(work.contact_K, at + 15, w, strict)
    put(work.contact_K, at + 16, w, light)
    if get_int(work.contact_rows, c, w) == 6:
        t = products(plan, work, c, 3, held, w)
        put(work.contact_K, at + 13, w, inverse_of(t[0]))
        put(work.contact_K, at + 14, w, inverse_of(largest_of(t[1], t[3], t[2])))


@wp.func
def inverse_of(weight: real):
    return wp.where(weight > NOTHING, real(1.0) / weight, real(0.0))


@wp.func
def largest_of(a: real, b: real, c: real):
    """Largest eigenvalue of [a b; b c]."""
    spread = real(0.5) * (a - c)
    return real(0.5) * (a + c) + wp.sqrt(spread * spread + b * b)
