"""What a panel shows and sets of a model: coordinates of joints, motors and actuators, by robot."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sharnir.enums import JointType, MotionKind, MotorMode
from sharnir.model.joint_rows import CONSTRAINT_COUNT, JOINT_ROW_TABLE, RowForm
from sharnir.model.model import Ints, Model

WIDE = np.pi  # m or rad, of a position without limits
FAST = 10.0  # m/s or rad/s, of a velocity without bound
GRAVITY = 9.81  # m/s²
ARM = {"N": 1.0, "N m": 0.5}  # weights of the mechanism, at 1 m for torques, that a slider reaches


class Coordinate(NamedTuple):
    """A scalar coordinate of a joint."""

    label: str
    joint: str
    number: int  # from the joint's first velocity coordinate
    unit: str  # "m" or "rad"
    low: float  # of its limits; -inf for none
    high: float
    most: float  # N or N m, that a slider reaches


class Drive(NamedTuple):
    """A motor or an actuator, as a slider."""

    name: str
    unit: str
    force_low: float
    force_high: float
    start: float
    mechanism: int


class Robot(NamedTuple):
    """Bodies that joints connect, and what moves them: numbers of coordinates, motors and actuators."""

    name: str
    coordinates: list[int]
    motors: list[int]
    actuators: list[int]


class Readouts(NamedTuple):
    coordinates: list[Coordinate]
    motors: list[Drive]
    actuators: list[Drive]
    robots: list[Robot]


def mechanisms(model: Model) -> Ints:
    """[nb] number of the group of bodies that joints connect, other than by the world."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    pairs = np.concatenate([np.stack([model.parent, np.arange(model.nb)], axis=1), model.loop_link])
    pairs = pairs[(pairs >= 0).all(axis=1)]
    graph = coo_matrix((np.ones(len(pairs)), pairs.T), shape=(model.nb, model.nb))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int32)


def readouts(model: Model) -> Readouts:
    """Of a scene's own model, whatever the solver."""
    group = mechanisms(model)
    weights = np.bincount(group, weights=model.mass) * GRAVITY
    found = [(c, k) for k, name in enumerate(model.joint_names) for c in scalars(model, k)]
    owner = {c: int(group[model.joint_link[k].max()]) for c, k in found}
    coordinates = [coordinate(model, c, k, float(weights[owner[c]])) for c, k in found]
    motors = [motor(model, m, owner) for m in range(len(model.motor_names))]
    actuators = [actuator(model, a, owner) for a in range(len(model.actuator_names))]
    robots = []
    for g in sorted(set(owner.values()) | {d.mechanism for d in (*motors, *actuators) if d.mechanism >= 0}):
        robots.append(Robot(
            model.body_names[int(np.flatnonzero(group == g)[0])],
            [n for n, (c, _) in enumerate(found) if owner[c] == g],
            [n for n, d in enumerate(motors) if d.mechanism == g],
            [n for n, d in enumerate(actuators) if d.mechanism == g],
        ))  # fmt: skip
    return Readouts(coordinates, motors, actuators, robots)


def scalars(model: Model, joint: int) -> list[int]:
    """Coordinates c of a joint that have a position of their own; none of free joints."""
    if model.joint_kind[joint] == JointType.FREE:
        return []
    where = model.joint(model.joint_names[joint])
    first = model.nv if where.closes_loop else 0
    return [c for c in range(first + where.v.start, first + where.v.stop) if model.coordinate_positions[c] >= 0]


def coordinate(model: Model, c: int, joint: int, weight: float) -> Coordinate:
    name = model.joint_names[joint]
    where = model.joint(name)
    number = c - where.v.start - (model.nv if where.closes_loop else 0)
    unit = unit_of(model, c, joint)
    several = where.v.stop - where.v.start > 1
    reach = weight * ARM["N" if unit == "m" else "N m"]
    most = float(min(model.drive_max_force[c], max(reach, 1e-3)))
    label = f"{name} {number + 1}" if several else name
    return Coordinate(label, name, number, unit, float(model.limit_lower[c]), float(model.limit_upper[c]), most)


def unit_of(model: Model, c: int, joint: int) -> str:
    """Of a coordinate's position."""
    kind = int(model.joint_kind[joint])
    if kind == JointType.COMPOUND:
        part = int(np.searchsorted(model.part_v, c, side="right")) - 1
        return "m" if model.part_kind[part] in (MotionKind.SLIDE, MotionKind.SHIFT) else "rad"
    where = model.joint(model.joint_names[joint])
    row = CONSTRAINT_COUNT[kind] + c - where.v.start - (model.nv if where.closes_loop else 0)
    return "m" if JOINT_ROW_TABLE[kind, row, 0] == RowForm.ALONG else "rad"


def motor(model: Model, number: int, owner: dict[int, int]) -> Drive:
    c = int(model.motor_coordinate[number])
    start, fastest = float(model.motor_target[number]), float(model.motor_max_speed[number])
    if model.motor_mode[number] == MotorMode.POSITION:
        low, high = span(float(model.limit_lower[c]), float(model.limit_upper[c]))
        unit = "position"
    else:
        most = max(FAST if not np.isfinite(fastest) else fastest, 2 * abs(start))
        low, high, unit = -most, most, "velocity"
    return Drive(model.motor_names[number], unit, min(low, start), max(high, start), start, owner.get(c, -1))


def actuator(model: Model, number: int, owner: dict[int, int]) -> Drive:
    c = int(model.actuator_coordinate[model.actuator_start[number]])
    low, high = span(*(float(x) for x in model.actuator_input_limits[number]))
    start = float(model.actuator_input[number])
    return Drive(model.actuator_names[number], "input", min(low, start), max(high, start), start, owner.get(c, -1))


def span(low: float, high: float) -> tuple[float, float]:
    """A range with ends."""
    return (low if np.isfinite(low) else min(-WIDE, high), high if np.isfinite(high) else max(WIDE, low))
