"""Position errors by split impulses: pseudo-velocities that move positions and are then forgotten (M-43, M-44)."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.loop_joints import Loops
from sharnir.impulse.data import Work
from sharnir.impulse.layout.layout import Plan
from sharnir.impulse.row_kinds import HOLD
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.solve.active_contacts import is_stirred, stir, stir_line
from sharnir.impulse.solve.contact_block import sweep_normal
from sharnir.impulse.solve.pgs_sweep import sweep_joint
from sharnir.impulse.tolerances import OWN
from sharnir.kernels.columns import get, put
from sharnir.kernels.types import array2, real
from sharnir.kernels.vector_ops import row_add, row_dot

SLOP = wp.constant(real(1.0e-6))  # m, of contact that is left alone, so that touching points keep touching
PUSH = wp.constant(real(3.0))  # m/s, the most that penetration is undone with


@wp.func
def seek_positions(loops: Loops, plan: Plan, work: Work, dt: real, erp: real, w: int):
    """Pseudo-speeds that leave 1 − ERP of the errors there were at the start and nothing of those the step made;
    returns the largest distance sought."""
    worst = real(0.0)
    keep = real(1.0) - erp
    k = int(0)
    while k < plan.joints:
        j = int(0)
        while j < loops.fixed[loops.kind[k]]:
            r = 6 * k + j
            error = get(work.gap_next, r, w) - keep * get(work.gap, r, w)
            own = wp.max(wp.abs(get(work.gap, r, w)), wp.abs(get(work.gap_next, r, w))) <= OWN
            if own or get(work.off, r, w) > real(0.0):
                error = real(0.0)
            put(work.joint_target, r, w, -error / dt)
            worst = wp.max(worst, wp.abs(error))
            j += 1
        k += 1
    l = int(0)
    while l < plan.lines:
        if (plan.line_acts[l] & HOLD) != 0:
            here = get(work.g_next, l, w)
            start = get(work.g, l, w)
            lower = plan.line_lower[l]
            upper = plan.line_upper[l]
            low = lower + keep * wp.min(start - lower, real(0.0)) - here
            high = upper + keep * wp.max(start - upper, real(0.0)) - here
            put(work.lower, l, w, low / dt)
            put(work.upper, l, w, high / dt)
            worst = wp.max(worst, wp.max(low, -high))
        l += 1
    c = int(0)
    while c < contact_count(work, w):
        worst = wp.max(worst, erp * (-get(work.contact_gap, c, w) - real(2.0) * SLOP))
        c += 1
    return worst


@wp.func
def sweep_hold(plan: Plan, work: Work, l: int, held: int, z: array2, p: array2, w: int):
    """A limit or equality alone."""
    K = get(work.K, l, w)
    change = real(0.0)
    acts = plan.line_acts[l]
    length = plan.line_length[l]
    first = plan.line_first[l]
    start = plan.line_start[l]
    if held == 1:
        acts = plan.line_loose[l]
        length = plan.width
        first = plan.every
        start = plan.dense_line + l * plan.width
        if K > real(0.0):
            K = get(work.K_held, l, w)
    if K > real(0.0) and (acts & HOLD) != 0:
        at = plan.first_line + 4 * l
        before = get(p, at, w)
        s = row_dot(work.W, start, length, plan.index, first, z, w) + get(work.offset, l, w) - K * before
        after = (wp.clamp(s, get(work.lower, l, w), get(work.upper, l, w)) - s) / K
        change = after - before
        if change != real(0.0):
            put(p, at, w, after)
            row_add(work.W, start, length, plan.index, first, change, z, w)
    return wp.abs(change)


@wp.func
def push_wanted(work: Work, c: int, dt: real, erp: real, w: int):
    """Pseudo-speed that contact c is to leave with, at most PUSH."""
    gap = get(work.contact_gap, c, w) + SLOP
    wanted = wp.min(-erp * gap / dt, PUSH)
    if gap > real(0.0):
        wanted = -gap / dt
    return wanted


@wp.func
def sweep_positions(
    loops: Loops, plan: Plan, work: Work, give: real, held: int, dt: real, erp: real, least: real, z: array2, p: array2,
    w: int,
):  # fmt: skip
    """All blocks once, pseudo-impulses; give: see `sweep_normal`. Contacts that need not be parted are left out while
    no pseudo-impulse of their bodies has changed by more than `least`."""
    worst = real(0.0)
    k = int(0)
    while k < plan.joints and held == 0:
        worst = wp.max(worst, sweep_joint(loops, plan, work, k, z, p, w))
        k += 1
    alone = held == 0 and plan.joints == 0
    l = int(0)
    while l < plan.lines:
        change = sweep_hold(plan, work, l, held, z, p, w)
        if change > least and alone:
            stir_line(plan, work, l, w)
        worst = wp.max(worst, change)
        l += 1
    c = int(0)
    while c < contact_count(work, w):
        wanted = push_wanted(work, c, dt, erp, w)
        if wanted > real(0.0) or not alone or is_stirred(work, c, w) == 1:
            change = sweep_normal(plan, work, c, wanted, give, held, z, p, w)
            if change > least and alone:
                stir(work, c, w)
            worst = wp.max(worst, change)
        c += 1
    return worst
