"""Velocity bounds of limits and equalities (M-37), and the impulse that keeps them, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from engine_parts import FAST_COMPILE, Rows, column, put, read, run, zeros

from sharnir.impulse.data import StepContext
from sharnir.impulse.row_kinds import RowKind
from sharnir.impulse.rows.assembly import set_reached_bounds, set_velocity_bounds
from sharnir.impulse.solve.pgs_sweep import solve_bound
from sharnir.kernels.types import array2, real

wp.set_module_options(FAST_COMPILE)
DT = 0.01
LOWER, UPPER = -0.2, 0.3
STARTS = np.array([0.1, LOWER, UPPER, LOWER - 0.05, UPPER + 0.07])  # inside, at the limits, beyond the limits


@wp.kernel
def reached_kernel(ctx: StepContext):
    set_reached_bounds(ctx.layout, ctx.work, wp.tid(), 0)


@wp.kernel
def velocity_kernel(ctx: StepContext, velocity: array2, position: array2):
    l = wp.tid()
    set_velocity_bounds(ctx, l, velocity[l, 0], position[l, 0], real(DT), 0)


@wp.kernel
def solve_kernel(ctx: StepContext, free: array2, K: array2, out: array2):
    l = wp.tid()
    out[l, 0] = solve_bound(ctx.work, l, free[l, 0], K[l, 0], 0)


def problem(starts: np.ndarray, lower: float = LOWER, upper: float = UPPER) -> Rows:
    """Scalar rows with equal limits that start at some positions."""
    n = len(starts)
    rows = Rows(np.random.default_rng(0), trees=(3,), scalars=[((1,), RowKind.BOUND)] * n)
    rows.ctx.layout.scalar_lower = wp.array(np.full(n, lower), dtype=real, device="cpu")
    rows.ctx.layout.scalar_upper = wp.array(np.full(n, upper), dtype=real, device="cpu")
    put(rows.ctx.work.scalar_position, starts)
    return rows


def bounds(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    return read(rows.ctx.work.velocity_lower), read(rows.ctx.work.velocity_upper)


def test_a_limit_of_the_published_step_acts_once_it_is_reached():
    rows = problem(STARTS)
    run(reached_kernel, rows.ctx, threads=len(STARTS))
    lower, upper = bounds(rows)
    np.testing.assert_array_equal(lower, [-np.inf, 0, -np.inf, 0, -np.inf])
    np.testing.assert_array_equal(upper, [np.inf, np.inf, 0, np.inf, 0])


def test_an_equality_of_the_published_step_always_acts():
    rows = problem(np.array([-1.0, 0.0, 1.0]), 0.0, 0.0)
    run(reached_kernel, rows.ctx, threads=3)
    np.testing.assert_array_equal(bounds(rows), np.zeros((2, 3)))


@pytest.mark.parametrize("seed", range(3))
def test_velocities_at_the_bounds_lead_to_the_limits_or_back_to_the_start(seed):
    """`position` is reached at `velocity`: a velocity v leads to position + (v − velocity) dt. A limit
    passed at the start may stay passed as far."""
    rng = np.random.default_rng(seed)
    n = len(STARTS)
    rows, velocity, position = problem(STARTS), rng.normal(size=n), rng.normal(size=n)
    run(velocity_kernel, rows.ctx, column(velocity), column(position), threads=n)
    ends = [position + (bound - velocity) * DT for bound in bounds(rows)]
    np.testing.assert_allclose(ends[0], [LOWER, LOWER, LOWER, LOWER - 0.05, LOWER], atol=1e-14)
    np.testing.assert_allclose(ends[1], [UPPER, UPPER, UPPER, UPPER, UPPER + 0.07], atol=1e-14)


def test_an_equality_returns_to_the_position_of_the_start():
    """Its error is not corrected by velocities: split impulses do that."""
    starts, velocity, position = np.array([-0.1, 0.0, 0.2]), np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.1, 0.2])
    rows = problem(starts, 0.0, 0.0)
    run(velocity_kernel, rows.ctx, column(velocity), column(position), threads=3)
    lower, upper = bounds(rows)
    np.testing.assert_array_equal(lower, upper)
    np.testing.assert_allclose(position + (lower - velocity) * DT, starts, atol=1e-14)


def test_the_impulse_of_a_bound_brings_the_velocity_to_the_nearest_bound():
    rng, n = np.random.default_rng(0), 60
    rows, out = problem(np.zeros(n)), zeros(n)
    lower = np.where(np.arange(n) % 3 == 0, -np.inf, -0.5)
    upper = np.where(np.arange(n) % 3 == 1, np.inf, np.where(np.arange(n) % 6 == 2, -0.5, 0.4))  # some are equalities
    put(rows.ctx.work.velocity_lower, lower)
    put(rows.ctx.work.velocity_upper, upper)
    free, K = rng.normal(size=n), rng.uniform(0.1, 3.0, size=n)
    run(solve_kernel, rows.ctx, column(free), column(K), out, threads=n)
    p = read(out)
    np.testing.assert_allclose(free + K * p, np.clip(free, lower, upper), atol=1e-14)
    inside = (free > lower) & (free < upper)
    assert not p[inside].any() and 0 < inside.sum() < n
    assert (p[free < lower] > 0).all() and (p[free > upper] < 0).all()
    assert (p[lower == upper] != 0).all() and (lower == upper).any()
