"""Velocities of a step: its momenta balance, joints are closed at its end (M-32..M-36)."""

from __future__ import annotations

import warp as wp

from sharnir.constraints.contacts import aim_bounces, bounces, impact_work
from sharnir.constraints.held import project_rows
from sharnir.constraints.lines import line_position
from sharnir.constraints.loops import Loops
from sharnir.constraints.plan import HOLD, SOFT, Plan
from sharnir.constraints.rows import (
    bound_speed,
    displaced_gaps,
    joint_coordinates,
    joint_gaps,
    kept,
    wake_lines,
)
from sharnir.constraints.tolerances import CLOSED, CLOSED_LEAST, GUARD, NEAR, NEAR_GAPS, SETTLED, SETTLED_LEAST, SMALL
from sharnir.constraints.work import GUARDED, PASSED, PASSES, TIGHT, State, Work
from sharnir.dynamics.aba import outward
from sharnir.dynamics.advance import advance
from sharnir.dynamics.kinematics import poses
from sharnir.dynamics.momenta import add_tangent_momenta, chord_momenta, tangent_momenta, whitened_momentum
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.maths import array2, copy, get, item, put, real, row_dot, set_item
from sharnir.stepping.series import follow, forget
from sharnir.stepping.solve import solve, time_is_up

SOFTER = 8  # times an impact is made softer, at most
PASS, LAST, TANGENT, LOOK, DONE = range(5)  # what is next: a pass, the last correction, the tangent, a look at the end


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
    total = real(0.0)
    d = int(0)
    while d < plan.dofs:
        rho = get(work.zP, d, w) + get(ws.z, d, w) - get(work.base, d, w) - get(work.zc, d, w)
        put(work.zc, d, w, rho)
        total = total + rho * rho
        d += 1
    return total


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


@wp.func
def velocity_passes(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, held: int,
    h: real, dt: real, end: wp.float64, w: int,
):  # fmt: skip
    """Velocities of the step: momenta over the step balance, joints are closed at its end (M-32).

    Starts from the last step's correction of the tangent momenta, and hands the rest it leaves to the next step.
    """
    n = plan.dofs
    passes = int(state.settings[PASSES, 0])
    tight = state.settings[TIGHT, 0]
    closed = wp.max(tight * CLOSED * dt * dt, CLOSED_LEAST)
    settled_at = wp.max(tight * tight * SETTLED * dt * dt, SETTLED_LEAST)
    k = int(0)
    mode = int(PASS)
    gaps = int(1)
    tries = int(0)  # of softer impacts
    bouncing = bounces(work, w)  # 2: as softly as it must
    share = real(1.0)
    while mode != DONE:  # one place for each of the large functions: they are inlined where they stand
        if mode != LOOK:
            gaps = 1
            if mode == LAST:
                copy(ws.z, work.z_old, n, w)
                add_missing(work, ws.z, n, w)
                copy(work.z_old, work.zc, n, w)  # sweeps need z_old for themselves
            again = int(1)
            while again == 1:
                if bouncing > 0:
                    aim_bounces(plan, work, share, dt, w)
                solve(loops, plan, state, work, held, ws.z, dt, end, w)
                again = 0
                if bouncing == 1:  # an impact that would add energy is made softer (M-59)
                    after, before = impact_work(plan, work, ws.z, w)
                    if after + before <= real(1.0e-12) * kinetic2(work.zv, n, w) or tries == SOFTER:
                        bouncing = 2
                    else:
                        again = 1
                        tries += 1
                        share = share * wp.where(tries == 1, -before / after, real(0.5))
                        if tries == SOFTER:
                            share = real(0.0)
            if mode == LAST:
                follow_tangent(tree, ws, plan, state, work, w)
                mode = LOOK
            else:
                outward(tree, ws, state.v_next, w)
                if mode == TANGENT:
                    tangent_momenta(tree, ws, w)
                    mode = LOOK
        if mode == LOOK or plan.bent_lines == 1:
            look(tree, trial, loops, plan, state, work, gaps, dt, w)
        if mode == LOOK:
            mode = DONE
        else:
            missing = chord_residual(tree, ws, plan, state, work, dt, w)
            unbalanced = missing
            growth = real(0.0)
            if plan.bent == 1:
                if plan.bent_lines == 0:
                    gaps = 0
                    displaced_gaps(tree, ws, loops, work.gap_next, w)
                widest, to_undo = gap_growth(loops, work, dt, w)
                growth = widest
                missing = missing + to_undo
                if plan.bent_lines == 1:
                    widest, to_undo = line_misses(plan, work, ws.z, dt, w)
                    growth = wp.max(growth, widest)
                    missing = missing + to_undo
            if wake_lines(tree, ws, loops, plan, state, work, h, dt, w) > 0:
                if held == 1:
                    project_rows(plan, work, w)
            else:
                if plan.bent == 1:
                    aim(loops, plan, work, ws.z, dt, w)
                energy = kinetic2(ws.z, n, w) + kinetic2(work.zP, n, w)
                out_of_time = time_is_up(state, real(0.0), end, w)
                if k == passes or (missing <= settled_at * energy and growth < closed) or out_of_time:
                    mode = LOOK
                    if out_of_time:
                        missing = unbalanced
                    if missing > GUARD * energy:
                        mode = TANGENT
                        set_item(state.report, GUARDED, w, real(1.0))
                        drop_correction(plan, state, work, ws.z, dt, w)
                    else:
                        keep_correction(plan, state, work, wp.where(missing > SMALL * energy, real(0.0), real(1.0)), w)
                        if plan.bent_lines == 1:
                            mode = DONE
                else:
                    k += 1
                    if missing <= NEAR * energy and growth <= NEAR_GAPS * closed:
                        mode = LAST
                    else:
                        add_missing(work, ws.z, n, w)
    set_item(state.report, PASSED, w, real(k))
    if plan.alone == 1 and item(state.report, GUARDED, w) == real(0.0):
        keep_momenta(tree, ws, plan, state, work, w)


@wp.func
def add_missing(work: Work, z: array2, n: int, w: int):
    """z and what it is built on ← with what the momentum equation still lacks."""
    d = int(0)
    while d < n:
        put(z, d, w, get(z, d, w) + get(work.zc, d, w))
        put(work.base, d, w, get(work.base, d, w) + get(work.zc, d, w))
        d += 1


@wp.func
def follow_tangent(tree: Tree, ws: Workspace, plan: Plan, state: State, work: Work, w: int):
    """Velocities and momenta follow the last change of z along the tangent, so little is left; zc: z before it."""
    n = plan.dofs
    d = int(0)
    while d < n:
        z = get(ws.z, d, w)
        put(ws.z, d, w, z - get(work.zc, d, w))
        put(work.zc, d, w, z)
        set_item(state.tau, d, w, item(state.v_next, d, w))
        d += 1
    outward(tree, ws, state.v_next, w)
    d = int(0)
    while d < n:
        set_item(state.v_next, d, w, item(state.v_next, d, w) + item(state.tau, d, w))
        put(ws.z, d, w, get(work.zc, d, w))
        put(work.zc, d, w, real(0.0))
        d += 1
    add_tangent_momenta(tree, ws, w)
    keep_correction(plan, state, work, real(0.0), w)


@wp.func
def keep_momenta(tree: Tree, ws: Workspace, plan: Plan, state: State, work: Work, w: int):
    """C ← P⁺ + Σ Jᵀ p of bodies on their own: momentum is exact, whatever the passes left."""
    n = plan.dofs
    copy(ws.z, work.zc, n, w)
    d = int(0)
    while d < n:
        put(ws.z, d, w, get(work.zP, d, w) + get(ws.z, d, w) - get(work.base, d, w))
        set_item(state.lack, d, w, real(0.0))
        d += 1
    outward(tree, ws, state.tau, w)
    tangent_momenta(tree, ws, w)
    copy(work.zc, ws.z, n, w)


@wp.func
def keep_correction(plan: Plan, state: State, work: Work, share: real, w: int):
    """The correction this step called for, to start the next with, and a share of what was left of it."""
    d = int(0)
    while d < plan.dofs:
        left = get(work.zc, d, w)
        put(work.z_old, d, w, get(work.base, d, w) - get(work.zP, d, w) + left)
        set_item(state.lack, d, w, left * share)
        d += 1
    follow(state.bend, work.z_old, plan.dofs, w)
    follow(state.aim, work.joint_target, 6 * plan.joints, w)


@wp.func
def forget_correction(plan: Plan, state: State, w: int):
    d = int(0)
    while d < plan.dofs:
        set_item(state.lack, d, w, real(0.0))
        d += 1
    forget(state.bend, 3 * plan.dofs + 1, w)
    forget(state.aim, 18 * plan.joints + 1, w)


@wp.func
def drop_correction(plan: Plan, state: State, work: Work, z: array2, dt: real, w: int):
    """Back to the tangent at the start of the step: it loses energy and gains none."""
    d = int(0)
    while d < plan.dofs:
        put(z, d, w, get(z, d, w) - get(work.base, d, w) + get(work.zP, d, w))
        d += 1
    forget_correction(plan, state, w)
    r = int(0)
    while r < 6 * plan.joints:
        put(work.joint_target, r, w, real(0.0))
        r += 1
    l = int(0)
    while l < plan.lines:
        if (plan.line_acts[l] & HOLD) != 0:
            g = get(work.g, l, w)
            bound_speed(plan, work, l, real(0.0), g, g, dt, 1, w)
        l += 1
