"""Limits of joints: held when driven, struck or loaded, for every type of joint, in the tree and closing a loop."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from limited_joints import (
    JOINTS,
    SOLVERS,
    TREE_OR_LOOP,
    UNLIMITED,
    directions,
    gain,
    inertia,
    scene_of,
    speed_of,
    violation,
)

import sharnir as sh
from sharnir.impulse.row_kinds import SCALAR_IMPULSES, ScalarImpulse


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
    return np.array(out), sim.settings.compute_epsilon(sim.inner, dt)


@pytest.mark.parametrize("where", TREE_OR_LOOP)
@pytest.mark.parametrize("kind", JOINTS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_hitting_a_limit_adds_no_energy(solver, kind, where):
    """Neither the impact nor lying on the limit adds energy. What it swings by without limits, of second
    order in dt, is the scheme's own; and every step may leave ε of an impulse, times a speed, on every row."""
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
    epsilon = sim.settings.compute_epsilon(sim.inner, dt)
    names = [f"j{n}" for n in range(3)]
    scalars = [sim.joint(n)._scalar_row(sim.joint(n)._coordinates.start, ScalarImpulse.BOUND) for n in names]
    at = [sim.impulses.layout.scalar_p_start + SCALAR_IMPULSES * l + ScalarImpulse.BOUND for l in scalars]
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
