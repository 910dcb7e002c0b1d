"""Unconstrained motion of a step: momenta after the known forces, and the factor of M⁻¹ with implicit springs and
dampers (M-30, M-31)."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.aba import bias_wrench, link_inertia
from sharnir.dynamics.forces import rotation_from_rest
from sharnir.dynamics.inward import inward_implicit
from sharnir.dynamics.kinematics import kinematics
from sharnir.dynamics.loop_joints import ROW_TABLE_ENTRY, evaluate_row, loop_frames_of
from sharnir.dynamics.momenta import whitened_velocity
from sharnir.enums import ExternalForces, MotionKind
from sharnir.impulse.data import Context
from sharnir.impulse.rows.actuators import request_actuator_forces
from sharnir.impulse.slots import Load, PrevStep
from sharnir.kernels.columns import get, get3, get33, item, item3, put, put3, set_item
from sharnir.kernels.types import SPATIAL, VEC3, real, vec3
from sharnir.model.joint_rows import JOINT_ROWS


@wp.func
def load_momenta_after_forces(ctx: Context, h: real, w: int):
    """F ← momenta of the links after external forces have acted for h, as wrenches about the pivots (M-30)."""
    load_link_momenta(ctx, ctx.tree.gravity, real(1.0), h, w)
    load_loop_forces(ctx, h, w)


@wp.func
def load_link_momenta(ctx: Context, gravity: vec3, momentum_share: real, h: real, w: int):
    """F ← momentum_share of the momenta plus h times gravity and applied wrenches, as wrenches about the pivots."""
    i = int(0)
    while i < ctx.tree.links:
        r = get3(ctx.here.x, i, w) + get33(ctx.here.R, i, w) * ctx.tree.com[i]
        force = item3(ctx.state.f_ext, SPATIAL * i, w)
        torque = item3(ctx.state.f_ext, SPATIAL * i + VEC3, w)
        p = item3(ctx.state.P, SPATIAL * i, w)
        L = item3(ctx.state.P, SPATIAL * i + VEC3, w)
        p = p * momentum_share + (gravity * ctx.tree.mass[i] + force) * h
        put3(ctx.here.F, 2 * i, w, p)
        put3(ctx.here.F, 2 * i + 1, w, L * momentum_share + torque * h + wp.cross(r, p))
        i += 1


@wp.func
def load_loop_forces(ctx: Context, h: real, w: int):
    """Add h times constant efforts, control and explicit actuators of the loop joints to F."""
    k = int(0)
    while k < ctx.loops.count:
        kind = ctx.loops.kind[k]
        j = ctx.loops.constraint_count[kind]
        while j < JOINT_ROWS:
            lv = ctx.loops.v_start[k] + j - ctx.loops.constraint_count[kind]
            c = ctx.loops.dofs + lv
            impulse = h * (
                ctx.loops.effort[lv] + item(ctx.state.control, c, w) + item(ctx.state.actuator_load, Load.SIZE * c, w)
            )
            if impulse != real(0.0):
                s = loop_frames_of(ctx.tree, ctx.here, ctx.loops, k, w)
                g, f, n = evaluate_row(ctx.loops, s, k, (JOINT_ROWS * kind + j) * ROW_TABLE_ENTRY)
                if s.a >= 0:
                    put3(ctx.here.F, 2 * s.a, w, get3(ctx.here.F, 2 * s.a, w) - f * impulse)
                    moment = (n + wp.cross(s.ra, f)) * impulse
                    put3(ctx.here.F, 2 * s.a + 1, w, get3(ctx.here.F, 2 * s.a + 1, w) - moment)
                if s.b >= 0:
                    put3(ctx.here.F, 2 * s.b, w, get3(ctx.here.F, 2 * s.b, w) + f * impulse)
                    moment = (n + wp.cross(s.rb, f)) * impulse
                    put3(ctx.here.F, 2 * s.b + 1, w, get3(ctx.here.F, 2 * s.b + 1, w) + moment)
            j += 1
        k += 1


@wp.func
def compute_joint_impulses(ctx: Context, h: real, dt: real, dt_before: real, w: int):
    """tau ← joint impulses of efforts, control, actuators and springs, with the momenta of rotors; E, hc, hk, hb ← what
    rotors, dampers and springs (also of actuators) add to the joints' inertia (M-31, M-70). h: time the forces act, dt:
    the step, dt_before: the previous one, s."""
    acting_time = h
    dt_since = dt_before
    if dt_before == real(0.0):  # half a kick from rest, but the spring swings over a whole step
        acting_time = dt
        dt_since = dt
    e = int(0)
    while e < ctx.tree.part[ctx.tree.links]:
        kind = ctx.tree.kind[e]
        qi = ctx.tree.part_q[e]
        d = ctx.tree.part_v[e]
        n = int(0)
        turn = vec3()
        if kind == MotionKind.BALL:
            n = 3
            if ctx.tree.stiffness[d] > real(0.0):
                turn = rotation_from_rest(ctx.state.q, ctx.tree.rest, qi, w)
        elif kind == MotionKind.SHIFT:
            n = 3
        elif kind != MotionKind.STILL:
            n = 1
        k = int(0)
        while k < n:
            c = d + k
            stiffness = ctx.tree.stiffness[c]
            stretch = turn[k]
            if kind != MotionKind.BALL:
                stretch = item(ctx.state.q, qi + k, w) - ctx.tree.rest[qi + k]
            put(ctx.here.E, c, w, ctx.tree.armature[c])
            total = stiffness + item(ctx.state.actuator_load, Load.SIZE * c + Load.STIFFNESS, w)
            put(ctx.here.hk, c, w, acting_time * dt * total)
            put(ctx.here.hb, c, w, acting_time * dt_since * total)
            put(
                ctx.here.hc,
                c,
                w,
                h * (ctx.tree.damping[c] + item(ctx.state.actuator_load, Load.SIZE * c + Load.DAMPING, w)),
            )
            force = (
                ctx.tree.effort[c]
                + item(ctx.state.control, c, w)
                + item(ctx.state.actuator_load, Load.SIZE * c, w)
                - stiffness * stretch
            )
            set_item(ctx.state.tau, c, w, h * force + ctx.tree.armature[c] * item(ctx.state.v, c, w))
            k += 1
        e += 1


@wp.func
def load_free_motion(ctx: Context, h: real, dt: real, w: int):
    """Load all known forces of a step for the inward pass that finds the free motion from momenta."""
    request_actuator_forces(ctx.layout, ctx.state, h, dt, w)
    load_momenta_after_forces(ctx, h, w)
    compute_joint_impulses(ctx, h, dt, item(ctx.state.prev_step, PrevStep.DT, w), w)


@wp.func
def published_free_motion(ctx: Context, dt: real, w: int):
    """z of q̇ + Δt q̈, q̈ by the articulated-body algorithm (A17-7); springs, dampers and actuators implicit."""
    request_actuator_forces(ctx.layout, ctx.state, dt, dt, w)
    kinematics(ctx.tree, ctx.here, ctx.state.q, ctx.state.v, w)
    load_link_momenta(ctx, vec3(), real(0.0), real(1.0), w)
    load_loop_forces(ctx, real(1.0), w)
    i = int(0)
    while i < ctx.tree.links:
        r, Jc = link_inertia(ctx.tree, ctx.here, i, w)
        f, n = bias_wrench(ctx.tree.mass[i], r, Jc, ctx.here, i, w)
        put3(ctx.here.F, 2 * i, w, get3(ctx.here.F, 2 * i, w) - f)
        put3(ctx.here.F, 2 * i + 1, w, get3(ctx.here.F, 2 * i + 1, w) - n)
        i += 1
    compute_joint_impulses(ctx, dt, dt, real(0.0), w)
    d = int(0)
    while d < ctx.tree.dof[ctx.tree.links]:
        v = item(ctx.state.v, d, w)
        damping = ctx.tree.damping[d] + item(ctx.state.actuator_load, Load.SIZE * d + Load.DAMPING, w)
        set_item(ctx.state.tau, d, w, (item(ctx.state.tau, d, w) - ctx.tree.armature[d] * v) / dt - damping * v)
        put(ctx.here.E, d, w, get(ctx.here.E, d, w) + get(ctx.here.hc, d, w) + real(0.25) * get(ctx.here.hk, d, w))
        put(ctx.here.hc, d, w, real(0.0))
        put(ctx.here.hk, d, w, real(0.0))
        d += 1
    inward_implicit(ctx.tree, ctx.here, ctx.state.tau, ctx.state.v, ExternalForces.WRENCHES, 0, w)
    whitened_velocity(ctx.tree, ctx.here, ctx.state.v, ctx.work.z_velocity_before, w)
    d = int(0)
    while d < ctx.tree.dof[ctx.tree.links]:
        put(ctx.here.z, d, w, dt * get(ctx.here.z, d, w) + get(ctx.work.z_velocity_before, d, w))
        d += 1
