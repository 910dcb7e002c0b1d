"""What is stated about the coordinates of joints: initial state, springs, dampers, friction, limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from sharnir.checks import MAX_MAGNITUDE, is_number, per_coordinate, quaternion, vector
from sharnir.compiler.limits import joint_limits
from sharnir.compiler.motions import elementary_motions
from sharnir.enums import MotionKind
from sharnir.errors import fail
from sharnir.model.poses import MOTION_COORDINATES, Pose
from sharnir.rotations import Array, matrix_to_quat
from sharnir.spec.joints import Free, Joint

TREE_AND_LOOP_FIELDS = (
    "q0",
    "v0",
    "rest",
    "stiffness",
    "damping",
    "armature",
    "effort",
)  # of the tree; `loop_…` those of loops
COMMON_FIELDS = ("friction", "limit_lower", "limit_upper", "limit_angles")  # of the tree, then of loops


def zero_coordinates(joint: Joint) -> Array:
    """Coordinates of the reference configuration."""
    q = np.zeros(joint.nq)
    for m in elementary_motions(joint):
        if m.kind == MotionKind.BALL:
            q[m.q + 3] = 1.0
    return q


def coordinate_arrays(
    joints: list[Joint], frames: list[tuple[Pose, Pose]], reference: dict[str, Pose], links: int
) -> dict[str, Any]:
    """Arrays of the tree's coordinates, of the loop joints', and of both; v0 and loop_v0 are NaN where not stated."""
    each = [joint_properties(j, ends, reference) for j, ends in zip(joints, frames, strict=True)]
    fields = {name: _stack(name, each[:links]) for name in TREE_AND_LOOP_FIELDS}
    fields |= {f"loop_{name}": _stack(name, each[links:]) for name in TREE_AND_LOOP_FIELDS}
    return fields | {name: _stack(name, each) for name in COMMON_FIELDS}


def _stack(name: str, each: list[dict[str, Any]]) -> Array:
    empty = np.zeros(0, dtype=np.int32 if name == "limit_angles" else float)
    return np.concatenate([empty, *(c[name] for c in each)])


def joint_properties(joint: Joint, frames: tuple[Pose, Pose], reference: dict[str, Pose]) -> dict[str, Any]:
    """Initial state and properties of a joint's coordinates."""
    element = f"joint {joint.name!r}"
    q0 = zero_coordinates(joint)
    rest = zero_coordinates(joint)
    if isinstance(joint, Free):
        P, C = frames
        pose = (reference[joint.parent] @ P).inverse() @ reference[joint.child] @ C
        q0 = np.concatenate([pose.x, matrix_to_quat(pose.R)])
        rest = q0
    if joint.position is not None:
        q0 = check_positions(element, "position", joint, joint.position)
    if joint.rest is not None:
        rest = check_positions(element, "rest", joint, joint.rest)
    v0 = np.full(joint.nv, np.nan)  # nothing stated
    if joint.velocity is not None:
        v0 = per_coordinate(element, "velocity", joint.velocity, joint.nv)
    stiffness = per_coordinate(element, "stiffness", joint.stiffness, joint.nv, least=0)
    for m in elementary_motions(joint):
        if m.kind == MotionKind.BALL and np.ptp(stiffness[m.v : m.v + 3]) > 0:
            given = stiffness[m.v : m.v + 3].tolist()
            raise fail(element, "stiffness of a quaternion differs between axes", given, "one value for the three")
    return {
        "q0": q0, "v0": v0, "rest": rest, "stiffness": stiffness,
        "damping": per_coordinate(element, "damping", joint.damping, joint.nv, least=0),
        "armature": per_coordinate(element, "armature", joint.armature, joint.nv, least=0),
        "effort": per_coordinate(element, "effort", joint.effort, joint.nv),
        "friction": per_coordinate(element, "friction", joint.friction, joint.nv, least=0),
        **joint_limits(element, joint),
    }  # fmt: skip


def check_positions(element: str, field: str, joint: Joint, value: Any) -> Array:
    """Position coordinates of a joint, quaternions made unit."""
    most = (
        np.inf if any(m.kind == MotionKind.BALL for m in elementary_motions(joint)) else MAX_MAGNITUDE
    )  # a quaternion may have any length
    values = (value,) if joint.nq == 1 and is_number(value) else value
    q = vector(element, field, values, joint.nq, most=most)
    for m in elementary_motions(joint):
        if m.kind == MotionKind.BALL:
            n = MOTION_COORDINATES[MotionKind.BALL][0]
            q[m.q : m.q + n] = quaternion(element, f"{field} quaternion", tuple(q[m.q : m.q + n].tolist()))
    return q
