"""A step of sequential impulses in generalised coordinates, for every world (docs/method.md, M-30..M-45).

Maximal coordinates are the same step on a model whose bodies are all free and whose joints all close loops.
"""

from __future__ import annotations

import warp as wp

from sharnir.constraints.direct import answer_of_bound, bind, factor_bound, project_rows, set_offsets
from sharnir.constraints.loops import Loops, loop_ends, row_form
from sharnir.constraints.lines import line_position
from sharnir.constraints.plan import HOLD, Plan
from sharnir.constraints.rows import (
    OWN,
    bound_speed,
    displaced_gaps,
    factor_joints,
    find_contacts,
    get_count,
    joint_coordinates,
    joint_gaps,
    kept,
    prepare_lines,
    whiten_joints,
)  # fmt: skip
from sharnir.constraints.stabilise import seek_positions, sweep_positions
from sharnir.constraints.sweep import apply_impulses, sweep
from sharnir.constraints.work import (
    ACCELERATE,
    BUDGET,
    CAPPED,
    CONVERGED,
    DIRECT,
    DT,
    EPSILON,
    ERP,
    GUARDED,
    METHOD,
    OUT_OF_TIME,
    PAPER_TREE,
    PASSED,
    PASSES,
    POSITION_ERROR,
    PREDICTIVE,
    REASON,
    REPORTS,
    RESIDUAL,
    SWEEPS,
    SWEPT,
    TICKS,
    WEAKEST,
    State,
    Work,
)  # fmt: skip
from sharnir.dynamics.aba import inward_implicit, inward_momentum, outward
from sharnir.dynamics.advance import advance
from sharnir.dynamics.forces import applied_wrenches, passive_forces, turn_vector
from sharnir.dynamics.kinematics import kinematics, poses
from sharnir.dynamics.momentum import add_tangent_momenta, chord_momenta, tangent_momenta, whitened_momentum, whitened_velocity
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.kinds import BALL, SHIFT, STILL
from sharnir.maths import KERNEL_OPTIONS, array2, copy, get, get3, get33, put, put3, real, row_dot, ticks, vec3

wp.set_module_options(KERNEL_OPTIONS)

SETTLED = wp.constant(real(1.0e-12))  # of the kinetic energy: residual of the passes below which they end
CLOSED = wp.constant(real(1.0e-9))  # m or rad: growth of gaps in a step that is left to stabilisation
STRAYED = wp.constant(real(1.0e-7))  # m or rad beyond what stabilisation may leave: correct again, at the new poses
NEAR = wp.constant(real(1.0e-8))  # residual that one more correction along the tangent settles
SMALL = wp.constant(real(1.0e-10))  # residual that may be left to the next step
GUARD = wp.constant(real(1.0e-6))  # and above which they are dropped


@wp.func
def kick(tree: Tree, ws: Workspace, loops: Loops, state: State, h: real, w: int):
    """F: momenta of the links after external forces have acted for h, as wrenches about the pivots (M-30)."""
    load_links(tree, ws, state, tree.gravity, real(1.0), h, w)
    load_loops(tree, ws, loops, state, h, w)


@wp.func
def load_links(tree: Tree, ws: Workspace, state: State, gravity: vec3, share: real, h: real, w: int):
    """F: a share of the momenta, and gravity and applied wrenches times h, as wrenches about the pivots."""
    i = int(0)
    while i < tree.links:
        r = get3(ws.x, i, w) + get33(ws.R, i, w) * tree.com[i]
        force = vec3(state.f_ext[6 * i, w], state.f_ext[6 * i + 1, w], state.f_ext[6 * i + 2, w])
        torque = vec3(state.f_ext[6 * i + 3, w], state.f_ext[6 * i + 4, w], state.f_ext[6 * i + 5, w])
        p = vec3(state.P[6 * i, w], state.P[6 * i + 1, w], state.P[6 * i + 2, w])
        L = vec3(state.P[6 * i + 3, w], state.P[6 * i + 4, w], state.P[6 * i + 5, w])
        p = p * share + (gravity * tree.mass[i] + force) * h
        put3(ws.F, 2 * i, w, p)
        put3(ws.F, 2 * i + 1, w, L * share + torque * h + wp.cross(r, p))
        i += 1


@wp.func
def load_loops(tree: Tree, ws: Workspace, loops: Loops, state: State, h: real, w: int):
    """Add constant efforts and control of the loop joints, times h, to F."""
    k = int(0)
    while k < loops.count:
        kind = loops.kind[k]
        j = loops.fixed[kind]
        while j < 6:
            lv = loops.v_start[k] + j - loops.fixed[kind]
            impulse = h * (loops.effort[lv] + state.control[loops.dofs + lv, w])
            if impulse != real(0.0):
                s = loop_ends(tree, ws, loops, k, w)
                g, f, n = row_form(loops, s, k, (6 * kind + j) * 3)
                if s.a >= 0:
                    put3(ws.F, 2 * s.a, w, get3(ws.F, 2 * s.a, w) - f * impulse)
                    moment = (n + wp.cross(s.ra, f)) * impulse
                    put3(ws.F, 2 * s.a + 1, w, get3(ws.F, 2 * s.a + 1, w) - moment)
                if s.b >= 0:
                    put3(ws.F, 2 * s.b, w, get3(ws.F, 2 * s.b, w) + f * impulse)
                    moment = (n + wp.cross(s.rb, f)) * impulse
                    put3(ws.F, 2 * s.b + 1, w, get3(ws.F, 2 * s.b + 1, w) + moment)
            j += 1
        k += 1


@wp.func
def joint_impulses(tree: Tree, ws: Workspace, state: State, h: real, dt: real, before: real, w: int):
    """tau: joint impulses of efforts, control and springs, with the momenta of rotors; E, hc: what rotors, springs and
    dampers add to the joints' inertia (M-31). h: time the forces act, dt: the step, before: the one that led here."""
    e = int(0)
    while e < tree.part[tree.links]:
        kind = tree.kind[e]
        qi = tree.part_q[e]
        d = tree.part_v[e]
        n = int(0)
        turn = vec3()
        if kind == BALL:
            n = 3
            if tree.stiffness[d] > real(0.0):
                turn = turn_vector(state.q, tree.rest, qi, w)
        elif kind == SHIFT:
            n = 3
        elif kind != STILL:
            n = 1
        k = int(0)
        while k < n:
            c = d + k
            stiffness = tree.stiffness[c]
            stretch = turn[k]
            if kind != BALL:
                stretch = state.q[qi + k, w] - tree.rest[qi + k]
            quarter = real(0.25) * h * stiffness
            put(ws.E, c, w, tree.armature[c] + quarter * dt)
            put(ws.hc, c, w, h * tree.damping[c])
            force = tree.effort[c] + state.control[c, w] - stiffness * stretch
            state.tau[c, w] = h * force + (tree.armature[c] + quarter * before) * state.v[c, w]
            k += 1
        e += 1


@wp.func
def free_motion(tree: Tree, ws: Workspace, loops: Loops, state: State, work: Work, h: real, dt: real, w: int):
    """Factor at q and z of the motion without rows, from momenta."""
    kick(tree, ws, loops, state, h, w)
    joint_impulses(tree, ws, state, h, dt, state.clock[0, w], w)
    inward_momentum(tree, ws, state.tau, state.v, 1, w)


@wp.func
def published_motion(tree: Tree, ws: Workspace, loops: Loops, state: State, work: Work, dt: real, w: int):
    """z of q̇ + Δt q̈, q̈ by the articulated-body algorithm (A17-7); springs and dampers implicit."""
    kinematics(tree, ws, state.q, state.v, w)
    load_links(tree, ws, state, vec3(), real(0.0), real(1.0), w)
    load_loops(tree, ws, loops, state, real(1.0), w)
    joint_impulses(tree, ws, state, dt, dt, real(0.0), w)
    d = int(0)
    while d < tree.dof[tree.links]:
        v = state.v[d, w]
        state.tau[d, w] = (state.tau[d, w] - tree.armature[d] * v) / dt - tree.damping[d] * v
        put(ws.E, d, w, get(ws.E, d, w) + get(ws.hc, d, w))
        put(ws.hc, d, w, real(0.0))
        d += 1
    inward_implicit(tree, ws, state.tau, state.v, 1, w)
    whitened_velocity(tree, ws, state.v, work.zc, w)
    d = int(0)
    while d < tree.dof[tree.links]:
        put(ws.z, d, w, dt * get(ws.z, d, w) + get(work.zc, d, w))
        d += 1


@wp.func
def clear_column(target: array2, n: int, w: int):
    i = int(0)
    while i < n:
        put(target, i, w, real(0.0))
        i += 1


@wp.func
def load_impulses(plan: Plan, state: State, work: Work, scale: real, w: int):
    i = int(0)
    while i < plan.impulses:
        put(work.p, i, w, state.p[i, w] * scale)
        i += 1


@wp.func
def extrapolate(x: array2, old: array2, way: array2, beta: real, n: int, w: int):
    """Nonsmooth conjugate gradients: x += β way; way = (x before that − old) + β way."""
    i = int(0)
    while i < n:
        gone = get(x, i, w) - get(old, i, w)
        ahead = beta * get(way, i, w)
        put(x, i, w, get(x, i, w) + ahead)
        put(way, i, w, gone + ahead)
        i += 1


@wp.func
def distance2(x: array2, old: array2, n: int, w: int):
    total = real(0.0)
    i = int(0)
    while i < n:
        d = get(x, i, w) - get(old, i, w)
        total = total + d * d
        i += 1
    return total


@wp.func
def sweeps(
    loops: Loops, plan: Plan, state: State, work: Work, held: int, z: array2, dt: real, end: wp.float64, w: int
):
    """Sweep until impulses change by less than ε, the cap is reached or the clock passes `end` (M-42); returns how
    many, the last change and the reason of stopping."""
    accelerate = state.settings[ACCELERATE, 0] > real(0.0)
    most = int(state.settings[SWEEPS, 0])
    epsilon = state.settings[EPSILON, 0]
    worst = real(0.0)
    last = real(0.0)
    n = int(0)
    going = int(1)
    if accelerate:
        clear_column(work.p_way, plan.impulses, w)
        clear_column(work.z_way, plan.width, w)
    if nothing_to_sweep(plan, work, held, w):
        going = 0
    while going == 1 and n < most:
        if accelerate:
            copy(work.p, work.p_old, plan.impulses, w)
            copy(z, work.z_old, plan.width, w)
        worst = sweep(loops, plan, work, held, dt, z, work.p, w)
        n += 1
        if worst <= epsilon:
            going = 0
        elif ticks() > end:
            going = 2
        elif accelerate and n < most:
            gone = distance2(work.p, work.p_old, plan.impulses, w)
            beta = real(0.0)
            if last > real(0.0) and gone < last:
                beta = gone / last
            extrapolate(work.p, work.p_old, work.p_way, beta, plan.impulses, w)
            extrapolate(z, work.z_old, work.z_way, beta, plan.width, w)
            last = gone
    reason = int(CONVERGED)
    if going == 2:
        reason = int(OUT_OF_TIME)
    elif going == 1 and worst > epsilon:
        reason = int(CAPPED)
    return n, worst, reason


@wp.func
def nothing_to_sweep(plan: Plan, work: Work, held: int, w: int):
    rows = get_count(work, 0, w)
    if held == 0:
        rows = rows + plan.joints
    l = int(0)
    while l < plan.lines and rows == 0:
        if get(work.K, l, w) > real(0.0) and (held == 0 or plan.line_loose[l] != 0):
            rows = 1
        l += 1
    return rows == 0


@wp.func
def settled(
    loops: Loops, plan: Plan, state: State, work: Work, held: int, z: array2, dt: real, end: wp.float64, w: int
):
    """Impulses of all rows for the speeds now sought: by sweeps alone, or with the rows that bind both ways held by a
    direct solution (M-42, M-48). Returns sweeps, the last change of an impulse and the reason of stopping."""
    if held == 0:
        return sweeps(loops, plan, state, work, 0, z, dt, end, w)
    change = bind(plan, work, z, work.p, 0, w)
    if nothing_to_sweep(plan, work, 1, w):
        return 1, change, CONVERGED
    copy(work.p, work.p_start, plan.impulses, w)
    set_offsets(plan, work, z, w)
    n, worst, reason = sweeps(loops, plan, state, work, 1, z, dt, end, w)
    answer_of_bound(plan, work, work.p, w)
    return n + 1, worst, reason


@wp.func
def solve(
    loops: Loops, plan: Plan, state: State, work: Work, held: int, z: array2, dt: real, end: wp.float64, w: int
):
    """The same, reported."""
    n, worst, reason = settled(loops, plan, state, work, held, z, dt, end, w)
    state.report[SWEPT, w] = state.report[SWEPT, w] + real(n)
    state.report[RESIDUAL, w] = worst
    state.report[REASON, w] = real(reason)


@wp.func
def prepare(
    tree: Tree, ws: Workspace, loops: Loops, plan: Plan, state: State, work: Work, held: int, h: real, dt: real,
    ahead: int, w: int,
):  # fmt: skip
    """All rows at the start of a step, and the factors of their blocks."""
    whiten_joints(tree, ws, loops, plan, work, work.gap, w)
    prepare_lines(tree, ws, loops, plan, state, work, h, dt, ahead, w)
    find_contacts(tree, ws, plan, state, work, dt, w)
    weakest = real(1.0)
    if held == 1:
        weakest = factor_bound(plan, work, w)
        if not nothing_to_sweep(plan, work, 1, w):
            project_rows(plan, work, w)
    else:
        factor_joints(loops, plan, work, w)
    return weakest


@wp.func
def look(
    tree: Tree, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, dt: real, w: int
):
    """Poses at the end of a step with v_next, and the errors of joints and lines there."""
    advance(tree, state.q, state.v_next, dt, state.q_next, w)
    poses(tree, trial, state.q_next, state.q_next, w)
    worst = joint_gaps(tree, trial, loops, work.gap_next, w)
    if plan.loop_lines == 1:
        joint_coordinates(tree, trial, loops, state.loop_q, state.loop_next, w)
    l = int(0)
    while l < plan.lines:
        if (plan.line_acts[l] & HOLD) != 0:
            put(work.g_next, l, w, line_position(tree, trial, plan, l, state.q_next, state.loop_next, w))
        l += 1
    return worst


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
    l = int(0)
    while l < plan.lines:
        if (plan.line_acts[l] & HOLD) != 0:
            s = row_dot(work.W, plan.line_start[l], plan.line_length[l], plan.index, plan.line_first[l], z, w)
            bound_speed(plan, work, l, s, get(work.g_next, l, w), get(work.g, l, w), dt, 1, w)
        l += 1


@wp.func
def chord_residual(tree: Tree, ws: Workspace, plan: Plan, state: State, work: Work, dt: real, w: int):
    """zc ← what is missing of the momentum equation over the step, ρ = zP + Wᵀp − zc(v) (M-33); returns |ρ|²."""
    chord_momenta(tree, ws, state.v_next, dt, w)
    d = int(0)
    while d < plan.dofs:
        state.tau[d, w] = get(ws.E, d, w) * state.v_next[d, w]
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
def velocity_passes(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, held: int,
    dt: real, end: wp.float64, w: int,
):  # fmt: skip
    """Velocities of the step: momenta over the step balance, joints are closed at its end (M-32).

    Starts from the last step's correction of the tangent momenta, and hands the rest it leaves to the next step.
    """
    n = plan.dofs
    passes = int(state.settings[PASSES, 0])
    k = int(0)
    going = int(1)
    while going == 1:
        solve(loops, plan, state, work, held, ws.z, dt, end, w)
        outward(tree, ws, state.v_next, w)
        missing = chord_residual(tree, ws, plan, state, work, dt, w)
        growth = real(0.0)
        if plan.bent == 1:
            if plan.loop_lines == 1:
                look(tree, trial, loops, plan, state, work, dt, w)
            else:
                displaced_gaps(tree, ws, loops, work.gap_next, w)
            widest, work_left = gap_growth(loops, work, dt, w)
            growth = widest
            missing = missing + work_left
        energy = kinetic2(ws.z, n, w) + kinetic2(work.zP, n, w)
        if k == passes or (missing <= SETTLED * energy and growth < CLOSED) or ticks() > end:
            going = 0
            if missing > GUARD * energy:
                going = 2
            else:
                keep_correction(plan, state, work, wp.where(missing > SMALL * energy, real(0.0), real(1.0)), w)
        else:
            if plan.bent == 1:
                aim(loops, plan, work, ws.z, dt, w)
            copy(ws.z, work.z_old, n, w)
            d = int(0)
            while d < n:
                put(ws.z, d, w, get(ws.z, d, w) + get(work.zc, d, w))
                put(work.base, d, w, get(work.base, d, w) + get(work.zc, d, w))
                d += 1
            k += 1
            if missing <= NEAR * energy:
                going = 0
                last_correction(tree, ws, loops, plan, state, work, held, dt, end, w)
    state.report[PASSED, w] = real(k)
    state.report[GUARDED, w] = wp.where(going == 2, real(1.0), real(0.0))
    if going == 2:
        tangent_step(tree, ws, loops, plan, state, work, held, dt, end, w)
    look(tree, trial, loops, plan, state, work, dt, w)


@wp.func
def last_correction(
    tree: Tree, ws: Workspace, loops: Loops, plan: Plan, state: State, work: Work, held: int, dt: real,
    end: wp.float64, w: int,
):  # fmt: skip
    """Solve for the corrected momenta; velocities and momenta follow along the tangent, since so little is left."""
    n = plan.dofs
    copy(work.z_old, work.zc, n, w)  # before the correction; sweeps need z_old for themselves
    solve(loops, plan, state, work, held, ws.z, dt, end, w)
    d = int(0)
    while d < n:
        z = get(ws.z, d, w)
        put(ws.z, d, w, z - get(work.zc, d, w))
        put(work.zc, d, w, z)
        state.tau[d, w] = state.v_next[d, w]
        d += 1
    outward(tree, ws, state.v_next, w)
    d = int(0)
    while d < n:
        state.v_next[d, w] = state.v_next[d, w] + state.tau[d, w]
        put(ws.z, d, w, get(work.zc, d, w))
        put(work.zc, d, w, real(0.0))
        d += 1
    add_tangent_momenta(tree, ws, w)
    keep_correction(plan, state, work, real(0.0), w)


@wp.func
def keep_correction(plan: Plan, state: State, work: Work, share: real, w: int):
    """The correction of this step, to start the next with, and what it left."""
    d = int(0)
    while d < plan.dofs:
        bend = get(work.base, d, w) - get(work.zP, d, w)
        state.bend[plan.dofs + d, w] = bend - state.bend[d, w]
        state.bend[d, w] = bend
        state.lack[d, w] = get(work.zc, d, w) * share
        d += 1
    r = int(0)
    while r < 6 * plan.joints:
        sought = get(work.joint_target, r, w)
        state.aim[6 * plan.joints + r, w] = sought - state.aim[r, w]
        state.aim[r, w] = sought
        r += 1


@wp.func
def forget_correction(plan: Plan, state: State, w: int):
    d = int(0)
    while d < plan.dofs:
        state.bend[d, w] = real(0.0)
        state.bend[plan.dofs + d, w] = real(0.0)
        state.lack[d, w] = real(0.0)
        d += 1
    r = int(0)
    while r < 12 * plan.joints:
        state.aim[r, w] = real(0.0)
        r += 1


@wp.func
def tangent_step(
    tree: Tree, ws: Workspace, loops: Loops, plan: Plan, state: State, work: Work, held: int, dt: real,
    end: wp.float64, w: int,
):  # fmt: skip
    """Velocities along the tangent at the start of the step, momenta likewise: loses energy, never gains it."""
    d = int(0)
    while d < plan.dofs:
        z = get(ws.z, d, w) - get(work.base, d, w) + get(work.zP, d, w)
        put(ws.z, d, w, z)
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
    solve(loops, plan, state, work, held, ws.z, dt, end, w)
    outward(tree, ws, state.v_next, w)
    tangent_momenta(tree, ws, w)


@wp.func
def stabilise(
    tree: Tree, ws: Workspace, loops: Loops, plan: Plan, state: State, work: Work, held: int, dt: real,
    end: wp.float64, w: int,
):  # fmt: skip
    """Next positions ← v_next and the pseudo-velocities that undo position errors; 1 if there were any (M-43)."""
    moved = int(0)
    if seek_positions(loops, plan, work, dt, state.settings[ERP, 0], w) > OWN:
        moved = 1
        pseudo_step(tree, ws, loops, plan, state, work, held, dt, end, w)
        advance(tree, state.q, state.tau, dt, state.q_next, w)
    return moved


@wp.func
def pseudo_step(
    tree: Tree, ws: Workspace, loops: Loops, plan: Plan, state: State, work: Work, held: int, dt: real,
    end: wp.float64, w: int,
):  # fmt: skip
    """tau ← v_next and the pseudo-velocities sought; impulses start from nothing."""
    clear_column(work.p_old, plan.impulses, w)
    clear_column(ws.z, plan.width, w)
    epsilon = state.settings[EPSILON, 0]
    worst = real(2.0) * epsilon
    n = int(0)
    if held == 1:
        bind(plan, work, ws.z, work.p_old, 1, w)
        if nothing_to_sweep(plan, work, 1, w):
            worst = real(0.0)
        else:
            set_offsets(plan, work, ws.z, w)
    while worst > epsilon and n < int(state.settings[SWEEPS, 0]) and ticks() < end:
        worst = sweep_positions(loops, plan, work, held, dt, state.settings[ERP, 0], ws.z, work.p_old, w)
        n += 1
    outward(tree, ws, state.tau, w)
    d = int(0)
    while d < plan.dofs:
        state.tau[d, w] = state.tau[d, w] + state.v_next[d, w]
        d += 1


@wp.func
def finish(tree: Tree, ws: Workspace, loops: Loops, plan: Plan, state: State, work: Work, h: real, dt: real, w: int):
    """The step's velocities, momenta and impulses become the state."""
    l = int(0)
    while l < plan.lines:
        if get(work.K, l, w) > real(0.0):
            start = plan.line_start[l]
            state.speed[l, w] = row_dot(work.W, start, plan.line_length[l], plan.index, plan.line_first[l], ws.z, w)
        elif dt > real(0.0):
            state.speed[l, w] = (get(work.g_next, l, w) - get(work.g, l, w)) / dt
        l += 1
    i = int(0)
    while i < plan.impulses:
        state.p[i, w] = get(work.p, i, w)
        i += 1
    i = int(0)
    while i < tree.links:
        p = get3(ws.C, 2 * i, w)
        L = get3(ws.C, 2 * i + 1, w)
        state.P[6 * i, w] = p[0]
        state.P[6 * i + 1, w] = p[1]
        state.P[6 * i + 2, w] = p[2]
        state.P[6 * i + 3, w] = L[0]
        state.P[6 * i + 4, w] = L[1]
        state.P[6 * i + 5, w] = L[2]
        i += 1
    state.clock[0, w] = dt
    state.clock[1, w] = h


@wp.func
def settle(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, moved: int, w: int
):
    """Positions ← next positions, poses and coordinates of loops there; the position error is reported.
    moved: the poses are in the workspace, else in the trial's."""
    i = int(0)
    while i < state.q.shape[0]:
        state.q[i, w] = state.q_next[i, w]
        i += 1
    i = int(0)
    while i < plan.dofs:
        state.v[i, w] = state.v_next[i, w]
        i += 1
    worst = real(0.0)
    if moved == 1:
        worst = joint_gaps(tree, ws, loops, work.gap_next, w)
    else:
        copy(trial.R, ws.R, 9 * tree.links, w)
        copy(trial.x, ws.x, 3 * tree.links, w)
        copy(trial.S, ws.S, 6 * plan.dofs, w)
        copy(trial.O, ws.O, trial.O.shape[0], w)
        worst = largest_gap(loops, work, w)
    joint_coordinates(tree, ws, loops, state.loop_q, state.loop_q, w)
    l = int(0)
    while l < plan.lines:
        if (plan.line_acts[l] & HOLD) != 0:
            g = get(work.g_next, l, w)
            if moved == 1:
                g = line_position(tree, ws, plan, l, state.q, state.loop_q, w)
            worst = wp.max(worst, wp.max(g - plan.line_upper[l], plan.line_lower[l] - g))
        l += 1
    state.report[POSITION_ERROR, w] = worst


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
            growth = get(work.gap_next, r, w) - kept(get(work.gap, r, w))
            worst = wp.max(worst, wp.abs(growth))
            energy = energy + growth * growth * get(work.joint_mass, r, w)
            j += 1
        k += 1
    return worst, energy / (dt * dt)


@wp.func
def largest_gap(loops: Loops, work: Work, w: int):
    worst = real(0.0)
    k = int(0)
    while k < loops.count:
        j = int(0)
        while j < loops.fixed[loops.kind[k]]:
            worst = wp.max(worst, wp.abs(get(work.gap_next, 6 * k + j, w)))
            j += 1
        k += 1
    return worst


@wp.func
def correct_positions(
    tree: Tree, ws: Workspace, loops: Loops, plan: Plan, state: State, work: Work, held: int, dt: real,
    end: wp.float64, w: int,
):  # fmt: skip
    """Pseudo-velocities at the poses the step led to, as long as joints are open there by more than is allowed (M-44)."""
    n = int(0)
    before = real(1.0e30)
    error = open_error(loops, state, work, w)
    while error > STRAYED and error < real(0.5) * before and n < 5 and ticks() < end:
        i = int(0)
        while i < state.q.shape[0]:
            state.q[i, w] = state.q_next[i, w]
            i += 1
        clear_column(ws.hc, plan.dofs, w)
        inward_momentum(tree, ws, state.tau, state.v, 0, w)
        whiten_joints(tree, ws, loops, plan, work, work.gap_next, w)
        put_zero_contacts(work, w)
        prepare_lines(tree, ws, loops, plan, state, work, dt, dt, 1, w)
        if held == 1:
            factor_bound(plan, work, w)
        else:
            factor_joints(loops, plan, work, w)
        l = int(0)
        while l < plan.lines:  # limits wait for the next step
            if plan.line_lower[l] != plan.line_upper[l]:
                put(work.K, l, w, real(0.0))
            put(work.g_next, l, w, get(work.g, l, w))
            l += 1
        seek_positions(loops, plan, work, dt, state.settings[ERP, 0], w)
        pseudo_step(tree, ws, loops, plan, state, work, held, dt, end, w)
        d = int(0)
        while d < plan.dofs:
            state.tau[d, w] = state.tau[d, w] - state.v_next[d, w]
            d += 1
        advance(tree, state.q, state.tau, dt, state.q_next, w)
        poses(tree, ws, state.q_next, state.q_next, w)
        joint_gaps(tree, ws, loops, work.gap_next, w)
        before = error
        error = open_error(loops, state, work, w)
        n += 1


@wp.func
def open_error(loops: Loops, state: State, work: Work, w: int):
    """By how much joints are open beyond what stabilisation may leave."""
    keep = real(1.0) - state.settings[ERP, 0]
    worst = real(0.0)
    k = int(0)
    while k < loops.count:
        j = int(0)
        while j < loops.fixed[loops.kind[k]]:
            r = 6 * k + j
            worst = wp.max(worst, wp.abs(get(work.gap_next, r, w) - keep * get(work.gap, r, w)))
            j += 1
        k += 1
    return worst


@wp.func
def step(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, w: int
):
    """Advance world w by the step in its settings, from poses that are in the workspace."""
    began = ticks()
    end = began + wp.float64(state.settings[BUDGET, 0])
    state.report[SWEPT, w] = real(0.0)
    if int(state.settings[METHOD, 0]) == PREDICTIVE:
        predictive_step(tree, ws, trial, loops, plan, state, work, end, w)
    else:
        published_step(tree, ws, trial, loops, plan, state, work, end, w)
    state.report[TICKS, w] = real(ticks() - began)


@wp.func
def published_step(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, end: wp.float64,
    w: int,
):  # fmt: skip
    """The papers' step: free motion, sweeps at the old pose, split impulses for the old errors, semi-implicit Euler."""
    dt = state.settings[DT, 0]
    if int(state.settings[METHOD, 0]) == PAPER_TREE:
        published_motion(tree, ws, loops, state, work, dt, w)
    else:
        free_motion(tree, ws, loops, state, work, dt, dt, w)
    scale = real(0.0)
    if state.clock[1, w] > real(0.0):
        scale = dt / state.clock[1, w]
    load_impulses(plan, state, work, scale, w)
    prepare(tree, ws, loops, plan, state, work, 0, dt, dt, 0, w)
    clear_column(work.joint_target, 6 * plan.joints, w)
    apply_impulses(loops, plan, work, ws.z, work.p, w)
    solve(loops, plan, state, work, 0, ws.z, dt, end, w)
    outward(tree, ws, state.v_next, w)
    tangent_momenta(tree, ws, w)
    copy(work.gap, work.gap_next, 6 * plan.joints, w)
    copy(work.g, work.g_next, plan.lines, w)
    finish(tree, ws, loops, plan, state, work, dt, dt, w)
    advance(tree, state.q, state.v_next, dt, state.q_next, w)
    stabilise(tree, ws, loops, plan, state, work, 0, dt, end, w)
    poses(tree, ws, state.q_next, state.q_next, w)
    settle(tree, ws, trial, loops, plan, state, work, 1, w)


@wp.func
def predictive_step(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, end: wp.float64,
    w: int,
):  # fmt: skip
    """Rows act on the velocity of the whole step: chord momenta balance, joints are closed at its end."""
    dt = state.settings[DT, 0]
    h = real(0.5) * (state.clock[0, w] + dt)
    held = int(state.settings[DIRECT, 0])
    if plan.bound == 0:
        held = 0
    free_motion(tree, ws, loops, state, work, h, dt, w)
    scale = real(0.0)
    ratio = real(0.0)
    if state.clock[1, w] > real(0.0):
        scale = h / state.clock[1, w]
        ratio = dt / state.clock[0, w]
    d = int(0)
    while d < plan.dofs:
        z = get(ws.z, d, w) + state.lack[d, w]
        put(work.zP, d, w, z)
        z = z + ratio * (state.bend[d, w] + state.bend[plan.dofs + d, w])
        put(ws.z, d, w, z)
        put(work.base, d, w, z)
        d += 1
    load_impulses(plan, state, work, scale, w)
    state.report[WEAKEST, w] = prepare(tree, ws, loops, plan, state, work, held, h, dt, 1, w)
    r = int(0)
    while r < 6 * plan.joints:
        put(work.joint_target, r, w, ratio * (state.aim[r, w] + state.aim[6 * plan.joints + r, w]))
        r += 1
    apply_impulses(loops, plan, work, ws.z, work.p, w)
    velocity_passes(tree, ws, trial, loops, plan, state, work, held, dt, end, w)
    finish(tree, ws, loops, plan, state, work, h, dt, w)
    moved = stabilise(tree, ws, loops, plan, state, work, held, dt, end, w)
    if moved == 1:
        poses(tree, ws, state.q_next, state.q_next, w)
        joint_gaps(tree, ws, loops, work.gap_next, w)
        correct_positions(tree, ws, loops, plan, state, work, held, dt, end, w)
    settle(tree, ws, trial, loops, plan, state, work, moved, w)


@wp.kernel
def step_kernel(tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, steps: wp.array(dtype=int)):
    """Some steps of every world; their reports go to the history."""
    w = wp.tid()
    poses(tree, ws, state.q, state.q, w)
    n = int(0)
    while n < steps[0]:
        step(tree, ws, trial, loops, plan, state, work, w)
        i = int(0)
        while i < REPORTS:
            state.history[REPORTS * n + i, w] = state.report[i, w]
            i += 1
        n += 1


@wp.kernel
def start_kernel(tree: Tree, ws: Workspace, loops: Loops, plan: Plan, state: State, work: Work):
    """Momenta, loop coordinates and line speeds of a state that has only positions and velocities."""
    w = wp.tid()
    poses(tree, ws, state.q, state.q, w)
    joint_coordinates(tree, ws, loops, state.loop_q, state.loop_q, w)
    d = int(0)
    while d < plan.dofs:
        put(ws.E, d, w, tree.armature[d])
        put(ws.hc, d, w, real(0.0))
        state.tau[d, w] = real(0.0)
        d += 1
    inward_momentum(tree, ws, state.tau, state.v, 0, w)
    whitened_velocity(tree, ws, state.v, ws.z, w)
    tangent_momenta(tree, ws, w)
    prepare_lines(tree, ws, loops, plan, state, work, real(1.0), real(1.0), 1, w)
    put_zero_contacts(work, w)
    load_impulses(plan, state, work, real(0.0), w)
    state.clock[0, w] = real(0.0)
    forget_correction(plan, state, w)
    finish(tree, ws, loops, plan, state, work, real(0.0), real(0.0), w)


@wp.func
def put_zero_contacts(work: Work, w: int):
    work.touching[0, wp.min(w, work.touching.shape[1] - 1)] = 0


@wp.kernel
def observe_kernel(
    tree: Tree, ws: Workspace, loops: Loops, plan: Plan, state: State, work: Work, v: array2, loop_v: array2
):
    """Velocities at the time of the positions: half a step of all forces on the momenta, rows solved there (M-45)."""
    w = wp.tid()
    dt = state.clock[0, w]
    h = real(0.5) * dt
    if int(state.settings[METHOD, 0]) != PREDICTIVE:
        h = real(0.0)
    poses(tree, ws, state.q, state.q, w)
    kick(tree, ws, loops, state, h, w)
    joint_impulses(tree, ws, state, h, real(2.0) * dt, real(2.0) * dt, w)
    inward_momentum(tree, ws, state.tau, state.v, 1, w)
    scale = real(0.0)
    if state.clock[1, w] > real(0.0):
        scale = h / state.clock[1, w]
    load_impulses(plan, state, work, scale, w)
    held = int(state.settings[DIRECT, 0])
    if plan.bound == 0:
        held = 0
    dt = state.settings[DT, 0]
    prepare(tree, ws, loops, plan, state, work, held, h, dt, 1, w)
    clear_column(work.joint_target, 6 * plan.joints, w)
    apply_impulses(loops, plan, work, ws.z, work.p, w)
    settled(loops, plan, state, work, held, ws.z, dt, ticks() + wp.float64(1.0e12), w)
    outward(tree, ws, v, w)
    loop_rates(tree, ws, loops, loop_v, w)


@wp.func
def loop_rates(tree: Tree, ws: Workspace, loops: Loops, loop_v: array2, w: int):
    """Rates of the loop joints' coordinates at the link velocities a."""
    k = int(0)
    while k < loops.count:
        s = loop_ends(tree, ws, loops, k, w)
        kind = loops.kind[k]
        j = loops.fixed[kind]
        while j < 6:
            g, f, n = row_form(loops, s, k, (6 * kind + j) * 3)
            rate = real(0.0)
            if s.b >= 0:
                rate = wp.dot(f, get3(ws.a, 2 * s.b, w)) + wp.dot(n + wp.cross(s.rb, f), get3(ws.a, 2 * s.b + 1, w))
            if s.a >= 0:
                rate = rate - wp.dot(f, get3(ws.a, 2 * s.a, w))
                rate = rate - wp.dot(n + wp.cross(s.ra, f), get3(ws.a, 2 * s.a + 1, w))
            loop_v[loops.v_start[k] + j - loops.fixed[kind], w] = rate
            j += 1
        k += 1
