"""Semismooth Newton steps on the contact problem in Delassus form (M-64).

The active set says how each impulse must change with all others: modes of contacts (open, stick, slip) are those of
the last sweep, modes of scalar rows (free, at a bound, held by friction) are computed anew by the law the sweeps follow
(M-55, M-56). One linear system is solved, and the next sweep accepts or rejects the step.
"""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Scratch
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.row_kinds import FURTHER_SCALAR_IMPULSES, SCALAR_IMPULSES, RowKind, ScalarImpulse
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.slots import BLOCK_ROWS, ContactMass, ContactMode, Mu, ScalarMode, Status
from sharnir.impulse.solve.delassus import active_scalar_count, pad_to_four, row_count, swept_scalar_row
from sharnir.impulse.solve.islands.laws import MIN_NORM
from sharnir.impulse.solve.pgs_sweep import saturated_impulse
from sharnir.kernels.columns import get, get3, get_int, put, put_int
from sharnir.kernels.dense import add_column, add_columns, extract_submatrix, factor_lu, solve_lu
from sharnir.kernels.types import real, vec3

FAINT_ROW = wp.constant(real(1.0e-6))  # of the largest diagonal of a contact: less is next to nothing
NEWTON_REGULARISATION = wp.constant(real(1.0e-5))  # of a row's diagonal, added to it: dependent rows share


@wp.func
def newton_applies(layout: wp.ref[Layout], work: wp.ref[Scratch], w: int):
    """Whether bounds and dry friction are the only kinds on the active scalar rows, and bilateral rows leave every
    contact something to move along each of its rows: else they are dependent, and Newton steps find self-stress."""
    applies = int(1)
    step = pad_to_four(row_count(work, w)) + 1
    c = int(0)
    while c < contact_count(work, w) and get_int(work.status, Status.IS_DIRECT, w) == 1:
        at = BLOCK_ROWS * c * step
        a = get(work.delassus, at, w)
        b = get(work.delassus, at + step, w)
        d = get(work.delassus, at + 2 * step, w)
        if wp.min(a, wp.min(b, d)) < FAINT_ROW * wp.max(a, wp.max(b, d)):
            applies = 0
        c += 1
    k = int(0)
    while k < active_scalar_count(work, w):
        kinds = swept_scalar_row(layout, work, get_int(work.active_scalars, 1 + k, w), w).kinds
        if (kinds & ~(RowKind.BOUND | RowKind.FRICTION)) != 0:
            applies = 0
        k += 1
    return applies == 1


@wp.func
def unprojected_impulse(work: wp.ref[Scratch], c: int, p: vec3, s: vec3, w: int):
    """Trial impulse of contact c: its normal impulse solved alone and clamped at 0, and tangential impulses after one
    step, before projection onto the cone. p: present impulses; s: velocities minus targets."""
    k = ContactMass.SIZE * c
    normal = wp.max(p[0] - s[0] * get(work.contact_mass, k + ContactMass.NORMAL, w), real(0.0))
    change = normal - p[0]
    tangent_step = get(work.contact_mass, k + ContactMass.TANGENT, w)
    a = p[1] - (s[1] + get(work.contact_mass, k + ContactMass.K_NT1, w) * change) * tangent_step
    b = p[2] - (s[2] + get(work.contact_mass, k + ContactMass.K_NT2, w) * change) * tangent_step
    return vec3(normal, a, b)


@wp.func
def scalar_mode(layout: wp.ref[Layout], work: wp.ref[Scratch], l: int, row: int, at: int, w: int):
    """Mode of scalar row l, and its friction impulse where the mode determines it. row: its place among rows; at: where
    its impulses start in row_impulse."""
    swept = swept_scalar_row(layout, work, l, w)
    kinds = swept.kinds
    K = swept.K
    friction_bound = real(0.0)
    impulse = get(work.row_impulse, at, w)
    if (kinds & RowKind.FRICTION) != 0:
        friction_bound = get(work.friction_bound, l, w)
        impulse = impulse + get(work.row_impulse, at + ScalarImpulse.FRICTION, w)
    free_velocity = get(work.row_velocity, row, w) - K * impulse
    friction = wp.clamp(-free_velocity / K, -friction_bound, friction_bound)
    velocity = free_velocity + K * friction
    mode = int(ScalarMode.FREE)
    if friction_bound > real(0.0) and wp.abs(friction) < friction_bound:
        mode = ScalarMode.FRICTION
        velocity = real(0.0)
    if (kinds & RowKind.BOUND) != 0:
        if velocity < get(work.velocity_lower, l, w):
            mode = ScalarMode.LOWER
            friction = saturated_impulse(
                wp.where(get(work.velocity_lower, l, w) == real(0.0), velocity, get(work.velocity_lower, l, w)),
                real(0.0),
                friction_bound,
            )
        elif velocity > get(work.velocity_upper, l, w):
            mode = ScalarMode.UPPER
            friction = saturated_impulse(
                wp.where(get(work.velocity_upper, l, w) == real(0.0), velocity, get(work.velocity_upper, l, w)),
                real(0.0),
                friction_bound,
            )
    return mode, friction


@wp.func
def deactivate_row(work: wp.ref[Scratch], row: int, at: int, n: int, w: int):
    """Remove a row from the active set: zero its impulse and subtract its effect from all row velocities. n: padded
    column length of A."""
    p = get(work.row_impulse, at, w)
    if p != real(0.0):
        add_column(work.delassus, row * n, n, -p, work.row_velocity, w)
        put(work.row_impulse, at, w, real(0.0))


@wp.func
def split_scalar_impulse(work: wp.ref[Scratch], mode: int, friction: real, at: int, w: int):
    """Split the impulse of a scalar row with friction by its mode: stick puts the sum on friction, otherwise friction
    gets its known value and the bound the rest."""
    bound = get(work.row_impulse, at, w)
    friction_before = get(work.row_impulse, at + ScalarImpulse.FRICTION, w)
    if mode == ScalarMode.FRICTION:
        put(work.row_impulse, at, w, real(0.0))
        put(work.row_impulse, at + ScalarImpulse.FRICTION, w, bound + friction_before)
    else:
        put(work.row_impulse, at, w, bound + friction_before - friction)
        put(work.row_impulse, at + ScalarImpulse.FRICTION, w, friction)


@wp.func
def update_active_set(layout: wp.ref[Layout], work: wp.ref[Scratch], n: int, w: int):
    """Update the active set: modes of contacts from the last sweep, those of scalar rows anew; impulses of inactive
    rows are removed. Returns 1 if no mode differs from those of the last factorisation: its LU is still valid."""
    contacts = contact_count(work, w)
    unchanged = get_int(work.status, Status.LU_VALID, w)
    c = int(0)
    while c < contacts:
        mode = get_int(work.contact_mode, c, w)
        if mode != get_int(work.newton_contact_mode, c, w):
            unchanged = 0
            put_int(work.newton_contact_mode, c, w, mode)
        c += 1
    k = int(0)
    while k < active_scalar_count(work, w):
        l = get_int(work.active_scalars, 1 + k, w)
        at = BLOCK_ROWS * contacts + SCALAR_IMPULSES * k
        mode, friction = scalar_mode(layout, work, l, BLOCK_ROWS * contacts + k, at, w)
        if mode != get_int(work.newton_scalar_mode, k, w):
            unchanged = 0
            put_int(work.newton_scalar_mode, k, w, mode)
        if (swept_scalar_row(layout, work, l, w).kinds & RowKind.FRICTION) != 0:
            split_scalar_impulse(work, mode, friction, at, w)
        k += 1
    c = int(0)
    while c < contacts:
        if get_int(work.newton_contact_mode, c, w) == ContactMode.OPEN:
            deactivate_row(work, BLOCK_ROWS * c, BLOCK_ROWS * c, n, w)
            deactivate_row(work, BLOCK_ROWS * c + 1, BLOCK_ROWS * c + 1, n, w)
            deactivate_row(work, BLOCK_ROWS * c + 2, BLOCK_ROWS * c + 2, n, w)
        c += 1
    k = int(0)
    while k < active_scalar_count(work, w):
        if get_int(work.newton_scalar_mode, k, w) == ScalarMode.FREE:
            deactivate_row(work, BLOCK_ROWS * contacts + k, BLOCK_ROWS * contacts + SCALAR_IMPULSES * k, n, w)
        k += 1
    return unchanged


@wp.func
def list_active_rows(work: wp.ref[Scratch], w: int):
    """List the rows of the active set; returns how many."""
    contacts = contact_count(work, w)
    m = int(0)
    c = int(0)
    while c < contacts:
        if get_int(work.newton_contact_mode, c, w) != ContactMode.OPEN:
            put_int(work.newton_rows, m, w, BLOCK_ROWS * c)
            put_int(work.newton_rows, m + 1, w, BLOCK_ROWS * c + 1)
            put_int(work.newton_rows, m + 2, w, BLOCK_ROWS * c + 2)
            m += BLOCK_ROWS
        c += 1
    k = int(0)
    while k < active_scalar_count(work, w):
        if get_int(work.newton_scalar_mode, k, w) != ScalarMode.FREE:
            put_int(work.newton_rows, m, w, BLOCK_ROWS * contacts + k)
            m += 1
        k += 1
    return m


@wp.func
def assemble_active_system(work: wp.ref[Scratch], m: int, n: int, w: int):
    """Assemble the matrix of the Newton system over the m active rows, columns padded to fours: the submatrix of A,
    slightly regularised, with slip rows linearised (M-64). n: padded column length of A."""
    contacts = contact_count(work, w)
    stride = pad_to_four(m)
    contact_row_total = int(0)
    while contact_row_total < m and get_int(work.newton_rows, contact_row_total, w) < BLOCK_ROWS * contacts:
        contact_row_total += BLOCK_ROWS
    extract_submatrix(work.delassus, n, work.newton_rows, contact_row_total, m, work.newton_lu, stride, w)
    j = int(0)
    while j < m:
        at = j * stride + j
        put(work.newton_lu, at, w, get(work.newton_lu, at, w) * (real(1.0) + NEWTON_REGULARISATION))
        j += 1
    i = int(0)
    while i < m:
        row = get_int(work.newton_rows, i, w)
        if row < BLOCK_ROWS * contacts:
            if get_int(work.newton_contact_mode, row / BLOCK_ROWS, w) == ContactMode.SLIP:
                linearise_slip_rows(work, row / BLOCK_ROWS, i, m, stride, w)
            i += BLOCK_ROWS
        else:
            i += 1


@wp.func
def linearise_slip_rows(work: wp.ref[Scratch], c: int, i: int, m: int, stride: int, w: int):
    """Replace the two tangential rows i + 1, i + 2 of slipping contact c in the Newton matrix by the derivative of p_t
    − μ p_n y/|y|, divided by the tangential step (M-64)."""
    p = get3(work.row_impulse, c, w)
    s = get3(work.row_velocity, c, w) - get3(work.contact_target, c, w)
    y = unprojected_impulse(work, c, p, s, w)
    mu = get(work.contact_mu, Mu.SIZE * c, w)
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
        f = get(work.newton_lu, at + 1, w)
        g = get(work.newton_lu, at + 2, w)
        put(work.newton_lu, at + 1, w, xx * f + xy * g)
        put(work.newton_lu, at + 2, w, xy * f + yy * g)
        j += 1
    inverse_step = real(1.0) / get(work.contact_mass, ContactMass.SIZE * c + ContactMass.TANGENT, w)
    at = i * stride + i
    add_entry(work, at + 1, -inverse_step * mu * a, w)
    add_entry(work, at + 2, -inverse_step * mu * b, w)
    add_entry(work, at + stride + 1, inverse_step * (real(1.0) - xx), w)
    add_entry(work, at + stride + 2, -inverse_step * xy, w)
    add_entry(work, at + 2 * stride + 1, -inverse_step * xy, w)
    add_entry(work, at + 2 * stride + 2, inverse_step * (real(1.0) - yy), w)


@wp.func
def add_entry(work: wp.ref[Scratch], at: int, value: real, w: int):
    """Add a value to an entry of the Newton matrix."""
    put(work.newton_lu, at, w, get(work.newton_lu, at, w) + value)


@wp.func
def set_newton_rhs(work: wp.ref[Scratch], m: int, w: int):
    """Right-hand side of the Newton system: velocity errors of the active rows, and for slip the distance from the cone
    (M-64)."""
    contacts = contact_count(work, w)
    i = int(0)
    while i < m:
        row = get_int(work.newton_rows, i, w)
        if row < BLOCK_ROWS * contacts:
            c = row / BLOCK_ROWS
            p = get3(work.row_impulse, c, w)
            s = get3(work.row_velocity, c, w) - get3(work.contact_target, c, w)
            rhs = -s
            if get_int(work.newton_contact_mode, c, w) == ContactMode.SLIP:
                y = unprojected_impulse(work, c, p, s, w)
                scale = get(work.contact_mu, Mu.SIZE * c, w) * p[0] / (wp.sqrt(y[1] * y[1] + y[2] * y[2]) + MIN_NORM)
                inverse_step = real(1.0) / get(work.contact_mass, ContactMass.SIZE * c + ContactMass.TANGENT, w)
                rhs = vec3(-s[0], inverse_step * (scale * y[1] - p[1]), inverse_step * (scale * y[2] - p[2]))
            put(work.newton_rhs, i, w, rhs[0])
            put(work.newton_rhs, i + 1, w, rhs[1])
            put(work.newton_rhs, i + 2, w, rhs[2])
            i += BLOCK_ROWS
        else:
            k = row - BLOCK_ROWS * contacts
            l = get_int(work.active_scalars, 1 + k, w)
            target = get(work.velocity_lower, l, w)
            if get_int(work.newton_scalar_mode, k, w) == ScalarMode.UPPER:
                target = get(work.velocity_upper, l, w)
            elif get_int(work.newton_scalar_mode, k, w) == ScalarMode.FRICTION:
                target = real(0.0)
            put(work.newton_rhs, i, w, target - get(work.row_velocity, row, w))
            i += 1


@wp.func
def newton_step(layout: wp.ref[Layout], work: wp.ref[Scratch], w: int):
    """One semismooth Newton step: impulses and velocities of all rows ← those of the linear system of the active set
    (M-64). The LU factors are kept while the active set does not change."""
    n = pad_to_four(row_count(work, w))
    contacts = contact_count(work, w)
    unchanged = update_active_set(layout, work, n, w)
    m = list_active_rows(work, w)
    if m > 0:
        if unchanged == 0:
            assemble_active_system(work, m, n, w)
            factor_lu(work.newton_lu, m, pad_to_four(m), w)
            put_int(work.status, Status.LU_VALID, w, 1)
        set_newton_rhs(work, m, w)
        solve_lu(work.newton_lu, work.newton_rhs, m, pad_to_four(m), w)
        i = int(0)
        while i < m:
            row = get_int(work.newton_rows, i, w)
            at = row
            if row >= BLOCK_ROWS * contacts:
                at = row + FURTHER_SCALAR_IMPULSES * (row - BLOCK_ROWS * contacts)
                if get_int(work.newton_scalar_mode, row - BLOCK_ROWS * contacts, w) == ScalarMode.FRICTION:
                    at += ScalarImpulse.FRICTION
            put(work.row_impulse, at, w, get(work.row_impulse, at, w) + get(work.newton_rhs, i, w))
            i += 1
        add_columns(work.delassus, n, work.newton_rows, m, work.newton_rhs, work.row_velocity, w)
