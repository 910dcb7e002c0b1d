"""Velocity phase: fixed-point iteration on the discrete momentum balance, with joints closed at the end of the step
(M-32..M-36).

Each iteration solves for impulses, evaluates the momentum residual and the end pose, and chooses the next `Phase`;
those after the first are the passes that `Settings.passes` bounds. The phase is stored per world (`Scratch.status`), so
that GPU stages can be separate kernels.
"""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.aba import outward
from sharnir.dynamics.momenta import add_tangent_momenta, tangent_momenta
from sharnir.impulse.data import Context, Scratch, State
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.loads.joint_loads import note_first_loads
from sharnir.impulse.loads.joint_work import note_dropped_residual
from sharnir.impulse.loads.stiffening import add_raised_momenta, forget_rates
from sharnir.impulse.row_kinds import RowKind
from sharnir.impulse.rows.assembly import activate_late_scalars, set_velocity_bounds
from sharnir.impulse.rows.contact_chord import update_contact_chord
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.rows.extrapolation import SERIES_TERMS, reset_series, update_series
from sharnir.impulse.rows.fast_spin import clear_tangent_chords, turn_fast_links
from sharnir.impulse.slots import (
    JOINT_ROWS,
    DelassusState,
    Outcome,
    Phase,
    PrevStep,
    ReportItem,
    Setting,
    Status,
    StatusReal,
)
from sharnir.impulse.solve.bilateral_projection import project_rows
from sharnir.impulse.solve.contact_block import warm_start_contacts
from sharnir.impulse.solve.pgs import impulse_count
from sharnir.impulse.solve.pgs_loop import is_out_of_time
from sharnir.impulse.solve.strategy import solve_and_report
from sharnir.impulse.step.iteration_errors import (
    IterationErrors,
    decide_outcome,
    final_residual2,
    measure_errors,
)
from sharnir.impulse.step.momentum_ops import store_momentum_chord
from sharnir.impulse.step.residuals import (
    compute_chord_residual,
    evaluate_end_pose,
    set_joint_targets,
    twice_kinetic_energy,
    update_joint_chord,
)
from sharnir.impulse.step.tree_momentum import restore_tree_momenta, swap_residual
from sharnir.impulse.tolerances import FOLD_RATIO, MAX_CARRIED_RESIDUAL, REST_SPEED
from sharnir.kernels.columns import get, get_int, item, put, put_int, set_item
from sharnir.kernels.lanes import uses_lanes
from sharnir.kernels.types import array2, real
from sharnir.kernels.vector_ops import clear, column_add, copy

# m/s: where bodies move faster on average, sweeps may stop at TOL_ACCEPT
QUIET_SPEED = wp.constant(real(1.0e-2))
JOINT_CHORD_SIZE = SERIES_TERMS * JOINT_ROWS  # of a joint in `State.joint_chord`
MAX_LATE_ACTIVATIONS = 3  # times scalars are activated late within a step


@wp.func
def set_first_phase(state: wp.ref[State], work: wp.ref[Scratch], w: int):
    """Set the first `Phase` (ITERATE, or LINEARISED without passes) and reset the counters. The first iteration is
    solved to TOL_LOOSE if there are contacts and the previous step needed passes (and nothing bounces: impacts reset
    that)."""
    put_int(
        work.status,
        Status.PHASE,
        w,
        wp.where(state.settings[Setting.MAX_PASSES, 0] > real(0.0), Phase.ITERATE, Phase.LINEARISED),
    )
    put_int(work.status, Status.LATE_ACTIVATIONS, w, 0)
    put_int(work.status, Status.RESIDUAL_DROPPED, w, 0)
    loose = int(0)
    easier = state.settings[Setting.TOL_LOOSE, 0] > state.settings[Setting.EPSILON, 0]
    if easier and contact_count(work, w) > 0 and item(state.prev_step, PrevStep.PASSES, w) > real(0.0):
        loose = 1
    put_int(work.status, Status.LOOSE_ITERATION, w, loose)
    put_int(work.status, Status.WARM_STARTED, w, 0)
    set_item(state.report, ReportItem.PASS_COUNT, w, real(0.0))


@wp.func
def solve_impulses(ctx: Context, deadline: wp.float64, w: int):
    """Solve for impulses at the present target velocities. FINAL_LINEAR adds the momentum residual to z first. Sweeps
    end at a change of impulses of TOL_LOOSE in a loose first iteration, of TOL_ACCEPT where bodies move faster than
    QUIET_SPEED on average, else of EPSILON."""
    phase = get_int(ctx.work.status, Status.PHASE, w)
    if phase != Phase.END_POSE and phase != Phase.DONE:
        n = ctx.layout.dofs
        if uses_lanes() == 0 or get_int(ctx.work.status, Status.IS_DIRECT, w) == 1:
            warm_start_contacts(ctx, ctx.here.z, w)
        if phase == Phase.FINAL_LINEAR:
            copy(ctx.here.z, ctx.work.z_uncorrected, n, w)
            add_residual(ctx.work, ctx.here.z, n, w)
            copy(ctx.work.z_uncorrected, ctx.work.z_saved, n, w)  # sweeps need the memory of z_uncorrected
        loose = get_int(ctx.work.status, Status.LOOSE_ITERATION, w) == 1
        tolerance = ctx.state.settings[Setting.EPSILON, 0]
        if loose:
            tolerance = ctx.state.settings[Setting.TOL_LOOSE, 0]
        elif item(ctx.state.prev_step, PrevStep.ENERGY2, w) > QUIET_SPEED * QUIET_SPEED * ctx.state.settings[
            Setting.MEAN_MASS, 0
        ] * real(ctx.tree.links):
            tolerance = ctx.state.settings[Setting.TOL_ACCEPT, 0]
        put(ctx.work.status_real, StatusReal.SWEEP_TOLERANCE, w, tolerance)
        solve_and_report(ctx, deadline, w)


@wp.func(inline=True)
def evaluate(ctx: Context, deadline: wp.float64, w: int):
    """Evaluate where the impulses lead (velocities, residual, contact chords, end pose) and choose the next phase."""
    evaluate_motion(ctx, deadline, w)
    if get_int(ctx.work.status, Status.PHASE, w) == Phase.ITERATE:
        c = int(0)
        while c < contact_count(ctx.work, w):
            update_contact_chord(ctx, c, ctx.here.z, ctx.state.settings[Setting.DT, 0], w)
            c += 1
    choose_phase(ctx, deadline, w)


@wp.func(inline=True)
def evaluate_motion(ctx: Context, deadline: wp.float64, w: int):
    """Velocities and momenta that the impulses lead to; in ITERATE also the squared residual of the momentum
    balance."""
    phase = get_int(ctx.work.status, Status.PHASE, w)
    if phase != Phase.DONE:
        dt = ctx.state.settings[Setting.DT, 0]
        if phase == Phase.FINAL_LINEAR:
            split_last_change(ctx, w)
        if phase != Phase.END_POSE:
            outward(ctx.tree, ctx.here, ctx.state.v_next, w)
        if phase == Phase.FINAL_LINEAR:
            apply_last_change(ctx, w)
        elif phase == Phase.LINEARISED:
            tangent_momenta(ctx.tree, ctx.here, w)
            turn_fast_links(ctx, dt, w)
        if phase == Phase.FINAL_LINEAR or phase == Phase.LINEARISED:
            put_int(ctx.work.status, Status.END_GAPS_KNOWN, w, 0)
        if phase == Phase.END_POSE or (phase == Phase.ITERATE and ctx.layout.has_nonlinear_scalars == 1):
            gaps_known = wp.where(phase == Phase.END_POSE, get_int(ctx.work.status, Status.END_GAPS_KNOWN, w), 0)
            evaluate_end_pose(ctx, 1 - gaps_known, dt, w)
        if phase == Phase.ITERATE:
            put(ctx.work.status_real, StatusReal.RESIDUAL2, w, compute_chord_residual(ctx, dt, w))
            note_first_loads(ctx, w)


@wp.func
def choose_phase(ctx: Context, deadline: wp.float64, w: int):
    """Choose the next phase: after ITERATE by `next_phase`; LINEARISED and FINAL_LINEAR → END_POSE → DONE. A linearised
    step without passes is repeated where scalar rows came to act within it."""
    phase = get_int(ctx.work.status, Status.PHASE, w)
    dt = ctx.state.settings[Setting.DT, 0]
    if phase == Phase.ITERATE:
        phase = next_phase(ctx, dt, deadline, w)
    elif phase == Phase.END_POSE:
        phase = Phase.DONE
    elif phase != Phase.DONE:
        linear_only = phase == Phase.LINEARISED and ctx.state.settings[Setting.MAX_PASSES, 0] == real(0.0)
        if not linear_only or activate_scalars(ctx, dt, w) == 0:
            phase = Phase.END_POSE
    put_int(ctx.work.status, Status.PHASE, w, phase)


@wp.func
def apply_outcome(ctx: Context, outcome: int, e: IterationErrors, dt: real, w: int):
    """Do what was decided after an iteration; returns the next `Phase`."""
    n = ctx.layout.dofs
    phase = int(Phase.ITERATE)
    if outcome == Outcome.TIGHTEN:
        add_residual(ctx.work, ctx.here.z, n, w)
    elif outcome == Outcome.FALL_BACK:
        phase = int(Phase.LINEARISED)
        set_item(ctx.state.report, ReportItem.FALLBACK_USED, w, real(1.0))
        revert_to_linearised(ctx, ctx.here.z, dt, w)
    elif outcome == Outcome.ACCEPT:
        carry_share = wp.where(final_residual2(e) > MAX_CARRIED_RESIDUAL * e.energy, real(0.0), real(1.0))
        store_chord(ctx.layout, ctx.state, ctx.work, carry_share, w)
        if carry_share == real(0.0):
            put_int(ctx.work.status, Status.RESIDUAL_DROPPED, w, 1)
            note_dropped_residual(ctx, w)
        if carry_share == real(0.0) and ctx.layout.all_bodies_free == 0:
            restore_tree_momenta(ctx, w)
        phase = wp.where(ctx.layout.has_nonlinear_scalars == 1, int(Phase.DONE), int(Phase.END_POSE))
    else:
        set_item(ctx.state.report, ReportItem.PASS_COUNT, w, real(e.passes + 1))
        if outcome == Outcome.CORRECT_LINEARLY:
            phase = int(Phase.FINAL_LINEAR)
        else:
            add_residual(ctx.work, ctx.here.z, n, w)
    return phase


@wp.func
def next_phase(ctx: Context, dt: real, deadline: wp.float64, w: int):
    """Measure what an iteration left, decide what follows, do it: the next `Phase`. Scalar rows that came to act within
    the step are activated first, and the iteration is repeated with them."""
    e = measure_errors(ctx, dt, w)
    phase = int(Phase.ITERATE)
    if activate_scalars(ctx, dt, w) == 0:
        if ctx.layout.has_nonlinear_rows == 1:
            set_joint_targets(ctx, ctx.here.z, dt, w)
        n = ctx.layout.dofs
        e.energy = twice_kinetic_energy(ctx.here.z, n, w) + twice_kinetic_energy(ctx.work.z_momentum, n, w)
        e.energy = wp.max(e.energy, ctx.state.settings[Setting.MEAN_MASS, 0] * REST_SPEED * REST_SPEED)
        e.out_of_time = wp.where(is_out_of_time(ctx.state, real(0.0), deadline, w), 1, 0)
        put_int(ctx.work.status, Status.LOOSE_ITERATION, w, 0)
        phase = apply_outcome(ctx, decide_outcome(e), e, dt, w)
    return phase


@wp.func
def activate_scalars(ctx: Context, dt: real, w: int):
    """Activate scalars that came to act within the step; returns how many are new among its rows."""
    late_activations = get_int(ctx.work.status, Status.LATE_ACTIVATIONS, w)
    activated = int(0)
    if late_activations < MAX_LATE_ACTIVATIONS:
        activated = activate_late_scalars(ctx, get(ctx.work.status_real, StatusReal.FORCE_TIME, w), dt, w)
    if activated > 0:
        put_int(ctx.work.status, Status.LATE_ACTIVATIONS, w, late_activations + 1)
        put_int(ctx.work.status, Status.DELASSUS, w, DelassusState.STALE)
        if get_int(ctx.work.status, Status.IS_DIRECT, w) == 1:
            project_rows(ctx, w)
    return activated


@wp.func
def add_residual(work: wp.ref[Scratch], z: array2, n: int, w: int):
    """Add the momentum residual to z and to its base."""
    column_add(work.z_residual, 0, real(1.0), z, 0, n, w)
    column_add(work.z_residual, 0, real(1.0), work.z_base, 0, n, w)


@wp.func
def clear_residual(layout: wp.ref[Layout], work: wp.ref[Scratch], w: int):
    """z_residual ← 0."""
    clear(work.z_residual, layout.dofs, w)


@wp.func
def split_last_change(ctx: Context, w: int):
    """Before the outward pass of the final linear correction: z ← its change in it, z_saved ← z, v_uncorrected ←
    velocities before it."""
    d = int(0)
    while d < ctx.layout.dofs:
        z = get(ctx.here.z, d, w)
        put(ctx.here.z, d, w, z - get(ctx.work.z_saved, d, w))
        put(ctx.work.z_saved, d, w, z)
        set_item(ctx.state.v_uncorrected, d, w, item(ctx.state.v_next, d, w))
        d += 1


@wp.func
def apply_last_change(ctx: Context, w: int):
    """After it: velocities and momenta follow the last change of z linearly; the second-order remainder is negligible
    there, and no residual is left."""
    d = int(0)
    while d < ctx.layout.dofs:
        set_item(ctx.state.v_next, d, w, item(ctx.state.v_next, d, w) + item(ctx.state.v_uncorrected, d, w))
        put(ctx.here.z, d, w, get(ctx.work.z_saved, d, w))
        d += 1
    clear_residual(ctx.layout, ctx.work, w)
    add_tangent_momenta(ctx.tree, ctx.here, w)
    store_chord(ctx.layout, ctx.state, ctx.work, real(0.0), w)


@wp.func
def store_exact_momenta(ctx: Context, w: int):
    """C ← P⁺ + Σ Jᵀp for free bodies: their momentum is exact whatever residual the iteration left."""
    n = ctx.layout.dofs
    copy(ctx.here.z, ctx.work.z_saved, n, w)
    d = int(0)
    while d < n:
        put(ctx.here.z, d, w, get(ctx.work.z_momentum, d, w) + get(ctx.here.z, d, w) - get(ctx.work.z_base, d, w))
        set_item(ctx.state.residual_carry, d, w, real(0.0))
        d += 1
    outward(ctx.tree, ctx.here, ctx.state.v_exact, w)
    tangent_momenta(ctx.tree, ctx.here, w)
    copy(ctx.work.z_saved, ctx.here.z, n, w)


@wp.func
def store_raised_momenta(ctx: Context, w: int):
    """The same where inertias of links are raised: C += momenta of the residual. The difference of large momenta would
    cost digits."""
    swap_residual(ctx, w)
    outward(ctx.tree, ctx.here, ctx.state.v_exact, w)
    swap_residual(ctx, w)
    add_tangent_momenta(ctx.tree, ctx.here, w)
    add_raised_momenta(ctx, w)
    d = int(0)
    while d < ctx.layout.dofs:
        set_item(ctx.state.residual_carry, d, w, real(0.0))
        d += 1


@wp.func
def store_chord(layout: wp.ref[Layout], state: wp.ref[State], work: wp.ref[Scratch], carry_share: real, w: int):
    """Store the chord correction of this step, from which the next one starts, and carry_share of the residual left."""
    store_momentum_chord(
        work.z_residual, work.z_base, work.z_momentum, carry_share, layout.dofs, work.z_chord, state.residual_carry, w
    )
    update_series(state.momentum_chord, work.z_chord, layout.dofs, w)
    update_joint_chord(layout, state, work, state.settings[Setting.DT, 0], w)


@wp.func
def reset_chord(layout: wp.ref[Layout], state: wp.ref[State], w: int):
    """Reset the chord corrections of momenta and joints, and the carried residual."""
    d = int(0)
    while d < layout.dofs:
        set_item(state.residual_carry, d, w, real(0.0))
        d += 1
    reset_series(state.momentum_chord, SERIES_TERMS * layout.dofs + 1, w)
    reset_series(state.joint_chord, JOINT_CHORD_SIZE * layout.joints + 1, w)


@wp.func
def keep_chord_values(layout: wp.ref[Layout], state: wp.ref[State], w: int):
    """Chord terms just stored are what a step that is made again starts from; nothing is carried or extrapolated."""
    d = int(0)
    while d < layout.dofs:
        set_item(state.residual_carry, d, w, real(0.0))
        d += 1
    set_item(state.momentum_chord, SERIES_TERMS * layout.dofs, w, real(0.0))
    set_item(state.joint_chord, JOINT_CHORD_SIZE * layout.joints, w, real(0.0))


@wp.func
def revert_to_linearised(ctx: Context, z: array2, dt: real, w: int):
    """Revert to the linearised step at its start: first order. By itself it may lose or gain energy; what joints gain
    is taken back (M-98). Near a fold it starts from no impulses: rows that give way there (M-47) would not
    take back those that the iteration made."""
    if item(ctx.state.report, ReportItem.MIN_RELATIVE_PIVOT, w) < FOLD_RATIO:
        copy(ctx.work.z_base, z, ctx.layout.dofs, w)
        clear(ctx.work.p, impulse_count(ctx.layout, ctx.work, w), w)
    d = int(0)
    while d < ctx.layout.dofs:
        put(z, d, w, get(z, d, w) - get(ctx.work.z_base, d, w) + get(ctx.work.z_momentum, d, w))
        d += 1
    if get_int(ctx.work.status, Status.STIFFENED, w) > 0:
        forget_rates(ctx, w)
    reset_chord(ctx.layout, ctx.state, w)
    clear_tangent_chords(ctx, w)
    r = int(0)
    while r < JOINT_ROWS * ctx.layout.joints:
        put(ctx.work.joint_target, r, w, real(0.0))
        r += 1
    l = int(0)
    while l < ctx.layout.scalars:
        if (ctx.layout.scalar_row_kinds[l] & RowKind.BOUND) != 0:
            set_velocity_bounds(ctx, l, real(0.0), get(ctx.work.scalar_position, l, w), dt, w)
        l += 1
