"""Actuators in a step: what they ask for where it begins, what limits leave of it, what they gave (M-68..M-75)."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.inward import damping_share, spring_lean
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.enums import LOOP_ROW
from sharnir.impulse.data import METHOD, PAPER_TREE, State, Work
from sharnir.impulse.layout.actuators import FACTOR, LINE, Drive
from sharnir.impulse.layout.layout import Plan
from sharnir.kernels.columns import get, item, put, set_item
from sharnir.kernels.types import DOUBLE, real, vec3, vec4

SHORT = wp.constant(real(1.0e-5 if DOUBLE else 1.0e-2))  # of a time constant: below, a series
FIRM = wp.constant(real(1.0e-6))  # least 1 − K E: below, rounding is all there is


@wp.func
def clamped_input(d: Drive, state: State, a: int, w: int):
    return wp.clamp(item(state.drive_input, a, w), d.input_low, d.input_high)


@wp.func
def path_motion(plan: Plan, d: Drive, state: State, w: int):
    """Position of an actuator's path, and its rate in the step that led here."""
    s = real(0.0)
    rate = real(0.0)
    k = d.first
    while k < d.end:
        term = plan.terms[k]
        if term.q >= 0:
            if term.loop == 1:
                s = s + term.gear * item(state.loop_q, term.q, w)
            else:
                s = s + term.gear * item(state.q, term.q, w)
        if term.loop == 0:
            rate = rate + term.gear * item(state.v, term.coordinate, w)
        k += 1
    if d.place == LINE:
        rate = item(state.speed, d.line, w)
    return s, rate


@wp.func
def law_of(d: Drive, state: State, a: int, w: int):
    """The law's constant, and its factors of the path's position and rate, for the input there is (M-68)."""
    u = clamped_input(d, state, a, w)
    if d.integrates == 1 or d.response > real(0.0):
        u = item(state.drive_lagged, a, w)
    return d.gain * u + d.bias


@wp.func
def kept_share(x: real):
    """Mean of exp(−t) over 0 ≤ t ≤ x."""
    out = real(1.0) - real(0.5) * x + x * x / real(6.0)
    if x > SHORT:
        out = (real(1.0) - wp.exp(-x)) / x
    return out


@wp.func
def beyond_doubt(law: real, ahead: real, low: real, high: real):
    """The limit that a force stays far beyond, now and a step ahead: 1, -1, or 0 for none (M-72)."""
    side = int(0)
    if wp.min(law, ahead) - high > wp.abs(high):
        side = 1
    elif low - wp.max(law, ahead) > wp.abs(low):
        side = -1
    return side


@wp.func
def ask(plan: Plan, state: State, h: real, dt: real, w: int):
    """What actuators ask for at the start of a step, by actuator: force at the present position, stiffness, damping;
    and its sum over those that are no lines, by coordinate. h: time they act."""
    clear_pulls(plan, state, w)
    a = int(0)
    while a < plan.drives.shape[0]:
        ask_one(plan, state, a, h, dt, w)
        a += 1
    a = int(0)
    while a < plan.drives.shape[0]:
        share_coordinates(plan, state, a, w)
        a += 1
    clear_pulls(plan, state, w)
    a = int(0)
    while a < plan.drives.shape[0]:
        pull(plan, state, a, w)
        a += 1


@wp.func
def clear_pulls(plan: Plan, state: State, w: int):
    k = int(0)
    while k < plan.terms.shape[0]:
        c = plan.terms[k].coordinate
        set_item(state.pull, 4 * c, w, real(0.0))
        set_item(state.pull, 4 * c + 1, w, real(0.0))
        set_item(state.pull, 4 * c + 2, w, real(0.0))
        set_item(state.pull, 4 * c + 3, w, real(0.0))
        k += 1


@wp.func
def ask_one(plan: Plan, state: State, a: int, h: real, dt: real, w: int):
    """Force, stiffness and damping of one actuator; on coordinates that several share, the sum of forces at the
    present motion."""
    d = plan.drives[a]
    s, rate = path_motion(plan, d, state, w)
    law = law_of(d, state, a, w)
    if d.lag > real(0.0):
        kept = kept_share(h / d.lag)
        law = law * (real(1.0) - kept) + vec3(kept * item(state.drive_flow, a, w), real(0.0), real(0.0))
    stiffness = wp.max(-law[1], real(0.0)) * real(d.measured)
    damping = wp.max(-law[2], real(0.0))
    force = law[0] + law[1] * s + (law[2] + damping) * rate
    now = force - damping * rate
    side = beyond_doubt(now, now - stiffness * rate * dt, d.low, d.high)
    if side != 0 or stiffness + damping == real(0.0):
        force = wp.clamp(now, d.low, d.high)
        stiffness = real(0.0)
        damping = real(0.0)
    set_item(state.asked, 4 * a, w, force)
    set_item(state.asked, 4 * a + 1, w, stiffness)
    set_item(state.asked, 4 * a + 2, w, damping)
    given = wp.clamp(now, d.low, d.high)
    set_item(state.asked, 4 * a + 3, w, given)
    if d.shared == 1:
        k = d.first
        while k < d.end:
            c = plan.terms[k].coordinate
            set_item(state.pull, 4 * c, w, item(state.pull, 4 * c, w) + plan.terms[k].gear * given)
            k += 1


@wp.func
def share_coordinates(plan: Plan, state: State, a: int, w: int):
    """Where several actuators ask for more than their coordinate may have, each gives the same share of it."""
    d = plan.drives[a]
    if d.shared == 1:
        share = real(1.0)
        k = d.first
        while k < d.end:
            term = plan.terms[k]
            total = wp.abs(item(state.pull, 4 * term.coordinate, w))
            if total > term.most:
                share = wp.min(share, term.most / total)
            k += 1
        if share < real(1.0):
            set_item(state.asked, 4 * a, w, share * item(state.asked, 4 * a + 3, w))
            set_item(state.asked, 4 * a + 1, w, real(0.0))
            set_item(state.asked, 4 * a + 2, w, real(0.0))


@wp.func
def pull(plan: Plan, state: State, a: int, w: int):
    """Put what an actuator asks for on its coordinates: force, stiffness, damping, and the friction of its gear and
    its brake (M-75)."""
    d = plan.drives[a]
    if d.place != LINE:
        k = d.first
        while k < d.end:
            term = plan.terms[k]
            c = term.coordinate
            g = term.gear
            set_item(state.pull, 4 * c, w, item(state.pull, 4 * c, w) + g * item(state.asked, 4 * a, w))
            set_item(state.pull, 4 * c + 1, w, item(state.pull, 4 * c + 1, w) + g * g * item(state.asked, 4 * a + 1, w))
            set_item(state.pull, 4 * c + 2, w, item(state.pull, 4 * c + 2, w) + g * g * item(state.asked, 4 * a + 2, w))
            k += 1
    if d.rubs == 1:
        c = plan.terms[d.first].coordinate
        s, rate = path_motion(plan, d, state, w)
        force = item(state.asked, 4 * a + 3, w)
        loss = wp.where(force * rate < real(0.0), real(1.0) / d.efficiency - real(1.0), real(1.0) - d.efficiency)
        rub = loss * wp.abs(force) + d.brake * item(state.drive_brake, a, w)
        most = wp.abs(plan.terms[d.first].gear) * rub
        set_item(state.pull, 4 * c + 3, w, item(state.pull, 4 * c + 3, w) + most)


@wp.func
def spread(tree: Tree, ws: Workspace, state: State, c: int, h: real, w: int):
    """How the factor spread springs and dampers of tree coordinate c over velocities (M-31): impulse by stiffness and
    velocity sought, by stiffness and velocity before, by damping and each of the two."""
    quarter = real(0.25)
    out = vec4(quarter * h * h, quarter * h * h, h, real(0.0))
    if int(state.settings[METHOD, 0]) != PAPER_TREE:
        stiffness = tree.stiffness[c] + item(state.pull, 4 * c + 1, w)
        hk = get(ws.hk, c, w)
        hc = get(ws.hc, c, w)
        rsD = get(ws.rsD, c, w)
        D = real(1.0) / (rsD * rsD) - get(ws.E, c, w) + tree.armature[c]
        lean = spring_lean(quarter * hk, D)
        part = quarter + real(0.75) * lean
        share = damping_share(hc, D + part * hk)
        scale = real(0.0)
        before = real(0.0)
        if stiffness > real(0.0):
            scale = hk / stiffness
            before = get(ws.hb, c, w) / stiffness
        out = vec4(part * scale, quarter * (real(1.0) - lean) * before, share * h, (share - real(1.0)) * h)
    return out


@wp.func
def impulse_of_drive(tree: Tree, ws: Workspace, plan: Plan, state: State, a: int, h: real, w: int):
    """Impulse of an actuator in the factor at rest, along its path, and by how much it falls with the path's rate."""
    term = plan.terms[plan.drives[a].first]
    c = term.coordinate
    by = spread(tree, ws, state, c, h, w)
    stiffness = item(state.asked, 4 * a + 1, w)
    damping = item(state.asked, 4 * a + 2, w)
    before = (by[1] * stiffness + by[3] * damping) * term.gear * item(state.v, c, w)
    return h * item(state.asked, 4 * a, w) + before, by[0] * stiffness + by[2] * damping


@wp.func
def set_excess(tree: Tree, ws: Workspace, plan: Plan, state: State, work: Work, l: int, h: real, w: int):
    """Speeds of the coordinate between which its actuator keeps its limits, and what it gives by speed (M-71)."""
    a = plan.line_motor[l]
    d = plan.drives[a]
    gear = plan.terms[d.first].gear
    start, fall = impulse_of_drive(tree, ws, plan, state, a, h, w)
    E = fall * gear * gear
    put(work.lower, l, w, real(-wp.inf))
    put(work.upper, l, w, real(wp.inf))
    put(work.soft_give, l, w, E)
    if E > real(0.0):
        one = (start - h * d.high) / (fall * gear)
        other = (start - h * d.low) / (fall * gear)
        put(work.lower, l, w, wp.min(one, other))
        put(work.upper, l, w, wp.max(one, other))


@wp.func
def exceeds(work: Work, l: int, speed: real, w: int):
    """Whether an actuator in the factor gives more than it has, at a speed of its coordinate."""
    return speed < get(work.lower, l, w) or speed > get(work.upper, l, w)


@wp.func
def excess_impulse(work: Work, l: int, free: real, K: real, w: int):
    """What takes back what an actuator gives beyond its limits, `free` the speed without it (M-71)."""
    E = get(work.soft_give, l, w)
    over = free - wp.clamp(free, get(work.lower, l, w), get(work.upper, l, w))
    return over * E / wp.max(real(1.0) - K * E, FIRM)


@wp.func
def keep_flow(plan: Plan, state: State, a: int, force: real, h: real, w: int):
    """Force of an actuator with a lag at the end of the time it acted, from its mean (M-73); how fast it changed, and
    half the path's rate before."""
    d = plan.drives[a]
    change = real(0.0)
    if d.lag > real(0.0) and h > real(0.0):
        x = h / d.lag
        kept = kept_share(x)
        before = item(state.drive_flow, a, w)
        law = (force - kept * before) / (real(1.0) - kept)
        after = wp.clamp(law + (before - law) * wp.exp(-x), d.low, d.high)
        change = (after - before) / h
        set_item(state.drive_flow, a, w, after)
    s, rate = path_motion(plan, d, state, w)
    set_item(state.drive_seen, 2 * a, w, real(0.5) * rate)
    set_item(state.drive_seen, 2 * a + 1, w, change)


@wp.func
def keep_drives(tree: Tree, ws: Workspace, plan: Plan, state: State, work: Work, h: real, dt: real, w: int):
    """Forces that actuators gave in a step, and inputs that lag or are summed at its end (M-69)."""
    a = int(0)
    while a < plan.drives.shape[0]:
        d = plan.drives[a]
        force = item(state.asked, 4 * a, w)
        if h == real(0.0):
            force = real(0.0)
        elif d.place == LINE:
            force = get(work.p, plan.first_line + 4 * d.line + 3, w) / h
        elif d.place == FACTOR:
            term = plan.terms[d.first]
            start, fall = impulse_of_drive(tree, ws, plan, state, a, h, w)
            force = (start - fall * term.gear * item(state.v_next, term.coordinate, w)) / h
            if d.line >= 0:
                force = force + get(work.p, plan.first_line + 4 * d.line, w) / (h * term.gear)
        set_item(state.drive_force, a, w, force)
        keep_flow(plan, state, a, force, h, w)
        u = item(state.drive_lagged, a, w)
        given = clamped_input(d, state, a, w)
        if d.integrates == 1:
            u = wp.clamp(u + dt * given, d.sum_low, d.sum_high)
        elif d.response > real(0.0):
            u = u + (real(1.0) - wp.exp(-dt / d.response)) * (given - u)
        set_item(state.drive_lagged, a, w, u)
        a += 1


@wp.func
def keep_rates(plan: Plan, state: State, w: int):
    """Mean rates of paths in a step whose velocities are v_next, and the lines' speeds."""
    a = int(0)
    while a < plan.drives.shape[0]:
        d = plan.drives[a]
        rate = real(0.0)
        if d.place == LINE:
            rate = item(state.speed, d.line, w)
        else:
            k = d.first
            while k < d.end:
                if plan.terms[k].loop == 0:
                    rate = rate + plan.terms[k].gear * item(state.v_next, plan.terms[k].coordinate, w)
                k += 1
        set_item(state.drive_seen, 2 * a, w, item(state.drive_seen, 2 * a, w) + real(0.5) * rate)
        a += 1


@wp.func
def drive_friction(plan: Plan, state: State, l: int, w: int):
    """Largest friction of gears and brakes on the coordinate of a line, N or N m."""
    c = plan.line_of[2 * l]
    if plan.line_kind[l] == LOOP_ROW:
        c = plan.dofs + plan.line_of[2 * l + 1]
    return item(state.pull, 4 * c + 3, w)


@wp.func
def asked_of(state: State, a: int, w: int):
    """Force, stiffness and damping of an actuator along its path."""
    return vec3(item(state.asked, 4 * a, w), item(state.asked, 4 * a + 1, w), item(state.asked, 4 * a + 2, w))
