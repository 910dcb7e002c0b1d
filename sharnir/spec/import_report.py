"""What an import could not carry over: one entry per element, with a reason that is true."""

from __future__ import annotations

from typing import NamedTuple

from sharnir.errors import ModelFileError

LOST = "lost"  # it moves, drives, holds or touches something, and the scene does not have it
CHANGED = "changed"  # the scene has it in another form, and may move a little differently
UNSEEN = "unseen"  # no motion depends on it


class Omission(NamedTuple):
    """Something of a file that the scene does not have, or has in another form."""

    element: str  # the kind, as the file calls it: "tendon", "actuator", "geom", …
    name: str  # its name, or a description where it has none
    reason: str  # why, and what became of it
    effect: str = LOST  # LOST, CHANGED or UNSEEN

    def __str__(self) -> str:
        return f"{self.element} {self.name!r}: {self.reason}"


class ImportReport(list[Omission]):
    """The omissions of one import, in the order in which they were met. file: what was imported."""

    file = ""

    def add(self, element: str, name: str, reason: str, effect: str = LOST) -> None:
        """Note an omission."""
        self.append(Omission(element, name, reason, effect))

    @property
    def lost(self) -> list[Omission]:
        """What would move, drive, hold or touch, and is not there."""
        return [entry for entry in self if entry.effect == LOST]

    def check(self) -> None:
        """Raise for all that motion depends on, in one sentence."""
        wrong = [str(entry) for entry in self if entry.effect != UNSEEN]
        if wrong:
            shown = "; ".join(wrong[:5]) + (f"; and {len(wrong) - 5} more" if len(wrong) > 5 else "")
            raise ModelFileError(self.file, f"cannot be represented as it is: {shown}", "strict=False")
