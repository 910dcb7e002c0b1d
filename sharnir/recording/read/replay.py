"""Simulating a recording again: its snapshots, and its steps with the inputs they had."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from sharnir.errors import ModelError, RecordingError, SimulationError
from sharnir.impulse.data import LATER_ARRAYS
from sharnir.recording.channels import Snapshot, Step
from sharnir.recording.header import parsed
from sharnir.recording.layout import INPUTS, layout_of_file
from sharnir.recording.write.captures import Capture, saved_arrays
from sharnir.simulation.snapshot import Saved
from sharnir.simulation.step_report import REASONS, Report

if TYPE_CHECKING:
    from sharnir.recording.read.recording import Difference, Recording
    from sharnir.simulation.simulation import Simulation

WATCHED = 100  # steps between two words about the time


class Replay:
    """A simulation that is led along a recording."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.sim: Simulation = recording.simulation()
        self._capture = Capture(self.sim)
        try:
            self._layout = layout_of_file(recording.header, self._capture.layout)
        except ValueError as error:
            raise self._spoilt(str(error)) from None
        self._inputs = self._input_arrays()

    def restore(self, snapshot: Snapshot) -> None:
        """Begin at a snapshot."""
        sim, layout = self.sim, self._layout
        if len(snapshot.data) != layout.size(snapshot.contacts) or snapshot.contacts > sim.impulses.layout.max_contacts:
            raise self._spoilt(f"the snapshot at t = {snapshot.t:g} s has the wrong size")
        try:
            sim.configure(**parsed(snapshot.settings))
            arrays = saved_arrays(sim, layout, snapshot.data, snapshot.contacts)
            clock: dict[str, Any] = {"dt": snapshot.dt, "since": snapshot.since, "steps": snapshot.steps}
            sim.restore(Saved(solver=sim.solver, model=sim.model.fingerprint, arrays=arrays, **clock))
        except (ModelError, ValueError, TypeError) as error:
            raise self._spoilt(f"the snapshot at t = {snapshot.t:g} s: {error}") from None

    def step(self, step: Step) -> None:
        """Take a step as it was taken."""
        sim = self.sim
        if step.dt != sim.dt:
            try:
                sim.dt = step.dt
            except ModelError as error:
                raise self._spoilt(f"step {step.step}: {error}") from None
        if not np.isfinite(step.since):
            raise self._spoilt(f"step {step.step} has no time")
        sim._since, sim._steps = step.since, step.steps
        for name, array in self._inputs.items():
            values = getattr(step, name)
            if len(values) != array.shape[0] or not np.isfinite(values).all():
                raise self._spoilt(f"step {step.step} has inputs of another model, or no numbers")
            array[:, 0] = values
        sim._changed()
        sim.step(like=report_of(step))

    def hash(self) -> int:
        """Of the present state."""
        contacts, layout = self._capture.contacts(), self._capture.layout
        data = self._capture.inputs() + self._capture.state(contacts)
        missing = {*LATER_ARRAYS} & {*layout.places} - {*self._layout.places}
        if missing:
            layout, data = layout.without(data, missing)
        return layout.hash(data, contacts)

    def _input_arrays(self) -> dict[str, Any]:
        state = self.sim.impulses.state
        return {word: getattr(state, name).numpy() for word, name in INPUTS.items()}

    def _spoilt(self, reason: str) -> RecordingError:
        return RecordingError(f"recording {self.recording.path}: {reason}; allowed: a recording that sharnir wrote")


def report_of(step: Step) -> Report:
    """What a replay of a step is told of it."""
    return Report(
        time=step.t, iterations=step.sweeps, residual=step.residual, position_error=step.position_error,
        reason=REASONS[step.reason % len(REASONS)], seconds=step.seconds, passes=0, guarded=False, warnings=(),
        counts=step.ends,
    )  # fmt: skip


def replayed(recording: Recording, t: float) -> Simulation:
    """A simulation at the end of the last step until t."""
    replay = Replay(recording)
    before = [s for s in recording.snapshots if s.t <= t + 1e-9]
    snapshot = before[-1] if before else recording.snapshots[0]
    replay.restore(snapshot)
    for step in recording.all_steps(snapshot.step + 1):
        if step.t > t + 1e-9:
            break
        replay.step(step)
    return replay.sim


def first_difference(recording: Recording, watch: Callable[[float], object]) -> Difference | None:
    """The first step that does not come out as it was recorded."""
    from sharnir.recording.read.recording import Difference

    replay = Replay(recording)
    others = [s for s in recording.snapshots if s.reason != "regular"]
    for step in recording.all_steps():
        while others and others[0].step < step.step:
            replay.restore(others.pop(0))
        with suppress(SimulationError):  # what diverged must have diverged then, too: the hash tells
            replay.step(step)
        if step.step % WATCHED == 0:
            watch(step.t)
        if replay.hash() != step.hash:
            return Difference(step.step, step.t)
    return None
