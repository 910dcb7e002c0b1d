"""Newton's method on few rows, where sweeps are slow: all that sticks, slides or is held at once (M-64).

What each row does, open, sticking, sliding or held, is taken from the law that sweeps follow (M-55, M-56), which says
how its impulse must change with all others; one linear system, and a sweep looks whether it was right.
"""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import CONTACT_MASS_SIZE, LU_VALID, Scratch
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.row_kinds import BOUND, FRICTION
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.solve.coulomb_cone import OPEN, SLIDES
from sharnir.impulse.solve.delassus import active_scalar_count, pad_to_four, row_count
from sharnir.impulse.solve.pgs_sweep import saturated_impulse
from sharnir.impulse.solve.regularised_laws import MIN_NORM
from sharnir.kernels.columns import get, get3, get_int, put, put_int
from sharnir.kernels.dense import add_column, add_columns, extract_submatrix, factor_lu, solve_lu
from sharnir.kernels.types import real, vec3

FREE, LOWER, UPPER, RUBS = range(4)  # what a line does: moves, with friction or without; held at a bound; by friction
NEWTON_REGULARISATION = wp.constant(
    real(1.0e-5)
)  # of a row's weight, to its change of impulse: rows that imply each other share it


@wp.func
def newton_applies(plan: Layout, work: Scratch, w: int):
    """Whether limits and dry friction are all that acts on the lines."""
    applies = int(1)
    k = int(0)
    while k < active_scalar_count(work, w):
        if (plan.scalar_row_kinds[get_int(work.active_scalars, 1 + k, w)] & ~(BOUND | FRICTION)) != 0:
            applies = 0
        k += 1
    return applies == 1


@wp.func
def unprojected_impulse(work: Scratch, c: int, p: vec3, s: vec3, w: int):
    """Normal impulse of contact c alone, and what its tangents would have without the cone."""
    k = CONTACT_MASS_SIZE * c
    normal = wp.max(p[0] - s[0] * get(work.contact_mass, k + 9, w), real(0.0))
    change = normal - p[0]
    tangent_step = get(work.contact_mass, k + 10, w)
    a = p[1] - (s[1] + get(work.contact_mass, k + 11, w) * change) * tangent_step
    b = p[2] - (s[2] + get(work.contact_mass, k + 12, w) * change) * tangent_step
    return vec3(normal, a, b)


@wp.func
def scalar_mode(plan: Layout, work: Scratch, l: int, row: int, at: int, w: int):
    """What line l does, and the impulse of its friction where that is known."""
    kinds = plan.scalar_row_kinds[l]
    K = get(work.scalar_K, l, w)
    friction_bound = real(0.0)
    impulse = get(work.row_impulse, at, w)
    if (kinds & FRICTION) != 0:
        friction_bound = get(work.friction_bound, l, w)
        impulse = impulse + get(work.row_impulse, at + 1, w)
    free_velocity = get(work.row_velocity, row, w) - K * impulse
    friction = wp.clamp(-free_velocity / K, -friction_bound, friction_bound)
    velocity = free_velocity + K * friction
    mode = int(FREE)
    if friction_bound > real(0.0) and wp.abs(friction) < friction_bound:
        mode = RUBS
        velocity = real(0.0)
    if (kinds & BOUND) != 0:
        if velocity < get(work.velocity_lower, l, w):
            mode = LOWER
            friction = saturated_impulse(
                wp.where(get(work.velocity_lower, l, w) == real(0.0), velocity, get(work.velocity_lower, l, w)),
                real(0.0),
                friction_bound,
            )
        elif velocity > get(work.velocity_upper, l, w):
            mode = UPPER
            friction = saturated_impulse(
                wp.where(get(work.velocity_upper, l, w) == real(0.0), velocity, get(work.velocity_upper, l, w)),
                real(0.0),
                friction_bound,
            )
    return mode, friction


@wp.func
def deactivate_row(work: Scratch, row: int, at: int, n: int, w: int):
    """A row that does not act has no impulse."""
    p = get(work.row_impulse, at, w)
    if p != real(0.0):
        add_column(work.delassus, row * n, n, -p, work.row_velocity, w)
        put(work.row_impulse, at, w, real(0.0))


@wp.func
def split_scalar_impulse(work: Scratch, mode: int, friction: real, at: int, w: int):
    """Impulses of a line with friction: of friction that is known, and the rest of their sum in the place of what is
    yet to be found."""
    bound = get(work.row_impulse, at, w)
    friction_before = get(work.row_impulse, at + 1, w)
    if mode == RUBS:
        put(work.row_impulse, at, w, real(0.0))
        put(work.row_impulse, at + 1, w, bound + friction_before)
    else:
        put(work.row_impulse, at, w, bound + friction_before - friction)
        put(work.row_impulse, at + 1, w, friction)


@wp.func
def update_active_set(plan: Layout, work: Scratch, n: int, w: int):
    """What every row does; those that do not act give up their impulses. Returns whether all do what they did when the
    system was last factored."""
    contacts = contact_count(work, w)
    unchanged = get_int(work.status, LU_VALID, w)
    c = int(0)
    while c < contacts:
        mode = get_int(work.contact_mode, c, w)
        if mode != get_int(work.island_contacts, c, w):
            unchanged = 0
            put_int(work.island_contacts, c, w, mode)
        c += 1
    k = int(0)
    while k < active_scalar_count(work, w):
        l = get_int(work.active_scalars, 1 + k, w)
        at = 3 * contacts + 4 * k
        mode, friction = scalar_mode(plan, work, l, 3 * contacts + k, at, w)
        if mode != get_int(work.island_scalars, k, w):
            unchanged = 0
            put_int(work.island_scalars, k, w, mode)
        if (plan.scalar_row_kinds[l] & FRICTION) != 0:
            split_scalar_impulse(work, mode, friction, at, w)
        k += 1
    c = int(0)
    while c < contacts:
        if get_int(work.island_contacts, c, w) == OPEN:
            deactivate_row(work, 3 * c, 3 * c, n, w)
            deactivate_row(work, 3 * c + 1, 3 * c + 1, n, w)
            deactivate_row(work, 3 * c + 2, 3 * c + 2, n, w)
        c += 1
    k = int(0)
    while k < active_scalar_count(work, w):
        if get_int(work.island_scalars, k, w) == FREE:
            deactivate_row(work, 3 * contacts + k, 3 * contacts + 4 * k, n, w)
        k += 1
    return unchanged


@wp.func
def list_active_rows(work: Scratch, w: int):
    """Rows that act; how many."""
    contacts = contact_count(work, w)
    m = int(0)
    c = int(0)
    while c < contacts:
        if get_int(work.island_contacts, c, w) != OPEN:
            put_int(work.island_dofs, m, w, 3 * c)
            put_int(work.island_dofs, m + 1, w, 3 * c + 1)
            put_int(work.island_dofs, m + 2, w, 3 * c + 2)
            m += 3
        c += 1
    k = int(0)
    while k < active_scalar_count(work, w):
        if get_int(work.island_scalars, k, w) != FREE:
            put_int(work.island_dofs, m, w, 3 * contacts + k)
            m += 1
        k += 1
    return m


@wp.func
def assemble_active_system(work: Scratch, m: int, n: int, w: int):
    """The system of the rows that act, by columns padded to fours."""
    contacts = contact_count(work, w)
    stride = pad_to_four(m)
    contact_row_total = int(0)
    while contact_row_total < m and get_int(work.island_dofs, contact_row_total, w) < 3 * contacts:
        contact_row_total += 3
    extract_submatrix(work.delassus, n, work.island_dofs, contact_row_total, m, work.island_H, stride, w)
    j = int(0)
    while j < m:
        at = j * stride + j
        put(work.island_H, at, w, get(work.island_H, at, w) * (real(1.0) + NEWTON_REGULARISATION))
        j += 1
    i = int(0)
    while i < m:
        row = get_int(work.island_dofs, i, w)
        if row < 3 * contacts:
            if get_int(work.island_contacts, row / 3, w) == SLIDES:
                linearise_slip_rows(work, row / 3, i, m, stride, w)
            i += 3
        else:
            i += 1


@wp.func
def linearise_slip_rows(work: Scratch, c: int, i: int, m: int, stride: int, w: int):
    """The rows of the tangents of contact c, which slides, at i + 1 and i + 2 of the system: the change of
    p_t − μ p_n y/|y|, over the tangents' step."""
    p = get3(work.row_impulse, c, w)
    s = get3(work.row_velocity, c, w) - get3(work.contact_target, c, w)
    y = unprojected_impulse(work, c, p, s, w)
    mu = get(work.contact_mu, 3 * c, w)
    norm = wp.sqrt(y[1] * y[1] + y[2] * y[2]) + MIN_NORM
    a = y[1] / norm
    b = y[2] / norm
    ratio = mu * y[0] / norm
    xx = ratio * b * b
    xy = -ratio * a * b
    yy = ratio * a * a
    j = int(0)
    while j < m:
        at = j * stride + i
        f = get(work.island_H, at + 1, w)
        g = get(work.island_H, at + 2, w)
        put(work.island_H, at + 1, w, xx * f + xy * g)
        put(work.island_H, at + 2, w, xy * f + yy * g)
        j += 1
    inverse_step = real(1.0) / get(work.contact_mass, CONTACT_MASS_SIZE * c + 10, w)
    at = i * stride + i
    add_entry(work, at + 1, -inverse_step * mu * a, w)
    add_entry(work, at + 2, -inverse_step * mu * b, w)
    add_entry(work, at + stride + 1, inverse_step * (real(1.0) - xx), w)
    add_entry(work, at + stride + 2, -inverse_step * xy, w)
    add_entry(work, at + 2 * stride + 1, -inverse_step * xy, w)
    add_entry(work, at + 2 * stride + 2, inverse_step * (real(1.0) - yy), w)


@wp.func
def add_entry(work: Scratch, at: int, value: real, w: int):
    put(work.island_H, at, w, get(work.island_H, at, w) + value)


@wp.func
def set_newton_rhs(work: Scratch, m: int, w: int):
    """What the rows that act lack."""
    contacts = contact_count(work, w)
    i = int(0)
    while i < m:
        row = get_int(work.island_dofs, i, w)
        if row < 3 * contacts:
            c = row / 3
            p = get3(work.row_impulse, c, w)
            s = get3(work.row_velocity, c, w) - get3(work.contact_target, c, w)
            rhs = -s
            if get_int(work.island_contacts, c, w) == SLIDES:
                y = unprojected_impulse(work, c, p, s, w)
                scale = get(work.contact_mu, 3 * c, w) * p[0] / (wp.sqrt(y[1] * y[1] + y[2] * y[2]) + MIN_NORM)
                inverse_step = real(1.0) / get(work.contact_mass, CONTACT_MASS_SIZE * c + 10, w)
                rhs = vec3(-s[0], inverse_step * (scale * y[1] - p[1]), inverse_step * (scale * y[2] - p[2]))
            put(work.island_gradient, i, w, rhs[0])
            put(work.island_gradient, i + 1, w, rhs[1])
            put(work.island_gradient, i + 2, w, rhs[2])
            i += 3
        else:
            k = row - 3 * contacts
            l = get_int(work.active_scalars, 1 + k, w)
            target = get(work.velocity_lower, l, w)
            if get_int(work.island_scalars, k, w) == UPPER:
                target = get(work.velocity_upper, l, w)
            elif get_int(work.island_scalars, k, w) == RUBS:
                target = real(0.0)
            put(work.island_gradient, i, w, target - get(work.row_velocity, row, w))
            i += 1


@wp.func
def newton_step(plan: Layout, work: Scratch, w: int):
    """Impulses and speeds of all rows ← after a step of Newton's method."""
    n = pad_to_four(row_count(work, w))
    contacts = contact_count(work, w)
    unchanged = update_active_set(plan, work, n, w)
    m = list_active_rows(work, w)
    if m > 0:
        if unchanged == 0:
            assemble_active_system(work, m, n, w)
            factor_lu(work.island_H, m, pad_to_four(m), w)
            put_int(work.status, LU_VALID, w, 1)
        set_newton_rhs(work, m, w)
        solve_lu(work.island_H, work.island_gradient, m, pad_to_four(m), w)
        i = int(0)
        while i < m:
            row = get_int(work.island_dofs, i, w)
            at = row
            if row >= 3 * contacts:
                at = row + 3 * (row - 3 * contacts)
                if get_int(work.island_scalars, row - 3 * contacts, w) == RUBS:
                    at += 1
            put(work.row_impulse, at, w, get(work.row_impulse, at, w) + get(work.island_gradient, i, w))
            i += 1
        add_columns(work.delassus, n, work.island_dofs, m, work.island_gradient, work.row_velocity, w)
