"""The anthropomorphic robot bends, takes a stone from a table between its hands, lifts it and puts it back."""

from __future__ import annotations

import numpy as np
import pytest

import sharnir as sh
from sharnir import scenes
from sharnir.scenes import demonstrators
from sharnir.scenes.skybot.lift_stone import LiftStone

NAME = "humanoid_stone"


def test_lifts_the_stone():
    outcome = demonstrators.attempt(NAME, seed=0)
    assert outcome.met, str(outcome)
    assert outcome.simulation.counts.guarded == outcome.simulation.counts.warned == 0
    stone = outcome.simulation.body("stone")
    assert stone.position[2] == pytest.approx(0.775, abs=1e-4)  # it lies on the table again
    assert np.abs(stone.velocity).max() < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_lifts_the_stone_from_other_poses_and_with_other_friction(seed):
    outcome = demonstrators.attempt(NAME, seed=seed)
    assert outcome.met, str(outcome)


@pytest.mark.slow
def test_lifts_the_stone_in_maximal_coordinates():
    outcome = demonstrators.attempt(NAME, seed=0, solver="simmc")
    assert outcome.met, str(outcome)


def test_a_stone_without_friction_stays_on_the_table():
    """Nothing but contact holds it: hands that press as hard leave it where it lies."""
    scene = scenes.make(NAME)
    stone = next(body for body in scene.bodies if body.name == "stone")
    for shape in stone.shapes:
        shape.material = sh.Material(friction=0.02, combine="least")
    sim = sh.Simulation(scene, dt=0.005)
    task = LiftStone(sim)
    sim.add_controller(task)
    sim.run(9.0)
    assert sim.body("stone").position[2] < 0.9
    assert not task.body.fallen
