"""Split impulses for position errors: pseudo-velocities move positions and are then discarded (M-43, M-44)."""

from __future__ import annotations

from typing import Any

import warp as wp

from sharnir.dynamics.loop_joints import LoopJoints
from sharnir.impulse.data import Context, Iterate, Scratch, State
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.row_kinds import BOUND, SCALAR_IMPULSES
from sharnir.impulse.rows.contact_frame import contact_count
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
PSEUDO_PATIENCE = 20  # sweeps between checks of progress
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
            put(work.joint_target, r, w, -error / dt)
            worst = wp.max(worst, wp.abs(error))
            j += 1
        k += 1
    l = int(0)
    while l < layout.scalars:
        if (layout.scalar_row_kinds[l] & BOUND) != 0:
            position = get(work.scalar_position_next, l, w)
            start_position = get(work.scalar_position, l, w)
            lower = layout.scalar_lower[l]
            upper = layout.scalar_upper[l]
            low = lower + kept_share * wp.min(start_position - lower, real(0.0)) - position
            high = upper + kept_share * wp.max(start_position - upper, real(0.0)) - position
            put(work.velocity_lower, l, w, low / dt)
            put(work.velocity_upper, l, w, high / dt)
            worst = wp.max(worst, wp.max(low, -high))
        l += 1
    c = int(0)
    while c < contact_count(work, w):
        worst = wp.max(worst, erp * (-get(work.contact_gap, c, w) - real(2.0) * SLOP))
        c += 1
    return worst


@wp.func
def sweep_scalar_bound(ctx: Context, l: int, x: wp.ref[Iterate], w: int):
    """Gauss–Seidel update of the limit or equality of scalar row l alone, pseudo-impulse; returns its change."""
    change = real(0.0)
    row = scalar_row_of(ctx.layout, ctx.work, l, x.direct, w)
    if row.K > real(0.0) and (row.kinds & BOUND) != 0:
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
    gap = get(work.contact_gap, c, w) + SLOP
    target = wp.min(-erp * gap / dt, MAX_PUSH_SPEED)
    if gap > real(0.0):
        target = -gap / dt
    return target


@wp.struct
class PushLoop:
    """Where a loop of sweeps over pseudo-impulses stands."""

    n: int  # sweeps made
    max_sweeps: int
    contacts: int
    dt: real  # s
    erp: real  # share of penetration that a step removes
    epsilon: real  # N s
    worst: real  # N s, largest change of the last sweep
    checked: real  # N s, that of the last check of progress
    compliance: real  # of contacts, as a share of their diagonal


@wp.func
def begin_push(state: wp.ref[State], contacts: int, dt: real, w: int):
    """A loop of pseudo-impulses within the sweeps that may still be made."""
    push = PushLoop()
    push.max_sweeps = wp.min(
        int(state.settings[Setting.MAX_SWEEPS, 0]),
        int(state.settings[Setting.REPLAY_PSEUDO_SWEEPS, 0] - item(state.report, ReportItem.PSEUDO_SWEEP_COUNT, w)),
    )
    push.contacts = contacts
    push.dt = dt
    push.erp = state.settings[Setting.ERP, 0]
    push.epsilon = state.settings[Setting.EPSILON, 0]
    push.worst = real(2.0) * push.epsilon
    push.checked = real(wp.inf)
    return push


@wp.func
def check_pseudo_progress(push: wp.ref[PushLoop]):
    """After a sweep: where progress stalls contacts become compliant, and wedged ones share what cannot be undone; if
    it stalls again sweeps end."""
    if push.n % PSEUDO_PATIENCE == 0 and push.contacts > 0:
        before = push.checked
        push.checked = push.worst
        if push.worst > PSEUDO_STALL_RATIO * before:
            if push.compliance > real(0.0):
                push.worst = real(0.0)
                push.checked = real(0.0)
            push.compliance = WEDGED_COMPLIANCE


def make_push_loop(name: str, unknowns: Any, sweep: Any) -> Any:
    """The loop over pseudo-impulses of a type (a struct) by sweep(ctx, x, push, w), which changes both."""

    def run(ctx: Context, x: Any, push: wp.ref[PushLoop], end: wp.float64, w: int):
        while push.worst > push.epsilon and push.n < push.max_sweeps and read_ticks() < end:
            sweep(ctx, x, push, w)
            push.n = push.n + 1
            check_pseudo_progress(push)

    run.__name__ = run.__qualname__ = name
    run.__annotations__["x"] = wp.ref[unknowns]
    return wp.func(run)


@wp.func
def sweep_split_impulses(ctx: Context, x: wp.ref[Iterate], push: wp.ref[PushLoop], w: int):
    """One Gauss–Seidel sweep of pseudo-impulses over all blocks. Contacts that need not be separated are skipped until
    a pseudo-impulse of one of their trees has changed by more than PSEUDO_ACTIVATION of ε."""
    threshold = PSEUDO_ACTIVATION * push.epsilon
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
        target = contact_push_speed(ctx.work, c, push.dt, push.erp, w)
        if target > real(0.0) or not track_active or has_active_tree(ctx.work, c, w) == 1:
            change = sweep_normal(ctx, c, target, push.compliance, x, w)
            if change > threshold and track_active:
                activate_trees(ctx.work, c, w)
            worst = wp.max(worst, change)
        c += 1
    push.worst = worst


iterate_push = make_push_loop("iterate_push", Iterate, sweep_split_impulses)
