"""What inverse kinematics is asked for: places, directions and poses of frames, centres of mass, postures.

Every task has a target that may be set at any time, a weight (of the squared error against others of its priority) and
a priority: 0 first; tasks of a later one move only what the earlier ones leave free. target_rate: how fast the target
itself moves, for following. rate: 1/s at which errors shrink while following; None: within a step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sharnir.checks import direction, number, quaternion, vector
from sharnir.control.kinematics import Kinematics, LinkFrame
from sharnir.errors import fail, shown
from sharnir.model.model import Model, Reals, check_index
from sharnir.rotations import cross, matrix_to_quat, quat_to_matrix, turn_between
from sharnir.spec.elements import Vector, plain

HERE = (0.0, 0.0, 0.0)
UPRIGHT = (0.0, 0.0, 0.0, 1.0)
ALL = (True, True, True)


class Task:
    """Base of all tasks. rows: of its error."""

    rows: int

    def __init__(self, name: str, weight: float, priority: int, rate: float | None) -> None:
        self.name = name
        self.weight = number(name, "weight", weight, above=0)
        self.priority = check_index(name, "priority", priority, 1000, "the order of tasks")
        self.rate = None if rate is None else number(name, "rate", rate, above=0)
        self._target_rate: Reals | None = None

    def place(self, model: Model) -> LinkFrame | None:
        """The frame it needs, if any."""
        return None

    def group(self, model: Model) -> Reals | None:
        """[links] shares of the mass whose centre it needs, if any."""
        return None

    def error(self, at: Kinematics, k: int, q: Reals) -> Reals:
        """[rows] m or rad, from where it is to the target; k: number of its frame or group."""
        raise NotImplementedError

    def jacobian(self, at: Kinematics, k: int) -> Reals:
        """[rows, nv] rate of what shrinks the error."""
        raise NotImplementedError

    @property
    def target_rate(self) -> Reals | None:
        """[rows] m/s or rad/s of the target, world axes."""
        return self._target_rate

    @target_rate.setter
    def target_rate(self, value: Any) -> None:
        self._target_rate = None if value is None else vector(self.name, "target_rate", value, self.rows)


class FrameTask(Task):
    """Base of tasks of a frame on a body: point (m) and orientation (quaternion x, y, z, w) in the body."""

    def __init__(
        self, kind: str, body: str, point: Vector, orientation: Vector, weight: float, priority: int, rate: float | None
    ) -> None:
        super().__init__(f"{kind} of {body!r}", weight, priority, rate)
        self.body = body
        self.point = vector(self.name, "point", point, 3)
        self.orientation = quaternion(self.name, "orientation", orientation)

    def place(self, model: Model) -> LinkFrame:
        i = model.body(self.body)
        turned = model.body_rot[i] @ quat_to_matrix(self.orientation)
        return LinkFrame(i, model.body_pos[i] + model.body_rot[i] @ self.point, turned)


class PositionTask(FrameTask):
    """A point of a body at a place of the world (m). axes: which of x, y, z count."""

    def __init__(
        self, body: str, target: Vector, *, point: Vector = HERE, axes: Any = ALL, weight: float = 1.0,
        priority: int = 0, rate: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__("position", body, point, UPRIGHT, weight, priority, rate)
        self._axes = chosen(self.name, axes)
        self.rows = len(self._axes)
        self.target = target

    @property
    def target(self) -> Reals:
        """[3] m, world."""
        return self._target

    @target.setter
    def target(self, value: Any) -> None:
        self._target = vector(self.name, "target", value, 3)

    def error(self, at: Kinematics, k: int, q: Reals) -> Reals:
        return (self._target - at.position[k])[self._axes]

    def jacobian(self, at: Kinematics, k: int) -> Reals:
        return at.J[k, :3] if self.rows == 3 else at.J[k, self._axes]


class OrientationTask(FrameTask):
    """Axes of a frame on a body along given ones: target is their quaternion (x, y, z, w) in the world."""

    rows = 3

    def __init__(
        self, body: str, target: Vector, *, orientation: Vector = UPRIGHT, weight: float = 1.0, priority: int = 0,
        rate: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__("orientation", body, HERE, orientation, weight, priority, rate)
        self.target = target

    @property
    def target(self) -> Reals:
        """[4] quaternion (x, y, z, w), world."""
        return self._target

    @target.setter
    def target(self, value: Any) -> None:
        self._target = quaternion(self.name, "target", value)

    def error(self, at: Kinematics, k: int, q: Reals) -> Reals:
        return turn_to(at.rotation[k], self._target)

    def jacobian(self, at: Kinematics, k: int) -> Reals:
        return at.J[k, 3:]


class AxisTask(FrameTask):
    """A direction of a body along one of the world; turns about it are free."""

    rows = 3

    def __init__(
        self, body: str, target: Vector, *, axis: Vector, weight: float = 1.0, priority: int = 0,
        rate: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__("axis", body, HERE, UPRIGHT, weight, priority, rate)
        self.axis = direction(self.name, "axis", axis)
        self.target = target

    @property
    def target(self) -> Reals:
        """[3] unit vector, world."""
        return self._target

    @target.setter
    def target(self, value: Any) -> None:
        self._target = direction(self.name, "target", value)

    def error(self, at: Kinematics, k: int, q: Reals) -> Reals:
        return turn_along(at.rotation[k] @ self.axis, self._target)

    def jacobian(self, at: Kinematics, k: int) -> Reals:
        a = at.rotation[k] @ self.axis
        J = at.J[k, 3:]
        return J - np.outer(a, a @ J)


class PoseTask(FrameTask):
    """Position (m) and axes of a frame on a body: target is (position, quaternion), both of the world.

    turn_weight: of squared angles (rad²) against squared distances (m²).
    """

    rows = 6

    def __init__(
        self, body: str, target: Any, *, point: Vector = HERE, orientation: Vector = UPRIGHT, weight: float = 1.0,
        turn_weight: float = 1.0, priority: int = 0, rate: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__("pose", body, point, orientation, weight, priority, rate)
        turn = np.sqrt(number(self.name, "turn_weight", turn_weight, above=0))
        self._scale = np.array([1.0, 1.0, 1.0, turn, turn, turn])
        self._plain = turn == 1.0
        self.target = target

    @property
    def target(self) -> tuple[Reals, Reals]:
        """[3] m and [4] quaternion (x, y, z, w), world."""
        return self._position, self._quaternion

    @target.setter
    def target(self, value: Any) -> None:
        if not isinstance(value, (tuple, list)) or len(value) != 2:
            raise fail(self.name, "target has the wrong shape", shown(value), "(position, quaternion)")
        self._position = vector(self.name, "target position", value[0], 3)
        self._quaternion = quaternion(self.name, "target quaternion", value[1])

    def error(self, at: Kinematics, k: int, q: Reals) -> Reals:
        out = np.empty(6)
        out[:3] = self._position - at.position[k]
        out[3:] = turn_to(at.rotation[k], self._quaternion)
        return out if self._plain else self._scale * out

    def jacobian(self, at: Kinematics, k: int) -> Reals:
        return at.J[k] if self._plain else self._scale[:, None] * at.J[k]


class CenterOfMassTask(Task):
    """The centre of mass at a place of the world (m). of: a body; it and all that it carries count, left out all bodies
    of the model. axes: which of x, y, z count."""

    def __init__(
        self, target: Vector, *, of: str | None = None, axes: Any = ALL, weight: float = 1.0, priority: int = 0,
        rate: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__("centre of mass" if of is None else f"centre of mass of {of!r}", weight, priority, rate)
        self.of, self._axes = of, chosen("centre of mass", axes)
        self.rows = len(self._axes)
        self.target = target

    @property
    def target(self) -> Reals:
        """[3] m, world."""
        return self._target

    @target.setter
    def target(self, value: Any) -> None:
        self._target = vector(self.name, "target", value, 3)

    def group(self, model: Model) -> Reals:
        mass = model.mass if self.of is None else np.where(carried_by(model, self.of), model.mass, 0.0)
        if mass.sum() <= 0:
            raise fail(self.name, "has no mass", 0.0, "bodies that weigh something")
        return np.asarray(mass / mass.sum())

    def error(self, at: Kinematics, k: int, q: Reals) -> Reals:
        return (self._target - at.center[k])[self._axes]

    def jacobian(self, at: Kinematics, k: int) -> Reals:
        return at.J_center[k] if self.rows == 3 else at.J_center[k, self._axes]


def chosen(name: str, axes: Any) -> Any:
    """Numbers of the axes that count."""
    if not isinstance(plain(axes), tuple) or len(axes) != 3 or not any(axes):
        raise fail(name, "axes count wrongly", shown(axes), "three of True and False, not all False")
    return np.flatnonzero(np.asarray(axes, dtype=bool))


def carried_by(model: Model, body: str) -> Any:
    """[links] whether they are a body or are carried by it."""
    inside = np.zeros(model.nb, dtype=bool)
    inside[model.body(body)] = True
    for i in range(model.nb):
        inside[i] |= model.parent[i] >= 0 and inside[model.parent[i]]
    return inside


def turn_to(R: Reals, target: Reals) -> Reals:
    """Rotation vector (rad, world axes) from axes R to those of a quaternion, the shorter way round."""
    return R @ turn_between(matrix_to_quat(R), target)


def turn_along(a: Reals, b: Reals) -> Reals:
    """Rotation vector (rad) from one unit vector to another; half a turn about any normal where they are opposite."""
    normal = cross(a, b)
    sine, cosine = float(np.sqrt(normal @ normal)), float(a @ b)
    if sine < 1e-9:
        if cosine > 0:
            return normal
        other = np.eye(3)[int(np.argmin(np.abs(a)))]
        normal = other - a * (a @ other)
        return np.pi * normal / np.sqrt(normal @ normal)
    return normal * (np.arctan2(sine, cosine) / sine)
