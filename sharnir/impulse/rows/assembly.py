"""Assembly of joint and scalar rows at the start of a step: whitened rows, effective masses, targets and bounds
(M-35..M-39)."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.loop_joints import (
    ROW_TABLE_ENTRY,
    LoopJoints,
    evaluate_row,
    loop_frames_of,
    measure_joint_coordinates,
)
from sharnir.dynamics.momenta import rotation_offset, whitened_velocity
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.enums import MotorMode, ScalarSource
from sharnir.impulse.data import Context, LimitRule, RowOptions, Scratch, State, make_row_options
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.row_kinds import SCALAR_IMPULSES, RowKind, ScalarImpulse
from sharnir.impulse.rows.actuators import actuator_friction, is_saturated, set_saturation_bounds
from sharnir.impulse.rows.compliant_rows import set_compliant_row
from sharnir.impulse.rows.scalar_rows import measure_scalar, whiten_scalar
from sharnir.impulse.rows.whitened_rows import make_row_block, make_row_ends, store_row_wrenches, whiten_joint_rows
from sharnir.impulse.slots import JOINT_BLOCK, JOINT_ROWS, Setting
from sharnir.impulse.tolerances import GAP_TOLERANCE, MAX_SPEED_GAIN, TOL_REDUNDANT
from sharnir.kernels.columns import get, get3, get_int, item, put, put_int
from sharnir.kernels.types import array2, column, mat33, real, vec3
from sharnir.kernels.vector_ops import row_dot, row_row_dot


@wp.func
def tolerated_gap(gap: real):
    """The part of a position error that the velocities leave alone: 0 within GAP_TOLERANCE, where it is the solver's
    own rounding, else all of it."""
    return wp.where(wp.abs(gap) > GAP_TOLERANCE, gap, real(0.0))


@wp.func
def gap_correction_speed(work: wp.ref[Scratch], r: int, dt: real, w: int):
    """Velocity of joint row r that undoes, within the step, an error within GAP_TOLERANCE."""
    gap = get(work.joint_gap, r, w)
    return (tolerated_gap(gap) - gap) / dt


@wp.func
def measure_joint_gaps(tree: wp.ref[Tree], ws: wp.ref[Workspace], loops: wp.ref[LoopJoints], gap: array2, w: int):
    """Position errors of the loop joints at the poses in the workspace; returns the largest."""
    worst = real(0.0)
    k = int(0)
    while k < loops.count:
        s = loop_frames_of(tree, ws, loops, k, w)
        kind = loops.kind[k]
        j = int(0)
        while j < loops.constraint_count[kind]:
            g, f, n = evaluate_row(loops, s, k, (JOINT_ROWS * kind + j) * ROW_TABLE_ENTRY)
            put(gap, JOINT_ROWS * k + j, w, g)
            worst = wp.max(worst, wp.abs(g))
            j += 1
        k += 1
    return worst


@wp.func
def displace_point(tree: wp.ref[Tree], ws: wp.ref[Workspace], link: int, y: vec3, w: int):
    """Where a point at y from a link's pivot is after the step whose displacements are in the workspace."""
    out = y
    if link >= 0:
        out = y + rotation_offset(get3(ws.Qu, link, w), get(ws.Qs, link, w), y) + get3(ws.t, link, w)
    return out


@wp.func
def rotate_frame(ws: wp.ref[Workspace], link: int, R: mat33, w: int):
    """Axes of a frame on a link after the step whose displacements are in the workspace."""
    out = R
    if link >= 0:
        u = get3(ws.Qu, link, w)
        s = get(ws.Qs, link, w)
        x = column(R, 0) + rotation_offset(u, s, column(R, 0))
        y = column(R, 1) + rotation_offset(u, s, column(R, 1))
        z = wp.cross(x, y)
        out = mat33(x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2])
    return out


@wp.func
def measure_displaced_gaps(tree: wp.ref[Tree], ws: wp.ref[Workspace], loops: wp.ref[LoopJoints], gap: array2, w: int):
    """Position errors of the loop joints after the step whose displacements are in the workspace, without new poses."""
    k = int(0)
    while k < loops.count:
        s = loop_frames_of(tree, ws, loops, k, w)
        apart = s.ra - s.rb  # of the pivots
        s.P = rotate_frame(ws, s.a, s.P, w)
        s.C = rotate_frame(ws, s.b, s.C, w)
        s.d = displace_point(tree, ws, s.b, s.rb, w) + apart - displace_point(tree, ws, s.a, s.ra - s.d, w)
        kind = loops.kind[k]
        j = int(0)
        while j < loops.constraint_count[kind]:
            g, f, n = evaluate_row(loops, s, k, (JOINT_ROWS * kind + j) * ROW_TABLE_ENTRY)
            put(gap, JOINT_ROWS * k + j, w, g)
            j += 1
        k += 1


@wp.func
def measure_loop_coordinates(
    tree: wp.ref[Tree], ws: wp.ref[Workspace], loops: wp.ref[LoopJoints], reference: array2, loop_q: array2, w: int
):
    """Coordinates of all loop joints at the poses in the workspace, angles unwrapped from `reference`."""
    k = int(0)
    while k < loops.count:
        measure_joint_coordinates(loops, loop_q, reference, loop_frames_of(tree, ws, loops, k, w), k, w)
        k += 1


@wp.func
def whiten_joints(ctx: Context, at_new_poses: int, w: int):
    """Whitened rows and effective masses of the loop joints at the poses in the workspace, those of their coordinates
    that are scalar rows with them, and their errors unless at_new_poses (rows of a position correction)."""
    least = ctx.state.settings[Setting.MIN_ROW_K, 0]
    k = int(0)
    while k < ctx.loops.count:
        s = loop_frames_of(ctx.tree, ctx.here, ctx.loops, k, w)
        kind = ctx.loops.kind[k]
        m = ctx.loops.constraint_count[kind]
        rows = ctx.layout.joint_whitened_rows[k]
        length = ctx.layout.joint_row_length[k]
        j = int(0)
        while j < rows:
            g, f, n = evaluate_row(ctx.loops, s, k, (JOINT_ROWS * kind + j) * ROW_TABLE_ENTRY)
            if at_new_poses == 0 and j < m:
                put(ctx.work.joint_gap, JOINT_ROWS * k + j, w, g)
            ends = make_row_ends(s.a, -f, -n - wp.cross(s.ra, f), s.b, f, n + wp.cross(s.rb, f))
            store_row_wrenches(ctx.work.row_wrench, j, rows, ends, w)
            j += 1
        whiten_joint_rows(ctx, s.a, s.b, make_row_block(ctx.layout.joint_W_start[k], length, 0, rows), w)
        j = int(0)
        while j < m:
            start = ctx.layout.joint_W_start[k] + j * length
            K = row_row_dot(ctx.work.W, start, start, length, w)
            put(ctx.work.joint_mass, JOINT_ROWS * k + j, w, wp.where(K > least, real(1.0) / K, real(0.0)))
            j += 1
        k += 1


@wp.func
def factor_joints(loops: wp.ref[LoopJoints], layout: wp.ref[Layout], work: wp.ref[Scratch], least: real, w: int):
    """LDLᵀ of every joint's block W Wᵀ, inverse pivots on the diagonal; a row that earlier ones imply, or a dropped
    one, gets 0. least: 1/kg, W·W of a row that moves nothing."""
    k = int(0)
    while k < loops.count:
        m = loops.constraint_count[loops.kind[k]]
        length = layout.joint_row_length[k]
        at = JOINT_BLOCK * k
        i = int(0)
        while i < m:
            row_i = layout.joint_W_start[k] + i * length
            row_K = row_row_dot(work.W, row_i, row_i, length, w)
            pivot_i = row_K
            j = int(0)
            while j < i:
                entry = row_row_dot(work.W, row_i, layout.joint_W_start[k] + j * length, length, w)
                n = int(0)
                while n < j:
                    entry = entry - get(work.joint_factor, at + JOINT_ROWS * i + n, w) * get(
                        work.joint_factor, at + JOINT_ROWS * j + n, w
                    )
                    n += 1
                put(work.joint_factor, at + JOINT_ROWS * i + j, w, entry)  # L D for now
                j += 1
            j = int(0)
            while j < i:
                entry = get(work.joint_factor, at + JOINT_ROWS * i + j, w)
                scaled = entry * get(work.joint_factor, at + (JOINT_ROWS + 1) * j, w)
                pivot_i = pivot_i - entry * scaled
                put(work.joint_factor, at + JOINT_ROWS * i + j, w, scaled)
                j += 1
            inverse = real(0.0)
            if pivot_i > TOL_REDUNDANT * row_K + least and get(work.joint_row_dropped, JOINT_ROWS * k + i, w) == real(
                0.0
            ):
                inverse = real(1.0) / pivot_i
            put(work.joint_factor, at + (JOINT_ROWS + 1) * i, w, inverse)
            i += 1
        k += 1


@wp.func
def assemble_scalars(ctx: Context, options: RowOptions, w: int):
    """Positions, rows and bounds of all scalars."""
    if ctx.layout.has_ball_rate_scalars == 1:
        whitened_velocity(ctx.tree, ctx.here, ctx.state.v, ctx.work.z_velocity_before, w)
    l = int(0)
    while l < ctx.layout.scalars:
        g = measure_scalar(ctx, ctx.here, l, ctx.state.q, ctx.state.loop_q, w)
        put(ctx.work.scalar_position, l, w, g)
        put(ctx.work.scalar_K, l, w, real(0.0))
        if ctx.layout.scalar_row_kinds[l] == RowKind.SATURATION_EXCESS:
            set_saturation_bounds(ctx, l, options.h, w)
        if options.limit_rule == LimitRule.PREDICTED and is_scalar_idle(ctx, l, g, options.dt, w):
            put(ctx.work.p, ctx.layout.scalar_p_start + SCALAR_IMPULSES * l, w, real(0.0))
            if ctx.layout.scalar_is_summand[l] == 1:
                whiten_scalar(ctx, ctx.work.W, l, ctx.state.q, ctx.state.loop_q, w)
        else:
            assemble_scalar(ctx, l, g, options, w)
        l += 1


@wp.func
def is_scalar_idle(ctx: Context, l: int, g: real, dt: real, w: int):
    """Whether a scalar will hardly act in this step: its limit is out of reach, or its actuator within its force
    limits."""
    out = bool(False)
    if ctx.layout.scalar_row_kinds[l] == RowKind.BOUND:
        out = is_out_of_reach(ctx.layout, g, item(ctx.state.scalar_velocity, l, w), dt, l)
    elif ctx.layout.scalar_row_kinds[l] == RowKind.SATURATION_EXCESS:
        has_no_impulse = get(ctx.work.p, ctx.layout.scalar_p_start + SCALAR_IMPULSES * l, w) == real(0.0)
        out = has_no_impulse and not is_saturated(ctx.work, l, item(ctx.state.v, ctx.layout.scalar_source[2 * l], w), w)
    return out


@wp.func(inline=True)
def assemble_scalar(ctx: Context, l: int, g: real, options: RowOptions, w: int):
    """Row and bounds of scalar l at position g."""
    whiten_scalar(ctx, ctx.work.W, l, ctx.state.q, ctx.state.loop_q, w)
    start = ctx.layout.scalar_W_start[l]
    K = row_row_dot(ctx.work.W, start, start, ctx.layout.scalar_row_length[l], w)
    if K <= ctx.state.settings[Setting.MIN_ROW_K, 0]:
        K = real(0.0)
    put(ctx.work.scalar_K, l, w, K)
    h = options.h
    kinds = ctx.layout.scalar_row_kinds[l]
    if (kinds & RowKind.BOUND) != 0:
        if options.limit_rule == LimitRule.PREDICTED:
            idle = is_out_of_reach(ctx.layout, g, item(ctx.state.scalar_velocity, l, w), options.dt, l)
            set_bound_idle(ctx.layout, ctx.work, l, wp.where(idle, 1, 0), w)
            set_velocity_bounds(ctx, l, real(0.0), g, options.dt, w)
        else:
            set_reached_bounds(ctx.layout, ctx.work, l, w)
    if (kinds & RowKind.FRICTION) != 0:
        put(
            ctx.work.friction_bound,
            l,
            w,
            h * (ctx.layout.scalar_friction[l] + actuator_friction(ctx.layout, ctx.state, l, w)),
        )
    if (kinds & RowKind.MOTOR) != 0:
        set_motor_target(ctx, l, g, options, w)
    if (kinds & RowKind.SATURATED) != 0:
        put(ctx.work.impulse_lower, l, w, h * ctx.layout.actuators[ctx.layout.scalar_motor[l]].force_low)
        put(ctx.work.impulse_upper, l, w, h * ctx.layout.actuators[ctx.layout.scalar_motor[l]].force_high)
    if (kinds & RowKind.COMPLIANT) != 0:
        speed = item(ctx.state.scalar_velocity, l, w)
        if ctx.layout.scalar_has_position[l] == 0:  # a rate of a ball: as it is in the present axes
            speed = row_dot(
                ctx.work.W,
                start,
                ctx.layout.scalar_row_length[l],
                ctx.layout.index,
                ctx.layout.scalar_index_start[l],
                ctx.work.z_velocity_before,
                w,
            )
        set_compliant_row(ctx, l, g, speed, options, w)
        if K == real(0.0):  # it moves nothing, but pulls
            put(
                ctx.work.p,
                ctx.layout.scalar_p_start + SCALAR_IMPULSES * l + ScalarImpulse.COMPLIANT,
                w,
                get(ctx.work.compliant_velocity, l, w) / get(ctx.work.compliant_gamma, l, w),
            )


@wp.func
def activate_late_scalars(ctx: Context, h: real, dt: real, w: int):
    """Assemble limits and saturated actuators that were idle and would be violated by v_next; returns how many."""
    passed_count = int(0)
    l = int(0)
    while l < ctx.layout.scalars:  # most often none: counted first, so that no row waits for the one before
        passed_count += is_bound_passed(ctx.layout, ctx.state, ctx.work, l, dt, w)
        l += 1
    options = make_row_options(h, dt, real(1.0), LimitRule.PREDICTED)
    activated = int(0)
    l = int(0)
    while l < ctx.layout.scalars and passed_count > 0:
        if is_bound_passed(ctx.layout, ctx.state, ctx.work, l, dt, w) == 1:
            if get(ctx.work.scalar_K, l, w) == real(0.0):
                assemble_scalar(ctx, l, get(ctx.work.scalar_position, l, w), options, w)
            if (ctx.layout.scalar_row_kinds[l] & RowKind.BOUND) != 0:
                set_bound_idle(ctx.layout, ctx.work, l, 0, w)
                set_velocity_bounds(ctx, l, real(0.0), get(ctx.work.scalar_position, l, w), dt, w)
            if get(ctx.work.scalar_K, l, w) > real(0.0):
                activated += 1
        l += 1
    return activated


@wp.func
def is_bound_passed(layout: wp.ref[Layout], state: wp.ref[State], work: wp.ref[Scratch], l: int, dt: real, w: int):
    """1 where an idle limit or force limit would be violated by v_next."""
    beyond = bool(False)
    idle = get(work.scalar_K, l, w) == real(0.0)
    if (layout.scalar_row_kinds[l] & RowKind.BOUND) != 0:
        if layout.scalar_row_kinds[l] != RowKind.BOUND:
            idle = get_int(work.bound_idle, l, w) == 1
        g = get(work.scalar_position, l, w)
        end = get(work.scalar_position_next, l, w)
        if layout.scalar_source_kind[l] == ScalarSource.TREE_DOF:
            end = g + dt * item(state.v_next, layout.scalar_source[2 * l], w)
        beyond = end < wp.min(layout.scalar_lower[l], g) or end > wp.max(layout.scalar_upper[l], g)
    elif layout.scalar_row_kinds[l] == RowKind.SATURATION_EXCESS:
        beyond = is_saturated(work, l, item(state.v_next, layout.scalar_source[2 * l], w), w)
    return wp.where(beyond and idle, 1, 0)


@wp.func
def set_bound_idle(layout: wp.ref[Layout], work: wp.ref[Scratch], l: int, idle: int, w: int):
    """Note whether the limit of scalar l is out of reach in this step; then it has no impulse."""
    put_int(work.bound_idle, l, w, idle)
    if idle == 1:
        put(work.p, layout.scalar_p_start + SCALAR_IMPULSES * l, w, real(0.0))


@wp.func
def is_out_of_reach(layout: wp.ref[Layout], g: real, speed: real, dt: real, l: int):
    """Whether a limit is too far to be met in this step, even if the velocity changes by MAX_SPEED_GAIN."""
    reach = dt * (real(2.0) * wp.abs(speed) + MAX_SPEED_GAIN)
    return g - layout.scalar_lower[l] > reach and layout.scalar_upper[l] - g > reach


@wp.func
def set_velocity_bounds(ctx: Context, l: int, speed: real, position: real, dt: real, w: int):
    """Velocity bounds of a bounded scalar such that its position, `position` at velocity `speed`, ends within its
    limits, or no further outside than at the start of the step (M-37). None where the limit is out of reach."""
    start = get(ctx.work.scalar_position, l, w)
    lower = ctx.layout.scalar_lower[l]
    upper = ctx.layout.scalar_upper[l]
    if lower == upper:
        put(ctx.work.velocity_lower, l, w, speed + (start - position) / dt)
        put(ctx.work.velocity_upper, l, w, speed + (start - position) / dt)
    elif get_int(ctx.work.bound_idle, l, w) == 1:
        put(ctx.work.velocity_lower, l, w, real(-wp.inf))
        put(ctx.work.velocity_upper, l, w, real(wp.inf))
    else:
        low = speed + (wp.min(lower, start) - position) / dt
        high = speed + (wp.max(upper, start) - position) / dt
        put(ctx.work.velocity_lower, l, w, low)
        put(ctx.work.velocity_upper, l, w, high)


@wp.func
def set_reached_bounds(layout: wp.ref[Layout], work: wp.ref[Scratch], l: int, w: int):
    """Velocity bounds of a bounded scalar as published: a limit acts once it is reached."""
    start = get(work.scalar_position, l, w)
    lower = layout.scalar_lower[l]
    upper = layout.scalar_upper[l]
    put(work.velocity_lower, l, w, wp.where(start <= lower or lower == upper, real(0.0), real(-wp.inf)))
    put(work.velocity_upper, l, w, wp.where(start >= upper or lower == upper, real(0.0), real(wp.inf)))


@wp.func
def set_motor_target(ctx: Context, l: int, g: real, options: RowOptions, w: int):
    """Target velocity of a motor and the largest impulse it has for that."""
    m = ctx.layout.scalar_motor[l]
    speed = item(ctx.state.motor_target, m, w)
    if ctx.layout.motor_mode[m] != MotorMode.VELOCITY:
        most = ctx.layout.motor_max_speed[m]
        speed = wp.clamp((speed - g) / wp.max(ctx.layout.motor_response[m], options.dt), -most, most)
    put(ctx.work.motor_velocity, l, w, speed)
    put(ctx.work.motor_bound, l, w, options.h * ctx.layout.motor_max_force[m])
