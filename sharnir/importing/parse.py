"""From a file to MuJoCo's compiled model."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any, NamedTuple

import mujoco

from sharnir.errors import ModelError
from sharnir.importing.urdf import mujoco_urdf


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
            text, assets = mujoco_urdf(tree, path, [Path(r) for r in roots])
            spec = mujoco.MjSpec.from_string(text, assets=assets)
            spec.compiler.fusestatic = False
            spec.compiler.discardvisual = False
            spec.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
            return Parsed(spec.compile(), "urdf", path, tree)
        return Parsed(mujoco.MjSpec.from_file(str(path)).compile(), "mjcf", path, tree)
    except (ET.ParseError, ValueError, OSError) as error:
        raise ModelError(f"{path}: cannot be read: {' '.join(str(error).split())}") from None
