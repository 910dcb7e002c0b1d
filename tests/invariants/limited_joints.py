"""Joints with limits, one of every type in the tree and closing a loop, and how far beyond them positions are."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import sharnir as sh

SOLVERS = ("simgc", "simmc")
RAD, MET = (-0.3, 0.25), (-0.03, 0.025)  # limits of angles and displacements
MASS, INERTIA, ARM = 1.0, (0.1, 0.14, 0.2), (0.12, 0.05, -0.07)
DEG = np.pi / 180
EULER = ((-18 * DEG, 18 * DEG), (-15 * DEG, 15 * DEG), (-18 * DEG, 18 * DEG))
CONE = ((-0.4, 0.4), (-0.25, 0.25), (-0.3, 0.3))

JOINTS: dict[str, tuple[type, dict[str, Any], str]] = {  # type, what it needs, m or rad of every coordinate
    "revolute": (sh.Revolute, {"limits": RAD}, "r"),
    "prismatic": (sh.Prismatic, {"limits": MET}, "m"),
    "helical": (sh.Helical, {"limits": RAD, "pitch": 0.05}, "r"),
    "cylindrical": (sh.Cylindrical, {"limits": (MET, RAD)}, "mr"),
    "universal": (sh.Universal, {"limits": (RAD, RAD), "axis2": (1.0, 0.0, 0.0)}, "rr"),
    "planar": (sh.Planar, {"limits": (MET, MET, RAD)}, "mmr"),
    "twist": (sh.Spherical, {"limits": EULER, "limit_angles": "twist"}, "rrr"),
    "euler": (sh.Spherical, {"limits": EULER, "limit_angles": "euler"}, "rrr"),
    "cone": (sh.Spherical, {"limits": CONE, "limit_angles": "cone"}, "rrr"),
    "angle": (sh.Spherical, {"limits": ((-0.3, 0.3),) * 3, "limit_angles": "angle"}, "rrr"),
    "free": (sh.Free, {"limits": (MET, MET, MET, *EULER), "limit_angles": "euler"}, "mmmrrr"),
}
BALLS = ("twist", "euler", "cone", "angle", "free")
UNLIMITED = {"cone": 1, "angle": 2}  # a cone has no limit of its own for y, an angle one for all
TREE_OR_LOOP = ("tree", "loop")


def scene_of(kind: str, where: str, **facts: Any) -> sh.Scene:
    """A body on the joint, its centre of mass off the anchor. where "loop": the body also hangs on a gantry with six
    freedoms, so that the joint closes a loop."""
    make, needs, _ = JOINTS[kind]
    place = {} if kind == "free" else {"anchor": (0, 0, 0), "axis": (0, 0, 1)}
    scene = sh.Scene(name=f"{kind}-{where}", gravity=(0.0, 0.0, 0.0))
    scene.add(sh.Body(name="body", mass=MASS, inertia=INERTIA, center_of_mass=ARM))
    scene.add(make(name="joint", parent="world", child="body", **place, **needs, **facts))
    if where == "loop":
        before = "world"
        for n, axis in enumerate(np.eye(3)):
            scene.add(sh.Body(name=f"gantry{n}", mass=0.1, inertia=(0.01, 0.01, 0.01)))
            scene.add(sh.Prismatic(name=f"slide{n}", parent=before, child=f"gantry{n}", axis=axis, position=0.0))
            before = f"gantry{n}"
        scene.add(sh.Spherical(name="wrist", parent=before, child="body", position=(0, 0, 0, 1)))
    assert sh.compile(scene).joint("joint").closes_loop == (where == "loop")
    return scene


def ball_angles(kind: str, q: np.ndarray, cone: Any = CONE) -> np.ndarray:
    """Angles [3, worlds] that limits bound, of quaternions q [4, worlds]; for the cone: how far outside, 0, twist."""
    q = np.where(q[3] < 0, -1.0, 1.0) * q / np.linalg.norm(q, axis=0)
    if kind == "twist":
        return 2 * np.arctan2(q[:3], q[3])
    if kind in ("euler", "free"):
        return np.atleast_2d(Rotation.from_quat(q.T).as_euler("XYZ")).T
    if kind == "angle":
        turned = np.linalg.norm(np.atleast_2d(Rotation.from_quat(q.T).as_rotvec()), axis=1)
        return np.array([turned, 0 * turned, 0 * turned])
    twist = Rotation.from_quat(np.array([0 * q[2], 0 * q[2], q[2], q[3]]).T)
    swing = np.atleast_2d((Rotation.from_quat(q.T) * twist.inv()).as_rotvec()).T  # about an axis in the plane xy
    phi = np.hypot(swing[0], swing[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        most = phi / np.hypot(swing[0] / cone[0][1], swing[1] / cone[1][1])
    return np.array([np.where(phi > 0, phi - most, -1.0), 0 * phi, 2 * np.arctan2(q[2], q[3])])


def violation(kind: str, q: np.ndarray) -> np.ndarray:
    """[coordinates, worlds] by how much positions q [nq, worlds] are beyond the limits, m or rad."""
    _, needs, _ = JOINTS[kind]
    limits = np.array(needs["limits"]).reshape(-1, 2)
    if kind in BALLS:
        q = np.concatenate([q[:-4], ball_angles(kind, q[-4:])])
        if kind == "cone":
            limits = np.array([(-np.inf, 0.0), (-np.inf, np.inf), CONE[2]])
    return np.maximum(q - limits[:, 1:], limits[:, :1] - q)


def directions(units: str) -> np.ndarray:
    """[coordinates, worlds] of -1, 0, 1: each coordinate alone, both ways, and all corners."""
    n = len(units)
    single = np.concatenate([np.eye(n), -np.eye(n)])
    corners = np.array(list(product((-1.0, 1.0), repeat=n)))
    every = np.concatenate([single, corners[:: max(1, len(corners) // 8)]])
    turns = [u == "r" for u in units]
    every[:, turns] /= np.maximum(
        np.linalg.norm(every[:, turns], axis=1, keepdims=True), 1.0
    )  # speeds are of the whole
    return np.unique(every, axis=0).T


def inertia(units: str) -> np.ndarray:
    """The least a coordinate moves, kg or kg m²: kicks then give no more than the speed asked for."""
    return np.array([MASS if u == "m" else min(INERTIA) for u in units])


def speed_of(units: str, fast: float) -> np.ndarray:
    """1 rad/s and 0.1 m/s, times `fast`."""
    return np.array([0.1 * fast if u == "m" else fast for u in units])


def gain(energy: np.ndarray) -> np.ndarray:
    """[worlds] the most that the energy [steps, worlds] rises above an earlier value."""
    return (energy - np.minimum.accumulate(energy, axis=0)).max(axis=0)
