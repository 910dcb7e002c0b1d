"""Projected Gauss–Seidel on the dense Delassus matrix, with semismooth Newton steps in between (M-63, M-64)."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Context, Iterate
from sharnir.impulse.row_kinds import SCALAR_IMPULSES
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.slots import BLOCK_ROWS, ProgressRule, Setting, Status, SweepStatus
from sharnir.impulse.solve.active_set_newton import newton_applies, newton_step
from sharnir.impulse.solve.delassus import (
    active_scalar_count,
    change_is_self_stress,
    gather_delassus_rows,
    row_count,
    scatter_delassus_rows,
    sweep_delassus,
)
from sharnir.impulse.solve.islands.partition import find_worst_light_contact
from sharnir.impulse.solve.pgs import ISLAND_NEWTON_EVERY, island_newton_applies
from sharnir.impulse.solve.pgs_loop import (
    SweepLoop,
    acceleration_factor,
    begin_sweeps,
    make_pgs_loop,
    stop_reason_of,
)
from sharnir.kernels.columns import put_int
from sharnir.kernels.types import DOUBLE, real
from sharnir.kernels.vector_ops import clear, column_distance2, copy, extrapolate

DENSE_NEWTON_AFTER = 1  # sweeps before the first Newton step
DENSE_NEWTON_BACK_OFF = 10  # sweeps, at least, after Newton steps that failed
MAX_DENSE_NEWTON_TRIES = 3  # Newton steps within which the change of impulses must halve
LU_REUSE_RATIO = wp.constant(real(0.3))  # of the last change: a Newton step that leaves less keeps its LU
SELF_STRESS_AFTER = 4  # sweeps before changes are tested for self-stress (M-83)


@wp.func
def dense_impulse_count(ctx: Context, w: int):
    """Impulses of the rows of the Delassus matrix."""
    return BLOCK_ROWS * contact_count(ctx.work, w) + SCALAR_IMPULSES * active_scalar_count(ctx.work, w)


@wp.func
def _sweep(ctx: Context, x: wp.ref[Iterate], loop: wp.ref[SweepLoop], w: int):
    """A Newton step where one is due, then a sweep, which accepts or rejects it."""
    impulses = dense_impulse_count(ctx, w)
    rows = row_count(ctx.work, w)
    loop.newton_done = 0
    if wp.static(DOUBLE):
        if loop.n >= loop.newton_at:
            if loop.newton_tries == 0:
                copy(ctx.work.row_impulse, ctx.work.row_impulse_saved, impulses, w)
                copy(ctx.work.row_velocity, ctx.work.row_velocity_saved, rows, w)
                loop.change_before_newton = loop.last_change
            newton_step(ctx.layout, ctx.work, w)
            loop.newton_done = 1
            loop.newton_tries = loop.newton_tries + 1
            loop.last_change2 = real(0.0)
    if loop.accelerate == 1:
        copy(ctx.work.row_impulse, ctx.work.row_impulse_old, impulses, w)
        copy(ctx.work.row_velocity, ctx.work.row_velocity_old, rows, w)
    loop.worst = sweep_delassus(ctx, w)


@wp.func
def _accept_or_undo_newton(ctx: Context, x: wp.ref[Iterate], loop: wp.ref[SweepLoop], w: int):
    """Test for self-stress (M-83); keep or undo Newton steps: if the change has not halved after
    MAX_DENSE_NEWTON_TRIES of them, the next waits for as many sweeps as there were, at least DENSE_NEWTON_BACK_OFF, and
    they are undone if it has grown. Hand over to islands where light contacts hold up heavy ones."""
    if loop.status == SweepStatus.CONTINUE and loop.accelerate == 1 and loop.n >= loop.first + SELF_STRESS_AFTER:
        if loop.worst <= ctx.state.settings[Setting.TOL_LOOSE, 0]:
            if change_is_self_stress(ctx.work, w):
                loop.status = SweepStatus.CONVERGED
    if loop.newton_done == 1 and loop.status != SweepStatus.CONVERGED:
        loop.newton_at = loop.n
        if not loop.worst <= LU_REUSE_RATIO * loop.last_change:
            put_int(ctx.work.status, Status.LU_VALID, w, 0)
        if loop.worst <= real(0.5) * loop.change_before_newton:
            loop.newton_tries = 0
        elif loop.newton_tries == MAX_DENSE_NEWTON_TRIES or loop.status != SweepStatus.CONTINUE:
            loop.newton_tries = 0
            loop.newton_at = loop.n + wp.max(DENSE_NEWTON_BACK_OFF, loop.n)
            if not loop.worst <= loop.change_before_newton:
                _undo_newton(ctx, w)
                loop.worst = loop.change_before_newton
    loop.last_change = loop.worst
    if loop.status == SweepStatus.CONTINUE and loop.n % ISLAND_NEWTON_EVERY == 0:
        if island_newton_applies(ctx.layout, ctx.state):
            if find_worst_light_contact(ctx.work, loop.epsilon, w) >= 0:
                loop.status = SweepStatus.USE_ISLANDS


@wp.func
def _undo_newton(ctx: Context, w: int):
    """Impulses and velocities as they were before the Newton steps."""
    impulses = dense_impulse_count(ctx, w)
    rows = row_count(ctx.work, w)
    copy(ctx.work.row_impulse_saved, ctx.work.row_impulse, impulses, w)
    copy(ctx.work.row_velocity_saved, ctx.work.row_velocity, rows, w)
    copy(ctx.work.row_impulse, ctx.work.row_impulse_old, impulses, w)
    copy(ctx.work.row_velocity, ctx.work.row_velocity_old, rows, w)


@wp.func
def _extrapolate(ctx: Context, x: wp.ref[Iterate], loop: wp.ref[SweepLoop], w: int):
    """Extrapolate, except before a Newton step: it starts, and may end, where bounds hold."""
    if loop.accelerate == 1 and loop.n < loop.newton_at:
        impulses = dense_impulse_count(ctx, w)
        rows = row_count(ctx.work, w)
        loop.change2 = column_distance2(ctx.work.row_impulse, ctx.work.row_impulse_old, impulses, w)
        beta = acceleration_factor(loop.last_change2, loop.change2)
        extrapolate(ctx.work.row_impulse, ctx.work.row_impulse_old, ctx.work.row_impulse_direction, beta, impulses, w)
        extrapolate(ctx.work.row_velocity, ctx.work.row_velocity_old, ctx.work.row_velocity_direction, beta, rows, w)
        loop.last_change2 = loop.change2


iterate_pgs_dense = make_pgs_loop("iterate_pgs_dense", Iterate, _sweep, _accept_or_undo_newton, _extrapolate)


@wp.func
def run_pgs_dense(ctx: Context, x: wp.ref[Iterate], sweeps_before: int, end: wp.float64, w: int):
    """Sweep on the dense Delassus matrix; Newton steps begin after the first sweep. Returns the number of
    sweeps, the last change, N s, and the `StopReason`, UNFINISHED where islands are to be solved by convex Newton."""
    impulses = gather_delassus_rows(ctx, x, w)
    max_sweeps = int(ctx.state.settings[Setting.MAX_SWEEPS, 0])
    loop = begin_sweeps(ctx, sweeps_before, max_sweeps, ProgressRule.DENSE, w)
    if wp.static(DOUBLE):
        if ctx.layout.dense_newton == 1 and loop.accelerate == 1 and newton_applies(ctx.layout, ctx.work, w):
            loop.newton_at = sweeps_before + DENSE_NEWTON_AFTER
    if loop.accelerate == 1:
        clear(ctx.work.row_impulse_direction, impulses, w)
        clear(ctx.work.row_velocity_direction, row_count(ctx.work, w), w)
    iterate_pgs_dense(ctx, x, loop, end, w)
    scatter_delassus_rows(ctx, x, w)
    return loop.n, loop.worst, stop_reason_of(ctx.state, loop)
