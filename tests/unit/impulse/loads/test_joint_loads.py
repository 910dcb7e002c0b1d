"""Geometric stiffness of links (M-91) and work of joints (M-96) against numpy, from momenta and poses alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sharnir as sh
from sharnir.benchmarks.holds.scenes import held_string, loaded_chain
from sharnir.impulse.slots import MechanismWork, ReportItem, Status, StepWarning

both = pytest.mark.parametrize("solver", ["simgc", "simmc"])
DT = 0.005


def momenta(sim: sh.Simulation) -> Any:
    return sim.impulses.state.P.numpy()[:, 0].reshape(-1, 6).copy()


def rotations(sim: sh.Simulation) -> Any:
    return sim.impulses._here.R.numpy()[:, 0].reshape(-1, 3, 3).copy()


def is_limited(sim: sh.Simulation) -> bool:
    """Whether the last step took energy back."""
    return bool(int(sim.impulses.state.report.numpy()[ReportItem.WARNINGS, 0]) & StepWarning.ENERGY_LIMITED)


def full(K: Any) -> Any:
    """Symmetric matrices of their six numbers."""
    xx, yy, zz, yz, xz, xy = np.moveaxis(K, -1, 0)
    return np.moveaxis(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), -1, 0)


@both
def test_stiffness_is_that_of_the_forces_of_the_joints(solver):
    """A chain that swings: forces from what the bodies below gain, arms along the links, half a link each way."""
    angles = [0.3] * 4
    scene = loaded_chain(4, 0.05, 0.1, 20.0, angles=angles)
    sim = sh.Simulation(sh.compile(scene), solver=solver, dt=DT)
    with pytest.warns(sh.SimulationWarning):
        sim.step(3)
    before = momenta(sim)
    names = [f"link{k}" for k in range(4)]
    along = np.array([sim.body(name).rotation[:, 2] for name in names])
    sim.step()
    assert sim.impulses._work.status.numpy()[Status.TRIES, 0] == 0
    gains = (momenta(sim) - before)[:, :3] / DT - np.outer(sim.inner.mass, [0.0, 0.0, -9.81])
    seen = full(sim.impulses._work.joint_load.numpy()[:, 0].reshape(-1, 6))
    for k, (name, axis) in enumerate(zip(names, along, strict=True)):
        link = sim.inner.body_names.index(name)
        below = [sim.inner.body_names.index(n) for n in (*names[k:], "load")]
        pulls = [max(0.0, 0.05 * gains[below[j:]].sum(axis=0) @ -axis) for j in (0, 1)]
        expected = sum(pulls) * np.array([0.0, 1.0, 1.0])  # none about the link's own axis
        np.testing.assert_allclose(np.linalg.eigvalsh(seen[link]), expected, rtol=1e-6, atol=1e-6)
    assert np.abs(seen[sim.inner.body_names.index("load")]).max() < 1e-6  # hung at its centre


@both
@pytest.mark.parametrize(
    "make", [lambda: loaded_chain(5, 0.02, 0.05, 100.0), lambda: held_string(6, 0.02, 2e3, 50.0, 0.3)]
)
def test_energy_changes_by_the_work_of_joints_and_nothing_else(solver, make):
    """T of the momenta and the mean potential energy of both ends, to rounding, where nothing is taken back."""
    sim = sh.Simulation(sh.compile(make()), solver=solver, dt=DT)
    with pytest.warns(sh.SimulationWarning):
        sim.step(2)
    mass, inertia = sim.inner.mass, sim.inner.inertia
    compared, limited = 0, True
    potential = sim.energy[1]
    sim.step()
    for _ in range(30):
        R, P, between = rotations(sim), momenta(sim), 0.5 * (potential + sim.energy[1])
        potential = sim.energy[1]
        sim.step()
        turned = np.linalg.inv(R @ inertia @ R.swapaxes(1, 2))

        def kinetic(p: Any, turned: Any = turned) -> float:
            turning = np.einsum("ki,kij,kj", p[:, 3:], turned, p[:, 3:])
            return 0.5 * float((p[:, :3] ** 2).sum(axis=1) @ (1 / mass) + turning)

        after = kinetic(momenta(sim)) + 0.5 * (potential + sim.energy[1])
        work = float(sim.impulses._work.mechanism_work.numpy()[MechanismWork.JOINTS :: MechanismWork.SIZE, 0].sum())
        limited, was_limited = is_limited(sim), limited
        if not limited and not was_limited:
            compared += 1
            assert abs(after - kinetic(P) - between - work) < 1e-9 * max(1.0, kinetic(P))
    assert compared > 20
