"""Step reports: read from the slots kernels fill, checked for divergence, counted, turned into a `Report`."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sharnir.errors import SimulationError, shown
from sharnir.impulse.slots import ReportItem, StopReason
from sharnir.simulation.contacts import check_capacity
from sharnir.simulation.step_warnings import ReportWarning, count_warnings

if TYPE_CHECKING:
    from sharnir.simulation.simulation import Simulation

# plain integers, looked up once: a member of an enumeration takes 0.7 µs in Python 3.11, as an index of numpy more
SWEEP_COUNT, SWEEP_RESIDUAL = int(ReportItem.SWEEP_COUNT), int(ReportItem.SWEEP_RESIDUAL)
PASS_COUNT, CORRECTION_COUNT = int(ReportItem.PASS_COUNT), int(ReportItem.CORRECTION_COUNT)
POSITION_ERROR, STOP_REASON = int(ReportItem.POSITION_ERROR), int(ReportItem.STOP_REASON)
FALLBACK_USED, STEP_TICKS = int(ReportItem.FALLBACK_USED), int(ReportItem.STEP_TICKS)
MIN_RELATIVE_PIVOT, CONTACT_POINTS = int(ReportItem.MIN_RELATIVE_PIVOT), int(ReportItem.CONTACT_POINTS)
WARNINGS, OUT_OF_TIME = int(ReportItem.WARNINGS), int(StopReason.OUT_OF_TIME)
new_tuple = tuple.__new__  # a named tuple in half the time of its own constructor
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


def evaluate_steps(sim: Simulation, steps: int, reports: np.ndarray | None = None) -> Report:
    """Count what happened in some steps and return the `Report` of the last. reports: [steps, slots, worlds]; left out,
    those of the last launch, which are looked at where it has remarks. Raises a SimulationError where the motion is not
    finite or contacts exceed the capacity."""
    sim.counts.steps += steps
    engine = sim.impulses
    found: tuple[ReportWarning, ...] = ()
    if reports is not None or sim.settings.budget is not None or engine.has_remarks():
        found = look_at_reports(sim, engine.reports(steps) if reports is None else reports)
    last = engine.last_report(1 if reports is not None else steps)
    return new_tuple(Report, (
        sim.time, int(last[SWEEP_COUNT]), last[SWEEP_RESIDUAL], last[POSITION_ERROR], REASONS[int(last[STOP_REASON])],
        last[STEP_TICKS] / engine.tick_rate, int(last[PASS_COUNT]), last[FALLBACK_USED] > 0, found,
        tuple(last[: CORRECTION_COUNT + 1]),
    ))  # fmt: skip


def look_at_reports(sim: Simulation, reports: np.ndarray) -> tuple[ReportWarning, ...]:
    """Raise a SimulationError where steps have failed, count what they tell, return warnings."""
    most = reports.max(axis=(0, 2)).tolist()
    if not math.isfinite(most[SWEEP_RESIDUAL]) or not math.isfinite(most[POSITION_ERROR]):
        raise SimulationError(f"t = {sim.time:.6g} s: {describe_divergence(sim)}")
    check_capacity(sim, int(most[CONTACT_POINTS]), -int(reports[:, CONTACT_POINTS].min()))
    c, budget = sim.counts, sim.settings.budget
    if budget is not None:
        c.out_of_time += int((reports[:, STOP_REASON] == OUT_OF_TIME).any(axis=1).sum())
        c.overruns += int((reports[:, STEP_TICKS].max(axis=1) > budget * sim.impulses.tick_rate).sum())
    return count_warnings(sim, reports, sim.inner.loops > 0 and sim.settings.method == "default")


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
