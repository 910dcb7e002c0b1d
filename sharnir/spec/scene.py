"""The scene: what a person writes, saves and loads."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from sharnir.errors import ModelError
from sharnir.spec.elements import Body, Spring, Vector, plain
from sharnir.spec.joints import Joint

E = TypeVar("E", Body, Joint, Spring)

WORLD = "world"


@dataclass(kw_only=True)
class Scene:
    """Bodies, joints and springs under gravity (m/s²). Bodies without a joint to anything float freely."""

    name: str = "scene"
    gravity: Vector = (0.0, 0.0, -9.81)
    bodies: list[Body] = field(default_factory=list)
    joints: list[Joint] = field(default_factory=list)
    springs: list[Spring] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.gravity = plain(self.gravity)

    def add(self, element: E) -> E:
        """Add a body, joint or spring, in any order; returns it."""
        if isinstance(element, Body):
            self.bodies.append(element)
        elif isinstance(element, Joint):
            self.joints.append(element)
        elif isinstance(element, Spring):
            self.springs.append(element)
        else:
            given, allowed = type(element).__name__, "a Body, a joint or a Spring"
            raise ModelError(f"scene {self.name!r}: cannot add this: given {given}; allowed: {allowed}")
        return element

    def save(self, path: str | Path) -> None:
        """Write the scene to a TOML file, without loss."""
        from sharnir.spec.file import write_scene

        write_scene(self, Path(path))

    @staticmethod
    def load(path: str | Path) -> Scene:
        """Read a scene from a file written by `save` or by hand."""
        from sharnir.spec.file import read_scene

        return read_scene(Path(path))
