"""Observation of a state: velocities synchronised with the positions, body poses, energies (M-45)."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.aba import outward
from sharnir.dynamics.energy import energies
from sharnir.dynamics.forces import rotation_from_rest
from sharnir.dynamics.inward import inward_implicit
from sharnir.dynamics.kernels import store_body_states
from sharnir.dynamics.kinematics import kinematics, poses
from sharnir.dynamics.loop_joints import ROW_TABLE_ENTRY, LoopJoints, evaluate_row, loop_frames_of
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.enums import ExternalForces, JointType
from sharnir.impulse.data import Context, LimitRule, StepContext, make_row_options
from sharnir.impulse.rows.actuators import request_actuator_forces
from sharnir.impulse.rows.contact_frame import exclude_open_contacts
from sharnir.impulse.rows.contact_rows import find_contacts
from sharnir.impulse.slots import Method, PrevStep, Setting, StatusReal
from sharnir.impulse.solve.pgs_sweep import apply_impulses
from sharnir.impulse.solve.strategy import solve_rows
from sharnir.impulse.step.assembly import assemble_rows, load_previous_impulses
from sharnir.impulse.step.free_motion import compute_joint_impulses, load_momenta_after_forces
from sharnir.kernels.columns import get3, item, put, set_item
from sharnir.kernels.types import KERNEL_OPTIONS, NO_DEADLINE, VEC3, array2, real, vec3
from sharnir.kernels.vector_ops import clear
from sharnir.model.joint_rows import JOINT_ROWS

wp.set_module_options(KERNEL_OPTIONS)


@wp.func
def measure_loop_rates(tree: wp.ref[Tree], ws: wp.ref[Workspace], loops: wp.ref[LoopJoints], loop_v: array2, w: int):
    """Rates of the loop joints' coordinates at the link velocities V."""
    k = int(0)
    while k < loops.count:
        s = loop_frames_of(tree, ws, loops, k, w)
        kind = loops.kind[k]
        j = loops.constraint_count[kind]
        while j < JOINT_ROWS:
            g, f, n = evaluate_row(loops, s, k, (JOINT_ROWS * kind + j) * ROW_TABLE_ENTRY)
            rate = real(0.0)
            if s.b >= 0:
                rate = wp.dot(f, get3(ws.V, 2 * s.b, w)) + wp.dot(n + wp.cross(s.rb, f), get3(ws.V, 2 * s.b + 1, w))
            if s.a >= 0:
                rate = rate - wp.dot(f, get3(ws.V, 2 * s.a, w))
                rate = rate - wp.dot(n + wp.cross(s.ra, f), get3(ws.V, 2 * s.a + 1, w))
            loop_v[loops.v_start[k] + j - loops.constraint_count[kind], w] = rate
            j += 1
        k += 1


@wp.func
def synchronise_velocities(ctx: Context, dt: real, force_share: real, v: array2, w: int):
    """v ← velocities at the time of the positions: momenta after force_share of the step's forces, all rows solved
    there."""
    h = force_share * dt
    request_actuator_forces(ctx.layout, ctx.state, h, dt, w)
    load_momenta_after_forces(ctx, h, w)
    compute_joint_impulses(ctx, h, real(2.0) * dt, real(2.0) * dt, w)
    inward_implicit(ctx.tree, ctx.here, ctx.state.tau, ctx.state.v, ExternalForces.WRENCHES, 0, w)
    if h > real(0.0):
        warm_factor = h / item(ctx.state.prev_step, PrevStep.FORCE_TIME, w)
        put(ctx.work.status_real, StatusReal.WARM_FACTOR, w, warm_factor)
        load_previous_impulses(ctx.layout, ctx.state, ctx.work, warm_factor, w)
        find_contacts(ctx, ctx.state.settings[Setting.DT, 0], w)
        assemble_rows(ctx, make_row_options(h, ctx.state.settings[Setting.DT, 0], real(2.0), LimitRule.PREDICTED), w)
        exclude_open_contacts(ctx.work, w)
        clear(ctx.work.joint_target, JOINT_ROWS * ctx.layout.joints, w)
        apply_impulses(ctx, ctx.here.z, ctx.work.p, w)
        solve_rows(ctx, 0, NO_DEADLINE, w)
    outward(ctx.tree, ctx.here, v, w)


@wp.func
def store_energy(ctx: Context, v: array2, loop_v: array2, energy: array2, w: int):
    """Kinetic and potential energy (J), springs and rotors of loop joints included."""
    kinetic, potential = energies(ctx.tree, ctx.here, ctx.state.q, v, w)
    half = real(0.5)
    k = int(0)
    while k < ctx.loops.count:
        kind = ctx.loops.kind[k]
        first = ctx.loops.q_start[k]
        j = ctx.loops.constraint_count[kind]
        turn = vec3()
        scalars = int(JOINT_ROWS)
        if kind == JointType.SPHERICAL or kind == JointType.FREE:
            scalars = 3
            turn = rotation_from_rest(
                ctx.state.loop_q, ctx.loops.rest, first + wp.where(kind == JointType.FREE, VEC3, 0), w
            )
        while j < JOINT_ROWS:
            c = j - ctx.loops.constraint_count[kind]
            lv = ctx.loops.v_start[k] + c
            stretch = turn[wp.max(j - VEC3, 0)]
            if j < scalars:
                stretch = item(ctx.state.loop_q, first + c, w) - ctx.loops.rest[first + c]
            kinetic = kinetic + half * ctx.loops.armature[lv] * loop_v[lv, w] * loop_v[lv, w]
            potential = potential + half * ctx.loops.stiffness[lv] * stretch * stretch
            j += 1
        k += 1
    energy[0, w] = kinetic
    energy[1, w] = potential


@wp.kernel
def observe_kernel(
    ctx: StepContext, v: array2, loop_v: array2, position: array2, rotation: array2, velocity: array2, energy: array2
):
    """Velocities at the time of the positions, half a step of all forces on the momenta with rows solved there (M-45),
    and the poses, body velocities and energies that follow."""
    w = wp.tid()
    poses(ctx.tree, ctx.here, ctx.state.q, ctx.state.q, w)
    dt = item(ctx.state.prev_step, PrevStep.DT, w)
    method = int(ctx.state.settings[Setting.METHOD, 0])
    if method == Method.PAPER_TREE or dt == real(0.0):
        d = int(0)
        while d < ctx.layout.dofs:
            set_item(v, d, w, item(ctx.state.v, d, w))
            d += 1
    else:
        synchronise_velocities(ctx, dt, wp.where(method == Method.PREDICTIVE, real(0.5), real(0.0)), v, w)
    kinematics(ctx.tree, ctx.here, ctx.state.q, v, w)
    measure_loop_rates(ctx.tree, ctx.here, ctx.loops, loop_v, w)
    store_body_states(ctx.tree, ctx.here, position, rotation, velocity, w)
    store_energy(ctx, v, loop_v, energy, w)
