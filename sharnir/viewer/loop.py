"""Show a source in the browser: frames go to the viewer's process, commands come back, and nobody waits."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable

import numpy as np

from sharnir.errors import SimulationError, one_line
from sharnir.simulation.simulation import Simulation
from sharnir.viewer.channel import Channel
from sharnir.viewer.commands import judged
from sharnir.viewer.input_mapping import Mapping
from sharnir.viewer.page.gate import LOOPBACK, Address, checked_token
from sharnir.viewer.server import Server
from sharnir.viewer.setup import Timeline, setup
from sharnir.viewer.source.live import Live, Source
from sharnir.viewer.source.pace import FRAME

BUSY = 0.1  # of a frame: from here on a processor that comes back late from sleep could make steps late
TIDYING = 1.0  # s, between looks at garbage that is some frames old
SILENT = 0.2  # s without a packet after which the operator counts as gone


def view(
    simulation: Simulation, address: Address | None = None, mapping: Mapping | None = None,
    announce: Callable[[str], object] = print, switchable: bool = True,
) -> None:  # fmt: skip
    """Serve a page that shows a simulation as it runs in real time, until Ctrl-C. announce: is told the address.
    switchable: the solver may be changed on the page."""
    show(Live(simulation, mapping, switchable), address or Address(), mapping, announce)


def show(
    source: Source, address: Address, mapping: Mapping | None = None, announce: Callable[[str], object] = print,
    timeline: Timeline | None = None,
) -> None:  # fmt: skip
    """Serve a page that shows a source until Ctrl-C, or until the viewer's process ends."""
    player = Player(source, address, mapping, timeline)
    try:
        if address.host not in LOOPBACK and address.certificate is None:
            announce("warning: without TLS, all between here and a browser can read the token and all it gives")
        announce(f"{one_line(source.model.name)}: {player.url} (Ctrl-C ends)")
        player.run()
        raise SimulationError(player.last_words())
    except KeyboardInterrupt:
        pass
    finally:
        player.close()


def rest(until: float, busy: float) -> None:
    """Wait until the clock (time.perf_counter) shows a time. busy: share of a frame that the last one took. Where that
    is much, the wait is awake: a processor that has slept comes back late, and is slow for a while."""
    if busy < BUSY or (os.cpu_count() or 1) == 1:
        time.sleep(max(0.0, until - time.perf_counter()))
    while time.perf_counter() < until:
        pass  # even a sleep of no time would be one


class Player:
    """A source, and the process that shows it."""

    def __init__(
        self, source: Source, address: Address, mapping: Mapping | None = None, timeline: Timeline | None = None
    ) -> None:
        token = checked_token(address)
        self.source = source
        self._bounds = source.bounds()
        self._refused = 0
        told = setup(source.model, source.poses(), source.sizes(), self._bounds, mapping, timeline)
        self.notes = told.drawing.notes
        self._channel = Channel(source.sizes())
        self.publish()
        try:
            self._server = Server(told, address._replace(token=token), self._channel)
        finally:
            self._channel.close()
        self.url = self._server.url
        gc.collect()
        gc.freeze()  # else all there is, kernels' descriptions too, is looked through for garbage now and then
        gc.disable()  # garbage is looked for between frames, not within a step
        self._tidied = time.perf_counter()

    def run(self, frames: int | None = None) -> None:
        """Show so many pictures, or go on while the viewer's process lives."""
        due, shown = time.perf_counter(), 0
        while (frames is None or shown < frames) and self._server.alive():
            began = time.perf_counter()
            self.frame()
            busy = (time.perf_counter() - began) / FRAME
            self.tidy()
            shown += 1
            due = max(due + FRAME, time.perf_counter())
            rest(due, busy)

    def frame(self) -> None:
        """Do what was asked, follow the operator, go on to the present, show what came of it."""
        self.listen()
        self.source.advance(time.perf_counter())
        self.publish()

    def tidy(self) -> None:
        """Collect garbage, now and then also what is some frames old: to be called where there is time."""
        now = time.perf_counter()
        aged = now - self._tidied > TIDYING
        self._tidied = now if aged else self._tidied
        gc.collect(1 if aged else 0)

    def listen(self) -> None:
        """Do what was asked, and follow the operator."""
        for came in self._channel.commands.take():
            command = judged(self._bounds, *came)
            if command is None:
                self._refused += 1
            else:
                self.source.obey(command)
        self.source.steer(self._heard())

    def publish(self) -> None:
        """Give the present moment to the viewer."""
        frame = self._channel.frames.begin()
        self.source.fill(frame)
        frame["refused"] = self._refused
        self._channel.frames.publish()

    def _heard(self) -> np.ndarray | None:
        """The operator's axes; None where nothing was heard lately."""
        packet = self._channel.operator.read()
        if packet is None or not 0 <= time.monotonic() - packet["stamp"] <= SILENT:
            return None
        axes = np.nan_to_num(packet["axes"])
        return np.clip(axes, -1.0, 1.0)

    def last_words(self) -> str:
        """Why the viewer's process ended."""
        return self._server.last_words()

    def close(self) -> None:
        """End the viewer's process."""
        gc.enable()
        gc.unfreeze()
        self._server.close()
