"""Sweeps over many contacts, most of which rest (M-85)."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import CHANGE, SWEEPS, State, Work
from sharnir.impulse.layout.layout import Plan
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.solve.active_contacts import (
    extrapolate_stirred,
    look_at_resting,
    rest_all,
    start_anew,
    stir_resting,
    sweep_stirred,
    wake,
)
from sharnir.impulse.solve.island_newton import solve_islands
from sharnir.impulse.solve.pgs import CRAWLING, QUICK, ahead, reason_of, time_is_up, verdict
from sharnir.kernels.columns import get, get_int
from sharnir.kernels.indexed_blocks import keep_listed
from sharnir.kernels.types import DOUBLE, array2, real

SLIGHT = wp.constant(real(0.03))  # of the largest change: less need not be followed yet
UNFELT = wp.constant(real(0.1))  # of ε: less need not be followed at all


@wp.func
def to_follow(work: Work, epsilon: real, worst: real, w: int):
    """Change of an impulse that wakes the neighbours of a contact, after a sweep that changed one by `worst`; none does
    where all are awake."""
    awake = get_int(work.awake, 0, w) == contact_count(work, w)
    return wp.where(awake, real(wp.inf), wp.max(UNFELT * epsilon, SLIGHT * worst))


@wp.func
def sweeps_where_stirred(plan: Plan, state: State, work: Work, z: array2, end: wp.float64, w: int):
    """`sweeps` of contacts alone: those rest whose bodies others leave as they are, but for the first sweep, each tenth
    and the last one, which look at all."""
    most = int(state.settings[SWEEPS, 0])
    epsilon = get(work.pace, CHANGE, w)
    worst = real(0.0)
    last = real(0.0)
    checked = real(1.0e30)
    n = int(0)
    going = int(1)
    look = int(1)
    more = int(0)  # bodies stirred whose contacts still rest
    rest_all(plan, work, w)
    while going == 1 and n < most:
        least = to_follow(work, epsilon, worst, w)
        worst = real(0.0)
        if look == 1:
            worst = look_at_resting(plan, work, z, work.p, w)
            more += stir_resting(plan, work, to_follow(work, epsilon, worst, w), w)
        gone = real(0.0)
        if n > 0:
            if more > 0:
                wake(plan, work, work.p, w)
            keep_listed(z, work.z_old, work.moved, 0, 1, 1, w)
            change, square, stirred = sweep_stirred(plan, work, least, z, work.p, w)
            worst = wp.max(worst, change)
            gone = square
            more = stirred
        n += 1
        if look == 1:
            going, checked = verdict(state, n, worst, epsilon, checked, 1, end, w)
        elif time_is_up(state, real(n), end, w):
            going = 2
        if wp.static(DOUBLE):
            if going == 1 and n % CRAWLING == 0:
                solve_islands(plan, state, work, epsilon, z, work.p, w)
                start_anew(plan, work, z, work.p, w)
                gone = real(0.0)
        if going == 1 and n < most:
            look = wp.where(worst <= epsilon or (n + 1) % QUICK == 0 or n + 1 == most, 1, 0)
            extrapolate_stirred(plan, work, ahead(last, gone), z, work.p, w)
            last = gone
    return n, worst, reason_of(state, going, worst, epsilon)
