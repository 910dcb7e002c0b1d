"""Numbers of a URDF that MuJoCo's model does not have.

It is compiled with stand-in inertias, since MuJoCo refuses links without mass and inertias it finds odd; here it gets
the file's own.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import mujoco
import numpy as np

from sharnir.errors import fail
from sharnir.model.poses import Pose
from sharnir.rotations import Array, matrix_to_quat, quat_to_matrix, rotation_z


class Inertial(NamedTuple):
    mass: float  # kg
    center: Array  # m, link frame
    inertia: Array  # [3, 3] kg m², about the centre, link axes


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
    with without_log():
        mujoco.mj_setConst(model, mujoco.MjData(model))


@contextmanager
def without_log() -> Iterator[None]:
    """MuJoCo writes its warnings to a file in the working folder unless somebody takes them."""
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda _: None)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(before)


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
    """Pose of an element by its `origin`: roll, pitch and yaw about fixed axes, or a quaternion."""
    given = element.find("origin")
    place = numbers(where, given, "xyz", "0 0 0", 3)
    if given is not None and "quat_xyzw" in given.attrib:
        return Pose(quat_to_matrix(numbers(where, given, "quat_xyzw", "", 4)), place)
    roll, pitch, yaw = numbers(where, given, "rpy", "0 0 0", 3)
    (cr, sr), (cp, sp), (cy, sy) = ((np.cos(a), np.sin(a)) for a in (roll, pitch, yaw))
    R = np.array([
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ])  # fmt: skip
    return Pose(R, place)


def roll_pitch_yaw(quaternion: Array) -> tuple[float, float, float]:
    """rad, angles about fixed axes that turn as a quaternion (x, y, z, w) does; exact also where pitch is a right
    angle, since roll makes up for whatever yaw was taken."""
    R = quat_to_matrix(quaternion)
    yaw = float(np.arctan2(R[1, 0], R[0, 0]))
    rest = rotation_z(-yaw) @ R
    return float(np.arctan2(-rest[1, 2], rest[1, 1])), float(np.arctan2(-rest[2, 0], rest[0, 0])), yaw


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
