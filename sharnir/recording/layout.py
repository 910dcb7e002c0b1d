"""Where the arrays of a capture are among its bytes, and their hash. Knows nothing of a simulation."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sharnir.impulse.data import LATER_ARRAYS
from sharnir.impulse.slots import PrevStep
from sharnir.recording.header import FIRST, parsed
from sharnir.simulation.state_names import FORMAT_1

# inputs of joints, bodies, motors, actuators, brakes: as a step of a recording names them, as the engine's state does
INPUTS = {
    "control": "control",
    "applied": "f_ext",
    "target": "motor_target",
    "input": "actuator_input",
    "brake": "actuator_brake",
}
CONTACT_ARRAYS = (
    "prev_contact_keys", "prev_contact_impulse", "prev_contact_geometry", "prev_contact_chord", "prev_contact_impact",
)  # fmt: skip
SEEN = ("v", "loop_v", "position", "rotation", "velocity", "energy")
STEADY = slice(PrevStep.TICKS_TAIL), slice(PrevStep.TICKS_LEFT + 1, None)  # of `prev_step`: between are machine ticks
ALIGNED = 8  # numbers: arrays that lie behind each other start at multiples
BETWEEN = "before "  # prefix of the names of parts that fill up to these
REPORT, FIRST_REPORT = "report", 12  # what a step reports, and how many numbers that were in format 1


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
    """Where the arrays of a capture are: report, inputs, `prev_step`, state; contacts, as many as there are; what is
    seen of the state, where it is. `prev_contact_keys` has one number more than those of the contacts: how many there
    are."""

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
        return int(self.places["prev_step"].start)

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
        """What is known of the contacts, [contacts · size]; the keys with their number in front."""
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
        """64 bits of BLAKE2b of the inputs and the state after a step; ticks of the machine are left out."""
        prev_step, rest = self.array(data, "prev_step"), self.places["prev_step"].stop
        digest = hashlib.blake2b(data[self.places["report"].stop : self.state_at], digest_size=8)
        for part in STEADY:
            digest.update(prev_step[part].tobytes())
        digest.update(data[rest : self.size(contacts)])
        return int.from_bytes(digest.digest(), "little")

    def without(self, data: Any, names: set[str]) -> tuple[Layout, bytes]:
        """The layout and the bytes of a capture without some of the fixed arrays, with what is before them."""
        parts = [p for p in self.fixed if p.name.removeprefix(BETWEEN) not in names]
        kept = [data[self.places[p.name]] for p in parts]
        return Layout(tuple(parts), self.contacts, self.seen), b"".join([*kept, data[self.head :]])

    def text(self) -> str:
        """Names, types and sizes of the arrays of a capture, as a file says them."""
        return json.dumps([[[p.name, p.dtype, p.size] for p in parts] for parts in (self.fixed, self.contacts)])


def aligned(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Parts that lie behind each other, with what is between them."""
    out: list[Part] = []
    for part in parts:
        between = -sum(p.size for p in out) % ALIGNED if part.size else 0
        out += [Part(BETWEEN + part.name, part.dtype, between), part]
    return tuple(out)


def layout_of_file(facts: dict[str, str], present: Layout) -> Layout:
    """The layout of the snapshots of a recording with this header; ValueError where a simulation whose captures have
    the layout `present` has other arrays."""
    known = {p.name: p for p in (*present.fixed, *present.contacts)}
    if facts["format"] == FIRST:
        names = list(FORMAT_1.values())
        arrays = [known[name] for name in names if name not in CONTACT_ARRAYS]
        report = replace(known[REPORT], size=FIRST_REPORT)
        return Layout((report, *aligned(arrays)), tuple(known[n] for n in names if n in CONTACT_ARRAYS), ())
    read = parsed(facts["layout"])
    if not isinstance(read, list) or [isinstance(parts, list) for parts in read] != [True, True]:
        raise ValueError("its layout is none")
    fixed, contacts = (tuple(_part(p, known) for p in parts) for parts in read)
    for mine, its in ((present.fixed, fixed), (present.contacts, contacts)):
        if sorted(n for n in _named(mine) if n not in LATER_ARRAYS or n in _named(its)) != sorted(_named(its)):
            raise ValueError(f"its states have the arrays {', '.join(_named(its))}, here {', '.join(_named(mine))}")
    if contacts[0] != present.contacts[0]:
        raise ValueError("its layout has no number of contacts")
    return Layout(fixed, contacts, ())


def _named(parts: Iterable[Part]) -> list[str]:
    return [p.name for p in parts if not p.name.startswith(BETWEEN)]


def _part(read: Any, known: dict[str, Part]) -> Part:
    """An array as a file says it, the same as here, or what fills up before one."""
    if not isinstance(read, list) or [type(x) for x in read] != [str, str, int]:
        raise ValueError("its layout is none")
    part = Part(*read)
    array = known.get(part.name.removeprefix(BETWEEN))
    if array is None or part.dtype != array.dtype:
        raise ValueError(f"its states have an array {part.name!r} of type {part.dtype!r}")
    fills_up = part.name.startswith(BETWEEN) and 0 <= part.size < ALIGNED
    is_report = part.name == REPORT and 0 <= part.size <= array.size  # no state: steps reported less before
    if part != array and not fills_up and not is_report:
        raise ValueError(f"its array {part.name!r} has {part.size} numbers, here {array.size}")
    return part
