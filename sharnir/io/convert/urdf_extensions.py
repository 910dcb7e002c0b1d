"""What URDF files say beyond what a scene takes from them: for Gazebo, for controllers, for perception."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from sharnir.io.convert.source import Source
from sharnir.spec.import_report import CHANGED, LOST, UNSEEN

UNREAD = {
    "transmission": ("says what may drive joints, and holds no law: add a Motor or an Actuator", UNSEEN),
    "ros2_control": ("says what may drive joints, and holds no law: add a Motor or an Actuator", UNSEEN),
    "sensor": ("sensors of URDF are not known", UNSEEN),
    "link/sensor": ("sensors of URDF are not known", UNSEEN),
    "joint/sensor": ("sensors of URDF are not known", UNSEEN),
    "joint/safety_controller": ("is for a controller, which the scene does not have", UNSEEN),
    "joint/calibration": ("is for a controller, which the scene does not have", UNSEEN),
    "link/self_filter": ("is for perception and planning", UNSEEN),
    "link/collision_checking": ("is for perception and planning", UNSEEN),
    "link/self_collision_checking": ("is for perception and planning", UNSEEN),
    "link/contact": ("friction and stiffness of contacts are the scene's own", CHANGED),
    "link/surface": ("friction and stiffness of contacts are the scene's own", CHANGED),
    "link/collision/contact_coefficients": ("friction and stiffness of contacts are the scene's own", CHANGED),
}
MECHANICAL = {
    "mu1", "mu2", "mu", "fdir1", "kp", "kd", "maxVel", "minDepth", "maxContacts", "selfCollide", "self_collide",
    "stopKp", "stopKd", "fudgeFactor", "dampingFactor", "turnGravityOff", "gravity", "kinematic",
    "initial_joint_position",
}  # fmt: skip
ON = ("1", "true", "yes")


def report_extensions(source: Source) -> None:
    """List what of a URDF was not read, each kind once."""
    for path, (reason, effect) in UNREAD.items():
        count = len(source.tree.findall(path))
        if count:
            source.report.add(path.rpartition("/")[2], f"{count} of them", reason, effect)
    _report_gazebo(source)
    for link in source.tree.findall("link"):
        name = str(link.get("name"))
        if not _switch(link, "gravity", True):
            source.report.add("link", name, "gravity acts on it, although the file switches it off", LOST)
        if _switch(link, "kinematic", False):
            source.report.add("link", name, "moves by forces, although the file says kinematic", LOST)


def _report_gazebo(source: Source) -> None:
    """Settings for Gazebo, by what they are about."""
    elements = source.tree.findall("gazebo")
    mechanical = sorted({child.tag for element in elements for child in element} & MECHANICAL)
    if mechanical:
        reason = f"its {', '.join(mechanical)} are for Gazebo and are not read"
        source.report.add("gazebo", f"{len(elements)} of them", reason, CHANGED)
    elif elements:
        source.report.add("gazebo", f"{len(elements)} of them", "is for Gazebo and is not read", UNSEEN)


def _switch(link: ET.Element, tag: str, otherwise: bool) -> bool:
    element = link.find(tag)
    if element is None:
        return otherwise
    return str(element.get("value") or element.text or "").strip().lower() in ON
