"""Kernels of inverse kinematics: poses and Jacobians of frames, centres of mass and loop joints in one launch."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.advance import integrate_positions
from sharnir.dynamics.kinematics import poses
from sharnir.dynamics.loop_joints import (
    ROW_TABLE_ENTRY,
    LoopJoints,
    evaluate_row,
    loop_frames_of,
    measure_joint_coordinates,
)
from sharnir.dynamics.tree import DenseRow, Tree, Workspace, Wrench, ints, make_row, make_wrench
from sharnir.kernels.columns import get, get3, get33, put, put3
from sharnir.kernels.types import ANGULAR, KERNEL_OPTIONS, SPATIAL, VEC3, array2, mat33, real, vec3
from sharnir.model.joint_rows import JOINT_ROWS

wp.set_module_options(KERNEL_OPTIONS)


@wp.struct
class KinematicsRequest:
    """What to compute: frames fixed to links, and centres of mass of groups of links."""

    frames: int
    groups: int
    dofs: int
    link: ints  # [frame]
    pos: wp.array(dtype=vec3)  # [frame] m, in the link
    rot: wp.array(dtype=mat33)  # [frame] in the link
    share: wp.array(dtype=real)  # [group · links + link] mass over that of the group, 0 of links outside


@wp.struct
class KinematicsResult:
    """Results. Jacobians are over velocity coordinates, in world axes; entries off a frame's path to the root stay
    zero."""

    pos: array2  # [3 frame] m, world
    rot: array2  # [9 frame]
    J: array2  # [6 frame · dofs] velocity and angular velocity
    center: array2  # [3 group] m, world
    Jc: array2  # [3 group · dofs]
    g: array2  # [6 loop] errors of a loop joint's constraints, 0 of its coordinates
    Jl: array2  # [6 loop · dofs] constraints, then coordinates
    loop_q: array2  # [loop q] coordinates
    near: array2  # [loop q] from which angles are counted on


@wp.func
def frame_jacobian(
    tree: wp.ref[Tree], ws: wp.ref[Workspace], wanted: KinematicsRequest, found: KinematicsResult, f: int
):
    """Pose and Jacobian (6 rows) of frame f."""
    n = wanted.dofs
    i = int(wanted.link[f])
    R = get33(ws.R, i, 0)
    r = get3(ws.x, i, 0) + R * wanted.pos[f]
    put3(found.pos, f, 0, r + get3(ws.O, tree.root[i], 0))
    B = R * wanted.rot[f]
    put3(found.rot, VEC3 * f, 0, vec3(B[0, 0], B[0, 1], B[0, 2]))
    put3(found.rot, VEC3 * f + 1, 0, vec3(B[1, 0], B[1, 1], B[1, 2]))
    put3(found.rot, VEC3 * f + 2, 0, vec3(B[2, 0], B[2, 1], B[2, 2]))
    while i >= 0:
        d = tree.dof[i]
        while d < tree.dof[i + 1]:
            Sw = get3(ws.S, 2 * d + 1, 0)
            Sv = get3(ws.S, 2 * d, 0) + wp.cross(Sw, r)
            k = int(0)
            while k < 3:
                put(found.J, (SPATIAL * f + k) * n + d, 0, Sv[k])
                put(found.J, (SPATIAL * f + ANGULAR + k) * n + d, 0, Sw[k])
                k += 1
            d += 1
        i = tree.parent[i]


@wp.func
def com_jacobian(tree: wp.ref[Tree], ws: wp.ref[Workspace], wanted: KinematicsRequest, found: KinematicsResult, c: int):
    """Centre of mass of group c of links and its Jacobian (3 rows), by composite masses of subtrees. Uses ws.F as
    scratch."""
    n = wanted.dofs
    center = vec3()
    i = int(0)
    while i < tree.links:
        m = wanted.share[c * tree.links + i]
        r = (get3(ws.x, i, 0) + get33(ws.R, i, 0) * tree.com[i]) * m
        put3(ws.F, 2 * i, 0, r)
        put3(ws.F, 2 * i + 1, 0, vec3(m, real(0.0), real(0.0)))
        center = center + r + get3(ws.O, tree.root[i], 0) * m
        i += 1
    put3(found.center, c, 0, center)
    i = tree.links - 1
    while i >= 0:
        r = get3(ws.F, 2 * i, 0)
        subtree_share = get3(ws.F, 2 * i + 1, 0)  # share of the subtree
        d = tree.dof[i]
        while d < tree.dof[i + 1]:
            J = get3(ws.S, 2 * d, 0) * subtree_share[0] + wp.cross(get3(ws.S, 2 * d + 1, 0), r)
            k = int(0)
            while k < 3:
                put(found.Jc, (VEC3 * c + k) * n + d, 0, J[k])
                k += 1
            d += 1
        lam = tree.parent[i]
        if lam >= 0:
            put3(ws.F, 2 * lam, 0, get3(ws.F, 2 * lam, 0) + r)
            put3(ws.F, 2 * lam + 1, 0, get3(ws.F, 2 * lam + 1, 0) + subtree_share)
        i -= 1


@wp.func
def add_jacobian_row(tree: wp.ref[Tree], ws: wp.ref[Workspace], row: DenseRow, link: int, wrench: Wrench):
    """J_d += S_d · (f, n) for all coordinates d from a link to its root: Jacobian row of a wrench about the pivot."""
    i = int(link)
    while i >= 0:
        d = tree.dof[i]
        while d < tree.dof[i + 1]:
            rate = wp.dot(wrench.f, get3(ws.S, 2 * d, 0)) + wp.dot(wrench.n, get3(ws.S, 2 * d + 1, 0))
            put(row.array, row.start + d, 0, get(row.array, row.start + d, 0) + rate)
            d += 1
        i = tree.parent[i]


@wp.func
def loop_jacobian(
    tree: wp.ref[Tree], ws: wp.ref[Workspace], loops: wp.ref[LoopJoints], found: KinematicsResult, k: int
):
    """Errors, coordinates and Jacobian of the six rows of loop joint k."""
    n = loops.dofs
    s = loop_frames_of(tree, ws, loops, k, 0)
    kind = loops.kind[k]
    j = int(0)
    while j < JOINT_ROWS:
        r = JOINT_ROWS * k + j
        g, force, torque = evaluate_row(loops, s, k, (JOINT_ROWS * kind + j) * ROW_TABLE_ENTRY)
        if j >= loops.constraint_count[kind]:
            g = real(0.0)
        put(found.g, r, 0, g)
        d = int(0)
        while d < n:
            put(found.Jl, r * n + d, 0, real(0.0))
            d += 1
        row = make_row(found.Jl, r * n)
        add_jacobian_row(tree, ws, row, s.b, make_wrench(force, torque + wp.cross(s.rb, force)))
        add_jacobian_row(tree, ws, row, s.a, make_wrench(-force, -(torque + wp.cross(s.ra, force))))
        j += 1
    measure_joint_coordinates(loops, found.loop_q, found.near, s, k, 0)


@wp.kernel
def kinematics_kernel(
    tree: Tree,
    ws: Workspace,
    loops: LoopJoints,
    wanted: KinematicsRequest,
    q: array2,
    v: array2,
    found: KinematicsResult,
):
    """Everything requested at q, of one world on the CPU."""
    poses(tree, ws, q, v, wp.tid())
    f = int(0)
    while f < wanted.frames:
        frame_jacobian(tree, ws, wanted, found, f)
        f += 1
    c = int(0)
    while c < wanted.groups:
        com_jacobian(tree, ws, wanted, found, c)
        c += 1
    k = int(0)
    while k < loops.count:
        loop_jacobian(tree, ws, loops, found, k)
        k += 1


@wp.kernel
def integrate_kernel(tree: Tree, q: array2, step: array2, out: array2):
    """out = q ⊕ step."""
    integrate_positions(tree, q, step, real(1.0), out, wp.tid())
