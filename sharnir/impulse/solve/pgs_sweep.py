"""One projected Gauss–Seidel sweep (sequential impulses) over all blocks, in whitened coordinates (M-39..M-42).

The velocity of a row is W·z, an impulse p moves z by Wᵀp. Impulses are accumulated, and bounds hold for the accumulated
impulse; every function returns the largest change of an impulse, N s.
"""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.loop_joints import LoopJoints
from sharnir.impulse.data import Scratch, StepContext
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.row_kinds import BOUND, COMPLIANT, FRICTION, MOTOR, SATURATED, SATURATION_EXCESS
from sharnir.impulse.rows.actuators import saturation_excess_impulse
from sharnir.impulse.solve.contact_block import apply_contact_impulses, sweep_contacts
from sharnir.kernels.columns import get, get_int, put, put_int
from sharnir.kernels.types import array2, real, vec4, vec6
from sharnir.kernels.vector_ops import row_add, row_dot

UNBOUNDED_IMPULSE = wp.constant(real(1.0e30))  # N s: a motor with more has no bound and yields to a limit


@wp.func
def sweep_joint(ctx: StepContext, k: int, z: array2, p: array2, w: int):
    """Gauss–Seidel update of the block of loop joint k by its LDLᵀ factors (M-39, L15-14)."""
    m = ctx.loops.constraint_count[ctx.loops.kind[k]]
    length = ctx.layout.joint_row_length[k]
    first = ctx.layout.joint_index_start[k]
    start = ctx.layout.joint_W_start[k]
    at = 36 * k
    x = vec6()
    i = int(0)
    while i < m:
        value = get(ctx.work.joint_target, 6 * k + i, w)
        value = value - row_dot(ctx.work.W, start + i * length, length, ctx.layout.index, first, z, w)
        j = int(0)
        while j < i:
            value = value - get(ctx.work.joint_factor, at + 6 * i + j, w) * x[j]
            j += 1
        x[i] = value
        i += 1
    worst = real(0.0)
    i = m - 1
    while i >= 0:
        value = x[i] * get(ctx.work.joint_factor, at + 7 * i, w)
        j = i + 1
        while j < m:
            value = value - get(ctx.work.joint_factor, at + 6 * j + i, w) * x[j]
            j += 1
        x[i] = value
        row_add(ctx.work.W, start + i * length, length, ctx.layout.index, first, value, z, w)
        put(p, 6 * k + i, w, get(p, 6 * k + i, w) + value)
        worst = wp.max(worst, wp.abs(value))
        i -= 1
    return worst


@wp.func
def update_scalar(ctx: StepContext, l: int, kinds: int, s: real, K: real, p: array2, at: int, w: int):
    """Solve the impulses of scalar row l at row velocity s and store them in p[at …]; returns the change of their sum
    and the largest change of one. kinds: set of row kinds that act; K: W·W of the row, 1/kg."""
    total = real(0.0)
    worst = real(0.0)
    if kinds == BOUND:
        before = get(p, at, w)
        free_velocity = s - K * before
        after = (
            wp.clamp(free_velocity, get(ctx.work.velocity_lower, l, w), get(ctx.work.velocity_upper, l, w))
            - free_velocity
        ) / K
        total = after - before
        worst = wp.abs(total)
        put(p, at, w, after)
    else:
        bound = real(0.0)
        friction = real(0.0)
        motor = real(0.0)
        compliant = real(0.0)
        if (kinds & (BOUND | SATURATION_EXCESS)) != 0:
            bound = get(p, at, w)
        if (kinds & FRICTION) != 0:
            friction = get(p, at + 1, w)
        if (kinds & MOTOR) != 0:
            motor = get(p, at + 2, w)
        if (kinds & COMPLIANT) != 0:
            compliant = get(p, at + 3, w)
        before = bound + friction + motor + compliant
        new = solve_scalar(ctx, l, kinds, s - K * before, K, w)
        worst = wp.max(
            wp.max(wp.abs(new[0] - bound), wp.abs(new[1] - friction)),
            wp.max(wp.abs(new[2] - motor), wp.abs(new[3] - compliant)),
        )
        total = new[0] + new[1] + new[2] + new[3] - before
        if (kinds & (BOUND | SATURATION_EXCESS)) != 0:
            put(p, at, w, new[0])
        if (kinds & FRICTION) != 0:
            put(p, at + 1, w, new[1])
        if (kinds & MOTOR) != 0:
            put(p, at + 2, w, new[2])
        if (kinds & COMPLIANT) != 0:
            put(p, at + 3, w, new[3])
    return total, worst


@wp.func
def sweep_scalar(ctx: StepContext, l: int, direct: int, z: array2, p: array2, w: int):
    """Gauss–Seidel update of scalar row l: velocity, impulses, z. direct: 1 if bilateral rows are solved directly, so
    that the projected row and only its unilateral and bounded kinds are swept."""
    K = get(ctx.work.scalar_K, l, w)
    worst = real(0.0)
    kinds = ctx.layout.scalar_row_kinds[l]
    length = ctx.layout.scalar_row_length[l]
    first = ctx.layout.scalar_index_start[l]
    start = ctx.layout.scalar_W_start[l]
    offset = real(0.0)
    if direct == 1:
        kinds = ctx.layout.scalar_bounded_kinds[l]
        length = ctx.layout.z_size
        first = ctx.layout.identity_index_start
        start = ctx.layout.scalar_projected_start + l * ctx.layout.z_size
        if K > real(0.0) and kinds != 0:
            K = get(ctx.work.scalar_K_projected, l, w)
            offset = get(ctx.work.projected_velocity_offset, l, w)
    if K > real(0.0) and kinds != 0:
        s = row_dot(ctx.work.W, start, length, ctx.layout.index, first, z, w) + offset
        total, change = update_scalar(ctx, l, kinds, s, K, p, ctx.layout.scalar_p_start + 4 * l, w)
        worst = change
        if change > real(0.0):
            row_add(ctx.work.W, start, length, ctx.layout.index, first, total, z, w)
    return worst


@wp.func
def saturated_impulse(x: real, target: real, bound: real):
    """Impulse of friction or a motor that pushes towards velocity `target` with all of its bound, at velocity x."""
    impulse = real(0.0)
    if x < target:
        impulse = bound
    elif x > target:
        impulse = -bound
    return impulse


@wp.func
def solve_scalar(ctx: StepContext, l: int, kinds: int, free_velocity: real, K: real, w: int):
    """Impulses (bound, friction, motor, compliant) of scalar row l (M-40). free_velocity: its velocity without its own
    impulses, m/s or rad/s; K: W·W, 1/kg."""
    out = vec4()
    if (kinds & SATURATION_EXCESS) != 0:
        out[0] = saturation_excess_impulse(ctx.work, l, free_velocity, K, w)
    elif (kinds & SATURATED) != 0:
        compliant = (get(ctx.work.compliant_velocity, l, w) - free_velocity) / (get(ctx.work.compliant_gamma, l, w) + K)
        out[3] = wp.clamp(compliant, get(ctx.work.velocity_lower, l, w), get(ctx.work.velocity_upper, l, w))
    else:
        out = solve_scalar_combined(ctx, l, kinds, free_velocity, K, w)
    return out


@wp.func
def solve_scalar_combined(ctx: StepContext, l: int, kinds: int, free_velocity: real, K: real, w: int):
    """Impulses (bound, friction, motor, compliant) of scalar row l for the kinds that may share a row, solved exactly
    together (M-41).

    Their sum falls as the velocity x grows: friction and motor jump where x passes 0 and the motor's target, the
    compliant force is linear, and the bound takes the rest at its limits. A motor without bound yields to a limit.
    """
    friction_bound = real(0.0)
    motor_bound = real(0.0)
    target = real(0.0)
    E = real(0.0)
    rest_velocity = real(0.0)
    if (kinds & FRICTION) != 0:
        friction_bound = get(ctx.work.friction_bound, l, w)
    if (kinds & MOTOR) != 0:
        motor_bound = get(ctx.work.motor_bound, l, w)
        target = get(ctx.work.motor_velocity, l, w)
    if (kinds & COMPLIANT) != 0:
        E = real(1.0) / get(ctx.work.compliant_gamma, l, w)
        rest_velocity = get(ctx.work.compliant_velocity, l, w)
    a = real(1.0) + K * E
    c = free_velocity + K * E * rest_velocity
    low = wp.min(target, real(0.0))
    high = wp.max(target, real(0.0))
    x = (c + K * (motor_bound + friction_bound)) / a  # slower than both
    if x >= low:
        first = wp.where(target < real(0.0), motor_bound, friction_bound)
        second = wp.where(target < real(0.0), friction_bound, motor_bound)
        if low == high:
            first = motor_bound + friction_bound
            second = real(0.0)
        x = (c + K * (second - first)) / a
        if x <= low:
            x = low
        elif x >= high:
            x = wp.max((c - K * (motor_bound + friction_bound)) / a, high)
    bound = real(0.0)
    end = x
    if (kinds & BOUND) != 0:
        end = wp.clamp(x, get(ctx.work.velocity_lower, l, w), get(ctx.work.velocity_upper, l, w))
    compliant = E * (rest_velocity - end)
    required = (end - free_velocity) / K - compliant
    side = wp.where(end == x, end, x)  # at a bound, the jumps count as they did where the speed came from
    friction = saturated_impulse(wp.where(end == real(0.0), side, end), real(0.0), friction_bound)
    motor = saturated_impulse(wp.where(end == target, side, end), target, motor_bound)
    if end != x:
        if motor_bound > UNBOUNDED_IMPULSE:
            motor = real(0.0)
        bound = required - friction - motor
    elif end == real(0.0) and friction_bound > real(0.0):
        if end == target and motor_bound > real(0.0):
            friction = wp.clamp(required, -friction_bound, friction_bound)
            motor = required - friction
        else:
            friction = required - motor
    elif end == target and motor_bound > real(0.0):
        motor = required - friction
    return vec4(bound, friction, motor, compliant)


@wp.func
def sweep(ctx: StepContext, direct: int, z: array2, p: array2, w: int):
    """One sweep over all blocks in L15's order: each loop joint's block, then its scalar rows; scalar rows of the tree;
    contacts (M-42)."""
    worst = sweep_model(ctx, direct, z, p, w)
    return wp.max(worst, sweep_contacts(ctx, direct, z, p, w))


@wp.func
def sweep_model(ctx: StepContext, direct: int, z: array2, p: array2, w: int):
    """One sweep over joint blocks and active scalar rows, without contacts."""
    worst = real(0.0)
    k = int(0)
    l = int(0)
    if direct == 0:
        while k < ctx.layout.joints:
            worst = wp.max(worst, sweep_joint(ctx, k, z, p, w))
            while l < ctx.layout.joint_scalar_start[k + 1]:
                worst = wp.max(worst, sweep_scalar(ctx, l, direct, z, p, w))
                l += 1
            k += 1
    k = int(1)
    while k <= get_int(ctx.work.active_scalars, 0, w):
        worst = wp.max(worst, sweep_scalar(ctx, get_int(ctx.work.active_scalars, k, w), direct, z, p, w))
        k += 1
    return worst


@wp.func
def list_active_scalars(plan: Layout, work: Scratch, direct: int, w: int):
    """List the active scalar rows that a sweep visits after the joints and their scalar rows: most limits are out of
    reach. direct: 1 if joints are solved directly, and all active scalar rows are listed."""
    l = int(0)
    if direct == 0:
        l = plan.joint_scalar_start[plan.joints]
    n = int(0)
    while l < plan.scalars:
        if get(work.scalar_K, l, w) > real(0.0):
            n += 1
            put_int(work.active_scalars, n, w, l)
        l += 1
    put_int(work.active_scalars, 0, w, n)


@wp.func
def apply_impulses(ctx: StepContext, z: array2, p: array2, w: int):
    """z += Wᵀ p of all rows."""
    apply_model_impulses(ctx.loops, ctx.layout, ctx.work, z, p, w)
    apply_contact_impulses(ctx, z, p, w)


@wp.func
def apply_model_impulses(loops: LoopJoints, plan: Layout, work: Scratch, z: array2, p: array2, w: int):
    """z += Wᵀ p of loop joints and scalar rows, without contacts."""
    k = int(0)
    while k < plan.joints:
        j = int(0)
        while j < loops.constraint_count[loops.kind[k]]:
            start = plan.joint_W_start[k] + j * plan.joint_row_length[k]
            row_add(
                work.W,
                start,
                plan.joint_row_length[k],
                plan.index,
                plan.joint_index_start[k],
                get(p, 6 * k + j, w),
                z,
                w,
            )
            j += 1
        k += 1
    l = int(0)
    while l < plan.scalars:
        at = plan.scalar_p_start + 4 * l
        total = get(p, at, w) + get(p, at + 1, w) + get(p, at + 2, w) + get(p, at + 3, w)
        if total != real(0.0):
            row_add(
                work.W,
                plan.scalar_W_start[l],
                plan.scalar_row_length[l],
                plan.index,
                plan.scalar_index_start[l],
                total,
                z,
                w,
            )
        l += 1
