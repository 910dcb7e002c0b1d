"""Impulses of all rows for the speeds sought: sweeps to ε, a cap or the end of time, some rows solved directly
(M-39..M-42, M-48)."""

from __future__ import annotations

import warp as wp

from sharnir.constraints.contact_rows import prepare_contacts
from sharnir.constraints.contacts import contact_count
from sharnir.constraints.direct import bind, factor_bound, largest_lack
from sharnir.constraints.held import answer_of_bound, project_rows, set_offsets
from sharnir.constraints.loops import Loops
from sharnir.constraints.newton import solve_islands
from sharnir.constraints.plan import CONTACT_P, Plan
from sharnir.constraints.rows import (
    factor_joints,
    prepare_lines,
    whiten_joints,
)
from sharnir.constraints.sweep import list_lines, sweep
from sharnir.constraints.work import (
    ACCELERATE,
    CAPPED,
    CONVERGED,
    CUT,
    CUT_AT,
    DIRECT,
    EPSILON,
    METHOD,
    OUT_OF_TIME,
    PREDICTIVE,
    REASON,
    RESIDUAL,
    SWEEPS,
    SWEPT,
    State,
    Work,
)
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.maths import DOUBLE, array2, copy, extrapolate, get, item, item_int, put, put_int, real, set_item, ticks

CRAWLING = 50  # sweeps after which small islands of contacts are solved at once
PATIENCE = 200  # sweeps after which some progress must have been made
PATIENCE_TOUCHING = 100  # the same where bodies touch: the next step goes on with what this one leaves
STALLED_TOUCHING = wp.constant(real(0.5))
STALLED = wp.constant(real(0.9))  # of the change of impulses then


@wp.func
def load_impulses(plan: Plan, state: State, work: Work, scale: real, w: int):
    i = int(0)
    while i < plan.first_contact:
        put(work.p, i, w, item(state.p, i, w) * scale)
        i += 1


@wp.func
def clear_column(target: array2, n: int, w: int):
    i = int(0)
    while i < n:
        put(target, i, w, real(0.0))
        i += 1


@wp.func
def distance2(x: array2, old: array2, n: int, w: int):
    total = real(0.0)
    i = int(0)
    while i < n:
        d = get(x, i, w) - get(old, i, w)
        total = total + d * d
        i += 1
    return total


@wp.func
def sweeps(loops: Loops, plan: Plan, state: State, work: Work, held: int, z: array2, dt: real, end: wp.float64, w: int):
    """Sweep until impulses change by less than ε, the cap is reached or the clock passes `end` (M-42); returns how
    many, the last change and the reason of stopping."""
    accelerate = state.settings[ACCELERATE, 0] > real(0.0)
    impulses = plan.first_contact + CONTACT_P * contact_count(work, w)
    most = int(state.settings[SWEEPS, 0])
    epsilon = state.settings[EPSILON, 0]
    worst = real(0.0)
    last = real(0.0)
    checked = real(1.0e30)
    patience = int(PATIENCE)
    stalled = STALLED
    if held == 0 and int(state.settings[METHOD, 0]) == PREDICTIVE and contact_count(work, w) > 0:
        patience = PATIENCE_TOUCHING
        stalled = STALLED_TOUCHING
    n = int(0)
    going = int(1)
    if accelerate:
        clear_column(work.p_way, impulses, w)
        clear_column(work.z_way, plan.width, w)
    if nothing_to_sweep(plan, work, held, w):
        going = 0
    else:
        list_lines(plan, work, held, w)
    while going == 1 and n < most:
        if accelerate:
            copy(work.p, work.p_old, impulses, w)
            copy(z, work.z_old, plan.width, w)
        worst = sweep(loops, plan, work, held, z, work.p, w)
        n += 1
        if worst <= epsilon:
            going = 0
        elif time_is_up(state, real(n), end, w):
            going = 2
        elif n % patience == 0:
            if worst > stalled * checked:
                going = 3
            checked = worst
        if wp.static(DOUBLE):
            if going == 1 and n % CRAWLING == 0 and crawls(plan, state):
                solve_islands(plan, state, work, epsilon, z, work.p, w)
                clear_column(work.p_way, impulses, w)
                clear_column(work.z_way, plan.width, w)
                copy(work.p, work.p_old, impulses, w)
                copy(z, work.z_old, plan.width, w)
                last = real(0.0)
        if going == 1 and accelerate and n < most:
            gone = distance2(work.p, work.p_old, impulses, w)
            beta = real(0.0)
            if last > real(0.0) and gone < last:
                beta = gone / last
            extrapolate(work.p, work.p_old, work.p_way, beta, impulses, w)
            extrapolate(z, work.z_old, work.z_way, beta, plan.width, w)
            last = gone
    reason = int(CONVERGED)
    if going == 2:
        reason = int(OUT_OF_TIME)
    elif going == 3 or (going == 1 and worst > epsilon):
        reason = int(CAPPED)
    return n, worst, reason


@wp.func
def crawls(plan: Plan, state: State):
    """Whether islands may be solved at once: there are no rows that bind both ways."""
    return int(state.settings[METHOD, 0]) == PREDICTIVE and plan.newton == 1


@wp.func
def time_is_up(state: State, more: real, end: wp.float64, w: int):
    """Whether the clock has passed `end`, or the step replayed was late then; more: sweeps not yet reported."""
    swept = item(state.report, SWEPT, w) + more
    late = ticks() > end or swept >= state.settings[CUT_AT, 0]
    if late and swept < item(state.report, CUT, w):
        set_item(state.report, CUT, w, swept)
    return late


@wp.func
def nothing_to_sweep(plan: Plan, work: Work, held: int, w: int):
    rows = contact_count(work, w)
    if held == 0:
        rows = rows + plan.joints
    l = int(0)
    while l < plan.lines and rows == 0:
        if get(work.K, l, w) > real(0.0) and (held == 0 or plan.line_loose[l] != 0):
            rows = 1
        l += 1
    return rows == 0


@wp.func
def settled(
    loops: Loops, plan: Plan, state: State, work: Work, held: int, z: array2, dt: real, end: wp.float64, w: int
):
    """Impulses of all rows for the speeds now sought: by sweeps alone, or with the rows that bind both ways held by a
    direct solution (M-42, M-48). Returns sweeps, the last change of an impulse and the reason of stopping."""
    if held == 1:
        bind(plan, work, z, work.p, 0, w)
        if nothing_to_sweep(plan, work, 1, w):
            return 1, largest_lack(plan, work, z, work.p, w), CONVERGED
        copy(work.p, work.p_start, plan.first_contact + CONTACT_P * contact_count(work, w), w)
        set_offsets(plan, work, z, w)
    n, worst, reason = sweeps(loops, plan, state, work, held, z, dt, end, w)
    if held == 1:
        answer_of_bound(plan, work, work.p, w)
    return n + held, worst, reason


@wp.func
def solve(loops: Loops, plan: Plan, state: State, work: Work, held: int, z: array2, dt: real, end: wp.float64, w: int):
    """The same, reported."""
    n, worst, reason = settled(loops, plan, state, work, held, z, dt, end, w)
    set_item(state.report, SWEPT, w, item(state.report, SWEPT, w) + real(n))
    set_item(state.report, RESIDUAL, w, worst)
    set_item(state.report, REASON, w, real(reason))
    set_item(state.clock, 3, w, real(end - ticks()))


@wp.func
def prepare(
    tree: Tree, ws: Workspace, loops: Loops, plan: Plan, state: State, work: Work, held: int, h: real, dt: real,
    scale: real, swing: real, ahead: int, learn: int, again: int, w: int,
):  # fmt: skip
    """All rows at the start of a step, and the factors of their blocks; or again, at the poses it led to: those of
    joints and equalities, limits and contacts wait for the next step. ahead: limits look ahead; learn: see
    `factor_bound`. Returns how weak the loops are against their past."""
    whiten_joints(tree, ws, loops, plan, work, again, w)
    prepare_lines(tree, ws, loops, plan, state, work, h, dt, swing, ahead, w)
    if again == 0:
        bend = real(0.0)
        if ahead == 1 and item(state.clock, 0, w) > real(0.0):
            bend = dt / item(state.clock, 0, w)
        prepare_contacts(tree, ws, plan, state, work, scale, bend, dt, w)
    else:
        keep_equalities(plan, work, w)
    weakest = real(1.0)
    if plan.bound > 0 and ahead == 1:
        weakest = factor_bound(plan, state, work, learn, w)
    if held == 0:
        factor_joints(loops, plan, work, w)
    elif not nothing_to_sweep(plan, work, 1, w):
        project_rows(plan, state, work, w)
    return weakest


@wp.func
def keep_equalities(plan: Plan, work: Work, w: int):
    """Limits and contacts are left out."""
    put_int(work.touching, 0, w, 0)
    l = int(0)
    while l < plan.lines:
        if plan.line_lower[l] != plan.line_upper[l]:
            put(work.K, l, w, real(0.0))
        put(work.g_next, l, w, get(work.g, l, w))
        l += 1


@wp.func
def direct_wanted(plan: Plan, state: State, w: int):
    """1 if rows that bind both ways exist and are to be solved directly, and contacts are few enough for that."""
    held = int(0)
    if plan.bound > 0 and state.settings[DIRECT, 0] > real(0.0):
        held = 1
        if plan.contacts > 0:
            if item_int(state.touch.count, 0, w) > plan.held_contacts:
                held = 0
    return held
