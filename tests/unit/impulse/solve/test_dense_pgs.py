"""PGS on the dense Delassus matrix with semismooth Newton steps (M-63, M-64): complementarity, and scipy's solution."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from engine_parts import (
    BOUNDS,
    FAST_COMPILE,
    WORLD,
    Rows,
    column,
    cone_residual,
    put,
    read,
    run,
    scalar_residual,
    zeros,
)
from scipy.optimize import nnls

from sharnir.impulse.data import StepContext, make_iterate
from sharnir.impulse.row_kinds import RowKind
from sharnir.impulse.slots import Setting, StatusReal, StopReason
from sharnir.impulse.solve.delassus import ensure_delassus
from sharnir.impulse.solve.dense_pgs import run_pgs_dense
from sharnir.kernels.types import array2, real

wp.set_module_options(FAST_COMPILE)
NO_DEADLINE, EPSILON = 1e300, 1e-12  # ticks; N s
CONTACTS = [(0, 1), (1, WORLD), (0, 2), (2, WORLD)]
SCALARS = [((5, 4, 3), RowKind.BOUND), ((11, 6, 3), RowKind.BOUND | RowKind.FRICTION), ((13, 5), RowKind.FRICTION)]


@wp.kernel
def solve_kernel(ctx: StepContext, z: array2, sweeps_before: int, end: wp.float64, out: array2):
    x = make_iterate(z, ctx.work.p, 0)
    built = ensure_delassus(ctx.layout, ctx.work, 0)
    n, worst, reason = run_pgs_dense(ctx, x, sweeps_before, end, 0)
    out[0, 0] = real(n)
    out[1, 0] = worst
    out[2, 0] = real(reason)
    out[3, 0] = wp.where(built, real(1.0), real(0.0))


def solved(rows: Rows, z0: np.ndarray, newton: int = 1, before: int = 0, end: float = NO_DEADLINE, most: int = 20000):
    """z, number of sweeps, last change and reason; impulses are in `work.p`."""
    z, out = column(z0), zeros(4)
    rows.ctx.layout.dense_newton = newton
    put(rows.ctx.state.settings, [most], Setting.MAX_SWEEPS)
    put(rows.ctx.state.settings, [1.0], Setting.ACCELERATE)
    put(rows.ctx.state.settings, [1e9], Setting.REPLAY_CUT)
    put(rows.ctx.work.status_real, [EPSILON], StatusReal.SWEEP_TOLERANCE)
    run(solve_kernel, rows.ctx, z, before, end, out)
    sweeps, change, reason, built = read(out)
    assert built == 1
    return read(z), int(sweeps), change, int(reason)


def problem(seed: int, mu: float = 0.5) -> tuple[Rows, np.ndarray]:
    """Contacts that close on each other, scalar rows with a limit, friction or both; a random free velocity."""
    rng = np.random.default_rng(seed)
    rows = Rows(rng, contacts=CONTACTS, scalars=SCALARS)
    work = rows.ctx.work
    put(work.contact_target, 0.5 * rng.normal(size=3 * rows.contacts))
    put(work.contact_mu, np.tile([mu, 0, 0], rows.contacts))
    put(work.velocity_lower, [-0.2, -0.1, 0])
    put(work.velocity_upper, [0.3, 0.1, 0])
    put(work.friction_bound, [0, 0.3, 0.5])
    return rows, rng.normal(size=rows.nv)


@pytest.mark.parametrize("newton", [0, 1])
@pytest.mark.parametrize("seed", range(4))
def test_the_complementarity_problem_is_solved(seed, newton):
    """Sweeps end where impulses change by less than ε = 1e-12 N s. Random rows have condition numbers of some 1e2, so
    that laws are obeyed to 1e-9, and z, which is summed up over all sweeps, has lost less than 1e-10."""
    rows, z0 = problem(seed)
    z, _, change, reason = solved(rows, z0, newton)
    assert reason == StopReason.CONVERGED and change <= EPSILON
    p = read(rows.ctx.work.p)
    np.testing.assert_allclose(z, z0 + rows.velocity_change(p), atol=1e-10)
    speeds = (rows.all_contacts() @ z - read(rows.ctx.work.contact_target)).reshape(-1, 3)
    assert cone_residual(rows.contact_impulses(p)[:, :3], speeds, 0.5).max() < 1e-9
    assert (rows.contact_impulses(p)[:, 0] > 0).any()
    for l, (_, kinds) in enumerate(SCALARS):
        bounds = (read(getattr(rows.ctx.work, name))[l] for name in BOUNDS)
        assert scalar_residual(rows.scalar_impulses(p)[l], rows.scalar(l) @ z, kinds, *bounds) < 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_without_friction_velocities_are_those_of_least_squares_with_nonnegative_impulses(seed):
    """min ½|z − z₀|² with W_n z ≥ targets is a convex problem with one solution; scipy's `nnls` finds its dual
    ½|Wᵀp + z₀ − y|², y with W_n y = targets. Both are exact but for rounding."""
    rng = np.random.default_rng(10 + seed)
    rows = Rows(rng, contacts=CONTACTS)
    put(rows.ctx.work.contact_mu, np.zeros(3 * rows.contacts))
    targets, z0 = rng.normal(size=rows.contacts), rng.normal(size=rows.nv)
    put(rows.ctx.work.contact_target, np.stack([targets, 0 * targets, 0 * targets], axis=1).reshape(-1))
    W = rows.all_contacts()[::3]
    p, _ = nnls(W.T, np.linalg.pinv(W) @ targets - z0)
    z, *_ = solved(rows, z0)
    np.testing.assert_allclose(z, z0 + W.T @ p, atol=1e-10)
    np.testing.assert_allclose(rows.contact_impulses(read(rows.ctx.work.p))[:, 0], p, atol=1e-9)


def test_newton_steps_save_most_sweeps():
    """Of the sweeps of eight problems, Newton steps, which find the solution at once where contact modes are known,
    leave less than a third; the counts are the same on every machine but for rounding."""
    with_newton, without = (sum(solved(*problem(seed), newton)[1] for seed in range(8)) for newton in (1, 0))
    assert with_newton < without / 3


def test_sweeps_end_at_the_most_allowed_and_when_time_is_up_and_count_those_made_before():
    rows, z0 = problem(0)
    assert solved(rows, z0, newton=0, before=3, most=5)[1::2] == (5, StopReason.CAPPED)
    rows, z0 = problem(0)
    assert solved(rows, z0, newton=0, before=3, end=0.0)[1::2] == (4, StopReason.OUT_OF_TIME)
