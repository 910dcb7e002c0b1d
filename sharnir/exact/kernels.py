"""Kernels of the exact solver: one evaluation of the equations of motion, tree and loops, for every world."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.aba import inward, outward
from sharnir.dynamics.advance import integrate_positions
from sharnir.dynamics.forces import (
    add_spring_wrenches,
    passive_forces,
    rotation_from_rest,
    set_applied_wrenches,
    spring_dissipation,
)
from sharnir.dynamics.kinematics import kinematics
from sharnir.dynamics.loop_joints import (
    LoopJoints,
    LoopRows,
    add_row_accelerations,
    apply_row_force,
    evaluate_loop_rows,
    whiten_loop_rows,
)
from sharnir.dynamics.rnea import link_forces, subtree_forces
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.enums import ExternalForces, JointType, MotionKind
from sharnir.kernels.columns import get, get3, put, set_item3
from sharnir.kernels.types import ANGULAR, KERNEL_OPTIONS, QUAT_W, SPATIAL, VEC3, array2, real, vec3
from sharnir.model.joint_rows import JOINT_ROWS

wp.set_module_options(KERNEL_OPTIONS)


@wp.func
def apply_loop_forces(ws: wp.ref[Workspace], loops: wp.ref[LoopJoints], rows: LoopRows, w: int):
    """Apply springs, dampers and constant efforts of loop joints as wrenches on their links; returns the power (W) of
    efforts and dampers, without the springs'."""
    power = real(0.0)
    k = int(0)
    while k < loops.count:
        kind = loops.kind[k]
        fixed = loops.constraint_count[kind]
        q = loops.q_start[k]
        d = loops.v_start[k]
        ball = int(JOINT_ROWS)  # first row of a quaternion
        turn = vec3()
        if kind == JointType.SPHERICAL or kind == JointType.FREE:
            ball = int(VEC3)
            turn = rotation_from_rest(rows.q, loops.rest, q + ball - fixed, w)
        j = int(fixed)
        while j < JOINT_ROWS:
            r = JOINT_ROWS * k + j
            c = d + j - fixed
            stretch = real(0.0)
            if j < ball:
                stretch = rows.q[q + j - fixed, w] - loops.rest[q + j - fixed]
            else:
                stretch = turn[j - ball]
            free = loops.effort[c] - loops.damping[c] * rows.rate[r, w]
            apply_row_force(ws, loops, rows, r, free - loops.stiffness[c] * stretch, w)
            power = power + free * rows.rate[r, w]
            j += 1
        k += 1
    return power


@wp.func
def position_rates(tree: wp.ref[Tree], q: array2, v: array2, dq: array2, w: int):
    """q̇ from v: ½ q∗ω for quaternions."""
    half = real(0.5)
    e = int(0)
    while e < tree.part[tree.links]:
        i = tree.part_q[e]
        d = tree.part_v[e]
        kind = tree.kind[e]
        if kind == MotionKind.BALL:
            r = vec3(q[i, w], q[i + 1, w], q[i + 2, w])
            s = q[i + QUAT_W, w]
            om = vec3(v[d, w], v[d + 1, w], v[d + 2, w])
            dr = (om * s + wp.cross(r, om)) * half
            dq[i, w] = dr[0]
            dq[i + 1, w] = dr[1]
            dq[i + 2, w] = dr[2]
            dq[i + QUAT_W, w] = -half * wp.dot(r, om)
        elif kind == MotionKind.SHIFT:
            dq[i, w] = v[d, w]
            dq[i + 1, w] = v[d + 1, w]
            dq[i + 2, w] = v[d + 2, w]
        elif kind != MotionKind.STILL:
            dq[i, w] = v[d, w]
        e += 1


@wp.kernel
def motion_kernel(
    tree: Tree, ws: Workspace, loops: LoopJoints, rows: LoopRows, q: array2, v: array2, control: array2, tau: array2,
    f_ext: array2, dq: array2, qdd: array2, power: array2,
):  # fmt: skip
    """q̇, v̇ of the tree under all known forces without loop forces, the rows of the loop joints (error, rate,
    acceleration, whitened), and the power of non-conservative forces."""
    w = wp.tid()
    kinematics(tree, ws, q, v, w)
    set_applied_wrenches(tree, ws, f_ext, w)
    add_spring_wrenches(tree, ws, w)
    passive_forces(tree, q, v, tau, w)
    work = -spring_dissipation(tree, ws, w)
    d = int(0)
    while d < tree.dof[tree.links]:
        tau[d, w] = tau[d, w] + control[d, w]
        work = work + (control[d, w] + tree.effort[d] - tree.damping[d] * v[d, w]) * v[d, w]
        d += 1
    if loops.count > 0:
        evaluate_loop_rows(tree, ws, loops, rows, w)
        work = work + apply_loop_forces(ws, loops, rows, w)
    inward(tree, ws, tau, ExternalForces.WRENCHES_AND_SPRINGS, w)
    outward(tree, ws, qdd, w)
    if loops.count > 0:
        add_row_accelerations(tree, ws, loops, rows, w)
        whiten_loop_rows(tree, ws, loops, rows, w)
    position_rates(tree, q, v, dq, w)
    power[0, w] = work


@wp.kernel
def unwhiten_kernel(tree: Tree, ws: Workspace, z: array2, out: array2):
    """Velocity or acceleration that belongs to whitened coordinates z, by the outward pass (M-10)."""
    w = wp.tid()
    d = int(0)
    while d < tree.dof[tree.links]:
        put(ws.z, d, w, z[d, w])
        d += 1
    outward(tree, ws, out, w)


@wp.kernel
def read_z_kernel(tree: Tree, ws: Workspace, z: array2):
    """Copy the whitened coordinates z of the last inward pass."""
    w = wp.tid()
    d = int(0)
    while d < tree.dof[tree.links]:
        z[d, w] = get(ws.z, d, w)
        d += 1


@wp.kernel
def reactions_kernel(tree: Tree, ws: Workspace, loops: LoopJoints, rows: LoopRows, lam: array2, wrench: array2):
    """Wrenches of the tree's joints on their links about the link frames' origins, with forces lam along the rows of
    the loop joints."""
    w = wp.tid()
    r = int(0)
    while r < JOINT_ROWS * loops.count:
        apply_row_force(ws, loops, rows, r, lam[r, w], w)
        r += 1
    link_forces(tree, ws, ExternalForces.WRENCHES_AND_SPRINGS, w)
    subtree_forces(tree, ws, w)
    i = int(0)
    while i < tree.links:
        f = get3(ws.p, 2 * i, w)
        set_item3(wrench, SPATIAL * i, w, f)
        set_item3(wrench, SPATIAL * i + ANGULAR, w, get3(ws.p, 2 * i + 1, w) - wp.cross(get3(ws.x, i, w), f))
        i += 1


@wp.kernel
def advance_kernel(tree: Tree, q: array2, step: array2):
    """q ← q ⊕ step."""
    integrate_positions(tree, q, step, real(1.0), q, wp.tid())
