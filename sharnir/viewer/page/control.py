"""Who drives: one page of many, which took control; what it sends goes to the simulation, others only watch."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np

from sharnir.viewer.channel import Channel
from sharnir.viewer.commands import Command, Kind
from sharnir.viewer.input_mapping import Mapping

LAPSES = 10.0  # s without a word from a page, after which others may take control


class Control:
    """Knows pages by the names they gave themselves. clock: s, shared by all processes."""

    def __init__(self, channel: Channel, mapping: Mapping | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._channel, self._mapping, self._clock = channel, mapping, clock
        self._lock = threading.Lock()
        self._heard = 0.0
        self._fresh = True  # nobody has come yet
        self.holder: str | None = None
        self.dropped = 0  # commands for which there was no room

    def take(self, page: str) -> bool:
        """Take control, where nobody has it or who had it is silent; whether the page has it."""
        with self._lock:
            if self.holder is None or self._clock() - self._heard > LAPSES:
                self.holder, self._heard = page, self._clock()
            if self._fresh:  # the first who comes starts the motion
                self._fresh = False
                self._put(Command(Kind.RUN))
            return self.holder == page

    def release(self, page: str) -> None:
        """Give control back; what was held is let go."""
        with self._lock:
            if self.holder == page:
                self.holder = None
                self._publish(np.zeros(0))
                self._put(Command(Kind.LET_GO))

    def send(self, page: str | None, command: Command) -> bool:
        """Pass a command on. Whoever watches may stop all in an emergency; the rest is for the page in control."""
        with self._lock:
            if command.kind != Kind.STOP and (page is None or page != self.holder):
                return False
            return self._put(command)

    def held(self, page: str, keys: set[str], sticks: list[float], buttons: list[float]) -> None:
        """What a page's operator holds now: also the sign that somebody is there."""
        with self._lock:
            if page != self.holder:
                return
            self._heard = self._clock()
            axes = () if self._mapping is None else self._mapping.axes
            self._publish(np.array([axis.value(keys, sticks, buttons) for axis in axes]))

    def _publish(self, axes: np.ndarray) -> None:
        packet = self._channel.operator.begin()
        packet["stamp"] = self._clock()
        packet["axes"][:] = 0.0
        packet["axes"][: len(axes)] = axes
        self._channel.operator.publish()

    def _put(self, command: Command) -> bool:
        room = self._channel.commands.put(command)
        self.dropped += not room
        return room
