"""CPU kernels: a whole step is one kernel; those of a GPU are in `sharnir.impulse.step.gpu`."""

from __future__ import annotations

from typing import Any

import warp as wp

from sharnir.dynamics.inward import inward_implicit
from sharnir.dynamics.kinematics import poses
from sharnir.dynamics.momenta import tangent_momenta, whitened_velocity
from sharnir.enums import ExternalForces
from sharnir.impulse.data import Context, LimitRule, State, StepContext, make_row_options
from sharnir.impulse.rows.assembly import assemble_scalars, measure_loop_coordinates, whiten_joints
from sharnir.impulse.slots import REPORT_SIZE, LaunchItem, LinkLoad, PrevStep, ReportItem, Setting, WorldLoad
from sharnir.impulse.step.commit import ScalarVelocity, commit_velocities
from sharnir.impulse.step.published import published_step
from sharnir.impulse.step.step import predictive_step
from sharnir.impulse.step.velocity_phase import reset_chord
from sharnir.kernels.columns import item, item_int, make_move_worlds, put, put_int, set_item, set_item_int
from sharnir.kernels.types import KERNEL_OPTIONS, read_ticks, real
from sharnir.kernels.vector_ops import clear

NO_CUT = wp.constant(real(1.0e9))  # sweeps: the step was not cut
wp.set_module_options(KERNEL_OPTIONS)
move_worlds = make_move_worlds(StepContext)


@wp.func
def begin_report(state: wp.ref[State], start_ticks: wp.float64, w: int):
    """Clear the report; returns the deadline of the step, in ticks."""
    budget = state.settings[Setting.TICK_BUDGET, 0]
    tail = wp.min(item(state.prev_step, PrevStep.TICKS_TAIL, w), real(0.5) * budget)
    deadline = start_ticks + wp.float64(budget - tail)
    i = int(0)
    while i < REPORT_SIZE:
        set_item(state.report, i, w, real(0.0))
        i += 1
    set_item(state.report, ReportItem.CUT_AFTER, w, NO_CUT)
    return deadline


@wp.func
def finish_report(state: wp.ref[State], start_ticks: wp.float64, deadline: wp.float64, w: int):
    """Report the ticks a step took, and update the ticks to reserve after the last sweep."""
    now = read_ticks()
    tail = wp.min(item(state.prev_step, PrevStep.TICKS_TAIL, w), real(0.5) * state.settings[Setting.TICK_BUDGET, 0])
    set_item(state.report, ReportItem.STEP_TICKS, w, real(now - start_ticks))
    set_item(
        state.prev_step,
        PrevStep.TICKS_TAIL,
        w,
        wp.max(real(0.9) * tail, item(state.prev_step, PrevStep.TICKS_LEFT, w) - real(deadline - now)),
    )


@wp.func
def is_remarkable(state: wp.ref[State], room: int, w: int):
    """Whether the report of a step says that something was not as usual: what a host has to look at (`count_warnings`).
    room: for contact points."""
    points = item(state.report, ReportItem.CONTACT_POINTS, w)
    error = item(state.report, ReportItem.POSITION_ERROR, w)
    return (
        item(state.report, ReportItem.STOP_REASON, w) > real(0.0)
        or item(state.report, ReportItem.FALLBACK_USED, w) > real(0.0)
        or item(state.report, ReportItem.WARNINGS, w) > real(0.0)
        or item(state.report, ReportItem.MIN_RELATIVE_PIVOT, w) < state.settings[Setting.WARN_PIVOT, 0]
        or not (error <= state.settings[Setting.WARN_OPENING, 0])
        or not wp.isfinite(item(state.report, ReportItem.SWEEP_RESIDUAL, w))
        or points < real(0.0)
        or points > real(room)
    )


@wp.func
def store_report(state: wp.ref[State], room: int, w: int):
    """Append the step's report to the history of the launch. room: for contact points."""
    n = item_int(state.launch, LaunchItem.STEP, w)
    i = int(0)
    while i < REPORT_SIZE:
        set_item(state.history, REPORT_SIZE * n + i, w, item(state.report, i, w))
        i += 1
    set_item_int(state.launch, LaunchItem.STEP, w, n + 1)
    if is_remarkable(state, room, w):
        set_item_int(state.launch, LaunchItem.REMARKABLE, w, item_int(state.launch, LaunchItem.REMARKABLE, w) + 1)


def _make_step_kernel(name: str, step: Any) -> Any:
    """Kernel that makes some steps of every world by one method; reports go to the history. Each kernel is a module of
    its own: who uses one does not wait for the other to compile."""

    @wp.func
    def steps_of_world(ctx: Context, steps: int, w: int):
        poses(ctx.tree, ctx.here, ctx.state.q, ctx.state.q, w)
        n = int(0)
        while n < steps:
            start_ticks = read_ticks()
            deadline = begin_report(ctx.state, start_ticks, w)
            step(ctx, deadline, w)
            finish_report(ctx.state, start_ticks, deadline, w)
            store_report(ctx.state, ctx.layout.max_contacts, w)
            n += 1

    def steps_kernel(contexts: wp.array(dtype=StepContext, ndim=2), steps: wp.array(dtype=int, ndim=2), worlds: int):
        k = int(0)
        while k < worlds:  # handles move from world to world, and back
            if k > 0:
                move_worlds(contexts[0, 0], 1)
            steps_of_world(contexts[0, 0], steps[0, 0], 0)
            k += 1
        if worlds > 1:
            move_worlds(contexts[0, 0], 1 - worlds)

    steps_kernel.__name__ = steps_kernel.__qualname__ = name
    options = {**KERNEL_OPTIONS, "optimization_level": 3}  # measured: 7 % of a step with contacts
    return wp.kernel(steps_kernel, module="unique", module_options=options)


step_kernel = _make_step_kernel("step_kernel", predictive_step)
published_step_kernel = _make_step_kernel("published_step_kernel", published_step)


@wp.kernel
def initialise_kernel(ctx: StepContext):
    """Initialise momenta, loop coordinates and scalar velocities of a state of which only positions and velocities are
    set."""
    w = wp.tid()
    poses(ctx.tree, ctx.here, ctx.state.q, ctx.state.q, w)
    measure_loop_coordinates(ctx.tree, ctx.here, ctx.loops, ctx.state.loop_q, ctx.state.loop_q, w)
    d = int(0)
    while d < ctx.layout.dofs:
        put(ctx.here.E, d, w, ctx.tree.armature[d])
        put(ctx.here.hc, d, w, real(0.0))
        put(ctx.here.hk, d, w, real(0.0))
        set_item(ctx.state.tau, d, w, real(0.0))
        d += 1
    inward_implicit(ctx.tree, ctx.here, ctx.state.tau, ctx.state.v, ExternalForces.NONE, 0, w)
    whitened_velocity(ctx.tree, ctx.here, ctx.state.v, ctx.here.z, w)
    tangent_momenta(ctx.tree, ctx.here, w)
    whiten_joints(ctx, 0, w)
    assemble_scalars(ctx, make_row_options(real(1.0), real(1.0), real(1.0), LimitRule.PREDICTED), w)
    put_int(ctx.work.contact_count, 0, w, 0)
    clear(ctx.work.p, ctx.layout.contact_p_start, w)
    d = int(0)
    while d < ctx.layout.scalars:
        set_item(ctx.state.scalar_velocity, d, w, real(0.0))
        d += 1
    i = int(0)
    while i < PrevStep.SIZE:
        set_item(ctx.state.prev_step, i, w, real(0.0))
        i += 1
    i = int(0)
    while i < REPORT_SIZE:
        set_item(ctx.state.report, i, w, real(0.0))  # its counts steer the first step
        i += 1
    reset_chord(ctx.layout, ctx.state, w)
    i = int(0)
    while i < LinkLoad.SIZE * ctx.tree.links + WorldLoad.SIZE:
        set_item(ctx.state.link_load, i, w, real(0.0))
        i += 1
    d = int(0)
    while d < ctx.layout.pivot_ratios:
        set_item(ctx.state.pivot_ratio, d, w, real(0.0))
        d += 1
    commit_velocities(ctx, real(0.0), real(0.0), ScalarVelocity.ROW, w)


@wp.kernel
def ticks_kernel(out: wp.array(dtype=wp.float64)):
    """Read the tick counter."""
    out[0] = read_ticks()
