"""Sweeps over all rows until impulses settle (M-42): through z or, where rows are few, by how they answer each other,
with leaps between them (M-63, M-64)."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.loop_joints import Loops
from sharnir.impulse.data import (
    ACCELERATE,
    CAPPED,
    CHANGE,
    CONVERGED,
    CUT,
    CUT_AT,
    EASY,
    ENOUGH,
    FACTORED,
    METHOD,
    OUT_OF_TIME,
    PREDICTIVE,
    SWEEPS,
    SWEPT,
    State,
    Work,
)
from sharnir.impulse.layout.layout import Plan
from sharnir.impulse.row_kinds import CONTACT_P
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.solve.active_set_newton import leap, leaps_allowed
from sharnir.impulse.solve.delassus import load_rows, only_impulses_change, row_count, sweep_rows, unload_rows
from sharnir.impulse.solve.island_newton import solve_islands
from sharnir.impulse.solve.islands import restless
from sharnir.impulse.solve.pgs_sweep import list_lines, sweep
from sharnir.kernels.columns import get, item, put_int, set_item
from sharnir.kernels.types import DOUBLE, array2, real, ticks
from sharnir.kernels.vector_ops import clear, copy, distance2, extrapolate

FIRST, BACK_OFF = 1, 10  # sweeps before the first leap, after leaps that failed
LEAPS = 3  # that may go by before the change of impulses is less than half of what it was
LEAPS_ON = wp.constant(real(0.3))  # of the change of impulses: leaps go on with the same factors
SETTLING = 4  # sweeps after which it is looked whether only impulses still change
QUIET = 3  # sweeps of a step at rest: less work than how rows answer each other
CRAWLING = 50  # sweeps after which small islands of contacts are solved at once
PATIENCE = 200  # sweeps after which some progress must have been made
QUICK = 10  # the same where all is settled but for what is light among many
PATIENCE_TOUCHING = 100  # the same where bodies touch: the next step goes on with what this one leaves
PATIENCE_FEW = 50  # the same where there are leaps between sweeps
STALLED_TOUCHING = wp.constant(real(0.5))
STALLED = wp.constant(real(0.9))  # of the change of impulses then


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
def crawls(plan: Plan, state: State):
    """Whether islands may be solved at once: there are no rows that bind both ways."""
    return int(state.settings[METHOD, 0]) == PREDICTIVE and plan.newton == 1


@wp.func
def verdict(state: State, n: int, worst: real, epsilon: real, checked: real, touching: int, end: wp.float64, w: int):
    """After n sweeps, the last of which changed impulses by `worst`: 0 converged, 1 go on, 2 out of time, 3 stalled;
    checked: change when progress was last looked at; touching: 1 where bodies touch, 2 where their rows are few."""
    patience = int(PATIENCE)
    stalled = STALLED
    stop = int(3)
    if touching > 0:
        patience = wp.where(touching == 2, PATIENCE_FEW, PATIENCE_TOUCHING)
        stalled = STALLED_TOUCHING
    if worst <= state.settings[ENOUGH, 0]:
        patience = int(QUICK)
        stalled = STALLED_TOUCHING
        stop = 0
    going = int(1)
    if worst <= epsilon:
        going = 0
    elif time_is_up(state, real(n), end, w):
        going = 2
    elif n % patience == 0:
        if worst > stalled * checked:
            going = stop
        checked = worst
    return going, checked


@wp.func
def reason_of(state: State, going: int, worst: real, epsilon: real):
    """Why sweeps have ended."""
    reason = int(CONVERGED)
    if going == 2:
        reason = int(OUT_OF_TIME)
    elif going == 3 or (going == 1 and worst > wp.max(epsilon, state.settings[ENOUGH, 0])):
        reason = int(CAPPED)
    return reason


@wp.func
def ahead(last: real, gone: real):
    """By how much the last direction is followed; 0: start anew."""
    beta = real(0.0)
    if last > real(0.0) and gone < last:
        beta = gone / last
    return beta


@wp.func
def sweeps(
    loops: Loops, plan: Plan, state: State, work: Work, held: int, made: int, most: int, crawl: int, z: array2,
    end: wp.float64, w: int,
):  # fmt: skip
    """Sweep until impulses change by less than ε, `most` sweeps are made or the clock passes `end` (M-42); made: sweeps
    there were before; crawl: islands are to be solved at once. Returns how many, the last change and the reason of
    stopping, −1 where more sweeps than `most` are allowed."""
    accelerate = state.settings[ACCELERATE, 0] > real(0.0)
    impulses = plan.first_contact + CONTACT_P * contact_count(work, w)
    epsilon = get(work.pace, CHANGE, w)
    worst = real(0.0)
    last = real(0.0)
    checked = real(1.0e30)
    touching = int(0)
    if held == 0 and int(state.settings[METHOD, 0]) == PREDICTIVE and contact_count(work, w) > 0:
        touching = 1
    n = int(made)
    going = int(1)
    if accelerate:
        clear(work.p_way, impulses, w)
        clear(work.z_way, plan.width, w)
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
        going, checked = verdict(state, n, worst, epsilon, checked, touching, end, w)
        if wp.static(DOUBLE):
            if going == 1 and (n % CRAWLING == 0 or (crawl == 1 and n == made + 1)) and crawls(plan, state):
                solve_islands(plan, state, work, epsilon, z, work.p, w)
                clear(work.p_way, impulses, w)
                clear(work.z_way, plan.width, w)
                copy(work.p, work.p_old, impulses, w)
                copy(z, work.z_old, plan.width, w)
                last = real(0.0)
        if going == 1 and accelerate and n < most:
            gone = distance2(work.p, work.p_old, impulses, w)
            beta = ahead(last, gone)
            extrapolate(work.p, work.p_old, work.p_way, beta, impulses, w)
            extrapolate(z, work.z_old, work.z_way, beta, plan.width, w)
            last = gone
    reason = reason_of(state, going, worst, epsilon)
    if going == 1 and reason == CAPPED and most < int(state.settings[SWEEPS, 0]):
        reason = -1
    return n, worst, reason


@wp.func
def sweeps_of_few(plan: Plan, state: State, work: Work, made: int, z: array2, end: wp.float64, w: int):
    """The same where rows are few (M-63); reason −1: islands are to be solved at once."""
    accelerate = state.settings[ACCELERATE, 0] > real(0.0)
    impulses = load_rows(plan, work, z, work.p, w)
    rows = row_count(work, w)
    most = int(state.settings[SWEEPS, 0])
    epsilon = get(work.pace, CHANGE, w)
    worst = real(0.0)
    last = real(0.0)
    checked = real(1.0e30)
    n = int(made)
    wait = int(most)
    if wp.static(DOUBLE):
        if plan.newton == 1 and accelerate and leaps_allowed(plan, work, w):
            wait = made + FIRST
    before = real(1.0e30)
    least = real(1.0e30)  # the change before the first of some leaps
    leaps = int(0)
    going = int(1)
    if accelerate:
        clear(work.p_way, impulses, w)
        clear(work.z_way, rows, w)
    while going == 1 and n < most:
        leapt = int(0)
        if wp.static(DOUBLE):
            if n >= wait:
                if leaps == 0:
                    copy(work.row_p, work.p_back, impulses, w)
                    copy(work.row_s, work.s_back, rows, w)
                    least = before
                leap(plan, work, w)
                leapt = 1
                leaps += 1
                last = real(0.0)
        if accelerate:
            copy(work.row_p, work.p_old, impulses, w)
            copy(work.row_s, work.z_old, rows, w)
        worst = sweep_rows(plan, work, w)
        n += 1
        going, checked = verdict(state, n, worst, epsilon, checked, 2, end, w)
        if going == 1 and accelerate and n >= made + SETTLING and worst <= state.settings[EASY, 0]:
            if only_impulses_change(work, w):
                going = 0
        if leapt == 1 and going != 0:
            wait = n
            if not worst <= LEAPS_ON * before:
                put_int(work.flow, FACTORED, w, 0)
            if worst <= real(0.5) * least:
                leaps = 0
            elif leaps == LEAPS or going != 1:
                leaps = 0
                wait = n + wp.max(BACK_OFF, n)
                if not worst <= least:
                    copy(work.p_back, work.row_p, impulses, w)
                    copy(work.s_back, work.row_s, rows, w)
                    copy(work.row_p, work.p_old, impulses, w)
                    copy(work.row_s, work.z_old, rows, w)
                    worst = least
        before = worst
        if going == 1 and n % CRAWLING == 0 and crawls(plan, state):
            if restless(work, epsilon, w) >= 0:
                going = 4
        if going == 1 and accelerate and n < most and n < wait:  # a leap starts, and may end, where bounds hold
            gone = distance2(work.row_p, work.p_old, impulses, w)
            beta = ahead(last, gone)
            extrapolate(work.row_p, work.p_old, work.p_way, beta, impulses, w)
            extrapolate(work.row_s, work.z_old, work.z_way, beta, rows, w)
            last = gone
    unload_rows(plan, work, z, work.p, w)
    reason = reason_of(state, going, worst, epsilon)
    if going == 4:
        reason = -1
    return n, worst, reason
