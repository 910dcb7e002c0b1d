"""The scene: what a person writes, saves and loads."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from sharnir.errors import described, fail, shown
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
            raise fail(
                f"scene {shown(self.name)}", "cannot add this", described(element), "a Body, a joint or a Spring"
            )
        return element

    def plain(self) -> Scene:
        """A copy whose values are plain, also those assigned after construction; for compiling and saving."""
        where = f"scene {shown(self.name)}"
        if not isinstance(self.name, str):
            raise fail(where, "name is not text", described(self.name), "text")
        for name, kind in (("bodies", Body), ("joints", Joint), ("springs", Spring)):
            elements = getattr(self, name)
            if not isinstance(elements, (list, tuple)):
                raise fail(where, f"{name} is not a list", described(elements), f"a list of {kind.__name__}")
            for element in elements:
                if not isinstance(element, kind):
                    raise fail(where, f"{name} holds something else", described(element), f"a list of {kind.__name__}")
        copies = {f: [replace(e) for e in getattr(self, f)] for f in ("bodies", "joints", "springs")}
        return Scene(name=self.name, gravity=self.gravity, **copies)

    def save(self, path: str | Path) -> None:
        """Write the scene to a TOML file, without loss."""
        from sharnir.spec.file import write_scene

        write_scene(self.plain(), checked_path(path))

    @staticmethod
    def load(path: str | Path) -> Scene:
        """Read a scene from a file written by `save` or by hand."""
        from sharnir.spec.file import read_scene

        return read_scene(checked_path(path))


def checked_path(path: object) -> Path:
    if not isinstance(path, (str, Path)):
        raise fail("scene file", "not a path", shown(path), "text or a Path")
    return Path(path)
