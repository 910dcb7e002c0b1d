"""Poses of bodies only: all that a picture needs, without the velocities that `sharnir.impulse.step.observe` solves
for."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.kernels import store_body_poses
from sharnir.dynamics.kinematics import poses
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.kernels.types import KERNEL_OPTIONS, array2

wp.set_module_options(KERNEL_OPTIONS)


@wp.kernel
def poses_kernel(tree: Tree, ws: Workspace, q: array2, position: array2, rotation: array2):
    """Poses of the body frames at positions q."""
    w = wp.tid()
    poses(tree, ws, q, q, w)
    store_body_poses(tree, ws, position, rotation, w)
