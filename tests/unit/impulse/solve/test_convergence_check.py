"""When sweeps end: converged, out of time, stalled (M-42), and the factor of their acceleration."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from engine_parts import FAST_COMPILE, WORLD, Rows, put, read, run, zeros

from sharnir.impulse.data import StepContext
from sharnir.impulse.row_kinds import RowKind
from sharnir.impulse.slots import ProgressRule, ReportItem, Setting, StatusReal, StopReason, SweepStatus
from sharnir.impulse.solve.pgs import has_nothing_to_sweep
from sharnir.impulse.solve.pgs_loop import acceleration_factor, begin_sweeps, check_convergence, stop_reason_of
from sharnir.kernels.types import array2, real

wp.set_module_options(FAST_COMPILE)
EPSILON, FAR_ABOVE, NO_DEADLINE, PAST = 1e-6, 1e-3, 1e300, 0.0


@wp.kernel
def check_kernel(
    ctx: StepContext, n: int, worst: real, change_at_check: real, rule: int, check: int, end: wp.float64, out: array2
):
    loop = begin_sweeps(ctx, 0, 1000, rule, 0)
    loop.n = n
    loop.worst = worst
    loop.change_at_check = change_at_check
    loop.check = check
    check_convergence(ctx.state, loop, end, 0)
    out[0, 0] = real(loop.status)
    out[1, 0] = loop.change_at_check
    out[2, 0] = real(stop_reason_of(ctx.state, loop))


@wp.kernel
def factor_kernel(last_change2: real, change2: real, out: array2):
    out[0, 0] = acceleration_factor(last_change2, change2)


@wp.kernel
def nothing_kernel(ctx: StepContext, direct: int, out: array2):
    out[0, 0] = wp.where(has_nothing_to_sweep(ctx.layout, ctx.work, direct, 0), real(1.0), real(0.0))


def check(
    n=7, worst=1.0, change_at_check=1e30, rule=ProgressRule.CONTACTS, end=NO_DEADLINE, all_rows=1, accept=0.0,
    replay_cut=1e9, reported=0.0,
):  # fmt: skip
    """Status of the loop, change at the last progress check, `StopReason`, and CUT_AFTER of the report."""
    rows, out = Rows(np.random.default_rng(0), contacts=[(0, WORLD)]), zeros(3)
    state = rows.ctx.state
    put(state.settings, [accept], Setting.TOL_ACCEPT)
    put(state.settings, [replay_cut], Setting.REPLAY_CUT)
    put(state.report, [reported], ReportItem.SWEEP_COUNT)
    put(state.report, [1e9], ReportItem.CUT_AFTER)
    put(rows.ctx.work.status_real, [EPSILON], StatusReal.SWEEP_TOLERANCE)
    run(check_kernel, rows.ctx, n, worst, change_at_check, int(rule), all_rows, end, out)
    return (*read(out), read(state.report)[ReportItem.CUT_AFTER])


def test_changes_below_epsilon_converge():
    status, _, reason, _ = check(worst=0.9 * EPSILON, end=PAST)  # even when time is up
    assert (status, reason) == (SweepStatus.CONVERGED, StopReason.CONVERGED)
    assert check(worst=1.1 * EPSILON)[0] == SweepStatus.CONTINUE


@pytest.mark.parametrize("late", [{"end": PAST}, {"replay_cut": 17.0}])
def test_the_clock_or_a_replayed_step_ends_sweeps(late):
    status, _, reason, cut = check(n=7, reported=10.0, **late)
    assert (status, reason, cut) == (SweepStatus.OUT_OF_TIME, StopReason.OUT_OF_TIME, 17.0)


def test_a_sweep_over_some_rows_only_may_run_out_of_time_but_not_converge():
    assert check(worst=0.9 * EPSILON, all_rows=0)[0] == SweepStatus.CONTINUE
    assert check(100, 1.0, 1.0, all_rows=0)[0] == SweepStatus.CONTINUE  # nor stall
    status, _, reason, cut = check(n=7, worst=0.9 * EPSILON, end=PAST, all_rows=0)
    assert (status, reason, cut) == (SweepStatus.OUT_OF_TIME, StopReason.OUT_OF_TIME, 7.0)


@pytest.mark.parametrize(
    ("rule", "check_every", "ratio"),
    [(ProgressRule.JOINTS, 200, 0.9), (ProgressRule.CONTACTS, 100, 0.5), (ProgressRule.DENSE, 50, 0.5)],
)
def test_too_little_progress_between_checks_is_a_stall(rule, check_every, ratio):
    worst = FAR_ABOVE
    too_small, large_enough = worst / (ratio * 1.01), worst / (ratio * 0.99)  # change at the last check
    status, change_at_check, reason, _ = check(check_every, worst, too_small, rule)
    assert (status, change_at_check, reason) == (SweepStatus.STALLED, worst, StopReason.STALLED)
    assert check(check_every, worst, large_enough, rule)[:2] == (SweepStatus.CONTINUE, worst)
    assert check(check_every - 1, worst, too_small, rule)[:2] == (SweepStatus.CONTINUE, too_small)  # no check yet


def test_acceptable_changes_continue_only_while_ten_sweeps_halve_them():
    """Below TOL_ACCEPT, but above ε: a stall counts as convergence."""
    status, _, reason, _ = check(10, 1e-4, 1.9e-4, accept=1e-3)
    assert (status, reason) == (SweepStatus.CONVERGED, StopReason.CONVERGED)
    assert check(10, 1e-4, 2.1e-4, accept=1e-3)[0] == SweepStatus.CONTINUE
    assert check(10, 1e-4, 1.9e-4, accept=1e-5)[0] == SweepStatus.CONTINUE  # above it checks are rarer


def test_running_out_of_sweeps_is_capped_only_above_the_acceptable_change():
    assert check(worst=1e-4, accept=1e-3)[2] == StopReason.CONVERGED
    assert check(worst=1e-4, accept=1e-5)[2] == StopReason.CAPPED


@pytest.mark.parametrize(
    ("last_change2", "change2", "beta"), [(4.0, 1.0, 0.25), (0.0, 1.0, 0.0), (1.0, 1.0, 0.0), (1.0, 2.0, 0.0)]
)
def test_search_directions_are_followed_only_while_changes_decrease(last_change2, change2, beta):
    out = zeros(1)
    run(factor_kernel, last_change2, change2, out)
    assert read(out)[0] == beta


def test_whether_any_rows_are_left_to_sweep():
    out, rng = zeros(1), np.random.default_rng(0)
    scalar = Rows(rng, trees=(6,), scalars=[((1, 0), RowKind.BOUND)], equalities=[0])
    joint = Rows(rng, trees=(6,), joints=[((2, 1, 0), 6)])
    contact = Rows(rng, contacts=[(0, WORLD)])
    found = []
    for rows, direct in ((scalar, 0), (scalar, 1), (joint, 0), (joint, 1), (contact, 1)):
        run(nothing_kernel, rows.ctx, direct, out)
        found.append(int(read(out)[0]))
    assert found == [0, 1, 0, 1, 0]  # bilateral rows are not swept where they are solved directly
