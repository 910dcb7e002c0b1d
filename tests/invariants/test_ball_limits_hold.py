"""Limits of balls: held in corners, around a cone, near the gimbal pose and beyond; their angles and gradients."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import warp as wp
from limited_joints import (
    CONE,
    EULER,
    INERTIA,
    MASS,
    SOLVERS,
    TREE_OR_LOOP,
    ball_angles,
    directions,
    gain,
    scene_of,
    violation,
)
from scipy.spatial.transform import Rotation

import sharnir as sh
from sharnir.enums import LimitKind
from sharnir.impulse.rows.ball_angles import ball_angle
from sharnir.kernels.types import array2, real, vec2, vec4


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
