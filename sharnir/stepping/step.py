"""A step of sequential impulses, for every world.

Generalised and maximal coordinates share it: in maximal coordinates all bodies are free and all joints close loops
(sharnir.compiler.maximal).
"""

from __future__ import annotations

from typing import Any

import warp as wp

from sharnir.constraints.contacts import keep_contacts
from sharnir.constraints.lines import line_position
from sharnir.constraints.loops import Loops
from sharnir.constraints.plan import HOLD, SOFT, Plan
from sharnir.constraints.rows import joint_coordinates, joint_gaps, prepare_lines
from sharnir.constraints.sweep import apply_impulses
from sharnir.constraints.tolerances import STRAYED
from sharnir.constraints.work import (
    BUDGET,
    CORRECTED,
    CUT,
    DT,
    METHOD,
    MOST_CORRECTED,
    PAPER_TREE,
    POSITION_ERROR,
    REPORTS,
    TICKS,
    WARM,
    WEAKEST,
    State,
    Work,
)
from sharnir.dynamics.aba import inward_momentum, outward
from sharnir.dynamics.advance import advance
from sharnir.dynamics.kinematics import poses
from sharnir.dynamics.momenta import tangent_momenta, whitened_velocity
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.maths import (
    KERNEL_OPTIONS,
    copy,
    get,
    get3,
    item,
    item_int,
    put,
    put_int,
    real,
    row_dot,
    set_item,
    set_item3,
    set_item_int,
    ticks,
)
from sharnir.stepping.motion import load_step, published_motion
from sharnir.stepping.passes import forget_correction, velocity_passes
from sharnir.stepping.positions import (
    correct,
    keep_angular_momentum,
    largest_gap,
    renew_positions,
)
from sharnir.stepping.series import expected
from sharnir.stepping.solve import clear_column, direct_wanted, load_impulses, prepare, solve

wp.set_module_options(KERNEL_OPTIONS)

FOLDING = wp.constant(real(0.1))  # firmness of loops, against their past, below which a fold is near
CORRECTIONS = 5  # of positions in a step, at most
NEVER = wp.constant(real(1.0e9))  # sweeps
ELSEWHERE = wp.constant(real(1.0e12))  # m or rad: no motion leads there
RESERVE = wp.constant(real(0.2))  # share of the budget that velocities leave to positions


@wp.func
def finish(
    tree: Tree, ws: Workspace, loops: Loops, plan: Plan, state: State, work: Work, h: real, dt: real, chord: int, w: int
):
    """The step's velocities, momenta and impulses become the state. chord: lines move as their positions do."""
    l = int(0)
    while l < plan.lines:
        measured = plan.line_measured[l] == 1 and (plan.line_acts[l] & (HOLD | SOFT)) != 0
        if chord == 1 and measured:
            set_item(state.speed, l, w, (get(work.g_next, l, w) - get(work.g, l, w)) / dt)
        elif get(work.K, l, w) > real(0.0):
            start = plan.line_start[l]
            set_item(
                state.speed, l, w, row_dot(work.W, start, plan.line_length[l], plan.index, plan.line_first[l], ws.z, w)
            )
        l += 1
    i = int(0)
    while i < plan.first_contact:
        set_item(state.p, i, w, get(work.p, i, w))
        i += 1
    keep_contacts(plan, state, work, w)
    i = int(0)
    while i < tree.links:
        set_item3(state.P, 6 * i, w, get3(ws.C, 2 * i, w))
        set_item3(state.P, 6 * i + 3, w, get3(ws.C, 2 * i + 1, w))
        i += 1
    set_item(state.clock, 0, w, dt)
    set_item(state.clock, 1, w, h)


@wp.func
def settle(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, moved: int, w: int
):
    """Positions ← next positions, poses and coordinates of loops there; the position error is reported.
    moved: the poses are in the workspace, else in the trial's."""
    worst = real(0.0)
    i = int(0)
    while i < state.q.shape[0]:
        set_item(state.q, i, w, item(state.q_next, i, w))
        if not (wp.abs(item(state.q_next, i, w)) < ELSEWHERE):
            worst = real(wp.nan)
        i += 1
    i = int(0)
    while i < plan.dofs:
        set_item(state.v, i, w, item(state.v_next, i, w))
        i += 1
    worst = worst + largest_gap(loops, work, w)
    if moved == 0:
        copy(trial.R, ws.R, 9 * tree.links, w)
        copy(trial.x, ws.x, 3 * tree.links, w)
        copy(trial.S, ws.S, 6 * plan.dofs, w)
        copy(trial.O, ws.O, trial.O.shape[0], w)
    joint_coordinates(tree, ws, loops, state.loop_q, state.loop_q, w)
    l = int(0)
    while l < plan.lines:
        if (plan.line_acts[l] & HOLD) != 0:
            g = line_position(tree, ws, plan, l, state.q, state.loop_q, w)
            past = wp.max(g - plan.line_upper[l], plan.line_lower[l] - g)
            worst = max(worst, past)
        l += 1
    set_item(state.report, POSITION_ERROR, w, worst)


@wp.func
def warmth(state: State, h: real, w: int):
    """By what the last impulses are scaled to start from: the ratio of the times forces act."""
    scale = real(0.0)
    if item(state.clock, 1, w) > real(0.0):
        scale = state.settings[WARM, 0] * h / item(state.clock, 1, w)
    return scale


@wp.func
def seek_velocities(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, held: int,
    weakest: real, h: real, dt: real, end: wp.float64, w: int,
):  # fmt: skip
    """v_next, momenta C and impulses p of the step, from z of its motion without rows and the rows prepared."""
    set_item(state.report, WEAKEST, w, weakest)
    ratio = real(0.0)
    if item(state.clock, 1, w) > real(0.0) and weakest >= FOLDING:  # at a fold speeds change without bound
        ratio = dt / item(state.clock, 0, w)
    d = int(0)
    while d < plan.dofs:
        z = get(ws.z, d, w) + item(state.lack, d, w)
        put(work.zP, d, w, z)
        z = z + ratio * expected(state.bend, d, plan.dofs, w)
        put(ws.z, d, w, z)
        put(work.base, d, w, z)
        d += 1
    r = int(0)
    while r < 6 * plan.joints:
        put(work.joint_target, r, w, ratio * expected(state.aim, r, 6 * plan.joints, w))
        r += 1
    apply_impulses(loops, plan, work, ws.z, work.p, w)
    velocity_passes(tree, ws, trial, loops, plan, state, work, held, h, dt, end, w)


@wp.func
def predictive_step(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, end: wp.float64,
    w: int,
):  # fmt: skip
    """Rows act on the velocity of the whole step: chord momenta balance, joints are closed at its end; where they are
    not, positions are corrected at the poses reached, as long as that helps."""
    dt = state.settings[DT, 0]
    h = real(0.5) * (item(state.clock, 0, w) + dt)
    held = direct_wanted(plan, state, w)
    most = wp.min(CORRECTIONS, int(state.settings[MOST_CORRECTED, 0]))
    sooner = end - wp.float64(RESERVE * state.settings[BUDGET, 0])
    scale = warmth(state, h, w)
    before = ELSEWHERE
    moved = int(0)
    n = int(0)
    going = int(1)
    while going == 1:  # one place for each of the large functions: they are inlined where they stand
        if n == 0:
            load_step(tree, ws, loops, state, h, dt, w)
            load_impulses(plan, state, work, scale, w)
        else:
            renew_positions(plan, ws, state, w)
        inward_momentum(tree, ws, state.tau, state.v, wp.where(n == 0, 1, 0), w)
        weakest = prepare(
            tree, ws, loops, plan, state, work, held, h, dt, scale, real(1.0), 1, wp.where(n == 0, 1, 0), n, w
        )
        if n == 0:
            seek_velocities(tree, ws, trial, loops, plan, state, work, held, weakest, h, dt, sooner, w)
            finish(tree, ws, loops, plan, state, work, h, dt, 1, w)
        error = correct(tree, ws, loops, plan, state, work, held, n, dt, end, w)
        going = 0
        if error >= real(0.0):
            moved = 1
            if error > STRAYED and error < real(0.5) * before and n < most and ticks() < end:
                going = 1
                n += 1
        before = error
    set_item(state.report, CORRECTED, w, real(n))
    if moved == 1:
        keep_angular_momentum(tree, ws, trial, plan, state, w)
    settle(tree, ws, trial, loops, plan, state, work, moved, w)


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
        load_step(tree, ws, loops, state, dt, dt, w)
        inward_momentum(tree, ws, state.tau, state.v, 1, w)
    scale = warmth(state, dt, w)
    load_impulses(plan, state, work, scale, w)
    prepare(tree, ws, loops, plan, state, work, 0, dt, dt, scale, real(1.0), 0, 0, 0, w)
    clear_column(work.joint_target, 6 * plan.joints, w)
    apply_impulses(loops, plan, work, ws.z, work.p, w)
    sooner = end - wp.float64(RESERVE * state.settings[BUDGET, 0])
    solve(loops, plan, state, work, 0, ws.z, dt, sooner, w)
    outward(tree, ws, state.v_next, w)
    tangent_momenta(tree, ws, w)
    copy(work.gap, work.gap_next, 6 * plan.joints, w)
    copy(work.g, work.g_next, plan.lines, w)
    finish(tree, ws, loops, plan, state, work, dt, dt, 0, w)
    advance(tree, state.q, state.v_next, dt, state.q_next, w)
    poses(tree, trial, state.q_next, state.q_next, w)
    joint_gaps(tree, trial, loops, work.gap_trial, w)
    moved = int(0)
    if correct(tree, ws, loops, plan, state, work, 0, 0, dt, end, w) >= real(0.0):
        moved = 1
        keep_angular_momentum(tree, ws, trial, plan, state, w)
    else:
        copy(work.gap_trial, work.gap_next, 6 * plan.joints, w)
    settle(tree, ws, trial, loops, plan, state, work, moved, w)


@wp.func
def begun(state: State, began: wp.float64, w: int):
    """Clear the report; the counter at which the step must end."""
    budget = state.settings[BUDGET, 0]
    tail = wp.min(item(state.clock, 2, w), real(0.5) * budget)
    end = began + wp.float64(budget - tail)
    i = int(0)
    while i < REPORTS:
        set_item(state.report, i, w, real(0.0))
        i += 1
    set_item(state.report, CUT, w, NEVER)
    return end


@wp.func
def ended(state: State, began: wp.float64, end: wp.float64, w: int):
    """Report the time a step took, in its turn."""
    n = item_int(state.turn, 0, w)
    now = ticks()
    tail = wp.min(item(state.clock, 2, w), real(0.5) * state.settings[BUDGET, 0])
    set_item(state.report, TICKS, w, real(now - began))
    set_item(state.clock, 2, w, wp.max(real(0.9) * tail, item(state.clock, 3, w) - real(end - now)))
    i = int(0)
    while i < REPORTS:
        set_item(state.history, REPORTS * n + i, w, item(state.report, i, w))
        i += 1
    set_item_int(state.turn, 0, w, n + 1)


def _kernel(name: str, step: Any) -> Any:
    """Some steps of every world by one of the methods; their reports go to the history. Each is a module of its own:
    who uses one does not wait for the other to compile."""

    def steps_kernel(
        tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work,
        steps: wp.array(dtype=int),
    ):  # fmt: skip
        w = wp.tid()
        poses(tree, ws, state.q, state.q, w)
        n = int(0)
        while n < steps[0]:
            began = ticks()
            end = begun(state, began, w)
            step(tree, ws, trial, loops, plan, state, work, end, w)
            ended(state, began, end, w)
            n += 1

    steps_kernel.__name__ = steps_kernel.__qualname__ = name
    return wp.kernel(steps_kernel, module="unique", module_options=KERNEL_OPTIONS)


step_kernel = _kernel("step_kernel", predictive_step)
published_kernel = _kernel("published_kernel", published_step)


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
        put(ws.hk, d, w, real(0.0))
        set_item(state.tau, d, w, real(0.0))
        d += 1
    inward_momentum(tree, ws, state.tau, state.v, 0, w)
    whitened_velocity(tree, ws, state.v, ws.z, w)
    tangent_momenta(tree, ws, w)
    prepare_lines(tree, ws, loops, plan, state, work, real(1.0), real(1.0), real(1.0), 1, w)
    put_int(work.touching, 0, w, 0)
    clear_column(work.p, plan.first_contact, w)
    d = int(0)
    while d < plan.lines:
        set_item(state.speed, d, w, real(0.0))
        d += 1
    d = int(0)
    while d < 4:
        set_item(state.clock, d, w, real(0.0))
        d += 1
    forget_correction(plan, state, w)
    d = int(0)
    while d < plan.bound:
        set_item(state.firm, d, w, real(0.0))
        d += 1
    finish(tree, ws, loops, plan, state, work, real(0.0), real(0.0), 0, w)


@wp.kernel
def ticks_kernel(out: wp.array(dtype=wp.float64)):
    out[0] = ticks()
