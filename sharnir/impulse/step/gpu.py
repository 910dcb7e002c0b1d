"""GPU kernels of a step, one per stage.

As one kernel a step is too large for the CUDA compiler (more than ten minutes against one), and separate stages let
worlds that have finished rest. A world is worked on by one thread, by the lanes of a warp (`solve_stage`,
`position_stage`), or by a thread per contact: contacts of different worlds meet different links, and one thread would
wait for each in turn.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import warp as wp

from sharnir.collision.convex.narrow_phase import collide_convex, collide_solids
from sharnir.collision.surface.convex_vs_surface import collide_shapes
from sharnir.dynamics.kinematics import poses
from sharnir.impulse.data import Context, StepContext
from sharnir.impulse.rows.contact_chord import update_contact_chord
from sharnir.impulse.rows.contact_frame import shape_pair_of
from sharnir.impulse.rows.contact_matching import find_pair_start, store_contact
from sharnir.impulse.rows.contact_rows import found_contact_count
from sharnir.impulse.slots import Again, Phase, Setting, Status
from sharnir.impulse.solve.impacts.reflections import reflect, reflect_once
from sharnir.impulse.solve.strategy import solve_and_report, solve_rows, sweep_rows
from sharnir.impulse.step.assembly import (
    assemble_contact_rows,
    assemble_model_rows,
    factor_row_blocks,
    step_row_options,
)
from sharnir.impulse.step.cpu import begin_report, store_report
from sharnir.impulse.step.impact_phase import apply_impacts, prepare_impacts
from sharnir.impulse.step.residuals import evaluate_end_pose
from sharnir.impulse.step.step import (
    MAX_CORRECTIONS,
    apply_position_correction,
    begin_step,
    check_loads,
    compute_free_motion,
    end_step,
    solve_impacts,
    solve_positions,
    start_velocity_phase,
    store_velocities,
)
from sharnir.impulse.step.velocity_phase import (
    activate_scalars,
    choose_phase,
    evaluate_motion,
    next_phase,
    solve_impulses,
)
from sharnir.kernels.columns import CONTACTS_PER_WORLD, LANES, LANES_BLOCK_DIM, WORLDS_PER_BLOCK, get_int, put_int
from sharnir.kernels.launch import DEFAULT_BLOCK_DIM
from sharnir.kernels.types import NO_DEADLINE


def _make_gpu_kernel(name: str, function: Any, registers: int) -> Any:
    function.__name__ = function.__qualname__ = name
    options = {"enable_backward": False}
    return wp.kernel(function, module="unique", module_options=options, cuda_max_registers=registers)


def _world_stage(name: str, stage: Any, lanes: int = 1, registers: int = 128) -> Any:
    """Kernel of a stage for every world; a GPU has no time budget. lanes: threads per world; registers: of a thread at
    most, so that enough threads run to hide memory latency (measured, not reasoned)."""

    def stage_kernel(ctx: StepContext):
        w = wp.tid() // lanes
        if w < ctx.state.q.shape[1]:
            stage(ctx, NO_DEADLINE, w)

    return _make_gpu_kernel(name, stage_kernel, registers)


def _contact_stage(name: str, stage: Any, registers: int = 128) -> Any:
    """Kernel of a stage for every contact of every world; a block of threads has WORLDS_PER_BLOCK worlds and
    CONTACTS_PER_WORLD contacts of each at a time."""

    def stage_kernel(ctx: StepContext):
        t = wp.tid()
        w = t // (WORLDS_PER_BLOCK * CONTACTS_PER_WORLD) * WORLDS_PER_BLOCK + t % WORLDS_PER_BLOCK
        if w < ctx.state.q.shape[1]:
            c = t % (WORLDS_PER_BLOCK * CONTACTS_PER_WORLD) // WORLDS_PER_BLOCK
            while c < found_contact_count(ctx.layout, ctx.state, w):
                stage(ctx, c, w)
                c += CONTACTS_PER_WORLD

    return _make_gpu_kernel(name, stage_kernel, registers)


@wp.func
def update_poses(ctx: Context, deadline: wp.float64, w: int):
    """Poses of a state that may have been set from outside."""
    poses(ctx.tree, ctx.here, ctx.state.q, ctx.state.q, w)


@wp.func
def begin_step_with_rows(ctx: Context, deadline: wp.float64, w: int):
    """Begin a step: clear the report, free motion, rows of joints and scalars."""
    if w == 0:
        ctx.work.any_again[0] = 0
    begin_report(ctx.state, wp.float64(0.0), w)
    begin_step(ctx, deadline, w)
    free_motion_with_rows(ctx, deadline, w)


@wp.func
def free_motion_with_rows(ctx: Context, deadline: wp.float64, w: int):
    """Free motion (or inertias at corrected positions), then rows of joints and scalars."""
    compute_free_motion(ctx, deadline, w)
    if get_int(ctx.work.status, Status.CORRECTING, w) == 1:
        assemble_model_rows(ctx, step_row_options(ctx, w), w)


@wp.func
def begin_again_with_rows(ctx: Context, deadline: wp.float64, w: int):
    """`free_motion_with_rows` of a step that is made again; resets the flag that any is."""
    if w == 0:
        ctx.work.any_again[0] = 0
    if get_int(ctx.work.status, Status.AGAIN, w) == Again.BEGIN:
        free_motion_with_rows(ctx, deadline, w)


@wp.func
def assemble_one_contact_again(ctx: Context, c: int, w: int):
    """`assemble_one_contact` of a step that is made again."""
    if get_int(ctx.work.status, Status.AGAIN, w) == Again.BEGIN:
        assemble_one_contact(ctx, c, w)


@wp.func
def factor_blocks_again(ctx: Context, deadline: wp.float64, w: int):
    """`factor_blocks` of a step that is made again."""
    if get_int(ctx.work.status, Status.AGAIN, w) == Again.BEGIN:
        factor_blocks(ctx, deadline, w)
        put_int(ctx.work.status, Status.AGAIN, w, Again.FACTORED)


@wp.func
def solve_impacts_again(ctx: Context, deadline: wp.float64, w: int):
    """`solve_impacts` of a step that is made again."""
    if get_int(ctx.work.status, Status.AGAIN, w) == Again.FACTORED:
        solve_impacts(ctx, deadline, w)


@wp.func
def check_all_loads(ctx: Context, deadline: wp.float64, w: int):
    """`check_loads` after the velocity phase; flags that a step is to be made again."""
    check_loads(ctx, deadline, w)
    if get_int(ctx.work.status, Status.AGAIN, w) != Again.NO:
        ctx.work.any_again[0] = 1


@wp.func
def check_loads_again(ctx: Context, deadline: wp.float64, w: int):
    """The same of steps that were made again, once their velocities are known."""
    again = get_int(ctx.work.status, Status.AGAIN, w)
    if again == Again.FACTORED or again == Again.ITERATE:
        put_int(ctx.work.status, Status.AGAIN, w, Again.ITERATE)
        phase = get_int(ctx.work.status, Status.PHASE, w)
        if phase == Phase.END_POSE or phase == Phase.DONE:
            check_loads(ctx, deadline, w)
    if get_int(ctx.work.status, Status.AGAIN, w) != Again.NO:
        ctx.work.any_again[0] = 1


@wp.func
def assemble_one_contact(ctx: Context, c: int, w: int):
    """Assemble contact c; its shape pair is found among the previous contacts by bisection."""
    match_cursor = find_pair_start(ctx.state, shape_pair_of(ctx.layout, ctx.state, c, w), w)
    assemble_contact_rows(ctx, c, match_cursor, step_row_options(ctx, w), w)


@wp.func
def factor_blocks(ctx: Context, deadline: wp.float64, w: int):
    """Factor the blocks of rows and, in the step, start the velocity phase."""
    if get_int(ctx.work.status, Status.CORRECTING, w) == 1:
        relative_pivot = factor_row_blocks(ctx, step_row_options(ctx, w), w)
        if get_int(ctx.work.status, Status.CORRECTION, w) == 0:
            start_velocity_phase(ctx, ctx.here.z, relative_pivot, w)


@wp.func
def evaluate_motion_unless_end(ctx: Context, deadline: wp.float64, w: int):
    """`evaluate_motion` except in END_POSE, which all worlds evaluate together in `end_pose_stage`; resets the flag
    that any world iterates."""
    if w == 0:
        ctx.work.any_iterating[0] = 0
    if get_int(ctx.work.status, Status.PHASE, w) != Phase.END_POSE:
        evaluate_motion(ctx, deadline, w)


@wp.func
def update_one_contact_chord(ctx: Context, c: int, w: int):
    """Update the chord term of contact c while iterating."""
    if get_int(ctx.work.status, Status.PHASE, w) == Phase.ITERATE:
        update_contact_chord(ctx, c, ctx.here.z, ctx.state.settings[Setting.DT, 0], w)


@wp.func(inline=True)
def choose_phase_unless_end(ctx: Context, deadline: wp.float64, w: int):
    """`choose_phase` except in END_POSE; flags that a world iterates on."""
    if get_int(ctx.work.status, Status.PHASE, w) != Phase.END_POSE:
        choose_phase(ctx, deadline, w)
        phase = get_int(ctx.work.status, Status.PHASE, w)
        if phase != Phase.END_POSE and phase != Phase.DONE:
            ctx.work.any_iterating[0] = 1


@wp.func
def evaluate_pending_end_pose(ctx: Context, deadline: wp.float64, w: int):
    """Evaluate the end pose of worlds in END_POSE."""
    if get_int(ctx.work.status, Status.PHASE, w) == Phase.END_POSE:
        evaluate_end_pose(
            ctx, 1 - get_int(ctx.work.status, Status.END_GAPS_KNOWN, w), ctx.state.settings[Setting.DT, 0], w
        )


@wp.func
def store_one_contact(ctx: Context, c: int, w: int):
    """Store contact c for the next step, once per step."""
    if get_int(ctx.work.status, Status.CORRECTING, w) == 1 and get_int(ctx.work.status, Status.CORRECTION, w) == 0:
        store_contact(ctx.layout, ctx.state, ctx.work, c, w)


@wp.func
def end_step_with_report(ctx: Context, deadline: wp.float64, w: int):
    """End the step and store its report."""
    end_step(ctx, deadline, w)
    store_report(ctx.state, ctx.layout.max_contacts, w)


pose_stage = _world_stage("pose_stage", update_poses)
begin_stage = _world_stage("begin_stage", begin_step_with_rows)
free_motion_stage = _world_stage("free_motion_stage", free_motion_with_rows)
contact_stage = _contact_stage("contact_stage", assemble_one_contact)
factor_stage = _world_stage("factor_stage", factor_blocks)
impact_stage = _world_stage("impact_stage", solve_impacts)
solve_stage = _world_stage("solve_stage", solve_impulses, LANES, 96)
motion_stage = _world_stage("motion_stage", evaluate_motion_unless_end)
chord_stage = _contact_stage("chord_stage", update_one_contact_chord, 96)
phase_stage = _world_stage("phase_stage", choose_phase_unless_end)
end_pose_stage = _world_stage("end_pose_stage", evaluate_pending_end_pose)
check_stage = _world_stage("check_stage", check_all_loads)
begin_again_stage = _world_stage("begin_again_stage", begin_again_with_rows)
contact_again_stage = _contact_stage("contact_again_stage", assemble_one_contact_again)
factor_again_stage = _world_stage("factor_again_stage", factor_blocks_again)
impact_again_stage = _world_stage("impact_again_stage", solve_impacts_again)
check_again_stage = _world_stage("check_again_stage", check_loads_again)
commit_stage = _world_stage("commit_stage", store_velocities)
store_contact_stage = _contact_stage("store_contact_stage", store_one_contact)
position_stage = _world_stage("position_stage", solve_positions, LANES, 64)
correction_stage = _world_stage("correction_stage", apply_position_correction)
end_stage = _world_stage("end_stage", end_step_with_report)


def inline_for_cuda() -> None:
    """Have the CUDA compiler inline the functions that it would not, before a stage is compiled: a function that is not
    inlined has the address of the context, which then lies in 19 kB (step) or 2.5 kB (narrow phase) of local memory a
    thread. Processes that use no GPU go without, since hints change the order of inlining: steps on the CPU take 1.03
    to 1.65 times as long."""
    for function in (sweep_rows, solve_rows, solve_and_report, solve_impulses):
        function.inline_hint = "forceinline"
    for function in (reflect_once, reflect, prepare_impacts, apply_impacts, solve_impacts):
        function.inline_hint = "forceinline"
    for function in (activate_scalars, next_phase, choose_phase, collide_convex, collide_solids, collide_shapes):
        function.inline_hint = "forceinline"


def threads_of(stage: Any) -> tuple[int, int]:
    """Threads per world and per block of a stage."""
    if stage in (solve_stage, position_stage):
        return LANES, LANES_BLOCK_DIM
    if stage in (contact_stage, contact_again_stage, chord_stage, store_contact_stage):
        return CONTACTS_PER_WORLD, WORLDS_PER_BLOCK * CONTACTS_PER_WORLD
    return 1, DEFAULT_BLOCK_DIM


class Stages(NamedTuple):
    """Kernels of a step, or of its part after contact detection: once, repeated while any world iterates, once,
    repeated while any world makes its step again, once."""

    first: list[Any]
    again: list[Any]
    check: list[Any]
    remade: list[Any]
    last: list[Any]


def step_stages(corrected: bool, bounces: bool) -> Stages:
    """Kernels of one step after contact detection. corrected: loop joints exist, whose positions may be corrected
    several times; bounces: some materials have restitution."""
    correction = [position_stage, correction_stage]
    again = [free_motion_stage, factor_stage, commit_stage, *correction] * (MAX_CORRECTIONS if corrected else 0)
    to_velocities = velocity_stages(bounces)
    impacts = [impact_again_stage] if bounces else []
    remade = [begin_again_stage, contact_again_stage, factor_again_stage, *impacts, *to_velocities.again]
    return to_velocities._replace(
        check=[*to_velocities.check, check_stage],
        remade=[*remade, end_pose_stage, check_again_stage],
        last=[commit_stage, store_contact_stage, *correction, *again, end_stage],
    )


def velocity_stages(bounces: bool) -> Stages:
    """Kernels from contact detection to the velocities of a step. bounces: some materials have restitution."""
    a_pass = [solve_stage, motion_stage, chord_stage, phase_stage]
    impacts = [impact_stage] if bounces else []
    return Stages([contact_stage, factor_stage, *impacts, *a_pass], a_pass, [end_pose_stage], [], [])
