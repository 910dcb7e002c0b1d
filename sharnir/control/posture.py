"""The task to be near given joint positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sharnir.control.kinematics import Kinematics
from sharnir.control.tasks import Task
from sharnir.enums import MotionKind
from sharnir.errors import fail
from sharnir.model.model import Model, Reals
from sharnir.rotations import turn_between


class PostureTask(Task):
    """Joints near given positions: target is q [nq] of the model, or None for its initial positions.

    joints: names of those that count; left out, all of the tree but free ones. Comes after other tasks where nothing
    else is asked for: priority 1.
    """

    def __init__(
        self, target: Any = None, *, joints: Sequence[str] | None = None, weight: float = 1.0, priority: int = 1,
        rate: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__("posture", weight, priority, rate)
        self.joints, self._given = None if joints is None else tuple(joints), target
        self._model: Model | None = None

    @property
    def target(self) -> Any:
        """[nq] m and rad."""
        return self._given

    @target.setter
    def target(self, value: Any) -> None:
        self._given = value
        if self._model is not None:
            self._target = self._checked(self._model)

    def _checked(self, model: Model) -> Reals:
        return np.asarray(model.checked("posture", model.q0 if self._given is None else self._given, model.nq))

    def place(self, model: Model) -> None:
        """Needs no frame; finds where its joints' coordinates are."""
        names = self.joints
        if names is None:
            tree = zip(model.joint_names[: model.nb], model.joint_types[: model.nb], strict=True)
            names = tuple(name for name, kind in tree if kind != "free")
        self._model, self._target = model, self._checked(model)
        coordinates = [c for name in names for c in tree_coordinates(model, name)]
        q = model.coordinate_positions[: model.nv]
        self.rows = len(coordinates)
        self._J = np.zeros((self.rows, model.nv))
        self._J[np.arange(self.rows), coordinates] = 1.0
        self._plain = np.array([k for k, c in enumerate(coordinates) if q[c] >= 0], dtype=int)
        self._plain_q = np.array([q[c] for c in coordinates if q[c] >= 0], dtype=int)
        ball = model.part_kind == MotionKind.BALL
        starts = zip(model.part_q[ball].tolist(), model.part_v[ball].tolist(), strict=True)
        self._balls = [(coordinates.index(v), first) for first, v in starts if v in coordinates]

    def error(self, at: Kinematics, k: int, q: Reals) -> Reals:
        out = np.empty(self.rows)
        out[self._plain] = self._target[self._plain_q] - q[self._plain_q]
        for row, first in self._balls:
            out[row : row + 3] = turn_between(q[first : first + 4], self._target[first : first + 4])
        return out

    def jacobian(self, at: Kinematics, k: int) -> Reals:
        return self._J


def tree_coordinates(model: Model, joint: str) -> range:
    """Velocity coordinates of a joint of the tree."""
    where = model.joint(joint)
    if where.closes_loop:
        raise fail(f"joint {joint!r}", "closes a loop and follows from the others", joint, "joints of the tree")
    return range(int(where.v.start), int(where.v.stop))
