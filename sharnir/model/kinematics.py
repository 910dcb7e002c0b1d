"""Forward kinematics of a compiled model in numpy, for checks on the host: poses, motion axes, spatial inertias."""

from __future__ import annotations

import numpy as np

from sharnir.enums import MotionKind
from sharnir.model.model import Model
from sharnir.model.poses import IDENTITY_POSE, MOTION_COORDINATES, ElementaryMotion, Pose
from sharnir.rotations import Array


def link_poses(model: Model, q: Array) -> list[Pose]:
    """World poses of all link frames."""
    poses: list[Pose] = []
    for i in range(model.nb):
        pose = IDENTITY_POSE if model.parent[i] < 0 else poses[model.parent[i]]
        for e in range(model.part_start[i], model.part_start[i + 1]):
            pose = pose @ Pose(model.part_rot[e], model.part_pos[e]) @ _part_motion(model, e).pose(q)
        poses.append(pose)
    return poses


def _part_motion(model: Model, e: int) -> ElementaryMotion:
    kind, q, v = int(model.part_kind[e]), int(model.part_q[e]), int(model.part_v[e])
    return ElementaryMotion(IDENTITY_POSE, kind, q, v, float(model.part_pitch[e]), int(model.part_sign[e]))


def link_axes(model: Model, i: int, poses: list[Pose], origin: Array) -> dict[int, Array]:
    """Joint axes (v, ω) of link i about a point in the world, by velocity coordinate, at q0."""
    axes = {}
    pose = IDENTITY_POSE if model.parent[i] < 0 else poses[model.parent[i]]
    for e in range(model.part_start[i], model.part_start[i + 1]):
        m = _part_motion(model, e)
        before = pose @ Pose(model.part_rot[e], model.part_pos[e])
        pose = before @ m.pose(model.q0)
        R = before.R if m.sign < 0 else pose.R
        for k in range(MOTION_COORDINATES[m.kind][1]):
            a = m.sign * R[:, 2 if m.kind in (MotionKind.SCREW, MotionKind.SLIDE) else k]
            turns = m.kind in (MotionKind.SCREW, MotionKind.BALL)
            linear = np.cross(pose.x - origin, a) + m.pitch * a if turns else a
            axes[m.v + k] = np.concatenate([linear, a if turns else np.zeros(3)])
    return axes


def tree_pivots(model: Model, poses: list[Pose]) -> list[Array]:
    """[nb] origin of the root link of every link's tree, m: moments about it lose no digits far from the world's
    origin."""
    roots = np.flatnonzero(model.parent < 0)
    return [poses[roots[k]].x for k in model.tree]


def spatial_inertia(model: Model, i: int, pose: Pose, origin: Array) -> Array:
    """[6, 6] inertia of a link about a point in the world, for velocities (v, ω)."""
    m = model.mass[i]
    r = pose.x + pose.R @ model.com[i] - origin
    rx = np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])
    J = pose.R @ model.inertia[i] @ pose.R.T
    return np.block([[m * np.eye(3), -m * rx], [m * rx, J - m * rx @ rx]])
