"""Going on with the other solver in mid-motion."""

from __future__ import annotations

import numpy as np
import pytest
from refusal import refused

from sharnir import scenes
from sharnir.simulation.simulation import Simulation
from sharnir.simulation.switch_solver import with_solver


@pytest.mark.parametrize("name", ["five_link_chain", "peaucellier", "double_wishbone", "humanoid", "grasp_arm"])
def test_state_and_motion_go_on(name):
    sim = Simulation(scenes.make(name), dt=0.002)
    sim.step(200)
    there = with_solver(sim, "simmc")
    back = with_solver(there, "simgc")
    for new in (there, back):
        assert new.time == sim.time
        for what in ("position", "rotation", "velocity"):
            np.testing.assert_allclose(new.seen(what), sim.seen(what), atol=1e-12)
        np.testing.assert_allclose(new.energy, sim.energy, rtol=1e-12)
    for each in (sim, there, back):
        each.step(50)
    for new in (there, back):
        np.testing.assert_allclose(new.seen("position"), sim.seen("position"), atol=2e-5)


def test_inputs_and_controllers_go_on():
    sim = Simulation(scenes.make("grasp_arm"), dt=0.002)
    calls = []
    sim.add_controller(lambda s: calls.append(s.solver), rate=100)
    sim.motor("waist").target = 0.3
    sim.joint("elbow").control = 0.2
    sim.body("hand").applied = (1, 2, 3, 0.1, 0.2, 0.3)
    sim.step(10)
    new = with_solver(sim, "simmc")
    assert new.motor("waist").target == 0.3
    assert new.joint("elbow").control.tolist() == [0.2]
    assert new.body("hand").applied.tolist() == [1, 2, 3, 0.1, 0.2, 0.3]
    new.step(10)
    assert "simmc" in calls


def test_several_worlds_are_refused():
    with refused("has several worlds", "2"):
        with_solver(Simulation(scenes.make("pendulum"), worlds=2), "simmc")
