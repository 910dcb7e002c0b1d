"""Sweeps by a team of threads, on a GPU (M-67): as those of one thread, up to the order of sums."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import ACCELERATE, ANSWERS, CHANGE, CONVERGED, STARTED, SWEEPS, State, Work
from sharnir.impulse.layout.layout import MOST_ROWS, Plan
from sharnir.impulse.solve.contact_block import start_contacts
from sharnir.impulse.solve.delassus import KNOWN, UNKNOWN
from sharnir.impulse.solve.gpu_sweep import (
    Share,
    fill_pool,
    keep_coordinates,
    keep_loaded,
    list_lines_together,
    load_coordinates,
    load_kept,
    load_targets,
    share_of,
    spread_rows,
    started,
    sweep_kept,
)
from sharnir.impulse.solve.pgs import QUIET, ahead, reason_of, verdict
from sharnir.kernels.columns import get, get_int, item, put_int
from sharnir.kernels.lanes import ROWS, pool_of_team, team_sum
from sharnir.kernels.types import array2, real, vec2, vec4


@wp.func
def sweeps_of_team(plan: Plan, state: State, work: Work, z: array2, end: wp.float64, w: int):
    """Sweeps, the last change of an impulse and the reason of stopping; −1 where a team cannot keep all rows."""
    n = int(0)
    worst = real(0.0)
    reason = int(CONVERGED)
    list_lines_together(plan, work, w)
    mine = share_of(plan, work, w)
    if mine.rows > ROWS:
        reason = -1
        start_contacts(plan, work, z, w)
    elif mine.rows > 0:
        if get_int(work.flow, ANSWERS, w) == UNKNOWN:
            spread_rows(plan, work, mine, w)
            put_int(work.flow, ANSWERS, w, KNOWN)
        n, worst, reason = team_sweeps(plan, state, work, mine, z, end, w)
    return n, worst, reason


@wp.func
def team_sweeps(plan: Plan, state: State, work: Work, mine: Share, z: array2, end: wp.float64, w: int):
    """The same where all rows are kept."""
    most = int(state.settings[SWEEPS, 0])
    epsilon = get(work.pace, CHANGE, w)
    anew = int(0)  # sweeps after which one thread, too, begins anew: it has first tried whether a few are enough
    if 3 * mine.contacts <= MOST_ROWS and int(item(state.clock, 5, w)) <= QUIET:
        anew = QUIET
    p, four = load_kept(plan, work, mine, work.p, w)
    x = load_coordinates(plan, z, w)
    sought = load_targets(work, mine, w)
    if get_int(work.flow, STARTED, w) == 0:
        x = started(plan, work, mine, x, p, w)
        put_int(work.flow, STARTED, w, 1)
    p_way = vec2()
    four_way = vec4()
    x_way = vec2()
    pool = pool_of_team(z)
    fill_pool(plan, work, mine, pool, w)
    worst = real(0.0)
    last = real(0.0)
    checked = real(1.0e30)
    n = int(0)
    going = int(1)
    while going == 1 and n < most:
        p_old = p
        four_old = four
        x_old = x
        worst, x, p, four = sweep_kept(plan, work, mine, pool, sought, x, p, four, w)
        n += 1
        going, checked = verdict(state, n, worst, epsilon, checked, wp.where(mine.contacts > 0, 1, 0), end, w)
        if n == anew:
            last = real(0.0)
            checked = real(1.0e30)
            p_way = vec2()
            four_way = vec4()
            x_way = vec2()
        elif going == 1 and state.settings[ACCELERATE, 0] > real(0.0) and n < most:
            p_gone = p - p_old
            four_gone = four - four_old
            x_gone = x - x_old
            gone = team_sum(wp.dot(p_gone, p_gone) + wp.dot(four_gone, four_gone))
            beta = ahead(last, gone)
            p = p + p_way * beta
            four = four + four_way * beta
            x = x + x_way * beta
            p_way = p_gone + p_way * beta
            four_way = four_gone + four_way * beta
            x_way = x_gone + x_way * beta
            last = gone
    keep_loaded(plan, work, mine, p, four, work.p, w)
    keep_coordinates(plan, x, z, w)
    return n, worst, reason_of(state, going, worst, epsilon)
