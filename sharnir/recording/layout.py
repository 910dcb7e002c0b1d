"""Where the arrays of a capture are among its bytes, and their hash. Knows nothing of a simulation."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

INPUTS = ("control", "applied", "target", "input", "brake")  # of joints, bodies, motors, actuators, their brakes
CONTACT_ARRAYS = ("touched", "touched_p", "touched_at", "touched_bent")
SEEN = ("v", "loop_v", "position", "rotation", "velocity", "energy")
STEADY = slice(2), slice(4, None)  # of the clock: the rest is ticks of this machine


@dataclass(frozen=True)
class Part:
    """An array of a capture. size: its items; of contacts, those of each contact."""

    name: str
    dtype: str
    size: int

    @property
    def bytes(self) -> int:
        """How many it takes."""
        return np.dtype(self.dtype).itemsize * self.size


@dataclass(frozen=True)
class Layout:
    """Where the arrays of a capture are: report, inputs, clock, state; contacts, as many as there are; what is
    seen of the state, where it is. `touched` has one number more than those of the contacts: how many there are."""

    fixed: tuple[Part, ...]
    contacts: tuple[Part, ...]
    seen: tuple[Part, ...]

    @cached_property
    def places(self) -> dict[str, slice]:
        """Bytes of the fixed arrays."""
        ends = np.cumsum([p.bytes for p in self.fixed]).tolist()
        return {p.name: slice(end - p.bytes, end) for p, end in zip(self.fixed, ends, strict=True)}

    @cached_property
    def dtypes(self) -> dict[str, Any]:
        """Of the fixed arrays."""
        return {p.name: np.dtype(p.dtype) for p in self.fixed}

    @cached_property
    def head(self) -> int:
        """Bytes of the fixed arrays together."""
        return sum(p.bytes for p in self.fixed)

    @cached_property
    def least(self) -> int:
        """Bytes of a capture without contacts: their number is there."""
        return self.head + np.dtype(self.contacts[0].dtype).itemsize

    @cached_property
    def state_at(self) -> int:
        """Where the inputs end, and all that evolves starts."""
        return int(self.places["clock"].start)

    @cached_property
    def each(self) -> int:
        """Bytes of a contact."""
        return sum(p.bytes for p in self.contacts)

    @cached_property
    def seen_bytes(self) -> int:
        """Of what is seen of a state."""
        return sum(p.bytes for p in self.seen)

    def size(self, contacts: int) -> int:
        """Bytes of a capture, without what is seen."""
        return self.least + contacts * self.each

    def array(self, data: Any, name: str) -> NDArray[Any]:
        """A fixed array of a capture."""
        return np.frombuffer(data[self.places[name]], self.dtypes[name])

    def contact_arrays(self, data: Any, contacts: int) -> dict[str, NDArray[Any]]:
        """What is known of the contacts, [contacts · size]; `touched` with their number in front."""
        out, at = {}, self.head
        for k, part in enumerate(self.contacts):
            dtype, count = np.dtype(part.dtype), contacts * part.size + (k == 0)
            out[part.name] = np.frombuffer(data[at : at + count * dtype.itemsize], dtype)
            at += count * dtype.itemsize
        return out

    def seen_arrays(self, data: Any, contacts: int) -> dict[str, NDArray[Any]]:
        """What was seen of the state."""
        out, at = {}, self.size(contacts)
        for part in self.seen:
            out[part.name] = np.frombuffer(data[at : at + part.bytes], np.dtype(part.dtype))
            at += part.bytes
        return out

    def hash(self, data: Any, contacts: int) -> int:
        """64 bits of BLAKE2b of the inputs and the state after a step; ticks of the clock are left out."""
        clock, rest = self.array(data, "clock"), self.places["clock"].stop
        digest = hashlib.blake2b(data[self.places["report"].stop : self.state_at], digest_size=8)
        for part in STEADY:
            digest.update(clock[part].tobytes())
        digest.update(data[rest : self.size(contacts)])
        return int.from_bytes(digest.digest(), "little")
