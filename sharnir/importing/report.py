"""What an import could not carry over: one entry per element, with a reason that is true."""

from __future__ import annotations

from typing import NamedTuple

from sharnir.errors import ModelError


class Omission(NamedTuple):
    """Something of a file that the scene does not have, or has in another form."""

    element: str  # the kind, as the file calls it: "tendon", "actuator", "geom", …
    name: str  # its name, or a description where it has none
    reason: str  # why, and what became of it
    dynamics: bool = True  # whether motion may differ for it

    def __str__(self) -> str:
        return f"{self.element} {self.name!r}: {self.reason}"


class ImportReport(list[Omission]):
    """The omissions of one import, in the order in which they were met."""

    def add(self, element: str, name: str, reason: str, *, dynamics: bool = True) -> None:
        """Note an omission."""
        self.append(Omission(element, name, reason, dynamics))

    @property
    def complete(self) -> bool:
        """Whether nothing that moves, drives, holds or touches was lost."""
        return not any(entry.dynamics for entry in self)

    def check(self, path: str) -> None:
        """Raise for what was lost of the dynamics, all of it in one sentence."""
        lost = [str(entry) for entry in self if entry.dynamics]
        if lost:
            shown = "; ".join(lost[:5]) + (f"; and {len(lost) - 5} more" if len(lost) > 5 else "")
            raise ModelError(f"{path}: cannot be represented without loss: {shown}; allowed: strict=False")
