"""What the viewer's process is told once, at its start: plain data that can be sent to it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sharnir.drawing.batches import Drawing, drawing
from sharnir.drawing.pieces import Poses
from sharnir.enums import JointType, LimitKind
from sharnir.model.model import Ints, Model
from sharnir.model.poses import Pose
from sharnir.rotations import Array, quat_to_matrix
from sharnir.viewer.channel import Sizes
from sharnir.viewer.commands import Bounds, Kind
from sharnir.viewer.input_mapping import Mapping
from sharnir.viewer.readouts import Readouts, mechanisms, readouts

ARC = 24  # segments of a full turn
LENGTH = 0.15  # of a joint's axis, over the radius of all
SWEEP = 0.08  # radius of the arc of its limits, over that


class Timeline(NamedTuple):
    """Of a recording that is played: from `start` to `end`, s, with named moments."""

    start: float
    end: float
    marks: tuple[tuple[float, str], ...] = ()


class Eye(NamedTuple):
    """A camera on a link, or in the world (-1): pose in the body frame, x forward, z up; angle: rad, bottom to top."""

    name: str
    link: int
    pose: Pose
    angle: float


class Strokes(NamedTuple):
    """Lines that bodies carry."""

    link: Ints  # [n] -1 for the world
    ends: Array  # [n, 2, 3] m, body frame
    color: Any  # [n, 3] 0 to 255


class Balance(NamedTuple):
    """What centres of mass and support need."""

    link: Ints  # [k] bodies of the heaviest mechanism
    mass: Array  # [k] kg
    center: Array  # [k, 3] m, body frames
    shape_link: Ints  # [shapes]
    all_mass: float  # kg, of all bodies


class Setup(NamedTuple):
    """All of it."""

    title: str
    bodies: tuple[str, ...]
    sizes: Sizes
    bounds: dict[Kind, Bounds]
    drawing: Drawing
    readouts: Readouts
    joints: Strokes
    balance: Balance
    eyes: tuple[Eye, ...]
    mapping: Mapping | None
    timeline: Timeline | None


def setup(
    model: Model, poses: Poses, sizes: Sizes, bounds: dict[Kind, Bounds], mapping: Mapping | None,
    timeline: Timeline | None,
) -> Setup:  # fmt: skip
    """Of a model whose bodies are there at first."""
    drawn = drawing(model, poses)
    shown = readouts(model) if Kind.MOTOR in bounds else Readouts([], [], [], [])  # nothing is read out of a recording
    return Setup(
        model.name, model.body_names, sizes, bounds, drawn, shown, joint_strokes(model, drawn.radius),
        balance(model), eyes(model), mapping, timeline,
    )  # fmt: skip


def eyes(model: Model) -> tuple[Eye, ...]:
    """Its cameras."""
    links = {"world": -1, **{name: k for k, name in enumerate(model.body_names)}}
    return tuple(
        Eye(c.name, links[c.body], Pose(quat_to_matrix(np.array(c.orientation)), np.array(c.position)), float(c.angle))
        for c in model.cameras
    )


def balance(model: Model) -> Balance:
    group = mechanisms(model)
    heaviest = np.argmax(np.bincount(group, weights=model.mass)) if model.nb else 0
    link = np.flatnonzero(group == heaviest).astype(np.int32)
    center = np.einsum("nji,nj->ni", model.body_rot, model.com - model.body_pos)
    return Balance(link, model.mass[link], center[link], model.shape_link, float(model.mass.sum()))


def joint_strokes(model: Model, radius: float) -> Strokes:
    """Axes of joints, the range of hinges and slides with limits, and where a hinge stands in it."""
    out: list[tuple[int, Array, tuple[int, int, int]]] = []
    for k, kind in enumerate(model.joint_kind.tolist()):
        if kind in (JointType.FREE, JointType.FIXED, JointType.COMPOUND):
            continue
        parent, child = (in_body(model, k, side) for side in (0, 1))
        carriers = model.joint_link[k].tolist()
        reach = LENGTH * radius * np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]])
        out.append((carriers[0], moved(parent, reach), (31, 119, 180)))
        if kind == JointType.UNIVERSAL:
            out.append((carriers[1], moved(child, reach), (31, 119, 180)))
        where = model.joint(model.joint_names[k])
        c = where.v.start + (model.nv if where.closes_loop else 0)
        if where.v.stop - where.v.start != 1 or model.limit_angles[c] != LimitKind.COORDINATE:
            continue
        low, high = float(model.limit_lower[c]), float(model.limit_upper[c])
        if kind == JointType.REVOLUTE:
            hand = np.array([[0.0, 0.0, 0.0], [1.2, 0.0, 0.0]]) * SWEEP * radius
            out += [(carriers[0], moved(parent, s), (255, 127, 14)) for s in arc(low, high, SWEEP * radius)]
            out.append((carriers[1], moved(child, hand), (44, 160, 44)))
        elif np.isfinite([low, high]).all():
            range_ = np.array([[0.0, 0.0, low], [0.0, 0.0, high]])
            out.append((carriers[0], moved(parent, range_), (255, 127, 14)))
    return Strokes(
        np.array([link for link, _, _ in out], dtype=np.int32),
        np.array([ends for _, ends, _ in out]).reshape(-1, 2, 3),
        np.array([color for _, _, color in out], dtype=np.uint8).reshape(-1, 3),
    )


def in_body(model: Model, joint: int, side: int) -> Pose:
    """A joint's frame on its parent (0) or child (1), in that body's frame."""
    link = int(model.joint_link[joint, side])
    pose = Pose(model.joint_rot[joint, side], model.joint_pos[joint, side])
    return pose if link < 0 else Pose(model.body_rot[link], model.body_pos[link]).inverse() @ pose


def moved(pose: Pose, points: Array) -> Array:
    return np.asarray(points @ pose.R.T + pose.x)


def arc(low: float, high: float, radius: float) -> list[Array]:
    """[2, 3] segments about z from angle to angle, and to the ends of the range."""
    low, high = max(low, -2 * np.pi), min(high, 2 * np.pi)
    angles = np.linspace(low, high, max(2, int(ARC * (high - low) / (2 * np.pi)) + 1))
    rim = radius * np.column_stack([np.cos(angles), np.sin(angles), np.zeros(len(angles))])
    around = [np.stack(pair) for pair in pairwise(rim)]
    return [*around, *(np.stack([np.zeros(3), end]) for end in (rim[0], rim[-1]))]
