"""Couplings against closed forms: gears, rack and pinion, repeaters, and couplings of joints that close loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sharnir as sh

SOLVERS = ("simgc", "simmc")
both = pytest.mark.parametrize("solver", SOLVERS)
ways = pytest.mark.parametrize("bilateral", ["direct", "sweep"])
EXACT = 1e-8  # rad or m: what couplings may be off in steady running


def wheels(inertias: list[float], gravity: float = 0.0) -> sh.Scene:
    """Wheels on parallel hinges w0, w1, … to the world."""
    scene = sh.Scene(name="wheels", gravity=(0.0, 0.0, -gravity))
    for n, inertia in enumerate(inertias):
        place = (0.3 * n, 0.0, 0.0)
        scene.add(sh.Body(name=f"wheel{n}", mass=1.0, inertia=(inertia,) * 3, position=place))
        scene.add(sh.Revolute(name=f"w{n}", parent="world", child=f"wheel{n}", anchor=place, axis=(0, 1, 0)))
    return scene


def position(sim: Any, name: str) -> float:
    return float(sim.joint(name).position[0])


def steady(sim: Any, steps: int, leader: str, follower: str, ratio: float, offset: float = 0.0) -> float:
    """The worst error of a coupling over some steps."""
    worst = 0.0
    for _ in range(steps):
        sim.step()
        worst = max(worst, abs(position(sim, follower) - ratio * position(sim, leader) - offset))
    return worst


@both
@ways
def test_gears_accelerate_as_one_inertia(solver, bilateral):
    """q₂ = −2 q₁ under torque τ on the leader: q̈₁ = τ / (I₁ + 4 I₂), stepped exactly."""
    scene = wheels([0.3, 0.05])
    scene.add(sh.Coupling(name="gears", leader="w0", follower="w1", ratio=-2.0))
    dt, tau = 0.01, 0.7
    sim = sh.Simulation(scene, solver=solver, dt=dt, bilateral=bilateral)
    sim.joint("w0").control = tau
    a = tau / (0.3 + 4 * 0.05)
    left = sim.settings.compute_epsilon(sim.inner, dt) / 0.05 / dt  # ε of an impulse a step, as an acceleration
    for step in range(1, 301):
        sim.step()
        t = step * dt
        assert abs(position(sim, "w0") - 0.5 * a * t**2) <= 1e-12 + 0.5 * left * t**2
        assert abs(position(sim, "w1") + 2 * position(sim, "w0")) <= EXACT
    sim.joint("w0").control = 0.0
    sim.joint("w1").control = -tau  # on the follower it counts −2-fold
    before = float(sim.joint("w0").velocity[0])
    sim.step(100)
    np.testing.assert_allclose(sim.joint("w0").velocity[0] - before, 2 * a * 1.0, rtol=0.02)
    assert steady(sim, 50, "w0", "w1", -2.0) <= EXACT


@both
@ways
def test_rack_and_pinion(solver, bilateral):
    """x = r φ: a weight on the rack turns the wheel, g m r / (I + m r²)."""
    radius, m, inertia, g = 0.08, 2.0, 0.03, 9.81
    scene = sh.Scene(name="rack")
    scene.add(sh.Body(name="wheel", mass=1.0, inertia=(inertia,) * 3))
    scene.add(sh.Body(name="rack", mass=m, inertia=(0.1, 0.1, 0.1), position=(radius, 0, 0)))
    scene.add(sh.Revolute(name="pinion", parent="world", child="wheel", anchor=(0, 0, 0), axis=(0, 1, 0)))
    scene.add(sh.Prismatic(name="slide", parent="world", child="rack", anchor=(radius, 0, 0), axis=(0, 0, -1)))
    scene.add(sh.Coupling(name="teeth", leader="pinion", follower="slide", ratio=radius))
    dt = 0.005
    sim = sh.Simulation(scene, solver=solver, dt=dt, bilateral=bilateral)
    a = m * g * radius / (inertia + m * radius**2)
    left = sim.settings.compute_epsilon(sim.inner, dt) / inertia / dt
    for step in range(1, 201):
        sim.step()
        t = step * dt
        assert abs(position(sim, "pinion") - 0.5 * a * t**2) <= 1e-12 + 0.5 * left * t**2
        assert abs(position(sim, "slide") - radius * position(sim, "pinion")) <= EXACT


@both
@ways
def test_one_motor_drives_two_links(solver, bilateral):
    """A repeater under gravity: both links turn alike, and the motor carries both loads."""
    scene = sh.Scene(name="repeater")
    for n, side in enumerate((0.0, 1.0)):
        scene.add(sh.Body(name=f"link{n}", mass=1.0 + n, inertia=(0.02,) * 3, position=(0.2, side, 0)))
        scene.add(sh.Revolute(name=f"j{n}", parent="world", child=f"link{n}", anchor=(0, side, 0), axis=(0, -1, 0)))
    scene.add(sh.Coupling(name="repeat", leader="j0", follower="j1"))
    scene.add(sh.Motor(name="motor", joint="j0", velocity=0.8))
    dt = 0.005
    sim = sh.Simulation(scene, solver=solver, dt=dt, bilateral=bilateral)
    assert steady(sim, 300, "j0", "j1", 1.0) <= EXACT
    epsilon = sim.settings.compute_epsilon(sim.inner, dt)
    np.testing.assert_allclose(position(sim, "j0"), 0.8 * 1.5, atol=1e-7 + 300 * dt * epsilon / 0.06)  # of link 0
    load = 3.0 * 9.81 * 0.2
    assert abs(sim.motor("motor").force - load * np.cos(1.2)) <= load * 0.8 * dt + 1e-4


@both
@ways
def test_a_mimic_that_starts_off_is_pulled_in_without_energy(solver, bilateral):
    """Each step undoes a fifth of the error (erp), by displacement, not by speed."""
    scene = wheels([0.3, 0.05])
    scene.add(sh.Coupling(name="mimic", leader="w0", follower="w1", ratio=1.0, offset=0.2))
    sim = sh.Simulation(scene, solver=solver, dt=0.01, bilateral=bilateral)
    error, most = 0.2, 0.0
    for _ in range(150):
        sim.step()
        now = abs(position(sim, "w1") - position(sim, "w0") - 0.2)
        assert now <= 0.8 * error + EXACT
        assert now >= 0.8 * error - 1e-6
        error, most = now, max(most, sum(sim.energy))
    assert error <= EXACT * 10
    epsilon = sim.settings.compute_epsilon(sim.inner, 0.01)
    assert most <= 150 * epsilon**2 / 0.05  # speeds of ε over the lesser inertia at most
    # both were moved in inverse proportion to their inertias
    np.testing.assert_allclose(0.05 * position(sim, "w1"), -0.3 * position(sim, "w0"), atol=1e-6)


@both
@ways
def test_a_train_of_gears(solver, bilateral):
    """Five wheels, each −1.5 times the one before: q̈₀ = τ / Σ I r²ᵏ."""
    inertias, r = [0.3, 0.1, 0.05, 0.02, 0.01], -1.5
    scene = wheels(inertias)
    for n in range(4):
        scene.add(sh.Coupling(name=f"c{n}", leader=f"w{n}", follower=f"w{n + 1}", ratio=r))
    dt, tau = 0.005, 1.0
    sim = sh.Simulation(scene, solver=solver, dt=dt, bilateral=bilateral)
    sim.joint("w0").control = tau
    total = sum(inertia * r ** (2 * n) for n, inertia in enumerate(inertias))
    left = sim.settings.compute_epsilon(sim.inner, dt) * sum(abs(r) ** n for n in range(5)) / total / dt
    for step in range(1, 201):
        sim.step()
        t = step * dt
        q = [position(sim, f"w{n}") for n in range(5)]
        assert max(abs(q[n + 1] - r * q[n]) for n in range(4)) <= EXACT
        assert abs(q[0] - 0.5 * tau / total * t**2) <= 1e-12 + 10 * left * t**2


@both
@ways
def test_a_tree_coordinate_is_coupled_to_one_that_closes_a_loop(solver, bilateral):
    """A parallelogram whose last hinge c closes the loop, geared to a wheel: c turns as the crank does, backwards."""
    scene = sh.Scene(name="four-bar", gravity=(0.0, 0.0, 0.0))
    m, inertia = 1.0, 0.1
    for name, place in (("left", (0, 0, 0.5)), ("top", (0.5, 0, 1)), ("right", (1, 0, 0.5))):
        scene.add(sh.Body(name=name, mass=m, inertia=(inertia,) * 3, position=place))
    scene.add(sh.Body(name="wheel", mass=1.0, inertia=(0.04,) * 3, position=(2, 0, 0)))
    hinge: dict[str, Any] = {"axis": (0, 1, 0)}
    scene.add(sh.Revolute(name="a", parent="world", child="left", anchor=(0, 0, 0), position=0.0, **hinge))
    scene.add(sh.Revolute(name="b", parent="left", child="top", anchor=(0, 0, 1), position=0.0, **hinge))
    scene.add(sh.Revolute(name="d", parent="world", child="right", anchor=(1, 0, 0), position=0.0, **hinge))
    scene.add(sh.Revolute(name="c", parent="top", child="right", anchor=(1, 0, 1), **hinge))
    scene.add(sh.Revolute(name="w", parent="world", child="wheel", anchor=(2, 0, 0), position=0.0, **hinge))
    scene.add(sh.Coupling(name="gear", leader="c", follower="w", ratio=-2.0))
    assert sh.compile(scene).joint("c").closes_loop
    dt, tau = 0.002, 0.5
    sim = sh.Simulation(scene, solver=solver, dt=dt, bilateral=bilateral)
    sim.joint("a").control = tau
    # cranks turn about their ends, the top moves along a circle of 1 m; c = a, the wheel −2 a
    total = 2 * (inertia + m * 0.25) + m * 1.0 + 4 * 0.04
    epsilon = sim.settings.compute_epsilon(sim.inner, dt)
    for step in range(1, 401):
        report = sim.step()
        t = step * dt
        assert abs(position(sim, "w") + 2 * position(sim, "c")) <= 2 * EXACT
        assert report.position_error <= 1e-6
        exact = 0.5 * tau / total * t**2
        assert abs(position(sim, "a") - exact) <= 1e-7 + exact * dt + 10 * epsilon / total / dt * t**2
    assert abs(position(sim, "c") - position(sim, "a")) <= 1e-6


@both
def test_joints_far_from_their_limits_stay_coupled(solver):
    """A coupling needs the rows of its joints also where their limits are out of reach."""

    def arm(limits: tuple[float, float] | None) -> sh.Scene:
        scene = sh.Scene(name="arm")
        for n, parent in enumerate(("world", "link0")):
            scene.add(sh.Body(name=f"link{n}", mass=1.0, inertia=(0.1,) * 3, position=(0.5 + n, 0, 0)))
            place = {"anchor": (float(n), 0, 0), "axis": (0, 1, 0), "limits": limits}
            scene.add(sh.Revolute(name=f"j{n}", parent=parent, child=f"link{n}", **place))
        scene.add(sh.Coupling(name="mimic", leader="j0", follower="j1", ratio=0.5))
        return scene

    ends = []
    for limits in (None, (-100.0, 100.0)):
        sim = sh.Simulation(arm(limits), solver=solver, dt=1e-3)
        assert sim.run(0.5).position_error < EXACT
        ends.append(position(sim, "j0"))
    assert ends[0] == pytest.approx(ends[1], abs=1e-12)
