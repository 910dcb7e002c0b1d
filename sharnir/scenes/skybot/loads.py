"""What the robot's joints carry at rest: weight of its parts, and the ground's forces on both feet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sharnir.dynamics.evaluator import Dynamics
from sharnir.model import Model, Reals
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
        self._feet = [model.body(name) for name in FEET]
        self._root = model.joint("root").v

    def at(self, q: Reals, pushes: Sequence[Push] = ()) -> Reals:
        """[motors] N m, at positions q [nq] of the model and with what else acts on the robot. Of all forces of the
        ground that balance it, the least."""
        d, m = self._dynamics, self._model
        d.q.assign(q[:, None])
        torque = d.rnea().numpy()[:, 0].copy()
        for push in pushes:
            torque -= self._jacobian(m.body(push.body), push.point)[:3].T @ np.asarray(push.force)
        J = np.concatenate([self._jacobian(link) for link in self._feet])
        scale = np.tile(np.repeat([1.0, LEVER], 3), len(self._feet))
        ground = scale * (np.linalg.pinv(J[:, self._root].T * scale) @ torque[self._root])
        return np.asarray((torque - J.T @ ground)[m.actuator_coordinate])

    def _jacobian(self, link: int, point: Vector = (0.0, 0.0, 0.0)) -> Reals:
        """[6, nv] of a point of a body's frame (m)."""
        m = self._model
        place = m.body_pos[link] + m.body_rot[link] @ np.asarray(point)
        return np.array(self._dynamics.jacobian(link, place).numpy()).reshape(6, m.nv)
