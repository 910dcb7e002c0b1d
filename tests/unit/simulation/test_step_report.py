"""Divergence: a step and the report that describes it take the same position for too far."""

from __future__ import annotations

import pytest

import sharnir as sh
from sharnir.impulse.tolerances import MAX_POSITION


def add_flying(scene: sh.Scene, name: str, metres: float) -> None:
    """A ball that passes so many metres in the second that a step takes."""
    scene.add(sh.Body(name=name, shapes=[sh.Sphere(radius=0.1)]))
    scene.add(sh.Prismatic(name=name, parent="world", child=name, axis=(1, 0, 0), velocity=metres))


@pytest.mark.parametrize("share", [0.9, 1.1])
def test_a_step_diverges_beyond_the_largest_position_and_the_report_names_the_body_there(share):
    """One body stays below the largest position, the other comes to a share of it: steps of free bodies without
    gravity are exact but for rounding."""
    scene = sh.Scene(name="two", gravity=(0, 0, 0))
    add_flying(scene, "near", 0.5 * MAX_POSITION)
    add_flying(scene, "far", share * MAX_POSITION)
    sim = sh.Simulation(scene, dt=1.0)
    if share < 1:
        sim.step()
        assert sim.body("far").position[0] == pytest.approx(share * MAX_POSITION)
    else:
        with pytest.raises(sh.SimulationError, match="no longer finite at body 'far'"):
            sim.step()
