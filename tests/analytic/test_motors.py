"""Motors against closed forms: targets met at once or with what force there is, loads read off their forces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sharnir as sh

SOLVERS = ("simgc", "simmc")
MASS, ARM, ABOUT = 2.0, 0.3, 0.05
INERTIA = ABOUT + MASS * ARM**2  # about the hinge
G = 9.81

both = pytest.mark.parametrize("solver", SOLVERS)
places = pytest.mark.parametrize("where", ["tree", "loop"])


def arm(where: str = "tree", gravity: float = G, motor: dict[str, Any] | None = None, **facts: Any) -> sh.Scene:
    """An arm along x that turns upwards about -y; where "loop": its weightless-like twin carries the same tip, so that
    the hinge closes a loop."""
    scene = sh.Scene(name="arm", gravity=(0.0, 0.0, -gravity))
    scene.add(sh.Body(name="arm", mass=MASS, inertia=(ABOUT, ABOUT, ABOUT), position=(ARM, 0, 0)))
    scene.add(sh.Revolute(name="hinge", parent="world", child="arm", anchor=(0, 0, 0), axis=(0, -1, 0), **facts))
    if where == "loop":  # another way to the arm with six freedoms
        before = "world"
        for n, axis in enumerate(np.eye(3)):
            scene.add(sh.Body(name=f"g{n}", mass=1e-3, inertia=(1e-4, 1e-4, 1e-4)))
            scene.add(sh.Prismatic(name=f"s{n}", parent=before, child=f"g{n}", axis=axis, position=0.0))
            before = f"g{n}"
        scene.add(sh.Spherical(name="wrist", parent=before, child="arm", anchor=(0, 0, 0), position=(0, 0, 0, 1)))
    if motor:
        scene.add(sh.Motor(name="motor", joint="hinge", **motor))
    assert sh.compile(scene).joint("hinge").closes_loop == (where == "loop")
    return scene


def run(sim: Any, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """[steps + 1] angles and [steps] forces of the motor."""
    q, force = [float(sim.joint("hinge").position[0])], []
    for _ in range(steps):
        sim.step()
        q.append(float(sim.joint("hinge").position[0]))
        force.append(float(sim.motor("motor").force))
    return np.array(q), np.array(force)


def slack(sim: Any) -> float:
    """Error of a speed that ε of an impulse leaves, rad/s."""
    return 10 * sim.settings.compute_epsilon(sim.inner, sim.dt) / INERTIA


@both
@places
@pytest.mark.parametrize("bilateral", ["direct", "sweep"])
@pytest.mark.parametrize("bound", [np.inf, 1e4])
def test_a_velocity_is_reached_in_one_step_and_held_under_load(solver, where, bilateral, bound):
    dt, speed = 0.005, 1.5
    sim = sh.Simulation(
        arm(where, motor={"velocity": speed, "max_force": bound}), solver=solver, dt=dt, bilateral=bilateral
    )
    q, force = run(sim, 300)
    np.testing.assert_allclose(np.diff(q), speed * dt, atol=slack(sim) * dt + 1e-8)  # 1e-8: left by joints that close
    load = MASS * G * ARM * np.cos(q)
    change = MASS * G * ARM * speed * dt + slack(sim) * INERTIA / dt  # what the load changes by in a step
    assert (np.abs(force[1:] - load[1:-1]) <= change).all()


@both
@places
def test_a_bounded_motor_accelerates_with_its_force(solver, where):
    """Torque τ without load: ω = τ t / I until the target."""
    dt, most, speed = 0.005, 0.4, 1.0
    sim = sh.Simulation(arm(where, 0.0, {"velocity": speed, "max_force": most}), solver=solver, dt=dt)
    inertia = INERTIA
    q, force = run(sim, 200)
    t = dt * np.arange(201)
    reached = speed * inertia / most  # 0.575 s
    early = t <= reached - dt
    left = slack(sim) * t + 1e-8
    left += 0.5 * most / inertia * t**2 * (speed * dt) ** 2 / 12  # a chord is shorter than its arc
    assert (np.abs(q - 0.5 * most / inertia * t**2)[early] <= left[early]).all()
    np.testing.assert_allclose(force[:100], most, rtol=1e-12)
    np.testing.assert_allclose(np.diff(q)[-60:], speed * dt, atol=slack(sim) * dt + 1e-8)
    assert np.abs(force[-60:]).max() < 1e-3 * most
    assert np.diff(q).max() <= speed * dt * (1 + 1e-9) + slack(sim) * dt + 1e-8  # no overshoot


@both
@places
@pytest.mark.parametrize("response", [0.0, 0.1])
def test_a_position_is_approached_without_overshoot(solver, where, response):
    """Linearly at max_speed, then as (1 − dt/T)ⁿ, which is exp(−t/T) to first order."""
    dt, target, most = 0.01, 0.8, 2.0
    motor = {"position": target, "response": response, "max_speed": most}
    sim = sh.Simulation(arm(where, motor=motor), solver=solver, dt=dt)
    q, force = run(sim, 200)
    expected = [0.0]
    for _ in range(200):
        expected.append(expected[-1] + dt * min(most, (target - expected[-1]) / max(response, dt)))
    np.testing.assert_allclose(q, expected, atol=slack(sim) * 0.2 + 2e-8)
    assert q.max() <= target + slack(sim) * dt + 2e-8
    assert np.diff(q).max() <= most * dt * (1 + 1e-9) + slack(sim) * dt + 1e-8
    np.testing.assert_allclose(force[-1], MASS * G * ARM * np.cos(target), rtol=1e-5)  # holds the arm


@both
@places
def test_targets_change_while_running(solver, where):
    dt = 0.005
    sim = sh.Simulation(arm(where, motor={"velocity": 1.0}), solver=solver, dt=dt)
    motor = sim.motor("motor")
    for target in (1.0, -2.0, 0.0, 0.5):
        motor.target = target
        assert motor.target == target
        q, _ = run(sim, 20)
        np.testing.assert_allclose(np.diff(q), target * dt, atol=slack(sim) * dt + 1e-8)
    sim.reset()
    assert motor.target == 1.0


@both
def test_a_lift_reads_its_load_and_stalls_above_its_force(solver):
    scene = sh.Scene(name="lift")
    scene.add(sh.Body(name="car", mass=3.0, inertia=(0.1, 0.1, 0.1)))
    scene.add(sh.Prismatic(name="rail", parent="world", child="car", anchor=(0, 0, 0), axis=(0, 0, 1)))
    scene.add(sh.Motor(name="hoist", joint="rail", velocity=0.5, max_force=40.0))
    sim = sh.Simulation(scene, solver=solver, dt=0.01)
    sim.step(100)
    np.testing.assert_allclose(sim.motor("hoist").force, 3.0 * G, rtol=1e-6)
    np.testing.assert_allclose(sim.joint("rail").velocity, 0.5, rtol=1e-6)
    sim.body("car").applied = (0, 0, -20.0, 0, 0, 0)  # 9.43 N more than it has
    before = float(sim.joint("rail").position[0])
    sim.step(100)
    np.testing.assert_allclose(sim.motor("hoist").force, 40.0, rtol=1e-12)
    a = (40.0 - 3.0 * G - 20.0) / 3.0
    # speed 0.5 is half a step behind the force that now acts: exact for a constant force
    np.testing.assert_allclose(sim.joint("rail").position[0] - before, 0.5 + 0.5 * a, atol=abs(a) * 0.01)


@both
@pytest.mark.parametrize("speed", [1.0, 0.01, 0.001])
@pytest.mark.parametrize("against", ["friction", "limit"])
def test_a_motor_works_against_friction_and_stalls_at_a_limit(solver, against, speed):
    """A light finger: friction takes its share of the torque at any speed; at a limit the motor gives all it has."""
    scene = sh.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add(sh.Body(name="finger", mass=0.1, inertia=(1e-4, 1e-4, 1e-4)))
    facts = {"friction": 0.5} if against == "friction" else {"limits": (-1.0, 0.0)}
    scene.add(sh.Revolute(name="hinge", parent="world", child="finger", anchor=(0, 0, 0), axis=(0, 0, 1), **facts))
    scene.add(sh.Motor(name="motor", joint="hinge", velocity=speed, max_force=2.0))
    dt = 0.01
    sim = sh.Simulation(scene, solver=solver, dt=dt)
    sim.step(50)
    left = 10 * sim.settings.compute_epsilon(sim.inner, dt)
    assert sim.counts.capped == 0
    if against == "friction":
        np.testing.assert_allclose(sim.joint("hinge").position[0], 50 * dt * speed, atol=50 * dt * left / 1e-4)
        np.testing.assert_allclose(sim.motor("motor").force, 0.5, atol=left / dt)
    else:
        np.testing.assert_allclose(sim.joint("hinge").position[0], 0.0, atol=1e-9)
        np.testing.assert_allclose(sim.motor("motor").force, 2.0, atol=left / dt)


def driven_gears() -> sh.Scene:
    """A motor turns one arm, whose gears turn another up to its limit of 0.5 rad."""
    scene = sh.Scene(name="gears")
    for name, x in (("a", 0.0), ("b", 1.0)):
        scene.add(sh.Body(name=name, mass=MASS, inertia=(ABOUT,) * 3, position=(x + ARM, 0.0, 0.0)))
        limits = (-0.5, 0.5) if name == "b" else None
        scene.add(
            sh.Revolute(
                name=f"{name}_hinge", parent="world", child=name, anchor=(x, 0, 0), axis=(0, -1, 0), limits=limits
            )
        )
    scene.add(sh.Coupling(name="gears", leader="a_hinge", follower="b_hinge", ratio=0.5))
    scene.add(sh.Motor(name="motor", joint="a_hinge", velocity=1.0))
    return scene


@both
@pytest.mark.parametrize("dt", [0.01, 0.001])
@pytest.mark.parametrize("through", ["own", "gears"])
def test_limits_hold_over_motors_without_bound(solver, dt, through):
    """In maximal coordinates, and with gears, motors without bound are solved with the joints: none may pass a limit,
    of its own hinge or of one that it drives (M-101). Turned round it leaves at once."""
    scene = driven_gears() if through == "gears" else arm(motor={"velocity": 1.0}, limits=(-0.5, 0.5))
    sim = sh.Simulation(scene, solver=solver, dt=dt)
    hinge = "b_hinge" if through == "gears" else "hinge"
    for target in (1.0, -1.0):
        sim.motor("motor").target = target
        farthest = 0.0
        for _ in range(round(2.5 / dt)):
            sim.step()
            farthest = max(farthest, target * float(sim.joint(hinge).position[0]))
        assert 0.5 - 1e-6 < farthest < 0.5 + 1e-9
