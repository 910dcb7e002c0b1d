"""Plain numpy on a compiled model, for the checks of the initial configuration."""

from __future__ import annotations

import numpy as np

from sharnir.compiler.motions import BALL, COORDINATES, HERE, SCREW, SLIDE, Motion, Pose
from sharnir.errors import fail
from sharnir.model import Model
from sharnir.rotations import Array

REGULAR = 1e-12  # least ratio of a joint's articulated to its composite inertia


def link_poses(model: Model, q: Array) -> list[Pose]:
    """World poses of all link frames."""
    poses: list[Pose] = []
    for i in range(model.nb):
        pose = HERE if model.parent[i] < 0 else poses[model.parent[i]]
        for e in range(model.part_start[i], model.part_start[i + 1]):
            pose = pose @ Pose(model.part_rot[e], model.part_pos[e]) @ _motion(model, e).pose(q)
        poses.append(pose)
    return poses


def _motion(model: Model, e: int) -> Motion:
    kind, q, v = int(model.part_kind[e]), int(model.part_q[e]), int(model.part_v[e])
    return Motion(np.eye(3), kind, q, v, float(model.part_pitch[e]), int(model.part_sign[e]))


def link_axes(model: Model, i: int, poses: list[Pose], q: Array) -> dict[int, Array]:
    """Joint axes (v, ω) of link i about the world origin, by velocity coordinate."""
    axes = {}
    pose = HERE if model.parent[i] < 0 else poses[model.parent[i]]
    for e in range(model.part_start[i], model.part_start[i + 1]):
        m = _motion(model, e)
        before = pose @ Pose(model.part_rot[e], model.part_pos[e])
        pose = before @ m.pose(q)
        R = before.R if m.sign < 0 else pose.R
        for k in range(COORDINATES[m.kind][1]):
            a = m.sign * R[:, 2 if m.kind in (SCREW, SLIDE) else k]
            turns = m.kind in (SCREW, BALL)
            linear = np.cross(pose.x, a) + m.pitch * a if turns else a
            axes[m.v + k] = np.concatenate([linear, a if turns else np.zeros(3)])
    return axes


def check_inertia_is_regular(model: Model, poses: list[Pose]) -> None:
    """Every joint coordinate must meet some inertia: eliminate them one by one, tips first (M-7)."""
    inertia = [spatial_inertia(model, i, poses[i]) for i in range(model.nb)]
    composite = [I.copy() for I in inertia]
    for i in reversed(range(model.nb)):
        axes = link_axes(model, i, poses, model.q0)
        for d in sorted(axes, reverse=True):
            S = axes[d]
            U = inertia[i] @ S
            D = S @ U + model.armature[d]
            whole = S @ composite[i] @ S + model.armature[d]
            if not REGULAR * whole < D or whole <= 0:
                name = model.joint_names[i]
                coordinate = d - int(model.dof_start[i])
                raise fail(
                    f"joint {name!r}", "the joint-space inertia is singular",
                    f"inertia {max(D, 0.0):.3g} against velocity coordinate {coordinate} of {model.joint_types[i]}",
                    "some mass or rotational inertia of the bodies beyond it in that direction, or armature",
                )  # fmt: skip
            inertia[i] = inertia[i] - np.outer(U, U) / D
        if model.parent[i] >= 0:
            inertia[model.parent[i]] = inertia[model.parent[i]] + inertia[i]
            composite[model.parent[i]] = composite[model.parent[i]] + composite[i]


def spatial_inertia(model: Model, i: int, pose: Pose) -> Array:
    """[6, 6] inertia of a link about the world origin, for velocities (v, ω)."""
    m = model.mass[i]
    r = pose.x + pose.R @ model.com[i]
    rx = np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])
    J = pose.R @ model.inertia[i] @ pose.R.T
    return np.block([[m * np.eye(3), -m * rx], [m * rx, J - m * rx @ rx]])
