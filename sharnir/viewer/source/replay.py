"""A recording as the source of a viewer: played, scrubbed, slowed down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from sharnir.drawing.pieces import Poses
from sharnir.model.model import Model
from sharnir.rotations import Array
from sharnir.viewer.channel import Sizes
from sharnir.viewer.commands import LONGEST, SPEED, Bounds, Command, Kind
from sharnir.viewer.setup import Timeline

MARKS = 200  # moments with a name on a timeline


class Recorded(Protocol):
    """What is asked of a recording. Times in s."""

    @property
    def model(self) -> Model: ...

    @property
    def start(self) -> float: ...

    @property
    def end(self) -> float: ...

    @property
    def events(self) -> Sequence[Any]:
        """Each with t, kind, what and begins."""

    def poses(self, t: float) -> tuple[Array, Array]:
        """Positions [nb, 3] and rotations [nb, 3, 3] of the bodies at a time."""


class Replay:
    """Plays a recording from its start to its end."""

    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded
        self.model = recorded.model
        self.time, self.running = recorded.start, False
        self._speed = 1.0
        self._before: float | None = None

    def timeline(self) -> Timeline:
        """With the first events as marks."""
        named = ((e.t, f"{e.kind} {e.what}" + ("" if e.begins else " ends")) for e in self._recorded.events[:MARKS])
        return Timeline(self._recorded.start, self._recorded.end, tuple(named))

    def poses(self) -> Poses:
        """Where the bodies are."""
        return Poses(*self._recorded.poses(self.time))

    def sizes(self) -> Sizes:
        """Of its frames: poses alone, nothing that is driven."""
        return Sizes(self.model.nb, 0, 0, 0, 0)

    def bounds(self) -> dict[Kind, Bounds]:
        """The commands it obeys."""
        plain = dict.fromkeys((Kind.RUN, Kind.PAUSE), Bounds(1))
        return {**plain, Kind.SPEED: Bounds(1, (SPEED,)), Kind.SEEK: Bounds(1, ((0.0, LONGEST),))}

    def obey(self, command: Command) -> None:
        """Play, pause, go elsewhere or change the speed."""
        if command.kind == Kind.SEEK:
            self.time = min(max(command.values[0], self._recorded.start), self._recorded.end)
        elif command.kind == Kind.SPEED:
            self._speed = command.values[0]
        else:
            self.running = command.kind == Kind.RUN
            if self.running and self.time >= self._recorded.end:
                self.time = self._recorded.start

    def steer(self, axes: Array | None) -> None:
        """Nothing is driven."""

    def advance(self, now: float) -> None:
        """Go on to the present, s of the wall clock."""
        before, self._before = self._before, now
        if self.running and before is not None:
            self.time = min(self.time + self._speed * (now - before), self._recorded.end)
            self.running = self.time < self._recorded.end

    def fill(self, frame: Any) -> None:
        """Write the present moment to a frame."""
        frame["position"], frame["rotation"] = self._recorded.poses(self.time)
        frame["time"], frame["speed"], frame["running"] = self.time, self._speed, self.running
        frame["factor"] = self._speed if self.running else 0.0
