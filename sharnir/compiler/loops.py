"""Frames of joints in the links they connect; joints that close loops, and whether they close."""

from __future__ import annotations

from typing import Any

import numpy as np

from sharnir.compiler.motions import elementary_motions, relative_pose
from sharnir.errors import fail
from sharnir.model.model import Model
from sharnir.model.poses import IDENTITY_POSE, Pose
from sharnir.rotations import Array
from sharnir.spec.joints import (
    Compound,
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)

# The order is shared with sharnir.model.joint_rows.
LOOP_TYPES: tuple[type[Joint], ...] = (
    Fixed, Revolute, Prismatic, Helical, Cylindrical, Universal, Spherical, Planar, Free,
)  # fmt: skip
JOINT_CLASSES = (*LOOP_TYPES, Compound)  # in the order of sharnir.enums


def joint_arrays(
    joints: list[Joint], frames: list[tuple[Pose, Pose]], index: dict[str, int], in_link: dict[str, Pose]
) -> dict[str, Any]:
    """Kinds, links and frames of all joints, from parent to child as described."""
    ends = [(in_link[j.parent] @ P, in_link[j.child] @ C) for j, (P, C) in zip(joints, frames, strict=True)]
    return {
        "joint_kind": np.array([JOINT_CLASSES.index(type(j)) for j in joints], dtype=np.int32),
        "joint_link": np.array([[index[j.parent], index[j.child]] for j in joints], dtype=np.int32).reshape(-1, 2),
        "joint_rot": np.array([[P.R, C.R] for P, C in ends]).reshape(-1, 2, 3, 3),
        "joint_pos": np.array([[P.x, C.x] for P, C in ends]).reshape(-1, 2, 3),
        "joint_pitch": np.array([elementary_motions(j)[0].pitch for j in joints], dtype=float),
    }


def loop_arrays(fields: dict[str, Any], joints: list[Joint], links: int) -> dict[str, Any]:
    """Those of the joints that close loops, the ones beyond the first `links`, and where their coordinates start."""
    for joint in joints[links:]:
        if isinstance(joint, Compound):
            problem, allowed = "a compound joint cannot close a loop", "another joint of the loop without a position"
            raise fail(f"joint {joint.name!r}", problem, f"{joint.nv} steps", allowed)
    names = ("kind", "link", "rot", "pos", "pitch")
    return {
        **{f"loop_{name}": fields[f"joint_{name}"][links:].copy() for name in names},
        "loop_q_start": np.cumsum([0, *(j.nq for j in joints[links:])], dtype=np.int32),
        "loop_v_start": np.cumsum([0, *(j.nv for j in joints[links:])], dtype=np.int32),
    }


def check_loops_close(model: Model, joints: list[Joint], poses: list[Pose], tolerance: float) -> None:
    """The two frames of every loop joint must be where its motion allows, in the initial configuration."""
    for k, joint in enumerate(joints):
        P, C = (
            (IDENTITY_POSE if link < 0 else poses[link]) @ Pose(model.loop_rot[k, end], model.loop_pos[k, end])
            for end, link in enumerate(model.loop_link[k])
        )
        relative = P.inverse() @ C
        gap, turn = joint_misfit(joint, relative)
        scale = max(1.0, float(np.abs(P.x).max()))
        if gap > tolerance * scale or turn > tolerance:
            raise fail(
                f"joint {joint.name!r}", "its anchors do not coincide in the initial pose of the loop",
                f"a gap of {gap:.6g} m and a misalignment of {np.degrees(turn):.4g}°",
                f"at most {tolerance:g} m and {np.degrees(tolerance):.1g}°",
            )  # fmt: skip
        if joint.position is not None:
            stated = relative_pose(
                elementary_motions(joint), model.loop_q0[model.loop_q_start[k] : model.loop_q_start[k + 1]]
            )
            off = max(_norm(stated.x - relative.x) / scale, _norm(stated.R - relative.R))
            if off > tolerance:
                raise fail(
                    f"joint {joint.name!r}", "its initial position does not fit the loop it closes",
                    f"{joint.position!r}, off by {off:.3g} m or rad", "the position the others give it, or none here",
                )  # fmt: skip


def joint_misfit(joint: Joint, relative: Pose) -> tuple[float, float]:
    """Distance (m) and angle (rad) by which the child's frame is off the joint's motion."""
    d, R = relative.x, relative.R
    tilt = float(np.hypot(R[0, 2], R[1, 2])) if R[2, 2] > 0 else np.pi  # z of C along z of P
    if isinstance(joint, Free):
        return 0.0, 0.0
    if isinstance(joint, Spherical):
        return _norm(d), 0.0
    if isinstance(joint, Universal):
        return _norm(d), abs(float(R[2, 2]))
    if isinstance(joint, Fixed):
        return _norm(d), _norm(R - np.eye(3)) / np.sqrt(2)
    if isinstance(joint, Prismatic):
        return _norm(d[:2]), _norm(R - np.eye(3)) / np.sqrt(2)
    if isinstance(joint, Planar):
        return abs(float(d[2])), tilt
    if isinstance(joint, Revolute):
        return _norm(d), tilt
    if isinstance(joint, Helical):
        pitch = elementary_motions(joint)[0].pitch
        lead = 2 * np.pi * abs(pitch)
        advance = float(d[2]) - pitch * np.arctan2(R[1, 0], R[0, 0])
        if lead > 0:
            advance -= lead * np.round(advance / lead)
        return float(np.hypot(_norm(d[:2]), advance)), tilt
    return _norm(d[:2]), tilt  # cylindrical


def _norm(v: Array) -> float:
    return float(np.linalg.norm(v))
