"""The loop of projected Gauss–Seidel sweeps until impulses converge (M-42), for all ways to sweep.

`make_pgs_loop` makes the loop from three policies: how the unknowns are swept, what is done between sweeps (Newton
steps, islands), and how they are extrapolated. Extrapolated sweeps are nonsmooth nonlinear conjugate gradients.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from sharnir.impulse.data import Context, State
from sharnir.impulse.slots import ProgressRule, ReportItem, Setting, StatusReal, StopReason, SweepStatus
from sharnir.kernels.columns import get, item, set_item
from sharnir.kernels.types import read_ticks, real

PGS_CHECK_EVERY = 200  # sweeps between progress checks, without contacts
PGS_CHECK_EVERY_ACCEPTED = 10  # where changes are acceptable already, and frozen contacts are swept
PGS_CHECK_EVERY_CONTACT = 100  # with contacts: the next step continues from what this one leaves
PGS_CHECK_EVERY_DENSE = 50  # on the Delassus matrix, with Newton steps in between
PGS_STALL_RATIO_CONTACT = wp.constant(real(0.5))  # of the change at the last check, with contacts: more is a stall
PGS_STALL_RATIO = wp.constant(real(0.9))  # of the change at the last check, without contacts: more is a stall
QUIET_SWEEPS = 3  # sweeps of a step at rest: less work than the Delassus matrix
NO_CHANGE_YET = wp.constant(real(1.0e30))  # N s


@wp.struct
class SweepLoop:
    """Where a loop of sweeps stands."""

    n: int  # sweeps made
    first: int  # sweeps made before this loop
    max_sweeps: int
    status: int  # `SweepStatus`
    rule: int  # `ProgressRule`
    accelerate: int  # 1: extrapolate between sweeps
    check: int  # 1: this sweep went over all rows, so that it may end the loop
    epsilon: real  # N s
    # N s, largest change of an impulse in the last sweep, of contacts times ContactMass.CHANGE_WEIGHT
    worst: real
    change_at_check: real  # N s, that of the last check of progress
    change2: real  # N² s², sum of squared changes of the last sweep
    last_change2: real  # that of the sweep before
    newton_at: int  # sweep from which on Newton steps are tried
    newton_tries: int  # Newton steps since the change last halved
    newton_done: int  # 1: the last sweep followed a Newton step
    last_change: real  # N s, change of the sweep before
    change_before_newton: real  # N s
    islands_first: int  # 1: islands are solved by convex Newton after the first sweep
    newly_active: int  # trees that became active and whose contacts are still frozen


@wp.func
def begin_sweeps(ctx: Context, first: int, max_sweeps: int, rule: int, w: int):
    """A loop that starts after `first` sweeps made by others."""
    loop = SweepLoop()
    loop.n = first
    loop.first = first
    loop.max_sweeps = max_sweeps
    loop.status = SweepStatus.CONTINUE
    loop.rule = rule
    loop.accelerate = wp.where(ctx.state.settings[Setting.ACCELERATE, 0] > real(0.0), 1, 0)
    loop.check = 1
    loop.epsilon = get(ctx.work.status_real, StatusReal.SWEEP_TOLERANCE, w)
    loop.change_at_check = NO_CHANGE_YET
    loop.newton_at = max_sweeps
    loop.last_change = NO_CHANGE_YET
    loop.change_before_newton = NO_CHANGE_YET
    return loop


@wp.func
def is_out_of_time(state: wp.ref[State], unreported: real, end: wp.float64, w: int):
    """Whether the clock has passed `end`, or a replayed step ran out of time at this sweep; the sweep is reported.
    unreported: sweeps not yet in the report."""
    total_sweeps = item(state.report, ReportItem.SWEEP_COUNT, w) + unreported
    late = read_ticks() > end or total_sweeps >= state.settings[Setting.REPLAY_CUT, 0]
    if late and total_sweeps < item(state.report, ReportItem.CUT_AFTER, w):
        set_item(state.report, ReportItem.CUT_AFTER, w, total_sweeps)
    return late


@wp.func
def check_convergence(state: wp.ref[State], loop: wp.ref[SweepLoop], end: wp.float64, w: int):
    """Decide after a sweep whether to continue: sets `status`.

    Stalled: less than half (contacts) or 10 % (no contacts) progress between checks; if the change is acceptable
    already, a stall counts as convergence. A sweep that left rows out may only run out of time.
    """
    if loop.check == 0:
        if is_out_of_time(state, real(loop.n), end, w):
            loop.status = SweepStatus.OUT_OF_TIME
    else:
        check_every = int(PGS_CHECK_EVERY)
        stall_ratio = PGS_STALL_RATIO
        stall_status = int(SweepStatus.STALLED)
        if loop.rule > ProgressRule.JOINTS:
            check_every = wp.where(loop.rule == ProgressRule.DENSE, PGS_CHECK_EVERY_DENSE, PGS_CHECK_EVERY_CONTACT)
            stall_ratio = PGS_STALL_RATIO_CONTACT
        if loop.worst <= state.settings[Setting.TOL_ACCEPT, 0]:
            check_every = int(PGS_CHECK_EVERY_ACCEPTED)
            stall_ratio = PGS_STALL_RATIO_CONTACT
            stall_status = int(SweepStatus.CONVERGED)
        loop.status = SweepStatus.CONTINUE
        if loop.worst <= loop.epsilon:
            loop.status = SweepStatus.CONVERGED
        elif is_out_of_time(state, real(loop.n), end, w):
            loop.status = SweepStatus.OUT_OF_TIME
        elif loop.n % check_every == 0:
            if loop.worst > stall_ratio * loop.change_at_check:
                loop.status = stall_status
            loop.change_at_check = loop.worst


@wp.func
def stop_reason_of(state: wp.ref[State], loop: wp.ref[SweepLoop]):
    """`StopReason` for the report from where a loop ended."""
    reason = int(StopReason.CONVERGED)
    if loop.status == SweepStatus.USE_ISLANDS:
        reason = int(StopReason.UNFINISHED)
    elif loop.status == SweepStatus.OUT_OF_TIME:
        reason = int(StopReason.OUT_OF_TIME)
    elif loop.status == SweepStatus.STALLED:
        reason = int(StopReason.STALLED)
    elif loop.status == SweepStatus.CONTINUE:
        if loop.worst > wp.max(loop.epsilon, state.settings[Setting.TOL_ACCEPT, 0]):
            reason = int(StopReason.CAPPED)
    return reason


@wp.func
def acceleration_factor(last_change2: real, change2: real):
    """Fletcher–Reeves factor β = |d|²/|d₋|² by which the last search direction is followed; 0, a restart, unless the
    change decreased. last_change2, change2: squared changes of the previous and the present sweep."""
    beta = real(0.0)
    if last_change2 > real(0.0) and change2 < last_change2:
        beta = change2 / last_change2
    return beta


def make_pgs_loop(name: str, unknowns: Any, sweep: Any, between: Any, extrapolate: Any) -> Any:
    """The loop over unknowns x of a type (a struct) by three functions (ctx, x, loop, w), which change both:

    sweep: one sweep, which sets `worst`; between: what follows the check of every sweep, also of the last: it must test
    `status`, and may change it; extrapolate: moves the unknowns ahead where the loop goes on.
    """

    def run(ctx: Context, x: Any, loop: wp.ref[SweepLoop], end: wp.float64, w: int):
        while loop.status == SweepStatus.CONTINUE and loop.n < loop.max_sweeps:
            sweep(ctx, x, loop, w)
            loop.n = loop.n + 1
            check_convergence(ctx.state, loop, end, w)
            between(ctx, x, loop, w)
            if loop.status == SweepStatus.CONTINUE and loop.n < loop.max_sweeps:
                extrapolate(ctx, x, loop, w)

    run.__name__ = run.__qualname__ = name
    run.__annotations__["x"] = wp.ref[unknowns]
    return wp.func(run)
