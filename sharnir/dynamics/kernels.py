"""The tree algorithms as kernels, a thread per world: thin compositions of the stage functions."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.aba import inward, outward, whiten_coordinate
from sharnir.dynamics.crba import composite_inertias, mass_matrix
from sharnir.dynamics.energy import totals
from sharnir.dynamics.forces import add_spring_wrenches, passive_forces, set_applied_wrenches
from sharnir.dynamics.jacobian import point_jacobian
from sharnir.dynamics.kinematics import kinematics
from sharnir.dynamics.rnea import accelerate, joint_forces, link_forces, subtree_forces
from sharnir.dynamics.tree import Tree, Workspace, make_row
from sharnir.enums import ExternalForces
from sharnir.kernels.columns import get3, get33, set_item3
from sharnir.kernels.types import ANGULAR, KERNEL_OPTIONS, MAT33, MAT33_ROW1, MAT33_ROW2, SPATIAL, VEC3, array2, vec3

wp.set_module_options(KERNEL_OPTIONS)


@wp.kernel
def aba_kernel(tree: Tree, ws: Workspace, q: array2, v: array2, tau: array2, f_ext: array2, loaded: int, qdd: array2):
    """Forward dynamics: accelerations qdd for joint forces tau; loaded: an ExternalForces."""
    w = wp.tid()
    kinematics(tree, ws, q, v, w)
    if loaded > 0:
        set_applied_wrenches(tree, ws, f_ext, w)
    if loaded == ExternalForces.WRENCHES_AND_SPRINGS:
        add_spring_wrenches(tree, ws, w)
    inward(tree, ws, tau, loaded, w)
    outward(tree, ws, qdd, w)


@wp.kernel
def rnea_kernel(
    tree: Tree, ws: Workspace, q: array2, v: array2, qdd: array2, f_ext: array2, loaded: int, tau: array2,
    wrench: array2,
):  # fmt: skip
    """Inverse dynamics: joint forces tau for accelerations qdd, and the wrench of every joint on its link about the
    link frame's origin."""
    w = wp.tid()
    kinematics(tree, ws, q, v, w)
    if loaded > 0:
        set_applied_wrenches(tree, ws, f_ext, w)
    if loaded == ExternalForces.WRENCHES_AND_SPRINGS:
        add_spring_wrenches(tree, ws, w)
    accelerate(tree, ws, qdd, w)
    link_forces(tree, ws, loaded, w)
    subtree_forces(tree, ws, w)
    joint_forces(tree, ws, qdd, tau, w)
    i = int(0)
    while i < tree.links:
        f = get3(ws.p, 2 * i, w)
        n = get3(ws.p, 2 * i + 1, w) - wp.cross(get3(ws.x, i, w), f)
        set_item3(wrench, SPATIAL * i, w, f)
        set_item3(wrench, SPATIAL * i + ANGULAR, w, n)
        i += 1


@wp.kernel
def crba_kernel(tree: Tree, ws: Workspace, q: array2, v: array2, M: array2):
    """Mass matrix M [nv · nv] at q."""
    w = wp.tid()
    kinematics(tree, ws, q, v, w)
    composite_inertias(tree, ws, w)
    mass_matrix(tree, ws, M, w)


@wp.kernel
def whitened_kernel(tree: Tree, ws: Workspace, q: array2, v: array2, tau: array2, W: array2):
    """W [nv · nv] with M⁻¹ = W Wᵀ at q."""
    w = wp.tid()
    kinematics(tree, ws, q, v, w)
    inward(tree, ws, tau, 0, w)
    dofs = tree.dof[tree.links]
    i = int(0)
    while i < tree.links:
        d = tree.dof[i]
        while d < tree.dof[i + 1]:
            whiten_coordinate(tree, ws, i, d, make_row(W, d * dofs), w)
            d += 1
        i += 1


@wp.kernel
def jacobian_kernel(
    tree: Tree, ws: Workspace, q: array2, v: array2, link: wp.array(dtype=int), point: array2, J: array2
):
    """Jacobian J [6 · nv] of a point of a link at q."""
    w = wp.tid()
    kinematics(tree, ws, q, v, w)
    point_jacobian(tree, ws, link[0], vec3(point[0, 0], point[1, 0], point[2, 0]), J, w)


@wp.kernel
def totals_kernel(tree: Tree, ws: Workspace, q: array2, v: array2, out: array2):
    w = wp.tid()
    kinematics(tree, ws, q, v, w)
    totals(tree, ws, q, v, out, w)


@wp.kernel
def passive_kernel(tree: Tree, q: array2, v: array2, tau: array2):
    w = wp.tid()
    passive_forces(tree, q, v, tau, w)


@wp.kernel
def bodies_kernel(
    tree: Tree, ws: Workspace, q: array2, v: array2, position: array2, rotation: array2, velocity: array2
):
    w = wp.tid()
    kinematics(tree, ws, q, v, w)
    store_body_states(tree, ws, position, rotation, velocity, w)


@wp.func
def store_body_poses(tree: wp.ref[Tree], ws: wp.ref[Workspace], position: array2, rotation: array2, w: int):
    """Store positions [3 link] and rotation matrices [9 link] of the body frames in the world."""
    i = int(0)
    while i < tree.links:
        R = get33(ws.R, i, w)
        r = get3(ws.x, i, w) + R * tree.body_pos[i]
        set_item3(position, VEC3 * i, w, r + get3(ws.O, tree.root[i], w))
        B = R * tree.body_rot[i]
        set_item3(rotation, MAT33 * i, w, vec3(B[0, 0], B[0, 1], B[0, 2]))
        set_item3(rotation, MAT33 * i + MAT33_ROW1, w, vec3(B[1, 0], B[1, 1], B[1, 2]))
        set_item3(rotation, MAT33 * i + MAT33_ROW2, w, vec3(B[2, 0], B[2, 1], B[2, 2]))
        i += 1


@wp.func
def store_body_states(
    tree: wp.ref[Tree], ws: wp.ref[Workspace], position: array2, rotation: array2, velocity: array2, w: int
):
    """Store poses of the body frames, and velocities [6 link] of their origins with angular velocities, world axes."""
    store_body_poses(tree, ws, position, rotation, w)
    i = int(0)
    while i < tree.links:
        r = get3(ws.x, i, w) + get33(ws.R, i, w) * tree.body_pos[i]
        om = get3(ws.V, 2 * i + 1, w)
        set_item3(velocity, SPATIAL * i, w, get3(ws.V, 2 * i, w) + wp.cross(om, r))
        set_item3(velocity, SPATIAL * i + ANGULAR, w, om)
        i += 1
