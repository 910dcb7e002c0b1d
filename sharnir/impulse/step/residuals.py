"""Residuals of a step: momentum balance over the step, growth of joint gaps, errors of scalars at its end, and the
targets that follow (M-33..M-36)."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.advance import integrate_positions
from sharnir.dynamics.kinematics import poses
from sharnir.dynamics.loop_joints import LoopJoints
from sharnir.dynamics.momenta import chord_momenta, whitened_momentum
from sharnir.impulse.data import Context, Scratch, State
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.loads.stiffening import add_raised_momenta, drop_raised_momenta
from sharnir.impulse.row_kinds import SCALAR_IMPULSES, RowKind
from sharnir.impulse.rows.assembly import (
    gap_correction_speed,
    measure_joint_gaps,
    measure_loop_coordinates,
    set_velocity_bounds,
    tolerated_gap,
)
from sharnir.impulse.rows.extrapolation import predict_value, update_series
from sharnir.impulse.rows.fast_spin import settle_fast_links
from sharnir.impulse.rows.scalar_rows import measure_scalar
from sharnir.impulse.slots import Status
from sharnir.impulse.step.momentum_ops import compute_momentum_residual
from sharnir.kernels.columns import get, get_int, item, put, set_item
from sharnir.kernels.types import array2, real
from sharnir.kernels.vector_ops import row_dot
from sharnir.model.joint_rows import JOINT_ROWS


@wp.func
def evaluate_end_pose(ctx: Context, with_gaps: int, dt: real, w: int):
    """Evaluate the end configuration q ⊕ dt v_next: poses, scalar positions and, if with_gaps, errors of loop
    joints."""
    integrate_positions(ctx.tree, ctx.state.q, ctx.state.v_next, dt, ctx.state.q_next, w)
    poses(ctx.tree, ctx.there, ctx.state.q_next, ctx.state.q_next, w)
    if with_gaps == 1:
        measure_joint_gaps(ctx.tree, ctx.there, ctx.loops, ctx.work.joint_gap_next, w)
    if ctx.layout.has_nonlinear_scalars == 1:
        measure_loop_coordinates(ctx.tree, ctx.there, ctx.loops, ctx.state.loop_q, ctx.state.loop_q_next, w)
    l = int(0)
    while l < ctx.layout.scalars:
        if (ctx.layout.scalar_row_kinds[l] & (RowKind.BOUND | RowKind.COMPLIANT)) != 0:
            put(
                ctx.work.scalar_position_next,
                l,
                w,
                measure_scalar(ctx, ctx.there, l, ctx.state.q_next, ctx.state.loop_q_next, w),
            )
        l += 1


@wp.func
def set_joint_targets(ctx: Context, z: array2, dt: real, w: int):
    """Target velocities of joint and scalar rows such that errors do not grow over the step, from where the trial
    velocities lead (M-36)."""
    k = int(0)
    while k < ctx.layout.joints:
        j = int(0)
        while j < ctx.loops.constraint_count[ctx.loops.kind[k]]:
            r = JOINT_ROWS * k + j
            start = ctx.layout.joint_W_start[k] + j * ctx.layout.joint_row_length[k]
            s = row_dot(
                ctx.work.W,
                start,
                ctx.layout.joint_row_length[k],
                ctx.layout.index,
                ctx.layout.joint_index_start[k],
                z,
                w,
            )
            put(
                ctx.work.joint_target,
                r,
                w,
                s + (tolerated_gap(get(ctx.work.joint_gap, r, w)) - get(ctx.work.joint_gap_next, r, w)) / dt,
            )
            j += 1
        k += 1
    if ctx.layout.has_nonlinear_scalars == 1:
        set_scalar_targets(ctx, z, dt, w)


@wp.func
def predict_joint_targets(
    layout: wp.ref[Layout], state: wp.ref[State], work: wp.ref[Scratch], ratio: real, dt: real, w: int
):
    """Initial targets of the joints' rows: ratio times the predicted chord terms of curved paths, plus the velocities
    that undo present errors within GAP_TOLERANCE (M-65). ratio: dt over the previous one; with 0, where nothing is
    extrapolated, all targets are 0."""
    r = int(0)
    while r < JOINT_ROWS * layout.joints:
        target = real(0.0)
        if ratio > real(0.0):
            target = ratio * predict_value(state.joint_chord, r, JOINT_ROWS * layout.joints, w) + gap_correction_speed(
                work, r, dt, w
            )
        put(work.joint_target, r, w, target)
        r += 1


@wp.func
def update_joint_chord(layout: wp.ref[Layout], state: wp.ref[State], work: wp.ref[Scratch], dt: real, w: int):
    """Store the chord terms of the joints' targets, without corrections of gaps, which do not go on. Overwrites
    `joint_target`."""
    r = int(0)
    while r < JOINT_ROWS * layout.joints:
        put(work.joint_target, r, w, get(work.joint_target, r, w) - gap_correction_speed(work, r, dt, w))
        r += 1
    update_series(state.joint_chord, work.joint_target, JOINT_ROWS * layout.joints, w)


@wp.func
def set_scalar_targets(ctx: Context, z: array2, dt: real, w: int):
    """Target velocities of scalars: bounds hold and compliant forces act by where positions go, not by what the linear
    row says."""
    l = int(0)
    while l < ctx.layout.scalars:
        kinds = ctx.layout.scalar_row_kinds[l] & (RowKind.BOUND | RowKind.COMPLIANT)
        if kinds != 0 and ctx.layout.scalar_has_position[l] == 1 and get(ctx.work.scalar_K, l, w) > real(0.0):
            g = get(ctx.work.scalar_position, l, w)
            position_next = get(ctx.work.scalar_position_next, l, w)
            s = row_dot(
                ctx.work.W,
                ctx.layout.scalar_W_start[l],
                ctx.layout.scalar_row_length[l],
                ctx.layout.index,
                ctx.layout.scalar_index_start[l],
                z,
                w,
            )
            if (kinds & RowKind.BOUND) != 0:
                set_velocity_bounds(ctx, l, s, position_next, dt, w)
            if (kinds & RowKind.COMPLIANT) != 0:
                put(
                    ctx.work.compliant_velocity,
                    l,
                    w,
                    get(ctx.work.compliant_velocity_linear, l, w) - ((position_next - g) / dt - s),
                )
        l += 1


@wp.func
def compute_chord_residual(ctx: Context, dt: real, w: int):
    """z_residual ← residual of the momentum balance over the step, ρ = z_momentum + Wᵀp − zc(v) (M-33);
    returns |ρ|²."""
    chord_momenta(ctx.tree, ctx.here, ctx.state.v_next, dt, w)
    settle_fast_links(ctx, dt, w)
    d = int(0)
    while d < ctx.layout.dofs:
        set_item(ctx.state.joint_momentum, d, w, get(ctx.here.E, d, w) * item(ctx.state.v_next, d, w))
        d += 1
    raised = get_int(ctx.work.status, Status.STIFFENED, w) > 0
    if raised:
        add_raised_momenta(ctx, w)
    whitened_momentum(ctx.tree, ctx.here, ctx.state.joint_momentum, ctx.work.z_residual, w)
    if raised:
        drop_raised_momenta(ctx, w)
    return compute_momentum_residual(
        ctx.work.z_momentum, ctx.here.z, ctx.work.z_base, ctx.work.z_residual, ctx.layout.dofs, w
    )


@wp.func
def twice_kinetic_energy(z: array2, n: int, w: int):
    """|z|², twice the kinetic energy (J)."""
    total = real(0.0)
    d = int(0)
    while d < n:
        total = total + get(z, d, w) * get(z, d, w)
        d += 1
    return total


@wp.func
def measure_scalar_errors(layout: wp.ref[Layout], work: wp.ref[Scratch], z: array2, dt: real, w: int):
    """Errors of scalars at the end of the step against the bounds that hold them or the linear row their compliant
    forces assumed: the largest (m or rad), and twice the energy it would take to undo all."""
    worst = real(0.0)
    energy = real(0.0)
    l = int(0)
    while l < layout.scalars:
        K = get(work.scalar_K, l, w)
        kinds = layout.scalar_row_kinds[l] & (RowKind.BOUND | RowKind.COMPLIANT)
        if kinds != 0 and layout.scalar_has_position[l] == 1 and K > real(0.0):
            g = get(work.scalar_position, l, w)
            position_next = get(work.scalar_position_next, l, w)
            error = real(0.0)
            mass = real(1.0) / K
            if (kinds & RowKind.BOUND) != 0:
                p = get(work.p, layout.scalar_p_start + SCALAR_IMPULSES * l, w)
                low = wp.min(layout.scalar_lower[l], g)
                high = wp.max(layout.scalar_upper[l], g)
                if layout.scalar_lower[l] == layout.scalar_upper[l]:
                    low = g
                    high = g
                error = wp.max(low - position_next, position_next - high)
                if p > real(0.0):
                    error = position_next - low
                elif p < real(0.0):
                    error = position_next - high
                elif error < real(0.0):
                    error = real(0.0)
            if (kinds & RowKind.COMPLIANT) != 0:
                s = row_dot(
                    work.W,
                    layout.scalar_W_start[l],
                    layout.scalar_row_length[l],
                    layout.index,
                    layout.scalar_index_start[l],
                    z,
                    w,
                )
                compliant_error = (position_next - g) - dt * (
                    s + get(work.compliant_velocity_linear, l, w) - get(work.compliant_velocity, l, w)
                )
                error = wp.max(wp.abs(error), wp.abs(compliant_error))
                mass = real(1.0) / (K + get(work.compliant_gamma, l, w))
            worst = wp.max(worst, wp.abs(error))
            energy = energy + error * error * mass
        l += 1
    return worst, energy / (dt * dt)


@wp.func
def measure_gap_growth(loops: wp.ref[LoopJoints], work: wp.ref[Scratch], dt: real, w: int):
    """Growth of joint gaps over the step: the largest (m or 1), and twice the energy it would take to undo all."""
    worst = real(0.0)
    energy = real(0.0)
    k = int(0)
    while k < loops.count:
        j = int(0)
        while j < loops.constraint_count[loops.kind[k]]:
            r = JOINT_ROWS * k + j
            if get(work.joint_row_dropped, r, w) == real(0.0):
                growth = get(work.joint_gap_next, r, w) - tolerated_gap(get(work.joint_gap, r, w))
                worst = wp.max(worst, wp.abs(growth))
                energy = energy + growth * growth * get(work.joint_mass, r, w)
            j += 1
        k += 1
    return worst, energy / (dt * dt)
