"""When sweeps end: converged, out of time, stalled (M-42), and by how much the last direction is followed."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from engine_parts import QUICK, WORLD, Parts, Rows, empty, put, run, seen

from sharnir.impulse.row_kinds import BOUND
from sharnir.impulse.slots import ReportItem, Setting, StopReason
from sharnir.impulse.solve.pgs import acceleration_factor, has_nothing_to_sweep, stop_reason
from sharnir.impulse.solve.pgs_loop import check_convergence
from sharnir.kernels.types import array2, real

wp.set_module_options(QUICK)
EPSILON, FAR_ABOVE, FOREVER = 1e-6, 1e-3, 1e300
CONVERGES, GOES_ON, IS_LATE, STALLS = range(4)
FREE, TOUCHING, FEW = range(3)


@wp.kernel
def verdict_kernel(s: Parts, n: int, worst: real, checked: real, touching: int, end: wp.float64, out: array2):
    going, looked = check_convergence(s.state, n, worst, real(EPSILON), checked, touching, end, 0)
    out[0, 0] = real(going)
    out[1, 0] = looked
    out[2, 0] = real(stop_reason(s.state, going, worst, real(EPSILON)))


@wp.kernel
def ahead_kernel(last: real, gone: real, out: array2):
    out[0, 0] = acceleration_factor(last, gone)


@wp.kernel
def nothing_kernel(s: Parts, held: int, out: array2):
    out[0, 0] = wp.where(has_nothing_to_sweep(s.plan, s.work, held, 0), real(1.0), real(0.0))


def judged(n=7, worst=1.0, checked=1e30, touching=TOUCHING, end=FOREVER, enough=0.0, cut_at=1e9, swept=0.0):
    """Status, change when progress was last looked at, reason of stopping, and the report's CUT."""
    rows, out = Rows(np.random.default_rng(0), contacts=[(0, WORLD)]), empty(3)
    put(rows.parts.state.settings, [enough], Setting.TOL_ACCEPT)
    put(rows.parts.state.settings, [cut_at], Setting.REPLAY_CUT)
    put(rows.parts.state.report, [swept], ReportItem.SWEEP_COUNT)
    put(rows.parts.state.report, [1e9], ReportItem.CUT_AFTER)
    run(verdict_kernel, rows.parts, n, worst, checked, touching, end, out)
    return (*seen(out), seen(rows.parts.state.report)[ReportItem.CUT_AFTER])


def test_changes_below_epsilon_end_it():
    status, _, reason, _ = judged(worst=0.9 * EPSILON, end=0.0)  # even when time is up
    assert (status, reason) == (CONVERGES, StopReason.CONVERGED)
    assert judged(worst=1.1 * EPSILON)[0] == GOES_ON


@pytest.mark.parametrize("late", [{"end": 0.0}, {"cut_at": 17.0}])
def test_the_clock_or_the_step_replayed_ends_it(late):
    status, _, reason, cut = judged(n=7, swept=10.0, **late)
    assert (status, reason, cut) == (IS_LATE, StopReason.OUT_OF_TIME, 17.0)


@pytest.mark.parametrize(("touching", "patience", "share"), [(FREE, 200, 0.9), (TOUCHING, 100, 0.5), (FEW, 50, 0.5)])
def test_too_little_progress_within_the_patience_is_a_stall(touching, patience, share):
    worst = FAR_ABOVE
    little, enough = worst / (share * 1.01), worst / (share * 0.99)  # changes when last looked at
    status, checked, reason, _ = judged(patience, worst, worst / (share / 0.99) * 0.98, touching)
    assert (status, checked, reason) == (STALLS, worst, StopReason.CAPPED)
    assert judged(patience, worst, enough, touching)[:2] == (GOES_ON, worst)
    assert judged(patience - 1, worst, little * 0.1, touching)[:2] == (GOES_ON, little * 0.1)  # not looked at yet


def test_what_is_settled_all_but_for_the_light_goes_on_only_while_ten_sweeps_halve_it():
    """Below `enough`, but above ε: stopping there is no failure."""
    assert judged(10, 1e-4, 1.9e-4, enough=1e-3)[::2][0] == CONVERGES
    assert judged(10, 1e-4, 2.1e-4, enough=1e-3)[0] == GOES_ON
    assert judged(10, 1e-4, 1.9e-4, enough=1e-5)[0] == GOES_ON  # above it the usual patience counts


def test_running_out_of_sweeps_counts_as_capped_only_above_enough():
    assert judged(worst=1e-4, enough=1e-3)[2] == StopReason.CONVERGED
    assert judged(worst=1e-4, enough=1e-5)[2] == StopReason.CAPPED


@pytest.mark.parametrize(
    ("last", "gone", "beta"), [(4.0, 1.0, 0.25), (0.0, 1.0, 0.0), (1.0, 1.0, 0.0), (1.0, 2.0, 0.0)]
)
def test_directions_are_followed_only_while_changes_shrink(last, gone, beta):
    out = empty(1)
    run(ahead_kernel, last, gone, out)
    assert seen(out)[0] == beta


def test_whether_there_is_anything_to_sweep():
    out, rng = empty(1), np.random.default_rng(0)
    line = Rows(rng, trees=(6,), lines=[((1, 0), BOUND)], equalities=[0])
    joint = Rows(rng, trees=(6,), joints=[((2, 1, 0), 6)])
    contact = Rows(rng, contacts=[(0, WORLD)])
    found = []
    for rows, held in ((line, 0), (line, 1), (joint, 0), (joint, 1), (contact, 1)):
        run(nothing_kernel, rows.parts, held, out)
        found.append(int(seen(out)[0]))
    assert found == [0, 1, 0, 1, 0]  # bilateral rows are not swept where they are solved directly
