"""What sharnir raises and warns of. Every message is one sentence a person can act on."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

LONGEST = 120  # characters of a value shown in a message


class SharnirError(Exception):
    """Base of all errors raised on purpose by sharnir."""


class ModelError(SharnirError, ValueError):
    """Input that cannot be simulated: names the element, the value given and what is allowed."""


class ModelFileError(ModelError):
    """A model file that is not loaded: where it is wrong, why, and what would be right.

    file: path as it was given or referred to. line: from 1, None where unknown. element, name: the tag and its name,
    empty where the file as a whole is meant. owner: the nearest element around it with a name, if it has none itself.
    reason, allowed: the two halves of the sentence.
    """

    def __init__(
        self,
        file: str,
        reason: str,
        allowed: str,
        line: int | None = None,
        element: str = "",
        name: str = "",
        owner: str = "",
    ) -> None:
        self.file, self.line, self.element, self.name, self.owner = file, line, element, name, owner
        self.reason, self.allowed = reason, allowed
        place = f"{one_line(file)}:{line}" if line else one_line(file)
        what = f"{element} {shown(name)}" if name else f"{element} of {owner}" if owner else element
        super().__init__(
            ": ".join(t for t in (place, one_line(what), one_line(reason)) if t)
            + (f"; allowed: {allowed}" if allowed else "")
        )


class SimulationError(SharnirError, RuntimeError):
    """A run that cannot go on: names the time, the place and the reason.

    trajectory: what was recorded until then, a sharnir.Trajectory, or None.
    """

    trajectory: Any = None


class SimulationWarning(UserWarning):
    """Steps that were taken and are not right; once per run and kind. kind: a name of `sharnir.Report.warnings`."""

    def __init__(self, message: str, kind: str = "") -> None:
        self.kind = kind
        super().__init__(message)


class RecordingError(SharnirError, RuntimeError):
    """A recording that cannot be written on, or a file that is none: names the file and the reason."""


def one_line(text: str) -> str:
    """Text from a file as it stands in a message: printable, on one line and not too long."""
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= 4 * LONGEST else text[: 4 * LONGEST - 1] + "…"


def shown(value: object) -> str:
    """A value as it stands in a message: on one line and not too long."""
    try:
        text = repr(value)
    except ValueError:
        text = "an integer of thousands of digits"
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def described(value: object) -> str:
    """A thing of the wrong kind: its type and value."""
    return f"{type(value).__name__} {shown(value)}"


def fail(element: str, problem: str, given: object, allowed: str) -> ModelError:
    """Build the one sentence: `element: problem: given ..., allowed ...`. Text is shown as it is, values by repr."""
    return ModelError(
        f"{element}: {problem}: given {given if isinstance(given, str) else shown(given)}; allowed: {allowed}"
    )


def of_file(error: ModelError, file: str) -> ModelFileError:
    """The error of a model that was made of a file, with the file in front."""
    if isinstance(error, ModelFileError):
        return error
    reason, _, allowed = str(error).partition("; allowed: ")
    return ModelFileError(file, reason, allowed)


def unknown(kind: str, name: object, known: Iterable[str]) -> ModelError:
    """An unknown name, answered with the nearest one and those that exist."""
    names = list(known)
    listed = ", ".join(" ".join(n.split()) for n in names[:20]) + (", …" if len(names) > 20 else "")
    return ModelError(f"unknown {kind} {shown(name)}{nearest(name, names)} Known: {listed or 'none'}")


def nearest(name: object, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown name: the nearest of those that exist, if there is one."""
    lower = {n.lower(): n for n in reversed(list(known))}
    near = difflib.get_close_matches(str(name).lower(), list(lower), n=1, cutoff=0.5)
    return f"; did you mean {lower[near[0]]!r}?" if near else "."
