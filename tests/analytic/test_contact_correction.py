"""How fast overlap is undone: the share of it that a step takes away, what is left alone, and the largest speed."""

from __future__ import annotations

import numpy as np
import pytest
from contact_scenes import ground, put, stuff
from measures import both

import sharnir as sh
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
