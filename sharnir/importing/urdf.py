"""URDF as MuJoCo can read it, and back: what its compiled model does not keep is taken from the file's own tree.

MuJoCo wants inertias that are positive definite, and meshes as STL, OBJ or MSH. The text it is given therefore has
stand-in inertias, which `set_inertias` replaces by the file's own, and no visual geometry.
"""

from __future__ import annotations

import copy
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import mujoco
import numpy as np

from sharnir.compiler.motions import Pose
from sharnir.errors import fail
from sharnir.importing.meshes import needs_conversion, stl_bytes
from sharnir.rotations import Array, matrix_to_quat

KEPT = {"link", "joint", "material"}  # of a robot; what else there is describes no mechanics
NATIVE = {".stl", ".obj", ".msh"}
# off every axis, so that MuJoCo takes no short cut that the true inertia would not allow
STAND_IN = """<inertial><origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1.1" iyz="0" izz="1.2"/></inertial>"""


class Inertial(NamedTuple):
    mass: float  # kg
    center: Array  # m, link frame
    inertia: Array  # [3, 3] kg m², about the centre, link axes


def mujoco_urdf(tree: ET.Element, read: Callable[[str], bytes]) -> tuple[str, dict[str, bytes]]:
    """The text for MuJoCo, and the files it names. read: bytes of a file as the URDF calls it."""
    if tree.find("link") is None:
        raise fail(f"robot {tree.get('name')!r}", "has no links", "none", "at least one link")
    tree = copy.deepcopy(tree)
    assets: dict[str, bytes] = {}
    names: dict[str, str] = {}
    for element in list(tree):
        if element.tag not in KEPT:
            tree.remove(element)
    for link in tree.findall("link"):
        for element in [*link.findall("visual"), *link.findall("inertial")]:
            link.remove(element)
        link.append(ET.fromstring(STAND_IN))
        for mesh in link.iterfind("collision/geometry/mesh"):
            file = mesh.get("filename", "")
            if file not in names:
                names[file], content = _asset(file, len(names), read)
                assets[names[file]] = content
            mesh.set("filename", names[file])
    return ET.tostring(tree, encoding="unicode"), assets


def _asset(file: str, number: int, read: Callable[[str], bytes]) -> tuple[str, bytes]:
    """Name and content of a mesh that MuJoCo can read."""
    suffix = PurePosixPath(file).suffix.lower()
    content = read(file)
    if suffix in NATIVE and not needs_conversion(suffix, content):
        return f"mesh{number}{suffix}", content
    return f"mesh{number}.stl", stl_bytes(file, content)


def compiled_urdf(text: str, assets: dict[str, bytes], tree: ET.Element) -> Any:
    """The mujoco.MjModel of what `mujoco_urdf` made, every link a body, with the file's own inertias."""
    spec = mujoco.MjSpec.from_string(text, assets=assets)
    spec.compiler.fusestatic = False
    spec.compiler.discardvisual = False
    for mesh in spec.meshes:
        mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX  # any surface will do: it gives no mass here
    model = spec.compile()
    set_inertias(model, tree)
    return model


def set_inertias(model: Any, tree: ET.Element) -> None:
    """Give a compiled model the masses and inertias of the URDF; links without them have none."""
    for link in tree.findall("link"):
        body = model.body(link.get("name")).id
        own = inertial(link)
        moments, axes = np.linalg.eigh(own.inertia)
        axes[:, 0] *= np.sign(np.linalg.det(axes))
        model.body_mass[body], model.body_ipos[body], model.body_inertia[body] = own.mass, own.center, moments
        model.body_iquat[body] = np.roll(matrix_to_quat(axes), 1)
    model.body_mass[0] = 0.0
    model.body_inertia[0] = 0.0
    mujoco.mj_setConst(model, mujoco.MjData(model))


def inertial(link: ET.Element) -> Inertial:
    """Mass, centre and inertia as a link states them; zeros where it does not."""
    where = f"link {link.get('name')!r}"
    element = link.find("inertial")
    if element is None:
        return Inertial(0.0, np.zeros(3), np.zeros((3, 3)))
    pose = origin(where, element)
    mass = numbers(where, element.find("mass"), "value", "0", 1)[0]
    tensor = element.find("inertia")
    xx, xy, xz, yy, yz, zz = (numbers(where, tensor, k, "0", 1)[0] for k in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    own = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return Inertial(float(mass), pose.x, pose.R @ own @ pose.R.T)


def origin(where: str, element: ET.Element) -> Pose:
    """Pose of an element by its `origin`: roll, pitch and yaw about fixed axes."""
    given = element.find("origin")
    roll, pitch, yaw = numbers(where, given, "rpy", "0 0 0", 3)
    (cr, sr), (cp, sp), (cy, sy) = ((np.cos(a), np.sin(a)) for a in (roll, pitch, yaw))
    R = np.array([
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ])  # fmt: skip
    return Pose(R, numbers(where, given, "xyz", "0 0 0", 3))


def numbers(where: str, element: ET.Element | None, name: str, default: str, size: int) -> Array:
    """Numbers of an attribute, finite."""
    text = default if element is None else element.get(name, default)
    try:
        values = np.array([float(x) for x in text.split()])
    except ValueError:
        values = np.full(size, np.nan)
    if len(values) != size or not np.isfinite(values).all():
        raise fail(where, f"{name} is not made of numbers", text, f"{size} finite numbers")
    return values
