"""Implicit actuators in a step: requested force, stiffness and damping at its start, saturation, and the forces that
acted (M-68..M-75)."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.inward import damping_implicitness, spring_implicitness
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.enums import ScalarSource
from sharnir.impulse.data import Context, Scratch, State
from sharnir.impulse.layout.actuators import ActuatorData, ActuatorTreatment
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.row_kinds import SCALAR_IMPULSES, ScalarImpulse
from sharnir.impulse.slots import ActuatorRate, ActuatorRequest, Load, Method, Setting
from sharnir.kernels.columns import get, item, put, set_item
from sharnir.kernels.types import DOUBLE, real, vec3, vec4

# of a time constant: below, a power series replaces (1 − exp(−x))/x
SERIES_BELOW = wp.constant(real(1.0e-5 if DOUBLE else 1.0e-2))
MIN_EXCESS_DENOMINATOR = wp.constant(real(1.0e-6))  # least 1 − K E: below, only rounding is left
DAMPING_BEFORE = 3  # of `implicit_coefficients`: factor of the damping at the velocity before the step


@wp.func
def clamp_input(d: ActuatorData, state: wp.ref[State], a: int, w: int):
    """Input of actuator a within its limits."""
    return wp.clamp(item(state.actuator_input, a, w), d.input_low, d.input_high)


@wp.func
def measure_path(layout: wp.ref[Layout], d: ActuatorData, state: wp.ref[State], w: int):
    """Position of an actuator's path and its rate in the step that led here."""
    position = real(0.0)
    rate = real(0.0)
    k = d.term_start
    while k < d.term_end:
        term = layout.actuator_terms[k]
        if term.q >= 0:
            if term.is_loop == 1:
                position = position + term.gear * item(state.loop_q, term.q, w)
            else:
                position = position + term.gear * item(state.q, term.q, w)
        if term.is_loop == 0:
            rate = rate + term.gear * item(state.v, term.coordinate, w)
        k += 1
    if d.treatment == ActuatorTreatment.ROW:
        rate = item(state.scalar_velocity, d.scalar, w)
    return position, rate


@wp.func
def actuator_law_of(d: ActuatorData, state: wp.ref[State], a: int, w: int):
    """Coefficients of the force law (constant, of position, of rate) for the present input or activation (M-68)."""
    u = clamp_input(d, state, a, w)
    if d.integrates == 1 or d.input_time_constant > real(0.0):
        u = item(state.actuator_activation, a, w)
    return d.gain * u + d.bias


@wp.func
def mean_decay(x: real):
    """Mean of exp(−t) over 0 ≤ t ≤ x."""
    out = real(1.0) - real(0.5) * x + x * x / real(6.0)
    if x > SERIES_BELOW:
        out = (real(1.0) - wp.exp(-x)) / x
    return out


@wp.func
def saturated_side(force_now: real, force_next: real, low: real, high: real):
    """Side on which a force stays far beyond its limits now and a step ahead: 1 upper, −1 lower, 0 none (M-72). Such an
    actuator is saturated for the whole step and needs no row."""
    side = int(0)
    if wp.min(force_now, force_next) - high > wp.abs(high):
        side = 1
    elif low - wp.max(force_now, force_next) > wp.abs(low):
        side = -1
    return side


@wp.func
def request_actuator_forces(layout: wp.ref[Layout], state: wp.ref[State], h: real, dt: real, w: int):
    """Request of every actuator at the start of a step (force at the present position, stiffness, damping), and their
    sums per coordinate over actuators that are no scalar rows. h: time they act, s."""
    clear_actuator_loads(layout, state, w)
    a = int(0)
    while a < layout.actuators.shape[0]:
        request_actuator_force(layout, state, a, h, dt, w)
        a += 1
    a = int(0)
    while a < layout.actuators.shape[0]:
        share_coordinate_limit(layout, state, a, w)
        a += 1
    clear_actuator_loads(layout, state, w)
    a = int(0)
    while a < layout.actuators.shape[0]:
        add_actuator_load(layout, state, a, w)
        a += 1


@wp.func
def clear_actuator_loads(layout: wp.ref[Layout], state: wp.ref[State], w: int):
    """Zero the loads of all coordinates that actuators act on."""
    k = int(0)
    while k < layout.actuator_terms.shape[0]:
        c = layout.actuator_terms[k].coordinate
        set_item(state.actuator_load, Load.SIZE * c, w, real(0.0))
        set_item(state.actuator_load, Load.SIZE * c + Load.STIFFNESS, w, real(0.0))
        set_item(state.actuator_load, Load.SIZE * c + Load.DAMPING, w, real(0.0))
        set_item(state.actuator_load, Load.SIZE * c + Load.FRICTION, w, real(0.0))
        k += 1


@wp.func
def request_actuator_force(layout: wp.ref[Layout], state: wp.ref[State], a: int, h: real, dt: real, w: int):
    """Force, stiffness and damping that actuator a requests; on coordinates several actuators share, also add its force
    at the present motion to the coordinate's load."""
    d = layout.actuators[a]
    s, rate = measure_path(layout, d, state, w)
    law = actuator_law_of(d, state, a, w)
    if d.force_time_constant > real(0.0):
        decay = mean_decay(h / d.force_time_constant)
        law = law * (real(1.0) - decay) + vec3(decay * item(state.actuator_force_end, a, w), real(0.0), real(0.0))
    stiffness = wp.max(-law[1], real(0.0)) * real(d.has_position)
    damping = wp.max(-law[2], real(0.0))
    force = law[0] + law[1] * s + (law[2] + damping) * rate
    force_now = force - damping * rate
    side = saturated_side(force_now, force_now - stiffness * rate * dt, d.force_low, d.force_high)
    if side != 0 or stiffness + damping == real(0.0):
        force = wp.clamp(force_now, d.force_low, d.force_high)
        stiffness = real(0.0)
        damping = real(0.0)
    set_item(state.actuator_request, ActuatorRequest.SIZE * a, w, force)
    set_item(state.actuator_request, ActuatorRequest.SIZE * a + ActuatorRequest.STIFFNESS, w, stiffness)
    set_item(state.actuator_request, ActuatorRequest.SIZE * a + ActuatorRequest.DAMPING, w, damping)
    force_given = wp.clamp(force_now, d.force_low, d.force_high)
    set_item(state.actuator_request, ActuatorRequest.SIZE * a + ActuatorRequest.FORCE_NOW, w, force_given)
    if d.shares_coordinates == 1:
        k = d.term_start
        while k < d.term_end:
            c = layout.actuator_terms[k].coordinate
            set_item(
                state.actuator_load,
                Load.SIZE * c,
                w,
                item(state.actuator_load, Load.SIZE * c, w) + layout.actuator_terms[k].gear * force_given,
            )
            k += 1


@wp.func
def share_coordinate_limit(layout: wp.ref[Layout], state: wp.ref[State], a: int, w: int):
    """Where several actuators together exceed the largest force of a coordinate, scale each by the same factor; it is
    then explicit."""
    d = layout.actuators[a]
    if d.shares_coordinates == 1:
        share_factor = real(1.0)
        k = d.term_start
        while k < d.term_end:
            term = layout.actuator_terms[k]
            total = wp.abs(item(state.actuator_load, Load.SIZE * term.coordinate, w))
            if total > term.max_force:
                share_factor = wp.min(share_factor, term.max_force / total)
            k += 1
        if share_factor < real(1.0):
            set_item(
                state.actuator_request,
                ActuatorRequest.SIZE * a,
                w,
                share_factor * item(state.actuator_request, ActuatorRequest.SIZE * a + ActuatorRequest.FORCE_NOW, w),
            )
            set_item(state.actuator_request, ActuatorRequest.SIZE * a + ActuatorRequest.STIFFNESS, w, real(0.0))
            set_item(state.actuator_request, ActuatorRequest.SIZE * a + ActuatorRequest.DAMPING, w, real(0.0))


@wp.func
def add_actuator_load(layout: wp.ref[Layout], state: wp.ref[State], a: int, w: int):
    """Add the request of an actuator to the loads of its coordinates: force, stiffness, damping; and the friction of
    its gear losses and its brake (M-75)."""
    d = layout.actuators[a]
    if d.treatment != ActuatorTreatment.ROW:
        k = d.term_start
        while k < d.term_end:
            term = layout.actuator_terms[k]
            c = term.coordinate
            g = term.gear
            set_item(
                state.actuator_load,
                Load.SIZE * c,
                w,
                item(state.actuator_load, Load.SIZE * c, w)
                + g * item(state.actuator_request, ActuatorRequest.SIZE * a, w),
            )
            set_item(
                state.actuator_load,
                Load.SIZE * c + Load.STIFFNESS,
                w,
                item(state.actuator_load, Load.SIZE * c + Load.STIFFNESS, w)
                + g * g * item(state.actuator_request, ActuatorRequest.SIZE * a + ActuatorRequest.STIFFNESS, w),
            )
            set_item(
                state.actuator_load,
                Load.SIZE * c + Load.DAMPING,
                w,
                item(state.actuator_load, Load.SIZE * c + Load.DAMPING, w)
                + g * g * item(state.actuator_request, ActuatorRequest.SIZE * a + ActuatorRequest.DAMPING, w),
            )
            k += 1
    if d.has_losses == 1:
        c = layout.actuator_terms[d.term_start].coordinate
        s, rate = measure_path(layout, d, state, w)
        force = item(state.actuator_request, ActuatorRequest.SIZE * a + ActuatorRequest.FORCE_NOW, w)
        loss_factor = wp.where(force * rate < real(0.0), real(1.0) / d.efficiency - real(1.0), real(1.0) - d.efficiency)
        friction = loss_factor * wp.abs(force) + d.brake * item(state.actuator_brake, a, w)
        friction_bound = wp.abs(layout.actuator_terms[d.term_start].gear) * friction
        set_item(
            state.actuator_load,
            Load.SIZE * c + Load.FRICTION,
            w,
            item(state.actuator_load, Load.SIZE * c + Load.FRICTION, w) + friction_bound,
        )


@wp.func
def implicit_coefficients(tree: wp.ref[Tree], ws: wp.ref[Workspace], state: wp.ref[State], c: int, h: real, w: int):
    """How the factor of the tree treats springs and dampers of coordinate c (M-31): impulse per stiffness and new
    velocity, per stiffness and old velocity, per damping and new velocity, per damping and old velocity."""
    quarter = real(0.25)
    out = vec4(quarter * h * h, quarter * h * h, h, real(0.0))
    if int(state.settings[Setting.METHOD, 0]) != Method.PAPER_TREE:
        stiffness = tree.stiffness[c] + item(state.actuator_load, Load.SIZE * c + Load.STIFFNESS, w)
        hk = get(ws.hk, c, w)
        hc = get(ws.hc, c, w)
        rsD = get(ws.rsD, c, w)
        D = real(1.0) / (rsD * rsD) - get(ws.E, c, w) + tree.armature[c]
        implicitness = spring_implicitness(quarter * hk, D)
        new_share = quarter + real(0.75) * implicitness
        theta = damping_implicitness(hc, D + new_share * hk)
        scale = real(0.0)
        before = real(0.0)
        if stiffness > real(0.0):
            scale = hk / stiffness
            before = get(ws.hb, c, w) / stiffness
        out = vec4(new_share * scale, quarter * (real(1.0) - implicitness) * before, theta * h, (theta - real(1.0)) * h)
    return out


@wp.func
def implicit_actuator_impulse(ctx: Context, a: int, h: real, w: int):
    """Impulse of an implicit actuator along its path at zero new velocity, and by how much it falls per unit of the
    path's rate."""
    term = ctx.layout.actuator_terms[ctx.layout.actuators[a].term_start]
    c = term.coordinate
    factor = implicit_coefficients(ctx.tree, ctx.here, ctx.state, c, h, w)
    stiffness = item(ctx.state.actuator_request, ActuatorRequest.SIZE * a + ActuatorRequest.STIFFNESS, w)
    damping = item(ctx.state.actuator_request, ActuatorRequest.SIZE * a + ActuatorRequest.DAMPING, w)
    before = (factor[1] * stiffness + factor[DAMPING_BEFORE] * damping) * term.gear * item(ctx.state.v, c, w)
    return h * item(ctx.state.actuator_request, ActuatorRequest.SIZE * a, w) + before, factor[0] * stiffness + factor[
        2
    ] * damping


@wp.func
def set_saturation_bounds(ctx: Context, l: int, h: real, w: int):
    """Bounds of the coordinate's velocity within which its implicit actuator is not saturated, and the slope of its
    impulse (M-71)."""
    a = ctx.layout.scalar_motor[l]
    d = ctx.layout.actuators[a]
    gear = ctx.layout.actuator_terms[d.term_start].gear
    start, fall = implicit_actuator_impulse(ctx, a, h, w)
    E = fall * gear * gear
    put(ctx.work.velocity_lower, l, w, real(-wp.inf))
    put(ctx.work.velocity_upper, l, w, real(wp.inf))
    put(ctx.work.compliant_gamma, l, w, E)
    if E > real(0.0):
        one = (start - h * d.force_high) / (fall * gear)
        other = (start - h * d.force_low) / (fall * gear)
        put(ctx.work.velocity_lower, l, w, wp.min(one, other))
        put(ctx.work.velocity_upper, l, w, wp.max(one, other))


@wp.func
def is_saturated(work: wp.ref[Scratch], l: int, speed: real, w: int):
    """Whether an implicit actuator is beyond its force limits at this velocity of its coordinate."""
    return speed < get(work.velocity_lower, l, w) or speed > get(work.velocity_upper, l, w)


@wp.func
def saturation_excess_impulse(work: wp.ref[Scratch], l: int, free: real, K: real, w: int):
    """Impulse that takes back what an implicit actuator gives beyond its limits (M-71). free: velocity without it."""
    E = get(work.compliant_gamma, l, w)
    over = free - wp.clamp(free, get(work.velocity_lower, l, w), get(work.velocity_upper, l, w))
    return over * E / wp.max(real(1.0) - K * E, MIN_EXCESS_DENOMINATOR)


@wp.func
def store_actuator_force_end(layout: wp.ref[Layout], state: wp.ref[State], a: int, force: real, h: real, w: int):
    """Store the force at the end of the time it acted, from its mean, for an actuator whose force has a time constant
    (M-73); how fast it changed; and half the path's rate before."""
    d = layout.actuators[a]
    change = real(0.0)
    if d.force_time_constant > real(0.0) and h > real(0.0):
        x = h / d.force_time_constant
        decay = mean_decay(x)
        before = item(state.actuator_force_end, a, w)
        law = (force - decay * before) / (real(1.0) - decay)
        after = wp.clamp(law + (before - law) * wp.exp(-x), d.force_low, d.force_high)
        change = (after - before) / h
        set_item(state.actuator_force_end, a, w, after)
    s, rate = measure_path(layout, d, state, w)
    set_item(state.actuator_rates, ActuatorRate.SIZE * a, w, real(0.5) * rate)
    set_item(state.actuator_rates, ActuatorRate.SIZE * a + ActuatorRate.FORCE, w, change)


@wp.func
def store_actuators(ctx: Context, h: real, dt: real, w: int):
    """Store the mean forces of all actuators in the step, and activations (filtered or integrated inputs) at its end
    (M-69)."""
    a = int(0)
    while a < ctx.layout.actuators.shape[0]:
        d = ctx.layout.actuators[a]
        force = item(ctx.state.actuator_request, ActuatorRequest.SIZE * a, w)
        if h == real(0.0):
            force = real(0.0)
        elif d.treatment == ActuatorTreatment.ROW:
            force = (
                get(ctx.work.p, ctx.layout.scalar_p_start + SCALAR_IMPULSES * d.scalar + ScalarImpulse.COMPLIANT, w) / h
            )
        elif d.treatment == ActuatorTreatment.IMPLICIT:
            term = ctx.layout.actuator_terms[d.term_start]
            start, fall = implicit_actuator_impulse(ctx, a, h, w)
            force = (start - fall * term.gear * item(ctx.state.v_next, term.coordinate, w)) / h
            if d.scalar >= 0:
                force = force + get(ctx.work.p, ctx.layout.scalar_p_start + SCALAR_IMPULSES * d.scalar, w) / (
                    h * term.gear
                )
        set_item(ctx.state.actuator_force, a, w, force)
        store_actuator_force_end(ctx.layout, ctx.state, a, force, h, w)
        u = item(ctx.state.actuator_activation, a, w)
        given = clamp_input(d, ctx.state, a, w)
        if d.integrates == 1:
            u = wp.clamp(u + dt * given, d.integral_low, d.integral_high)
        elif d.input_time_constant > real(0.0):
            u = u + (real(1.0) - wp.exp(-dt / d.input_time_constant)) * (given - u)
        set_item(ctx.state.actuator_activation, a, w, u)
        a += 1


@wp.func
def store_actuator_rates(layout: wp.ref[Layout], state: wp.ref[State], w: int):
    """Complete the mean rates of actuator paths by the new velocities: half of the rate after the step."""
    a = int(0)
    while a < layout.actuators.shape[0]:
        d = layout.actuators[a]
        rate = real(0.0)
        if d.treatment == ActuatorTreatment.ROW:
            rate = item(state.scalar_velocity, d.scalar, w)
        else:
            k = d.term_start
            while k < d.term_end:
                if layout.actuator_terms[k].is_loop == 0:
                    rate = rate + layout.actuator_terms[k].gear * item(
                        state.v_next, layout.actuator_terms[k].coordinate, w
                    )
                k += 1
        set_item(
            state.actuator_rates,
            ActuatorRate.SIZE * a,
            w,
            item(state.actuator_rates, ActuatorRate.SIZE * a, w) + real(0.5) * rate,
        )
        a += 1


@wp.func
def actuator_friction(layout: wp.ref[Layout], state: wp.ref[State], l: int, w: int):
    """Largest friction of gears and brakes on the coordinate of a scalar, N or N m."""
    c = layout.scalar_source[2 * l]
    if layout.scalar_source_kind[l] == ScalarSource.LOOP_DOF:
        c = layout.dofs + layout.scalar_source[2 * l + 1]
    return item(state.actuator_load, Load.SIZE * c + Load.FRICTION, w)


@wp.func
def actuator_request_of(state: wp.ref[State], a: int, w: int):
    """Requested force, stiffness and damping of an actuator along its path."""
    return vec3(
        item(state.actuator_request, ActuatorRequest.SIZE * a, w),
        item(state.actuator_request, ActuatorRequest.SIZE * a + ActuatorRequest.STIFFNESS, w),
        item(state.actuator_request, ActuatorRequest.SIZE * a + ActuatorRequest.DAMPING, w),
    )
