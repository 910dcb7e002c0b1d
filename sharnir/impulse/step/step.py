"""A step of the real-time engine, for every world: velocity phase, then position phase.

Generalised and maximal coordinates share it: in maximal coordinates all bodies are free and all joints close loops
(sharnir.compiler.maximal). All stages of a step have the same parameters: `deadline` is the reading of the clock
(`read_ticks`, in ticks) at which iterations must have ended.
"""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.inward import inward_implicit
from sharnir.enums import ExternalForces
from sharnir.impulse.data import Context, State
from sharnir.impulse.loads.impulse_work import remove_added_energy, report_impulse_work
from sharnir.impulse.loads.joint_loads import must_step_again
from sharnir.impulse.loads.joint_work import follow_pushes, forget_kinetic_energies, limit_joint_work, turn_momenta
from sharnir.impulse.loads.lift import warn_of_lift
from sharnir.impulse.loads.stiffening import (
    clear_link_loads,
    forget_rates,
    load_stiffening,
    update_link_loads,
    world_load_slot,
)
from sharnir.impulse.rows.contact_matching import store_contacts
from sharnir.impulse.rows.contact_rows import find_contacts
from sharnir.impulse.rows.extrapolation import extrapolation_order_of
from sharnir.impulse.rows.restitution import measure_separations
from sharnir.impulse.slots import (
    Again,
    MechanismBound,
    Phase,
    PrevStep,
    ReportItem,
    Setting,
    Status,
    StatusReal,
    WorldLoad,
)
from sharnir.impulse.solve.pgs_sweep import apply_model_impulses
from sharnir.impulse.step.assembly import assemble_rows, load_previous_impulses, step_row_options
from sharnir.impulse.step.commit import ScalarVelocity, commit_positions, commit_velocities
from sharnir.impulse.step.free_motion import load_free_motion
from sharnir.impulse.step.impact_phase import apply_impacts
from sharnir.impulse.step.momentum_ops import predict_momenta
from sharnir.impulse.step.position_phase import (
    adopt_next_positions,
    advance_with_correction,
    has_position_error,
    restore_angular_momentum,
    run_split_impulses,
)
from sharnir.impulse.step.residuals import predict_joint_targets
from sharnir.impulse.step.velocity_phase import (
    evaluate,
    keep_chord_values,
    reset_chord,
    set_first_phase,
    solve_impulses,
    store_exact_momenta,
    store_raised_momenta,
)
from sharnir.impulse.tolerances import CORRECT_AGAIN_ABOVE, FOLD_RATIO
from sharnir.kernels.columns import get, get_int, item, put, put_int, set_item
from sharnir.kernels.types import array2, read_ticks, real
from sharnir.kernels.vector_ops import copy

MAX_CORRECTIONS = 5  # of positions in a step
NO_OPENING_YET = wp.constant(real(1.0e12))  # m or 1, in place of the opening before the first correction
POSITION_BUDGET_SHARE = wp.constant(real(0.2))  # share of the time budget that velocities leave to positions


@wp.func
def warm_start_factor(state: wp.ref[State], h: real, w: int):
    """Factor of the previous impulses to start from: ratio of the times forces act, times the warm-start setting."""
    scale = real(0.0)
    if item(state.prev_step, PrevStep.FORCE_TIME, w) > real(0.0):
        scale = state.settings[Setting.WARM_START, 0] * h / item(state.prev_step, PrevStep.FORCE_TIME, w)
    return scale


@wp.func
def begin_step(ctx: Context, deadline: wp.float64, w: int):
    """Begin a step: h = (dt_prev + dt)/2, warm-start factor, flags."""
    h = real(0.5) * (item(ctx.state.prev_step, PrevStep.DT, w) + ctx.state.settings[Setting.DT, 0])
    put(ctx.work.status_real, StatusReal.FORCE_TIME, w, h)
    put(ctx.work.status_real, StatusReal.WARM_FACTOR, w, warm_start_factor(ctx.state, h, w))
    put(ctx.work.status_real, StatusReal.LAST_OPENING, w, NO_OPENING_YET)
    put_int(ctx.work.status, Status.CORRECTION, w, 0)
    put_int(ctx.work.status, Status.CORRECTING, w, 1)
    put_int(ctx.work.status, Status.POSITIONS_MOVED, w, 0)
    put_int(ctx.work.status, Status.AGAIN, w, Again.NO)
    put_int(ctx.work.status, Status.TRIES, w, 0)
    put_int(ctx.work.status, Status.TURN_LIMITED, w, 0)


@wp.func
def compute_free_motion(ctx: Context, deadline: wp.float64, w: int):
    """Free motion of the step: known forces and the factor of M⁻¹ (correction 0), or the factor at the corrected
    positions."""
    if get_int(ctx.work.status, Status.CORRECTING, w) == 1:
        forces = int(ExternalForces.NONE)
        if get_int(ctx.work.status, Status.CORRECTION, w) == 0:
            forces = int(ExternalForces.WRENCHES)
            load_free_motion(
                ctx, get(ctx.work.status_real, StatusReal.FORCE_TIME, w), ctx.state.settings[Setting.DT, 0], w
            )
            load_stiffening(
                ctx, get(ctx.work.status_real, StatusReal.FORCE_TIME, w), ctx.state.settings[Setting.DT, 0], w
            )
            load_previous_impulses(
                ctx.layout, ctx.state, ctx.work, get(ctx.work.status_real, StatusReal.WARM_FACTOR, w), w
            )
        else:
            adopt_next_positions(ctx.layout, ctx.here, ctx.state, w)
        stiffened = get_int(ctx.work.status, Status.STIFFENED, w) + get_int(ctx.work.status, Status.TURN_LIMITED, w)
        inward_implicit(ctx.tree, ctx.here, ctx.state.tau, ctx.state.v, forces, stiffened, w)


@wp.func
def extrapolation_ratio(state: wp.ref[State], w: int):
    """Factor by which chord terms of the steps before are extrapolated, dt over the previous one; 0 without passes, in
    the first step and near a fold."""
    ratio = real(0.0)
    if (
        item(state.prev_step, PrevStep.FORCE_TIME, w) > real(0.0)
        and item(state.report, ReportItem.MIN_RELATIVE_PIVOT, w) >= FOLD_RATIO
        and state.settings[Setting.MAX_PASSES, 0] > real(0.0)
    ):
        ratio = state.settings[Setting.DT, 0] / item(state.prev_step, PrevStep.DT, w)
    return ratio


@wp.func
def start_velocity_phase(ctx: Context, z: array2, relative_pivot: real, w: int):
    """Start the velocity phase: z of the free motion ← with the carried residual, the predicted chord correction and
    the warm-start impulses of joints and scalar rows (those of contacts are added in `solve_impulses`); targets of the
    joints; first phase. relative_pivot: of the loops against their past; near a fold nothing is extrapolated, since
    velocities change without bound there."""
    dt = ctx.state.settings[Setting.DT, 0]
    set_item(ctx.state.report, ReportItem.MIN_RELATIVE_PIVOT, w, relative_pivot)
    ratio = extrapolation_ratio(ctx.state, w)
    if ctx.state.settings[Setting.MAX_PASSES, 0] == real(0.0):
        reset_chord(ctx.layout, ctx.state, w)
    order = int(extrapolation_order_of(ctx.state.momentum_chord, ctx.layout.dofs, w))
    predict_momenta(
        z,
        ctx.state.residual_carry,
        ctx.state.momentum_chord,
        order,
        ratio,
        ctx.layout.dofs,
        ctx.work.z_momentum,
        ctx.work.z_base,
        w,
    )
    if ctx.state.settings[Setting.MAX_PASSES, 0] == real(0.0) and get_int(ctx.work.status, Status.STIFFENED, w) > 0:
        forget_rates(ctx, w)
        copy(ctx.work.z_momentum, ctx.work.z_base, ctx.layout.dofs, w)
    predict_joint_targets(ctx.layout, ctx.state, ctx.work, ratio, dt, w)
    apply_model_impulses(ctx.loops, ctx.layout, ctx.work, z, ctx.work.p, w)
    set_first_phase(ctx.state, ctx.work, w)


@wp.func
def assemble(ctx: Context, deadline: wp.float64, w: int):
    """Assemble the rows of the step or of a position correction; in the step also z to start from."""
    if get_int(ctx.work.status, Status.CORRECTING, w) == 1:
        relative_pivot = assemble_rows(ctx, step_row_options(ctx, w), w)
        if get_int(ctx.work.status, Status.CORRECTION, w) == 0:
            start_velocity_phase(ctx, ctx.here.z, relative_pivot, w)
            solve_impacts(ctx, deadline, w)


@wp.func
def solve_impacts(ctx: Context, deadline: wp.float64, w: int):
    """Impacts with restitution, once in a step and before its velocity phase."""
    if get_int(ctx.work.status, Status.CORRECTING, w) == 1 and get_int(ctx.work.status, Status.CORRECTION, w) == 0:
        apply_impacts(ctx, extrapolation_ratio(ctx.state, w), w)


@wp.func
def solve_velocities(ctx: Context, deadline: wp.float64, w: int):
    """Velocity phase: v_next, momenta C and impulses p of the step, all iterations."""
    while get_int(ctx.work.status, Status.PHASE, w) != Phase.DONE:
        solve_impulses(ctx, deadline, w)
        evaluate(ctx, deadline, w)


@wp.func
def check_loads(ctx: Context, deadline: wp.float64, w: int):
    """After the velocity phase: exact momenta of free bodies; is the step to be made again, since joints pull harder at
    light links than it was made for? Then the chord terms found are where it starts from."""
    dt = ctx.state.settings[Setting.DT, 0]
    if ctx.layout.all_bodies_free == 1 and item(ctx.state.report, ReportItem.FALLBACK_USED, w) == real(0.0):
        if get_int(ctx.work.status, Status.STIFFENED, w) == 0:
            store_exact_momenta(ctx, w)
        elif ctx.state.settings[Setting.MAX_PASSES, 0] > real(0.0):
            store_raised_momenta(ctx, w)
    again = must_step_again(ctx, get(ctx.work.status_real, StatusReal.FORCE_TIME, w), dt, w)
    put_int(ctx.work.status, Status.AGAIN, w, wp.where(again == 1, int(Again.BEGIN), int(Again.NO)))
    if again == 1:
        keep_chord_values(ctx.layout, ctx.state, w)
        set_item(ctx.state.report, ReportItem.WARNINGS, w, real(0.0))
        set_item(ctx.state.report, ReportItem.IMPULSE_WORK, w, real(0.0))


@wp.func
def store_velocities(ctx: Context, deadline: wp.float64, w: int):
    """Store the velocities of the step (correction 0), and find out whether positions need to be corrected."""
    if get_int(ctx.work.status, Status.CORRECTING, w) == 1:
        dt = ctx.state.settings[Setting.DT, 0]
        n = get_int(ctx.work.status, Status.CORRECTION, w)
        if n == 0:
            if get_int(ctx.work.status, Status.LOADED, w) == 1:
                update_link_loads(ctx, get(ctx.work.status_real, StatusReal.FORCE_TIME, w), dt, w)
            elif item(ctx.state.link_load, world_load_slot(ctx, int(WorldLoad.MEASURED)), w) > real(0.0):
                clear_link_loads(ctx, w)
            commit_velocities(ctx, get(ctx.work.status_real, StatusReal.FORCE_TIME, w), dt, ScalarVelocity.CHORD, w)
            if item(ctx.state.report, ReportItem.FALLBACK_USED, w) > real(0.0):
                turn_momenta(ctx, w)
            report_impulse_work(ctx, w)
            if ctx.layout.contact_model.has_restitution == 1:
                measure_separations(ctx, dt, w)
        put_int(ctx.work.status, Status.HAS_POSITION_ERROR, w, has_position_error(ctx, n, dt, w))


@wp.func
def solve_positions(ctx: Context, deadline: wp.float64, w: int):
    """Solve for pseudo-velocities that undo position errors, where there are any."""
    if (
        get_int(ctx.work.status, Status.CORRECTING, w) == 1
        and get_int(ctx.work.status, Status.HAS_POSITION_ERROR, w) == 1
    ):
        run_split_impulses(ctx, ctx.state.settings[Setting.DT, 0], deadline, w)


@wp.func
def apply_position_correction(ctx: Context, deadline: wp.float64, w: int):
    """Move positions by the pseudo-velocities; decide whether to correct again at the poses reached: while the opening
    more than halves or turns were limited, is above CORRECT_AGAIN_ABOVE, and time is left."""
    if get_int(ctx.work.status, Status.CORRECTING, w) == 1:
        n = get_int(ctx.work.status, Status.CORRECTION, w)
        opening = real(-1.0)
        correcting = int(0)
        if get_int(ctx.work.status, Status.HAS_POSITION_ERROR, w) == 1:
            opening = advance_with_correction(ctx, n, ctx.state.settings[Setting.DT, 0], w)
            put_int(ctx.work.status, Status.POSITIONS_MOVED, w, 1)
            most = wp.min(MAX_CORRECTIONS, int(ctx.state.settings[Setting.REPLAY_CORRECTIONS, 0]))
            if (
                opening > CORRECT_AGAIN_ABOVE
                and (
                    opening < real(0.5) * get(ctx.work.status_real, StatusReal.LAST_OPENING, w)
                    or get_int(ctx.work.status, Status.WORK_LIMITED, w) == MechanismBound.JOINTS
                    or get_int(ctx.work.status, Status.TURN_LIMITED, w) == 1
                )
                and n < most
                and read_ticks() < deadline
            ):
                correcting = 1
                put_int(ctx.work.status, Status.CORRECTION, w, n + 1)
        put(ctx.work.status_real, StatusReal.LAST_OPENING, w, opening)
        put_int(ctx.work.status, Status.CORRECTING, w, correcting)


@wp.func
def end_step(ctx: Context, deadline: wp.float64, w: int):
    """End the step: positions, poses, angular momentum of floating groups, report."""
    set_item(ctx.state.report, ReportItem.CORRECTION_COUNT, w, real(get_int(ctx.work.status, Status.CORRECTION, w)))
    positions_moved = get_int(ctx.work.status, Status.POSITIONS_MOVED, w)
    limited = get_int(ctx.work.status, Status.WORK_LIMITED, w)
    if positions_moved == 1:
        if limited == MechanismBound.JOINTS:
            follow_pushes(ctx, w)
        warn_of_lift(ctx, w)
        restore_angular_momentum(ctx, w)
    commit_positions(ctx, positions_moved, w)
    if limited != MechanismBound.NONE:
        limit_joint_work(ctx, w)
    elif item(ctx.state.link_load, world_load_slot(ctx, int(WorldLoad.BOUNDED)), w) > real(0.0):
        forget_kinetic_energies(ctx, w)
    remove_added_energy(ctx, w)


@wp.func
def velocity_deadline_of(state: wp.ref[State], deadline: wp.float64):
    """Tick at which the velocity phase must end: a share of the budget is left to positions."""
    return deadline - wp.float64(POSITION_BUDGET_SHARE * state.settings[Setting.TICK_BUDGET, 0])


@wp.func
def predictive_step(ctx: Context, deadline: wp.float64, w: int):
    """Advance world w by dt (docs/architecture.md has the picture, docs/method.md section 10 the equations).

    Velocities: chord momenta balance with joints closed at the end of the step. Positions: split impulses, again at the
    poses reached while that halves the error. The stages of a correction are those of the step, so that each is
    inlined once; which of the two goes on is in `Status.CORRECTION`.
    """
    begin_step(ctx, deadline, w)
    while get_int(ctx.work.status, Status.CORRECTING, w) == 1:
        is_step = get_int(ctx.work.status, Status.CORRECTION, w) == 0
        compute_free_motion(ctx, deadline, w)
        if is_step and get_int(ctx.work.status, Status.AGAIN, w) == Again.NO:
            find_contacts(ctx, ctx.state.settings[Setting.DT, 0], w)
        assemble(ctx, deadline, w)
        if is_step:
            solve_velocities(ctx, velocity_deadline_of(ctx.state, deadline), w)
            check_loads(ctx, deadline, w)
        if get_int(ctx.work.status, Status.AGAIN, w) == Again.NO:
            store_velocities(ctx, deadline, w)
            if is_step:
                store_contacts(ctx.layout, ctx.state, ctx.work, w)
            solve_positions(ctx, deadline, w)
            apply_position_correction(ctx, deadline, w)
    end_step(ctx, deadline, w)
