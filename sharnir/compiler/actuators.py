"""Motors, actuators and couplings as arrays over velocity coordinates: those of the tree, then those of loop joints."""

from __future__ import annotations

from typing import Any

import numpy as np

from sharnir.checks import is_number, number, vector
from sharnir.compiler.limits import check_bounds
from sharnir.enums import MotorMode
from sharnir.errors import fail, shown
from sharnir.model.model import check_index
from sharnir.spec.actuators import Actuator, Coupling, Motor
from sharnir.spec.joints import Free, Joint, Spherical
from sharnir.spec.scene import Scene


class CoordinateFinder:
    """Finds velocity coordinates by joint and index; `joints` are in the order of the model."""

    def __init__(self, joints: list[Joint]) -> None:
        self._joint = {j.name: j for j in joints}
        self._start = dict(zip(self._joint, np.cumsum([0, *(j.nv for j in joints)]).tolist(), strict=False))

    def find(self, element: str, field: str, name: str, k: Any) -> int:
        """Any coordinate k of a joint."""
        return int(self._start[name]) + check_index(element, field, k, self._joint[name].nv, f"joint {name!r}")

    def find_scalar(self, element: str, field: str, name: str, k: Any) -> int:
        """Coordinate k of a joint, which must have a position of its own."""
        joint, c = self._joint[name], self.find(element, field, name, k)
        if isinstance(joint, (Spherical, Free)) and k >= joint.nv - 3:
            given = f"{field} {k} of joint {name!r}"
            raise fail(element, "needs a displacement or an angle", given, "no rotation given by a quaternion")
        return c


def drive_limits(joints: list[Joint]) -> dict[str, Any]:
    """Largest force and speed of whatever drives a coordinate, [nc]."""
    return {
        f"drive_{name}": np.concatenate([np.zeros(0), *(_drive_limit(j, name) for j in joints)])
        for name in ("max_force", "max_speed")
    }


def _drive_limit(joint: Joint, name: str) -> Any:
    element, value = f"joint {joint.name!r}", getattr(joint, name)
    values = (value,) * joint.nv if is_number(value) else value
    if not isinstance(values, tuple) or len(values) != joint.nv:
        raise fail(element, f"{name} has the wrong shape", shown(value), f"one number, or {joint.nv}")
    return np.array([number(element, name, x, least=0, infinite=(np.inf,)) for x in values], dtype=float)


def motor_arrays(scene: Scene, coordinates: CoordinateFinder, limits: dict[str, Any]) -> dict[str, Any]:
    """Coordinates, modes, targets and bounds of the motors."""
    rows = [_motor(motor, coordinates) for motor in scene.motors]
    drives: dict[int, str] = {}
    for motor, (c, _, _) in zip(scene.motors, rows, strict=True):
        if c in drives:
            given = f"joint {motor.joint!r}, coordinate {motor.coordinate}"
            raise fail(f"motor {motor.name!r}", f"drives what motor {drives[c]!r} drives", given, "one motor for each")
        drives[c] = motor.name
    for c, _, values in rows:
        for name in ("max_force", "max_speed"):
            values[name] = min(values[name], float(limits[f"drive_{name}"][c]))
    return {
        "motor_names": tuple(m.name for m in scene.motors),
        "motor_coordinate": np.array([c for c, _, _ in rows], dtype=np.int32),
        "motor_mode": np.array([mode for _, mode, _ in rows], dtype=np.int32),
        **{f"motor_{name}": np.array([values[name] for *_, values in rows], dtype=float)
           for name in ("target", "max_force", "max_speed", "response")},
    }  # fmt: skip


def _motor(motor: Motor, coordinates: CoordinateFinder) -> tuple[int, int, dict[str, float]]:
    element = f"motor {motor.name!r}"
    if (motor.velocity is None) == (motor.position is None):
        given = "neither" if motor.velocity is None else "both"
        raise fail(element, "has not exactly one target", given, "velocity or position")
    mode = MotorMode.VELOCITY if motor.position is None else MotorMode.POSITION
    field = "velocity" if mode == MotorMode.VELOCITY else "position"
    find = coordinates.find if mode == MotorMode.VELOCITY else coordinates.find_scalar
    c = find(element, "coordinate", motor.joint, motor.coordinate)
    values = {"target": number(element, field, getattr(motor, field))}
    for name in ("max_force", "max_speed"):
        values[name] = number(element, name, getattr(motor, name), above=0, infinite=(np.inf,))
    values["response"] = number(element, "response", motor.response, least=0)
    return c, mode, values


def actuator_arrays(actuators: list[Actuator], coordinates: CoordinateFinder) -> dict[str, Any]:
    """Coordinates and gears of the actuators, one after another, and their laws."""
    rows = [_actuator(actuator, coordinates) for actuator in actuators]
    flat = [term for terms, _ in rows for term in terms]
    shapes = {"gain": (3,), "bias": (3,), "input_limits": (2,), "force_limits": (2,), "input_sum_limits": (2,)}
    return {
        "actuator_names": tuple(a.name for a in actuators),
        "actuator_start": np.cumsum([0, *(len(terms) for terms, _ in rows)], dtype=np.int32),
        "actuator_coordinate": np.array([c for c, _ in flat], dtype=np.int32),
        "actuator_gear": np.array([gear for _, gear in flat], dtype=float),
        "actuator_integrates": np.array([bool(a.integrates) for a in actuators], dtype=np.int32),
        **{f"actuator_{name}": np.array([law[name] for _, law in rows], dtype=float).reshape(-1, *shapes.get(name, ()))
           for name in (*shapes, "input", "response")},
    }  # fmt: skip


def _actuator(actuator: Actuator, coordinates: CoordinateFinder) -> tuple[list[tuple[int, float]], dict[str, Any]]:
    element, count = f"actuator {actuator.name!r}", len(actuator.joints)
    numbers = (0,) * count if actuator.coordinates is None else actuator.coordinates
    if not isinstance(numbers, tuple) or len(numbers) != count:
        raise fail(element, "coordinates has the wrong shape", shown(numbers), f"{count}, one for each joint")
    gears = (1.0,) * count if actuator.gears is None else actuator.gears
    gears = vector(element, "gears", gears, count)
    ends = zip(actuator.joints, numbers, strict=True)
    terms = [
        (coordinates.find(element, "coordinates", joint, k), float(g))
        for (joint, k), g in zip(ends, gears, strict=True)
    ]
    law: dict[str, Any] = {name: vector(element, name, getattr(actuator, name), 3) for name in ("gain", "bias")}
    for name in ("input_limits", "force_limits", "input_sum_limits"):
        law[name] = check_bounds(element, getattr(actuator, name), name)
    law["input"] = number(element, "input", actuator.input)
    law["response"] = number(element, "response", actuator.response, least=0)
    return terms, law


def coupling_arrays(scene: Scene, coordinates: CoordinateFinder) -> dict[str, Any]:
    """Coordinates of leader and follower, ratios and offsets of the couplings."""
    rows = [_coupling(coupling, coordinates) for coupling in scene.couplings]
    return {
        "coupling_names": tuple(c.name for c in scene.couplings),
        "coupling_coordinate": np.array([ends for ends, _, _ in rows], dtype=np.int32).reshape(-1, 2),
        "coupling_ratio": np.array([ratio for _, ratio, _ in rows], dtype=float),
        "coupling_offset": np.array([offset for _, _, offset in rows], dtype=float),
    }


def _coupling(coupling: Coupling, coordinates: CoordinateFinder) -> tuple[tuple[int, int], float, float]:
    element = f"coupling {coupling.name!r}"
    leader = coordinates.find_scalar(element, "leader_coordinate", coupling.leader, coupling.leader_coordinate)
    follower = coordinates.find_scalar(element, "follower_coordinate", coupling.follower, coupling.follower_coordinate)
    if leader == follower:
        given = f"coordinate {coupling.leader_coordinate} of joint {coupling.leader!r} twice"
        raise fail(element, "couples a coordinate with itself", given, "two different coordinates")
    ratio = number(element, "ratio", coupling.ratio)
    if ratio == 0:
        raise fail(element, "ratio is zero", coupling.ratio, "a finite number other than 0")
    return (leader, follower), ratio, number(element, "offset", coupling.offset)
