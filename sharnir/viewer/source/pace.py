"""Keeping pace with the wall clock."""

from __future__ import annotations

FRAME = 1 / 60  # s, between two pictures
LATE = 0.1  # s behind the wall clock from which on time is lost and not caught up
WINDOW = 0.5  # s, over which the real-time factor is measured


class Pace:
    """How many steps are due. Times in s: `now` of the wall clock, `time` of the simulation. speed: of the latter over
    the former that is asked for."""

    def __init__(self, dt: float, now: float, time: float) -> None:
        self.dt, self.speed = dt, 1.0
        self.start(now, time)

    def start(self, now: float, time: float) -> None:
        """Count from here: after a pause, a reset or a change of speed."""
        self._from = now, time
        self._window = now, time
        self.factor: float | None = None  # simulated over real time, when there is one to tell

    def due(self, now: float, time: float) -> int:
        """Steps that bring the simulation to the present; a frame's worth if it cannot keep up."""
        began, at = self._from
        behind = at + self.speed * (now - began) - time
        if behind > self.speed * LATE + self.dt:
            behind = max(self.speed * FRAME, self.dt)
            self._from = now, time + behind
        self._measure(now, time)
        return max(0, int(behind / self.dt + 1e-6))

    def _measure(self, now: float, time: float) -> None:
        began, at = self._window
        if now - began >= WINDOW:
            self.factor = (time - at) / (now - began)
            self._window = now, time
