"""Least-norm solutions of loop equations (M-26), against numpy's least squares."""

from __future__ import annotations

import numpy as np
import pytest

from sharnir.exact.least_norm import LeastNormSolver


def redundant(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """W of three joints of very different size, one row implied by others; joints of the rows; b that W can give."""
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(9, 12))
    W[4] = W[3] - 2 * W[5]
    joint = np.repeat([0, 1, 2], 3)
    W *= np.array([1.0, 1e5, 1e-4])[joint][:, None]
    return W, joint, W @ rng.normal(size=12)


@pytest.mark.parametrize("seed", range(6))
def test_the_solution_is_the_least_of_all_that_satisfy_the_equations(seed):
    """numpy is given rows of equal length, for its cut-off. Damping of 1e-8 changes y by (1e-8 · condition number)²,
    below 1e-12; rounding by less than 1e-12."""
    W, joint, b = redundant(seed)
    y = LeastNormSolver(W, joint).solve(b)
    length = np.linalg.norm(W, axis=1)
    expected = np.linalg.lstsq(W / length[:, None], b / length, rcond=1e-10)[0]
    np.testing.assert_allclose(y, expected, atol=1e-10)
    np.testing.assert_allclose((W @ y - b) / length, 0, atol=1e-11)


@pytest.mark.parametrize("seed", range(6))
def test_multipliers_give_what_the_rows_can_give(seed):
    W, joint, b = redundant(seed)
    solver = LeastNormSolver(W, joint)
    y = solver.solve(b)
    np.testing.assert_allclose(W.T @ solver.multipliers(y), y, atol=1e-10)
    np.testing.assert_allclose(sorted(solver.singular_values, reverse=True), solver.singular_values)
    assert solver.singular_values[0] == 1 and solver.singular_values[-1] < 1e-12 and solver.singular_values[-2] > 1e-3


def test_rows_that_are_zero_but_for_rounding_are_left_out():
    """Alone it would be scaled to one; beside the others of its joint it shows that it is rounding."""
    W = np.random.default_rng(0).normal(size=(3, 5))
    W[1] = 1e-14
    solver = LeastNormSolver(W, np.zeros(3, dtype=int))
    b = np.array([0.3, 7.0, -0.2])
    expected = np.linalg.lstsq(W[[0, 2]], b[[0, 2]], rcond=None)[0]
    np.testing.assert_allclose(solver.solve(b), expected, atol=1e-12)
    assert solver.multipliers(expected)[1] == 0


def test_rows_of_a_step_that_will_be_rejected_give_zeros():
    W = np.array([[1.0, np.nan], [0.0, 1.0]])
    np.testing.assert_array_equal(LeastNormSolver(W, np.arange(2)).solve(np.ones(2)), 0)
