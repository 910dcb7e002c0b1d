"""A step of the real-time engine, for every world: velocity phase, then position phase.

Generalised and maximal coordinates share it: in maximal coordinates all bodies are free and all joints close loops
(sharnir.compiler.maximal).
"""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.aba import outward
from sharnir.dynamics.advance import integrate_positions
from sharnir.dynamics.inward import inward_implicit
from sharnir.dynamics.kinematics import poses
from sharnir.dynamics.momenta import tangent_momenta
from sharnir.impulse.data import State, StepContext
from sharnir.impulse.row_kinds import BOUND, COMPLIANT
from sharnir.impulse.rows.actuators import store_actuator_rates, store_actuators
from sharnir.impulse.rows.assembly import measure_joint_gaps, measure_loop_coordinates
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.rows.contact_matching import store_contacts
from sharnir.impulse.rows.contact_rows import assemble_contact, find_contacts, found_contact_count
from sharnir.impulse.rows.extrapolation import extrapolation_order_of
from sharnir.impulse.rows.scalar_rows import measure_scalar
from sharnir.impulse.slots import Method, Phase, ReportItem, Setting, Status, StatusReal
from sharnir.impulse.solve.pgs_sweep import apply_impulses, apply_model_impulses
from sharnir.impulse.solve.strategy import (
    assemble_all_rows,
    assemble_model_rows,
    factor_row_blocks,
    load_previous_impulses,
    solve_and_report,
    step_ratio,
    use_direct,
)
from sharnir.impulse.step.free_motion import load_free_motion, published_free_motion
from sharnir.impulse.step.momentum_ops import predict_momenta
from sharnir.impulse.step.position_phase import (
    adopt_next_positions,
    advance_with_correction,
    has_position_error,
    largest_joint_gap,
    restore_angular_momentum,
    run_split_impulses,
)
from sharnir.impulse.step.residuals import predict_joint_targets, twice_kinetic_energy
from sharnir.impulse.step.velocity_phase import (
    begin_velocity_phase,
    evaluate,
    reset_chord,
    solve_impulses,
    store_exact_momenta,
)
from sharnir.impulse.tolerances import CORRECT_AGAIN_ABOVE
from sharnir.kernels.columns import get, get3, get_int, item, put, put_int, set_item, set_item3, set_item_int
from sharnir.kernels.types import array2, read_ticks, real
from sharnir.kernels.vector_ops import clear, copy, copy_state, row_dot, store_state

# pivot of loops relative to its past below which a singular pose (fold) is near
FOLD_RELATIVE_PIVOT = wp.constant(real(0.1))
MAX_CORRECTIONS = 5  # of positions in a step
DIVERGED_POSITION = wp.constant(real(1.0e12))  # m or rad: positions beyond count as diverged
POSITION_BUDGET_SHARE = wp.constant(real(0.2))  # share of the time budget that velocities leave to positions


@wp.func
def commit_velocities(ctx: StepContext, h: real, dt: real, use_chord: int, w: int):
    """Commit the step's velocities, momenta and impulses, except those of contacts, to the state. use_chord: scalar
    velocities are (g_next − g)/dt, else those of the rows."""
    store_actuators(ctx, h, dt, w)
    l = int(0)
    while l < ctx.layout.scalars:
        measured = (
            ctx.layout.scalar_has_position[l] == 1 and (ctx.layout.scalar_row_kinds[l] & (BOUND | COMPLIANT)) != 0
        )
        if use_chord == 1 and measured:
            set_item(
                ctx.state.scalar_velocity,
                l,
                w,
                (get(ctx.work.scalar_position_next, l, w) - get(ctx.work.scalar_position, l, w)) / dt,
            )
        elif get(ctx.work.scalar_K, l, w) > real(0.0):
            start = ctx.layout.scalar_W_start[l]
            set_item(
                ctx.state.scalar_velocity,
                l,
                w,
                row_dot(
                    ctx.work.W,
                    start,
                    ctx.layout.scalar_row_length[l],
                    ctx.layout.index,
                    ctx.layout.scalar_index_start[l],
                    ctx.here.z,
                    w,
                ),
            )
        l += 1
    store_state(ctx.work.p, ctx.state.p, ctx.layout.contact_p_start, w)
    store_actuator_rates(ctx.layout, ctx.state, w)
    set_item_int(ctx.state.prev_contact_keys, 0, w, contact_count(ctx.work, w))
    i = int(0)
    while i < ctx.tree.links:
        set_item3(ctx.state.P, 6 * i, w, get3(ctx.here.C, 2 * i, w))
        set_item3(ctx.state.P, 6 * i + 3, w, get3(ctx.here.C, 2 * i + 1, w))
        i += 1
    set_item(ctx.state.prev_step, 0, w, dt)
    set_item(ctx.state.prev_step, 1, w, h)
    set_item(ctx.state.prev_step, 4, w, item(ctx.state.report, ReportItem.PASS_COUNT, w))
    set_item(ctx.state.prev_step, 5, w, item(ctx.state.report, ReportItem.SWEEP_COUNT, w))
    set_item(ctx.state.prev_step, 6, w, twice_kinetic_energy(ctx.here.z, ctx.layout.dofs, w))


@wp.func
def commit_positions(ctx: StepContext, positions_moved: int, w: int):
    """Commit the next positions: q, v, poses, loop coordinates; report the position error (NaN if a position diverged).
    positions_moved: the poses are in the workspace `ws`, else in `trial`."""
    worst = real(0.0)
    divergence = real(0.0)  # added last: a maximum forgets it
    copy_state(ctx.state.q_next, ctx.state.q, ctx.state.q.shape[0], w)
    copy_state(ctx.state.v_next, ctx.state.v, ctx.layout.dofs, w)
    i = int(0)
    while i < ctx.state.q.shape[0]:
        if not (wp.abs(item(ctx.state.q, i, w)) < DIVERGED_POSITION):
            divergence = real(wp.nan)
        i += 1
    worst = worst + largest_joint_gap(ctx.loops, ctx.work, w)
    if positions_moved == 0:
        copy(ctx.there.R, ctx.here.R, 9 * ctx.tree.links, w)
        copy(ctx.there.x, ctx.here.x, 3 * ctx.tree.links, w)
        copy(ctx.there.S, ctx.here.S, 6 * ctx.layout.dofs, w)
        copy(ctx.there.O, ctx.here.O, ctx.there.O.shape[0], w)
    measure_loop_coordinates(ctx.tree, ctx.here, ctx.loops, ctx.state.loop_q, ctx.state.loop_q, w)
    l = int(0)
    while l < ctx.layout.scalars:
        if (ctx.layout.scalar_row_kinds[l] & BOUND) != 0:
            g = measure_scalar(ctx, ctx.here, l, ctx.state.q, ctx.state.loop_q, w)
            past = wp.max(g - ctx.layout.scalar_upper[l], ctx.layout.scalar_lower[l] - g)
            worst = max(worst, past)
        l += 1
    set_item(ctx.state.report, ReportItem.POSITION_ERROR, w, worst + divergence)


@wp.func
def warm_start_factor(state: State, h: real, w: int):
    """Factor of the previous impulses to start from: ratio of the times forces act, times the warm-start setting."""
    scale = real(0.0)
    if item(state.prev_step, 1, w) > real(0.0):
        scale = state.settings[Setting.WARM_START, 0] * h / item(state.prev_step, 1, w)
    return scale


@wp.func
def begin_step(ctx: StepContext, end: wp.float64, w: int):
    """Begin a step: h = (dt_prev + dt)/2, warm-start factor, direct or swept bilateral rows, flags."""
    h = real(0.5) * (item(ctx.state.prev_step, 0, w) + ctx.state.settings[Setting.DT, 0])
    put(ctx.work.status_real, StatusReal.FORCE_TIME, w, h)
    put(ctx.work.status_real, StatusReal.WARM_FACTOR, w, warm_start_factor(ctx.state, h, w))
    put(ctx.work.status_real, StatusReal.LAST_OPENING, w, DIVERGED_POSITION)
    put_int(ctx.work.status, Status.IS_DIRECT, w, use_direct(ctx.layout, ctx.state, w))
    put_int(ctx.work.status, Status.CORRECTION, w, 0)
    put_int(ctx.work.status, Status.CORRECTING, w, 1)
    put_int(ctx.work.status, Status.POSITIONS_MOVED, w, 0)


@wp.func
def compute_free_motion(ctx: StepContext, end: wp.float64, w: int):
    """Free motion of the step: known forces and the factor of M⁻¹ (correction 0), or the factor at the corrected
    positions."""
    if get_int(ctx.work.status, Status.CORRECTING, w) == 1:
        first = wp.where(get_int(ctx.work.status, Status.CORRECTION, w) == 0, 1, 0)
        if first == 1:
            load_free_motion(
                ctx, get(ctx.work.status_real, StatusReal.FORCE_TIME, w), ctx.state.settings[Setting.DT, 0], w
            )
            load_previous_impulses(
                ctx.layout, ctx.state, ctx.work, get(ctx.work.status_real, StatusReal.WARM_FACTOR, w), w
            )
        else:
            adopt_next_positions(ctx.layout, ctx.here, ctx.state, w)
        inward_implicit(ctx.tree, ctx.here, ctx.state.tau, ctx.state.v, first, w)


@wp.func
def predict_start(ctx: StepContext, z: array2, relative_pivot: real, w: int):
    """z of the free motion ← with the carried residual, the predicted chord correction and the warm-start impulses;
    targets of the joints; begins the velocity phase. relative_pivot: of the loops against their past; near a fold
    nothing is extrapolated, since velocities change without bound there."""
    dt = ctx.state.settings[Setting.DT, 0]
    set_item(ctx.state.report, ReportItem.MIN_RELATIVE_PIVOT, w, relative_pivot)
    ratio = real(0.0)
    if (
        item(ctx.state.prev_step, 1, w) > real(0.0) and relative_pivot >= FOLD_RELATIVE_PIVOT
    ):  # at a fold speeds change without bound
        ratio = dt / item(ctx.state.prev_step, 0, w)
    if ctx.state.settings[Setting.MAX_PASSES, 0] == real(0.0):
        ratio = real(0.0)
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
    predict_joint_targets(ctx.layout, ctx.state, ctx.work, ratio, dt, w)
    apply_model_impulses(ctx.loops, ctx.layout, ctx.work, z, ctx.work.p, w)
    begin_velocity_phase(ctx.state, ctx.work, w)


@wp.func
def assemble_rows(ctx: StepContext, end: wp.float64, w: int):
    """Assemble the rows of the step or of a position correction; in the step also z to start from."""
    assemble_joints_and_scalars(ctx, end, w)
    if get_int(ctx.work.status, Status.CORRECTION, w) == 0:
        match_cursor = int(0)
        c = int(0)
        while c < found_contact_count(ctx.layout, ctx.state, w):
            match_cursor = assemble_contact_rows(ctx, c, match_cursor, w)
            c += 1
    assemble_blocks(ctx, end, w)


@wp.func
def assemble_joints_and_scalars(ctx: StepContext, end: wp.float64, w: int):
    """Assemble rows of joints and scalars while the step or a correction goes on."""
    if get_int(ctx.work.status, Status.CORRECTING, w) == 1:
        n = get_int(ctx.work.status, Status.CORRECTION, w)
        dt = ctx.state.settings[Setting.DT, 0]
        assemble_model_rows(ctx, get(ctx.work.status_real, StatusReal.FORCE_TIME, w), dt, real(1.0), 1, n, w)


@wp.func
def assemble_contact_rows(ctx: StepContext, c: int, match_cursor: int, w: int):
    """Assemble contact c; match_cursor, and returned: see `match_contact`."""
    dt = ctx.state.settings[Setting.DT, 0]
    chord_scale = step_ratio(ctx.state, dt, w)
    return assemble_contact(
        ctx, c, match_cursor, get(ctx.work.status_real, StatusReal.WARM_FACTOR, w), chord_scale, dt, w
    )


@wp.func
def assemble_blocks(ctx: StepContext, end: wp.float64, w: int):
    """Factor the blocks of rows and, in the step, predict z to start from."""
    if get_int(ctx.work.status, Status.CORRECTING, w) == 1:
        n = get_int(ctx.work.status, Status.CORRECTION, w)
        direct = get_int(ctx.work.status, Status.IS_DIRECT, w)
        relative_pivot = factor_row_blocks(ctx, direct, 1, wp.where(n == 0, 1, 0), n, w)
        if n == 0:
            predict_start(ctx, ctx.here.z, relative_pivot, w)


@wp.func
def solve_velocities(ctx: StepContext, end: wp.float64, w: int):
    """Velocity phase: v_next, momenta C and impulses p of the step, all iterations."""
    while get_int(ctx.work.status, Status.PHASE, w) != Phase.DONE:
        solve_impulses(ctx, end, w)
        evaluate(ctx, end, w)


@wp.func
def store_velocities(ctx: StepContext, end: wp.float64, w: int):
    """Store the velocities of the step (correction 0), and find out whether positions need to be corrected."""
    if get_int(ctx.work.status, Status.CORRECTING, w) == 1:
        dt = ctx.state.settings[Setting.DT, 0]
        n = get_int(ctx.work.status, Status.CORRECTION, w)
        if n == 0:
            if ctx.layout.all_bodies_free == 1 and item(ctx.state.report, ReportItem.FALLBACK_USED, w) == real(0.0):
                store_exact_momenta(ctx.tree, ctx.here, ctx.layout, ctx.state, ctx.work, w)
            commit_velocities(ctx, get(ctx.work.status_real, StatusReal.FORCE_TIME, w), dt, 1, w)
        put_int(ctx.work.status, Status.HAS_POSITION_ERROR, w, has_position_error(ctx, n, dt, w))


@wp.func
def solve_positions(ctx: StepContext, end: wp.float64, w: int):
    """Solve for pseudo-velocities that undo position errors, where there are any."""
    if (
        get_int(ctx.work.status, Status.CORRECTING, w) == 1
        and get_int(ctx.work.status, Status.HAS_POSITION_ERROR, w) == 1
    ):
        run_split_impulses(
            ctx, get_int(ctx.work.status, Status.IS_DIRECT, w), ctx.state.settings[Setting.DT, 0], end, w
        )


@wp.func
def apply_position_correction(ctx: StepContext, end: wp.float64, w: int):
    """Move positions by the pseudo-velocities; decide whether to correct again at the poses reached: while the opening
    more than halves, is above CORRECT_AGAIN_ABOVE, and time is left."""
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
                and opening < real(0.5) * get(ctx.work.status_real, StatusReal.LAST_OPENING, w)
                and n < most
                and read_ticks() < end
            ):
                correcting = 1
                put_int(ctx.work.status, Status.CORRECTION, w, n + 1)
        put(ctx.work.status_real, StatusReal.LAST_OPENING, w, opening)
        put_int(ctx.work.status, Status.CORRECTING, w, correcting)


@wp.func
def end_step(ctx: StepContext, end: wp.float64, w: int):
    """End the step: positions, poses, angular momentum of floating groups, report."""
    set_item(ctx.state.report, ReportItem.CORRECTION_COUNT, w, real(get_int(ctx.work.status, Status.CORRECTION, w)))
    positions_moved = get_int(ctx.work.status, Status.POSITIONS_MOVED, w)
    if positions_moved == 1:
        restore_angular_momentum(ctx.tree, ctx.here, ctx.there, ctx.layout, ctx.state, w)
    commit_positions(ctx, positions_moved, w)


@wp.func
def predictive_step(ctx: StepContext, end: wp.float64, w: int):
    """Advance world w by dt: velocities whose chord momenta balance with joints closed at the end of the step, then
    position corrections at the poses reached while that halves the error (docs/method.md 7)."""
    velocity_deadline = end - wp.float64(POSITION_BUDGET_SHARE * ctx.state.settings[Setting.TICK_BUDGET, 0])
    begin_step(ctx, end, w)
    while (
        get_int(ctx.work.status, Status.CORRECTING, w) == 1
    ):  # one place for each stage: they are inlined where they stand
        compute_free_motion(ctx, end, w)
        if get_int(ctx.work.status, Status.CORRECTION, w) == 0:
            find_contacts(ctx, ctx.state.settings[Setting.DT, 0], w)
        assemble_rows(ctx, end, w)
        if get_int(ctx.work.status, Status.CORRECTION, w) == 0:
            solve_velocities(ctx, velocity_deadline, w)
        store_velocities(ctx, end, w)
        if get_int(ctx.work.status, Status.CORRECTION, w) == 0:
            store_contacts(ctx.layout, ctx.state, ctx.work, w)
        solve_positions(ctx, end, w)
        apply_position_correction(ctx, end, w)
    end_step(ctx, end, w)


@wp.func
def published_step(ctx: StepContext, end: wp.float64, w: int):
    """The papers' step: free motion, sweeps at the old pose, split impulses for the old errors, semi-implicit Euler."""
    dt = ctx.state.settings[Setting.DT, 0]
    if int(ctx.state.settings[Setting.METHOD, 0]) == Method.PAPER_TREE:
        published_free_motion(ctx, dt, w)
    else:
        load_free_motion(ctx, dt, dt, w)
        inward_implicit(ctx.tree, ctx.here, ctx.state.tau, ctx.state.v, 1, w)
    warm_factor = warm_start_factor(ctx.state, dt, w)
    load_previous_impulses(ctx.layout, ctx.state, ctx.work, warm_factor, w)
    find_contacts(ctx, dt, w)
    assemble_all_rows(ctx, 0, dt, dt, warm_factor, real(1.0), 0, 0, 0, w)
    clear(ctx.work.joint_target, 6 * ctx.layout.joints, w)
    apply_impulses(ctx, ctx.here.z, ctx.work.p, w)
    velocity_deadline = end - wp.float64(POSITION_BUDGET_SHARE * ctx.state.settings[Setting.TICK_BUDGET, 0])
    solve_and_report(ctx, 0, ctx.here.z, dt, velocity_deadline, w)
    outward(ctx.tree, ctx.here, ctx.state.v_next, w)
    tangent_momenta(ctx.tree, ctx.here, w)
    copy(ctx.work.joint_gap, ctx.work.joint_gap_next, 6 * ctx.layout.joints, w)
    copy(ctx.work.scalar_position, ctx.work.scalar_position_next, ctx.layout.scalars, w)
    commit_velocities(ctx, dt, dt, 0, w)
    store_contacts(ctx.layout, ctx.state, ctx.work, w)
    integrate_positions(ctx.tree, ctx.state.q, ctx.state.v_next, dt, ctx.state.q_next, w)
    poses(ctx.tree, ctx.there, ctx.state.q_next, ctx.state.q_next, w)
    measure_joint_gaps(ctx.tree, ctx.there, ctx.loops, ctx.work.joint_gap_trial, w)
    positions_moved = has_position_error(ctx, 0, dt, w)
    if positions_moved == 1:
        run_split_impulses(ctx, 0, dt, end, w)
        advance_with_correction(ctx, 0, dt, w)
        restore_angular_momentum(ctx.tree, ctx.here, ctx.there, ctx.layout, ctx.state, w)
    else:
        copy(ctx.work.joint_gap_trial, ctx.work.joint_gap_next, 6 * ctx.layout.joints, w)
    commit_positions(ctx, positions_moved, w)
