"""Sweeps to ε, a cap or the end of time, by one thread or by a team (M-42, M-63)."""

from __future__ import annotations

import warp as wp

from sharnir.constraints.contacts import contact_count
from sharnir.constraints.loops import Loops
from sharnir.constraints.newton import solve_islands
from sharnir.constraints.plan import CONTACT_P, Plan
from sharnir.constraints.sweep import list_lines, sweep
from sharnir.constraints.team import (
    Share,
    keep_coordinates,
    keep_loaded,
    list_lines_together,
    load_coordinates,
    load_kept,
    load_targets,
    share_of,
    spread_rows,
    sweep_kept,
)
from sharnir.constraints.work import (
    ACCELERATE,
    CAPPED,
    CONVERGED,
    CUT,
    CUT_AT,
    ENOUGH,
    EPSILON,
    METHOD,
    OUT_OF_TIME,
    PREDICTIVE,
    SPREAD,
    SWEEPS,
    SWEPT,
    State,
    Work,
)
from sharnir.maths import (
    DOUBLE,
    array2,
    clear,
    copy,
    distance2,
    extrapolate,
    get,
    get_int,
    item,
    put_int,
    real,
    set_item,
    ticks,
    vec2,
    vec4,
)
from sharnir.teams import ROWS, team_sum, teamed

CRAWLING = 50  # sweeps after which small islands of contacts are solved at once
PATIENCE = 200  # sweeps after which some progress must have been made
QUICK = 20  # the same where all is settled but for what is light among many
PATIENCE_TOUCHING = 100  # the same where bodies touch: the next step goes on with what this one leaves
STALLED_TOUCHING = wp.constant(real(0.5))
STALLED = wp.constant(real(0.9))  # of the change of impulses then


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
    n = int(0)
    going = int(1)
    if accelerate:
        clear(work.p_way, impulses, w)
        clear(work.z_way, plan.width, w)
    while going == 1 and n < most:
        if accelerate:
            copy(work.p, work.p_old, impulses, w)
            copy(z, work.z_old, plan.width, w)
        worst = sweep(loops, plan, work, held, z, work.p, w)
        n += 1
        going, checked = go_on(state, work, held, n, worst, checked, end, w)
        if wp.static(DOUBLE):
            if going == 1 and n % CRAWLING == 0 and crawls(plan, state):
                solve_islands(plan, state, work, epsilon, z, work.p, w)
                clear(work.p_way, impulses, w)
                clear(work.z_way, plan.width, w)
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
    return n, worst, reason_of(going, worst, state.settings[ENOUGH, 0])


@wp.func
def go_on(state: State, work: Work, held: int, n: int, worst: real, checked: real, end: wp.float64, w: int):
    """Whether to sweep again (1), or why not: settled (0), out of time (2), no progress (3); and the change of impulses
    that progress is judged by."""
    patience = int(PATIENCE)
    stalled = STALLED
    if held == 0 and int(state.settings[METHOD, 0]) == PREDICTIVE and contact_count(work, w) > 0:
        patience = PATIENCE_TOUCHING
        stalled = STALLED_TOUCHING
    stop = int(3)
    if worst <= state.settings[ENOUGH, 0]:
        patience = int(QUICK)
        stalled = STALLED_TOUCHING
        stop = 0
    going = int(1)
    judged = checked
    if worst <= state.settings[EPSILON, 0]:
        going = 0
    elif time_is_up(state, real(n), end, w):
        going = 2
    elif n % patience == 0:
        if worst > stalled * checked:
            going = stop
        judged = worst
    return going, judged


@wp.func
def reason_of(going: int, worst: real, enough: real):
    """Why sweeps have ended."""
    reason = int(CONVERGED)
    if going == 2:
        reason = int(OUT_OF_TIME)
    elif going == 3 or (going == 1 and worst > enough):
        reason = int(CAPPED)
    return reason


@wp.func
def team_sweeps(plan: Plan, state: State, work: Work, mine: Share, z: array2, end: wp.float64, w: int):
    """The same by a team that keeps all rows (M-63)."""
    most = int(state.settings[SWEEPS, 0])
    if get_int(work.flow, SPREAD, w) == 0:
        spread_rows(plan, work, mine, w)
        put_int(work.flow, SPREAD, w, 1)
    p, four = load_kept(plan, work, mine, work.p, w)
    x = load_coordinates(plan, z, w)
    sought = load_targets(work, mine, w)
    p_way = vec2()
    four_way = vec4()
    x_way = vec4()
    worst = real(0.0)
    last = real(0.0)
    checked = real(1.0e30)
    n = int(0)
    going = int(1)
    while going == 1 and n < most:
        p_old = p
        four_old = four
        x_old = x
        worst, x, p, four = sweep_kept(plan, work, mine, sought, x, p, four, w)
        n += 1
        going, checked = go_on(state, work, 0, n, worst, checked, end, w)
        if going == 1 and state.settings[ACCELERATE, 0] > real(0.0) and n < most:
            p_gone = p - p_old
            four_gone = four - four_old
            gone = team_sum(wp.dot(p_gone, p_gone) + wp.dot(four_gone, four_gone))
            beta = real(0.0)
            if last > real(0.0) and gone < last:
                beta = gone / last
            x_gone = x - x_old
            p = p + p_way * beta
            four = four + four_way * beta
            x = x + x_way * beta
            p_way = p_gone + p_way * beta
            four_way = four_gone + four_way * beta
            x_way = x_gone + x_way * beta
            last = gone
    keep_loaded(plan, work, mine, p, four, work.p, w)
    keep_coordinates(plan, x, z, w)
    return n, worst, reason_of(going, worst, state.settings[ENOUGH, 0])


@wp.func
def swept(loops: Loops, plan: Plan, state: State, work: Work, held: int, z: array2, dt: real, end: wp.float64, w: int):
    """`sweeps`, if there is anything to sweep, by a team where there is one that can keep all rows."""
    n = int(0)
    worst = real(0.0)
    reason = int(CONVERGED)
    mine = Share()
    mine.rows = ROWS + 1
    if teamed() == 1 and held == 0:
        list_lines_together(plan, work, w)
        mine = share_of(plan, work, w)
    if mine.rows <= ROWS:
        if mine.rows > 0:
            n, worst, reason = team_sweeps(plan, state, work, mine, z, end, w)
    elif not nothing_to_sweep(plan, work, held, w):
        list_lines(plan, work, held, w)
        n, worst, reason = sweeps(loops, plan, state, work, held, z, dt, end, w)
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
