"""Events of a run, from what its steps left: contacts and limits that begin and end, steps over budget or not right."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sharnir.impulse.row_kinds import CONTACT_IMPULSES
from sharnir.impulse.slots import CONTACT_KEY_SIZE, ContactKey
from sharnir.recording.channels import Event


class Watch:
    """Compares each step with the one before.

    shape_bodies: name of the body of every shape. limits: name of a joint and the place of the impulse of its limit.
    Two bodies are in contact in a step in which an impulse acts between them; a limit is reached where it has one.
    """

    def __init__(self, shape_bodies: list[str], limits: list[tuple[str, int]]) -> None:
        self._bodies = shape_bodies
        self._limit_names = [name for name, _ in limits]
        self._limit_places = np.array([place for _, place in limits], dtype=int)
        self._held = np.zeros(len(limits), dtype=bool)
        self._pairs = b""
        self._touching: set[str] = set()
        self._over = False
        self._not_right: set[str] = set()

    def step(self, t: float, p: NDArray[Any], contacts: dict[str, NDArray[Any]], over: bool) -> Iterator[Event]:
        """What changed in a step that ended at t. p: impulses; contacts: arrays of a capture; over: its budget."""
        codes = contacts["prev_contact_keys"][ContactKey.PAIR :: CONTACT_KEY_SIZE]
        impulses = contacts["prev_contact_impulse"].reshape(-1, CONTACT_IMPULSES)
        loaded = codes[impulses.any(axis=1)] if len(codes) else codes
        if loaded.tobytes() != self._pairs:
            self._pairs = loaded.tobytes()
            yield from self._changes(t, "contact", self._touching, now := self._named(loaded))
            self._touching = now
        held = p[self._limit_places] != 0 if len(self._limit_names) else self._held
        if (held != self._held).any():
            before, after = ({self._limit_names[k] for k in np.flatnonzero(x)} for x in (self._held, held))
            yield from self._changes(t, "limit", before, after)
            self._held = held
        if over != self._over:
            self._over = over
            yield Event(t, "overrun", "time budget", over)

    def warnings(self, t: float, kinds: set[str]) -> Iterator[Event]:
        """The kinds in which a step that ended at t was not right, where they are others than those of the last."""
        if kinds != self._not_right:
            yield from self._changes(t, "warning", self._not_right, kinds)
            self._not_right = kinds

    def _named(self, codes: NDArray[Any]) -> set[str]:
        count = len(self._bodies)
        pairs = (sorted(self._bodies[s] for s in divmod(code, count)) for code in np.unique(codes).tolist())
        return {f"{a} – {b}" for a, b in pairs}

    @staticmethod
    def _changes(t: float, kind: str, before: set[str], after: set[str]) -> Iterator[Event]:
        for what in sorted(before - after):
            yield Event(t, kind, what, False)
        for what in sorted(after - before):
            yield Event(t, kind, what, True)
