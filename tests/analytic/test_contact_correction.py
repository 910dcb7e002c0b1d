"""How fast overlap is undone: the share of it that a step takes away, what is left alone, and the largest speed."""

from __future__ import annotations

import numpy as np
import pytest
from contact_scenes import ground, put, stuff
from measures import both

import sharnir as sh
from sharnir.benchmarks.holds import scenes
from sharnir.impulse.slots import ReportItem, StepWarning
from sharnir.impulse.solve.split_impulse import MAX_PUSH_SPEED, SLOP

RADIUS = 0.5  # m
ALONE, FASTEST = 1e-6, 3.0  # m and m/s


def depths(depth: float, solver: str, dt: float, erp: float, steps: int) -> np.ndarray:
    """[steps + 1] overlap (m) of a ball that rests in a plane without weight."""
    scene = put(ground(stuff(0.0), gravity=0.0), "ball", sh.Sphere(radius=RADIUS), (0.0, 0.0, RADIUS - depth), mass=1.0)
    sim = sh.Simulation(scene, solver=solver, dt=dt, erp=erp)
    out = [depth]
    for _ in range(steps):
        sim.step()
        assert np.abs(sim.body("ball").velocity).max() < 1e-12  # positions move, velocities do not
        out.append(RADIUS - float(sim.body("ball").position[2]))
    return np.array(out)


@both
@pytest.mark.parametrize("dt", [0.01, 0.001])
@pytest.mark.parametrize("erp", [0.1, 0.2, 0.5])
def test_overlap_shrinks_by_its_share_in_every_step(solver, dt, erp):
    """depth − slop is (1 − erp) of what it was, from 1 mm until it is a slop (8 steps at erp = 0.5)."""
    left = depths(1e-3, solver, dt, erp, 8) - ALONE
    assert left[-2] > ALONE
    np.testing.assert_allclose(left[1:] / left[:-1], 1 - erp, rtol=1e-6)


@both
def test_a_slop_of_overlap_is_left_alone(solver):
    """Nothing is undone once the depth is a slop, so that what touches keeps touching."""
    assert float(SLOP) == pytest.approx(ALONE)
    left = depths(1e-4, solver, 0.01, 0.5, 60)
    assert ALONE <= left[-1] <= 2 * ALONE
    np.testing.assert_allclose(depths(0.5 * ALONE, solver, 0.01, 0.5, 10), 0.5 * ALONE, atol=1e-15)


@both
@pytest.mark.parametrize("dt", [0.001, 0.0002])
def test_deep_overlap_is_undone_no_faster_than_the_largest_push(solver, dt):
    """0.2 of 0.1 m in 1 ms would be 20 m/s: it leaves by MAX_PUSH_SPEED · dt in a step
    as long as erp (depth − slop) is more."""
    assert float(MAX_PUSH_SPEED) == pytest.approx(FASTEST)
    erp, steps = 0.2, 20
    left = depths(0.1, solver, dt, erp, steps)
    capped = erp * (left[:-1] - ALONE) / dt > FASTEST
    assert capped[0] and capped.sum() >= 10
    moved = left[:-1] - left[1:]
    np.testing.assert_allclose(moved, np.where(capped, FASTEST * dt, erp * (left[:-1] - ALONE)), rtol=1e-6)


def slid(tilt: float, solver: str, dt: float, steps: int = 60) -> tuple[np.ndarray, int]:
    """Positions (m) of a box on a slide of ±4 cm, weightless, that starts 10 mm inside another box whose face is tilted
    against the slide, and the warnings raised."""
    sim = sh.Simulation(scenes.overlapping_slide(tilt), solver=solver, dt=dt)
    ways, warnings = [0.0], 0
    for _ in range(steps):
        sim.step()
        ways.append(float(sim.joint("slide").position[0]))
        warnings |= int(sim.impulses.reports(1)[0, ReportItem.WARNINGS, 0])
    return np.array(ways), warnings


@both
@pytest.mark.parametrize("dt", [0.01, 0.001, 0.0001])  # at 0.1 ms the limit is out of reach a step before: no row
def test_a_correction_moves_a_slide_by_no_more_than_it_mends_and_not_out_of_its_limit(solver, dt):
    """A tilt of 0.01 asks for 0.21 m in the first step. ERP of 10 mm and 1 mm more are allowed; the slide ends
    at its limit, where the overlap stays."""
    ways, warnings = slid(1e-2, solver, dt)
    assert np.abs(np.diff(ways)).max() <= 0.2 * 0.0105 + 1e-3
    assert np.abs(ways).max() <= 0.04 + 2e-6
    assert abs(ways[-1]) > 0.0399
    assert warnings & StepWarning.CORRECTION_LIMITED


@both
@pytest.mark.parametrize("tilt", [1e-4, 1e-7])
def test_an_overlap_that_a_slide_can_hardly_undo_is_left(solver, tilt):
    """It asked for 20 m and 20 km in the first step of 2 ms."""
    ways, _ = slid(tilt, solver, 0.002)
    assert np.abs(ways).max() < 1e-9


@both
@pytest.mark.parametrize("height", [1, 8])
def test_a_pile_of_overlaps_is_undone_as_a_whole(solver, height):
    """Boxes that overlap by 5 mm each: the top moves by the sum of what is removed, in one step, and nothing is
    limited."""
    scene = ground(stuff(0.0), gravity=0.0)
    for k in range(height):
        put(scene, f"box{k}", sh.Box(size=(0.1, 0.1, 0.1)), (0.0, 0.0, 0.05 - 5e-3 + k * 0.095), mass=1.0)
    sim = sh.Simulation(scene, solver=solver, dt=0.01)
    before = float(sim.body(f"box{height - 1}").position[2])
    sim.step()
    assert float(sim.body(f"box{height - 1}").position[2]) - before == pytest.approx(0.2 * 5e-3 * height, rel=1e-3)
    assert sim.impulses.reports(1)[0, ReportItem.WARNINGS, 0] == 0


@both
def test_contacts_of_one_coordinate_push_no_harder_than_they_must(solver):
    """Twelve rows of four contacts and a limit on one slide, without weight: Newton steps over rows that bilateral rows
    leave nothing to move would find impulses of 1e11 N s that cancel each other, and steps would be guarded."""
    sim = sh.Simulation(scenes.overlapping_slide(0.01), solver=solver, dt=0.002)
    most = 0.0
    for _ in range(250):
        sim.step()
        most = max(most, float(np.abs(sim.impulses.host(sim.impulses._work.p)).max()))
    assert sim.counts.guarded == sim.counts.capped == 0
    assert most < 0.1  # N s
    assert abs(float(sim.joint("slide").position[0]) - 0.04) < 1e-9
