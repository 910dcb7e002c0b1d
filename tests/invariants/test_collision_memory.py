"""What a search for contacts remembers changes nothing, and what it leaves out cannot touch within the step."""

from __future__ import annotations

import numpy as np
import pytest

import sharnir as sh
from sharnir import scenes
from sharnir.collision.buffers import ContactCount

DT = 0.005


def test_a_simulation_that_remembers_nothing_goes_on_to_the_bit() -> None:
    model = sh.compile(scenes.make("mixed", n=12))
    sim = sh.Simulation(model, dt=DT)
    sim.step(150)
    saved = sim.save()
    assert np.abs(sim.impulses._work.collision.axis_cache.numpy()).max() > 0
    sim.step(150)
    fresh = sh.Simulation(model, dt=DT)
    fresh.restore(saved)
    assert np.abs(fresh.impulses._work.collision.axis_cache.numpy()).max() == 0
    fresh.step(150)
    assert np.array_equal(fresh.q, sim.q) and np.array_equal(fresh.v, sim.v)


def test_looking_between_steps_changes_nothing() -> None:
    model = sh.compile(scenes.make("mixed", n=12))
    plain, watched = sh.Simulation(model, dt=DT), sh.Simulation(model, dt=DT)
    for _ in range(60):
        plain.step(2)
        watched.step()
        _ = watched.energy, watched.contacts()
        watched.step()
    assert np.array_equal(plain.q, watched.q)


def two_cylinders(apart: float, first: float, second: float) -> sh.Simulation:
    """Cylinders of radius 0.1 m side by side, `apart` m, that move along x with these speeds (m/s), without gravity."""
    scene = sh.Scene(name="two", gravity=(0.0, 0.0, 0.0))
    for k, speed in enumerate((first, second)):
        shape = sh.Cylinder(radius=0.1, length=0.2, density=1e3)
        body = sh.Body(name=f"b{k}", position=(k * (0.2 + apart), 0.0, 0.0), shapes=[shape])
        scene.add(body)
        scene.add(sh.Free(name=f"j{k}", parent="world", child=f"b{k}", velocity=(speed, 0.0, 0.0, 0.0, 0.0, 0.0)))
    return sh.Simulation(scene, dt=DT)


@pytest.mark.parametrize(("first", "second", "seen"), [(4.0, 4.0, False), (-4.0, 4.0, False), (4.0, -4.0, True)])
def test_points_are_sought_as_far_as_bodies_approach(first: float, second: float, seen: bool) -> None:
    """0.02 m apart, at 4 m/s each and 5 ms a step: 0.04 m nearer at most."""
    sim = two_cylinders(0.02, first, second)
    sim.step()
    assert (int(sim.impulses.state.contacts.count.numpy()[ContactCount.STORED, 0]) > 0) == seen
