"""What URDF says and MuJoCo's model does not keep: limits of speed, and the visual geometry."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import numpy as np

from sharnir.checks import MAX_MAGNITUDE
from sharnir.io.convert.source import Source
from sharnir.io.parsing.urdf import numbers, origin
from sharnir.model.poses import Pose
from sharnir.rotations import matrix_to_quat
from sharnir.spec.elements import Box, Cylinder, Shape, Sphere, Visual
from sharnir.spec.import_report import CHANGED, LOST, UNSEEN
from sharnir.spec.joints import Joint

GREY = (0.5, 0.5, 0.5, 1.0)


def add_urdf_facts(source: Source) -> None:
    """Speed and force limits of joints; visuals of links; mimics that MuJoCo leaves out."""
    joints: dict[str, Joint] = {joint.name: joint for joint in source.scene.joints}
    coupled = {coupling.follower for coupling in source.scene.couplings}
    for element in source.tree.findall("joint"):
        joint = joints.get(str(element.get("name")))
        if joint is not None and joint.nv == 1:
            _set_drive(joint, element)
            _report_limits(source, joint, element)
        if element.find("mimic") is not None and element.get("name") not in coupled:
            _report_mimic(source, element)
    colors = {str(m.get("name")): _rgba(m) for m in source.tree.findall("material")}
    for link in source.tree.findall("link"):
        _add_visuals(source, link, colors)


def _set_drive(joint: Joint, element: ET.Element) -> None:
    """Effort and velocity of the joint's limit; 0, which would keep it from being driven, is taken for none given, and
    so is what is beyond all sizes."""
    limit = element.find("limit")
    effort, speed = (float("0" if limit is None else limit.get(name, "0")) for name in ("effort", "velocity"))
    joint.max_force = effort if 0 < effort < MAX_MAGNITUDE else np.inf
    joint.max_speed = speed if 0 < speed < MAX_MAGNITUDE else np.inf


def _report_limits(source: Source, joint: Joint, element: ET.Element) -> None:
    """MuJoCo takes a range of no width for none."""
    limit = element.find("limit")
    if limit is None or limit.get("lower") is None or element.get("type") == "continuous":
        return
    lower, upper = (float(numbers(f"joint {joint.name!r}", limit, name, "0", 1)[0]) for name in ("lower", "upper"))
    if lower == upper:
        source.report.add("joint", joint.name, f"limits from {lower:g} to {upper:g} are taken for none", CHANGED)


def _report_mimic(source: Source, element: ET.Element) -> None:
    """A mimic on a joint that does not move changes nothing; others would."""
    mimic, names = element.find("mimic"), [joint.get("name") for joint in source.tree.findall("joint")]
    leader = "" if mimic is None else str(mimic.get("joint"))
    if element.get("type") in ("fixed", "floating"):
        reason, effect = f"mimics {leader!r}, and is fixed", UNSEEN
    elif leader not in names:
        reason, effect = f"mimics {leader!r}, a joint the file does not have", LOST
    else:
        reason, effect = f"mimics {leader!r}, which is no hinge or slide", LOST
    source.report.add("joint", str(element.get("name")), reason, effect)


def _rgba(material: ET.Element) -> tuple[float, ...]:
    color = material.find("color")
    if color is None:
        return GREY
    return tuple(numbers(f"material {material.get('name')!r}", color, "rgba", "0.5 0.5 0.5 1", 4).tolist())


def _add_visuals(source: Source, link: ET.Element, colors: dict[str, tuple[float, ...]]) -> None:
    name = str(link.get("name"))
    if name not in source.body_names:
        return
    carrier, place = source.place(source.body_names.index(name))
    visuals = [v for e in link.findall("visual") if (v := _visual(f"link {name!r}", e, place, colors)) is not None]
    for visual in visuals:
        if visual.file in source.files:
            visual.file = str(source.files[visual.file])
        elif visual.file is not None:
            source.report.add("link", name, f"its visual mesh {visual.file!r} is not there", UNSEEN)
    if carrier == 0:
        source.scene.visuals += visuals
    elif visuals:
        body = source.body(carrier)
        body.visuals = (*body.visuals, *visuals)


def _visual(where: str, element: ET.Element, place: Pose, colors: dict[str, tuple[float, ...]]) -> Visual | None:
    pose = place @ origin(where, element)
    at: dict[str, Any] = {"position": pose.x, "orientation": matrix_to_quat(pose.R)}
    material = element.find("material")
    color: tuple[float, ...] = GREY
    if material is not None:
        color = _rgba(material) if material.find("color") is not None else colors.get(str(material.get("name")), GREY)
    geometry = element.find("geometry")
    solid = None if geometry is None or not len(geometry) else geometry[0]
    if solid is None:
        return None
    if solid.tag == "mesh":
        scale = numbers(where, solid, "scale", "1 1 1", 3)
        return Visual(file=solid.get("filename"), scale=scale, color=color, **at)
    shape = _primitive(where, solid, at)
    return None if shape is None else Visual(shape=shape, color=color)


def _primitive(where: str, solid: ET.Element, at: dict[str, Any]) -> Shape | None:
    if solid.tag == "box":
        return Box(size=numbers(where, solid, "size", "", 3), **at)
    if solid.tag == "sphere":
        return Sphere(radius=float(numbers(where, solid, "radius", "", 1)[0]), **at)
    if solid.tag == "cylinder":
        radius, length = (float(numbers(where, solid, name, "", 1)[0]) for name in ("radius", "length"))
        return Cylinder(radius=radius, length=length, **at)
    return None
