"""Direct solution of the bilateral rows by LDLᵀ in an envelope (M-46, M-47), against numpy's least squares."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from engine_parts import FAST_COMPILE, Rows, column, put, read, run, zeros

from sharnir.impulse.data import StepContext
from sharnir.impulse.layout.bilateral import find_coupled_rows, find_elimination_order
from sharnir.impulse.row_kinds import RowKind, Targets
from sharnir.impulse.solve.bilateral_ldl import (
    bilateral_rank,
    bilateral_residual,
    factor_bilateral,
    filter_pivot_ratio,
    solve_bilateral,
)
from sharnir.kernels.types import array2, real

wp.set_module_options(FAST_COMPILE)
REVOLUTE, SPHERICAL = 1, 6  # five and three rows
TREES = (4, 3, 6, 3, 5)
JOINTS = [((6, 5, 4, 3, 2, 1), REVOLUTE), ((12, 11, 10, 9, 5, 4), SPHERICAL), ((15, 14, 13, 20, 19), SPHERICAL)]
SCALARS = [((18, 2), RowKind.BOUND), ((8, 7), RowKind.COMPLIANT), ((17, 16), RowKind.MOTOR)]
TWICE = [*SCALARS, ((18, 2), RowKind.BOUND)]


@wp.kernel
def solve_kernel(ctx: StepContext, z: array2, targets: int, out: array2):
    factor_bilateral(ctx, 1, 0)
    out[0, 0] = real(bilateral_rank(ctx.layout, ctx.work, 0))
    solve_bilateral(ctx, z, ctx.work.p, targets, 0)
    out[1, 0] = bilateral_residual(ctx, z, ctx.work.p, 0)


@wp.kernel
def pivot_ratio_kernel(now: array2, before: array2, out: array2):
    i = wp.tid()
    out[i, 0] = filter_pivot_ratio(now[i, 0], before[i, 0])


def problem(seed: int, redundant: bool) -> Rows:
    """Loop joints, a coupling, a compliant row and an unbounded motor over five trees; the last row of the first joint
    may be a sum of others."""
    rng = np.random.default_rng(seed)
    rows = Rows(rng, trees=TREES, joints=JOINTS, scalars=SCALARS, equalities=[0])
    if redundant:
        start, length = int(rows.ctx.layout.joint_W_start.numpy()[0]), 6
        five = rows.W[start : start + 5 * length, 0].reshape(5, length)
        five[4] = 0.7 * five[0] - 1.2 * five[2]
        rows.upload()
    work = rows.ctx.work
    put(work.joint_target, rng.normal(size=18))
    put(work.velocity_lower, [0.3, 0, 0])
    put(work.compliant_velocity, [0, 0.4, 0])
    put(work.compliant_gamma, [0, 0.8, 0])
    put(work.motor_velocity, [0, 0, -0.6])
    put(work.p, rng.normal(size=rows.ctx.layout.impulses))
    return rows


def dense(rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """W_B, the diagonal of Γ, target velocities and places of the impulses, in the order of the model."""
    work, targets = rows.ctx.work, read(rows.ctx.work.joint_target)
    W = [rows.joint(k) for k in range(len(JOINTS))]
    places = np.concatenate([6 * k + np.arange(len(w)) for k, w in enumerate(W)])
    targets = np.concatenate([targets[places], [0.3, 0.4, -0.6]])
    first = rows.ctx.layout.scalar_p_start
    places = np.concatenate([places, [first, first + 4 + 3, first + 8 + 2]])
    compliance = np.zeros(len(places))
    compliance[-2] = read(work.compliant_gamma)[1]
    return np.concatenate([*W, rows.all_scalars()]), compliance, targets, places


@pytest.mark.parametrize("seed", range(4))
def test_the_direct_solution_is_numpys(seed):
    rows, out = problem(seed, redundant=False), zeros(2)
    W, compliance, targets, places = dense(rows)
    z0, p0 = np.random.default_rng(90 + seed).normal(size=rows.nv), read(rows.ctx.work.p)
    z = column(z0)
    run(solve_kernel, rows.ctx, z, int(Targets.VELOCITIES), out)
    change = np.linalg.solve(W @ W.T + np.diag(compliance), targets - W @ z0 - compliance * p0[places])
    assert read(out)[0] == len(W)
    np.testing.assert_allclose(read(rows.ctx.work.p)[places], p0[places] + change, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(read(z), z0 + W.T @ change, atol=1e-9)
    assert read(out)[1] < 1e-10


@pytest.mark.parametrize("seed", range(4))
def test_a_redundant_row_gets_no_impulse_and_the_velocities_are_those_of_least_squares(seed):
    rows, out = problem(seed, redundant=True), zeros(2)
    W, compliance, targets, places = dense(rows)
    z0, p0 = np.random.default_rng(90 + seed).normal(size=rows.nv), read(rows.ctx.work.p)
    targets[4] = 0.7 * targets[0] - 1.2 * targets[2]  # consistent targets
    put(rows.ctx.work.joint_target, targets[:5])
    z = column(z0)
    run(solve_kernel, rows.ctx, z, int(Targets.VELOCITIES), out)
    A = W @ W.T + np.diag(compliance)
    change = np.linalg.lstsq(A, targets - W @ z0 - compliance * p0[places], rcond=1e-10)[0]
    assert read(out)[0] == np.linalg.matrix_rank(A, tol=1e-9) == len(W) - 1
    np.testing.assert_allclose(read(z), z0 + W.T @ change, atol=1e-8)
    np.testing.assert_allclose(W @ read(z) - targets, -compliance * read(rows.ctx.work.p)[places], atol=1e-8)
    changed = read(rows.ctx.work.p)[:5] - p0[:5]
    assert sorted(changed != 0) == [False, True, True, True, True]


def test_a_coupling_implied_by_another_one_gets_no_impulse():
    rng, out = np.random.default_rng(5), zeros(2)
    rows = Rows(rng, trees=TREES, joints=JOINTS, scalars=TWICE, equalities=[0, 3])
    first, last = (rows.rows[l].W_start for l in (0, 3))
    rows.W[last : last + 2] = -2 * rows.W[first : first + 2]
    rows.upload()
    put(rows.ctx.work.compliant_gamma, [0, 0.8, 0, 0])
    put(rows.ctx.work.velocity_lower, [0.3, 0, 0, -0.6])
    z = column(rng.normal(size=rows.nv))
    run(solve_kernel, rows.ctx, z, int(Targets.VELOCITIES), out)
    impulses = rows.scalar_impulses(read(rows.ctx.work.p))[[0, 3], 0]
    assert sorted(impulses != 0) == [False, True] and read(out)[0] == 11 + 3
    np.testing.assert_allclose([rows.scalar(0) @ read(z), rows.scalar(3) @ read(z)], [0.3, -0.6], atol=1e-10)


def test_motors_and_compliant_forces_have_no_position_targets_but_resist_what_others_do():
    rows, out = problem(0, redundant=False), zeros(2)
    W, compliance, targets, places = dense(rows)
    z0, p0 = np.random.default_rng(1).normal(size=rows.nv), read(rows.ctx.work.p)
    z = column(z0)
    run(solve_kernel, rows.ctx, z, int(Targets.POSITIONS), out)
    targets[-2:] = 0
    change = np.linalg.solve(W @ W.T + np.diag(compliance), targets - W @ z0 - compliance * p0[places])
    np.testing.assert_allclose(read(z), z0 + W.T @ change, atol=1e-9)


def test_in_an_impact_joints_rest_and_motors_keep_their_velocity():
    rows, out = problem(0, redundant=False), zeros(2)
    W, compliance, targets, places = dense(rows)
    z0, p0 = np.random.default_rng(1).normal(size=rows.nv), read(rows.ctx.work.p)
    z = column(z0)
    run(solve_kernel, rows.ctx, z, int(Targets.IMPACT), out)
    targets[:-1] = 0
    change = np.linalg.solve(W @ W.T + np.diag(compliance), targets - W @ z0 - compliance * p0[places])
    np.testing.assert_allclose(read(z), z0 + W.T @ change, atol=1e-9)


def test_the_elimination_order_keeps_fill_in_within_the_envelope():
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


def test_pivot_ratio_decays_slowly_and_recovers_only_above_a_threshold():
    """A row with a ratio of at most 1e-5 is dropped (negative) until its ratio exceeds 1e-3; larger ones are kept."""
    now, before = np.array([0.5, 0.1, 1e-6, 5e-4, 2e-3, 1e-7]), np.array([0.0, 0.4, 0, -1e-6, -1e-6, -8e-6])
    out = zeros(6)
    run(pivot_ratio_kernel, column(now), column(before), out, threads=6)
    np.testing.assert_allclose(read(out), [0.5, 0.999 * 0.4, -1e-6, -5e-4, 2e-3, -1e-7])
