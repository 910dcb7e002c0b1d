"""A URDF as MuJoCo is to see it: the kinematic tree and what collides.

MuJoCo refuses links without inertia, and inertias it finds odd; so it sees stand-ins. It reads neither COLLADA nor
glTF, and visual geometry has no part in mechanics; so it sees collision geometry only. The importer takes inertias and
visuals from the file's own tree.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import numpy as np

from sharnir.io.parsing.documents import Documents
from sharnir.io.parsing.files import FileProblemError, OutsideError
from sharnir.io.parsing.urdf import roll_pitch_yaw
from sharnir.io.parsing.xml_tree import Node

STAND_IN = {
    "origin": {"xyz": "0.1 0.2 0.3", "rpy": "0.4 0.5 0.6"},
    "mass": {"value": "1"},
    "inertia": {"ixx": "1", "iyy": "1.1", "izz": "1.2", "ixy": "0", "ixz": "0", "iyz": "0"},
}
"""Off every axis, so that MuJoCo takes no short cut the true inertia would not allow."""
FOLDERS = ("meshdir", "texturedir", "assetdir", "strippath")


def simplified(documents: Documents) -> tuple[Node, dict[str, Path]]:
    """The root MuJoCo is to see, with our names for meshes; and the files of all meshes as the URDF calls them."""
    root = documents.main.root
    found = root.find("mujoco/compiler")
    folder = documents.main.folder
    strip = False
    compiler = _like(root, "compiler")
    if found is not None:
        folder, strip = folder / found.get("meshdir", ""), found.get("strippath") == "true"
        compiler.attrib.update(found.attrib)
    compiler.instead = {**dict.fromkeys(FOLDERS), "discardvisual": "false", "fusestatic": "false"}
    extension = _like(root, "mujoco")
    extension.append(compiler)
    extension.extend(node for node in root.iterfind("mujoco/*") if node.tag in ("option", "size"))
    seen = _like(root, "robot", **root.attrib)
    seen.append(extension)
    files: dict[str, Path] = {}
    for mesh in root.iterfind("link/collision/geometry/mesh"):
        assert isinstance(mesh, Node)
        asset = documents.asset(mesh, _file(mesh, strip), folder)
        mesh.instead = {"filename": asset.name}
        files[mesh.get("filename", "")] = asset.path
    for path in ("joint/origin", "link/collision/origin"):
        for place in root.iterfind(path):
            assert isinstance(place, Node)
            _turn(place)
    for mesh in root.iterfind("link/visual/geometry/mesh"):
        assert isinstance(mesh, Node)
        _find_visual(documents, mesh, folder, strip, files)
    seen.extend(_link(link) if link.tag == "link" else link for link in root if link.tag in ("link", "joint"))
    return seen, files


def _turn(origin: Node) -> None:
    """MuJoCo reads no quaternions in a URDF."""
    if "quat_xyzw" in origin.attrib:
        angles = roll_pitch_yaw(np.array(origin.get("quat_xyzw", "").split(), dtype=float))
        origin.instead = {"quat_xyzw": None, "rpy": " ".join(map(repr, angles))}


def _file(mesh: Node, strip: bool) -> str:
    reference = mesh.get("filename", "")
    return PurePosixPath(reference).name if strip else reference


def _find_visual(documents: Documents, mesh: Node, folder: Path, strip: bool, files: dict[str, Path]) -> None:
    """A visual mesh may be missing, but must not lead out of the roots."""
    try:
        files[mesh.get("filename", "")] = documents.files.find(_file(mesh, strip), [folder])
    except OutsideError as problem:
        raise mesh.wrong(problem.reason, problem.allowed) from None
    except FileProblemError:
        return


def _like(place: Node, tag: str, **attributes: str) -> Node:
    """A new element that stands for one of the file."""
    node = Node(tag, attributes)
    node.file, node.line, node.owner = place.file, place.line, place.owner
    return node


def _link(link: object) -> Node:
    assert isinstance(link, Node)
    seen = _like(link, "link", **link.attrib)
    seen.extend(link.iterfind("collision"))
    inertial = _like(link, "inertial")
    inertial.extend(_like(link, tag, **attributes) for tag, attributes in STAND_IN.items())
    seen.append(inertial)
    return seen
