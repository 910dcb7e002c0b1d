"""Convex Newton solve of one island at large mass ratios, where sweeps converge slowly (M-61, M-62).

    min over z of ½|z − z₀|² + Σ φ(W z − target)

with the regularised potentials of `islands/laws.py`. The convex problem lifts slipping contacts by μ times their slip
velocity; their target is lowered by as much, and the problem is solved again until that does not change.
"""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Context, Scratch, make_iterate
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.row_kinds import CONTACT_IMPULSES, SCALAR_IMPULSES, RowKind
from sharnir.impulse.rows.contact_frame import apply_contact_impulse
from sharnir.impulse.slots import ContactMass, IslandVelocity, Mu
from sharnir.impulse.solve.islands.hessian import (
    assemble_newton_system,
    contact_velocity_along,
    evaluate_island_velocities,
    put3_at,
    regularisation_of,
    solve_newton_direction,
)
from sharnir.impulse.solve.islands.laws import (
    MIN_NORM,
    cone_hessian,
    cone_impulse,
    scalar_impulse,
    scalar_total_impulse,
)
from sharnir.impulse.solve.islands.partition import (
    build_islands,
    find_worst_light_contact,
    list_island,
    skip_large_islands,
)
from sharnir.kernels.columns import get, get_int, put
from sharnir.kernels.types import array2, real, vec3
from sharnir.kernels.vector_ops import row_add

MAX_NEWTON_STEPS = 30  # of Newton's method on an island
MAX_SLIP_LIFT_ROUNDS = 8  # of corrections of the slip lift (M-62)
MAX_LINE_SEARCH_TRIALS = 40  # of a line search
MAX_ISLANDS_SOLVED = 8  # in one call
TOL_NEWTON_STEP = wp.constant(real(1.0e-9))  # of |z − z₀|: a full step shorter than this ends Newton's method


@wp.func
def apply_island_impulses(ctx: Context, sign: real, z: array2, p: array2, w: int):
    """z += sign · Wᵀ p of the island's contacts, without torsional and rolling friction, and of its scalar rows."""
    x = make_iterate(z, p, 0)
    i = int(1)
    while i <= get_int(ctx.work.island_contacts, 0, w):
        c = get_int(ctx.work.island_contacts, i, w)
        at = ctx.layout.contact_p_start + CONTACT_IMPULSES * c
        impulse = vec3(get(p, at, w), get(p, at + 1, w), get(p, at + 2, w)) * sign
        apply_contact_impulse(ctx, c, 0, impulse, x, w)
        i += 1
    i = int(1)
    while i <= get_int(ctx.work.island_scalars, 0, w):
        l = get_int(ctx.work.island_scalars, i, w)
        total = real(0.0)
        k = int(0)
        while k < SCALAR_IMPULSES:
            if (ctx.layout.scalar_row_kinds[l] & (RowKind.SATURATION_EXCESS | (1 << k))) != 0:
                total = total + get(p, ctx.layout.scalar_p_start + SCALAR_IMPULSES * l + k, w)
            k += 1
        row_add(
            ctx.work.W,
            ctx.layout.scalar_W_start[l],
            ctx.layout.scalar_row_length[l],
            ctx.layout.index,
            ctx.layout.scalar_index_start[l],
            sign * total,
            z,
            w,
        )
        i += 1


@wp.func
def directional_derivative(
    layout: wp.ref[Layout], work: wp.ref[Scratch], inner: real, direction2: real, alpha: real, w: int
):
    """Derivative of the objective along the search direction at step alpha. inner: (z − z₀)·direction; direction2: its
    squared length."""
    total = inner + alpha * direction2
    i = int(1)
    while i <= get_int(work.island_contacts, 0, w):
        c = get_int(work.island_contacts, i, w)
        at = IslandVelocity.SIZE * c
        p = cone_impulse(
            contact_velocity_along(work, c, alpha, w),
            get(work.contact_mu, Mu.SIZE * c, w),
            regularisation_of(work, c, w),
        )
        d = vec3(
            get(work.island_velocity, at + IslandVelocity.DIRECTION, w),
            get(work.island_velocity, at + IslandVelocity.DIRECTION + 1, w),
            get(work.island_velocity, at + IslandVelocity.DIRECTION + 2, w),
        )
        total = total - wp.dot(p, d)
        i += 1
    i = int(1)
    while i <= get_int(work.island_scalars, 0, w):
        l = get_int(work.island_scalars, i, w)
        change = get(work.island_scalar_velocity, 2 * l + 1, w)
        impulse, G = scalar_total_impulse(
            layout, work, l, get(work.island_scalar_velocity, 2 * l, w) + alpha * change, w
        )
        total = total - impulse * change
        i += 1
    return total


@wp.func
def line_search(layout: wp.ref[Layout], work: wp.ref[Scratch], inner: real, direction2: real, w: int):
    """Step length along the search direction, at most 1: root of the directional derivative by regula falsi and
    bisection in turn."""
    low = real(0.0)
    high = real(1.0)
    at_low = directional_derivative(layout, work, inner, direction2, low, w)
    at_high = directional_derivative(layout, work, inner, direction2, high, w)
    tolerance = real(1.0e-3) * wp.abs(at_low)
    alpha = real(1.0)
    k = int(0)
    while at_high > real(0.0) and k < MAX_LINE_SEARCH_TRIALS and high - low > real(1.0e-12):
        alpha = low - at_low * (high - low) / (at_high - at_low)
        if k % 2 == 1:
            alpha = real(0.5) * (low + high)
        slope = directional_derivative(layout, work, inner, direction2, alpha, w)
        if wp.abs(slope) < tolerance:
            k = MAX_LINE_SEARCH_TRIALS
        elif slope > real(0.0):
            high = alpha
            at_high = slope
        else:
            low = alpha
            at_low = slope
        k += 1
    return alpha


@wp.func
def store_island_impulses(layout: wp.ref[Layout], work: wp.ref[Scratch], p: array2, w: int):
    """Store the island's impulses from the last linear system, p − G·Δs, with contacts projected onto their cones: rows
    are so stiff that −s/R from the velocities alone would be rounding."""
    i = int(1)
    while i <= get_int(work.island_contacts, 0, w):
        c = get_int(work.island_contacts, i, w)
        at = layout.contact_p_start + CONTACT_IMPULSES * c
        mu = get(work.contact_mu, Mu.SIZE * c, w)
        s = contact_velocity_along(work, c, real(0.0), w)
        d = vec3(
            get(work.island_velocity, IslandVelocity.SIZE * c + IslandVelocity.DIRECTION, w),
            get(work.island_velocity, IslandVelocity.SIZE * c + IslandVelocity.DIRECTION + 1, w),
            get(work.island_velocity, IslandVelocity.SIZE * c + IslandVelocity.DIRECTION + 2, w),
        )
        impulse = (
            cone_impulse(s, mu, regularisation_of(work, c, w)) - cone_hessian(s, mu, regularisation_of(work, c, w)) * d
        )
        normal = wp.max(impulse[0], real(0.0))
        norm = wp.sqrt(impulse[1] * impulse[1] + impulse[2] * impulse[2])
        scale = wp.where(norm > mu * normal, mu * normal / (norm + MIN_NORM), real(1.0))
        put3_at(p, at, vec3(normal, impulse[1] * scale, impulse[2] * scale), w)
        i += 1
    i = int(1)
    while i <= get_int(work.island_scalars, 0, w):
        l = get_int(work.island_scalars, i, w)
        velocity = get(work.island_scalar_velocity, 2 * l, w)
        change = get(work.island_scalar_velocity, 2 * l + 1, w)
        at = layout.scalar_p_start + SCALAR_IMPULSES * l
        k = int(0)
        while k < SCALAR_IMPULSES:
            if (layout.scalar_row_kinds[l] & (RowKind.SATURATION_EXCESS | (1 << k))) != 0:
                value, G = scalar_impulse(layout, work, l, velocity, 1 << k, w)
                put(p, at + k, w, value - G * change)
            k += 1
        i += 1


@wp.func
def minimise_island(ctx: Context, n: int, z: array2, p: array2, w: int):
    """Newton's method with line search at fixed slip lifts; z is moved, and impulses are stored if it converges. n:
    coordinates of the island."""
    step = int(0)
    while step < MAX_NEWTON_STEPS:
        evaluate_island_velocities(ctx, z, 0, w)
        assemble_newton_system(ctx, n, z, w)
        solve_newton_direction(ctx.work, n, w)
        evaluate_island_velocities(ctx, ctx.work.z_newton_direction, 1, w)
        inner = real(0.0)
        direction2 = real(0.0)
        offset2 = real(0.0)
        k = int(0)
        while k < n:
            d = get_int(ctx.work.island_dofs, k, w)
            along = get(ctx.work.z_newton_direction, d, w)
            offset = get(z, d, w) - get(ctx.work.island_z_free, k, w)
            inner = inner + offset * along
            direction2 = direction2 + along * along
            offset2 = offset2 + offset * offset
            k += 1
        alpha = line_search(ctx.layout, ctx.work, inner, direction2, w)
        k = int(0)
        while k < n:
            d = get_int(ctx.work.island_dofs, k, w)
            put(z, d, w, get(z, d, w) + alpha * get(ctx.work.z_newton_direction, d, w))
            k += 1
        step += 1
        if direction2 <= TOL_NEWTON_STEP * TOL_NEWTON_STEP * offset2 and alpha == real(1.0):
            step = MAX_NEWTON_STEPS
            store_island_impulses(ctx.layout, ctx.work, p, w)


@wp.func
def update_slip_lift(ctx: Context, z: array2, w: int):
    """Update the slip lift μ|s_t| of every contact at z (M-62); returns the largest change as an impulse, N s."""
    worst = real(0.0)
    evaluate_island_velocities(ctx, z, 0, w)
    i = int(1)
    while i <= get_int(ctx.work.island_contacts, 0, w):
        c = get_int(ctx.work.island_contacts, i, w)
        at = IslandVelocity.SIZE * c
        s1 = get(ctx.work.island_velocity, at + 1, w)
        s2 = get(ctx.work.island_velocity, at + 2, w)
        slip_lift = get(ctx.work.contact_mu, Mu.SIZE * c, w) * wp.sqrt(s1 * s1 + s2 * s2)
        change = wp.abs(slip_lift - get(ctx.work.island_velocity, at + IslandVelocity.LIFT, w))
        worst = wp.max(worst, change * get(ctx.work.contact_mass, ContactMass.SIZE * c + ContactMass.NORMAL, w))
        put(ctx.work.island_velocity, at + IslandVelocity.LIFT, w, slip_lift)
        i += 1
    return worst


@wp.func
def solve_islands(ctx: Context, epsilon: real, z: array2, p: array2, w: int):
    """Solve every island that holds a light contact not converged to ε, if it has at most MAX_ISLAND_DOFS coordinates,
    by convex Newton (M-61, M-62); z and p are updated."""
    build_islands(ctx.layout, ctx.state, ctx.work, w)
    skip_large_islands(ctx.layout, ctx.state, ctx.work, w)
    solved = int(0)
    seed = find_worst_light_contact(ctx.work, epsilon, w)
    while seed >= 0 and solved < MAX_ISLANDS_SOLVED:
        n = list_island(ctx.layout, ctx.state, ctx.work, seed, w)
        apply_island_impulses(ctx, real(-1.0), z, p, w)
        k = int(0)
        while k < n:
            put(ctx.work.island_z_free, k, w, get(z, get_int(ctx.work.island_dofs, k, w), w))
            k += 1
        apply_island_impulses(ctx, real(1.0), z, p, w)
        update_slip_lift(ctx, z, w)
        lift_round = int(0)
        while lift_round < MAX_SLIP_LIFT_ROUNDS:
            minimise_island(ctx, n, z, p, w)
            lift_round += 1
            if update_slip_lift(ctx, z, w) <= epsilon:
                lift_round = MAX_SLIP_LIFT_ROUNDS
        k = int(0)
        while k < n:
            put(z, get_int(ctx.work.island_dofs, k, w), w, get(ctx.work.island_z_free, k, w))
            k += 1
        apply_island_impulses(ctx, real(1.0), z, p, w)
        seed = find_worst_light_contact(ctx.work, epsilon, w)
        solved += 1
