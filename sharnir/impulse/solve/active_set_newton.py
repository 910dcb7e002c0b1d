"""Newton's method on few rows, where sweeps are slow: all that sticks, slides or is held at once (M-64).

What each row does, open, sticking, sliding or held, is taken from the law that sweeps follow (M-55, M-56), which says
how its impulse must change with all others; one linear system, and a sweep looks whether it was right.
"""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import CONTACT_K, FACTORED, Work
from sharnir.impulse.layout.layout import Plan
from sharnir.impulse.row_kinds import FRICTION, HOLD
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.solve.coulomb_cone import OPEN, SLIDES
from sharnir.impulse.solve.delassus import line_count, padded, row_count
from sharnir.impulse.solve.pgs_sweep import bounded
from sharnir.impulse.solve.regularised_laws import LEAST
from sharnir.kernels.columns import get, get3, get_int, put, put_int
from sharnir.kernels.dense import add_column, add_columns, choose, eliminate, substitute
from sharnir.kernels.types import real, vec3

FREE, LOWER, UPPER, RUBS = range(4)  # what a line does: moves, with friction or without; held at a bound; by friction
GIVE = wp.constant(real(1.0e-5))  # of a row's weight, to its change of impulse: rows that imply each other share it


@wp.func
def leaps_allowed(plan: Plan, work: Work, w: int):
    """Whether limits and dry friction are all that acts on the lines."""
    only = int(1)
    k = int(0)
    while k < line_count(work, w):
        if (plan.line_acts[get_int(work.lively, 1 + k, w)] & ~(HOLD | FRICTION)) != 0:
            only = 0
        k += 1
    return only == 1


@wp.func
def sideways(work: Work, c: int, p: vec3, s: vec3, w: int):
    """Normal impulse of contact c alone, and what its tangents would have without the cone."""
    k = CONTACT_K * c
    normal = wp.max(p[0] - s[0] * get(work.contact_K, k + 9, w), real(0.0))
    change = normal - p[0]
    step = get(work.contact_K, k + 10, w)
    a = p[1] - (s[1] + get(work.contact_K, k + 11, w) * change) * step
    b = p[2] - (s[2] + get(work.contact_K, k + 12, w) * change) * step
    return vec3(normal, a, b)


@wp.func
def deed_of_line(plan: Plan, work: Work, l: int, row: int, at: int, w: int):
    """What line l does, and the impulse of its friction where that is known."""
    acts = plan.line_acts[l]
    K = get(work.K, l, w)
    most = real(0.0)
    total = get(work.row_p, at, w)
    if (acts & FRICTION) != 0:
        most = get(work.friction, l, w)
        total = total + get(work.row_p, at + 1, w)
    free = get(work.row_s, row, w) - K * total
    rub = wp.clamp(-free / K, -most, most)
    speed = free + K * rub
    deed = int(FREE)
    if most > real(0.0) and wp.abs(rub) < most:
        deed = RUBS
        speed = real(0.0)
    if (acts & HOLD) != 0:
        if speed < get(work.lower, l, w):
            deed = LOWER
            rub = bounded(wp.where(get(work.lower, l, w) == real(0.0), speed, get(work.lower, l, w)), real(0.0), most)
        elif speed > get(work.upper, l, w):
            deed = UPPER
            rub = bounded(wp.where(get(work.upper, l, w) == real(0.0), speed, get(work.upper, l, w)), real(0.0), most)
    return deed, rub


@wp.func
def give_up(work: Work, row: int, at: int, n: int, w: int):
    """A row that does not act has no impulse."""
    p = get(work.row_p, at, w)
    if p != real(0.0):
        add_column(work.answer, row * n, n, -p, work.row_s, w)
        put(work.row_p, at, w, real(0.0))


@wp.func
def share_line(work: Work, deed: int, rub: real, at: int, w: int):
    """Impulses of a line with friction: of friction that is known, and the rest of their sum in the place of what is
    yet to be found."""
    hold = get(work.row_p, at, w)
    before = get(work.row_p, at + 1, w)
    if deed == RUBS:
        put(work.row_p, at, w, real(0.0))
        put(work.row_p, at + 1, w, hold + before)
    else:
        put(work.row_p, at, w, hold + before - rub)
        put(work.row_p, at + 1, w, rub)


@wp.func
def note_deeds(plan: Plan, work: Work, n: int, w: int):
    """What every row does; those that do not act give up their impulses. Returns whether all do what they did when the
    system was last factored."""
    contacts = contact_count(work, w)
    same = get_int(work.flow, FACTORED, w)
    c = int(0)
    while c < contacts:
        deed = get_int(work.deed, c, w)
        if deed != get_int(work.island_contact, c, w):
            same = 0
            put_int(work.island_contact, c, w, deed)
        c += 1
    k = int(0)
    while k < line_count(work, w):
        l = get_int(work.lively, 1 + k, w)
        at = 3 * contacts + 4 * k
        deed, rub = deed_of_line(plan, work, l, 3 * contacts + k, at, w)
        if deed != get_int(work.island_line, k, w):
            same = 0
            put_int(work.island_line, k, w, deed)
        if (plan.line_acts[l] & FRICTION) != 0:
            share_line(work, deed, rub, at, w)
        k += 1
    c = int(0)
    while c < contacts:
        if get_int(work.island_contact, c, w) == OPEN:
            give_up(work, 3 * c, 3 * c, n, w)
            give_up(work, 3 * c + 1, 3 * c + 1, n, w)
            give_up(work, 3 * c + 2, 3 * c + 2, n, w)
        c += 1
    k = int(0)
    while k < line_count(work, w):
        if get_int(work.island_line, k, w) == FREE:
            give_up(work, 3 * contacts + k, 3 * contacts + 4 * k, n, w)
        k += 1
    return same


@wp.func
def list_acting(work: Work, w: int):
    """Rows that act; how many."""
    contacts = contact_count(work, w)
    m = int(0)
    c = int(0)
    while c < contacts:
        if get_int(work.island_contact, c, w) != OPEN:
            put_int(work.island_dof, m, w, 3 * c)
            put_int(work.island_dof, m + 1, w, 3 * c + 1)
            put_int(work.island_dof, m + 2, w, 3 * c + 2)
            m += 3
        c += 1
    k = int(0)
    while k < line_count(work, w):
        if get_int(work.island_line, k, w) != FREE:
            put_int(work.island_dof, m, w, 3 * contacts + k)
            m += 1
        k += 1
    return m


@wp.func
def set_up(work: Work, m: int, n: int, w: int):
    """The system of the rows that act, by columns padded to fours."""
    contacts = contact_count(work, w)
    stride = padded(m)
    threes = int(0)
    while threes < m and get_int(work.island_dof, threes, w) < 3 * contacts:
        threes += 3
    choose(work.answer, n, work.island_dof, threes, m, work.island_H, stride, w)
    j = int(0)
    while j < m:
        at = j * stride + j
        put(work.island_H, at, w, get(work.island_H, at, w) * (real(1.0) + GIVE))
        j += 1
    i = int(0)
    while i < m:
        row = get_int(work.island_dof, i, w)
        if row < 3 * contacts:
            if get_int(work.island_contact, row / 3, w) == SLIDES:
                bend_rows(work, row / 3, i, m, stride, w)
            i += 3
        else:
            i += 1


@wp.func
def bend_rows(work: Work, c: int, i: int, m: int, stride: int, w: int):
    """The rows of the tangents of contact c, which slides, at i + 1 and i + 2 of the system: the change of
    p_t − μ p_n y/|y|, over the tangents' step."""
    p = get3(work.row_p, c, w)
    s = get3(work.row_s, c, w) - get3(work.contact_target, c, w)
    y = sideways(work, c, p, s, w)
    mu = get(work.contact_mu, 3 * c, w)
    size = wp.sqrt(y[1] * y[1] + y[2] * y[2]) + LEAST
    a = y[1] / size
    b = y[2] / size
    turn = mu * y[0] / size
    xx = turn * b * b
    xy = -turn * a * b
    yy = turn * a * a
    j = int(0)
    while j < m:
        at = j * stride + i
        f = get(work.island_H, at + 1, w)
        g = get(work.island_H, at + 2, w)
        put(work.island_H, at + 1, w, xx * f + xy * g)
        put(work.island_H, at + 2, w, xy * f + yy * g)
        j += 1
    weight = real(1.0) / get(work.contact_K, CONTACT_K * c + 10, w)
    at = i * stride + i
    add_entry(work, at + 1, -weight * mu * a, w)
    add_entry(work, at + 2, -weight * mu * b, w)
    add_entry(work, at + stride + 1, weight * (real(1.0) - xx), w)
    add_entry(work, at + stride + 2, -weight * xy, w)
    add_entry(work, at + 2 * stride + 1, -weight * xy, w)
    add_entry(work, at + 2 * stride + 2, weight * (real(1.0) - yy), w)


@wp.func
def add_entry(work: Work, at: int, value: real, w: int):
    put(work.island_H, at, w, get(work.island_H, at, w) + value)


@wp.func
def set_lack(work: Work, m: int, w: int):
    """What the rows that act lack."""
    contacts = contact_count(work, w)
    i = int(0)
    while i < m:
        row = get_int(work.island_dof, i, w)
        if row < 3 * contacts:
            c = row / 3
            p = get3(work.row_p, c, w)
            s = get3(work.row_s, c, w) - get3(work.contact_target, c, w)
            lack = -s
            if get_int(work.island_contact, c, w) == SLIDES:
                y = sideways(work, c, p, s, w)
                scale = get(work.contact_mu, 3 * c, w) * p[0] / (wp.sqrt(y[1] * y[1] + y[2] * y[2]) + LEAST)
                weight = real(1.0) / get(work.contact_K, CONTACT_K * c + 10, w)
                lack = vec3(-s[0], weight * (scale * y[1] - p[1]), weight * (scale * y[2] - p[2]))
            put(work.island_g, i, w, lack[0])
            put(work.island_g, i + 1, w, lack[1])
            put(work.island_g, i + 2, w, lack[2])
            i += 3
        else:
            k = row - 3 * contacts
            l = get_int(work.lively, 1 + k, w)
            bound = get(work.lower, l, w)
            if get_int(work.island_line, k, w) == UPPER:
                bound = get(work.upper, l, w)
            elif get_int(work.island_line, k, w) == RUBS:
                bound = real(0.0)
            put(work.island_g, i, w, bound - get(work.row_s, row, w))
            i += 1


@wp.func
def leap(plan: Plan, work: Work, w: int):
    """Impulses and speeds of all rows ← after a step of Newton's method."""
    n = padded(row_count(work, w))
    contacts = contact_count(work, w)
    same = note_deeds(plan, work, n, w)
    m = list_acting(work, w)
    if m > 0:
        if same == 0:
            set_up(work, m, n, w)
            eliminate(work.island_H, m, padded(m), w)
            put_int(work.flow, FACTORED, w, 1)
        set_lack(work, m, w)
        substitute(work.island_H, work.island_g, m, padded(m), w)
        i = int(0)
        while i < m:
            row = get_int(work.island_dof, i, w)
            at = row
            if row >= 3 * contacts:
                at = row + 3 * (row - 3 * contacts)
                if get_int(work.island_line, row - 3 * contacts, w) == RUBS:
                    at += 1
            put(work.row_p, at, w, get(work.row_p, at, w) + get(work.island_g, i, w))
            i += 1
        add_columns(work.answer, n, work.island_dof, m, work.island_g, work.row_s, w)
