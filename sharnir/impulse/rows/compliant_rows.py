"""Compliant rows: rotors, springs, dampers and actuators along a scalar as one implicit force (M-38, M-70)."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.forces import rotation_from_rest
from sharnir.dynamics.inward import damping_implicitness, spring_implicitness
from sharnir.dynamics.loop_joints import LoopJoints
from sharnir.enums import JointType, ScalarSource
from sharnir.impulse.data import Context, RowOptions
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.rows.actuators import actuator_request_of
from sharnir.impulse.slots import JOINT_ROWS, PrevStep
from sharnir.kernels.columns import get, item, put
from sharnir.kernels.types import VEC3, real


@wp.func
def armature_along_path(loops: wp.ref[LoopJoints], layout: wp.ref[Layout], l: int):
    """Armature along the path of an actuator that drives one coordinate of a loop joint."""
    inertia = real(0.0)
    term = layout.actuator_terms[layout.scalar_source[2 * l]]
    if layout.scalar_source[2 * l + 1] == 1 and term.is_loop == 1:
        inertia = loops.armature[term.coordinate - layout.dofs] / (term.gear * term.gear)
    return inertia


@wp.func
def set_compliant_row(ctx: Context, l: int, g: real, speed: real, options: RowOptions, w: int):
    """Rotor, spring and damper of a scalar, or an actuator along it (M-70), as one compliant row: p = E
    (compliant_velocity − velocity), γ = 1/E (M-38).

    speed: the scalar's velocity in the previous step, for a ball joint in the present axes; its rotor counts in the
    axes of then.
    """
    h = options.h
    dt = options.dt
    K = get(ctx.work.scalar_K, l, w)
    inertia = real(0.0)
    stiffness = real(0.0)
    damping = real(0.0)
    stretch = real(0.0)
    force = real(0.0)
    other_armature = real(0.0)  # a rotor whose inertia is another row's
    if ctx.layout.scalar_source_kind[l] == ScalarSource.SPRING:
        data = ctx.tree.spring_data[ctx.layout.scalar_source[2 * l]]
        stiffness = data[0]
        damping = data[1]
        stretch = g - data[2]
    elif ctx.layout.scalar_source_kind[l] == ScalarSource.ACTUATOR_PATH:
        request = actuator_request_of(ctx.state, ctx.layout.scalar_motor[l], w)
        force = request[0]
        stiffness = request[1]
        damping = request[2]
        other_armature = armature_along_path(ctx.loops, ctx.layout, l)
    else:
        k = ctx.layout.scalar_link[l]
        lv = ctx.layout.scalar_source[2 * l + 1]
        inertia = ctx.loops.armature[lv]
        stiffness = ctx.loops.stiffness[lv]
        damping = ctx.loops.damping[lv]
        kind = ctx.loops.kind[k]
        j = ctx.layout.scalar_source[2 * l] - JOINT_ROWS * k
        if (kind == JointType.SPHERICAL or kind == JointType.FREE) and j >= VEC3:
            first = ctx.loops.q_start[k] + wp.where(kind == JointType.FREE, VEC3, 0)
            t = rotation_from_rest(ctx.state.loop_q, ctx.loops.rest, first, w)
            stretch = t[j - VEC3]
        else:
            stretch = g - ctx.loops.rest[ctx.layout.scalar_q[l]]
    hk = options.stiffness_scale * h * stiffness
    since = item(ctx.state.prev_step, PrevStep.DT, w)
    if since == real(0.0):  # half a kick from rest, but the spring swings over a whole step
        hk = dt * stiffness
        since = dt
    implicit_share = spring_implicitness(real(0.25) * hk * dt * K, real(1.0) + K * (inertia + other_armature))
    E = inertia + (real(0.25) + real(0.75) * implicit_share) * hk * dt
    share = damping_implicitness(h * damping * K, real(1.0) + K * (E + other_armature))
    before = (real(0.25) * (real(1.0) - implicit_share) * hk * since - (real(1.0) - share) * h * damping) * speed
    before = before + inertia * item(ctx.state.scalar_velocity, l, w)
    E = wp.max(E + share * h * damping, real(1.0e-30))
    rest = (before + h * (force - stiffness * stretch)) / E
    put(ctx.work.compliant_velocity, l, w, rest)
    put(ctx.work.compliant_velocity_linear, l, w, rest)
    put(ctx.work.compliant_gamma, l, w, real(1.0) / E)
