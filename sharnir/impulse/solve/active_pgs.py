"""Projected Gauss–Seidel over the active ones of many contacts, most of which do not change (M-85)."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Context, Iterate, Scratch
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.slots import ProgressRule, Setting, SweepStatus
from sharnir.impulse.solve.active_contacts import (
    activate_changed_frozen,
    extrapolate_active,
    freeze_contacts,
    restart_acceleration,
    sweep_active,
    sweep_frozen,
    unfreeze_contacts,
)
from sharnir.impulse.solve.islands.newton import solve_islands
from sharnir.impulse.solve.pgs import ISLAND_NEWTON_EVERY
from sharnir.impulse.solve.pgs_loop import (
    PGS_CHECK_EVERY_ACCEPTED,
    SweepLoop,
    acceleration_factor,
    begin_sweeps,
    make_pgs_loop,
    stop_reason_of,
)
from sharnir.kernels.columns import get_int
from sharnir.kernels.indexed_blocks import copy_indexed_blocks
from sharnir.kernels.types import DOUBLE, real

ACTIVATE_SHARE_OF_LARGEST = wp.constant(real(0.03))  # of the largest change of a sweep: less activates nothing
ACTIVATE_SHARE_OF_EPSILON = wp.constant(real(0.1))  # of ε: less never activates anything


@wp.func
def activation_threshold(work: wp.ref[Scratch], epsilon: real, worst: real, w: int):
    """Change of an impulse, N s, above which a contact activates its trees, after a sweep with largest change `worst`
    (M-85); infinite where all contacts are active."""
    all_active = get_int(work.active_contacts, 0, w) == contact_count(work, w)
    return wp.where(
        all_active, real(wp.inf), wp.max(ACTIVATE_SHARE_OF_EPSILON * epsilon, ACTIVATE_SHARE_OF_LARGEST * worst)
    )


@wp.func
def _sweep(ctx: Context, x: wp.ref[Iterate], loop: wp.ref[SweepLoop], w: int):
    """Sweep the frozen contacts where that is due, then the active ones; the first sweep finds out which are."""
    threshold = activation_threshold(ctx.work, loop.epsilon, loop.worst, w)
    loop.worst = real(0.0)
    if loop.check == 1:
        loop.worst = sweep_frozen(ctx, x, w)
        frozen_threshold = activation_threshold(ctx.work, loop.epsilon, loop.worst, w)
        loop.newly_active = loop.newly_active + activate_changed_frozen(ctx.layout, ctx.work, frozen_threshold, w)
    loop.change2 = real(0.0)
    if loop.n > 0:
        if loop.newly_active > 0:
            unfreeze_contacts(ctx.layout, ctx.work, x.p, w)
        copy_indexed_blocks(x.z, ctx.work.z_old, ctx.work.touched_dofs, 0, 1, 1, w)
        change, active_change2, activated = sweep_active(ctx, threshold, x, w)
        loop.worst = wp.max(loop.worst, change)
        loop.change2 = active_change2
        loop.newly_active = activated


@wp.func
def _solve_islands(ctx: Context, x: wp.ref[Iterate], loop: wp.ref[SweepLoop], w: int):
    """Solve small islands by convex Newton from time to time, and start the acceleration anew."""
    if wp.static(DOUBLE):
        if loop.status == SweepStatus.CONTINUE and loop.n % ISLAND_NEWTON_EVERY == 0:
            solve_islands(ctx, loop.epsilon, x.z, x.p, w)
            restart_acceleration(ctx.layout, ctx.work, x.z, x.p, w)
            loop.change2 = real(0.0)


@wp.func
def _extrapolate(ctx: Context, x: wp.ref[Iterate], loop: wp.ref[SweepLoop], w: int):
    """Extrapolate active contacts; each tenth sweep, the last, and one after convergence include the frozen ones."""
    next_sweep = loop.n + 1
    due = next_sweep % PGS_CHECK_EVERY_ACCEPTED == 0 or next_sweep == loop.max_sweeps
    loop.check = wp.where(loop.worst <= loop.epsilon or due, 1, 0)
    beta = acceleration_factor(loop.last_change2, loop.change2)
    extrapolate_active(ctx.layout, ctx.work, beta, x.z, x.p, w)
    loop.last_change2 = loop.change2


iterate_pgs_active = make_pgs_loop("iterate_pgs_active", Iterate, _sweep, _solve_islands, _extrapolate)


@wp.func
def run_pgs_active(ctx: Context, x: wp.ref[Iterate], end: wp.float64, w: int):
    """Sweep contacts alone, over active ones (M-85). Contacts of trees whose impulses do not change are frozen; the
    first sweep, each tenth and the last include them, and only these may end the loop. Returns the number of sweeps,
    the last change, N s, and the `StopReason`."""
    freeze_contacts(ctx.layout, ctx.work, w)
    loop = begin_sweeps(ctx, 0, int(ctx.state.settings[Setting.MAX_SWEEPS, 0]), ProgressRule.CONTACTS, w)
    iterate_pgs_active(ctx, x, loop, end, w)
    return loop.n, loop.worst, stop_reason_of(ctx.state, loop)
