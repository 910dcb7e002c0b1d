"""Kernels of a step on a GPU, a stage in each.

As one kernel a step is too large for the CUDA compiler (more than ten minutes against one), and stages of their own let
worlds that have finished rest. A thread works on a world, a team of threads does (`press`), or a thread on one contact
of a world: worlds touch with different links, and one thread would wait for each in turn.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import warp as wp

from sharnir.dynamics.kinematics import poses
from sharnir.dynamics.loop_joints import Loops
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.impulse.data import DT, GOING, KNOWN, MODE, ROUND, State, Work
from sharnir.impulse.layout.layout import Plan
from sharnir.impulse.rows.contact_chord import bend_contact
from sharnir.impulse.rows.contact_frame import pair_of
from sharnir.impulse.rows.contact_matching import first_of_pair, keep_contact
from sharnir.impulse.rows.contact_rows import touching_count
from sharnir.impulse.step.cpu import begun, keep_report
from sharnir.impulse.step.residuals import look
from sharnir.impulse.step.step import (
    CORRECTIONS,
    conclude,
    gather,
    go_on,
    leave,
    line_up_blocks,
    line_up_contact,
    line_up_model,
    set_out,
    undo_errors,
)
from sharnir.impulse.step.velocity_phase import DONE, LOOK, PASS, find_motion, find_next, press
from sharnir.kernels.columns import CREW, LANES, SLOTS, TEAM_BLOCK, get_int
from sharnir.kernels.launch import BLOCK

FOREVER = wp.constant(wp.float64(1.0e300))  # ticks


def _kernel(name: str, function: Any, registers: int) -> Any:
    function.__name__ = function.__qualname__ = name
    options = {"enable_backward": False}
    return wp.kernel(function, module="unique", module_options=options, cuda_max_registers=registers)


def _stage(name: str, stage: Any, lanes: int = 1, registers: int = 128) -> Any:
    """A stage of a step, for every world; a GPU knows no budget. lanes: threads that work on a world; registers: of a
    thread at most, so that enough of them are at work to hide how long memory takes (measured, not reasoned)."""

    def stage_kernel(
        tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work,
    ):  # fmt: skip
        w = wp.tid() // lanes
        if w < state.q.shape[1]:
            stage(tree, ws, trial, loops, plan, state, work, FOREVER, w)

    return _kernel(name, stage_kernel, registers)


def _contact_stage(name: str, stage: Any, registers: int = 128) -> Any:
    """A stage for every contact of every world; a block of threads has CREW worlds and SLOTS contacts of each at a
    time."""

    def stage_kernel(
        tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work,
    ):  # fmt: skip
        t = wp.tid()
        w = t // (CREW * SLOTS) * CREW + t % CREW
        if w < state.q.shape[1]:
            c = t % (CREW * SLOTS) // CREW
            while c < touching_count(plan, state, w):
                stage(tree, ws, plan, state, work, c, w)
                c += SLOTS

    return _kernel(name, stage_kernel, registers)


@wp.func
def arrive(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, end: wp.float64,
    w: int,
):  # fmt: skip
    """Poses of states that may have been set from outside."""
    poses(tree, ws, state.q, state.q, w)


@wp.func
def begin(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, end: wp.float64,
    w: int,
):  # fmt: skip
    begun(state, wp.float64(0.0), w)
    set_out(tree, ws, trial, loops, plan, state, work, end, w)
    gather_rows(tree, ws, trial, loops, plan, state, work, end, w)


@wp.func
def gather_rows(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, end: wp.float64,
    w: int,
):  # fmt: skip
    gather(tree, ws, trial, loops, plan, state, work, end, w)
    line_up_model(tree, ws, trial, loops, plan, state, work, end, w)


@wp.func
def line_up_one(tree: Tree, ws: Workspace, plan: Plan, state: State, work: Work, c: int, w: int):
    line_up_contact(tree, ws, plan, state, work, c, first_of_pair(state, pair_of(plan, state, c, w), w), w)


@wp.func
def find_motion_before(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, end: wp.float64,
    w: int,
):  # fmt: skip
    """`find_motion`, but a look at the end is left for all worlds to take together. Whether any world goes on is for
    `find_next_before` to say."""
    if w == 0:
        work.ahead[0] = 0
    if get_int(work.flow, MODE, w) != LOOK:
        find_motion(tree, ws, trial, loops, plan, state, work, end, w)


@wp.func
def bend_one(tree: Tree, ws: Workspace, plan: Plan, state: State, work: Work, c: int, w: int):
    if get_int(work.flow, MODE, w) == PASS:
        bend_contact(tree, ws, plan, state, work, c, ws.z, state.settings[DT, 0], w)


@wp.func
def find_next_before(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, end: wp.float64,
    w: int,
):  # fmt: skip
    if get_int(work.flow, MODE, w) != LOOK:
        find_next(tree, ws, trial, loops, plan, state, work, end, w)
        mode = get_int(work.flow, MODE, w)
        if mode != LOOK and mode != DONE:
            work.ahead[0] = 1


@wp.func
def take_look(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, end: wp.float64,
    w: int,
):  # fmt: skip
    if get_int(work.flow, MODE, w) == LOOK:
        look(tree, trial, loops, plan, state, work, 1 - get_int(work.flow, KNOWN, w), state.settings[DT, 0], w)


@wp.func
def keep_one(tree: Tree, ws: Workspace, plan: Plan, state: State, work: Work, c: int, w: int):
    if get_int(work.flow, GOING, w) == 1 and get_int(work.flow, ROUND, w) == 0:
        keep_contact(plan, state, work, c, w)


@wp.func
def end_step(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, end: wp.float64,
    w: int,
):  # fmt: skip
    leave(tree, ws, trial, loops, plan, state, work, end, w)
    keep_report(state, w)


arrive_stage = _stage("arrive_stage", arrive)
begin_stage = _stage("begin_stage", begin)
gather_stage = _stage("gather_stage", gather_rows)
contact_stage = _contact_stage("contact_stage", line_up_one)
line_up_stage = _stage("line_up_stage", line_up_blocks)
press_stage = _stage("press_stage", press, LANES, 96)
motion_stage = _stage("motion_stage", find_motion_before)
bend_stage = _contact_stage("bend_stage", bend_one, 96)
next_stage = _stage("next_stage", find_next_before)
look_stage = _stage("look_stage", take_look)
conclude_stage = _stage("conclude_stage", conclude)
keep_stage = _contact_stage("keep_stage", keep_one)
undo_stage = _stage("undo_stage", undo_errors, LANES, 64)
go_on_stage = _stage("go_on_stage", go_on)
end_stage = _stage("end_stage", end_step)


def threads_of(stage: Any) -> tuple[int, int]:
    """Threads of a stage that work on a world, and of a block."""
    if stage in (press_stage, undo_stage):
        return LANES, TEAM_BLOCK
    if stage in (contact_stage, bend_stage, keep_stage):
        return SLOTS, CREW * SLOTS
    return 1, BLOCK


class Stages(NamedTuple):
    """Kernels of a step, or of its part after contacts are found: once, as often as any world goes on, once."""

    first: list[Any]
    again: list[Any]
    last: list[Any]


def stages_of_step(corrected: bool) -> Stages:
    """Kernels of one step after contacts are found. corrected: joints close loops, whose positions may be corrected
    several times."""
    correction = [undo_stage, go_on_stage]
    again = [gather_stage, line_up_stage, conclude_stage, *correction] * (CORRECTIONS if corrected else 0)
    to_velocities = stages_to_velocities()
    end = [conclude_stage, keep_stage, *correction, *again, end_stage]
    return to_velocities._replace(last=[*to_velocities.last, *end])


def stages_to_velocities() -> Stages:
    """Kernels from the contacts of a step to its velocities."""
    a_pass = [press_stage, motion_stage, bend_stage, next_stage]
    return Stages([contact_stage, line_up_stage, *a_pass], a_pass, [look_stage])
