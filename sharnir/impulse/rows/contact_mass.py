"""Effective mass of contacts: blocks of W Wᵀ, their inverses and the steps of spin and rolling (M-56)."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Scratch, State
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.row_kinds import CONTACT_IMPULSES
from sharnir.impulse.rows.contact_frame import halves_of
from sharnir.impulse.slots import BLOCK_ROWS, ContactMass, Half, Setting
from sharnir.impulse.tolerances import TOL_REDUNDANT
from sharnir.kernels.columns import get_int, put
from sharnir.kernels.types import MAT33, SYM_XY, SYM_XZ, SYM_YZ, VEC3, mat33, real
from sharnir.kernels.vector_ops import row3_gram

MAX_MASS_WEIGHT = wp.constant(real(1000.0))  # largest factor by which changes of a light body's impulses count more
# of their own W·W, added to rows that imply each other: the step is then a little short
REDUNDANT_ROW_REGULARISATION = wp.constant(real(1.0e-3))


@wp.func
def contact_gram(layout: wp.ref[Layout], work: wp.ref[Scratch], c: int, row: int, direct: int, w: int):
    """Gram entries (aa, bb, cc, bc, ac, ab) of three rows of contact c from `row` on. direct: of the projected rows."""
    at = halves_of(layout, c, direct)
    return contact_half_gram(work, at, row, w) + contact_half_gram(work, at + Half.SIZE, row, w)


@wp.func
def contact_half_gram(work: wp.ref[Scratch], at: int, row: int, w: int):
    """Gram entries (aa, bb, cc, bc, ac, ab) of three rows within one body's half, described by `contact_halves` from
    place `at` on."""
    length = get_int(work.contact_halves, at + Half.LENGTH, w)
    return row3_gram(work.W, get_int(work.contact_halves, at, w) + row * length, length, w)


@wp.func
def compute_contact_mass(
    layout: wp.ref[Layout], state: wp.ref[State], work: wp.ref[Scratch], c: int, direct: int, w: int
):
    """Store what the block solve of contact c needs of W Wᵀ in `contact_mass`, and how many times lighter than the mean
    of all bodies is what the contact moves (mean mass times K_nn): its impulse changes count so many times more, at
    most MAX_MASS_WEIGHT. direct: of the projected rows."""
    k = contact_gram(layout, work, c, 0, direct, w)
    K = mat33(k[0], k[SYM_XY], k[SYM_XZ], k[SYM_XY], k[1], k[SYM_YZ], k[SYM_XZ], k[SYM_YZ], k[2])
    inverse = mat33()
    normal = k[0]
    least = state.settings[Setting.MIN_ROW_K, 0]
    if wp.min(k[0], wp.min(k[1], k[2])) > least:
        if wp.determinant(K) <= TOL_REDUNDANT * k[0] * k[1] * k[2]:
            normal = k[0] * (real(1.0) + REDUNDANT_ROW_REGULARISATION)
            tangent_scale = real(1.0) + REDUNDANT_ROW_REGULARISATION
            K = mat33(
                normal,
                k[SYM_XY],
                k[SYM_XZ],
                k[SYM_XY],
                k[1] * tangent_scale,
                k[SYM_YZ],
                k[SYM_XZ],
                k[SYM_YZ],
                k[2] * tangent_scale,
            )
        inverse = wp.inverse(K)
    at = ContactMass.SIZE * c
    i = int(0)
    while i < MAT33:
        put(work.contact_mass, at + i, w, inverse[i / VEC3, i % VEC3])
        i += 1
    put(work.contact_mass, at + ContactMass.NORMAL, w, inverse_or_zero(normal, least))
    put(
        work.contact_mass,
        at + ContactMass.TANGENT,
        w,
        inverse_or_zero(largest_eigenvalue(k[1], k[SYM_YZ], k[2]), least),
    )
    put(work.contact_mass, at + ContactMass.K_NT1, w, k[SYM_XY])
    put(work.contact_mass, at + ContactMass.K_NT2, w, k[SYM_XZ])
    lightness = state.settings[Setting.MEAN_MASS, 0] * k[0]
    mass_weight = wp.where(
        state.settings[Setting.MASS_WEIGHTED_CHANGES, 0] > real(0.0),
        wp.clamp(lightness, real(1.0), MAX_MASS_WEIGHT),
        real(1.0),
    )
    put(work.contact_mass, at + ContactMass.CHANGE_WEIGHT, w, mass_weight)
    put(work.contact_mass, at + ContactMass.LIGHTNESS, w, lightness)
    if get_int(work.contact_row_count, c, w) == CONTACT_IMPULSES:
        t = contact_gram(layout, work, c, BLOCK_ROWS, direct, w)
        put(work.contact_mass, at + ContactMass.SPIN, w, inverse_or_zero(t[0], least))
        put(
            work.contact_mass,
            at + ContactMass.ROLL,
            w,
            inverse_or_zero(largest_eigenvalue(t[1], t[SYM_YZ], t[2]), least),
        )


@wp.func
def inverse_or_zero(K: real, least: real):
    """1/K, 0 for a row that moves nothing: with at most `least`."""
    return wp.where(K > least, real(1.0) / K, real(0.0))


@wp.func
def largest_eigenvalue(a: real, b: real, c: real):
    """Largest eigenvalue of [a b; b c]."""
    half_difference = real(0.5) * (a - c)
    return real(0.5) * (a + c) + wp.sqrt(half_difference * half_difference + b * b)
