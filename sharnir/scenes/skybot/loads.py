"""What the robot's joints carry at rest: weight of its parts, and the ground's forces on both feet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sharnir.control.kinematics import Kinematics, LinkFrame
from sharnir.dynamics.evaluator import Dynamics
from sharnir.model.model import Model, Reals
from sharnir.spec.elements import Vector

FEET = ("left_foot", "right_foot")
LEVER = 0.1  # m: torques of the ground on a foot count as forces at such a lever


class Push(NamedTuple):
    """A force (N, world axes) on a body at a point of its frame (m)."""

    body: str
    point: Vector
    force: Vector


class Loads:
    """Torques that hold the robot still at given positions, standing on both feet."""

    def __init__(self, model: Model) -> None:
        self._model, self._dynamics = model, Dynamics(model)
        self._q, self._weight = (array.numpy()[:, 0] for array in (self._dynamics.q, self._dynamics.tau))
        self._root = model.joint("root").v
        self._kinematics: dict[tuple[tuple[str, Vector], ...], Kinematics] = {}  # by what is pushed, and where

    def at(self, q: Reals, pushes: Sequence[Push] = ()) -> Reals:
        """[motors] N m, at positions q [nq] of the model and with what else acts on the robot. Of all forces of the
        ground that balance it, the least."""
        self._q[:] = q
        self._dynamics.rnea()
        torque, J = self._weight.copy(), self._jacobians(q, pushes)
        for push, lever in zip(pushes, J[len(FEET) :], strict=True):
            torque -= lever[:3].T @ np.asarray(push.force)
        feet = J[: len(FEET)].reshape(-1, self._model.nv)
        scale = np.tile(np.repeat([1.0, LEVER], 3), len(FEET))
        ground = scale * (np.linalg.pinv(feet[:, self._root].T * scale) @ torque[self._root])
        return np.asarray((torque - feet.T @ ground)[self._model.actuator_coordinate])

    def _jacobians(self, q: Reals, pushes: Sequence[Push]) -> Reals:
        """[feet and pushes, 6, nv] of the points where forces act."""
        points = tuple((push.body, push.point) for push in pushes)
        if points not in self._kinematics:
            places = [*((foot, (0.0, 0.0, 0.0)) for foot in FEET), *points]
            self._kinematics[points] = Kinematics(self._model, [self._place(*place) for place in places], [])
        self._kinematics[points].at(q)
        return self._kinematics[points].J

    def _place(self, body: str, point: Vector) -> LinkFrame:
        link, m = self._model.body(body), self._model
        return LinkFrame(link, m.body_pos[link] + m.body_rot[link] @ np.asarray(point), m.body_rot[link])
