"""Memory that a simulation and its viewer share: frames one way, commands and the operator's input the other.

Nobody waits. A frame is written to one of three slots that is not the latest and then made the latest; a reader that
was overtaken sees it by the sequence number and reads again. Commands go through a ring with room for RING of them;
where it is full they are dropped. The operator's input is one more frame, of which only the latest counts. Each has one
writer and one reader.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sharnir.viewer.commands import Command, Kind

SLOTS = 3
RING = 256
TEXT = 400  # bytes of a sentence
AXES = 32  # what an operator can steer at once
ATTEMPTS = 8  # to read a frame that is being overtaken
COMMAND = np.dtype([("kind", "i4"), ("index", "i4"), ("values", "f8", 6)])
INPUT = np.dtype([("stamp", "f8"), ("axes", "f8", AXES)])  # stamp: s, of the clock all processes share


class Sizes(NamedTuple):
    """How much of what a frame holds."""

    bodies: int
    coordinates: int  # that are read out
    motors: int
    actuators: int
    contacts: int


def frame_type(sizes: Sizes) -> np.dtype[Any]:
    """A moment as the viewer sees it: what moves, how the solver fares, and what the simulation has been told."""
    plain = ["time", "dt", "budget", "speed", "factor", "seconds", "iterations", "kinetic", "potential", "error"]
    counts = ["solver", "running", "stopped", "alive", "saved", "refused", "overruns", "warnings", "contacts", "pulled"]
    arrays: list[Any] = [
        ("position", "f8", (sizes.bodies, 3)), ("rotation", "f8", (sizes.bodies, 3, 3)),
        ("q", "f8", sizes.coordinates), ("v", "f8", sizes.coordinates), ("control", "f8", sizes.coordinates),
        ("target", "f8", sizes.motors), ("motor_force", "f8", sizes.motors),
        ("input", "f8", sizes.actuators), ("actuator_force", "f8", sizes.actuators),
        ("pair", "i4", (sizes.contacts, 2)), ("point", "f8", (sizes.contacts, 3)), ("force", "f8", (sizes.contacts, 3)),
        ("pull", "f8", (2, 3)), ("axes", "f8", AXES), ("text", f"S{TEXT}"),
    ]  # fmt: skip
    return np.dtype([(n, "f8") for n in plain] + [(n, "i4") for n in counts] + arrays, align=True)


def shared_file(size: int) -> Any:
    """A file without a name, in memory where the system has such a place: nothing stays when its processes end."""
    memory = Path("/dev/shm")
    file = tempfile.TemporaryFile(dir=memory if os.access(memory, os.W_OK) else None)  # noqa: SIM115
    file.truncate(size)
    return file


class Latest:
    """Frames of which only the latest counts."""

    def __init__(self, kind: np.dtype[Any], memory: mmap.mmap, offset: int) -> None:
        self._kind = kind
        self._latest = np.frombuffer(memory, "i8", 1, offset)
        self._numbers = np.frombuffer(memory, "i8", 2 * SLOTS, offset + 64).reshape(SLOTS, 2)
        self._frames = np.frombuffer(memory, kind, SLOTS, offset + 128)
        self._count = 0

    @staticmethod
    def size(kind: np.dtype[Any]) -> int:
        return 128 + -(-SLOTS * kind.itemsize // 64) * 64

    def begin(self) -> Any:
        """A slot to fill, which nobody is told to read until `publish`."""
        self._count += 1
        slot = self._count % SLOTS
        self._numbers[slot, 0] = self._count
        return self._frames[slot]

    def publish(self) -> None:
        """Make what was filled the latest."""
        self._numbers[self._count % SLOTS, 1] = self._count
        self._latest[0] = self._count

    def number(self) -> int:
        """Of the latest frame; 0 before the first."""
        return int(self._latest[0])

    def read(self) -> Any:
        """A copy of the latest frame, whole; None where there is none yet, or where each was overtaken."""
        for _ in range(ATTEMPTS):
            number = self.number()
            slot = number % SLOTS
            if number == 0:
                return None
            if self._numbers[slot, 1] == number:
                copy = self._frames[slot].copy()
                if self._numbers[slot, 0] == number:
                    return copy
        return None


class Ring:
    """Commands on their way."""

    def __init__(self, memory: mmap.mmap, offset: int) -> None:
        self._ends = np.frombuffer(memory, "i8", 16, offset)  # [0]: put so far, [8]: taken so far
        self._places = np.frombuffer(memory, COMMAND, RING, offset + 128)

    @staticmethod
    def size() -> int:
        return 128 + RING * COMMAND.itemsize

    def put(self, command: Command) -> bool:
        """Send a command; False where there is no room."""
        put, taken = int(self._ends[0]), int(self._ends[8])
        if put - taken >= RING:
            return False
        place = self._places[put % RING]
        place["kind"], place["index"] = command.kind, command.of
        place["values"][:] = 0.0
        place["values"][: len(command.values)] = command.values
        self._ends[0] = put + 1
        return True

    def take(self) -> list[tuple[int, int, tuple[float, ...]]]:
        """All that came, unjudged; at most RING."""
        put, taken = int(self._ends[0]), int(self._ends[8])
        count = min(max(put - taken, 0), RING)
        places = [self._places[(taken + k) % RING] for k in range(count)]
        out = [(int(p["kind"]), int(p["index"]), tuple(p["values"].tolist())) for p in places]
        self._ends[8] = taken + count
        return out


class Channel:
    """All of it. file: a descriptor of the shared file, or None to make one."""

    def __init__(self, sizes: Sizes, file: int | None = None) -> None:
        kind = frame_type(sizes)
        parts = [Latest.size(kind), Ring.size(), Latest.size(INPUT)]
        self.file = shared_file(sum(parts)) if file is None else os.fdopen(file, "r+b")
        memory = mmap.mmap(self.file.fileno(), sum(parts))
        self.frames = Latest(kind, memory, 0)
        self.commands = Ring(memory, parts[0])
        self.operator = Latest(INPUT, memory, parts[0] + parts[1])

    def close(self) -> None:
        """Close the file; what is mapped of it stays."""
        self.file.close()


__all__ = ["Channel", "Kind", "Latest", "Ring", "Sizes"]
