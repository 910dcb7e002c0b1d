"""Show a source in the browser: frames go to the viewer's process, commands come back, and nobody waits."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

import numpy as np

from sharnir.errors import SimulationError
from sharnir.simulation import Simulation
from sharnir.viewer.channel import Channel
from sharnir.viewer.commands import judged
from sharnir.viewer.drive import Mapping
from sharnir.viewer.gate import LOOPBACK, Address, checked_token
from sharnir.viewer.live import Live, Source
from sharnir.viewer.pace import FRAME
from sharnir.viewer.server import Server
from sharnir.viewer.setup import Timeline, setup

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
        announce(f"{source.model.name}: {player.url} (Ctrl-C ends)")
        player.run()
        raise SimulationError(player.last_words())
    except KeyboardInterrupt:
        pass
    finally:
        player.close()


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

    def run(self, frames: int | None = None) -> None:
        """Show so many pictures, or go on while the viewer's process lives."""
        due, shown = time.perf_counter(), 0
        while (frames is None or shown < frames) and self._server.alive():
            self.frame()
            shown += 1
            now = time.perf_counter()
            due = max(due + FRAME, now)
            time.sleep(due - now)

    def frame(self) -> None:
        """Do what was asked, follow the operator, go on to the present, show what came of it."""
        self.listen()
        self.source.advance(time.perf_counter())
        self.publish()

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
        gc.unfreeze()
        self._server.close()
