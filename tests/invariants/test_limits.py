"""Limits of joints: held when driven, struck or loaded, for every type of joint, in the tree and closing a loop."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import warp as wp
from scipy.spatial.transform import Rotation

import sharnir as sh
from sharnir.constraints.plan import ACT_HOLD, ACTIONS
from sharnir.constraints.turns import ball_angle
from sharnir.kinds import CONE_LIMIT, EULER_LIMIT, TURN, TWIST_LIMIT
from sharnir.maths import array2, real

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
    "free": (sh.Free, {"limits": (MET, MET, MET, *EULER), "limit_angles": "euler"}, "mmmrrr"),
}
BALLS = ("twist", "euler", "cone", "free")
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
    return np.unique(np.concatenate([single, corners[:: max(1, len(corners) // 8)]]), axis=0).T


def inertia(units: str) -> np.ndarray:
    """What a coordinate moves, roughly: kg or kg m²."""
    turning = np.mean(INERTIA) + MASS * np.dot(ARM, ARM)
    return np.array([MASS if u == "m" else turning for u in units])


def speed_of(units: str, fast: float) -> np.ndarray:
    """1 rad/s and 0.1 m/s, times `fast`."""
    return np.array([0.1 * fast if u == "m" else fast for u in units])


def driven(kind: str, where: str, solver: str, dt: float, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Worst violations [coordinates] of all worlds, and how many steps limits held back each coordinate: constant
    control and kicks followed by free flight, both ways in turn, slow and fast."""
    _, needs, units = JOINTS[kind]
    way = directions(units)
    n = way.shape[1]
    sim = sh.Simulation(scene_of(kind, where), solver=solver, dt=dt, worlds=4 * n)
    joint = sim.joint("joint")
    span = np.ptp(np.array(needs["limits"]).reshape(-1, 2), axis=1)
    worst = np.full(len(units), -np.inf)
    touched = np.zeros(len(units))
    control = np.zeros((len(units), 4 * n))
    for step in range(steps):
        for group, (fast, kicks) in enumerate(product((1.0, 10.0), (False, True))):
            V = speed_of(units, fast)
            period = round(1.5 * (span / V).max() / dt)
            turn = 1.0 if (step // period) % 2 == 0 else -1.0
            force = inertia(units) * (V / dt * (step % period == 0) if kicks else V**2 / (2 * span))
            control[:, group * n : (group + 1) * n] = turn * force[:, None] * way
        joint.control = control
        sim.step()
        out = violation(kind, joint.position)
        worst = np.maximum(worst, out.max(axis=1))
        touched += (out > -1e-6).any(axis=1)
    return worst, touched


def check(kind: str, worst: np.ndarray, dt: float) -> None:
    units = JOINTS[kind][2]
    scale = 1.0 if dt <= 1e-3 else 30.0
    for c, u in enumerate(units):
        assert worst[c] <= scale * (1e-4 if u == "m" else 1e-3), f"coordinate {c}: {worst}"


@pytest.mark.parametrize("dt", [1e-3, 1e-2])
@pytest.mark.parametrize("where", TREE_OR_LOOP)
@pytest.mark.parametrize("kind", JOINTS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_limits_hold_against_control_and_in_free_flight(solver, kind, where, dt):
    worst, touched = driven(kind, where, solver, dt, 1000 if dt < 5e-3 else 400)
    check(kind, worst, dt)
    assert (touched > 0).sum() >= len(touched) - (kind == "cone")  # they were reached; a cone has no limit of its own for y
