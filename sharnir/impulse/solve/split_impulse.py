"""Split impulses for position errors: pseudo-velocities move positions and are then discarded (M-43, M-44)."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.loop_joints import LoopJoints
from sharnir.impulse.data import Scratch, StepContext
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.row_kinds import BOUND
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.solve.active_contacts import activate_scalar_trees, activate_trees, has_active_tree
from sharnir.impulse.solve.contact_block import sweep_normal
from sharnir.impulse.solve.pgs_sweep import sweep_joint
from sharnir.impulse.tolerances import GAP_TOLERANCE
from sharnir.kernels.columns import get, put
from sharnir.kernels.types import array2, real
from sharnir.kernels.vector_ops import row_add, row_dot

SLOP = wp.constant(real(1.0e-6))  # m, penetration that is left, so that touching points keep touching
MAX_PUSH_SPEED = wp.constant(real(3.0))  # m/s, at which penetration is removed


@wp.func
def set_position_targets(loops: LoopJoints, plan: Layout, work: Scratch, dt: real, erp: real, w: int):
    """Set target pseudo-velocities that leave 1 − ERP of the position errors of the step's start and nothing of those
    the step added (M-43); returns the largest correction, m or rad."""
    worst = real(0.0)
    kept_share = real(1.0) - erp
    k = int(0)
    while k < plan.joints:
        j = int(0)
        while j < loops.constraint_count[loops.kind[k]]:
            r = 6 * k + j
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
    while l < plan.scalars:
        if (plan.scalar_row_kinds[l] & BOUND) != 0:
            position = get(work.scalar_position_next, l, w)
            start_position = get(work.scalar_position, l, w)
            lower = plan.scalar_lower[l]
            upper = plan.scalar_upper[l]
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
def sweep_scalar_bound(ctx: StepContext, l: int, direct: int, z: array2, p: array2, w: int):
    """Gauss–Seidel update of the limit or equality of scalar row l alone, pseudo-impulse; returns its change. direct: 1
    if rows are projected."""
    K = get(ctx.work.scalar_K, l, w)
    change = real(0.0)
    kinds = ctx.layout.scalar_row_kinds[l]
    length = ctx.layout.scalar_row_length[l]
    first = ctx.layout.scalar_index_start[l]
    start = ctx.layout.scalar_W_start[l]
    if direct == 1:
        kinds = ctx.layout.scalar_bounded_kinds[l]
        length = ctx.layout.z_size
        first = ctx.layout.identity_index_start
        start = ctx.layout.scalar_projected_start + l * ctx.layout.z_size
        if K > real(0.0):
            K = get(ctx.work.scalar_K_projected, l, w)
    if K > real(0.0) and (kinds & BOUND) != 0:
        at = ctx.layout.scalar_p_start + 4 * l
        before = get(p, at, w)
        s = (
            row_dot(ctx.work.W, start, length, ctx.layout.index, first, z, w)
            + get(ctx.work.projected_velocity_offset, l, w)
            - K * before
        )
        after = (wp.clamp(s, get(ctx.work.velocity_lower, l, w), get(ctx.work.velocity_upper, l, w)) - s) / K
        change = after - before
        if change != real(0.0):
            put(p, at, w, after)
            row_add(ctx.work.W, start, length, ctx.layout.index, first, change, z, w)
    return wp.abs(change)


@wp.func
def contact_push_speed(work: Scratch, c: int, dt: real, erp: real, w: int):
    """Target pseudo-velocity of contact c along its normal, m/s, at most MAX_PUSH_SPEED; negative while a gap may
    close."""
    gap = get(work.contact_gap, c, w) + SLOP
    target = wp.min(-erp * gap / dt, MAX_PUSH_SPEED)
    if gap > real(0.0):
        target = -gap / dt
    return target


@wp.func
def sweep_split_impulses(
    ctx: StepContext, compliance: real, direct: int, dt: real, erp: real, threshold: real, z: array2, p: array2, w: int
):
    """One Gauss–Seidel sweep of pseudo-impulses over all blocks; returns the largest change. compliance: see
    `sweep_normal`. Contacts that need not be separated are skipped until a pseudo-impulse of one of their trees has
    changed by more than `threshold`."""
    worst = real(0.0)
    k = int(0)
    while k < ctx.layout.joints and direct == 0:
        worst = wp.max(worst, sweep_joint(ctx, k, z, p, w))
        k += 1
    track_active = direct == 0 and ctx.layout.joints == 0
    l = int(0)
    while l < ctx.layout.scalars:
        change = sweep_scalar_bound(ctx, l, direct, z, p, w)
        if change > threshold and track_active:
            activate_scalar_trees(ctx.layout, ctx.work, l, w)
        worst = wp.max(worst, change)
        l += 1
    c = int(0)
    while c < contact_count(ctx.work, w):
        target = contact_push_speed(ctx.work, c, dt, erp, w)
        if target > real(0.0) or not track_active or has_active_tree(ctx.work, c, w) == 1:
            change = sweep_normal(ctx, c, target, compliance, direct, z, p, w)
            if change > threshold and track_active:
                activate_trees(ctx.work, c, w)
            worst = wp.max(worst, change)
        c += 1
    return worst
