"""What sharnir raises. Every message is one sentence a person can act on."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class SharnirError(Exception):
    """Base of all errors raised on purpose by sharnir."""


class ModelError(SharnirError, ValueError):
    """Input that cannot be simulated: names the element, the value given and what is allowed."""


class SimulationError(SharnirError, RuntimeError):
    """A run that cannot go on: names the time, the place and the reason."""


def fail(element: str, problem: str, given: object, allowed: str) -> ModelError:
    """Build the one sentence: `element: problem: given ..., allowed ...`."""
    return ModelError(f"{element}: {problem}: given {given}; allowed: {allowed}")


def unknown(kind: str, name: object, known: Iterable[str]) -> ModelError:
    """An unknown name, answered with the nearest one and those that exist."""
    names = list(known)
    near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    shown = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
    return ModelError(f"unknown {kind} {name!r}{hint} Known: {shown or 'none'}")
