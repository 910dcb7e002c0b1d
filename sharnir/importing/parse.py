"""From a file to MuJoCo's compiled model."""

from __future__ import annotations

import copy
import io
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mujoco

from sharnir.errors import ModelError, fail

STAND_IN = """<inertial><origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1.1" iyz="0" izz="1.2"/></inertial>"""
MOST_FACES = 200_000  # that MuJoCo reads from an STL file


@dataclass(frozen=True)
class Parsed:
    """A file, read. model: compiled mujoco.MjModel; of a URDF every link is a body, with stand-in inertias and
    collision geometry only. files: where the meshes of a URDF lie, by the name it calls them."""

    model: Any
    format: str
    path: Path
    tree: ET.Element
    files: dict[str, Path] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def parse(path: str | Path, roots: Sequence[str | Path] = (), **_limits: Any) -> Parsed:
    """Read a URDF or MJCF file."""
    path = Path(path)
    try:
        tree = ET.parse(path).getroot()
        if tree.tag != "robot":
            return Parsed(mujoco.MjSpec.from_file(str(path)).compile(), "mjcf", path, tree)
        files: dict[str, Path] = {}
        for mesh in tree.iterfind("link/*/geometry/mesh"):
            for place in _places(mesh.get("filename", ""), path, roots):
                if place.is_file():
                    files[mesh.get("filename", "")] = place
        return Parsed(_compiled(tree, files), "urdf", path, tree, files)
    except ModelError:
        raise
    except (ET.ParseError, ValueError, OSError, KeyError) as error:
        raise ModelError(f"{path}: cannot be read: {' '.join(str(error).split())}") from None


def _places(name: str, path: Path, roots: Sequence[str | Path]) -> list[Path]:
    if name.startswith("package://"):
        return [Path(root) / name.removeprefix("package://").lstrip("/") for root in roots]
    return [path.parent / name]


def _compiled(tree: ET.Element, files: dict[str, Path]) -> Any:
    if tree.find("link") is None:
        raise fail("robot", "has no links", "none", "at least one link")
    tree = copy.deepcopy(tree)
    assets: dict[str, bytes] = {}
    for element in [e for e in tree if e.tag not in ("link", "joint")]:
        tree.remove(element)
    for link in tree.findall("link"):
        for element in [*link.findall("visual"), *link.findall("inertial")]:
            link.remove(element)
        link.append(ET.fromstring(STAND_IN))
        for mesh in link.iterfind("collision/geometry/mesh"):
            name = mesh.get("filename", "")
            if name not in files:
                raise fail(f"mesh {name!r}", "is not there", "no such file", "files below the roots")
            key, content = _asset(files[name], len(assets))
            assets[key] = content
            mesh.set("filename", key)
    spec = mujoco.MjSpec.from_string(ET.tostring(tree, encoding="unicode"), assets=assets)
    spec.compiler.fusestatic = False
    spec.compiler.discardvisual = False
    for mesh in spec.meshes:
        mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
    return spec.compile()


def _asset(file: Path, number: int) -> tuple[str, bytes]:
    """Name and content of a mesh that MuJoCo can read."""
    suffix, content = file.suffix.lower(), file.read_bytes()
    faces = int.from_bytes(content[80:84], "little")
    odd = suffix == ".stl" and (len(content) != 84 + 50 * faces or faces > MOST_FACES)
    if suffix in (".stl", ".obj", ".msh") and not odd:
        return f"mesh{number}{suffix}", content
    import trimesh

    mesh: Any = trimesh.load(io.BytesIO(content), file_type=suffix.lstrip("."), force="mesh")
    mesh = mesh.convex_hull if len(mesh.faces) > MOST_FACES else mesh
    return f"mesh{number}.stl", bytes(mesh.export(file_type="stl"))
