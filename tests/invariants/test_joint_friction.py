"""Dry friction, dampers and springs of joints, in the tree and closing a loop, and springs between points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sharnir as sh

SOLVERS = ("simgc", "simmc")
TREE_OR_LOOP = ("tree", "loop")
I, M = 0.2, 1.5  # kg m² about every axis, kg
TYPES = {"revolute": (sh.Revolute, I), "prismatic": (sh.Prismatic, M)}


def scene_of(kind: str, where: str, **facts: Any) -> tuple[sh.Scene, float]:
    """A body on a joint through its centre of mass, and what the joint moves. where "loop": it also hangs on three
    slides and a ball, so that the joint closes a loop."""
    make, inertia = TYPES[kind]
    scene = sh.Scene(name=kind, gravity=(0.0, 0.0, 0.0))
    scene.add(sh.Body(name="body", mass=M, inertia=(I, I, I)))
    scene.add(make(name="joint", parent="world", child="body", anchor=(0, 0, 0), axis=(0, 0, 1), **facts))
    if where == "loop":
        before = "world"
        for n, axis in enumerate(np.eye(3)):
            scene.add(sh.Body(name=f"gantry{n}", mass=0.1, inertia=(0.01, 0.01, 0.01)))
            scene.add(sh.Prismatic(name=f"slide{n}", parent=before, child=f"gantry{n}", axis=axis, position=0.0))
            before = f"gantry{n}"
        scene.add(sh.Spherical(name="wrist", parent=before, child="body", position=(0, 0, 0, 1)))
        inertia += 0.1 if kind == "prismatic" else 0.0
    assert sh.compile(scene).joint("joint").closes_loop == (where == "loop")
    return scene, inertia


def running(kind: str, where: str, solver: str, dt: float, start: float | None = None, **facts: Any) -> Any:
    """A simulation, the joint and the inertia; start: a position other than that of the reference configuration."""
    if start is not None:
        if where == "loop":
            facts["rest"] = facts.get("rest", 0.0) - start  # a loop joint's position follows: displace the rest instead
        else:
            facts["position"] = start
    scene, inertia = scene_of(kind, where, **facts)
    sim = sh.Simulation(scene, solver=solver, dt=dt)
    return sim, sim.joint("joint"), inertia


def series(sim: Any, joint: Any, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """[steps + 1] positions and velocities."""
    q, v = [float(joint.position[0])], [float(joint.velocity[0])]
    for _ in range(steps):
        sim.step()
        q.append(float(joint.position[0]))
        v.append(float(joint.velocity[0]))
    return np.array(q), np.array(v)


def order(errors: list[float]) -> np.ndarray:
    return np.log2(np.array(errors[:-1]) / np.array(errors[1:]))


both = pytest.mark.parametrize("solver", SOLVERS)
places = pytest.mark.parametrize("where", TREE_OR_LOOP)
kinds = pytest.mark.parametrize("kind", TYPES)


@both
@places
@kinds
def test_dry_friction_holds_what_is_below_it(solver, where, kind):
    sim, joint, _ = running(kind, where, solver, 0.01, friction=3.0)
    for load in (0.99 * 3.0, -0.99 * 3.0):
        joint.control = load
        q, _ = series(sim, joint, 1000)
        assert np.abs(q).max() < 1e-9
        np.testing.assert_allclose(joint.friction_force, -load, rtol=1e-6)


@both
@places
@kinds
def test_dry_friction_yields_to_what_is_above_it(solver, where, kind):
    """1 % more: what is left accelerates. A constant force is stepped exactly, but for ε of an impulse a step."""
    dt, steps = 0.01, 200
    sim, joint, inertia = running(kind, where, solver, dt, friction=3.0)
    joint.control = 1.01 * 3.0
    q, _ = series(sim, joint, steps)
    t = dt * np.arange(steps + 1)
    # an error of speed that grows with the steps
    left = sim.settings.compute_epsilon(sim.inner, dt) / inertia * t / dt * t
    assert (np.abs(q - 0.5 * 0.03 / inertia * t**2) <= 1e-12 + left).all()
    np.testing.assert_allclose(joint.friction_force, -3.0, rtol=1e-12)


@both
@places
@kinds
def test_dry_friction_stops_a_flywheel_in_time(solver, where, kind):
    dt, speed = 0.01, 2.5
    _, _, inertia = running(kind, where, solver, dt)
    friction = 2.0 * inertia  # stops it after 1.25 s
    scene, _ = scene_of(kind, where, friction=friction, **({"velocity": speed} if where == "tree" else {}))
    if where == "loop":  # velocities are given in the tree
        names = {j.name: j for j in scene.joints}
        names["slide2" if kind == "prismatic" else "wrist"].velocity = speed if kind == "prismatic" else (0, 0, speed)
    sim = sh.Simulation(scene, solver=solver, dt=dt)
    q, v = series(sim, sim.joint("joint"), 250)
    t = dt * np.arange(251)
    expected = np.maximum(speed - 2.0 * t, 0.0)
    left = sim.settings.compute_epsilon(sim.inner, dt) / inertia * (t / dt + 1)
    assert (np.abs(v - expected) <= left + 2.0 * dt * (np.abs(t - 1.25) <= dt)).all()  # within a step of the stop
    assert v.min() >= -left.max()
    assert np.diff(q).min() >= -left.max() * dt
    assert abs(q[-1] - speed**2 / 4.0) <= 2.0 * dt**2 + left.max() * 1.25  # the last step stops it sooner or later
    assert np.ptp(q[140:]) < 1e-9


@both
def test_dry_friction_of_a_ball_holds_each_axis(solver):
    scene = sh.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add(sh.Body(name="body", mass=M, inertia=(0.1, 0.2, 0.3)))
    friction = np.array([1.0, 2.0, 3.0])
    scene.add(sh.Spherical(name="joint", parent="world", child="body", anchor=(0, 0, 0), friction=friction))
    sim = sh.Simulation(scene, solver=solver, dt=0.01)
    joint = sim.joint("joint")
    joint.control = 0.99 * friction * (1, -1, 1)
    sim.step(500)
    assert np.abs(joint.position - (0, 0, 0, 1)).max() < 1e-9
    joint.control = (0.0, 0.0, 1.01 * 3.0)
    sim.step(100)
    assert joint.velocity[2] > 0.9 * 0.03 / 0.3


@both
@places
@kinds
def test_damping_decays_exponentially_and_to_second_order(solver, where, kind):
    _, _, inertia = running(kind, where, solver, 0.01)
    rate, errors = 3.0, []
    for dt in (0.04, 0.02, 0.01, 0.005):
        sim, joint, _ = running(kind, where, solver, dt, damping=rate * inertia)
        joint.control = 1.5 * inertia  # from rest towards 0.5
        steps = round(1.0 / dt)
        q, v = series(sim, joint, steps)
        t = dt * np.arange(steps + 1)
        exact = 0.5 * (t - (1 - np.exp(-rate * t)) / rate)
        errors.append(max(np.abs(q - exact).max(), np.abs(v - 0.5 * (1 - np.exp(-rate * t))).max()))
    assert errors[0] < 0.5 * (rate * 0.04) ** 2  # of the size its order says
    assert (order(errors) > 1.8).all()


@both
@places
@kinds
def test_huge_damping_neither_rings_nor_creeps(solver, where, kind):
    """dt c / I = 1e4: the speed is force over damping at once."""
    dt = 0.01
    _, _, inertia = running(kind, where, solver, dt)
    damping = 1e4 * inertia / dt
    sim, joint, _ = running(kind, where, solver, dt, damping=damping)
    joint.control = damping * 0.5
    q, _ = series(sim, joint, 30)
    speed = np.diff(q) / dt
    shrink = 4 / 1e4  # of what is missing, a step: 2/x with x = dt c / I, and half a step at the start
    assert np.abs(speed[0] - 0.5) <= shrink * 0.5 * (1 + 1e-3)
    assert (np.abs(speed[1:] - 0.5) <= shrink * np.abs(speed[:-1] - 0.5) + 1e-10).all()
    joint.control = 0.0
    q, _ = series(sim, joint, 30)
    speed = np.concatenate([[0.5], np.diff(q) / dt])
    assert (np.abs(speed[1:]) <= shrink * np.abs(speed[:-1]) + 1e-10).all()


@both
@places
@kinds
def test_springs_oscillate_with_their_period_to_second_order(solver, where, kind):
    _, _, inertia = running(kind, where, solver, 0.01)
    omega, errors = 2 * np.pi, []
    for dt in (0.02, 0.01, 0.005):
        sim, joint, _ = running(kind, where, solver, dt, start=0.2, stiffness=inertia * omega**2)
        steps = round(1.7 / dt)
        q, _ = series(sim, joint, steps)
        stretch = q + (0.2 if where == "loop" else 0.0)
        errors.append(np.abs(stretch - 0.2 * np.cos(omega * dt * np.arange(steps + 1))).max())
    assert errors[0] < 0.2 * (omega * 0.02) ** 2 / 12 * omega * 1.7 * 1.5  # phase error of the trapezoidal rule
    assert (order(errors) > 1.9).all()


@both
@places
@kinds
def test_stiff_springs_do_not_blow_up(solver, where, kind):
    """k dt²/m = 1e4, far beyond where an explicit step fails."""
    dt = 0.01
    _, _, inertia = running(kind, where, solver, dt)
    sim, joint, _ = running(kind, where, solver, dt, start=0.01, stiffness=1e4 * inertia / dt**2)
    first = sum(sim.energy)
    q, _ = series(sim, joint, 1000)
    stretch = q + (0.01 if where == "loop" else 0.0)
    assert np.abs(stretch).max() <= 0.01 * (1 + 1e-6)
    assert sum(sim.energy) <= first * (1 + 4.1 / 1e4)  # swings between ± the first stretch, at 2/dt times it


def on_a_spring(solver: str, dt: float, stiffness: float, where: str, damping: float = 0.0) -> Any:
    """A slider 0.1 m off the rest of a spring to the world, or a free body that swings on it, thrown at its rest."""
    scene = sh.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add(sh.Body(name="body", mass=M, inertia=(I, I, I), position=(0.6, 0, 0)))
    if where == "slide":
        scene.add(sh.Prismatic(name="joint", parent="world", child="body", anchor=(0.6, 0, 0), axis=(1, 0, 0)))
    else:
        velocity = (0.0, 0.3, 0.1, 1.0, 0.5, 0.2)
        scene.add(sh.Free(name="joint", parent="world", child="body", velocity=velocity))
    anchor = (0.0, 0.0, 0.0) if where == "slide" else (0.02, 0.05, 0.0)
    length = 0.5 if where == "slide" else float(np.hypot(0.62, 0.05))
    scene.add(sh.Spring(name="spring", parent="world", child="body", child_anchor=anchor, stiffness=stiffness,
                        damping=damping, length=length))  # fmt: skip
    return sh.Simulation(scene, solver=solver, dt=dt)


@both
def test_a_spring_between_points_oscillates_to_second_order(solver):
    omega, errors = 2 * np.pi, []
    for dt in (0.02, 0.01, 0.005):
        sim = on_a_spring(solver, dt, M * omega**2, "slide")
        q, _ = series(sim, sim.joint("joint"), round(1.7 / dt))
        errors.append(np.abs(q + 0.1 - 0.1 * np.cos(omega * dt * np.arange(len(q)))).max())
    assert errors[0] < 0.1 * (omega * 0.02) ** 2 / 12 * omega * 1.7 * 1.5
    assert (order(errors) > 1.9).all()


@both
@pytest.mark.parametrize("damping", [0.0, 1e3, 1e6])
@pytest.mark.parametrize("where", ["slide", "free"])
def test_a_stiff_spring_between_points_does_not_blow_up(solver, where, damping):
    """k dt²/m = x = 1e4, with dampers up to dt c/m = 7000. On the slide the ends of the steps swing between ± the first
    stretch, at speeds of 2/dt times it: 4/x of the energy. The free body keeps the energy of its swing and spin, at
    rates up to 1.2 rad/s, to second order."""
    dt = 0.01
    sim = on_a_spring(solver, dt, 1e4 * M / dt**2, where, damping)
    first, most = sum(sim.energy), 0.0
    for _ in range(500):
        sim.step()
        most = max(most, sum(sim.energy))
    swing = 10 * (1.2 * dt) ** 2 + (0.15 if damping > 1e5 else 0.0)  # the first half step stretches it under the damper
    assert most <= first * (1 + (4.1 / 1e4 if where == "slide" else swing))
    assert abs(np.linalg.norm(sim.body("body").position) - 0.5) < 0.25
