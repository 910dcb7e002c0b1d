"""Simulate at the pace of the wall clock, and show it."""

from __future__ import annotations

import time
from collections.abc import Callable

from sharnir.errors import SimulationError
from sharnir.simulation import Simulation
from sharnir.viewer.pace import FRAME, Pace
from sharnir.viewer.page import Page
from sharnir.viewer.pieces import Poses

SEEN = (("position", 3), ("rotation", 9))  # what is asked of a simulation, and numbers for each body


def view(simulation: Simulation, port: int = 8080, announce: Callable[[str], object] = print) -> None:
    """Serve a page that shows a simulation as it runs in real time, until Ctrl-C. announce: is told the address."""
    player = Player(simulation, port)
    try:
        announce(f"{simulation.model.name}: {player.page.url} (Ctrl-C ends)")
        player.run()
    except KeyboardInterrupt:
        pass
    finally:
        player.close()


def poses_of(simulation: Simulation) -> Poses:
    """Where the bodies are, of the first world."""
    nb = simulation.model.nb
    position, rotation = (simulation.seen(name).reshape(k * nb, -1)[:, 0] for name, k in SEEN)
    return Poses(position.reshape(nb, 3), rotation.reshape(nb, 3, 3))


class Player:
    """A simulation and the page that shows it; all but the answers to browsers happens in the caller's thread."""

    def __init__(self, simulation: Simulation, port: int = 8080) -> None:
        self.simulation = simulation
        self.page = Page(simulation.model, poses_of(simulation), port)
        self._pace = Pace(simulation.dt, time.perf_counter(), simulation.time)
        self._paused = True
        self._trouble = ""

    def run(self, frames: int | None = None) -> None:
        """Show so many pictures, or go on until Ctrl-C."""
        due, shown = time.perf_counter(), 0
        while frames is None or shown < frames:
            self.frame()
            shown += 1
            now = time.perf_counter()
            due = max(due + FRAME, now)
            time.sleep(due - now)

    def frame(self) -> None:
        """Do what the buttons ask, take the steps that are due, show what came of them."""
        now, page = time.perf_counter(), self.page
        if page.wants_reset:
            page.wants_reset, self._paused, self._trouble = False, True, ""
            self.simulation.reset()
            page.show(poses_of(self.simulation))
        if page.playing and self._paused:
            self._pace.start(now, self.simulation.time)
        self._paused = not page.playing
        if page.playing:
            self._advance(self._pace.due(now, self.simulation.time))
        page.say(self._words())

    def close(self) -> None:
        """Stop serving."""
        self.page.close()

    def _advance(self, steps: int) -> None:
        """Take steps; where the motion cannot go on, say why and wait for a reset."""
        if steps == 0:
            return
        try:
            self.simulation.step(steps)
            self.page.show(poses_of(self.simulation))
        except SimulationError as error:
            self._trouble = str(error)
            self.page.play(False)

    def _words(self) -> str:
        factor = "–" if self._paused or self._pace.factor is None else f"{self._pace.factor:.2f}"
        return f"time {self.simulation.time:.2f} s, real-time factor {factor}\n\n{self._trouble}"
