"""An island solved at once by Newton's method, where sweeps crawl: heavy on light (M-61, M-62).

    min over z of ½|z − z₀|² + Σ φ(W z − target)

with the potentials of `laws`. Contacts that slide would be lifted by μ times their speed; that much less is sought of
them, and the whole is solved again until it does not change.
"""

from __future__ import annotations

import warp as wp

from sharnir.constraints.contacts import contact_product, contact_speed, push_contact
from sharnir.constraints.islands import list_island, mark_islands, restless, small_only
from sharnir.constraints.laws import LEAST, SOFTNESS, cone_impulse, cone_slope, line_impulse, line_total
from sharnir.constraints.plan import CONTACT_P, Plan
from sharnir.constraints.work import CONTACT_K, State, Work
from sharnir.maths import array2, get, get3, get_int, mat33, put, real, row_add, row_dot, vec3

STEPS = 30  # of Newton's method, at most
ROUNDS = 8  # of corrections for what slides
SEARCH = 40  # trials along a direction
ISLANDS = 8  # solved after each other, at most
SMALL = wp.constant(real(1.0e-9))  # of the impulses' effect: steps that end it


@wp.func
def weight_of(work: Work, c: int, w: int):
    """R of contact c."""
    inverse = get(work.contact_K, CONTACT_K * c + 9, w)
    return SOFTNESS * wp.where(inverse > real(0.0), real(1.0) / inverse, real(1.0))


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
            if (plan.line_acts[l] & (1 << k)) != 0:
                total = total + get(p, plan.first_line + 4 * l + k, w)
            k += 1
        row_add(work.W, plan.line_start[l], plan.line_length[l], plan.index, plan.line_first[l], sign * total, z, w)
        i += 1


@wp.func
def measure(plan: Plan, work: Work, z: array2, way: int, w: int):
    """Speeds of all rows of the island beyond those sought; or, of a direction, their change."""
    i = int(1)
    while i <= get_int(work.island_contact, 0, w):
        c = get_int(work.island_contact, i, w)
        if way == 1:
            put3_at(work.island_s, 7 * c + 3, contact_product(plan, work, c, 0, 0, z, w), w)
        else:
            s = contact_speed(plan, work, c, 0, 0, z, w) - get3(work.contact_target, c, w)
            put3_at(work.island_s, 7 * c, s, w)
        i += 1
    i = int(1)
    while i <= get_int(work.island_line, 0, w):
        l = get_int(work.island_line, i, w)
        speed = row_dot(work.W, plan.line_start[l], plan.line_length[l], plan.index, plan.line_first[l], z, w)
        put(work.island_l, 2 * l + way, w, speed)
        i += 1


@wp.func
def put3_at(target: array2, at: int, value: vec3, w: int):
    put(target, at, w, value[0])
    put(target, at + 1, w, value[1])
    put(target, at + 2, w, value[2])


@wp.func
def speed_at(work: Work, c: int, alpha: real, w: int):
    """Speeds of contact c some way along the direction, with what sliding lifts."""
    at = 7 * c
    s = vec3(get(work.island_s, at, w), get(work.island_s, at + 1, w), get(work.island_s, at + 2, w))
    d = vec3(get(work.island_s, at + 3, w), get(work.island_s, at + 4, w), get(work.island_s, at + 5, w))
    return s + d * alpha + vec3(get(work.island_s, at + 6, w), real(0.0), real(0.0))


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
def three_at(W: array2, at: int, length: int, w: int):
    """Entries of three rows that follow each other."""
    return vec3(get(W, at, w), get(W, at + length, w), get(W, at + 2 * length, w))


@wp.func
def add_products(plan: Plan, work: Work, c: int, G: mat33, n: int, w: int):
    """H += Wᵀ G W of contact c."""
    side = int(0)
    while side < 2:
        at = 6 * c + 3 * side
        start = get_int(work.contact_at, at, w)
        length = get_int(work.contact_at, at + 1, w)
        first = get_int(work.contact_at, at + 2, w)
        i = int(0)
        while i < length:
            Ga = G * three_at(work.W, start + i, length, w)
            row = get_int(work.island_at, plan.index[first + i], w)
            other = int(0)
            while other < 2:
                bt = 6 * c + 3 * other
                start_b = get_int(work.contact_at, bt, w)
                length_b = get_int(work.contact_at, bt + 1, w)
                first_b = get_int(work.contact_at, bt + 2, w)
                j = int(0)
                while j < length_b:
                    b = three_at(work.W, start_b + j, length_b, w)
                    column = get_int(work.island_at, plan.index[first_b + j], w)
                    if column <= row:
                        k = row * n + column
                        put(work.island_H, k, w, get(work.island_H, k, w) + wp.dot(Ga, b))
                    j += 1
                other += 1
            i += 1
        side += 1


@wp.func
def add_line(plan: Plan, work: Work, l: int, G: real, n: int, w: int):
    """H += Wᵀ G W of a line."""
    start = plan.line_start[l]
    length = plan.line_length[l]
    first = plan.line_first[l]
    i = int(0)
    while i < length:
        a = G * get(work.W, start + i, w)
        row = get_int(work.island_at, plan.index[first + i], w)
        j = int(0)
        while j < length:
            column = get_int(work.island_at, plan.index[first + j], w)
            if column <= row:
                k = row * n + column
                put(work.island_H, k, w, get(work.island_H, k, w) + a * get(work.W, start + j, w))
            j += 1
        i += 1


@wp.func
def assemble(plan: Plan, work: Work, n: int, z: array2, w: int):
    """H and minus the gradient at z, whose speeds have been measured; the direction is used as scratch."""
    k = int(0)
    while k < n * n:
        put(work.island_H, k, w, real(0.0))
        k += 1
    k = int(0)
    while k < n:
        put(work.island_H, k * n + k, w, real(1.0))
        d = get_int(work.island_dof, k, w)
        put(work.z_way, d, w, get(work.island_z, k, w) - get(z, d, w))
        k += 1
    i = int(1)
    while i <= get_int(work.island_contact, 0, w):
        c = get_int(work.island_contact, i, w)
        mu = get(work.contact_mu, 3 * c, w)
        R = weight_of(work, c, w)
        s = speed_at(work, c, real(0.0), w)
        push_contact(plan, work, c, 0, 0, cone_impulse(s, mu, R), work.z_way, w)
        add_products(plan, work, c, cone_slope(s, mu, R), n, w)
        i += 1
    i = int(1)
    while i <= get_int(work.island_line, 0, w):
        l = get_int(work.island_line, i, w)
        p, G = line_total(plan, work, l, get(work.island_l, 2 * l, w), w)
        row_add(work.W, plan.line_start[l], plan.line_length[l], plan.index, plan.line_first[l], p, work.z_way, w)
        if G > real(0.0):
            add_line(plan, work, l, G, n, w)
        i += 1
    k = int(0)
    while k < n:
        put(work.island_g, k, w, get(work.z_way, get_int(work.island_dof, k, w), w))
        k += 1


@wp.func
def solve_direction(work: Work, n: int, w: int):
    """z_way ← H⁻¹ g by Cholesky's factors, in place."""
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
        value = get(work.island_g, i, w)
        k = int(0)
        while k < i:
            value = value - get(work.island_H, i * n + k, w) * get(work.island_g, k, w)
            k += 1
        put(work.island_g, i, w, value / get(work.island_H, i * n + i, w))
        i += 1
    i = n - 1
    while i >= 0:
        value = get(work.island_g, i, w)
        k = i + 1
        while k < n:
            value = value - get(work.island_H, k * n + i, w) * get(work.island_g, k, w)
            k += 1
        put(work.island_g, i, w, value / get(work.island_H, i * n + i, w))
        put(work.z_way, get_int(work.island_dof, i, w), w, get(work.island_g, i, w))
        i -= 1


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
            if (plan.line_acts[l] & (1 << k)) != 0:
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
