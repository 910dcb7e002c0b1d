"""The arm puts its object on the shelf, by contact and by what its motors have."""

from __future__ import annotations

import numpy as np
import pytest

import sharnir as sh
from sharnir import scenes
from sharnir.scenes import demonstrators
from sharnir.scenes.demonstrators.pick_and_place import PickAndPlace

CASES = [(0, 0, "simgc"), (1, 1, "simgc"), (2, 0, "simgc"), (3, 1, "simgc"), (4, 0, "simgc"), (0, 0, "simmc"),
         (1, 1, "simmc")]  # fmt: skip


@pytest.mark.parametrize(("seed", "linkage", "solver"), CASES)
def test_object_is_put_on_the_shelf(seed, linkage, solver):
    sim = sh.Simulation(scenes.make("manipulator_grasp", seed=seed, linkage=linkage), solver=solver, dt=0.005)
    task = PickAndPlace(sim)
    sim.add_controller(task, rate=200)
    while sim.time < 15.0 and not task.done:
        sim.step(4)
    assert task.done
    assert all(figure.met for figure in task.figures()), [str(f) for f in task.figures() if not f.met]
    pressed = np.array([force for _, force in task.grips])  # [calls, fingers, 3] N
    assert len(pressed) > 400 and (np.linalg.norm(pressed, axis=2) > 1.0).all()
    assert np.abs(pressed.sum(axis=1) - (0.0, 0.0, 0.4 * 9.81)).mean(axis=0).max() < 1.0  # they carry its weight


def test_an_object_too_heavy_for_the_friction_slips_out():
    """The goal is not reached by anything but contact: without friction the object stays where it lies."""
    scene = scenes.make("manipulator_grasp")
    for body in scene.bodies:
        for shape in body.shapes:
            if body.name.startswith("finger"):
                shape.material = sh.Material(friction=0.01, combine="least")
    sim = sh.Simulation(scene, dt=0.005)
    task = PickAndPlace(sim)
    sim.add_controller(task, rate=200)
    sim.run(8.0)
    figures = {figure.name: figure for figure in task.figures()}
    assert not figures["object lifted by"].met


def test_it_is_a_demonstrator():
    assert "manipulator_grasp" in demonstrators.names()
    with pytest.raises(sh.ModelError, match="unknown demonstrator"):
        demonstrators.find("valve")
