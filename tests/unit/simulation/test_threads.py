"""Worlds on the CPU in several threads: the same bits, whatever their number."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import sharnir as sh
from sharnir import scenes


def stepped(name: str, solver: str, worlds: int, threads: int) -> tuple[np.ndarray, ...]:
    """Positions, velocities and reports after steps in which every world is pushed otherwise."""
    sim = sh.Simulation(scenes.make(name), solver=solver, worlds=worlds, threads=threads, contacts=2000)
    sim.applied_control.assign(np.random.default_rng(1).normal(size=sim.applied_control.shape))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sh.SimulationWarning)
        sim.step(20)
        sim.step()
    return sim.q.copy(), sim.v.copy(), sim.impulses.reports(1)[:, :8].copy()


@pytest.mark.parametrize("solver", ["simgc", "simmc"])
@pytest.mark.parametrize("name", ["five_link_chain", "humanoid", "mixed"])
def test_bits_do_not_depend_on_threads(name, solver):
    first = stepped(name, solver, 5, 1)
    for threads in (2, 3, 8):
        for a, b in zip(first, stepped(name, solver, 5, threads), strict=True):
            np.testing.assert_array_equal(a, b)


def test_one_world_needs_no_threads():
    np.testing.assert_array_equal(stepped("humanoid", "simgc", 1, 4)[0], stepped("humanoid", "simgc", 1, 1)[0])


@pytest.mark.parametrize("threads", [0, -1, True, 1.5, "2"])
def test_what_is_no_number_of_threads_is_refused(threads):
    with pytest.raises(sh.ModelError, match="threads is out of range: given"):
        sh.Simulation(scenes.make("pendulum"), worlds=4, threads=threads)


def test_a_world_that_fails_in_a_thread_is_told():
    sim = sh.Simulation(scenes.make("pendulum"), worlds=4, threads=2)
    control = np.zeros(sim.applied_control.shape)
    control[0, 3] = np.nan
    sim.applied_control.assign(control)
    with pytest.raises(sh.SimulationError, match="not finite"):
        sim.step(5)
