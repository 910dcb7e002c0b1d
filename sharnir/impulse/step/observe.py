"""What a state shows: velocities at the time of the positions, poses, energies (M-45)."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.aba import outward
from sharnir.dynamics.energy import energies
from sharnir.dynamics.forces import turn_vector
from sharnir.dynamics.inward import inward_momentum
from sharnir.dynamics.kernels import put_bodies
from sharnir.dynamics.kinematics import kinematics, poses
from sharnir.dynamics.loop_joints import Loops, loop_ends, row_form
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.enums import FREE, SPHERICAL
from sharnir.impulse.data import DT, METHOD, PAPER_TREE, PREDICTIVE, State, Work
from sharnir.impulse.layout.layout import Plan
from sharnir.impulse.rows.actuators import ask
from sharnir.impulse.rows.contact_frame import only_closed
from sharnir.impulse.rows.contact_rows import find_contacts
from sharnir.impulse.solve.pgs_sweep import apply_impulses
from sharnir.impulse.solve.strategy import direct_wanted, load_impulses, prepare, settled
from sharnir.impulse.step.free_motion import joint_impulses, kick
from sharnir.kernels.columns import get3, item, set_item
from sharnir.kernels.types import KERNEL_OPTIONS, array2, real, ticks, vec3
from sharnir.kernels.vector_ops import clear

wp.set_module_options(KERNEL_OPTIONS)


@wp.func
def loop_rates(tree: Tree, ws: Workspace, loops: Loops, loop_v: array2, w: int):
    """Rates of the loop joints' coordinates at the link velocities V."""
    k = int(0)
    while k < loops.count:
        s = loop_ends(tree, ws, loops, k, w)
        kind = loops.kind[k]
        j = loops.fixed[kind]
        while j < 6:
            g, f, n = row_form(loops, s, k, (6 * kind + j) * 3)
            rate = real(0.0)
            if s.b >= 0:
                rate = wp.dot(f, get3(ws.V, 2 * s.b, w)) + wp.dot(n + wp.cross(s.rb, f), get3(ws.V, 2 * s.b + 1, w))
            if s.a >= 0:
                rate = rate - wp.dot(f, get3(ws.V, 2 * s.a, w))
                rate = rate - wp.dot(n + wp.cross(s.ra, f), get3(ws.V, 2 * s.a + 1, w))
            loop_v[loops.v_start[k] + j - loops.fixed[kind], w] = rate
            j += 1
        k += 1


@wp.func
def synchronise(
    tree: Tree, ws: Workspace, loops: Loops, plan: Plan, state: State, work: Work, dt: real, share: real, v: array2,
    w: int,
):  # fmt: skip
    """v ← momenta after a share of the step's forces, with all rows."""
    h = share * dt
    ask(plan, state, h, dt, w)
    kick(tree, ws, loops, state, h, w)
    joint_impulses(tree, ws, state, h, real(2.0) * dt, real(2.0) * dt, w)
    inward_momentum(tree, ws, state.tau, state.v, 1, w)
    if h > real(0.0):
        scale = h / item(state.clock, 1, w)
        load_impulses(plan, state, work, scale, w)
        held = direct_wanted(plan, state, w)
        find_contacts(tree, ws, plan, state, work, state.settings[DT, 0], w)
        prepare(tree, ws, loops, plan, state, work, held, h, state.settings[DT, 0], scale, real(2.0), 1, 0, 0, w)
        only_closed(work, w)
        clear(work.joint_target, 6 * plan.joints, w)
        apply_impulses(loops, plan, work, ws.z, work.p, w)
        settled(loops, plan, state, work, held, ws.z, state.settings[DT, 0], ticks() + wp.float64(1.0e12), w)
    outward(tree, ws, v, w)


@wp.func
def put_energy(
    tree: Tree, ws: Workspace, loops: Loops, state: State, v: array2, loop_v: array2, energy: array2, w: int
):
    """Kinetic and potential energy, springs and rotors of loop joints included."""
    kinetic, potential = energies(tree, ws, state.q, v, w)
    half = real(0.5)
    k = int(0)
    while k < loops.count:
        kind = loops.kind[k]
        first = loops.q_start[k]
        j = loops.fixed[kind]
        turn = vec3()
        scalars = int(6)
        if kind == SPHERICAL or kind == FREE:
            scalars = 3
            turn = turn_vector(state.loop_q, loops.rest, first + wp.where(kind == FREE, 3, 0), w)
        while j < 6:
            c = j - loops.fixed[kind]
            lv = loops.v_start[k] + c
            stretch = turn[wp.max(j - 3, 0)]
            if j < scalars:
                stretch = item(state.loop_q, first + c, w) - loops.rest[first + c]
            kinetic = kinetic + half * loops.armature[lv] * loop_v[lv, w] * loop_v[lv, w]
            potential = potential + half * loops.stiffness[lv] * stretch * stretch
            j += 1
        k += 1
    energy[0, w] = kinetic
    energy[1, w] = potential


@wp.kernel
def observe_kernel(
    tree: Tree, ws: Workspace, loops: Loops, plan: Plan, state: State, work: Work, v: array2, loop_v: array2,
    position: array2, rotation: array2, velocity: array2, energy: array2,
):  # fmt: skip
    """Velocities at the time of the positions: half a step of all forces on the momenta, rows solved there (M-45); and
    what follows from them."""
    w = wp.tid()
    poses(tree, ws, state.q, state.q, w)
    dt = item(state.clock, 0, w)
    method = int(state.settings[METHOD, 0])
    if method == PAPER_TREE or dt == real(0.0):
        d = int(0)
        while d < plan.dofs:
            set_item(v, d, w, item(state.v, d, w))
            d += 1
    else:
        synchronise(tree, ws, loops, plan, state, work, dt, wp.where(method == PREDICTIVE, real(0.5), real(0.0)), v, w)
    kinematics(tree, ws, state.q, v, w)
    loop_rates(tree, ws, loops, loop_v, w)
    put_bodies(tree, ws, position, rotation, velocity, w)
    put_energy(tree, ws, loops, state, v, loop_v, energy, w)
