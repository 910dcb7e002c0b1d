"""Warnings: kinds of steps that are not right, in reports of steps, told once in Python, and summed up for people."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sharnir.errors import SimulationWarning
from sharnir.impulse.settings import WARN_PIVOT_RATIO, WARN_POSITION_ERROR
from sharnir.impulse.slots import ReportItem, StepWarning, StopReason

if TYPE_CHECKING:
    from sharnir.simulation.simulation import Simulation
    from sharnir.simulation.step_report import Report

SAID_SHARE = 0.01  # of the steps so far: kinds that single steps may well be of are told of where more are
FEW_STEPS = 100  # of a run that begins: one step of such a kind is not told of yet
MOST_NAMES = 3  # of models in a line
PACKAGE = "sharnir"


class Kind(NamedTuple):
    """A way in which a step is not right."""

    words: str  # that follow "12 of 500 steps"
    text: str
    often: bool = False  # told of where more than SAID_SHARE of steps are of this kind, else of the first one


# by their names, which are fields of `Counts`; those of `StepWarning` by its members' names
KINDS = {
    "guarded": Kind("guarded", "corrections of the momenta did not converge, the step is one along the tangent", True),
    "capped": Kind("capped", "sweeps ended at their cap before impulses had converged", True),
    "stalled": Kind("stalled", "sweeps ended without progress before impulses had converged", True),
    "position_error": Kind("with position errors", "joints, couplings or limits are off by over 1 % of the mechanism"),
    "near_fold": Kind("near a fold", "loops hold less than 1 % as firmly as before: the branch may change there"),
    "correction_limited": Kind(
        "with a limited correction", "a position correction would have moved more than the error it removes"
    ),
    "impacts_limited": Kind(
        "with limited impacts", "impacts went on beyond the most that a step follows: the rest did not bounce"
    ),
    "fast_spin": Kind("with fast spin", "a body turns too far in a step for its motion or friction to be resolved"),
    "links_stiffened": Kind(
        "with stiffened links", "loads on light links oscillate faster than steps resolve and were damped"
    ),
    "energy_limited": Kind(
        "with limited energy", "momenta or impulses were scaled down, since the step would have added energy"
    ),
    "motor_slowed": Kind("with a slowed motor", "a motor without bound was slowed down in front of a dead end"),
    "lifted": Kind(
        "with lifted bodies", "overlaps or open joints were pushed out against gravity: energy was added", True
    ),
}
BITS = tuple((int(bit), str(bit.name).lower()) for bit in StepWarning)


class ReportWarning(NamedTuple):
    """What was not right in some of the steps that were taken."""

    kind: str  # a name in KINDS
    steps: int  # in which it was
    of: int  # steps that were taken
    text: str

    def __str__(self) -> str:
        return f"{self.steps} of {self.of} steps {KINDS[self.kind].words}: {self.text}"


@dataclass
class Counts:
    """What happened so far, in steps. One that is of several kinds counts for each."""

    steps: int = 0
    capped: int = 0  # whose sweeps ended at the cap
    stalled: int = 0  # whose sweeps ended without progress
    out_of_time: int = 0  # whose iterations the budget ended
    overruns: int = 0  # that took longer than the budget
    late: int = 0  # that began later than real time asked for
    guarded: int = 0  # whose corrections did not converge: taken along the tangent
    warned: int = 0  # of any of the kinds below
    position_error: int = 0  # with joints, couplings or limits off by more than WARN_POSITION_ERROR
    near_fold: int = 0  # whose loops were about to lose rank
    correction_limited: int = 0  # of `StepWarning`, as those that follow
    impacts_limited: int = 0
    fast_spin: int = 0
    links_stiffened: int = 0
    energy_limited: int = 0
    motor_slowed: int = 0
    lifted: int = 0

    @property
    def warnings(self) -> tuple[ReportWarning, ...]:
        """Of all steps so far; of kinds that single steps may well be of, where they are more than SAID_SHARE."""
        return tuple(w for w in self._all() if not KINDS[w.kind].often or w.steps > SAID_SHARE * w.of)

    def _all(self) -> Iterator[ReportWarning]:
        for name, kind in KINDS.items():
            if (steps := getattr(self, name)) > 0:
                yield ReportWarning(name, steps, self.steps, kind.text)


def count_warnings(sim: Simulation, reports: np.ndarray, near_fold: bool) -> tuple[ReportWarning, ...]:
    """Count kinds of steps that were not right. reports: [steps, slots, worlds]; a step is of a kind where it is so in
    any world. near_fold: whether loops of the model are looked at."""
    bits = np.bitwise_or.reduce(reports[:, ReportItem.WARNINGS].astype(np.int64), axis=1)
    error = reports[:, ReportItem.POSITION_ERROR].max(axis=1)
    weakest = reports[:, ReportItem.MIN_RELATIVE_PIVOT].min(axis=1)
    of_kind = {name: (bits & bit) > 0 for bit, name in BITS} | {
        "position_error": error > WARN_POSITION_ERROR * sim.impulses.size,
        "near_fold": (weakest < WARN_PIVOT_RATIO) & near_fold,
    }
    c = sim.counts
    c.warned += int(np.any(list(of_kind.values()), axis=0).sum())
    of_kind["guarded"] = (reports[:, ReportItem.FALLBACK_USED] > 0).any(axis=1)
    of_kind["capped"] = (reports[:, ReportItem.STOP_REASON] == StopReason.CAPPED).any(axis=1)
    of_kind["stalled"] = (reports[:, ReportItem.STOP_REASON] == StopReason.STALLED).any(axis=1)
    texts = {
        "position_error": f"joints, couplings or limits are off by {error.max():.1e} m or rad",
        "near_fold": f"loops hold {weakest.min():.1e} as firmly as before: the branch may change there",
    }
    found = []
    for name, kind in KINDS.items():
        steps = int(of_kind[name].sum())
        if steps > 0:
            setattr(c, name, getattr(c, name) + steps)
            found.append(ReportWarning(name, steps, len(reports), texts.get(name, kind.text)))
    return tuple(found)


def kinds_of_step(report: Sequence[float]) -> set[str]:
    """Kinds of warnings that stand in a step's own report: it was guarded, or a `StepWarning`. report: [slots]."""
    bits = int(report[ReportItem.WARNINGS])
    kinds = {name for bit, name in BITS if bits & bit} if bits else set()
    return kinds | {"guarded"} if report[ReportItem.FALLBACK_USED] > 0 else kinds


def tell_new_warnings(sim: Simulation, found: Iterable[ReportWarning]) -> None:
    """One SimulationWarning for each kind that this run is told of for the first time."""
    for warning in found:
        if warning.kind in sim.told:
            continue
        steps, of = getattr(sim.counts, warning.kind), sim.counts.steps
        if not KINDS[warning.kind].often or steps > SAID_SHARE * max(of, FEW_STEPS):
            sim.told.add(warning.kind)
            line = warning._replace(steps=steps, of=of)
            message = f"{sim.model.name} at t = {sim.time:g} s: {line}; later ones are only counted (Simulation.counts)"
            _warn_user(SimulationWarning(message, warning.kind))


def _warn_user(warning: SimulationWarning) -> None:
    """At the line outside this package that called it."""
    frame = sys._getframe(1)
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] == PACKAGE:
        frame = frame.f_back
    where, registry = frame.f_globals.get("__name__"), frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(warning, None, frame.f_code.co_filename, frame.f_lineno, where, registry)


def with_warnings(report: Report, found: tuple[ReportWarning, ...], steps: int) -> Report:
    """The report of the last of some steps, with the warnings of all of them. found: of parts, in their order."""
    if not found:
        return report
    sums: dict[str, ReportWarning] = {}
    for warning in found:
        before = sums[warning.kind].steps if warning.kind in sums else 0
        sums[warning.kind] = warning._replace(steps=before + warning.steps, of=steps)
    return report._replace(warnings=tuple(sums[kind] for kind in KINDS if kind in sums))


# runs that a command line tells of at its end: the model's name and the counts of each
_tallies: list[list[tuple[str, Counts]]] = []


def new_counts(model: str) -> Counts:
    """Counts of a run that begins. model: its name."""
    counts = Counts()
    for tally in _tallies:
        tally.append((model, counts))
    return counts


@contextmanager
def tallied() -> Iterator[list[tuple[str, Counts]]]:
    """Collect the counts of all runs that begin inside, which Python is then not told of."""
    tally: list[tuple[str, Counts]] = []
    _tallies.append(tally)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SimulationWarning)
            yield tally
    finally:
        _tallies.remove(tally)


def summary_lines(runs: Iterable[tuple[str, Counts]]) -> list[str]:
    """A line for each kind of warning in some runs: steps of this kind among those of the runs that have it."""
    sums: dict[str, tuple[int, int, dict[str, None]]] = {}
    for model, counts in runs:
        for w in counts.warnings:
            steps, of, models = sums.get(w.kind, (0, 0, {}))
            sums[w.kind] = (steps + w.steps, of + w.of, models | {model: None})
    lines = []
    for kind in (k for k in KINDS if k in sums):
        steps, of, models = sums[kind]
        names = [*models][:MOST_NAMES] + ["…"] * (len(models) > MOST_NAMES)
        words = f"{steps} of {of} steps ({100 * steps / of:.3g} %) {KINDS[kind].words}: {KINDS[kind].text}"
        lines.append(f"{', '.join(names)}: {words}")
    return lines
