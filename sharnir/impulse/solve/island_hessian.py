"""The linear system of a step of Newton's method on an island (M-61)."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import CONTACT_K, Work
from sharnir.impulse.layout.layout import Plan
from sharnir.impulse.rows.contact_frame import contact_product, contact_speed, push_contact
from sharnir.impulse.solve.regularised_laws import SOFTNESS, cone_impulse, cone_slope, line_total
from sharnir.kernels.columns import get, get3, get_int, put
from sharnir.kernels.types import array2, mat33, real, vec3
from sharnir.kernels.vector_ops import row_add, row_dot


@wp.func
def weight_of(work: Work, c: int, w: int):
    """R of contact c."""
    inverse = get(work.contact_K, CONTACT_K * c + 9, w)
    return SOFTNESS * wp.where(inverse > real(0.0), real(1.0) / inverse, real(1.0))


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
