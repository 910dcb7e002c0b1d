"""One projected Gauss–Seidel sweep (sequential impulses) over all blocks, in whitened coordinates (M-39..M-42).

The velocity of a row is W·z, an impulse p moves z by Wᵀp. Impulses are accumulated, and bounds hold for the accumulated
impulse; every function returns the largest change of an impulse, N s.
"""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.loop_joints import LoopJoints
from sharnir.impulse.data import Context, Iterate, Scratch
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.row_kinds import SCALAR_IMPULSES, RowKind, ScalarImpulse
from sharnir.impulse.rows.actuators import saturation_excess_impulse
from sharnir.impulse.slots import JOINT_BLOCK, JOINT_ROWS
from sharnir.impulse.solve.contact_block import apply_contact_impulses, sweep_contacts
from sharnir.kernels.columns import get, get_int, put, put_int
from sharnir.kernels.types import array2, real, vec4, vec6
from sharnir.kernels.vector_ops import row_add, row_dot

UNBOUNDED_IMPULSE = wp.constant(real(1.0e30))  # N s: a motor with more has no bound and yields to a limit


@wp.func
def sweep_joint(ctx: Context, k: int, iterate: wp.ref[Iterate], w: int):
    """Gauss–Seidel update of the block of loop joint k by its LDLᵀ factors (M-39, L15-14). Locals hold the handles of
    arrays: read through the context, they made published steps in maximal coordinates 3 to 5 % longer."""
    z = iterate.z
    p = iterate.p
    W = ctx.work.W
    index = ctx.layout.index
    factor = ctx.work.joint_factor
    m = ctx.loops.constraint_count[ctx.loops.kind[k]]
    length = ctx.layout.joint_row_length[k]
    first = ctx.layout.joint_index_start[k]
    start = ctx.layout.joint_W_start[k]
    at = JOINT_BLOCK * k
    x = vec6()
    i = int(0)
    while i < m:
        value = get(ctx.work.joint_target, JOINT_ROWS * k + i, w)
        value = value - row_dot(W, start + i * length, length, index, first, z, w)
        j = int(0)
        while j < i:
            value = value - get(factor, at + JOINT_ROWS * i + j, w) * x[j]
            j += 1
        x[i] = value
        i += 1
    worst = real(0.0)
    i = m - 1
    while i >= 0:
        value = x[i] * get(factor, at + (JOINT_ROWS + 1) * i, w)
        j = i + 1
        while j < m:
            value = value - get(factor, at + JOINT_ROWS * j + i, w) * x[j]
            j += 1
        x[i] = value
        row_add(W, start + i * length, length, index, first, value, z, w)
        put(p, JOINT_ROWS * k + i, w, get(p, JOINT_ROWS * k + i, w) + value)
        worst = wp.max(worst, wp.abs(value))
        i -= 1
    return worst


@wp.func
def takes_part(layout: wp.ref[Layout], work: wp.ref[Scratch], l: int, direct: int, w: int):
    """Whether scalar row l is swept. direct: 1 if bilateral rows are solved directly; then its bounded kinds are,
    unless that is a limit out of reach."""
    kinds = layout.scalar_bounded_kinds[l]
    if direct == 0:
        kinds = layout.scalar_row_kinds[l]
    elif kinds == RowKind.BOUND:
        if get_int(work.bound_idle, l, w) == 1:
            kinds = 0
    return kinds != 0 and get(work.scalar_K, l, w) > real(0.0)


@wp.struct
class ScalarRow:
    """A scalar row as sweeps see it: as it is, or projected where bilateral rows are solved directly."""

    l: int
    kinds: int  # set of row kinds to sweep; 0 for none
    K: real  # W·W, 1/kg; 0: the row does not act
    start: int  # in W
    length: int
    first: int  # of its coordinates in `index`
    offset: real  # velocity of the projected row beyond Ŵ·z


@wp.func
def scalar_row_of(layout: wp.ref[Layout], work: wp.ref[Scratch], l: int, direct: int, w: int):
    """Scalar row l. direct: 1 if bilateral rows are solved directly, so that the projected row and only its unilateral
    and bounded kinds are swept."""
    row = ScalarRow()
    row.l = l
    row.K = get(work.scalar_K, l, w)
    row.kinds = layout.scalar_row_kinds[l]
    row.start = layout.scalar_W_start[l]
    row.length = layout.scalar_row_length[l]
    row.first = layout.scalar_index_start[l]
    row.offset = real(0.0)
    if direct == 1:
        row.kinds = layout.scalar_bounded_kinds[l]
        row.start = layout.scalar_projected_start + l * layout.reduced_size + layout.scalar_component_first[l]
        row.length = layout.scalar_component_size[l]
        row.first = layout.identity_index_start + layout.scalar_component_first[l]
        row.K = get(work.scalar_K_projected, l, w)
        row.offset = get(work.projected_velocity_offset, l, w)
    return row


@wp.func
def scalar_velocity_of(layout: wp.ref[Layout], work: wp.ref[Scratch], row: ScalarRow, z: array2, w: int):
    """Velocity of a scalar row."""
    return row_dot(work.W, row.start, row.length, layout.index, row.first, z, w) + row.offset


@wp.func
def limit_impulse(layout: wp.ref[Layout], p: array2, l: int, w: int):
    """Impulse of the limit of scalar row l, N s; 0 without a limit."""
    impulse = real(0.0)
    if (layout.scalar_row_kinds[l] & RowKind.BOUND) != 0 and layout.scalar_lower[l] < layout.scalar_upper[l]:
        impulse = get(p, layout.scalar_p_start + SCALAR_IMPULSES * l, w)
    return impulse


@wp.func
def solve_bound(work: wp.ref[Scratch], l: int, free_velocity: real, K: real, w: int):
    """Impulse that keeps the velocity of scalar row l within its bounds; free_velocity: without that impulse."""
    bounded = wp.clamp(free_velocity, get(work.velocity_lower, l, w), get(work.velocity_upper, l, w))
    return (bounded - free_velocity) / K


@wp.func
def solve_friction(work: wp.ref[Scratch], row: ScalarRow, free_velocity: real, w: int):
    """Impulses of bound and dry friction on a scalar row that has no others (M-41). free_velocity: without them."""
    most = get(work.friction_bound, row.l, w)
    friction = wp.clamp(-free_velocity / row.K, -most, most)
    x = wp.where(wp.abs(free_velocity) <= row.K * most, real(0.0), free_velocity + row.K * friction)
    bound = real(0.0)
    if (row.kinds & RowKind.BOUND) != 0:
        end = wp.clamp(x, get(work.velocity_lower, row.l, w), get(work.velocity_upper, row.l, w))
        if end != x:  # friction counts as it did where the speed came from
            friction = saturated_impulse(wp.where(end == real(0.0), x, end), real(0.0), most)
            bound = (end - free_velocity) / row.K - friction
    return bound, friction


@wp.func
def update_scalar(ctx: Context, row: ScalarRow, s: real, p: array2, at: int, w: int):
    """Solve the impulses of a scalar row at velocity s and store them in p[at …]; returns the change of their sum and
    the largest change of one."""
    total = real(0.0)
    worst = real(0.0)
    kinds = row.kinds
    if kinds == RowKind.BOUND:
        before = get(p, at, w)
        after = solve_bound(ctx.work, row.l, s - row.K * before, row.K, w)
        total = after - before
        worst = wp.abs(total)
        put(p, at, w, after)
    elif (kinds & ~(RowKind.BOUND | RowKind.FRICTION)) == 0:
        bound = get(p, at, w)
        friction = get(p, at + ScalarImpulse.FRICTION, w)
        new_bound, new_friction = solve_friction(ctx.work, row, s - row.K * (bound + friction), w)
        total = (new_bound + new_friction) - (bound + friction)
        worst = wp.max(wp.abs(new_bound - bound), wp.abs(new_friction - friction))
        put(p, at, w, new_bound)
        put(p, at + ScalarImpulse.FRICTION, w, new_friction)
    else:
        old = vec4()
        if (kinds & (RowKind.BOUND | RowKind.SATURATION_EXCESS)) != 0:
            old[ScalarImpulse.BOUND] = get(p, at + ScalarImpulse.BOUND, w)
        if (kinds & RowKind.FRICTION) != 0:
            old[ScalarImpulse.FRICTION] = get(p, at + ScalarImpulse.FRICTION, w)
        if (kinds & RowKind.MOTOR) != 0:
            old[ScalarImpulse.MOTOR] = get(p, at + ScalarImpulse.MOTOR, w)
        if (kinds & RowKind.COMPLIANT) != 0:
            old[ScalarImpulse.COMPLIANT] = get(p, at + ScalarImpulse.COMPLIANT, w)
        before = old[0] + old[1] + old[2] + old[ScalarImpulse.COMPLIANT]
        new = solve_scalar(ctx, row.l, kinds, s - row.K * before, row.K, w)
        d = new - old
        worst = wp.max(wp.max(wp.abs(d[0]), wp.abs(d[1])), wp.max(wp.abs(d[2]), wp.abs(d[ScalarImpulse.COMPLIANT])))
        total = new[0] + new[1] + new[2] + new[ScalarImpulse.COMPLIANT] - before
        if (kinds & (RowKind.BOUND | RowKind.SATURATION_EXCESS)) != 0:
            put(p, at + ScalarImpulse.BOUND, w, new[ScalarImpulse.BOUND])
        if (kinds & RowKind.FRICTION) != 0:
            put(p, at + ScalarImpulse.FRICTION, w, new[ScalarImpulse.FRICTION])
        if (kinds & RowKind.MOTOR) != 0:
            put(p, at + ScalarImpulse.MOTOR, w, new[ScalarImpulse.MOTOR])
        if (kinds & RowKind.COMPLIANT) != 0:
            put(p, at + ScalarImpulse.COMPLIANT, w, new[ScalarImpulse.COMPLIANT])
    return total, worst


@wp.func
def sweep_scalar(ctx: Context, l: int, x: wp.ref[Iterate], w: int):
    """Gauss–Seidel update of scalar row l: velocity, impulses, z."""
    worst = real(0.0)
    row = scalar_row_of(ctx.layout, ctx.work, l, x.direct, w)
    if row.K > real(0.0) and row.kinds != 0:
        s = scalar_velocity_of(ctx.layout, ctx.work, row, x.z, w)
        total, change = update_scalar(ctx, row, s, x.p, ctx.layout.scalar_p_start + SCALAR_IMPULSES * l, w)
        worst = change
        if change > real(0.0):
            row_add(ctx.work.W, row.start, row.length, ctx.layout.index, row.first, total, x.z, w)
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
def solve_scalar(ctx: Context, l: int, kinds: int, free_velocity: real, K: real, w: int):
    """Impulses (bound, friction, motor, compliant) of scalar row l (M-40). free_velocity: its velocity without its own
    impulses, m/s or rad/s; K: W·W, 1/kg."""
    out = vec4()
    if (kinds & RowKind.SATURATION_EXCESS) != 0:
        out[ScalarImpulse.BOUND] = saturation_excess_impulse(ctx.work, l, free_velocity, K, w)
    elif (kinds & RowKind.SATURATED) != 0:
        compliant = (get(ctx.work.compliant_velocity, l, w) - free_velocity) / (get(ctx.work.compliant_gamma, l, w) + K)
        out[ScalarImpulse.COMPLIANT] = wp.clamp(
            compliant, get(ctx.work.impulse_lower, l, w), get(ctx.work.impulse_upper, l, w)
        )
    else:
        out = solve_scalar_combined(ctx, l, kinds, free_velocity, K, w)
    return out


@wp.func
def solve_scalar_combined(ctx: Context, l: int, kinds: int, free_velocity: real, K: real, w: int):
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
    if (kinds & RowKind.FRICTION) != 0:
        friction_bound = get(ctx.work.friction_bound, l, w)
    if (kinds & RowKind.MOTOR) != 0:
        motor_bound = get(ctx.work.motor_bound, l, w)
        target = get(ctx.work.motor_velocity, l, w)
    if (kinds & RowKind.COMPLIANT) != 0:
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
    if (kinds & RowKind.BOUND) != 0:
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
def sweep(ctx: Context, x: wp.ref[Iterate], w: int):
    """One sweep over all blocks in L15's order: each loop joint's block, then its scalar rows; scalar rows of the tree;
    contacts (M-42)."""
    worst = sweep_model(ctx, x, w)
    return wp.max(worst, sweep_contacts(ctx, x, w))


@wp.func
def sweep_model(ctx: Context, x: wp.ref[Iterate], w: int):
    """One sweep over joint blocks and active scalar rows, without contacts."""
    worst = real(0.0)
    k = int(0)
    l = int(0)
    if x.direct == 0:
        while k < ctx.layout.joints:
            worst = wp.max(worst, sweep_joint(ctx, k, x, w))
            while l < ctx.layout.joint_scalar_start[k + 1]:
                worst = wp.max(worst, sweep_scalar(ctx, l, x, w))
                l += 1
            k += 1
    k = int(1)
    while k <= get_int(ctx.work.active_scalars, 0, w):
        worst = wp.max(worst, sweep_scalar(ctx, get_int(ctx.work.active_scalars, k, w), x, w))
        k += 1
    return worst


@wp.func
def list_active_scalars(layout: wp.ref[Layout], work: wp.ref[Scratch], direct: int, w: int):
    """List the active scalar rows that a sweep visits after the joints and their scalar rows: most limits are out of
    reach. direct: 1 if joints are solved directly, and all active scalar rows are listed."""
    l = int(0)
    if direct == 0:
        l = layout.joint_scalar_start[layout.joints]
    n = int(0)
    while l < layout.scalars:
        acts = takes_part(layout, work, l, direct, w)
        if acts and direct == 1:
            acts = get(work.scalar_K_projected, l, w) > real(0.0)
        if acts:
            n += 1
            put_int(work.active_scalars, n, w, l)
        l += 1
    put_int(work.active_scalars, 0, w, n)


@wp.func
def apply_impulses(ctx: Context, z: array2, p: array2, w: int):
    """z += Wᵀ p of all rows."""
    apply_model_impulses(ctx.loops, ctx.layout, ctx.work, z, p, w)
    apply_contact_impulses(ctx, z, p, w)


@wp.func
def apply_model_impulses(
    loops: wp.ref[LoopJoints], layout: wp.ref[Layout], work: wp.ref[Scratch], z: array2, p: array2, w: int
):
    """z += Wᵀ p of loop joints and scalar rows, without contacts."""
    k = int(0)
    while k < layout.joints:
        j = int(0)
        while j < loops.constraint_count[loops.kind[k]]:
            start = layout.joint_W_start[k] + j * layout.joint_row_length[k]
            row_add(
                work.W,
                start,
                layout.joint_row_length[k],
                layout.index,
                layout.joint_index_start[k],
                get(p, JOINT_ROWS * k + j, w),
                z,
                w,
            )
            j += 1
        k += 1
    l = int(0)
    while l < layout.scalars:
        at = layout.scalar_p_start + SCALAR_IMPULSES * l
        total = (
            get(p, at, w)
            + get(p, at + ScalarImpulse.FRICTION, w)
            + get(p, at + ScalarImpulse.MOTOR, w)
            + get(p, at + ScalarImpulse.COMPLIANT, w)
        )
        if total != real(0.0):
            row_add(
                work.W,
                layout.scalar_W_start[l],
                layout.scalar_row_length[l],
                layout.index,
                layout.scalar_index_start[l],
                total,
                z,
                w,
            )
        l += 1
