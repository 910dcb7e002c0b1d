"""Sweeps over few rows: their speeds answer impulses by the matrix A = W Wᵀ, z follows at the end (M-63).

A sweep through z waits for every row's product with it. Of some twenty contacts at most A is small, its columns are
contiguous, and a row's speed is there when its turn comes: three times as fast. Rows are those of the contacts, three
each, then the lines that act, one each; impulses stand in the same order, four of each line.
"""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import ANSWERS, CONTACT_K, FACTORED, Work
from sharnir.impulse.layout.layout import MOST_ROWS, Plan
from sharnir.impulse.row_kinds import CONTACT_P
from sharnir.impulse.rows.contact_frame import contact_count, contact_product, push_contact
from sharnir.impulse.solve.coulomb_cone import sweep_cone
from sharnir.impulse.solve.islands import LIGHT
from sharnir.impulse.solve.pgs_sweep import change_line, list_lines
from sharnir.kernels.columns import get, get3, get_int, put, put_int
from sharnir.kernels.dense import add_column, product_with, put_answers, spread
from sharnir.kernels.types import array2, real
from sharnir.kernels.vector_ops import row_add, row_dot

CONTRADICTION = wp.constant(real(1.0e-5))
UNKNOWN, KNOWN, MANY = range(3)  # of A: rows have changed; it is there; there are too many rows for it


@wp.func
def line_count(work: Work, w: int):
    return get_int(work.lively, 0, w)


@wp.func
def row_count(work: Work, w: int):
    return 3 * contact_count(work, w) + line_count(work, w)


@wp.func
def padded(rows: int):
    """Rows of a column of A: a multiple of four."""
    return (rows + 3) & ~3


@wp.func
def few_rows(plan: Plan, work: Work, w: int):
    """Whether the rows are few enough; A ← W Wᵀ if they are and it is not known yet."""
    if get_int(work.flow, ANSWERS, w) == UNKNOWN:
        list_lines(plan, work, 0, w)
        contacts = contact_count(work, w)
        rows = row_count(work, w)
        known = int(KNOWN)
        if contacts == 0 or rows > MOST_ROWS:
            known = MANY
        else:
            c = int(0)
            while c < contacts:
                if get_int(work.contact_rows, c, w) != 3:
                    known = MANY
                c += 1
        if known == KNOWN:
            find_answers(plan, work, contacts, rows, w)
        put_int(work.flow, ANSWERS, w, known)
        put_int(work.flow, FACTORED, w, 0)
    return get_int(work.flow, ANSWERS, w) == KNOWN


@wp.func
def spread_contact(plan: Plan, work: Work, c: int, sign: real, w: int):
    """Rows of contact c, side by side, to the dense scratch; sign 0 clears it."""
    side = int(0)
    while side < 2:
        at = 6 * c + 3 * side
        start = get_int(work.contact_at, at, w)
        length = get_int(work.contact_at, at + 1, w)
        first = get_int(work.contact_at, at + 2, w)
        spread(work.W, start, length, 3, plan.index, first, sign, work.dense, w)
        side += 1


@wp.func
def spread_line(plan: Plan, work: Work, l: int, sign: real, w: int):
    spread(work.W, plan.line_start[l], plan.line_length[l], 1, plan.index, plan.line_first[l], sign, work.dense, w)


@wp.func
def answer_of_line(plan: Plan, work: Work, l: int, w: int):
    return product_with(
        work.W, plan.line_start[l], plan.line_length[l], plan.index, plan.line_first[l], work.dense, w
    )  # fmt: skip


@wp.func
def find_answers(plan: Plan, work: Work, contacts: int, rows: int, w: int):
    """A ← W Wᵀ, by columns."""
    n = padded(rows)
    c = int(0)
    while c < contacts:
        spread_contact(plan, work, c, real(1.0), w)
        put_answers(work.W, work.contact_at, plan.index, work.dense, c, work.answer, n, w)
        k = int(0)
        while k < line_count(work, w):
            l = get_int(work.lively, 1 + k, w)
            row = 3 * contacts + k
            three = answer_of_line(plan, work, l, w)
            j = int(0)
            while j < 3:
                put(work.answer, (3 * c + j) * n + row, w, three[j])
                put(work.answer, row * n + 3 * c + j, w, three[j])
                j += 1
            k += 1
        spread_contact(plan, work, c, real(0.0), w)
        c += 1
    answers_of_lines(plan, work, contacts, n, w)


@wp.func
def answers_of_lines(plan: Plan, work: Work, contacts: int, n: int, w: int):
    """A of lines to each other."""
    k = int(0)
    while k < line_count(work, w):
        l = get_int(work.lively, 1 + k, w)
        spread_line(plan, work, l, real(1.0), w)
        row = 3 * contacts + k
        i = int(0)
        while i <= k:
            three = answer_of_line(plan, work, get_int(work.lively, 1 + i, w), w)
            put(work.answer, row * n + 3 * contacts + i, w, three[0])
            put(work.answer, (3 * contacts + i) * n + row, w, three[0])
            i += 1
        spread_line(plan, work, l, real(0.0), w)
        k += 1


@wp.func
def load_rows(plan: Plan, work: Work, z: array2, p: array2, w: int):
    """Speeds and impulses of all rows; how many impulses."""
    contacts = contact_count(work, w)
    c = int(0)
    while c < contacts:
        s = contact_product(plan, work, c, 0, 0, z, w)
        at = plan.first_contact + CONTACT_P * c
        k = int(0)
        while k < 3:
            put(work.row_s, 3 * c + k, w, s[k])
            put(work.row_p, 3 * c + k, w, get(p, at + k, w))
            put(work.p_start, 3 * c + k, w, get(p, at + k, w))
            k += 1
        c += 1
    k = int(0)
    while k < line_count(work, w):
        l = get_int(work.lively, 1 + k, w)
        speed = row_dot(work.W, plan.line_start[l], plan.line_length[l], plan.index, plan.line_first[l], z, w)
        put(work.row_s, 3 * contacts + k, w, speed)
        at = 3 * contacts + 4 * k
        j = int(0)
        while j < 4:
            put(work.row_p, at + j, w, get(p, plan.first_line + 4 * l + j, w))
            put(work.p_start, at + j, w, get(p, plan.first_line + 4 * l + j, w))
            j += 1
        k += 1
    k = row_count(work, w)
    while k < padded(row_count(work, w)):
        put(work.row_s, k, w, real(0.0))
        k += 1
    return 3 * contacts + 4 * line_count(work, w)


@wp.func
def unload_rows(plan: Plan, work: Work, z: array2, p: array2, w: int):
    """Impulses of all rows, and what they did to z."""
    contacts = contact_count(work, w)
    c = int(0)
    while c < contacts:
        three = get3(work.row_p, c, w)
        at = plan.first_contact + CONTACT_P * c
        put(p, at, w, three[0])
        put(p, at + 1, w, three[1])
        put(p, at + 2, w, three[2])
        push_contact(plan, work, c, 0, 0, three - get3(work.p_start, c, w), z, w)
        c += 1
    k = int(0)
    while k < line_count(work, w):
        l = get_int(work.lively, 1 + k, w)
        at = 3 * contacts + 4 * k
        change = real(0.0)
        j = int(0)
        while j < 4:
            new = get(work.row_p, at + j, w)
            change = change + (new - get(work.p_start, at + j, w))
            put(p, plan.first_line + 4 * l + j, w, new)
            j += 1
        row_add(work.W, plan.line_start[l], plan.line_length[l], plan.index, plan.line_first[l], change, z, w)
        k += 1


@wp.func
def sweep_rows(plan: Plan, work: Work, w: int):
    """All lines, then all contacts once; returns the largest change of an impulse (M-42)."""
    contacts = contact_count(work, w)
    n = padded(row_count(work, w))
    worst = real(0.0)
    k = int(0)
    while k < line_count(work, w):
        l = get_int(work.lively, 1 + k, w)
        row = 3 * contacts + k
        K = get(work.K, l, w)
        s = get(work.row_s, row, w)
        total, change = change_line(plan, work, l, plan.line_acts[l], s, K, work.row_p, row + 3 * k, w)
        worst = wp.max(worst, change)
        if change > real(0.0):
            add_column(work.answer, row * n, n, total, work.row_s, w)
        k += 1
    c = int(0)
    while c < contacts:
        mu = get(work.contact_mu, 3 * c, w)
        most = sweep_cone(
            work.answer,
            n,
            work.contact_K,
            CONTACT_K * c,
            mu,
            work.contact_target,
            c,
            work.row_s,
            work.row_p,
            work.deed,
            w,
        )
        put(work.contact_change, c, w, most)
        worst = max(worst, most)
        c += 1
    return worst


@wp.func
def only_impulses_change(work: Work, w: int):
    """Whether the last sweep shifted impulses among rows that imply each other and hardly changed speeds: the energy of
    the change is next to nothing against that of each row's change alone. What is then sought of their speeds
    contradicts, and sweeps would go on until something else gives. Not where something is light: there sweeps crawl."""
    contacts = contact_count(work, w)
    n = padded(row_count(work, w))
    together = real(0.0)
    alone = real(0.0)
    light = real(0.0)
    row = int(0)
    while row < row_count(work, w):
        change = real(0.0)
        if row < 3 * contacts:
            light = wp.max(light, get(work.contact_K, CONTACT_K * (row / 3) + 16, w))
            change = get(work.row_p, row, w) - get(work.p_old, row, w)
        else:
            at = row + 3 * (row - 3 * contacts)
            k = int(0)
            while k < 4:
                change = change + get(work.row_p, at + k, w) - get(work.p_old, at + k, w)
                k += 1
        together = together + change * (get(work.row_s, row, w) - get(work.z_old, row, w))
        alone = alone + change * change * get(work.answer, row * n + row, w)
        row += 1
    return together <= CONTRADICTION * alone and light <= LIGHT
