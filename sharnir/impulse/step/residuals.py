"""What a step leaves unbalanced, and where it leads: momenta over the step, gaps of joints, lines (M-33..M-36)."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.advance import advance
from sharnir.dynamics.kinematics import poses
from sharnir.dynamics.loop_joints import Loops
from sharnir.dynamics.momenta import chord_momenta, whitened_momentum
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.impulse.data import State, Work
from sharnir.impulse.layout.layout import Plan
from sharnir.impulse.row_kinds import HOLD, SOFT
from sharnir.impulse.rows.assembly import bound_speed, joint_coordinates, joint_gaps, kept, undoing
from sharnir.impulse.rows.extrapolation import expected, follow
from sharnir.impulse.rows.scalar_rows import line_position
from sharnir.impulse.step.momentum_ops import momenta_missing
from sharnir.kernels.columns import get, item, put, set_item
from sharnir.kernels.types import array2, real
from sharnir.kernels.vector_ops import row_dot


@wp.func
def look(tree: Tree, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, gaps: int, dt: real, w: int):
    """Poses at the end of a step with v_next, and the errors of lines and, unless they are known, of joints there."""
    advance(tree, state.q, state.v_next, dt, state.q_next, w)
    poses(tree, trial, state.q_next, state.q_next, w)
    if gaps == 1:
        joint_gaps(tree, trial, loops, work.gap_next, w)
    if plan.bent_lines == 1:
        joint_coordinates(tree, trial, loops, state.loop_q, state.loop_next, w)
    l = int(0)
    while l < plan.lines:
        if (plan.line_acts[l] & (HOLD | SOFT)) != 0:
            put(work.g_next, l, w, line_position(tree, trial, plan, l, state.q_next, state.loop_next, w))
        l += 1


@wp.func
def aim(loops: Loops, plan: Plan, work: Work, z: array2, dt: real, w: int):
    """Speeds the rows must have so that errors do not grow over the step, judged from where it would lead (M-36)."""
    k = int(0)
    while k < plan.joints:
        j = int(0)
        while j < loops.fixed[loops.kind[k]]:
            r = 6 * k + j
            start = plan.joint_start[k] + j * plan.joint_length[k]
            s = row_dot(work.W, start, plan.joint_length[k], plan.index, plan.joint_first[k], z, w)
            put(work.joint_target, r, w, s + (kept(get(work.gap, r, w)) - get(work.gap_next, r, w)) / dt)
            j += 1
        k += 1
    if plan.bent_lines == 1:
        aim_lines(plan, work, z, dt, w)


@wp.func
def expect_aims(plan: Plan, state: State, work: Work, ratio: real, dt: real, w: int):
    """Speeds the joints' rows seek as a step begins: those that curved paths call for, as the steps before tell, times
    `ratio`, and those that undo the errors of now (M-65)."""
    r = int(0)
    while r < 6 * plan.joints:
        sought = real(0.0)
        if ratio > real(0.0):
            sought = ratio * expected(state.aim, r, 6 * plan.joints, w) + undoing(work, r, dt, w)
        put(work.joint_target, r, w, sought)
        r += 1


@wp.func
def follow_aims(plan: Plan, state: State, work: Work, dt: real, w: int):
    """Take note of the speeds the joints' rows came to seek, less those that undid errors: these do not go on. The
    targets are used up."""
    r = int(0)
    while r < 6 * plan.joints:
        put(work.joint_target, r, w, get(work.joint_target, r, w) - undoing(work, r, dt, w))
        r += 1
    follow(state.aim, work.joint_target, 6 * plan.joints, w)


@wp.func
def aim_lines(plan: Plan, work: Work, z: array2, dt: real, w: int):
    """The same for lines: limits hold and soft forces act by where positions go, not by what the row says."""
    l = int(0)
    while l < plan.lines:
        acts = plan.line_acts[l] & (HOLD | SOFT)
        if acts != 0 and plan.line_measured[l] == 1 and get(work.K, l, w) > real(0.0):
            g = get(work.g, l, w)
            end = get(work.g_next, l, w)
            s = row_dot(work.W, plan.line_start[l], plan.line_length[l], plan.index, plan.line_first[l], z, w)
            if (acts & HOLD) != 0:
                bound_speed(plan, work, l, s, end, g, dt, 1, w)
            if (acts & SOFT) != 0:
                put(work.soft_speed, l, w, get(work.soft_base, l, w) - ((end - g) / dt - s))
        l += 1


@wp.func
def chord_residual(tree: Tree, ws: Workspace, plan: Plan, state: State, work: Work, dt: real, w: int):
    """zc ← what is missing of the momentum equation over the step, ρ = zP + Wᵀp − zc(v) (M-33); returns |ρ|²."""
    chord_momenta(tree, ws, state.v_next, dt, w)
    d = int(0)
    while d < plan.dofs:
        set_item(state.tau, d, w, get(ws.E, d, w) * item(state.v_next, d, w))
        d += 1
    whitened_momentum(tree, ws, state.tau, work.zc, w)
    return momenta_missing(work.zP, ws.z, work.base, work.zc, plan.dofs, w)


@wp.func
def kinetic2(z: array2, n: int, w: int):
    """|z|², twice the kinetic energy."""
    total = real(0.0)
    d = int(0)
    while d < n:
        total = total + get(z, d, w) * get(z, d, w)
        d += 1
    return total


@wp.func
def line_misses(plan: Plan, work: Work, z: array2, dt: real, w: int):
    """How far lines end from where their limits hold them or their soft forces took them to be: the most, and the
    energy it would take to undo it, twice."""
    worst = real(0.0)
    energy = real(0.0)
    l = int(0)
    while l < plan.lines:
        K = get(work.K, l, w)
        acts = plan.line_acts[l] & (HOLD | SOFT)
        if acts != 0 and plan.line_measured[l] == 1 and K > real(0.0):
            g = get(work.g, l, w)
            end = get(work.g_next, l, w)
            miss = real(0.0)
            mass = real(1.0) / K
            if (acts & HOLD) != 0:
                p = get(work.p, plan.first_line + 4 * l, w)
                low = wp.min(plan.line_lower[l], g)
                high = wp.max(plan.line_upper[l], g)
                if plan.line_lower[l] == plan.line_upper[l]:
                    low = g
                    high = g
                miss = wp.max(low - end, end - high)
                if p > real(0.0):
                    miss = end - low
                elif p < real(0.0):
                    miss = end - high
                elif miss < real(0.0):
                    miss = real(0.0)
            if (acts & SOFT) != 0:
                s = row_dot(work.W, plan.line_start[l], plan.line_length[l], plan.index, plan.line_first[l], z, w)
                off = (end - g) - dt * (s + get(work.soft_base, l, w) - get(work.soft_speed, l, w))
                miss = wp.max(wp.abs(miss), wp.abs(off))
                mass = real(1.0) / (K + get(work.soft_give, l, w))
            worst = wp.max(worst, wp.abs(miss))
            energy = energy + miss * miss * mass
        l += 1
    return worst, energy / (dt * dt)


@wp.func
def gap_growth(loops: Loops, work: Work, dt: real, w: int):
    """How much the step widens the gaps of joints: the most, and the energy it would take to undo it, twice."""
    worst = real(0.0)
    energy = real(0.0)
    k = int(0)
    while k < loops.count:
        j = int(0)
        while j < loops.fixed[loops.kind[k]]:
            r = 6 * k + j
            if get(work.off, r, w) == real(0.0):
                growth = get(work.gap_next, r, w) - kept(get(work.gap, r, w))
                worst = wp.max(worst, wp.abs(growth))
                energy = energy + growth * growth * get(work.joint_mass, r, w)
            j += 1
        k += 1
    return worst, energy / (dt * dt)
