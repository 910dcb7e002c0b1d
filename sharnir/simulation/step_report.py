"""Step reports: read from the slots kernels fill, checked for divergence, counted, turned into a `Report`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sharnir.errors import SimulationError, shown
from sharnir.impulse.slots import ReportItem, StopReason
from sharnir.simulation.contacts import check_capacity

if TYPE_CHECKING:
    from sharnir.simulation.simulation import Simulation

# plain integers, looked up once: a member of an enumeration takes 0.7 µs in Python 3.11, as an index of numpy more
SWEEP_COUNT, SWEEP_RESIDUAL = int(ReportItem.SWEEP_COUNT), int(ReportItem.SWEEP_RESIDUAL)
PASS_COUNT, CORRECTION_COUNT = int(ReportItem.PASS_COUNT), int(ReportItem.CORRECTION_COUNT)
POSITION_ERROR, STOP_REASON = int(ReportItem.POSITION_ERROR), int(ReportItem.STOP_REASON)
FALLBACK_USED, STEP_TICKS = int(ReportItem.FALLBACK_USED), int(ReportItem.STEP_TICKS)
MIN_RELATIVE_PIVOT, CONTACT_POINTS = int(ReportItem.MIN_RELATIVE_PIVOT), int(ReportItem.CONTACT_POINTS)
CAPPED, OUT_OF_TIME, STALLED = int(StopReason.CAPPED), int(StopReason.OUT_OF_TIME), int(StopReason.STALLED)
REASONS = ("converged", "sweeps", "time", "stalled")
WARN_PIVOT_RATIO = 1e-2  # pivot ratio of the loop rows, against their past, below which they are about to lose rank
WARN_POSITION_ERROR = 1e-2  # of the size of the mechanism: position errors worth a warning


class Report(NamedTuple):
    """What a step took; with several worlds, the most of any."""

    time: float  # s, at the end of the step
    iterations: int  # sweeps and direct solutions of the velocities
    residual: float  # N s, the last change of an impulse
    position_error: float  # m or rad, the largest of joints, couplings and limits at the end
    reason: str  # why the iterations ended: "converged", "sweeps" (the cap), "time" (the budget) or "stalled"
    seconds: float  # wall clock
    passes: int  # corrections of the step's momenta and gaps
    guarded: bool  # they did not converge: the step was taken along the tangent, first order
    warning: str | None  # what a user should know
    counts: tuple[float, ...]  # what a replay of the step needs


@dataclass
class Counts:
    """What happened so far."""

    steps: int = 0
    capped: int = 0  # steps that ended at the cap of sweeps, or without progress
    stalled: int = 0  # of these, steps whose sweeps made no progress
    out_of_time: int = 0  # steps whose iterations the budget ended
    overruns: int = 0  # steps that took longer than the budget
    late: int = 0  # steps that began later than real time asked for
    guarded: int = 0
    warned: int = 0


def evaluate_reports(sim: Simulation, reports: np.ndarray) -> Report:
    """Count what happened in some steps and return the `Report` of the last. reports: [steps, slots, worlds]. Raises a
    SimulationError where the motion is not finite or contacts exceed the capacity."""
    from sharnir.impulse.engine import ticks_per_second

    worst = reports.max(axis=2)
    if not np.isfinite(worst[:, SWEEP_RESIDUAL]).all() or not np.isfinite(worst[:, POSITION_ERROR]).all():
        raise SimulationError(f"t = {sim.time:.6g} s: {describe_divergence(sim)}")
    check_capacity(sim, reports[:, CONTACT_POINTS])
    seconds = worst[:, STEP_TICKS] / ticks_per_second()
    weakest = reports[:, MIN_RELATIVE_PIVOT].min(axis=1)
    near_rank_loss = (weakest < WARN_PIVOT_RATIO) & (sim.inner.loops > 0) & (sim.settings.method == "default")
    c = sim.counts
    c.steps += len(reports)
    c.capped += int(np.isin(worst[:, STOP_REASON], (CAPPED, STALLED)).sum())
    c.stalled += int((worst[:, STOP_REASON] == STALLED).sum())
    c.out_of_time += int((worst[:, STOP_REASON] == OUT_OF_TIME).sum())
    c.overruns += 0 if sim.settings.budget is None else int((seconds > sim.settings.budget).sum())
    c.guarded += int((worst[:, FALLBACK_USED] > 0).sum())
    c.warned += int((near_rank_loss | (worst[:, POSITION_ERROR] > WARN_POSITION_ERROR * sim._size)).sum())
    last = worst[-1]
    warning = None
    if last[POSITION_ERROR] > WARN_POSITION_ERROR * sim._size:
        warning = f"joints, couplings or limits are off by {last[POSITION_ERROR]:.1e} m or rad"
    elif near_rank_loss[-1]:
        warning = f"loops hold {weakest[-1]:.1e} as firmly as before: near a fold, where the branch may change"
    return Report(
        time=sim.time, iterations=int(last[SWEEP_COUNT]), residual=float(last[SWEEP_RESIDUAL]),
        position_error=float(last[POSITION_ERROR]), reason=REASONS[int(last[STOP_REASON])],
        seconds=float(seconds[-1]), passes=int(last[PASS_COUNT]),
        guarded=bool(last[FALLBACK_USED]),
        warning=warning, counts=tuple(float(x) for x in last[: CORRECTION_COUNT + 1]),
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
