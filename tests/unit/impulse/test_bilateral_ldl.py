"""Direct solution of the bilateral rows by LDLᵀ in an envelope (M-46, M-47), against numpy's least squares."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from engine_parts import QUICK, Parts, Rows, column, empty, put, run, seen

from sharnir.impulse.layout.bilateral import find_coupled_rows, find_elimination_order
from sharnir.impulse.row_kinds import BOUND, COMPLIANT, MOTOR
from sharnir.impulse.solve.bilateral_ldl import (
    bilateral_rank,
    bilateral_residual,
    factor_bilateral,
    filter_pivot_ratio,
    solve_bilateral,
)
from sharnir.kernels.types import array2, real

wp.set_module_options(QUICK)
REVOLUTE, SPHERICAL = 1, 6  # five and three rows
TREES = (4, 3, 6, 3, 5)
JOINTS = [((6, 5, 4, 3, 2, 1), REVOLUTE), ((12, 11, 10, 9, 5, 4), SPHERICAL), ((15, 14, 13, 20, 19), SPHERICAL)]
LINES = [((18, 2), BOUND), ((8, 7), COMPLIANT), ((17, 16), MOTOR)]
TWICE = [*LINES, ((18, 2), BOUND)]


@wp.kernel
def solve_kernel(s: Parts, z: array2, positions: int, out: array2):
    factor_bilateral(s.plan, s.state, s.work, 1, 0)
    out[0, 0] = real(bilateral_rank(s.plan, s.work, 0))
    solve_bilateral(s.plan, s.work, z, s.work.p, positions, 0)
    out[1, 0] = bilateral_residual(s.plan, s.work, z, s.work.p, 0)


@wp.kernel
def firmness_kernel(now: array2, before: array2, out: array2):
    i = wp.tid()
    out[i, 0] = filter_pivot_ratio(now[i, 0], before[i, 0])


def problem(seed: int, redundant: bool) -> Rows:
    """Loop joints, a coupling, a soft force and a motor without bound over five trees; the last row of the first joint
    may be a sum of others."""
    rng = np.random.default_rng(seed)
    rows = Rows(rng, trees=TREES, joints=JOINTS, lines=LINES, equalities=[0])
    if redundant:
        start, length = int(rows.parts.plan.joint_W_start.numpy()[0]), 6
        five = rows.W[start : start + 5 * length, 0].reshape(5, length)
        five[4] = 0.7 * five[0] - 1.2 * five[2]
        rows.upload()
    work = rows.parts.work
    put(work.joint_target, rng.normal(size=18))
    put(work.velocity_lower, [0.3, 0, 0])
    put(work.compliant_velocity, [0, 0.4, 0])
    put(work.compliant_gamma, [0, 0.8, 0])
    put(work.motor_velocity, [0, 0, -0.6])
    put(work.p, rng.normal(size=rows.parts.plan.impulses))
    return rows


def dense(rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """W_B, the diagonal of Γ, speeds sought and places of the impulses, in the order of the model."""
    work, targets = rows.parts.work, seen(rows.parts.work.joint_target)
    W = [rows.joint(k) for k in range(len(JOINTS))]
    places = np.concatenate([6 * k + np.arange(len(w)) for k, w in enumerate(W)])
    sought = np.concatenate([targets[places], [0.3, 0.4, -0.6]])
    first = rows.parts.plan.scalar_p_start
    places = np.concatenate([places, [first, first + 4 + 3, first + 8 + 2]])
    give = np.zeros(len(places))
    give[-2] = seen(work.compliant_gamma)[1]
    return np.concatenate([*W, rows.all_lines()]), give, sought, places


@pytest.mark.parametrize("seed", range(4))
def test_the_direct_solution_is_numpys(seed):
    rows, out = problem(seed, redundant=False), empty(2)
    W, give, sought, places = dense(rows)
    z0, p0 = np.random.default_rng(90 + seed).normal(size=rows.nv), seen(rows.parts.work.p)
    z = column(z0)
    run(solve_kernel, rows.parts, z, 0, out)
    change = np.linalg.solve(W @ W.T + np.diag(give), sought - W @ z0 - give * p0[places])
    assert seen(out)[0] == len(W)
    np.testing.assert_allclose(seen(rows.parts.work.p)[places], p0[places] + change, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(seen(z), z0 + W.T @ change, atol=1e-9)
    assert seen(out)[1] < 1e-10


@pytest.mark.parametrize("seed", range(4))
def test_a_redundant_row_gets_no_impulse_and_the_velocities_are_those_of_least_squares(seed):
    rows, out = problem(seed, redundant=True), empty(2)
    W, give, sought, places = dense(rows)
    z0, p0 = np.random.default_rng(90 + seed).normal(size=rows.nv), seen(rows.parts.work.p)
    sought[4] = 0.7 * sought[0] - 1.2 * sought[2]  # what is sought agrees
    put(rows.parts.work.joint_target, sought[:5])
    z = column(z0)
    run(solve_kernel, rows.parts, z, 0, out)
    A = W @ W.T + np.diag(give)
    change = np.linalg.lstsq(A, sought - W @ z0 - give * p0[places], rcond=1e-10)[0]
    assert seen(out)[0] == np.linalg.matrix_rank(A, tol=1e-9) == len(W) - 1
    np.testing.assert_allclose(seen(z), z0 + W.T @ change, atol=1e-8)
    np.testing.assert_allclose(W @ seen(z) - sought, -give * seen(rows.parts.work.p)[places], atol=1e-8)
    changed = seen(rows.parts.work.p)[:5] - p0[:5]
    assert sorted(changed != 0) == [False, True, True, True, True]


def test_a_coupling_that_another_one_implies_gets_no_impulse():
    rng, out = np.random.default_rng(5), empty(2)
    rows = Rows(rng, trees=TREES, joints=JOINTS, lines=TWICE, equalities=[0, 3])
    first, last = (rows.rows[l]["start"] for l in (0, 3))
    rows.W[last : last + 2] = -2 * rows.W[first : first + 2]
    rows.upload()
    put(rows.parts.work.compliant_gamma, [0, 0.8, 0, 0])
    put(rows.parts.work.velocity_lower, [0.3, 0, 0, -0.6])
    z = column(rng.normal(size=rows.nv))
    run(solve_kernel, rows.parts, z, 0, out)
    holds = rows.line_impulses(seen(rows.parts.work.p))[[0, 3], 0]
    assert sorted(holds != 0) == [False, True] and seen(out)[0] == 11 + 3
    np.testing.assert_allclose([rows.line(0) @ seen(z), rows.line(3) @ seen(z)], [0.3, -0.6], atol=1e-10)


def test_for_positions_motors_and_soft_forces_seek_nothing():
    """Only joints and equalities have positions to keep; the others keep the speed they have."""
    rows, out = problem(0, redundant=False), empty(2)
    W, give, sought, _ = dense(rows)
    z0 = np.random.default_rng(1).normal(size=rows.nv)
    z = column(z0)
    run(solve_kernel, rows.parts, z, 1, out)
    sought[-2:] = (W @ z0)[-2:]
    change = np.linalg.solve(W @ W.T + np.diag(give), sought - W @ z0)
    np.testing.assert_allclose(seen(z), z0 + W.T @ change, atol=1e-9)


def test_the_order_of_elimination_has_its_fill_inside_the_envelope():
    """Cholesky factors of matrices with these rows, in that order, have no entry left of the first neighbour."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        entries = [sorted(rng.choice(12, rng.integers(1, 5), replace=False).tolist()) for _ in range(10)]
        order = find_elimination_order(entries)
        assert sorted(order) == list(range(10))
        W = np.zeros((10, 12))
        for row, b in enumerate(order):
            W[row, entries[b]] = rng.normal(size=len(entries[b]))
        near = find_coupled_rows([entries[b] for b in order])
        shared = [[j for j in range(b) if set(entries[order[j]]) & set(entries[order[b]])] for b in range(10)]
        assert near == shared
        L = np.linalg.cholesky(W @ W.T + np.eye(10))
        assert all(not L[b, : min([b, *near[b]])].any() for b in range(10))


def test_firmness_fades_slowly_and_comes_back_only_when_clear():
    """A row never firmer than 1e-5 does not count, until it is firmer than 1e-3; one that was firm is remembered."""
    now, before = np.array([0.5, 0.1, 1e-6, 5e-4, 2e-3, 1e-7]), np.array([0.0, 0.4, 0, -1e-6, -1e-6, -8e-6])
    out = empty(6)
    run(firmness_kernel, column(now), column(before), out, threads=6)
    np.testing.assert_allclose(seen(out), [0.5, 0.999 * 0.4, -1e-6, -5e-4, 2e-3, -1e-7])
