"""What is taken of a simulation at every step: its inputs and all that evolves, as bytes."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sharnir.impulse.data import EVOLVES, LATER_ARRAYS
from sharnir.impulse.slots import REPORT_SIZE, ContactKey
from sharnir.recording.layout import CONTACT_ARRAYS, INPUTS, SEEN, Layout, Part, aligned

if TYPE_CHECKING:
    from sharnir.simulation.simulation import Simulation

Arrays = dict[str, NDArray[Any]]


class Capture:
    """Takes all that a simulation's next step depends on, and what its last one reported; of one world on the CPU.

    Arrays stay where they are while a simulation lives, so their memory is looked up once.
    """

    def __init__(self, sim: Simulation) -> None:
        state = sim.impulses.state
        report: Arrays = {"report": state.history.numpy()[:REPORT_SIZE]}
        first = (*INPUTS.values(), "prev_step")
        names = (*first, *(name for name in EVOLVES if name not in (*CONTACT_ARRAYS, *first)))
        evolving: Arrays = {name: getattr(state, name).numpy() for name in names}
        contacts: Arrays = {name: getattr(state, name).numpy() for name in CONTACT_ARRAYS}
        contacts = {name: x for name, x in contacts.items() if x.size or name not in LATER_ARRAYS}
        seen: Arrays = {name: sim.impulses.observations[name].numpy() for name in SEEN}
        room = sim.impulses.layout.max_contacts
        each = {name: (len(x) - (k == 0)) // room if room else 0 for k, (name, x) in enumerate(contacts.items())}
        self.layout = Layout(
            (*parts_of(report), *aligned(parts_of(evolving))),
            tuple(Part(name, x.dtype.str, each[name]) for name, x in contacts.items()),
            parts_of(seen),
        )
        self.most = self.layout.size(room) + self.layout.seen_bytes
        block = memory_together(evolving)
        start = evolving["prev_step"].ctypes.data - next(x for x in evolving.values() if x.size).ctypes.data
        self._inputs = [*map(memory, report.values()), block[:start]]
        self._evolving = block[start:]
        self._contacts = [(memory(contacts[part.name]), part.bytes) for part in self.layout.contacts]
        self._seen = [memory(x) for x in seen.values()]
        self._keys = memory(contacts["prev_contact_keys"]).cast("i")

    def contacts(self) -> int:
        """How many contacts there were in the last step."""
        return self._keys[ContactKey.COUNT]

    def inputs(self) -> bytes:
        """The first part of a capture: the report of the last step, and what goes into the next one."""
        return b"".join(self._inputs)

    def state(self, contacts: int) -> bytes:
        """The second part, with so many contacts: what only steps may change."""
        ints, each = self._contacts[0]
        if contacts == 0:
            return b"".join((self._evolving, ints[:4]))
        touched = [x[: contacts * n] for x, n in self._contacts[1:]]
        return b"".join([self._evolving, ints[: 4 + contacts * each], *touched])

    def seen(self) -> bytes:
        """The last part, where it is wanted: what is seen of the state."""
        return b"".join(self._seen)


def memory(array: NDArray[Any]) -> memoryview:
    """The bytes of an array, as they are at any time."""
    return array.reshape(-1).view(np.uint8).data


def memory_together(arrays: Arrays) -> memoryview:
    """The same of arrays that lie behind each other (`allocate_contiguous`), with what is between them."""
    there = [array for array in arrays.values() if array.size]
    size = there[-1].ctypes.data + there[-1].nbytes - there[0].ctypes.data
    assert size == sum(part.bytes for part in aligned(parts_of(arrays)))
    return memoryview((ctypes.c_uint8 * size).from_address(there[0].ctypes.data)).cast("B")


def parts_of(arrays: Arrays) -> tuple[Part, ...]:
    """What a capture has of some arrays."""
    return tuple(Part(name, array.dtype.str, array.size) for name, array in arrays.items())


def saved_arrays(sim: Simulation, layout: Layout, data: Any, contacts: int) -> Arrays:
    """What `Saved` holds, from a capture of that layout; contacts that are not there are zero."""
    present = sim.impulses.saved()
    flat = {part.name: layout.array(data, part.name) for part in layout.fixed}
    flat |= layout.contact_arrays(data, contacts)
    out = {}
    for name, array in present.items():
        values = np.zeros(array.size, array.dtype)
        if name in flat:
            values[: flat[name].size] = flat[name].reshape(-1)
        out[name] = values.reshape(array.shape)
    return out
