"""States of a scene that have a name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sharnir.spec.elements import Element, Vector


@dataclass(kw_only=True)
class Keyframe(Element):
    """A state to start from, with `Scene.at`.

    joints: names. positions, velocities: of each of them, their coordinates as a joint's `position` and `velocity`.
    inputs: of the scene's actuators, then its DC motors, in their order; left out, as they are.
    """

    name: str
    joints: Sequence[str]
    positions: Sequence[Vector]
    velocities: Sequence[Vector]
    inputs: Vector | None = None
