"""Rows of a step: joints that close loops, lines and contacts, whitened at the start of the step, with what is sought
of their speeds (M-35..M-39)."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.forces import turn_vector
from sharnir.dynamics.inward import damping_share, spring_lean
from sharnir.dynamics.loop_joints import Loops, loop_coordinates, loop_ends, row_form
from sharnir.dynamics.momenta import turned_by, whitened_velocity
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.enums import FREE, PATH, SPHERICAL, SPRING, TREE_DOF, VELOCITY
from sharnir.impulse.data import State, Work
from sharnir.impulse.layout.layout import Plan
from sharnir.impulse.row_kinds import BOUNDED, EXCESS, FRICTION, HOLD, MOTOR, SOFT
from sharnir.impulse.rows.actuators import asked_of, drive_friction, exceeds, set_excess
from sharnir.impulse.rows.scalar_rows import line_position, whiten_line
from sharnir.impulse.rows.whitened_rows import put_wrenches, walk_rows
from sharnir.impulse.tolerances import NOTHING, OWN, REDUNDANT, SURPRISE
from sharnir.kernels.columns import get, get3, item, put
from sharnir.kernels.types import array2, column, mat33, real, vec3
from sharnir.kernels.vector_ops import row_dot, row_product


@wp.func
def kept(gap: real):
    """The error a step may keep: one so small that it is the solver's own is undone by the velocities themselves."""
    return wp.where(wp.abs(gap) > OWN, gap, real(0.0))


@wp.func
def undoing(work: Work, r: int, dt: real, w: int):
    """Speed of row r of the joints that undoes, within the step, what its error has that is the solver's own."""
    gap = get(work.gap, r, w)
    return (kept(gap) - gap) / dt


@wp.func
def joint_gaps(tree: Tree, ws: Workspace, loops: Loops, gap: array2, w: int):
    """Errors of the loop joints at the poses in the workspace; returns the largest."""
    worst = real(0.0)
    k = int(0)
    while k < loops.count:
        s = loop_ends(tree, ws, loops, k, w)
        kind = loops.kind[k]
        j = int(0)
        while j < loops.fixed[kind]:
            g, f, n = row_form(loops, s, k, (6 * kind + j) * 3)
            put(gap, 6 * k + j, w, g)
            worst = wp.max(worst, wp.abs(g))
            j += 1
        k += 1
    return worst


@wp.func
def displaced(tree: Tree, ws: Workspace, link: int, y: vec3, w: int):
    """Where a point at y from a link's pivot is after the step whose displacements are in the workspace."""
    out = y
    if link >= 0:
        out = y + turned_by(get3(ws.Qu, link, w), get(ws.Qs, link, w), y) + get3(ws.t, link, w)
    return out


@wp.func
def turned_frame(ws: Workspace, link: int, R: mat33, w: int):
    """Axes of a frame on a link after the step."""
    out = R
    if link >= 0:
        u = get3(ws.Qu, link, w)
        s = get(ws.Qs, link, w)
        x = column(R, 0) + turned_by(u, s, column(R, 0))
        y = column(R, 1) + turned_by(u, s, column(R, 1))
        z = wp.cross(x, y)
        out = mat33(x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2])
    return out


@wp.func
def displaced_gaps(tree: Tree, ws: Workspace, loops: Loops, gap: array2, w: int):
    """Errors of the loop joints after the step whose displacements are in the workspace."""
    k = int(0)
    while k < loops.count:
        s = loop_ends(tree, ws, loops, k, w)
        apart = s.ra - s.rb  # of the pivots
        s.P = turned_frame(ws, s.a, s.P, w)
        s.C = turned_frame(ws, s.b, s.C, w)
        s.d = displaced(tree, ws, s.b, s.rb, w) + apart - displaced(tree, ws, s.a, s.ra - s.d, w)
        kind = loops.kind[k]
        j = int(0)
        while j < loops.fixed[kind]:
            g, f, n = row_form(loops, s, k, (6 * kind + j) * 3)
            put(gap, 6 * k + j, w, g)
            j += 1
        k += 1


@wp.func
def joint_coordinates(tree: Tree, ws: Workspace, loops: Loops, near: array2, loop_q: array2, w: int):
    """Coordinates of the loop joints at the poses in the workspace, angles counted from `near`."""
    k = int(0)
    while k < loops.count:
        loop_coordinates(loops, loop_q, near, loop_ends(tree, ws, loops, k, w), k, loops.kind[k], w)
        k += 1


@wp.func
def whiten_joints(tree: Tree, ws: Workspace, loops: Loops, plan: Plan, work: Work, again: int, w: int):
    """W and effective masses of the loop joints' rows at the poses in the workspace, and their errors unless it is done
    again in the same step."""
    k = int(0)
    while k < loops.count:
        s = loop_ends(tree, ws, loops, k, w)
        kind = loops.kind[k]
        m = loops.fixed[kind]
        length = plan.joint_length[k]
        j = int(0)
        while j < m:
            g, f, n = row_form(loops, s, k, (6 * kind + j) * 3)
            if again == 0:
                put(work.gap, 6 * k + j, w, g)
            put_wrenches(work.wrench, j, m, -f, -n - wp.cross(s.ra, f), f, n + wp.cross(s.rb, f), w)
            j += 1
        walk_rows(tree, ws, work.wrench, s.a, s.b, work.W, plan.joint_start[k], length, m, w)
        j = int(0)
        while j < m:
            start = plan.joint_start[k] + j * length
            K = row_product(work.W, start, start, length, w)
            put(work.joint_mass, 6 * k + j, w, wp.where(K > NOTHING, real(1.0) / K, real(0.0)))
            j += 1
        k += 1


@wp.func
def factor_joints(loops: Loops, plan: Plan, work: Work, w: int):
    """LDLᵀ of every joint's block W Wᵀ, inverse pivots on the diagonal; a row that the rows before it imply gets 0."""
    k = int(0)
    while k < loops.count:
        m = loops.fixed[loops.kind[k]]
        length = plan.joint_length[k]
        at = 36 * k
        i = int(0)
        while i < m:
            row_i = plan.joint_start[k] + i * length
            weight = row_product(work.W, row_i, row_i, length, w)
            pivot_i = weight
            j = int(0)
            while j < i:
                entry = row_product(work.W, row_i, plan.joint_start[k] + j * length, length, w)
                n = int(0)
                while n < j:
                    entry = entry - get(work.joint_factor, at + 6 * i + n, w) * get(
                        work.joint_factor, at + 6 * j + n, w
                    )
                    n += 1
                put(work.joint_factor, at + 6 * i + j, w, entry)  # L D for now
                j += 1
            j = int(0)
            while j < i:
                entry = get(work.joint_factor, at + 6 * i + j, w)
                scaled = entry * get(work.joint_factor, at + 7 * j, w)
                pivot_i = pivot_i - entry * scaled
                put(work.joint_factor, at + 6 * i + j, w, scaled)
                j += 1
            inverse = real(0.0)
            if pivot_i > REDUNDANT * weight + NOTHING and get(work.off, 6 * k + i, w) == real(0.0):
                inverse = real(1.0) / pivot_i
            put(work.joint_factor, at + 7 * i, w, inverse)
            i += 1
        k += 1


@wp.func
def prepare_lines(
    tree: Tree, ws: Workspace, loops: Loops, plan: Plan, state: State, work: Work, h: real, dt: real, swing: real,
    ahead: int, w: int,
):  # fmt: skip
    """Positions, rows and bounds of all lines. h: time over which forces act in this step; ahead: limits look ahead."""
    if plan.ball_lines == 1:
        whitened_velocity(tree, ws, state.v, work.zv, w)
    l = int(0)
    while l < plan.lines:
        g = line_position(tree, ws, plan, l, state.q, state.loop_q, w)
        put(work.g, l, w, g)
        put(work.K, l, w, real(0.0))
        if plan.line_acts[l] == EXCESS:
            set_excess(tree, ws, plan, state, work, l, h, w)
        if ahead == 1 and idle(plan, state, work, l, g, dt, w):
            put(work.p, plan.first_line + 4 * l, w, real(0.0))
            if plan.line_needed[l] == 1:
                whiten_line(tree, ws, loops, plan, work.W, l, state.q, state.loop_q, w)
        else:
            prepare_line(tree, ws, loops, plan, state, work, l, g, h, dt, swing, ahead, w)
        l += 1


@wp.func
def idle(plan: Plan, state: State, work: Work, l: int, g: real, dt: real, w: int):
    """Whether a line will hardly act in this step: its limit is out of reach, or its actuator within its own."""
    out = bool(False)
    if plan.line_acts[l] == HOLD:
        out = out_of_reach(plan, g, item(state.speed, l, w), dt, l)
    elif plan.line_acts[l] == EXCESS:
        calm = get(work.p, plan.first_line + 4 * l, w) == real(0.0)
        out = calm and not exceeds(work, l, item(state.v, plan.line_of[2 * l], w), w)
    return out


@wp.func
def prepare_line(
    tree: Tree, ws: Workspace, loops: Loops, plan: Plan, state: State, work: Work, l: int, g: real, h: real, dt: real,
    swing: real, ahead: int, w: int,
):  # fmt: skip
    """Row and bounds of a line at position g."""
    whiten_line(tree, ws, loops, plan, work.W, l, state.q, state.loop_q, w)
    start = plan.line_start[l]
    K = row_product(work.W, start, start, plan.line_length[l], w)
    if K <= NOTHING:
        K = real(0.0)
    put(work.K, l, w, K)
    acts = plan.line_acts[l]
    if (acts & HOLD) != 0:
        bound_speed(plan, work, l, real(0.0), g, g, dt, ahead, w)
    if (acts & FRICTION) != 0:
        put(work.friction, l, w, h * (plan.line_friction[l] + drive_friction(plan, state, l, w)))
    if (acts & MOTOR) != 0:
        set_motor(plan, state, work, l, g, h, dt, w)
    if (acts & BOUNDED) != 0:
        put(work.lower, l, w, h * plan.drives[plan.line_motor[l]].low)
        put(work.upper, l, w, h * plan.drives[plan.line_motor[l]].high)
    if (acts & SOFT) != 0:
        speed = item(state.speed, l, w)
        if plan.line_measured[l] == 0:  # a rate of a ball: as it is in the present axes
            speed = row_dot(work.W, start, plan.line_length[l], plan.index, plan.line_first[l], work.zv, w)
        set_soft(tree, loops, plan, state, work, l, K, g, speed, h, dt, swing, w)
        if K == real(0.0):  # it moves nothing, but pulls
            put(work.p, plan.first_line + 4 * l + 3, w, get(work.soft_speed, l, w) / get(work.soft_give, l, w))


@wp.func
def wake_lines(
    tree: Tree, ws: Workspace, loops: Loops, plan: Plan, state: State, work: Work, h: real, dt: real, w: int
):
    """Prepare limits that were out of reach and would be passed with v_next, of joints and of actuators; how many."""
    any = int(0)
    l = int(0)
    while l < plan.lines:  # most often none, which is seen without waiting for one line after the other
        any += passed(plan, state, work, l, dt, w)
        l += 1
    woken = int(0)
    l = int(0)
    while l < plan.lines and any > 0:
        if passed(plan, state, work, l, dt, w) == 1:
            prepare_line(tree, ws, loops, plan, state, work, l, get(work.g, l, w), h, dt, real(1.0), 1, w)
            if get(work.K, l, w) > real(0.0):
                woken += 1
        l += 1
    return woken


@wp.func
def passed(plan: Plan, state: State, work: Work, l: int, dt: real, w: int):
    """1 where a limit was out of reach and would be passed with v_next."""
    beyond = bool(False)
    if plan.line_acts[l] == HOLD:
        g = get(work.g, l, w)
        end = get(work.g_next, l, w)
        if plan.line_kind[l] == TREE_DOF:
            end = g + dt * item(state.v_next, plan.line_of[2 * l], w)
        beyond = end < wp.min(plan.line_lower[l], g) or end > wp.max(plan.line_upper[l], g)
    elif plan.line_acts[l] == EXCESS:
        beyond = exceeds(work, l, item(state.v_next, plan.line_of[2 * l], w), w)
    return wp.where(beyond and get(work.K, l, w) == real(0.0), 1, 0)


@wp.func
def out_of_reach(plan: Plan, g: real, speed: real, dt: real, l: int):
    """Whether a limit is too far to be met in this step, even if the speed changes much."""
    reach = dt * (real(2.0) * wp.abs(speed) + SURPRISE)
    return g - plan.line_lower[l] > reach and plan.line_upper[l] - g > reach


@wp.func
def bound_speed(plan: Plan, work: Work, l: int, speed: real, here: real, start: real, dt: real, ahead: int, w: int):
    """Bounds of a held line's speed such that its position, `here` at speed `speed`, ends within its limits, or no
    further outside than it was at the start of the step (M-37)."""
    lower = plan.line_lower[l]
    upper = plan.line_upper[l]
    if lower == upper:
        put(work.lower, l, w, speed + (start - here) / dt)
        put(work.upper, l, w, speed + (start - here) / dt)
    else:
        low = speed + (wp.min(lower, start) - here) / dt
        high = speed + (wp.max(upper, start) - here) / dt
        if ahead == 0:  # as published: a limit acts once it is reached
            low = wp.where(start <= lower, real(0.0), real(-wp.inf))
            high = wp.where(start >= upper, real(0.0), real(wp.inf))
        put(work.lower, l, w, low)
        put(work.upper, l, w, high)


@wp.func
def set_motor(plan: Plan, state: State, work: Work, l: int, g: real, h: real, dt: real, w: int):
    """Speed a motor seeks and the impulse it has for that."""
    m = plan.line_motor[l]
    speed = item(state.target, m, w)
    if plan.motor_mode[m] != VELOCITY:
        most = plan.motor_max_speed[m]
        speed = wp.clamp((speed - g) / wp.max(plan.motor_response[m], dt), -most, most)
    put(work.motor_speed, l, w, speed)
    put(work.motor_bound, l, w, h * plan.motor_max_force[m])


@wp.func
def rotor_beside(loops: Loops, plan: Plan, l: int):
    """Armature along the path of an actuator that drives one coordinate of a joint that closes a loop."""
    inertia = real(0.0)
    term = plan.terms[plan.line_of[2 * l]]
    if plan.line_of[2 * l + 1] == 1 and term.loop == 1:
        inertia = loops.armature[term.coordinate - plan.dofs] / (term.gear * term.gear)
    return inertia


@wp.func
def set_soft(
    tree: Tree, loops: Loops, plan: Plan, state: State, work: Work, l: int, K: real, g: real, speed: real, h: real,
    dt: real, swing: real, w: int,
):  # fmt: skip
    """Rotor, spring and damper of a line, or an actuator along it (M-70), as one soft row: p = E (soft_speed − speed),
    γ = 1/E (M-38).

    speed: the line's in the step before, for a ball in the present axes; its rotor counts in the axes of then. swing:
    steps that a spring's average spans, over the time forces act.
    """
    inertia = real(0.0)
    stiffness = real(0.0)
    damping = real(0.0)
    stretch = real(0.0)
    force = real(0.0)
    beside = real(0.0)  # a rotor whose inertia is another line's
    if plan.line_kind[l] == SPRING:
        data = tree.spring_data[plan.line_of[2 * l]]
        stiffness = data[0]
        damping = data[1]
        stretch = g - data[2]
    elif plan.line_kind[l] == PATH:
        asked = asked_of(state, plan.line_motor[l], w)
        force = asked[0]
        stiffness = asked[1]
        damping = asked[2]
        beside = rotor_beside(loops, plan, l)
    else:
        k = plan.line_link[l]
        lv = plan.line_of[2 * l + 1]
        inertia = loops.armature[lv]
        stiffness = loops.stiffness[lv]
        damping = loops.damping[lv]
        kind = loops.kind[k]
        j = plan.line_of[2 * l] - 6 * k
        if (kind == SPHERICAL or kind == FREE) and j >= 3:
            first = loops.q_start[k] + wp.where(kind == FREE, 3, 0)
            t = turn_vector(state.loop_q, loops.rest, first, w)
            stretch = t[j - 3]
        else:
            stretch = g - loops.rest[plan.line_q[l]]
    hk = swing * h * stiffness
    since = item(state.clock, 0, w)
    if since == real(0.0):  # half a kick from rest, but the spring swings over a whole step
        hk = dt * stiffness
        since = dt
    lean = spring_lean(real(0.25) * hk * dt * K, real(1.0) + K * (inertia + beside))
    E = inertia + (real(0.25) + real(0.75) * lean) * hk * dt
    share = damping_share(h * damping * K, real(1.0) + K * (E + beside))
    before = (real(0.25) * (real(1.0) - lean) * hk * since - (real(1.0) - share) * h * damping) * speed
    before = before + inertia * item(state.speed, l, w)
    E = wp.max(E + share * h * damping, real(1.0e-30))
    rest = (before + h * (force - stiffness * stretch)) / E
    put(work.soft_speed, l, w, rest)
    put(work.soft_base, l, w, rest)
    put(work.soft_give, l, w, real(1.0) / E)
