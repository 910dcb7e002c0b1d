"""A free-floating mechanism keeps its momenta, whatever goes on inside."""

from __future__ import annotations

import numpy as np
import pytest
from measures import all_four, floating, moving_momenta, stored_momenta

import sharnir as sh


def drifts(sim, steps: int, chunk: int, driven: bool = True) -> np.ndarray:
    """Largest relative change of linear and angular momentum, as stored and as of velocities: [4]."""
    first, worst = [*stored_momenta(sim), *moving_momenta(sim)], np.zeros(4)
    for k in range(steps // chunk):
        if driven:  # torques in crosses and balls; motors drive the hinges
            for i in range(1, 20):
                if i % 3:
                    sim.joint(f"j{i}").control = 0.05 * np.sin(0.1 * k + i)
            for name in sim.model.motor_names:
                sim.motor(name).target = np.sin(0.07 * k)
        sim.step(chunk)
        now = [*stored_momenta(sim), *moving_momenta(sim)]
        worst = np.maximum(worst, [np.linalg.norm(a - b) / np.linalg.norm(b) for a, b in zip(now, first, strict=True)])
    return worst


def test_both_ways_to_measure_momentum_agree():
    """Velocities of the start, with library functions as the third."""
    for solver in ("simgc", "simmc"):
        sim = sh.Simulation(floating(), solver=solver)
        p, L = sh.dynamics.momentum(sim.inner, sim.q, sim.v)  # a function, also after a Simulation was made
        for momenta in (stored_momenta(sim), moving_momenta(sim)):
            np.testing.assert_allclose(momenta.linear, p, atol=1e-13)
            np.testing.assert_allclose(momenta.angular, L, atol=1e-12)


@all_four
def test_momenta_are_kept(solver, bilateral):
    """Internal impulses come in pairs. In maximal coordinates both momenta are kept to 1e-10 over 10⁵ steps, which is a
    fiftieth of that here; rounding of 20 bodies is far below. In generalised coordinates a step may leave 1e-6 of the
    momentum (1e-12 of the energy) to the next, where it arrives turned by what bodies turn, some 3 rad/s."""
    steps, dt = 2000, 0.01
    sim = sh.Simulation(floating(), solver=solver, dt=dt, bilateral=bilateral)
    tolerance = 1e-10 * steps / 1e5 if solver == "simmc" else 1e-6 * 3.0 * dt * steps
    worst = drifts(sim, steps, 20)
    assert (worst < tolerance).all(), worst


@pytest.mark.slow
@pytest.mark.parametrize("bilateral", ["direct", "sweep"])
def test_momenta_are_kept_over_1e5_steps(bilateral):
    sim = sh.Simulation(floating(), solver="simmc", dt=0.01, bilateral=bilateral)
    worst = drifts(sim, 100_000, 200)
    assert (worst < 1e-10).all(), worst


def test_drift_of_generalised_coordinates_does_not_grow_as_steps_shrink():
    """Over the same 2 s, without drives. What passes leave ends at a threshold, not at an order of dt: no order is
    asked, only that all steps together stay within what one threshold allows (see above)."""
    for dt in (0.01, 0.005, 0.0025, 0.00125):
        sim = sh.Simulation(floating(motors=False), solver="simgc", dt=dt)
        assert drifts(sim, round(2.0 / dt), 20, driven=False).max() < 1e-6 * 3.0 * 2.0


def test_drift_of_the_published_scheme_in_generalised_coordinates_is_of_first_order():
    drift = []
    for dt in (0.005, 0.0025, 0.00125):
        sim = sh.Simulation(floating(motors=False), solver="simgc", method="paper", dt=dt)
        drift.append(drifts(sim, round(2.0 / dt), 20, driven=False)[:2])
    orders = np.log2(np.array(drift[:-1]) / np.array(drift[1:]))
    assert (np.abs(orders - 1.0) < 0.1).all(), orders


@pytest.mark.parametrize("solver", ["simgc", "simmc"])
def test_a_torque_between_two_bodies_turns_them_against_each_other(solver):
    """Control of an internal joint moves what it should: angular momentum of both, opposite and τ t each."""
    scene = sh.Scene(gravity=(0.0, 0.0, 0.0))
    for name in ("a", "b"):
        scene.add(sh.Body(name=name, mass=1.0, inertia=(0.1, 0.1, 0.2)))
    scene.add(sh.Free(name="root", parent="world", child="a"))
    scene.add(sh.Revolute(name="hinge", parent="a", child="b"))
    sim = sh.Simulation(scene, solver=solver)
    sim.joint("hinge").control = 0.3
    sim.step(100)
    # velocities at the time of q have had all of 1 s
    np.testing.assert_allclose(sim.body("b").angular_velocity, [0, 0, 0.3 / 0.2], atol=1e-12)
    np.testing.assert_allclose(sim.body("a").angular_velocity, [0, 0, -0.3 / 0.2], atol=1e-12)


def struck(speed: float, mass: float) -> sh.Scene:
    """A weightless machine, a trunk with four legs of two links, that a ball strikes."""
    scene = sh.Scene(name="struck", gravity=(0.0, 0.0, 0.0))
    rough = sh.Material(friction=0.8)
    scene.add(sh.Body(name="trunk", shapes=[sh.Box(size=(0.5, 0.3, 0.2), material=rough)]))
    scene.add(sh.Free(name="free", parent="world", child="trunk"))
    for k, (x, y) in enumerate([(0.25, 0.2), (0.25, -0.2), (-0.25, 0.2), (-0.25, -0.2)]):
        up = "trunk"
        for n, z in enumerate((-0.1, -0.4)):
            link = sh.Capsule(radius=0.03, length=0.24, material=rough)
            scene.add(sh.Body(name=f"leg{k}{n}", shapes=[link], position=(x, y, z - 0.15)))
            scene.add(
                sh.Revolute(
                    name=f"hinge{k}{n}", parent=up, child=f"leg{k}{n}", anchor=(x, y, z), axis=(0, 1, 0), damping=0.5
                )
            )
            up = f"leg{k}{n}"
    ball = sh.Sphere(radius=0.15, material=rough)
    scene.add(sh.Body(name="ball", mass=mass, inertia=(0.009 * mass,) * 3, shapes=[ball], position=(0.75, 0.15, -0.45)))
    scene.add(sh.Free(name="ball_free", parent="world", child="ball", velocity=(-speed, 0, 0, 0, 0, 0)))
    return scene


@all_four
@pytest.mark.parametrize("dt", [0.01, 0.002])
def test_a_floating_machine_that_is_struck_keeps_momentum(solver, bilateral, dt):
    """A ball strikes its legs: impacts and turns that the passes of a step do not resolve. What the momentum balance
    lacks when they end is given back to the machine as a whole (M-102), but for the part that the next step gets."""
    scene = struck(30.0, 5.0)
    sim = sh.Simulation(scene, solver=solver, dt=dt, bilateral=bilateral)
    momentum = 5.0 * 30.0
    errors = []
    for _ in range(round(1.0 / dt)):
        sim.step()
        errors.append(np.linalg.norm(stored_momenta(sim).linear - (-momentum, 0.0, 0.0)) / momentum)
    touched = np.linalg.norm(sim.body("trunk").velocity) > 0.5
    assert touched
    assert np.sqrt(np.mean(np.square(errors))) < 5e-6 and errors[-1] < 1e-6
