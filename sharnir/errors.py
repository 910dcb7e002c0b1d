"""What sharnir raises. Every message is one sentence a person can act on."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

LONGEST = 120  # characters of a value shown in a message


class SharnirError(Exception):
    """Base of all errors raised on purpose by sharnir."""


class ModelError(SharnirError, ValueError):
    """Input that cannot be simulated: names the element, the value given and what is allowed."""


class SimulationError(SharnirError, RuntimeError):
    """A run that cannot go on: names the time, the place and the reason.

    trajectory: what was recorded until then, a sharnir.Trajectory, or None.
    """

    trajectory: Any = None


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


def unknown(kind: str, name: object, known: Iterable[str]) -> ModelError:
    """An unknown name, answered with the nearest one and those that exist."""
    names = list(known)
    lower = {n.lower(): n for n in reversed(names)}
    near = difflib.get_close_matches(str(name).lower(), list(lower), n=1, cutoff=0.5)
    hint = f"; did you mean {lower[near[0]]!r}?" if near else "."
    listed = ", ".join(" ".join(n.split()) for n in names[:20]) + (", …" if len(names) > 20 else "")
    return ModelError(f"unknown {kind} {shown(name)}{hint} Known: {listed or 'none'}")
