"""Keeping pace with the wall clock."""

from __future__ import annotations

FRAME = 1 / 50  # s, between two pictures
LATE = 0.1  # s behind the wall clock from which on time is lost and not caught up
WINDOW = 0.5  # s, over which the real-time factor is measured


class Pace:
    """How many steps are due. Times in s: `now` of the wall clock, `time` of the simulation."""

    def __init__(self, dt: float, now: float, time: float) -> None:
        self.dt = dt
        self.start(now, time)

    def start(self, now: float, time: float) -> None:
        """Count from here: after a pause or a reset."""
        self._ahead = now - time
        self._window = now, time
        self.factor: float | None = None  # simulated over real time, when there is one to tell

    def due(self, now: float, time: float) -> int:
        """Steps that bring the simulation to the present; a frame's worth if it cannot keep up."""
        behind = now - self._ahead - time
        if behind > LATE + self.dt:
            behind = max(FRAME, self.dt)
            self._ahead = now - time - behind
        self._measure(now, time)
        return max(0, int(behind / self.dt + 1e-6))

    def _measure(self, now: float, time: float) -> None:
        began, at = self._window
        if now - began >= WINDOW:
            self.factor = (time - at) / (now - began)
            self._window = now, time
