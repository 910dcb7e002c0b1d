"""Cassie as MJCF, made from the SDF file of example-robot-data: a tree of hinges, and its rods' balls as equalities.

Loops are closed where all joints are at 0, which is outside the ranges of the feet: `posture` brings them in.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from sharnir.benchmarks.robot_files import urdf_files

Array = NDArray[np.float64]
MOTORS = ("roll-op", "yaw-op", "pitch-op", "knee-op", "tarsus-crank-joint")
SIDES = ("left", "right")
FOLLOWING = ("foot-op", "crank-rod-joint")  # what the cranks of the feet move
CRANK = -1.5  # rad
STIFFNESS = 200.0  # N m/rad, of the servos


class Place:
    """A pose: position x [3] m, rotation R."""

    def __init__(self, x: Array, R: Rotation) -> None:
        self.x, self.R = x, R

    @staticmethod
    def of(element: ET.Element) -> Place:
        """The pose an SDF element states: m, and roll, pitch, yaw about fixed axes."""
        values = np.array((element.findtext("pose") or "0 0 0 0 0 0").split(), dtype=float)
        return Place(values[:3], Rotation.from_euler("xyz", values[3:]))

    def within(self, other: Place) -> Place:
        return Place(other.R.inv().apply(self.x - other.x), other.R.inv() * self.R)

    def attributes(self) -> dict[str, str]:
        return {"pos": text(self.x), "quat": text(np.roll(self.R.as_quat(), 1))}


def text(values: Array) -> str:
    return " ".join(repr(float(v)) for v in values)


def sdf() -> Path:
    folder = next(r.path.parents[2] for r in urdf_files() if "solo_description" in r.name)
    return folder / "cassie_description" / "robots" / "cassie_v2.sdf"


def cassie(falling: bool = False) -> str:
    """MJCF: the pelvis is fixed, servos drive it, and nothing touches; or it floats above a floor."""
    model = ET.parse(sdf()).getroot().find("model")
    assert model is not None
    links = {str(link.get("name")): link for link in model.findall("link")}
    joints = {str(joint.get("name")): joint for joint in model.findall("joint")}
    balls = {name: joint for name, joint in joints.items() if joint.get("type") == "ball"}
    hinges = {joint.findtext("child"): joint for name, joint in joints.items() if name not in balls}
    robot = ET.Element("mujoco", model="cassie")
    ET.SubElement(robot, "compiler", angle="radian")
    bodies: dict[str, ET.Element] = {"": ET.SubElement(robot, "worldbody")}
    if falling:
        ET.SubElement(bodies[""], "geom", type="plane", size="0 0 1")
    while len(bodies) <= len(links):
        for name in [n for n in links if n not in bodies]:
            joint = hinges.get(name)
            parent = "" if joint is None else str(joint.findtext("parent"))
            if parent in bodies:
                bodies[name] = add_body(bodies[parent], links.get(parent), links[name], joint)
                if falling:
                    add_geoms(bodies[name], links[name])
    if falling:
        ET.SubElement(bodies["pelvis"], "freejoint")
    equalities = ET.SubElement(robot, "equality")
    for name, joint in balls.items():
        ends = {f"body{2 - k}": str(joint.findtext(end)) for k, end in enumerate(("parent", "child"))}
        ET.SubElement(equalities, "connect", ends | {"name": name, "anchor": text(Place.of(joint).x)})
    if not falling:
        add_servos(ET.SubElement(robot, "actuator"))
    return ET.tostring(robot, encoding="unicode")


def add_body(parent: ET.Element, carrier: ET.Element | None, link: ET.Element, joint: ET.Element | None) -> ET.Element:
    """A link where the file places it, with its inertia, and its hinge where it has one."""
    place = Place.of(link)
    at = place if carrier is None else place.within(Place.of(carrier))
    body = ET.SubElement(parent, "body", at.attributes() | {"name": str(link.get("name"))})
    inertial = link.find("inertial")
    assert inertial is not None
    moments = " ".join(str(inertial.findtext(f"inertia/i{k}")) for k in ("xx", "yy", "zz", "xy", "xz", "yz"))
    center = text(Place.of(inertial).x)
    ET.SubElement(body, "inertial", pos=center, mass=str(inertial.findtext("mass")), fullinertia=moments)
    if joint is not None:
        add_hinge(body, joint)
    return body


def add_servos(actuators: ET.Element) -> None:
    for name in [f"{side}-{motor}" for side in SIDES for motor in MOTORS]:
        ET.SubElement(actuators, "position", name=name, joint=name, kp=str(STIFFNESS))


def add_geoms(body: ET.Element, link: ET.Element) -> None:
    """The balls and cylinders that a link touches with."""
    for collision in link.findall("collision"):
        place = Place.of(collision).attributes()
        radius, length = (collision.findtext(f"geometry/*/{name}") for name in ("radius", "length"))
        if length is None:
            ET.SubElement(body, "geom", place | {"type": "sphere", "size": str(radius)})
        else:
            ET.SubElement(body, "geom", place | {"type": "cylinder", "size": f"{radius} {float(length) / 2}"})


def posture(peer: Any) -> Array:
    """Positions of MuJoCo's model with feet within their ranges and loops closed."""
    feet = [f"{side}-{name}" for side in SIDES for name in FOLLOWING]
    start = {f"{side}-tarsus-crank-joint": CRANK for side in SIDES}
    return closed(peer, start | {name: CRANK if name.endswith("op") else -CRANK for name in feet}, feet)


def closed(peer: Any, start: dict[str, float], free: list[str]) -> Array:
    """Positions with the given joints where `start` says, and the free ones where they close all loops."""
    data = mujoco.MjData(peer)
    for name, angle in start.items():
        data.joint(name).qpos[0] = angle
    places = [int(peer.joint(name).qposadr[0]) for name in free]
    columns = [int(peer.joint(name).dofadr[0]) for name in free]
    for _ in range(20):
        mujoco.mj_forward(peer, data)
        rows = 3 * peer.neq
        J = data.efc_J.reshape(-1, peer.nv)[:rows][:, columns]
        data.qpos[places] -= np.linalg.lstsq(J, data.efc_pos[:rows], rcond=None)[0]
    return data.qpos.copy()


def add_hinge(body: ET.Element, joint: ET.Element) -> None:
    """A hinge in the frame of its child, with range, damper and spring."""
    place, facts = Place.of(joint), {"name": str(joint.get("name"))}
    axis = place.R.apply(np.array(str(joint.findtext("axis/xyz")).split(), dtype=float))
    lower, upper = (joint.findtext(f"axis/limit/{end}") for end in ("lower", "upper"))
    if lower and upper:
        facts |= {"limited": "true", "range": f"{lower} {upper}"}
    for name, path in (("damping", "damping"), ("stiffness", "spring_stiffness")):
        facts[name] = joint.findtext(f"axis/dynamics/{path}") or "0"
    ET.SubElement(body, "joint", facts | {"pos": text(place.x), "axis": text(axis)})
