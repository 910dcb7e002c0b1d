"""Long runs: a parallelogram through its flat poses, over and over; mechanisms at rest."""

from __future__ import annotations

import numpy as np
import pytest
from measures import all_four, flat_four_bar, gaps, resident

import sharnir as sh
from sharnir import scenes
from sharnir.impulse.slots import ReportItem

CHUNK = 250
ALLOWED = 1e-6  # m


def run_long(sim, steps: int) -> tuple[float, int]:
    """The largest position error of all steps, and by how many bytes memory grew after the first twentieth."""
    worst, before = 0.0, 0
    for k in range(steps // CHUNK):
        sim.step(CHUNK)
        worst = max(worst, float(sim.impulses.reports(CHUNK)[:, ReportItem.POSITION_ERROR].max()))
        assert np.isfinite(sim.q).all() and np.isfinite(sim.v).all()
        worst = max(worst, gaps(sim).rows)
        if k == steps // CHUNK // 20:
            before = resident()
    return worst, resident() - before


@all_four
def test_a_parallelogram_stays_closed(solver, bilateral):
    """2·10⁴ steps of 5 ms: some 60 folds."""
    sim = sh.Simulation(flat_four_bar(), solver=solver, dt=0.005, bilateral=bilateral)
    worst, grown = run_long(sim, 20_000)
    assert worst <= ALLOWED
    assert grown < 1e6
    assert sim.time == pytest.approx(100.0, rel=1e-9)
    assert sim.counts.steps == 20_000


@pytest.mark.parametrize("scene", ["double_wishbone", "gripper"])
def test_joints_at_rest_stay_closed_to_rounding(scene):
    """What a step leaves of an error is undone by the next, not by the one after: errors would grow (M-65)."""
    sim = sh.Simulation(scenes.make(scene), solver="simmc", dt=0.005)
    sim.run(15.0)
    for _ in range(20):
        sim.step(50)
        assert sim.impulses.reports(50)[:, ReportItem.POSITION_ERROR].max() < 1e-13


@pytest.mark.slow
@all_four
def test_a_parallelogram_stays_closed_for_1e6_steps(solver, bilateral):
    sim = sh.Simulation(flat_four_bar(), solver=solver, dt=0.005, bilateral=bilateral)
    start = sim.energy[0]
    worst, grown = run_long(sim, 1_000_000)
    assert worst <= ALLOWED
    assert grown < 1e6
    assert sim.energy[0] < start * (1 + (2.0 * 0.005) ** 2)


@pytest.mark.slow
@all_four
def test_a_parallelogram_keeps_its_motion_for_1e6_steps(solver, bilateral):
    """Nothing takes energy from it: at the end it still turns."""
    sim = sh.Simulation(flat_four_bar(), solver=solver, dt=0.005, bilateral=bilateral)
    start = sim.energy[0]
    for _ in range(1_000_000 // CHUNK):
        sim.step(CHUNK)
    assert sim.energy[0] > 0.5 * start, (sim.energy[0] / start, sim.counts)
