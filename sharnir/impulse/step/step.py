"""A step of sequential impulses, for every world.

Generalised and maximal coordinates share it: in maximal coordinates all bodies are free and all joints close loops
(sharnir.compiler.maximal).
"""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.aba import outward
from sharnir.dynamics.advance import advance
from sharnir.dynamics.inward import inward_momentum
from sharnir.dynamics.kinematics import poses
from sharnir.dynamics.loop_joints import Loops
from sharnir.dynamics.momenta import tangent_momenta
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.impulse.data import (
    BUDGET,
    CORRECTED,
    DT,
    GOING,
    GUARDED,
    HALF,
    HELD,
    METHOD,
    MODE,
    MOST_CORRECTED,
    MOVED,
    OPEN,
    PAPER_TREE,
    PASSED,
    PASSES,
    POSITION_ERROR,
    PUSHING,
    ROUND,
    SCALE,
    SWEPT,
    WARM,
    WEAKEST,
    State,
    Work,
)
from sharnir.impulse.layout.layout import Plan
from sharnir.impulse.row_kinds import HOLD, SOFT
from sharnir.impulse.rows.actuators import keep_drives, keep_rates
from sharnir.impulse.rows.assembly import joint_coordinates, joint_gaps
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.rows.contact_matching import keep_contacts
from sharnir.impulse.rows.contact_rows import find_contacts, prepare_contact, touching_count
from sharnir.impulse.rows.extrapolation import order_of
from sharnir.impulse.rows.scalar_rows import line_position
from sharnir.impulse.solve.pgs_sweep import apply_impulses, apply_joints
from sharnir.impulse.solve.strategy import (
    direct_wanted,
    load_impulses,
    prepare,
    prepare_blocks,
    prepare_model,
    since_last,
    solve,
)
from sharnir.impulse.step.free_motion import load_step, published_motion
from sharnir.impulse.step.momentum_ops import start_momenta
from sharnir.impulse.step.position_phase import (
    displace,
    errors_to_undo,
    keep_angular_momentum,
    largest_gap,
    push,
    renew_positions,
)
from sharnir.impulse.step.residuals import expect_aims, kinetic2
from sharnir.impulse.step.velocity_phase import DONE, first_pass, forget_correction, keep_momenta, press, weigh
from sharnir.impulse.tolerances import STRAYED
from sharnir.kernels.columns import get, get3, get_int, item, put, put_int, set_item, set_item3, set_item_int
from sharnir.kernels.types import array2, real, ticks
from sharnir.kernels.vector_ops import clear, copy, copy_items, keep_items, row_dot

FOLDING = wp.constant(real(0.1))  # firmness of loops, against their past, below which a fold is near
CORRECTIONS = 5  # of positions in a step, at most
ELSEWHERE = wp.constant(real(1.0e12))  # m or rad: no motion leads there
RESERVE = wp.constant(real(0.2))  # share of the budget that velocities leave to positions


@wp.func
def finish(
    tree: Tree, ws: Workspace, loops: Loops, plan: Plan, state: State, work: Work, h: real, dt: real, chord: int, w: int
):
    """The step's velocities, momenta and impulses become the state, but for those of contacts. chord: lines move as
    their positions do."""
    keep_drives(tree, ws, plan, state, work, h, dt, w)
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
    keep_items(work.p, state.p, plan.first_contact, w)
    keep_rates(plan, state, w)
    set_item_int(state.touched, 0, w, contact_count(work, w))
    i = int(0)
    while i < tree.links:
        set_item3(state.P, 6 * i, w, get3(ws.C, 2 * i, w))
        set_item3(state.P, 6 * i + 3, w, get3(ws.C, 2 * i + 1, w))
        i += 1
    set_item(state.clock, 0, w, dt)
    set_item(state.clock, 1, w, h)
    set_item(state.clock, 4, w, item(state.report, PASSED, w))
    set_item(state.clock, 5, w, item(state.report, SWEPT, w))
    set_item(state.clock, 6, w, kinetic2(ws.z, plan.dofs, w))


@wp.func
def settle(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, moved: int, w: int
):
    """Positions ← next positions, poses and coordinates of loops there; the position error is reported.
    moved: the poses are in the workspace, else in the trial's."""
    worst = real(0.0)
    lost = real(0.0)  # added last: a maximum forgets it
    copy_items(state.q_next, state.q, state.q.shape[0], w)
    copy_items(state.v_next, state.v, plan.dofs, w)
    i = int(0)
    while i < state.q.shape[0]:
        if not (wp.abs(item(state.q, i, w)) < ELSEWHERE):
            lost = real(wp.nan)
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
    set_item(state.report, POSITION_ERROR, w, worst + lost)


@wp.func
def warmth(state: State, h: real, w: int):
    """By what the last impulses are scaled to start from: the ratio of the times forces act."""
    scale = real(0.0)
    if item(state.clock, 1, w) > real(0.0):
        scale = state.settings[WARM, 0] * h / item(state.clock, 1, w)
    return scale


@wp.func
def set_out(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, end: wp.float64,
    w: int,
):  # fmt: skip
    """Where a step begins: with its velocities, rows not yet known."""
    h = real(0.5) * (item(state.clock, 0, w) + state.settings[DT, 0])
    put(work.pace, HALF, w, h)
    put(work.pace, SCALE, w, warmth(state, h, w))
    put(work.pace, OPEN, w, ELSEWHERE)
    put_int(work.flow, HELD, w, direct_wanted(plan, state, w))
    put_int(work.flow, ROUND, w, 0)
    put_int(work.flow, GOING, w, 1)
    put_int(work.flow, MOVED, w, 0)


@wp.func
def gather(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, end: wp.float64,
    w: int,
):  # fmt: skip
    """Momenta, inertias and forces where a step begins, or inertias where a correction of its positions does."""
    if get_int(work.flow, GOING, w) == 1:
        first = wp.where(get_int(work.flow, ROUND, w) == 0, 1, 0)
        if first == 1:
            load_step(tree, ws, loops, plan, state, get(work.pace, HALF, w), state.settings[DT, 0], w)
            load_impulses(plan, state, work, get(work.pace, SCALE, w), w)
        else:
            renew_positions(plan, ws, state, w)
        inward_momentum(tree, ws, state.tau, state.v, first, w)


@wp.func
def start_from(loops: Loops, plan: Plan, state: State, work: Work, z: array2, weakest: real, w: int):
    """z of the motion without rows ← with the correction of momenta and the impulses to start from."""
    dt = state.settings[DT, 0]
    set_item(state.report, WEAKEST, w, weakest)
    ratio = real(0.0)
    if item(state.clock, 1, w) > real(0.0) and weakest >= FOLDING:  # at a fold speeds change without bound
        ratio = dt / item(state.clock, 0, w)
    if state.settings[PASSES, 0] == real(0.0):
        ratio = real(0.0)
        forget_correction(plan, state, w)
    order = int(order_of(state.bend, plan.dofs, w))
    start_momenta(z, state.lack, state.bend, order, ratio, plan.dofs, work.zP, work.base, w)
    expect_aims(plan, state, work, ratio, dt, w)
    apply_joints(loops, plan, work, z, work.p, w)
    first_pass(state, work, w)


@wp.func
def line_up(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, end: wp.float64,
    w: int,
):  # fmt: skip
    """The rows of the step or of a correction; in the step, z of its motion with the impulses it starts from."""
    line_up_model(tree, ws, trial, loops, plan, state, work, end, w)
    if get_int(work.flow, ROUND, w) == 0:
        last = int(0)
        c = int(0)
        while c < touching_count(plan, state, w):
            last = line_up_contact(tree, ws, plan, state, work, c, last, w)
            c += 1
    line_up_blocks(tree, ws, trial, loops, plan, state, work, end, w)


@wp.func
def line_up_model(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, end: wp.float64,
    w: int,
):  # fmt: skip
    """Rows of joints and lines."""
    if get_int(work.flow, GOING, w) == 1:
        n = get_int(work.flow, ROUND, w)
        dt = state.settings[DT, 0]
        prepare_model(tree, ws, loops, plan, state, work, get(work.pace, HALF, w), dt, real(1.0), 1, n, w)


@wp.func
def line_up_contact(tree: Tree, ws: Workspace, plan: Plan, state: State, work: Work, c: int, last: int, w: int):
    """Rows of contact c; last, and returned: see `recall_contact`."""
    dt = state.settings[DT, 0]
    bend = since_last(state, dt, w)
    return prepare_contact(tree, ws, plan, state, work, c, last, get(work.pace, SCALE, w), bend, dt, w)


@wp.func
def line_up_blocks(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, end: wp.float64,
    w: int,
):  # fmt: skip
    """Blocks of rows and, in the step, z to start from."""
    if get_int(work.flow, GOING, w) == 1:
        n = get_int(work.flow, ROUND, w)
        held = get_int(work.flow, HELD, w)
        weakest = prepare_blocks(loops, plan, state, work, held, 1, wp.where(n == 0, 1, 0), n, w)
        if n == 0:
            start_from(loops, plan, state, work, ws.z, weakest, w)


@wp.func
def seek_velocities(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, end: wp.float64,
    w: int,
):  # fmt: skip
    """v_next, momenta C and impulses p of the step, all passes of it."""
    while get_int(work.flow, MODE, w) != DONE:
        press(tree, ws, trial, loops, plan, state, work, end, w)
        weigh(tree, ws, trial, loops, plan, state, work, end, w)


@wp.func
def conclude(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, end: wp.float64,
    w: int,
):  # fmt: skip
    """Keep the step's velocities; see what positions need to be corrected."""
    if get_int(work.flow, GOING, w) == 1:
        dt = state.settings[DT, 0]
        n = get_int(work.flow, ROUND, w)
        if n == 0:
            if plan.alone == 1 and item(state.report, GUARDED, w) == real(0.0):
                keep_momenta(tree, ws, plan, state, work, w)
            finish(tree, ws, loops, plan, state, work, get(work.pace, HALF, w), dt, 1, w)
        put_int(work.flow, PUSHING, w, errors_to_undo(loops, plan, state, work, n, dt, w))


@wp.func
def undo_errors(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, end: wp.float64,
    w: int,
):  # fmt: skip
    """Pseudo-velocities that undo position errors, where there are any."""
    if get_int(work.flow, GOING, w) == 1 and get_int(work.flow, PUSHING, w) == 1:
        push(tree, ws, loops, plan, state, work, get_int(work.flow, HELD, w), state.settings[DT, 0], end, w)


@wp.func
def go_on(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, end: wp.float64,
    w: int,
):  # fmt: skip
    """Positions moved by them; whether to correct them again at the poses reached."""
    if get_int(work.flow, GOING, w) == 1:
        n = get_int(work.flow, ROUND, w)
        error = real(-1.0)
        going = int(0)
        if get_int(work.flow, PUSHING, w) == 1:
            error = displace(tree, ws, loops, plan, state, work, n, state.settings[DT, 0], w)
            put_int(work.flow, MOVED, w, 1)
            most = wp.min(CORRECTIONS, int(state.settings[MOST_CORRECTED, 0]))
            if error > STRAYED and error < real(0.5) * get(work.pace, OPEN, w) and n < most and ticks() < end:
                going = 1
                put_int(work.flow, ROUND, w, n + 1)
        put(work.pace, OPEN, w, error)
        put_int(work.flow, GOING, w, going)


@wp.func
def leave(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, end: wp.float64,
    w: int,
):  # fmt: skip
    """Positions, poses and reports of the end of a step."""
    set_item(state.report, CORRECTED, w, real(get_int(work.flow, ROUND, w)))
    moved = get_int(work.flow, MOVED, w)
    if moved == 1:
        keep_angular_momentum(tree, ws, trial, plan, state, w)
    settle(tree, ws, trial, loops, plan, state, work, moved, w)


@wp.func
def predictive_step(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, end: wp.float64,
    w: int,
):  # fmt: skip
    """Rows act on the velocity of the whole step: chord momenta balance, joints are closed at its end; where they are
    not, positions are corrected at the poses reached, as long as that helps."""
    sooner = end - wp.float64(RESERVE * state.settings[BUDGET, 0])
    set_out(tree, ws, trial, loops, plan, state, work, end, w)
    while get_int(work.flow, GOING, w) == 1:  # one place for each stage: they are inlined where they stand
        gather(tree, ws, trial, loops, plan, state, work, end, w)
        if get_int(work.flow, ROUND, w) == 0:
            find_contacts(tree, ws, plan, state, work, state.settings[DT, 0], w)
        line_up(tree, ws, trial, loops, plan, state, work, end, w)
        if get_int(work.flow, ROUND, w) == 0:
            seek_velocities(tree, ws, trial, loops, plan, state, work, sooner, w)
        conclude(tree, ws, trial, loops, plan, state, work, end, w)
        if get_int(work.flow, ROUND, w) == 0:
            keep_contacts(plan, state, work, w)
        undo_errors(tree, ws, trial, loops, plan, state, work, end, w)
        go_on(tree, ws, trial, loops, plan, state, work, end, w)
    leave(tree, ws, trial, loops, plan, state, work, end, w)


@wp.func
def published_step(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, end: wp.float64,
    w: int,
):  # fmt: skip
    """The papers' step: free motion, sweeps at the old pose, split impulses for the old errors, semi-implicit Euler."""
    dt = state.settings[DT, 0]
    if int(state.settings[METHOD, 0]) == PAPER_TREE:
        published_motion(tree, ws, loops, plan, state, work, dt, w)
    else:
        load_step(tree, ws, loops, plan, state, dt, dt, w)
        inward_momentum(tree, ws, state.tau, state.v, 1, w)
    scale = warmth(state, dt, w)
    load_impulses(plan, state, work, scale, w)
    find_contacts(tree, ws, plan, state, work, dt, w)
    prepare(tree, ws, loops, plan, state, work, 0, dt, dt, scale, real(1.0), 0, 0, 0, w)
    clear(work.joint_target, 6 * plan.joints, w)
    apply_impulses(loops, plan, work, ws.z, work.p, w)
    sooner = end - wp.float64(RESERVE * state.settings[BUDGET, 0])
    solve(loops, plan, state, work, 0, ws.z, dt, sooner, w)
    outward(tree, ws, state.v_next, w)
    tangent_momenta(tree, ws, w)
    copy(work.gap, work.gap_next, 6 * plan.joints, w)
    copy(work.g, work.g_next, plan.lines, w)
    finish(tree, ws, loops, plan, state, work, dt, dt, 0, w)
    keep_contacts(plan, state, work, w)
    advance(tree, state.q, state.v_next, dt, state.q_next, w)
    poses(tree, trial, state.q_next, state.q_next, w)
    joint_gaps(tree, trial, loops, work.gap_trial, w)
    moved = errors_to_undo(loops, plan, state, work, 0, dt, w)
    if moved == 1:
        push(tree, ws, loops, plan, state, work, 0, dt, end, w)
        displace(tree, ws, loops, plan, state, work, 0, dt, w)
        keep_angular_momentum(tree, ws, trial, plan, state, w)
    else:
        copy(work.gap_trial, work.gap_next, 6 * plan.joints, w)
    settle(tree, ws, trial, loops, plan, state, work, moved, w)
