"""Step reports: read from the slots kernels fill, checked for divergence, counted, turned into a `Report`."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sharnir.errors import SimulationError, shown
from sharnir.impulse.slots import ReportItem, StopReason
from sharnir.simulation.contacts import check_capacity
from sharnir.simulation.step_warnings import (
    WARN_PIVOT_RATIO,
    WARN_POSITION_ERROR,
    ReportWarning,
    count_warnings,
)

if TYPE_CHECKING:
    from sharnir.simulation.simulation import Simulation

# plain integers, looked up once: a member of an enumeration takes 0.7 µs in Python 3.11, as an index of numpy more
SWEEP_COUNT, SWEEP_RESIDUAL = int(ReportItem.SWEEP_COUNT), int(ReportItem.SWEEP_RESIDUAL)
PASS_COUNT, CORRECTION_COUNT = int(ReportItem.PASS_COUNT), int(ReportItem.CORRECTION_COUNT)
POSITION_ERROR, STOP_REASON = int(ReportItem.POSITION_ERROR), int(ReportItem.STOP_REASON)
FALLBACK_USED, STEP_TICKS = int(ReportItem.FALLBACK_USED), int(ReportItem.STEP_TICKS)
MIN_RELATIVE_PIVOT, CONTACT_POINTS = int(ReportItem.MIN_RELATIVE_PIVOT), int(ReportItem.CONTACT_POINTS)
WARNINGS, OUT_OF_TIME = int(ReportItem.WARNINGS), int(StopReason.OUT_OF_TIME)
REASONS = ("converged", "sweeps", "time", "stalled")


class Report(NamedTuple):
    """What a step took; with several worlds, the most of any. Where one call took several steps, all is of the last of
    them, but for the warnings, which are of all."""

    time: float  # s, at the end of the step
    iterations: int  # sweeps and direct solutions of the velocities
    residual: float  # N s, the last change of an impulse
    position_error: float  # m or rad, the largest of joints, couplings and limits at the end
    reason: str  # why the iterations ended: "converged", "sweeps" (the cap), "time" (the budget) or "stalled"
    seconds: float  # wall clock
    passes: int  # corrections of the step's momenta and gaps
    guarded: bool  # they did not converge: the step was taken along the tangent, first order
    warnings: tuple[ReportWarning, ...]  # what was not right, a kind each: .kind, .steps of .of that were, .text
    counts: tuple[float, ...]  # what a replay of the step needs

    @property
    def warning(self) -> str | None:
        """Text of the first warning; deprecated."""
        warnings.warn("Report.warning is now Report.warnings, a tuple", DeprecationWarning, stacklevel=2)
        return self.warnings[0].text if self.warnings else None


def evaluate_reports(sim: Simulation, reports: np.ndarray) -> Report:
    """Count what happened in some steps and return the `Report` of the last. reports: [steps, slots, worlds]. Raises a
    SimulationError where the motion is not finite or contacts exceed the capacity."""
    from sharnir.impulse.engine import ticks_per_second

    last = reports[-1].max(axis=1).tolist()  # plain numbers: a comparison takes 0.03 µs, one of numpy's 1 µs
    most = last if len(reports) == 1 else reports.max(axis=(0, 2)).tolist()
    if not math.isfinite(most[SWEEP_RESIDUAL]) or not math.isfinite(most[POSITION_ERROR]):
        raise SimulationError(f"t = {sim.time:.6g} s: {describe_divergence(sim)}")
    least_points = (
        most[CONTACT_POINTS] if reports.shape[0] == reports.shape[2] == 1 else reports[:, CONTACT_POINTS].min()
    )
    check_capacity(sim, int(most[CONTACT_POINTS]), -int(least_points))
    c, budget = sim.counts, sim.settings.budget
    c.steps += len(reports)
    if budget is not None:
        c.out_of_time += int((reports[:, STOP_REASON] == OUT_OF_TIME).any(axis=1).sum())
        c.overruns += int((reports[:, STEP_TICKS].max(axis=1) > budget * ticks_per_second()).sum())
    looped = sim.inner.loops > 0 and sim.settings.method == "default"
    found: tuple[ReportWarning, ...] = ()
    if (
        most[STOP_REASON] > 0
        or most[FALLBACK_USED] > 0
        or most[WARNINGS] > 0
        or most[POSITION_ERROR] > WARN_POSITION_ERROR * sim._size
        or (looped and reports[:, MIN_RELATIVE_PIVOT].min() < WARN_PIVOT_RATIO)
    ):
        found = count_warnings(sim, reports, looped)
    return Report(
        time=sim.time, iterations=int(last[SWEEP_COUNT]), residual=last[SWEEP_RESIDUAL],
        position_error=last[POSITION_ERROR], reason=REASONS[int(last[STOP_REASON])],
        seconds=last[STEP_TICKS] / ticks_per_second(), passes=int(last[PASS_COUNT]), guarded=last[FALLBACK_USED] > 0,
        warnings=found, counts=tuple(last[: CORRECTION_COUNT + 1]),
    )  # fmt: skip


def describe_divergence(sim: Simulation) -> str:
    """Describe what is not finite: an input the user wrote, or the first body whose motion is."""
    from sharnir.impulse.tolerances import MAX_POSITION

    given, wrenches = sim.applied_control.numpy(), sim.impulses.state.f_ext.numpy()
    for row in np.flatnonzero(~np.isfinite(given).all(axis=1)).tolist():
        return f"control of joint {sim.inner.joint_of(row)!r} is not finite: {shown(given[row].tolist())}"
    for row in np.flatnonzero(~np.isfinite(wrenches).all(axis=1)).tolist():
        name = sim.inner.body_names[row // 6]
        return f"the wrench applied to body {name!r} is not finite: {shown(wrenches[row].tolist())}"
    q = sim.impulses.state.q.numpy()
    bad = np.flatnonzero(~(np.abs(q) < MAX_POSITION).all(axis=1))
    link = int(np.searchsorted(sim.inner.q_start, bad[0], side="right")) - 1 if len(bad) else 0
    where = f" at body {sim.inner.body_names[link]!r}"
    hint = f"forces or speeds are out of range, or dt = {sim._dt:g} s is too long"
    return f"the motion is no longer finite{where}; {hint}"
