"""From a file to MuJoCo's compiled model."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any, NamedTuple

import mujoco

from sharnir.errors import ModelError, fail
from sharnir.importing.urdf import compiled_urdf, mujoco_urdf


class Parsed(NamedTuple):
    """A file, read."""

    model: Any  # compiled mujoco.MjModel
    format: str  # "urdf" or "mjcf"
    path: Path
    tree: ET.Element  # the file's root, includes resolved


def parse(path: str | Path, roots: tuple[str | Path, ...] = (), **_limits: Any) -> Parsed:
    """Read a URDF or MJCF file."""
    path = Path(path)
    try:
        tree = ET.parse(path).getroot()
        if tree.tag == "robot":
            text, assets = mujoco_urdf(tree, lambda name: found(name, path, roots).read_bytes())
            return Parsed(compiled_urdf(text, assets, tree), "urdf", path, tree)
        return Parsed(mujoco.MjSpec.from_file(str(path)).compile(), "mjcf", path, tree)
    except ModelError:
        raise
    except (ET.ParseError, ValueError, OSError, KeyError) as error:
        raise ModelError(f"{path}: cannot be read: {' '.join(str(error).split())}") from None


def found(name: str, path: Path, roots: tuple[str | Path, ...]) -> Path:
    """Where a file is that a URDF names."""
    places = [Path(r) for r in roots] or [path.parent]
    if name.startswith("package://"):
        relative = name.removeprefix("package://").lstrip("/")
        candidates = [p / relative for p in places]
    else:
        candidates = [path.parent / name]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise fail(f"{path}: mesh {name!r}", "is not there", f"roots {[str(p) for p in places]}", "files below the roots")
