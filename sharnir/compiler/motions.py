"""Joints as sequences of elementary motions, and the frames of joints.

A joint from frame P (on the parent) to frame C (on the child) is k₁ m₁ k₂ m₂ … : constant poses kⱼ and elementary
motions mⱼ, each a screw about z, a slide along z, a ball or a translation. The inverse is the inverses in reverse
order, so a joint may be crossed in either direction of the tree without changing the meaning of its coordinates.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from sharnir.checks import direction, number, vector
from sharnir.enums import MotionKind
from sharnir.errors import ModelError, fail, shown, unknown
from sharnir.model.poses import IDENTITY_POSE, ElementaryMotion, Pose
from sharnir.rotations import Array, frame_matrix
from sharnir.spec.elements import Frame
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
    Step,
    Universal,
)

# columns are the new axes in the old ones: z → x, z → y, and back
Z_TO_X = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
Z_TO_Y = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])


def _rotated_pose(R: Array) -> Pose:
    return Pose(R, np.zeros(3))


_SEQUENCES: dict[type[Joint], list[ElementaryMotion]] = {
    Fixed: [ElementaryMotion(IDENTITY_POSE, MotionKind.STILL, 0, 0)],
    Revolute: [ElementaryMotion(IDENTITY_POSE, MotionKind.SCREW, 0, 0)],
    Prismatic: [ElementaryMotion(IDENTITY_POSE, MotionKind.SLIDE, 0, 0)],
    Cylindrical: [
        ElementaryMotion(IDENTITY_POSE, MotionKind.SLIDE, 0, 0),
        ElementaryMotion(IDENTITY_POSE, MotionKind.SCREW, 1, 1),
    ],
    Universal: [
        ElementaryMotion(IDENTITY_POSE, MotionKind.SCREW, 0, 0),
        ElementaryMotion(_rotated_pose(Z_TO_X), MotionKind.SCREW, 1, 1),
    ],
    Spherical: [ElementaryMotion(IDENTITY_POSE, MotionKind.BALL, 0, 0)],
    Planar: [
        ElementaryMotion(_rotated_pose(Z_TO_X), MotionKind.SLIDE, 0, 0),
        ElementaryMotion(_rotated_pose(Z_TO_X.T @ Z_TO_Y), MotionKind.SLIDE, 1, 1),
        ElementaryMotion(_rotated_pose(Z_TO_Y.T), MotionKind.SCREW, 2, 2),
    ],
    Free: [
        ElementaryMotion(IDENTITY_POSE, MotionKind.SHIFT, 0, 0),
        ElementaryMotion(IDENTITY_POSE, MotionKind.BALL, 3, 3),
    ],
}
STEP_KINDS = {"hinge": MotionKind.SCREW, "slide": MotionKind.SLIDE}


def elementary_motions(joint: Joint) -> list[ElementaryMotion]:
    """Elementary motions of a joint, from parent to child."""
    if isinstance(joint, Helical):
        pitch = number(f"joint {joint.name!r}", "pitch", joint.pitch)
        return [ElementaryMotion(IDENTITY_POSE, MotionKind.SCREW, 0, 0, pitch / (2 * np.pi))]
    if isinstance(joint, Compound):
        return compound_motions(joint)
    return _SEQUENCES[type(joint)]


def compound_motions(joint: Compound) -> list[ElementaryMotion]:
    """The steps, each behind the pose of its frame in the frame of the one before it."""
    frames = step_frames(joint)
    offsets = [IDENTITY_POSE, *(a.inverse() @ b for a, b in pairwise(frames))]
    return [
        ElementaryMotion(p, STEP_KINDS[s.kind], k, k) for k, (p, s) in enumerate(zip(offsets, joint.steps, strict=True))
    ]


def step_frames(joint: Compound) -> list[Pose]:
    """Frames of the steps in the world, in the reference configuration."""
    element = f"joint {joint.name!r}"
    if not isinstance(joint.steps, tuple) or not joint.steps or not all(isinstance(s, Step) for s in joint.steps):
        raise fail(element, "steps is not a list of steps", shown(joint.steps), "at least one Step")
    frames = []
    for k, step in enumerate(joint.steps):
        if not isinstance(step.kind, str) or step.kind not in STEP_KINDS:
            raise ModelError(f"{element}, step {k}: {unknown('kind', step.kind, STEP_KINDS)}")
        anchor = vector(f"{element}, step {k}", "anchor", step.anchor, 3)
        frames.append(Pose(frame_axes(f"{element}, step {k}", "", step.axis, None), anchor))
    return frames


def reverse_motions(sequence: list[ElementaryMotion]) -> tuple[list[ElementaryMotion], Pose]:
    """The inverse of k₁m₁k₂m₂…: motions from child to parent, and the constant pose left behind them."""
    out = []
    before = IDENTITY_POSE
    for m in reversed(sequence):
        out.append(m._replace(before=before, sign=-m.sign))
        before = m.before.inverse()
    return out, before


def relative_pose(sequence: list[ElementaryMotion], q: Array) -> Pose:
    """Pose of the last frame in the first at coordinates q."""
    pose = IDENTITY_POSE
    for m in sequence:
        pose = pose @ m.before @ m.pose(q)
    return pose


def is_in_body_frames(joint: Joint) -> bool:
    return joint.parent_frame is not None or joint.child_frame is not None


def body_frame(element: str, field: str, frame: Frame | None) -> Pose:
    """A Frame as a pose in its body."""
    if frame is None:
        return IDENTITY_POSE
    if not isinstance(frame, Frame):
        raise fail(element, f"{field} is not a frame", repr(frame), "Frame(anchor=…, axis=…, x_axis=…)")
    anchor = vector(element, f"{field} anchor", frame.anchor, 3)
    return Pose(frame_axes(element, f"{field} ", frame.axis, frame.x_axis), anchor)


def frame_axes(element: str, prefix: str, axis: object, x_axis: object) -> Array:
    """Rotation matrix of a joint frame from its z axis and, if given, its x axis."""
    z = direction(element, f"{prefix}axis", (0.0, 0.0, 1.0) if axis is None else axis)
    if x_axis is None:
        return frame_matrix(z, None)
    x = direction(element, f"{prefix}x_axis", x_axis)
    if np.linalg.norm(np.cross(x, z)) < 1e-6:
        raise fail(element, f"{prefix}x_axis is parallel to the axis", f"{x_axis!r}", "any other direction")
    return frame_matrix(z, x)


def world_frames(joint: Joint) -> tuple[Pose, Pose]:
    """Frames P and C of a joint placed in the world, as they are there in the reference configuration."""
    element = f"joint {joint.name!r}"
    if isinstance(joint, Compound):
        frames = step_frames(joint)
        return frames[0], frames[-1]
    anchor = np.zeros(3) if joint.anchor is None else vector(element, "anchor", joint.anchor, 3)
    if isinstance(joint, Universal):
        z = direction(element, "axis", (0.0, 0.0, 1.0) if joint.axis is None else joint.axis)
        second = direction(element, "axis2", (1.0, 0.0, 0.0) if joint.axis2 is None else joint.axis2)
        if abs(z @ second) > 1e-6:
            allowed = "perpendicular axes (two Revolute joints for others)"
            raise fail(element, "axis and axis2 are not perpendicular", f"{joint.axis!r} and {joint.axis2!r}", allowed)
        P = Pose(frame_matrix(z, second), anchor)
        return P, P @ Pose(Z_TO_X, np.zeros(3))
    P = Pose(frame_axes(element, "", joint.axis, joint.x_axis), anchor)
    return P, P
