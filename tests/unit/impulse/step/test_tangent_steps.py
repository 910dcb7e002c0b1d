"""Steps along the tangent, `passes=0`: what is promised of them."""

from __future__ import annotations

import numpy as np
import pytest

import sharnir as sh
from sharnir import scenes

STEPS = (0.004, 0.002, 0.001)  # s


@pytest.mark.parametrize("solver", ["simgc", "simmc"])
def test_steps_along_the_tangent_are_of_first_order_and_gain_no_energy(solver):
    scene = scenes.make("five_link_chain", friction=0.0, n=3)
    fine = sh.Simulation(scene, dt=1e-4)
    fine.run(0.5)
    truth = fine.body("link3").position
    errors = []
    for dt in STEPS:
        sim = sh.Simulation(scene, solver=solver, dt=dt, passes=0)
        first = sum(sim.energy)
        for _ in range(round(0.5 / dt / 5)):
            report = sim.step(5)
            assert sum(sim.energy) < first + 1e-3
            assert report.passes == 0 and not report.guarded
        errors.append(np.linalg.norm(sim.body("link3").position - truth))
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (orders > 0.8).all(), (errors, orders)


def test_a_limit_met_by_surprise_holds_along_the_tangent():
    """A blow brings a joint at rest to its limit within a step, though it was out of reach as the step began."""
    scene = sh.Scene(name="swing", gravity=(0, 0, 0))
    scene.add(sh.Body(name="arm", shapes=[sh.Box(size=(0.4, 0.05, 0.05))], mass=1.0, position=(0.2, 0, 0)))
    scene.add(sh.Revolute(name="hinge", parent="world", child="arm", axis=(0, 0, 1), limits=(-0.2, 0.2)))
    sim = sh.Simulation(scene, dt=0.01, passes=0)
    sim.joint("hinge").control = 2000.0  # N m
    worst = 0.0
    for _ in range(5):
        sim.step()
        worst = max(worst, float(np.abs(sim.joint("hinge").position[0])))
    assert worst < 0.2 + 1e-6
