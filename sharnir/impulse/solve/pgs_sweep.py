"""One Gauss–Seidel sweep of sequential impulses over all blocks, in whitened coordinates (M-39..M-42).

The speed of a row is W·z, an impulse p moves z by Wᵀp. Impulses are accumulated, and bounds hold for the accumulated
impulse; every function returns the largest change of an impulse.
"""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.loop_joints import Loops
from sharnir.impulse.data import Work
from sharnir.impulse.layout.layout import Plan
from sharnir.impulse.row_kinds import BOUNDED, EXCESS, FRICTION, HOLD, MOTOR, SOFT
from sharnir.impulse.rows.actuators import excess_impulse
from sharnir.impulse.solve.contact_block import apply_contacts, sweep_contacts
from sharnir.kernels.columns import get, get_int, put, put_int
from sharnir.kernels.types import array2, real, vec4, vec6
from sharnir.kernels.vector_ops import row_add, row_dot

UNBOUNDED = wp.constant(real(1.0e30))  # N s


@wp.func
def sweep_joint(loops: Loops, plan: Plan, work: Work, k: int, z: array2, p: array2, w: int):
    """Solve the block of a loop joint (L15-14)."""
    m = loops.fixed[loops.kind[k]]
    length = plan.joint_length[k]
    first = plan.joint_first[k]
    start = plan.joint_start[k]
    at = 36 * k
    x = vec6()
    i = int(0)
    while i < m:
        value = get(work.joint_target, 6 * k + i, w)
        value = value - row_dot(work.W, start + i * length, length, plan.index, first, z, w)
        j = int(0)
        while j < i:
            value = value - get(work.joint_factor, at + 6 * i + j, w) * x[j]
            j += 1
        x[i] = value
        i += 1
    worst = real(0.0)
    i = m - 1
    while i >= 0:
        value = x[i] * get(work.joint_factor, at + 7 * i, w)
        j = i + 1
        while j < m:
            value = value - get(work.joint_factor, at + 6 * j + i, w) * x[j]
            j += 1
        x[i] = value
        row_add(work.W, start + i * length, length, plan.index, first, value, z, w)
        put(p, 6 * k + i, w, get(p, 6 * k + i, w) + value)
        worst = wp.max(worst, wp.abs(value))
        i -= 1
    return worst


@wp.func
def change_line(plan: Plan, work: Work, l: int, acts: int, s: real, K: real, p: array2, at: int, w: int):
    """What acts on a line of speed s, on that speed; impulses p from place `at` on. Returns by how much their sum and,
    at most, one of them changes."""
    total = real(0.0)
    worst = real(0.0)
    if acts == HOLD:
        before = get(p, at, w)
        free = s - K * before
        after = (wp.clamp(free, get(work.lower, l, w), get(work.upper, l, w)) - free) / K
        total = after - before
        worst = wp.abs(total)
        put(p, at, w, after)
    else:
        hold = real(0.0)
        rub = real(0.0)
        drive = real(0.0)
        soft = real(0.0)
        if (acts & (HOLD | EXCESS)) != 0:
            hold = get(p, at, w)
        if (acts & FRICTION) != 0:
            rub = get(p, at + 1, w)
        if (acts & MOTOR) != 0:
            drive = get(p, at + 2, w)
        if (acts & SOFT) != 0:
            soft = get(p, at + 3, w)
        before = hold + rub + drive + soft
        new = balance(plan, work, l, acts, s - K * before, K, w)
        worst = wp.max(
            wp.max(wp.abs(new[0] - hold), wp.abs(new[1] - rub)), wp.max(wp.abs(new[2] - drive), wp.abs(new[3] - soft))
        )
        total = new[0] + new[1] + new[2] + new[3] - before
        if (acts & (HOLD | EXCESS)) != 0:
            put(p, at, w, new[0])
        if (acts & FRICTION) != 0:
            put(p, at + 1, w, new[1])
        if (acts & MOTOR) != 0:
            put(p, at + 2, w, new[2])
        if (acts & SOFT) != 0:
            put(p, at + 3, w, new[3])
    return total, worst


@wp.func
def sweep_line(plan: Plan, work: Work, l: int, held: int, z: array2, p: array2, w: int):
    """What acts on a line, on its one speed; held: B is solved directly."""
    K = get(work.K, l, w)
    worst = real(0.0)
    acts = plan.line_acts[l]
    length = plan.line_length[l]
    first = plan.line_first[l]
    start = plan.line_start[l]
    beyond = real(0.0)
    if held == 1:
        acts = plan.line_loose[l]
        length = plan.width
        first = plan.every
        start = plan.dense_line + l * plan.width
        if K > real(0.0) and acts != 0:
            K = get(work.K_held, l, w)
            beyond = get(work.offset, l, w)
    if K > real(0.0) and acts != 0:
        s = row_dot(work.W, start, length, plan.index, first, z, w) + beyond
        total, change = change_line(plan, work, l, acts, s, K, p, plan.first_line + 4 * l, w)
        worst = change
        if change > real(0.0):
            row_add(work.W, start, length, plan.index, first, total, z, w)
    return worst


@wp.func
def bounded(x: real, sought: real, bound: real):
    """Impulse of what pushes towards a speed with all it has, at another speed."""
    push = real(0.0)
    if x < sought:
        push = bound
    elif x > sought:
        push = -bound
    return push


@wp.func
def balance(plan: Plan, work: Work, l: int, acts: int, free: real, K: real, w: int):
    """Impulses (hold, friction, motor, soft) of a line whose speed without them is `free`."""
    out = vec4()
    if (acts & EXCESS) != 0:
        out[0] = excess_impulse(work, l, free, K, w)
    elif (acts & BOUNDED) != 0:
        soft = (get(work.soft_speed, l, w) - free) / (get(work.soft_give, l, w) + K)
        out[3] = wp.clamp(soft, get(work.lower, l, w), get(work.upper, l, w))
    else:
        out = balance_together(plan, work, l, acts, free, K, w)
    return out


@wp.func
def balance_together(plan: Plan, work: Work, l: int, acts: int, free: real, K: real, w: int):
    """The same of what may act on one line with others, solved together (M-41).

    Their sum falls as the speed x grows: friction and motor jump where x passes 0 and the motor's target, the soft
    force is linear, and the hold takes what is missing at its bounds. A motor without bound yields to a limit.
    """
    rub = real(0.0)
    push = real(0.0)
    target = real(0.0)
    E = real(0.0)
    rest = real(0.0)
    if (acts & FRICTION) != 0:
        rub = get(work.friction, l, w)
    if (acts & MOTOR) != 0:
        push = get(work.motor_bound, l, w)
        target = get(work.motor_speed, l, w)
    if (acts & SOFT) != 0:
        E = real(1.0) / get(work.soft_give, l, w)
        rest = get(work.soft_speed, l, w)
    a = real(1.0) + K * E
    c = free + K * E * rest
    low = wp.min(target, real(0.0))
    high = wp.max(target, real(0.0))
    x = (c + K * (push + rub)) / a  # slower than both
    if x >= low:
        first = wp.where(target < real(0.0), push, rub)
        second = wp.where(target < real(0.0), rub, push)
        if low == high:
            first = push + rub
            second = real(0.0)
        x = (c + K * (second - first)) / a
        if x <= low:
            x = low
        elif x >= high:
            x = wp.max((c - K * (push + rub)) / a, high)
    hold = real(0.0)
    end = x
    if (acts & HOLD) != 0:
        end = wp.clamp(x, get(work.lower, l, w), get(work.upper, l, w))
    soft = E * (rest - end)
    need = (end - free) / K - soft
    side = wp.where(end == x, end, x)  # at a bound, the jumps count as they did where the speed came from
    friction = bounded(wp.where(end == real(0.0), side, end), real(0.0), rub)
    drive = bounded(wp.where(end == target, side, end), target, push)
    if end != x:
        if push > UNBOUNDED:
            drive = real(0.0)
        hold = need - friction - drive
    elif end == real(0.0) and rub > real(0.0):
        if end == target and push > real(0.0):
            friction = wp.clamp(need, -rub, rub)
            drive = need - friction
        else:
            friction = need - drive
    elif end == target and push > real(0.0):
        drive = need - friction
    return vec4(hold, friction, drive, soft)


@wp.func
def sweep(loops: Loops, plan: Plan, work: Work, held: int, z: array2, p: array2, w: int):
    """All blocks once, in L15's order: each joint's block, then what acts on its coordinates; the tree's; contacts."""
    worst = sweep_model(loops, plan, work, held, z, p, w)
    return wp.max(worst, sweep_contacts(plan, work, held, z, p, w))


@wp.func
def sweep_model(loops: Loops, plan: Plan, work: Work, held: int, z: array2, p: array2, w: int):
    """The same without contacts."""
    worst = real(0.0)
    k = int(0)
    l = int(0)
    if held == 0:
        while k < plan.joints:
            worst = wp.max(worst, sweep_joint(loops, plan, work, k, z, p, w))
            while l < plan.joint_lines[k + 1]:
                worst = wp.max(worst, sweep_line(plan, work, l, held, z, p, w))
                l += 1
            k += 1
    k = int(1)
    while k <= get_int(work.lively, 0, w):
        worst = wp.max(worst, sweep_line(plan, work, get_int(work.lively, k, w), held, z, p, w))
        k += 1
    return worst


@wp.func
def list_lines(plan: Plan, work: Work, held: int, w: int):
    """Lines that a sweep visits after the joints and their lines: most limits are out of reach."""
    l = int(0)
    if held == 0:
        l = plan.joint_lines[plan.joints]
    n = int(0)
    while l < plan.lines:
        if get(work.K, l, w) > real(0.0):
            n += 1
            put_int(work.lively, n, w, l)
        l += 1
    put_int(work.lively, 0, w, n)


@wp.func
def apply_impulses(loops: Loops, plan: Plan, work: Work, z: array2, p: array2, w: int):
    """z += Wᵀ p."""
    apply_joints(loops, plan, work, z, p, w)
    apply_contacts(plan, work, z, p, w)


@wp.func
def apply_joints(loops: Loops, plan: Plan, work: Work, z: array2, p: array2, w: int):
    """The same of joints and lines."""
    k = int(0)
    while k < plan.joints:
        j = int(0)
        while j < loops.fixed[loops.kind[k]]:
            start = plan.joint_start[k] + j * plan.joint_length[k]
            row_add(work.W, start, plan.joint_length[k], plan.index, plan.joint_first[k], get(p, 6 * k + j, w), z, w)
            j += 1
        k += 1
    l = int(0)
    while l < plan.lines:
        at = plan.first_line + 4 * l
        total = get(p, at, w) + get(p, at + 1, w) + get(p, at + 2, w) + get(p, at + 3, w)
        if total != real(0.0):
            row_add(work.W, plan.line_start[l], plan.line_length[l], plan.index, plan.line_first[l], total, z, w)
        l += 1
