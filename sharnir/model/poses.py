"""Poses of frames, and the elementary motions that joints are made of, in numpy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sharnir.enums import MotionKind
from sharnir.rotations import Array, quat_to_matrix, rotation_z

MOTION_COORDINATES: dict[int, tuple[int, int]] = {
    MotionKind.STILL: (0, 0),
    MotionKind.SCREW: (1, 1),
    MotionKind.SLIDE: (1, 1),
    MotionKind.BALL: (4, 3),
    MotionKind.SHIFT: (3, 3),
}


IDENTITY3 = np.eye(3)


class Pose(NamedTuple):
    """A rigid transformation y ↦ R y + x."""

    R: Array
    x: Array

    def __matmul__(self, other: Pose) -> Pose:
        return Pose(self.R @ other.R, self.x + self.R @ other.x)

    def inverse(self) -> Pose:
        return Pose(self.R.T, -self.R.T @ self.x)


IDENTITY_POSE = Pose(IDENTITY3, np.zeros(3))


class ElementaryMotion(NamedTuple):
    """A constant pose followed by an elementary motion (MotionKind)."""

    before: Pose  # constant pose in front of the motion
    kind: int
    q: int  # first coordinates, counted from the joint's
    v: int
    pitch: float = 0.0  # m/rad
    sign: int = 1  # -1: the joint is crossed from child to parent

    def pose(self, q: Array) -> Pose:
        """The motion at joint coordinates q."""
        c = self.sign * q[self.q : self.q + MOTION_COORDINATES[self.kind][0]]
        if self.kind == MotionKind.SCREW:
            return Pose(rotation_z(c[0]), np.array([0.0, 0.0, self.pitch * c[0]]))
        if self.kind == MotionKind.SLIDE:
            return Pose(IDENTITY3, np.array([0.0, 0.0, c[0]]))
        if self.kind == MotionKind.BALL:
            R = quat_to_matrix(c)
            return Pose(R if self.sign > 0 else R.T, np.zeros(3))
        return Pose(IDENTITY3, c) if self.kind == MotionKind.SHIFT else IDENTITY_POSE
