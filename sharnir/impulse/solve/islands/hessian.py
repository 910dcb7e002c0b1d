"""Gradient and Hessian of an island's convex Newton step, and its Cholesky solve (M-61)."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Context, Scratch, make_iterate
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.rows.contact_frame import apply_contact_impulse, contact_velocity, multiply_contact_rows
from sharnir.impulse.slots import CONTACT_HALVES, SIDES, ContactMass, Half, IslandVelocity, Mu
from sharnir.impulse.solve.islands.laws import (
    ISLAND_REGULARISATION,
    cone_hessian,
    cone_impulse,
    scalar_total_impulse,
)
from sharnir.kernels.columns import get, get3, get_int, put
from sharnir.kernels.types import array2, mat33, real, vec3
from sharnir.kernels.vector_ops import row_add, row_dot


@wp.func
def regularisation_of(work: wp.ref[Scratch], c: int, w: int):
    """Regularisation R of contact c, 1/kg: ISLAND_REGULARISATION of the diagonal of its normal row."""
    effective_mass = get(work.contact_mass, ContactMass.SIZE * c + ContactMass.NORMAL, w)
    return ISLAND_REGULARISATION * wp.where(effective_mass > real(0.0), real(1.0) / effective_mass, real(1.0))


@wp.func
def evaluate_island_velocities(ctx: Context, z: array2, direction: int, w: int):
    """Evaluate velocities of all rows of the island at z, of contacts minus their targets; with direction = 1, z is a
    search direction and the change of the velocities along it is stored."""
    i = int(1)
    while i <= get_int(ctx.work.island_contacts, 0, w):
        c = get_int(ctx.work.island_contacts, i, w)
        if direction == 1:
            put3_at(
                ctx.work.island_velocity,
                IslandVelocity.SIZE * c + IslandVelocity.DIRECTION,
                multiply_contact_rows(ctx, c, 0, 0, z, w),
                w,
            )
        else:
            s = contact_velocity(ctx, c, 0, 0, z, w) - get3(ctx.work.contact_target, c, w)
            put3_at(ctx.work.island_velocity, IslandVelocity.SIZE * c, s, w)
        i += 1
    i = int(1)
    while i <= get_int(ctx.work.island_scalars, 0, w):
        l = get_int(ctx.work.island_scalars, i, w)
        velocity = row_dot(
            ctx.work.W,
            ctx.layout.scalar_W_start[l],
            ctx.layout.scalar_row_length[l],
            ctx.layout.index,
            ctx.layout.scalar_index_start[l],
            z,
            w,
        )
        put(ctx.work.island_scalar_velocity, 2 * l + direction, w, velocity)
        i += 1


@wp.func
def put3_at(target: array2, at: int, value: vec3, w: int):
    """target[at …] ← three values."""
    put(target, at, w, value[0])
    put(target, at + 1, w, value[1])
    put(target, at + 2, w, value[2])


@wp.func
def contact_velocity_along(work: wp.ref[Scratch], c: int, alpha: real, w: int):
    """Velocity of contact c minus its target at z + alpha · direction, with the slip lift μ|s_t| on its normal
    (M-62)."""
    at = IslandVelocity.SIZE * c
    s = vec3(
        get(work.island_velocity, at, w), get(work.island_velocity, at + 1, w), get(work.island_velocity, at + 2, w)
    )
    d = vec3(
        get(work.island_velocity, at + IslandVelocity.DIRECTION, w),
        get(work.island_velocity, at + IslandVelocity.DIRECTION + 1, w),
        get(work.island_velocity, at + IslandVelocity.DIRECTION + 2, w),
    )
    return s + d * alpha + vec3(get(work.island_velocity, at + IslandVelocity.LIFT, w), real(0.0), real(0.0))


@wp.func
def row3_at(W: array2, at: int, length: int, w: int):
    """Entries at one coordinate of three consecutive rows of W."""
    return vec3(get(W, at, w), get(W, at + length, w), get(W, at + 2 * length, w))


@wp.func
def add_contact_hessian(layout: wp.ref[Layout], work: wp.ref[Scratch], c: int, G: mat33, n: int, w: int):
    """H += Wᵀ G W of contact c, lower triangle. n: coordinates of the island."""
    side = int(0)
    while side < SIDES:
        at = CONTACT_HALVES * c + Half.SIZE * side
        start = get_int(work.contact_halves, at, w)
        length = get_int(work.contact_halves, at + Half.LENGTH, w)
        first = get_int(work.contact_halves, at + Half.INDEX_START, w)
        i = int(0)
        while i < length:
            Ga = G * row3_at(work.W, start + i, length, w)
            row = get_int(work.dof_in_island, layout.index[first + i], w)
            other_side = int(0)
            while other_side < SIDES:
                other_at = CONTACT_HALVES * c + Half.SIZE * other_side
                start_b = get_int(work.contact_halves, other_at, w)
                length_b = get_int(work.contact_halves, other_at + Half.LENGTH, w)
                first_b = get_int(work.contact_halves, other_at + Half.INDEX_START, w)
                j = int(0)
                while j < length_b:
                    b = row3_at(work.W, start_b + j, length_b, w)
                    column = get_int(work.dof_in_island, layout.index[first_b + j], w)
                    if column <= row:
                        k = row * n + column
                        put(work.island_H, k, w, get(work.island_H, k, w) + wp.dot(Ga, b))
                    j += 1
                other_side += 1
            i += 1
        side += 1


@wp.func
def add_scalar_hessian(layout: wp.ref[Layout], work: wp.ref[Scratch], l: int, G: real, n: int, w: int):
    """H += Wᵀ G W of scalar row l, lower triangle. n: coordinates of the island."""
    start = layout.scalar_W_start[l]
    length = layout.scalar_row_length[l]
    first = layout.scalar_index_start[l]
    i = int(0)
    while i < length:
        a = G * get(work.W, start + i, w)
        row = get_int(work.dof_in_island, layout.index[first + i], w)
        j = int(0)
        while j < length:
            column = get_int(work.dof_in_island, layout.index[first + j], w)
            if column <= row:
                k = row * n + column
                put(work.island_H, k, w, get(work.island_H, k, w) + a * get(work.W, start + j, w))
            j += 1
        i += 1


@wp.func
def assemble_newton_system(ctx: Context, n: int, z: array2, w: int):
    """Assemble the Hessian H = 1 + Σ Wᵀ G W and minus the gradient at z, at which velocities have been evaluated
    (M-61). n: coordinates of the island."""
    k = int(0)
    while k < n * n:
        put(ctx.work.island_H, k, w, real(0.0))
        k += 1
    k = int(0)
    while k < n:
        put(ctx.work.island_H, k * n + k, w, real(1.0))
        d = get_int(ctx.work.island_dofs, k, w)
        put(ctx.work.z_newton_residual, d, w, get(ctx.work.island_z_free, k, w) - get(z, d, w))
        k += 1
    x = make_iterate(ctx.work.z_newton_residual, ctx.work.p, 0)
    i = int(1)
    while i <= get_int(ctx.work.island_contacts, 0, w):
        c = get_int(ctx.work.island_contacts, i, w)
        mu = get(ctx.work.contact_mu, Mu.SIZE * c, w)
        R = regularisation_of(ctx.work, c, w)
        s = contact_velocity_along(ctx.work, c, real(0.0), w)
        apply_contact_impulse(ctx, c, 0, cone_impulse(s, mu, R), x, w)
        add_contact_hessian(ctx.layout, ctx.work, c, cone_hessian(s, mu, R), n, w)
        i += 1
    i = int(1)
    while i <= get_int(ctx.work.island_scalars, 0, w):
        l = get_int(ctx.work.island_scalars, i, w)
        p, G = scalar_total_impulse(ctx.layout, ctx.work, l, get(ctx.work.island_scalar_velocity, 2 * l, w), w)
        row_add(
            ctx.work.W,
            ctx.layout.scalar_W_start[l],
            ctx.layout.scalar_row_length[l],
            ctx.layout.index,
            ctx.layout.scalar_index_start[l],
            p,
            ctx.work.z_newton_residual,
            w,
        )
        if G > real(0.0):
            add_scalar_hessian(ctx.layout, ctx.work, l, G, n, w)
        i += 1
    k = int(0)
    while k < n:
        put(ctx.work.island_gradient, k, w, get(ctx.work.z_newton_residual, get_int(ctx.work.island_dofs, k, w), w))
        k += 1


@wp.func
def solve_newton_direction(work: wp.ref[Scratch], n: int, w: int):
    """z_newton_direction ← H⁻¹ g by Cholesky factorisation in place. n: coordinates of the island."""
    i = int(0)
    while i < n:
        j = int(0)
        while j <= i:
            value = get(work.island_H, i * n + j, w)
            k = int(0)
            while k < j:
                value = value - get(work.island_H, i * n + k, w) * get(work.island_H, j * n + k, w)
                k += 1
            if i == j:
                value = wp.sqrt(value)
            else:
                value = value / get(work.island_H, j * n + j, w)
            put(work.island_H, i * n + j, w, value)
            j += 1
        i += 1
    i = int(0)
    while i < n:
        value = get(work.island_gradient, i, w)
        k = int(0)
        while k < i:
            value = value - get(work.island_H, i * n + k, w) * get(work.island_gradient, k, w)
            k += 1
        put(work.island_gradient, i, w, value / get(work.island_H, i * n + i, w))
        i += 1
    i = n - 1
    while i >= 0:
        value = get(work.island_gradient, i, w)
        k = i + 1
        while k < n:
            value = value - get(work.island_H, k * n + i, w) * get(work.island_gradient, k, w)
            k += 1
        put(work.island_gradient, i, w, value / get(work.island_H, i * n + i, w))
        put(work.z_newton_direction, get_int(work.island_dofs, i, w), w, get(work.island_gradient, i, w))
        i -= 1
