"""Which way to find impulses is taken (M-39..M-42, M-48), seen by what each leaves behind, and what it solves."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from engine_parts import FAST_COMPILE, WORLD, Rows, column, cone_residual, put, read, run, zeros

from sharnir.impulse.data import StepContext
from sharnir.impulse.layout.layout import MAX_DELASSUS_ROWS
from sharnir.impulse.row_kinds import RowKind
from sharnir.impulse.slots import (
    DelassusState,
    Method,
    PrevStep,
    ReportItem,
    Setting,
    Status,
    StatusReal,
    StopReason,
)
from sharnir.impulse.solve.bilateral_ldl import factor_bilateral
from sharnir.impulse.solve.strategy import active_sweep_applies, solve_and_report
from sharnir.kernels.types import array2, real

wp.set_module_options(FAST_COMPILE)
NO_DEADLINE, EPSILON = 1e300, 1e-11  # ticks; N s
CONTACTS = [(0, 1), (1, WORLD), (0, 2), (2, WORLD)]
MANY = [(i, i + 1) for i in range(20)] + [(i, WORLD) for i in range(21)]  # more rows than the Delassus matrix may have
REVOLUTE = 1
assert 3 * len(MANY) > MAX_DELASSUS_ROWS


@wp.kernel
def solve_kernel(ctx: StepContext):
    if ctx.work.status[int(Status.IS_DIRECT), 0] == 1:
        factor_bilateral(ctx, 1, 0)
    solve_and_report(ctx, wp.float64(NO_DEADLINE), 0)


@wp.kernel
def applies_kernel(ctx: StepContext, direct: int, dense: int, out: array2):
    applies = active_sweep_applies(ctx.layout, ctx.state, ctx.work, direct, dense == 1, 0)
    out[0, 0] = wp.where(applies, real(1.0), real(0.0))


def solved(rows: Rows, z0: np.ndarray, sweeps_before: int, direct: int = 0, method: Method = Method.PREDICTIVE):
    """z, the report, and whether the Delassus matrix was built. sweeps_before: sweeps of the last step."""
    ctx = rows.ctx
    ctx.here.z = column(np.concatenate([z0, np.zeros(ctx.layout.z_size - len(z0))]))
    for slot, value in ((Setting.MAX_SWEEPS, 20000), (Setting.ACCELERATE, 1), (Setting.REPLAY_CUT, 1e9)):
        put(ctx.state.settings, [value], slot)
    put(ctx.state.settings, [int(method)], Setting.METHOD)
    put(ctx.state.prev_step, [sweeps_before], PrevStep.SWEEPS)
    put(ctx.work.status_real, [EPSILON], StatusReal.SWEEP_TOLERANCE)
    put(ctx.work.status, [direct], Status.IS_DIRECT)
    run(solve_kernel, ctx)
    built = int(read(ctx.work.status)[Status.DELASSUS]) == DelassusState.READY
    return read(ctx.here.z)[: rows.nv], read(ctx.state.report), built


def problem(contacts: list[tuple[int, int]], trees: tuple[int, ...] = (6, 6, 3)) -> tuple[Rows, np.ndarray]:
    rng = np.random.default_rng(3)
    rows = Rows(rng, trees=trees, contacts=contacts)
    put(rows.ctx.work.contact_target, 0.5 * rng.normal(size=3 * rows.contacts))
    return rows, rng.normal(size=rows.nv)


@pytest.mark.parametrize(
    ("sweeps_before", "method", "dense"),
    [(3, Method.PREDICTIVE, True), (4, Method.PREDICTIVE, True), (4, Method.PAPER_BODIES, False)],
)
def test_few_contacts_are_solved_on_the_delassus_matrix_except_by_the_published_method(sweeps_before, method, dense):
    """Three sweeps through z come first where so many were enough in the last step; here they are not. The last change
    is below ε = 1e-11 N s, the condition number some 1e2."""
    rows, z0 = problem(CONTACTS)
    z, report, built = solved(rows, z0, sweeps_before, method=method)
    assert built == dense
    assert report[ReportItem.STOP_REASON] == StopReason.CONVERGED and report[ReportItem.SWEEP_RESIDUAL] <= EPSILON
    speeds = (rows.all_contacts() @ z - read(rows.ctx.work.contact_target)).reshape(-1, 3)
    assert cone_residual(rows.contact_impulses(read(rows.ctx.work.p))[:, :3], speeds, 0.5).max() < 1e-8


@pytest.mark.parametrize(("sweeps_before", "dense"), [(3, False), (4, True)])
def test_the_matrix_is_not_built_where_three_sweeps_are_enough_as_in_the_last_step(sweeps_before, dense):
    """A contact of each tree with the world, without friction: no row shares a coordinate with another one, so that one
    sweep solves all and the second finds so."""
    rows, z0 = problem([(0, WORLD), (1, WORLD), (2, WORLD)])
    put(rows.ctx.work.contact_mu, np.zeros(9))
    _, report, built = solved(rows, z0, sweeps_before)
    assert built == dense and report[ReportItem.STOP_REASON] == StopReason.CONVERGED
    assert report[ReportItem.SWEEP_COUNT] <= 3


def test_sweeps_are_added_to_those_of_the_report():
    rows, z0 = problem([(0, WORLD)])
    put(rows.ctx.state.report, [7], ReportItem.SWEEP_COUNT)
    _, report, _ = solved(rows, z0, 0)
    assert 7 < report[ReportItem.SWEEP_COUNT] <= 10


def test_contacts_too_many_for_the_matrix_are_solved_without_it():
    rows, z0 = problem(MANY, trees=(6,) * 21)
    z, report, built = solved(rows, z0, 10)
    assert not built and report[ReportItem.STOP_REASON] == StopReason.CONVERGED
    speeds = (rows.all_contacts() @ z - read(rows.ctx.work.contact_target)).reshape(-1, 3)
    assert cone_residual(rows.contact_impulses(read(rows.ctx.work.p))[:, :3], speeds, 0.5).max() < 1e-6


def test_active_contacts_are_swept_where_contacts_are_the_only_rows_and_too_many():
    only, _ = problem(CONTACTS)
    put(only.ctx.state.settings, [1.0], Setting.ACCELERATE)
    with_limit = Rows(np.random.default_rng(0), contacts=CONTACTS, scalars=[((1, 0), RowKind.BOUND)])
    put(with_limit.ctx.state.settings, [1.0], Setting.ACCELERATE)
    none = Rows(np.random.default_rng(0), contacts=CONTACTS)
    put(none.ctx.state.settings, [1.0], Setting.ACCELERATE)
    put(none.ctx.work.contact_count, [0])
    slow = Rows(np.random.default_rng(0), contacts=CONTACTS)
    found, out = [], zeros(1)
    for rows, direct, dense in (
        (only, 0, 0), (only, 0, 1), (only, 1, 0), (with_limit, 0, 0), (none, 0, 0), (slow, 0, 0),
    ):  # fmt: skip
        run(applies_kernel, rows.ctx, direct, dense, out)
        found.append(int(read(out)[0]))
    assert found == [1, 0, 0, 0, 0, 0]


def test_bilateral_rows_alone_are_solved_directly_in_one_iteration():
    """Against numpy's least change of velocity: z₀ + Wᵀ(W Wᵀ)⁻¹(targets − W z₀), which rounding moves by 1e-13 times a
    condition number of some 1e2."""
    rng = np.random.default_rng(1)
    rows = Rows(rng, trees=(6, 3), joints=[((8, 7, 6, 5, 4, 3), REVOLUTE)])
    put(rows.ctx.work.joint_target, rng.normal(size=6))
    W, z0 = rows.joint(0), rng.normal(size=rows.nv)
    z, report, built = solved(rows, z0, 10, direct=1)
    p = np.linalg.solve(W @ W.T, read(rows.ctx.work.joint_target)[:5] - W @ z0)
    np.testing.assert_allclose(z, z0 + W.T @ p, atol=1e-10)
    assert report[ReportItem.SWEEP_COUNT] == 1 and not built
