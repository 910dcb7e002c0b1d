"""ε: what it is by default, and what rests by it."""

from __future__ import annotations

import numpy as np
import pytest

import sharnir as sh
from sharnir import scenes
from sharnir.impulse.settings import Settings


def two_pendulums() -> sh.Scene:
    """One of two links of 1 and 2 kg, one of a link of 4 kg."""
    scene = sh.Scene(name="two")
    for name, parent, mass in (("a", "world", 1.0), ("b", "a", 2.0), ("c", "world", 4.0)):
        scene.add(sh.Body(name=name, mass=mass, inertia=(0.1, 0.1, 0.1)))
        scene.add(sh.Revolute(name=f"j{name}", parent=parent, child=name, axis=(0, 1, 0)))
    return scene


def test_mechanisms_are_bodies_that_joints_connect():
    model = sh.compile(two_pendulums())
    assert model.heaviest_mechanism == 4.0
    assert sh.maximal(model).heaviest_mechanism == 4.0
    assert sh.compile(scenes.make("humanoid")).heaviest_mechanism == pytest.approx(
        float(sh.compile(scenes.make("humanoid")).mass.sum())
    )


def test_epsilon_is_a_share_of_the_weight():
    model, dt = sh.compile(scenes.make("pile", n=8)), 0.005
    weight = float(model.mass.sum()) * 9.81 * dt
    settings = Settings()
    assert settings.compute_accept_tolerance(model, dt) == pytest.approx(1e-6 * weight, rel=1e-3)
    assert settings.compute_epsilon(model, dt) == pytest.approx(3e-6 * weight / 8, rel=1e-3)
    given = Settings(epsilon=1e-4)
    assert given.compute_epsilon(model, dt) == given.compute_accept_tolerance(model, dt) == 1e-4
    alone = sh.compile(scenes.make("humanoid"))
    assert settings.compute_epsilon(alone, dt) == settings.compute_accept_tolerance(alone, dt)


def test_velocities_read_at_rest_are_those_that_positions_go_on_with():
    """Points that carry load may hover by a micrometre; what they carry is not about to fall."""
    sim = sh.Simulation(scenes.make("balls", n=27), dt=0.005)
    sim.run(10.0)
    before = np.array([(sim.body(name).position, sim.body(name).velocity) for name in sim.model.body_names])
    sim.step()
    after = np.array([sim.body(name).position for name in sim.model.body_names])
    assert np.abs((after - before[:, 0]) / sim.dt - before[:, 1]).max() < 1e-4


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("solver", ["simgc", "simmc"])
def test_a_scene_without_bodies_steps(solver):
    sim = sh.Simulation(sh.Scene(name="empty"), solver=solver, dt=0.005)
    sim.run(0.1)
    assert sim.time == pytest.approx(0.1)
