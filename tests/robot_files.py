"""Robots that ship in packages: where they are, and what becomes of each."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import warnings
from pathlib import Path
from typing import NamedTuple

import sharnir as sh
from sharnir.importing import Parsed, parse, scene_of


class Robot(NamedTuple):
    name: str  # package and path in it
    path: Path
    roots: tuple[Path, ...]

    def parsed(self) -> Parsed:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # MuJoCo's, of what it will no longer read some day
            return parse(self.path, self.roots)


def package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent


def urdf_files() -> list[Robot]:
    """Every URDF of example-robot-data."""
    files = importlib.metadata.distribution("example-robot-data")
    share = Path(str(files.locate_file("cmeel.prefix/share")))
    found = sorted((share / "example-robot-data" / "robots").rglob("*.urdf"))
    return [
        Robot(f"example-robot-data/{p.relative_to(share / 'example-robot-data' / 'robots')}", p, (share,))
        for p in found
    ]


def mjcf_files() -> list[Robot]:
    """Every MJCF of gymnasium and dm_control, and the few XML files among them that are none."""
    out = []
    for name in ("gymnasium", "dm_control"):
        folder = package(name)
        out += [Robot(f"{name}/{p.relative_to(folder)}", p, (folder,)) for p in sorted(folder.rglob("*.xml"))]
    return out


class Outcome(NamedTuple):
    parsed: Parsed | None
    scene: sh.Scene | None
    reason: str  # why it was refused, or what was lost; empty if loaded

    @property
    def loaded(self) -> bool:
        return not self.reason


def outcome(robot: Robot) -> Outcome:
    """Load and compile a file."""
    try:
        parsed = robot.parsed()
        scene = scene_of(parsed)
        sh.compile(scene)
    except sh.ModelError as error:
        return Outcome(None, None, str(error))
    lost = [str(entry) for entry in scene.import_report.lost]
    more = f" (and {len(lost) - 1} more)" if len(lost) > 1 else ""
    return Outcome(parsed, scene, lost[0] + more if lost else "")
