"""Limits of joints: held when driven, struck or loaded, for every type of joint, in the tree and closing a loop."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import warp as wp
from scipy.spatial.transform import Rotation

import sharnir as sh
from sharnir.enums import LimitKind
from sharnir.impulse.row_kinds import BOUND_ROW, SCALAR_IMPULSES
from sharnir.impulse.rows.ball_angles import ball_angle
from sharnir.kernels.types import array2, real, vec2, vec4

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


def driven(kind: str, where: str, solver: str, dt: float, steps: int, every: bool) -> tuple[np.ndarray, np.ndarray]:
    """Worst violations [coordinates] of all worlds, and how many steps limits held back each coordinate: constant
    control and kicks followed by free flight, both ways in turn, slow and fast. every: all of these in all directions,
    otherwise each direction in one of the four ways."""
    _, needs, units = JOINTS[kind]
    way = directions(units)
    way = np.tile(way, 4 if every or way.shape[1] < 4 else 1)
    worlds = way.shape[1]
    group = np.arange(worlds) * 4 // worlds if every or worlds == 8 else np.arange(worlds) % 4
    sim = sh.Simulation(scene_of(kind, where), solver=solver, dt=dt, worlds=worlds)
    joint = sim.joint("joint")
    span = np.ptp(np.array(needs["limits"]).reshape(-1, 2), axis=1)
    worst, touched = np.full(len(units), -np.inf), np.zeros(len(units))
    control = np.zeros((len(units), worlds))
    for step in range(steps):
        for g, (fast, kicks) in enumerate(product((1.0, 10.0), (False, True))):
            here, V = group == g, speed_of(units, fast)
            period = round(1.5 * (span / V).max() / dt)
            turn = 1.0 if (step // period) % 2 == 0 else -1.0
            control[:, here] = turn * (inertia(units) * V**2 / (2 * span))[:, None] * way[:, here]
            if kicks:  # to the speed asked for, and no more
                missing = turn * V[:, None] * way[:, here] - joint.velocity[:, here] if step % period == 0 else 0.0
                control[:, here] = inertia(units)[:, None] * missing / dt
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
    worst, touched = driven(kind, where, solver, dt, 1000 if dt < 5e-3 else 300, every=False)
    check(kind, worst, dt)
    assert (touched > 0).sum() >= len(touched) - UNLIMITED.get(kind, 0)  # they were reached


@pytest.mark.slow
@pytest.mark.parametrize("where", TREE_OR_LOOP)
@pytest.mark.parametrize("kind", JOINTS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_limits_hold_for_a_hundred_thousand_steps(solver, kind, where):
    worst, touched = driven(kind, where, solver, 1e-3, 100_000, every=True)
    check(kind, worst, 1e-3)
    assert (touched > 0).sum() >= len(touched) - UNLIMITED.get(kind, 0)


@pytest.mark.parametrize("dt", [1e-3, 1e-2])
@pytest.mark.parametrize("where", TREE_OR_LOOP)
@pytest.mark.parametrize("kind", JOINTS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_limits_hold_against_motors(solver, kind, where, dt):
    """A motor of bounded force per coordinate, back and forth at 1 and 10 rad/s (0.1 and 1 m/s)."""
    _, needs, units = JOINTS[kind]
    span = np.ptp(np.array(needs["limits"]).reshape(-1, 2), axis=1)
    coordinates = range(len(units)) if kind != "free" else (1, 4, 5)
    for c in coordinates:
        scene = scene_of(kind, where)
        V = speed_of(units, 10.0)[c]
        force = 2 * inertia(units)[c] * V**2 / span[c]  # reaches the faster speed in a quarter of the way
        scene.add(sh.Motor(name="motor", joint="joint", coordinate=c, velocity=0.0, max_force=force))
        sim = sh.Simulation(scene, solver=solver, dt=dt, worlds=2)
        joint, motor = sim.joint("joint"), sim.motor("motor")
        worst, reached = np.full(len(units), -np.inf), -np.inf
        for step in range(450 if dt < 5e-3 else 150):
            slow = 0.1 * V * (1.0 if (step * dt * 0.1 * V / span[c]) % 3 < 1.5 else -1.0)
            motor.target = (slow, V * (1.0 if (step * dt * V / span[c]) % 3 < 1.5 else -1.0))
            sim.step()
            out = violation(kind, joint.position)
            worst = np.maximum(worst, out.max(axis=1))
            reached = max(reached, out.max())
            assert np.abs(motor.force).max() <= force * (1 + 1e-12)
        check(kind, worst, dt)
        assert reached > -1e-6


@pytest.mark.parametrize("torque", [1.7, 10.0])
@pytest.mark.parametrize("solver", SOLVERS)
def test_limits_hold_a_light_body_that_is_thrown_at_them_in_one_step(solver, torque):
    """1.7 N m on 1e-4 kg m² change the speed by 85 rad/s in the first half step of 10 ms."""
    scene = sh.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add(sh.Body(name="body", mass=0.1, inertia=(1e-4, 1e-4, 1e-4)))
    scene.add(
        sh.Revolute(name="joint", parent="world", child="body", anchor=(0, 0, 0), axis=(0, 0, 1), limits=(-0.5, 0.5))
    )
    sim = sh.Simulation(scene, solver=solver, dt=1e-2)
    sim.joint("joint").control = torque
    for _ in range(20):
        sim.step()
        assert abs(sim.joint("joint").position[0]) <= 0.5 + 0.03


def gain(energy: np.ndarray) -> np.ndarray:
    """[worlds] the most that the energy [steps, worlds] rises above an earlier value."""
    return (energy - np.minimum.accumulate(energy, axis=0)).max(axis=0)


def free_flight(
    scene: sh.Scene, solver: str, dt: float, way: np.ndarray, kick: np.ndarray, steps: int
) -> tuple[np.ndarray, float]:
    """[steps, worlds] energy after a kick of the joint's coordinates, gravity off; and ε."""
    sim = sh.Simulation(scene, solver=solver, dt=dt, worlds=way.shape[1])
    sim.joint("joint").control = way * kick[:, None] / dt
    sim.step(2)
    sim.joint("joint").control = 0.0
    sim.step()
    out = []
    for _ in range(steps):
        sim.step()
        out.append(sim.seen("energy").sum(axis=0).copy())
    return np.array(out), sim.settings.change(sim.inner, dt)


@pytest.mark.parametrize("where", TREE_OR_LOOP)
@pytest.mark.parametrize("kind", JOINTS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_hitting_a_limit_adds_no_energy(solver, kind, where):
    """Nor does lying on it. What the energy swings by without limits, of second order in dt, is the scheme's own; and
    every step may leave ε of an impulse, times a speed, on every row."""
    _, _, units = JOINTS[kind]
    dt, way, kick = 2e-3, directions(units), inertia(units) * speed_of(units, 5.0)
    limited = scene_of(kind, where)
    free = scene_of(kind, where)
    for joint in free.joints:
        joint.limits = None
        joint.limit_angles = "twist"
    steps = 250
    hit, epsilon = free_flight(limited, solver, dt, way, kick, steps)
    own = gain(free_flight(free, solver, dt, way, kick, steps)[0])
    left = steps * epsilon * speed_of(units, 5.0).sum()
    assert (gain(hit) <= left + 2 * own.max()).all()
    assert own.max() < 0.5 * (25 * dt) ** 2 * hit[0].max()  # second order: (speed of the motion · dt)²
    assert (hit[-1] < 0.9 * hit[0]).any()  # some were stopped


@pytest.mark.parametrize("bilateral", ["direct", "sweep"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_impulses_of_limits_are_complementary(solver, bilateral):
    """Three hanging hinges between limits, thrown about: s ≥ 0, p ≥ 0 and not both; s = χ̇ + max(χ, 0)/dt."""
    scene = sh.Scene(name="chain")
    before, limits = "world", ((-0.7, 0.2), (-0.3, 0.4), (-0.2, 0.6))
    for n in range(3):
        scene.add(sh.Body(name=f"b{n}", mass=1.0, inertia=(0.02, 0.02, 0.02), position=(0.3 * n + 0.15, 0, 0)))
        scene.add(sh.Revolute(name=f"j{n}", parent=before, child=f"b{n}", anchor=(0.3 * n, 0, 0), axis=(0, 1, 0),
                              limits=limits[n], damping=0.02))  # fmt: skip
        before = f"b{n}"
    dt = 2e-3
    sim = sh.Simulation(scene, solver=solver, dt=dt, bilateral=bilateral)
    epsilon = sim.settings.change(sim.inner, dt)
    names = [f"j{n}" for n in range(3)]
    lines = [sim.joint(n)._line(sim.joint(n)._coordinates.start, BOUND_ROW) for n in names]
    at = [sim.impulses.layout.scalar_p_start + SCALAR_IMPULSES * line + BOUND_ROW for line in lines]
    low, high = np.array(limits).T
    K = 2 / 0.02 + 2 * 0.15**2 * 2  # no row weighs more: two bodies, both turned
    old = np.array([sim.joint(n).position[0] for n in names])
    rng = np.random.default_rng(3)
    pressed = 0
    for step in range(1500):
        if step % 50 == 0:
            for n in names:
                sim.joint(n).control = rng.normal() * 6.0
        report = sim.step()
        q = np.array([sim.joint(n).position[0] for n in names])
        impulse = sim.impulses.state.p.numpy()[at, 0]
        if report.reason == "converged":
            for chi, rate, p in (
                (old - low, (q - old) / dt, np.maximum(impulse, 0)),
                (high - old, (old - q) / dt, np.maximum(-impulse, 0)),
            ):  # fmt: skip
                s = rate + np.maximum(chi, 0) / dt
                assert (s >= -10 * epsilon * K).all()
                assert (np.minimum(s / K, p) <= 10 * epsilon).all()
                assert (s * p <= (10 if (solver, bilateral) != ("simmc", "sweep") else 20) * epsilon).all()
                pressed += int((p > 100 * epsilon).sum())
        assert np.maximum(q - high, low - q).max() < 1e-3
        np.testing.assert_allclose([sim.joint(n).limit_force[0] * dt for n in names], impulse, atol=1e-15)
        old = q
    assert pressed > 300
    assert sim.counts.capped == 0


@pytest.mark.parametrize("kind", ["euler", "twist"])
@pytest.mark.parametrize("where", TREE_OR_LOOP)
@pytest.mark.parametrize("solver", SOLVERS)
def test_ball_is_held_in_every_corner(solver, where, kind):
    """±18° about x, ±15° about y, ±18° about z, all eight: pressed there, it rests, and every limit pushes back."""
    signs = np.array(list(product((-1.0, 1.0), repeat=3))).T
    sim = sh.Simulation(scene_of(kind, where), solver=solver, dt=5e-3, worlds=8)
    joint = sim.joint("joint")
    joint.control = 2.0 * signs
    sim.step(400)
    corner = np.array(EULER)[:, 1:] * signs
    np.testing.assert_allclose(ball_angles(kind, joint.position), corner, atol=1e-6)
    assert np.abs(joint.velocity).max() < 1e-6
    assert (joint.limit_force * signs < -0.1).all()
    for _ in range(100):
        sim.step()
        assert violation(kind, joint.position).max() < 1e-6


@pytest.mark.parametrize("where", TREE_OR_LOOP)
@pytest.mark.parametrize("solver", SOLVERS)
def test_ball_is_held_all_around_its_cone(solver, where):
    """Pressed against an elliptic cone with damping, it comes to rest where the torque is along the cone's normal."""
    theta = 0.1 + np.arange(16) * 2 * np.pi / 16
    tau = 2.0 * np.array([np.cos(theta), np.sin(theta), 0 * theta])
    sim = sh.Simulation(scene_of("cone", where, damping=1.0), solver=solver, dt=5e-3, worlds=16)
    joint = sim.joint("joint")
    joint.control = tau
    for _ in range(1200):
        sim.step()
        assert violation("cone", joint.position)[[0, 2]].max() < 1e-3
    q = joint.position
    assert np.abs(ball_angles("cone", q)[0]).max() < 1e-6
    swing = np.array([numeric_gradient("cone", 0, q[:, w]) for w in range(16)])
    twist = np.array([numeric_gradient("cone", 2, q[:, w]) for w in range(16)])
    for w in range(16):  # the torque is what the limits give, and no more
        A = np.column_stack([swing[w], twist[w]])
        forces = joint.limit_force[[0, 2], w]
        torque = Rotation.from_quat(q[:, w]).apply(tau[:, w])
        np.testing.assert_allclose(A @ forces, -torque, atol=2e-3)


def numeric_gradient(kind: str, axis: int, q: np.ndarray, cone: Any = CONE) -> np.ndarray:
    """Rates of an angle by the angular velocity of the child in the parent's axes, by central differences."""
    step, turn = 1e-6, Rotation.from_quat(q)
    out = []
    for e in np.eye(3):
        ends = [(Rotation.from_rotvec(s * step * e) * turn).as_quat()[:, None] for s in (1, -1)]
        high, low = (ball_angles(kind, end, cone)[axis, 0] for end in ends)
        out.append((high - low) / (2 * step))
    return np.array(out)


@wp.kernel
def angles_kernel(kind: int, axis: int, q: array2, sx: real, sy: real, out: array2):
    w = wp.tid()
    g, a = ball_angle(kind, axis, vec4(q[0, w], q[1, w], q[2, w], q[3, w]), vec2(sx, sy))
    out[0, w] = g
    out[1, w] = a[0]
    out[2, w] = a[1]
    out[3, w] = a[2]


@pytest.mark.parametrize(
    ("kind", "axis"), [*product(("twist", "euler"), range(3)), ("cone", 0), ("cone", 2), ("angle", 0)]
)
def test_angles_and_their_gradients_agree_with_finite_differences(kind, axis):
    """Random rotations, both signs of the quaternion, and a wide flat cone. Differences of 1e-6 are good to 1e-9 times
    the curvature, which grows as the inverse square of the distance to where an angle is not defined."""
    rng = np.random.default_rng(5)
    q = rng.normal(size=(4, 300))
    q /= np.linalg.norm(q, axis=0)
    code = {"twist": LimitKind.TWIST, "euler": LimitKind.EULER, "cone": LimitKind.CONE, "angle": LimitKind.ANGLE}[kind]
    cone = ((-0.4, 0.4), (-2.5, 2.5))
    out = wp.zeros((4, 300), dtype=real, device="cpu")
    wp.launch(
        angles_kernel, dim=300, inputs=[code, axis, wp.array(q, dtype=real, device="cpu"), 0.4, 2.5, out], device="cpu"
    )
    g, a = out.numpy()[0], out.numpy()[1:]
    expected = ball_angles(kind, q, cone)[axis]
    np.testing.assert_allclose(np.sin(g - expected), 0, atol=1e-9)
    np.testing.assert_allclose(np.cos(g - expected), 1, atol=1e-9)
    if kind == "euler":
        clear = np.cos(ball_angles("euler", q)[1])
    elif axis == 0 and kind == "cone":
        n = Rotation.from_quat(q.T).as_matrix()[:, :, 2]
        clear = np.hypot(n[:, 0], n[:, 1])
    elif kind == "angle":
        clear = np.minimum(np.linalg.norm(q[:3], axis=0), np.abs(q[3]))
    else:
        clear = np.hypot(q[3], q[axis])
        clear = np.where(np.abs(np.abs(expected) - np.pi) < 1e-5, 0.0, clear)  # differences across the seam
    for w in np.flatnonzero(clear > 0.1):
        numeric = numeric_gradient(kind, axis, q[:, w], cone)
        np.testing.assert_allclose(a[:, w], numeric, atol=1e-9 / clear[w] ** 3 + 1e-9 * 2.5 / 0.4)


@pytest.mark.parametrize("solver", SOLVERS)
def test_ball_is_held_near_the_gimbal_pose(solver):
    """Euler limits up to b = ±86°, where rates of a and c are 14 times those of the turn: struck from all sides."""
    limits = ((-1.0, 1.0), (-1.5, 1.5), (-1.0, 1.0))
    scene = scene_of("euler", "tree")
    scene.joints[0].limits = limits
    way = directions("rrr")
    dt = 1e-3
    sim = sh.Simulation(scene, solver=solver, dt=dt, worlds=way.shape[1])
    joint = sim.joint("joint")
    rng = np.random.default_rng(0)
    worst, reached = -np.inf, 0.0
    for step in range(1500):
        if step % 100 == 0:
            push = 0.3 * rng.normal(size=way.shape) + np.array([[0], [2.0 if step % 600 < 400 else -2.0], [0]])
        joint.control = push + 0.3 * way
        sim.step()
        angles = ball_angles("euler", joint.position)
        assert np.isfinite(angles).all()
        worst = max(worst, (np.abs(angles) - np.array(limits)[:, 1:]).max())
        reached = max(reached, np.abs(angles[1]).max())
    assert reached > 1.49
    assert worst <= 1e-3


@pytest.mark.parametrize("limited", range(3))
@pytest.mark.parametrize("solver", SOLVERS)
def test_twist_limits_let_a_ball_turn_through_any_pose(solver, limited):
    """One twist limited, the ball spun through 90° and 180° about every axis and aslant: no jump, no energy gained."""
    limits = [(-np.inf, np.inf)] * 3
    limits[limited] = (-0.5, 0.5)
    scenes = []
    for bounds in (limits, None):
        scene = sh.Scene(gravity=(0.0, 0.0, 0.0))
        scene.add(sh.Body(name="body", mass=MASS, inertia=INERTIA))
        scene.add(sh.Spherical(name="joint", parent="world", child="body", anchor=(0, 0, 0), limits=bounds))
        scenes.append(scene)
    dt, way = 2e-3, directions("rrr")
    speed = 5.0
    kick = np.array(INERTIA) * speed / 1.5  # over one and a half steps of force
    runs = []
    for scene in scenes:
        sim = sh.Simulation(scene, solver=solver, dt=dt, worlds=way.shape[1])
        joint = sim.joint("joint")
        joint.control = kick[:, None] * way / dt
        sim.step(2)
        joint.control = 0.0
        sim.step()
        energy, before = [], joint.position.copy()
        most = 0.0
        for _ in range(1000):
            sim.step()
            now = joint.position.copy()
            assert np.isfinite(now).all()
            turned = (Rotation.from_quat(now.T) * Rotation.from_quat(before.T).inv()).magnitude()
            most = max(most, turned.max())
            energy.append(sim.seen("energy").sum(axis=0).copy())
            before = now
        runs.append((gain(np.array(energy)), most, energy[0]))
    (gained, most, start), (own, _, _) = runs
    fastest = np.sqrt(2 * start.max() / min(INERTIA))
    assert most <= 1.1 * fastest * dt  # no more than it can turn in a step
    assert gained.max() <= 1e-9 * start.max() + 2 * own.max()
