"""PGS through z with acceleration (M-42): the fixed point of plain PGS in numpy, and where the loop ends."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from engine_parts import FAST_COMPILE, WORLD, Rows, column, cone_residual, put, read, run, zeros

from sharnir.impulse.data import StepContext, make_iterate
from sharnir.impulse.row_kinds import RowKind
from sharnir.impulse.slots import ContactMass, Setting, StatusReal, StopReason
from sharnir.impulse.solve.pgs import begin_pgs, run_pgs
from sharnir.kernels.types import array2, real

wp.set_module_options(FAST_COMPILE)
NO_DEADLINE, EPSILON = 1e300, 1e-12  # ticks; N s
SCALARS = [
    ((5, 4, 3), RowKind.BOUND),
    ((11, 6, 3), RowKind.BOUND),
    ((13, 5), RowKind.BOUND),
    ((14, 8, 1), RowKind.BOUND),
]
LOWER, UPPER = np.array([-0.2, -0.1, 0.1, -0.3]), np.array([0.3, 0.1, 0.1, -0.2])


@wp.kernel
def solve_kernel(ctx: StepContext, z: array2, most: int, out: array2):
    x = make_iterate(z, ctx.work.p, 0)
    loop = begin_pgs(ctx, 0, most, 0)
    reason = run_pgs(ctx, x, loop, wp.float64(NO_DEADLINE), 0)
    out[0, 0] = real(loop.n)
    out[1, 0] = loop.worst
    out[2, 0] = real(reason)


def solved(
    rows: Rows, z0: np.ndarray, accelerate: float, most: int = 20000, epsilon: float = EPSILON
) -> tuple[np.ndarray, int, float, int]:
    """z, number of sweeps, last change and reason; the settings allow 20,000 sweeps, the loop `most`."""
    z, out = column(z0), zeros(3)
    put(rows.ctx.state.settings, [20000.0], Setting.MAX_SWEEPS)
    put(rows.ctx.state.settings, [accelerate], Setting.ACCELERATE)
    put(rows.ctx.state.settings, [1e9], Setting.REPLAY_CUT)
    put(rows.ctx.work.status_real, [epsilon], StatusReal.SWEEP_TOLERANCE)
    run(solve_kernel, rows.ctx, z, most, out)
    sweeps, change, reason = read(out)
    return read(z), int(sweeps), change, int(reason)


def limits(seed: int) -> tuple[Rows, np.ndarray]:
    rng = np.random.default_rng(seed)
    rows = Rows(rng, scalars=SCALARS)
    rows.ctx.layout.island_newton = 0
    put(rows.ctx.work.velocity_lower, LOWER)
    put(rows.ctx.work.velocity_upper, UPPER)
    return rows, rng.normal(size=rows.nv)


def sweep_in_numpy(W: np.ndarray, z0: np.ndarray, sweeps: int) -> np.ndarray:
    """z after some sweeps of textbook PGS over rows whose velocities have bounds."""
    z, p, K = z0.copy(), np.zeros(len(W)), (W * W).sum(axis=1)
    for _ in range(sweeps):
        for l, row in enumerate(W):
            free = row @ z - K[l] * p[l]
            new = (np.clip(free, LOWER[l], UPPER[l]) - free) / K[l]
            z += row * (new - p[l])
            p[l] = new
    return z


@pytest.mark.parametrize("seed", range(4))
def test_sweeps_without_acceleration_are_those_of_numpy(seed):
    """Sweep by sweep, rows in their order: five sweeps differ by rounding of some 50 operations, 1e-13."""
    rows, z0 = limits(seed)
    z, sweeps, *_ = solved(rows, z0, accelerate=0.0, most=5)
    assert sweeps <= 5  # fewer where these converge
    np.testing.assert_allclose(z, sweep_in_numpy(rows.all_scalars(), z0, 5), atol=1e-13)


@pytest.mark.parametrize("accelerate", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_sweeps_converge_to_the_fixed_point_of_numpy(seed, accelerate):
    """The velocity is unique: a projection of z₀ onto a convex set. ε is 1e-12, the condition number below 1e3."""
    rows, z0 = limits(seed)
    z, _, change, reason = solved(rows, z0, accelerate)
    assert reason == StopReason.CONVERGED and change <= EPSILON
    np.testing.assert_allclose(z, sweep_in_numpy(rows.all_scalars(), z0, 5000), atol=1e-9)


def test_acceleration_saves_most_sweeps_of_rows_that_are_nearly_parallel():
    """Equalities whose rows are one row and a tenth of noise: the matrix has a condition number of some 1e3, of which
    plain sweeps need a multiple, conjugate gradients a multiple of the square root."""
    counts = []
    for accelerate in (0.0, 1.0):
        rng = np.random.default_rng(0)
        rows = Rows(rng, trees=(6,), scalars=[((5, 4, 3, 2, 1, 0), RowKind.BOUND)] * 4)
        rows.W[:] = np.tile(rng.normal(size=(6, 1)), (4, 1)) + 0.1 * rng.normal(size=(24, 1))
        rows.upload()
        targets = rng.normal(size=4)
        put(rows.ctx.work.velocity_lower, targets)
        put(rows.ctx.work.velocity_upper, targets)
        z, sweeps, _, reason = solved(rows, rng.normal(size=6), accelerate)
        assert reason == StopReason.CONVERGED
        np.testing.assert_allclose(rows.all_scalars() @ z, targets, atol=1e-8)
        counts.append(sweeps)
    assert counts[1] < counts[0] / 3


def test_islands_that_sweeps_do_not_solve_are_solved_by_newtons_method_after_50_sweeps():
    """A light body between the world and a heavy one: sweeps alone have not converged after thousands. Laws are obeyed
    to 1e-8, the islands' regularisation being 1e-10 of a row's K."""
    counts = []
    for newton in (0, 1):
        rng = np.random.default_rng(0)
        rows = Rows(rng, trees=(6, 6), contacts=[(0, WORLD), (0, 1), (0, WORLD), (0, 1)])
        rows.ctx.layout.island_newton = newton
        for below, above in ((0, 1), (2, 3)):
            first, second, heavy = (int(x) for x in (rows.halves[below, 0, 0], *rows.halves[above, :, 0]))
            rows.W[second : second + 18] = -rows.W[first : first + 18] + 0.02 * rng.normal(size=(18, 1))
            rows.W[heavy : heavy + 18] /= 30
        rows.upload()
        mass = read(rows.ctx.work.contact_mass).reshape(4, ContactMass.SIZE)
        mass[:, ContactMass.LIGHTNESS] = 1000.0
        put(rows.ctx.work.contact_mass, mass.reshape(-1))
        z0 = 20 * rng.normal(size=rows.nv) - 900 * rows.contact(1)[0]
        z, sweeps, _, _ = solved(rows, z0, accelerate=0.0, most=2000, epsilon=1e-8)
        p = rows.contact_impulses(read(rows.ctx.work.p))[:, :3]
        residual = cone_residual(p, (rows.all_contacts() @ z).reshape(-1, 3), 0.5, step=1e-2).max()
        counts.append((sweeps, residual))
    (without, left), (with_newton, solved_to) = counts
    assert without == 2000 or left > 1e-4
    assert 50 < with_newton <= 300 and solved_to < 1e-7, counts


def test_a_loop_that_may_not_make_all_sweeps_hands_on():
    rows, z0 = limits(0)
    assert solved(rows, z0, accelerate=0.0, most=2)[3] == StopReason.UNFINISHED


def test_where_nothing_is_to_be_swept_no_sweep_is_made():
    rows = Rows(np.random.default_rng(0))
    z, sweeps, _, reason = solved(rows, np.ones(rows.nv), accelerate=1.0)
    assert (sweeps, reason) == (0, StopReason.CONVERGED) and (z == 1).all()
