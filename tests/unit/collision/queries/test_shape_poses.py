"""Poses alone are those that come with velocities, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from sharnir import scenes
from sharnir.simulation.simulation import Simulation


@pytest.mark.parametrize("solver", ["simgc", "simmc"])
@pytest.mark.parametrize("name", ["humanoid", "peaucellier", "mixed"])
def test_poses_alone_are_those_that_come_with_velocities(name, solver):
    sim = Simulation(scenes.make(name), solver=solver, dt=0.005)
    sim.step(20)
    alone = [sim.seen(what).copy() for what in ("position", "rotation")]
    sim.seen("velocity")
    assert sim._observed
    for what, values in zip(("position", "rotation"), alone, strict=True):
        np.testing.assert_array_equal(sim.seen(what), values)
    sim.step()
    assert (sim.seen("position") != alone[0]).any()
