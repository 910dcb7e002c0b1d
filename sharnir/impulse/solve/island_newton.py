"""An island solved at once by Newton's method, where sweeps crawl: heavy on light (M-61, M-62).

    min over z of ½|z − z₀|² + Σ φ(W z − target)

with the potentials of `laws`. Contacts that slide would be lifted by μ times their speed; that much less is sought of
them, and the whole is solved again until it does not change.
"""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import CONTACT_K, State, Work
from sharnir.impulse.layout.layout import Plan
from sharnir.impulse.row_kinds import CONTACT_P, EXCESS
from sharnir.impulse.rows.contact_frame import push_contact
from sharnir.impulse.solve.island_hessian import assemble, measure, put3_at, solve_direction, speed_at, weight_of
from sharnir.impulse.solve.islands import list_island, mark_islands, restless, small_only
from sharnir.impulse.solve.regularised_laws import LEAST, cone_impulse, cone_slope, line_impulse, line_total
from sharnir.kernels.columns import get, get_int, put
from sharnir.kernels.types import array2, real, vec3
from sharnir.kernels.vector_ops import row_add

STEPS = 30  # of Newton's method, at most
ROUNDS = 8  # of corrections for what slides
SEARCH = 40  # trials along a direction
ISLANDS = 8  # solved after each other, at most
SMALL = wp.constant(real(1.0e-9))  # of the impulses' effect: steps that end it


@wp.func
def apply_island(plan: Plan, work: Work, sign: real, z: array2, p: array2, w: int):
    """z += sign Wᵀ p of its contacts, without spin and rolling, and of its lines."""
    i = int(1)
    while i <= get_int(work.island_contact, 0, w):
        c = get_int(work.island_contact, i, w)
        at = plan.first_contact + CONTACT_P * c
        three = vec3(get(p, at, w), get(p, at + 1, w), get(p, at + 2, w)) * sign
        push_contact(plan, work, c, 0, 0, three, z, w)
        i += 1
    i = int(1)
    while i <= get_int(work.island_line, 0, w):
        l = get_int(work.island_line, i, w)
        total = real(0.0)
        k = int(0)
        while k < 4:
            if (plan.line_acts[l] & (EXCESS | (1 << k))) != 0:
                total = total + get(p, plan.first_line + 4 * l + k, w)
            k += 1
        row_add(work.W, plan.line_start[l], plan.line_length[l], plan.index, plan.line_first[l], sign * total, z, w)
        i += 1


@wp.func
def slope_along(plan: Plan, work: Work, inner: real, square: real, alpha: real, w: int):
    """Derivative of the whole along the direction; inner: (z − z₀)·d, square: |d|²."""
    total = inner + alpha * square
    i = int(1)
    while i <= get_int(work.island_contact, 0, w):
        c = get_int(work.island_contact, i, w)
        at = 7 * c
        p = cone_impulse(speed_at(work, c, alpha, w), get(work.contact_mu, 3 * c, w), weight_of(work, c, w))
        d = vec3(get(work.island_s, at + 3, w), get(work.island_s, at + 4, w), get(work.island_s, at + 5, w))
        total = total - wp.dot(p, d)
        i += 1
    i = int(1)
    while i <= get_int(work.island_line, 0, w):
        l = get_int(work.island_line, i, w)
        change = get(work.island_l, 2 * l + 1, w)
        push, G = line_total(plan, work, l, get(work.island_l, 2 * l, w) + alpha * change, w)
        total = total - push * change
        i += 1
    return total


@wp.func
def search(plan: Plan, work: Work, inner: real, square: real, w: int):
    """How far to go along the direction: where the derivative vanishes, by halving and chords."""
    low = real(0.0)
    high = real(1.0)
    at_low = slope_along(plan, work, inner, square, low, w)
    at_high = slope_along(plan, work, inner, square, high, w)
    enough = real(1.0e-3) * wp.abs(at_low)
    alpha = real(1.0)
    k = int(0)
    while at_high > real(0.0) and k < SEARCH and high - low > real(1.0e-12):
        alpha = low - at_low * (high - low) / (at_high - at_low)
        if k % 2 == 1:
            alpha = real(0.5) * (low + high)
        slope = slope_along(plan, work, inner, square, alpha, w)
        if wp.abs(slope) < enough:
            k = SEARCH
        elif slope > real(0.0):
            high = alpha
            at_high = slope
        else:
            low = alpha
            at_low = slope
        k += 1
    return alpha


@wp.func
def take_impulses(plan: Plan, work: Work, p: array2, w: int):
    """Impulses of the island after a step of Newton's method, by slopes: what rounding leaves of the speeds is nothing
    to tell such stiff impulses from."""
    i = int(1)
    while i <= get_int(work.island_contact, 0, w):
        c = get_int(work.island_contact, i, w)
        at = plan.first_contact + CONTACT_P * c
        mu = get(work.contact_mu, 3 * c, w)
        s = speed_at(work, c, real(0.0), w)
        d = vec3(get(work.island_s, 7 * c + 3, w), get(work.island_s, 7 * c + 4, w), get(work.island_s, 7 * c + 5, w))
        three = cone_impulse(s, mu, weight_of(work, c, w)) - cone_slope(s, mu, weight_of(work, c, w)) * d
        normal = wp.max(three[0], real(0.0))
        size = wp.sqrt(three[1] * three[1] + three[2] * three[2])
        scale = wp.where(size > mu * normal, mu * normal / (size + LEAST), real(1.0))
        put3_at(p, at, vec3(normal, three[1] * scale, three[2] * scale), w)
        i += 1
    i = int(1)
    while i <= get_int(work.island_line, 0, w):
        l = get_int(work.island_line, i, w)
        speed = get(work.island_l, 2 * l, w)
        change = get(work.island_l, 2 * l + 1, w)
        at = plan.first_line + 4 * l
        k = int(0)
        while k < 4:
            if (plan.line_acts[l] & (EXCESS | (1 << k))) != 0:
                value, G = line_impulse(plan, work, l, speed, 1 << k, w)
                put(p, at + k, w, value - G * change)
            k += 1
        i += 1


@wp.func
def descend(plan: Plan, work: Work, n: int, z: array2, p: array2, w: int):
    """Newton's method at fixed lifts; z and p of its end, if it has come to one."""
    step = int(0)
    while step < STEPS:
        measure(plan, work, z, 0, w)
        assemble(plan, work, n, z, w)
        solve_direction(work, n, w)
        measure(plan, work, work.z_way, 1, w)
        inner = real(0.0)
        square = real(0.0)
        gone = real(0.0)
        k = int(0)
        while k < n:
            d = get_int(work.island_dof, k, w)
            way = get(work.z_way, d, w)
            moved = get(z, d, w) - get(work.island_z, k, w)
            inner = inner + moved * way
            square = square + way * way
            gone = gone + moved * moved
            k += 1
        alpha = search(plan, work, inner, square, w)
        k = int(0)
        while k < n:
            d = get_int(work.island_dof, k, w)
            put(z, d, w, get(z, d, w) + alpha * get(work.z_way, d, w))
            k += 1
        step += 1
        if square <= SMALL * SMALL * gone and alpha == real(1.0):
            step = STEPS
            take_impulses(plan, work, p, w)


@wp.func
def lift(plan: Plan, work: Work, z: array2, w: int):
    """What sliding would lift contacts by at the speeds of z; returns the largest impulse its change is worth."""
    worst = real(0.0)
    measure(plan, work, z, 0, w)
    i = int(1)
    while i <= get_int(work.island_contact, 0, w):
        c = get_int(work.island_contact, i, w)
        at = 7 * c
        s1 = get(work.island_s, at + 1, w)
        s2 = get(work.island_s, at + 2, w)
        lifted = get(work.contact_mu, 3 * c, w) * wp.sqrt(s1 * s1 + s2 * s2)
        change = wp.abs(lifted - get(work.island_s, at + 6, w))
        worst = wp.max(worst, change * get(work.contact_K, CONTACT_K * c + 9, w))
        put(work.island_s, at + 6, w, lifted)
        i += 1
    return worst


@wp.func
def solve_islands(plan: Plan, state: State, work: Work, epsilon: real, z: array2, p: array2, w: int):
    """Solve every island at once in which a contact has not settled, if it is small enough."""
    mark_islands(plan, state, work, w)
    small_only(plan, state, work, w)
    islands = int(0)
    seed = restless(work, epsilon, w)
    while seed >= 0 and islands < ISLANDS:
        n = list_island(plan, state, work, seed, w)
        apply_island(plan, work, real(-1.0), z, p, w)
        k = int(0)
        while k < n:
            put(work.island_z, k, w, get(z, get_int(work.island_dof, k, w), w))
            k += 1
        apply_island(plan, work, real(1.0), z, p, w)
        lift(plan, work, z, w)
        round = int(0)
        while round < ROUNDS:
            descend(plan, work, n, z, p, w)
            round += 1
            if lift(plan, work, z, w) <= epsilon:
                round = ROUNDS
        k = int(0)
        while k < n:
            put(z, get_int(work.island_dof, k, w), w, get(work.island_z, k, w))
            k += 1
        apply_island(plan, work, real(1.0), z, p, w)
        seed = restless(work, epsilon, w)
        islands += 1
