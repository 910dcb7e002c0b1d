"""Projected Gauss–Seidel through z (M-42): velocities of rows are W·z, impulses move z by Wᵀp."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Context, Iterate, Scratch, State
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.row_kinds import CONTACT_IMPULSES
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.slots import Method, ProgressRule, Setting, StopReason, SweepStatus
from sharnir.impulse.solve.islands.newton import solve_islands
from sharnir.impulse.solve.pgs_loop import (
    SweepLoop,
    acceleration_factor,
    begin_sweeps,
    make_pgs_loop,
    stop_reason_of,
)
from sharnir.impulse.solve.pgs_sweep import list_active_scalars, sweep, takes_part
from sharnir.kernels.types import DOUBLE, real
from sharnir.kernels.vector_ops import clear, column_distance2, copy, extrapolate

ISLAND_NEWTON_EVERY = 50  # sweeps: small islands are then solved by convex Newton


@wp.func
def has_nothing_to_sweep(layout: wp.ref[Layout], work: wp.ref[Scratch], direct: int, w: int):
    """Whether no row is left for sweeps. direct: 1 if joints and other bilateral rows are solved directly."""
    rows = contact_count(work, w)
    if direct == 0:
        rows = rows + layout.joints
    l = int(0)
    while l < layout.scalars and rows == 0:
        if takes_part(layout, work, l, direct, w):
            rows = 1
        l += 1
    return rows == 0


@wp.func
def island_newton_applies(layout: wp.ref[Layout], state: wp.ref[State]):
    """Whether islands may be solved by convex Newton: default method, and no bilateral rows."""
    return int(state.settings[Setting.METHOD, 0]) == Method.PREDICTIVE and layout.island_newton == 1


@wp.func
def impulse_count(layout: wp.ref[Layout], work: wp.ref[Scratch], w: int):
    """Impulses of all rows that the step has."""
    return layout.contact_p_start + CONTACT_IMPULSES * contact_count(work, w)


@wp.func
def _sweep(ctx: Context, x: wp.ref[Iterate], loop: wp.ref[SweepLoop], w: int):
    if loop.accelerate == 1:
        copy(x.p, ctx.work.p_old, impulse_count(ctx.layout, ctx.work, w), w)
        copy(x.z, ctx.work.z_old, ctx.layout.z_size, w)
    loop.worst = sweep(ctx, x, w)


@wp.func
def _solve_islands(ctx: Context, x: wp.ref[Iterate], loop: wp.ref[SweepLoop], w: int):
    """Solve small islands by convex Newton from time to time, and start the acceleration anew."""
    if wp.static(DOUBLE):
        due = loop.n % ISLAND_NEWTON_EVERY == 0 or (loop.islands_first == 1 and loop.n == loop.first + 1)
        if loop.status == SweepStatus.CONTINUE and due and island_newton_applies(ctx.layout, ctx.state):
            impulses = impulse_count(ctx.layout, ctx.work, w)
            solve_islands(ctx, loop.epsilon, x.z, x.p, w)
            clear(ctx.work.p_direction, impulses, w)
            clear(ctx.work.z_direction, ctx.layout.z_size, w)
            copy(x.p, ctx.work.p_old, impulses, w)
            copy(x.z, ctx.work.z_old, ctx.layout.z_size, w)
            loop.last_change2 = real(0.0)


@wp.func
def _extrapolate(ctx: Context, x: wp.ref[Iterate], loop: wp.ref[SweepLoop], w: int):
    if loop.accelerate == 1:
        impulses = impulse_count(ctx.layout, ctx.work, w)
        loop.change2 = column_distance2(x.p, ctx.work.p_old, impulses, w)
        beta = acceleration_factor(loop.last_change2, loop.change2)
        extrapolate(x.p, ctx.work.p_old, ctx.work.p_direction, beta, impulses, w)
        extrapolate(x.z, ctx.work.z_old, ctx.work.z_direction, beta, ctx.layout.z_size, w)
        loop.last_change2 = loop.change2


iterate_pgs = make_pgs_loop("iterate_pgs", Iterate, _sweep, _solve_islands, _extrapolate)


@wp.func
def run_pgs(ctx: Context, x: wp.ref[Iterate], loop: wp.ref[SweepLoop], end: wp.float64, w: int):
    """Sweep through z until impulses change by less than ε, `max_sweeps` sweeps are made or the clock passes `end`
    (M-42). Returns the `StopReason`, UNFINISHED where the settings allow more than `max_sweeps`."""
    if loop.accelerate == 1:
        clear(ctx.work.p_direction, impulse_count(ctx.layout, ctx.work, w), w)
        clear(ctx.work.z_direction, ctx.layout.z_size, w)
    if has_nothing_to_sweep(ctx.layout, ctx.work, x.direct, w):
        loop.status = SweepStatus.CONVERGED
    else:
        list_active_scalars(ctx.layout, ctx.work, x.direct, w)
    iterate_pgs(ctx, x, loop, end, w)
    reason = stop_reason_of(ctx.state, loop)
    capped = loop.status == SweepStatus.CONTINUE and reason == StopReason.CAPPED
    if capped and loop.max_sweeps < int(ctx.state.settings[Setting.MAX_SWEEPS, 0]):
        reason = int(StopReason.UNFINISHED)
    return reason


@wp.func
def begin_pgs(ctx: Context, sweeps_before: int, max_sweeps: int, w: int):
    """A loop of `run_pgs`; sweeps_before: sweeps made already."""
    rule = int(ProgressRule.JOINTS)
    predictive = int(ctx.state.settings[Setting.METHOD, 0]) == Method.PREDICTIVE
    if predictive and contact_count(ctx.work, w) > 0:
        rule = int(ProgressRule.CONTACTS)
    return begin_sweeps(ctx, sweeps_before, max_sweeps, rule, w)
