"""Split impulses for position errors: pseudo-velocities move positions and are then discarded (M-43, M-44)."""

from __future__ import annotations

from typing import Any

import warp as wp

from sharnir.dynamics.loop_joints import LoopJoints
from sharnir.impulse.data import Context, Iterate, Scratch, State
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.row_kinds import SCALAR_IMPULSES, RowKind
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.rows.restitution import gap_to_correct
from sharnir.impulse.slots import JOINT_ROWS, ReportItem, Setting
from sharnir.impulse.solve.active_contacts import activate_scalar_trees, activate_trees, has_active_tree
from sharnir.impulse.solve.contact_block import sweep_normal
from sharnir.impulse.solve.pgs_sweep import scalar_row_of, scalar_velocity_of, solve_bound, sweep_joint
from sharnir.impulse.tolerances import GAP_TOLERANCE
from sharnir.kernels.columns import get, item, put
from sharnir.kernels.types import read_ticks, real
from sharnir.kernels.vector_ops import row_add

SLOP = wp.constant(real(1.0e-6))  # m, penetration that is left, so that touching points keep touching
MAX_PUSH_SPEED = wp.constant(real(3.0))  # m/s, at which penetration is removed
PSEUDO_CHECK_EVERY = 20  # sweeps between checks of progress
# of a contact row's K, added where pseudo-impulses would grow without end (wedged bodies)
WEDGED_COMPLIANCE = wp.constant(real(0.1))
# of ε: smaller pseudo-impulses do not make neighbouring contacts active
PSEUDO_ACTIVATION = wp.constant(real(0.1))
PSEUDO_STALL_RATIO = wp.constant(real(0.7))  # of the change at the last check: more is a stall


@wp.func
def set_position_targets(
    loops: wp.ref[LoopJoints], layout: wp.ref[Layout], work: wp.ref[Scratch], dt: real, erp: real, w: int
):
    """Set target pseudo-velocities that leave 1 − ERP of the position errors of the step's start and nothing of those
    the step added (M-43); returns the largest correction, m or rad."""
    worst = real(0.0)
    kept_share = real(1.0) - erp
    k = int(0)
    while k < layout.joints:
        j = int(0)
        while j < loops.constraint_count[loops.kind[k]]:
            r = JOINT_ROWS * k + j
            error = get(work.joint_gap_next, r, w) - kept_share * get(work.joint_gap, r, w)
            tolerated = (
                wp.max(wp.abs(get(work.joint_gap, r, w)), wp.abs(get(work.joint_gap_next, r, w))) <= GAP_TOLERANCE
            )
            if tolerated or get(work.joint_row_dropped, r, w) > real(0.0):
                error = real(0.0)
            put(work.pseudo_target, r, w, -error / dt)
            worst = wp.max(worst, wp.abs(error))
            j += 1
        k += 1
    l = int(0)
    while l < layout.scalars:
        if (layout.scalar_row_kinds[l] & RowKind.BOUND) != 0:
            position = get(work.scalar_position_next, l, w)
            start_position = get(work.scalar_position, l, w)
            lower = layout.scalar_lower[l]
            upper = layout.scalar_upper[l]
            low = lower + kept_share * wp.min(start_position - lower, real(0.0)) - position
            high = upper + kept_share * wp.max(start_position - upper, real(0.0)) - position
            put(work.pseudo_velocity_lower, l, w, low / dt)
            put(work.pseudo_velocity_upper, l, w, high / dt)
            worst = wp.max(worst, wp.max(low, -high))
        l += 1
    c = int(0)
    while c < contact_count(work, w):
        worst = wp.max(worst, erp * (-gap_to_correct(work, c, w) - real(2.0) * SLOP))
        c += 1
    return worst


@wp.func
def sweep_scalar_bound(ctx: Context, l: int, x: wp.ref[Iterate], w: int):
    """Gauss–Seidel update of the limit or equality of scalar row l alone, pseudo-impulse; returns its change."""
    change = real(0.0)
    row = scalar_row_of(ctx.layout, ctx.work, l, x.direct, w)
    if row.K > real(0.0) and (row.kinds & RowKind.BOUND) != 0:
        at = ctx.layout.scalar_p_start + SCALAR_IMPULSES * l
        before = get(x.p, at, w)
        s = scalar_velocity_of(ctx.layout, ctx.work, row, x.z, w) - row.K * before
        after = solve_bound(ctx.work, l, s, row.K, w)
        change = after - before
        if change != real(0.0):
            put(x.p, at, w, after)
            row_add(ctx.work.W, row.start, row.length, ctx.layout.index, row.first, change, x.z, w)
    return wp.abs(change)


@wp.func
def contact_push_speed(work: wp.ref[Scratch], c: int, dt: real, erp: real, w: int):
    """Target pseudo-velocity of contact c along its normal, m/s, at most MAX_PUSH_SPEED; negative while a gap may
    close."""
    gap = gap_to_correct(work, c, w) + SLOP
    target = wp.min(-erp * gap / dt, MAX_PUSH_SPEED)
    if gap > real(0.0):
        target = -gap / dt
    return target


@wp.struct
class SplitImpulseLoop:
    """Where a loop of sweeps over pseudo-impulses stands."""

    n: int  # sweeps made
    max_sweeps: int
    contacts: int
    dt: real  # s
    erp: real  # share of penetration that a step removes
    epsilon: real  # N s
    worst: real  # N s, largest change of the last sweep
    change_at_check: real  # N s, that of the last check of progress
    compliance: real  # of contacts, as a share of their diagonal


@wp.func
def begin_split_impulses(state: wp.ref[State], contacts: int, dt: real, w: int):
    """A loop of pseudo-impulses within the sweeps that may still be made."""
    loop = SplitImpulseLoop()
    loop.max_sweeps = wp.min(
        int(state.settings[Setting.MAX_SWEEPS, 0]),
        int(state.settings[Setting.REPLAY_PSEUDO_SWEEPS, 0] - item(state.report, ReportItem.PSEUDO_SWEEP_COUNT, w)),
    )
    loop.contacts = contacts
    loop.dt = dt
    loop.erp = state.settings[Setting.ERP, 0]
    loop.epsilon = state.settings[Setting.EPSILON, 0]
    loop.worst = real(2.0) * loop.epsilon
    loop.change_at_check = real(wp.inf)
    return loop


@wp.func
def check_pseudo_progress(loop: wp.ref[SplitImpulseLoop]):
    """After a sweep: where progress stalls contacts become compliant, and wedged ones share what cannot be undone; if
    it stalls again sweeps end."""
    if loop.n % PSEUDO_CHECK_EVERY == 0 and loop.contacts > 0:
        before = loop.change_at_check
        loop.change_at_check = loop.worst
        if loop.worst > PSEUDO_STALL_RATIO * before:
            if loop.compliance > real(0.0):
                loop.worst = real(0.0)
                loop.change_at_check = real(0.0)
            loop.compliance = WEDGED_COMPLIANCE


def make_split_impulse_loop(name: str, unknowns: Any, sweep: Any) -> Any:
    """The loop over pseudo-impulses of a type (a struct) by sweep(ctx, x, loop, w), which changes both."""

    def run(ctx: Context, x: Any, loop: wp.ref[SplitImpulseLoop], end: wp.float64, w: int):
        while loop.worst > loop.epsilon and loop.n < loop.max_sweeps and read_ticks() < end:
            sweep(ctx, x, loop, w)
            loop.n = loop.n + 1
            check_pseudo_progress(loop)

    run.__name__ = run.__qualname__ = name
    run.__annotations__["x"] = wp.ref[unknowns]
    return wp.func(run)


@wp.func
def sweep_split_impulses(ctx: Context, x: wp.ref[Iterate], loop: wp.ref[SplitImpulseLoop], w: int):
    """One Gauss–Seidel sweep of pseudo-impulses over all blocks. Contacts that need not be separated are skipped until
    a pseudo-impulse of one of their trees has changed by more than PSEUDO_ACTIVATION of ε."""
    threshold = PSEUDO_ACTIVATION * loop.epsilon
    worst = real(0.0)
    k = int(0)
    while k < ctx.layout.joints and x.direct == 0:
        worst = wp.max(worst, sweep_joint(ctx, k, x, w))
        k += 1
    track_active = x.direct == 0 and ctx.layout.joints == 0
    l = int(0)
    while l < ctx.layout.scalars:
        change = sweep_scalar_bound(ctx, l, x, w)
        if change > threshold and track_active:
            activate_scalar_trees(ctx.layout, ctx.work, l, w)
        worst = wp.max(worst, change)
        l += 1
    c = int(0)
    while c < contact_count(ctx.work, w):
        target = contact_push_speed(ctx.work, c, loop.dt, loop.erp, w)
        if target > real(0.0) or not track_active or has_active_tree(ctx.work, c, w) == 1:
            change = sweep_normal(ctx, c, target, loop.compliance, x, w)
            if change > threshold and track_active:
                activate_trees(ctx.work, c, w)
            worst = wp.max(worst, change)
        c += 1
    loop.worst = worst


iterate_split_impulses = make_split_impulse_loop("iterate_split_impulses", Iterate, sweep_split_impulses)
