"""Snapshot of a simulation, in memory or in a file."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sharnir.errors import ModelError, fail
from sharnir.sensors.samples import SENSOR_PREFIX
from sharnir.simulation.state_names import FORMAT, with_present_names

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

    def completed(self, added: dict[str, Any]) -> Saved:
        """With arrays that a version before did not have."""
        return replace(self, arrays=added | self.arrays)

    def check(self, solver: str, model: str, shapes: dict[str, tuple[int, ...]]) -> None:
        """Whether a simulation whose arrays have these shapes can continue from this."""
        where = "saved state"
        if self.solver != solver:
            raise fail(where, "belongs to another solver", repr(self.solver), repr(solver))
        if self.model != model:
            raise fail(where, "belongs to another model", self.model, model)
        if {name for name in self.arrays if not name.startswith(SENSOR_PREFIX)} != set(shapes):
            raise fail(where, "is not complete", ", ".join(self.arrays), ", ".join(shapes))
        for name, values in self.arrays.items():
            if not name.startswith(SENSOR_PREFIX) and shapes[name] != np.shape(values):
                raise fail(where, f"{name} has the wrong shape", list(np.shape(values)), str(shapes[name]))
            if not np.isfinite(values).all():
                raise fail(where, f"{name} is not finite", "NaN or inf", "finite numbers")

    def write(self, path: str | Path) -> None:
        """To a file (.npz)."""
        facts = {name: getattr(self, name) for name in HEADER_FIELDS}
        try:
            with open(path, "wb") as file:
                values: dict[str, Any] = {f"fact_{k}": np.array(v) for k, v in (facts | {"format": FORMAT}).items()}
                np.savez(file, **values, **self.arrays)
        except OSError as error:
            raise fail(f"file {path}", "cannot be written", str(error), "a writable file") from None

    @staticmethod
    def read(path: str | Path) -> Saved:
        """From a file that `write` wrote, of this version or one before."""
        try:
            with np.load(path, allow_pickle=False) as file:
                values = {name: file[name] for name in file.files}
            facts = {k: values.pop(f"fact_{k}").item() for k in HEADER_FIELDS}
            present = values.pop("fact_format", np.array(1)).item()
            if present not in range(1, FORMAT + 1):
                raise ValueError(f"format {present!r} is unknown")
        except (OSError, ValueError, KeyError, zipfile.BadZipFile, EOFError) as error:
            raise ModelError(f"file {path}: not a saved state: {error}; allowed: what Saved.write wrote") from None
        return Saved(arrays=with_present_names(values), **facts)
