"""Snapshot of a simulation, in memory or in a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sharnir.checks import number
from sharnir.errors import ModelError, fail, one_line, shown
from sharnir.impulse.data import LATER_ARRAYS
from sharnir.impulse.slots import CONTACT_KEY_SIZE, ContactKey
from sharnir.model.model import check_index
from sharnir.regular_files import name_of, read_file
from sharnir.sensors.samples import SENSOR_PREFIX
from sharnir.simulation.npz_file import MAX_BYTES, read_arrays
from sharnir.simulation.state_names import FORMAT, with_present_names

KEYS = "prev_contact_keys"
WRITTEN = "what Saved.write wrote"
HEADER_FIELDS = ("solver", "model", "dt", "since", "steps")


@dataclass(frozen=True, kw_only=True)
class Saved:
    """What a continuation needs, bit for bit."""

    solver: str
    model: str  # its fingerprint
    dt: float  # s
    since: float  # s, from which steps are counted
    steps: int  # that were counted
    arrays: dict[str, Any]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state | {"arrays": with_present_names(state["arrays"])})  # pickles may be of format 1

    @property
    def time(self) -> float:
        """s, simulated so far."""
        return self.since + self.steps * self.dt

    def check(self, solver: str, model: str, shapes: dict[str, tuple[int, ...]]) -> None:
        """Whether a simulation whose arrays have these shapes can continue from this."""
        where = "saved state"
        number(where, "time", self.since)
        number(where, "dt", self.dt, above=0)
        check_index(where, "steps", self.steps, 2**53, "steps")
        if self.solver != solver:
            raise fail(where, "belongs to another solver", repr(self.solver), repr(solver))
        if self.model != model:
            raise fail(where, "belongs to another model", self.model, model)
        there = {name for name in self.arrays if not name.startswith(SENSOR_PREFIX)}
        if there - set(shapes) or set(shapes) - there - set(LATER_ARRAYS):
            raise fail(where, "is not complete", ", ".join(self.arrays), ", ".join(shapes))
        for name, values in self.arrays.items():
            if not name.startswith(SENSOR_PREFIX) and shapes[name] != np.shape(values):
                raise fail(where, f"{name} has the wrong shape", list(np.shape(values)), str(shapes[name]))
            if np.asarray(values).dtype.kind != ("i" if name == KEYS else "f"):
                raise fail(where, f"{name} holds something else", str(np.asarray(values).dtype), "numbers")
            if not np.isfinite(values).all():
                raise fail(where, f"{name} is not finite", "NaN or inf", "finite numbers")
        keys = np.asarray(self.arrays[KEYS])
        counts, room = keys[ContactKey.COUNT], (len(keys) - 1) // CONTACT_KEY_SIZE
        if not ((counts >= 0) & (counts <= room)).all():  # kernels read so many contacts
            raise fail(where, "has contacts without room", counts.tolist(), f"at most {room} contacts")

    def write(self, path: str | Path) -> None:
        """To a file (.npz)."""
        facts = {name: getattr(self, name) for name in HEADER_FIELDS}
        try:
            with open(path, "wb") as file:
                values: dict[str, Any] = {f"fact_{k}": np.array(v) for k, v in (facts | {"format": FORMAT}).items()}
                np.savez(file, **values, **self.arrays)
        except (OSError, ValueError) as error:  # ValueError: a zero byte in the path
            raise fail(f"file {name_of(path)}", "cannot be written", str(error), "a writable file") from None

    @staticmethod
    def read(path: str | Path) -> Saved:
        """From a file that `write` wrote, of this version or one before."""
        if not isinstance(path, (str, Path)):
            raise fail("saved state", "not a path", shown(path), "text or a Path")
        data = read_file(path, MAX_BYTES, "file", WRITTEN)
        try:
            values = read_arrays(data)
            facts = {k: values.pop(f"fact_{k}").item() for k in HEADER_FIELDS}
            present = values.pop("fact_format", np.array(1)).item()
            if present not in range(1, FORMAT + 1):
                raise ValueError(f"format {shown(present)} is unknown")
            if not isinstance(facts["solver"], str) or not isinstance(facts["model"], str):
                raise ValueError("its solver and model are no text")
        except (ValueError, KeyError) as error:
            reason = f"not a saved state: {one_line(str(error))}"
            raise ModelError(f"file {name_of(path)}: {reason}; allowed: {WRITTEN}") from None
        return Saved(arrays=with_present_names(values), **facts)
