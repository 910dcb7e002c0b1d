"""What MuJoCo's reader lets through in a URDF file: it checks neither tags nor numbers, and knows no line numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable

from sharnir.checks import MAX_MAGNITUDE
from sharnir.errors import shown, unknown
from sharnir.io.parsing.check_inertias import check_inertias
from sharnir.io.parsing.check_mjcf import check_node, number
from sharnir.io.parsing.documents import Documents
from sharnir.io.parsing.size_limits import MAX_CHAIN
from sharnir.io.parsing.xml_tree import Node

JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar", "spherical")
TURNING = ("revolute", "continuous", "prismatic", "planar")
MODEL = ("link", "joint", "material", "mujoco")
CHILDREN = {
    "robot": (*MODEL, "gazebo", "transmission", "sensor", "ros2_control", "group", "author", "license"),
    "link": ("inertial", "visual", "collision", "sensor", "contact", "gazebo", "self_collision_checking", "material",
             "collision_checking", "self_filter", "kinematic", "surface", "gravity", "origin", "verbose"),
    "joint": ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic", "calibration", "safety_controller",
              "gazebo", "sensor", "joint_properties"),
    "inertial": ("origin", "mass", "inertia"),
    "visual": ("origin", "geometry", "material"),
    "collision": ("origin", "geometry", "verbose", "contact_coefficients", "material"),
    "geometry": ("box", "cylinder", "sphere", "capsule", "mesh"),
}  # fmt: skip
EXTENSIONS = ("gazebo", "transmission", "sensor", "ros2_control", "contact", "self_collision_checking")
NUMBERS: dict[str, dict[str, int]] = {
    "origin": {"xyz": 3, "rpy": 3, "quat_xyzw": 4},
    "axis": {"xyz": 3},
    "mass": {"value": 1},
    "inertia": dict.fromkeys(("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), 1),
    "limit": dict.fromkeys(("lower", "upper", "effort", "velocity"), 1),
    "dynamics": {"damping": 1, "friction": 1},
    "mimic": {"multiplier": 1, "offset": 1},
    "box": {"size": 3},
    "cylinder": {"radius": 1, "length": 1},
    "capsule": {"radius": 1, "length": 1},
    "sphere": {"radius": 1},
    "mesh": {"scale": 3},
    "color": {"rgba": 4},
}
UNLIMITED = {("limit", "effort"), ("limit", "velocity")}
POSITIVE = {
    ("box", "size"),
    ("cylinder", "radius"),
    ("cylinder", "length"),
    ("capsule", "radius"),
    ("sphere", "radius"),
}
NOT_NEGATIVE = {("mass", "value"), ("limit", "effort"), ("limit", "velocity"), ("capsule", "length"),
                ("dynamics", "damping"), ("dynamics", "friction")}  # fmt: skip
NEEDED = {"box": "size", "sphere": "radius", "mesh": "filename", "mass": "value"}


def check_urdf(documents: Documents) -> None:
    """Raise the error of the first element that is refused."""
    root = documents.main.root
    _check_tags(root)
    for node in _own(root):
        _check_numbers(node)
    links = _named(root, "link")
    joints = _named(root, "joint")
    if not links:
        raise root.wrong("has no links", "at least one <link>")
    for joint in joints.values():
        _check_joint(joint, joints)
    _check_tree(root, links, joints)
    check_inertias(links, joints)
    for tag in ("compiler", "option", "size"):
        for node in nodes(root, f"mujoco/{tag}"):
            check_node(node)


def nodes(parent: Node, path: str) -> Iterable[Node]:
    """The elements under a path."""
    return (node for node in parent.iterfind(path) if isinstance(node, Node))


def number_of(node: Node, key: str, otherwise: float) -> float:
    """A number that `_check_numbers` has seen."""
    return float(node.get(key, otherwise))


def _own(root: Node) -> Iterable[Node]:
    """Elements of the URDF language: all but those of extensions."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        for child in reversed(node):
            if (
                isinstance(child, Node)
                and child.tag not in EXTENSIONS
                and ":" not in child.tag
                and child.tag != "mujoco"
            ):
                stack.append(child)


def _check_tags(root: Node) -> None:
    for node in _own(root):
        known = CHILDREN.get(node.tag)
        for child in node if known else ():
            if known and child.tag not in known and ":" not in child.tag:
                assert isinstance(child, Node)
                raise child.wrong(str(unknown("element", child.tag, known)), f"elements of <{node.tag}> in URDF")


def _check_numbers(node: Node) -> None:
    for key, count in NUMBERS.get(node.tag, {}).items():
        text = node.get(key)
        if text is None:
            continue
        values = [number(word) for word in text.split()]
        place = (node.tag, key)
        if len(values) != count:
            raise node.wrong(f"{key} has {len(values)} numbers: given {shown(text)}", f"{count} numbers")
        if any(math.isnan(x) or (math.isinf(x) and place not in UNLIMITED) for x in values):
            raise node.wrong(f"{key} is not a finite number: given {shown(text)}", "finite numbers")
        if any(abs(x) > MAX_MAGNITUDE and place not in UNLIMITED for x in values):
            raise node.wrong(f"{key} is out of range: given {shown(text)}", f"numbers up to {MAX_MAGNITUDE:g}")
        if place in POSITIVE and not all(x > 0 for x in values):
            raise node.wrong(f"{key} is not positive: given {shown(text)}", "metres > 0")
        if place in NOT_NEGATIVE and not all(x >= 0 for x in values):
            raise node.wrong(f"{key} is negative: given {shown(text)}", "a number >= 0")
    if node.tag == "origin" and "quat_xyzw" in node.attrib:
        if "rpy" in node.attrib:
            raise node.wrong("has both rpy and quat_xyzw", "one of the two")
        if not any(number(word) for word in node.get("quat_xyzw", "").split()):
            raise node.wrong("quat_xyzw is zero", "a quaternion of any length but zero")
    needed = NEEDED.get(node.tag)
    if needed and needed not in node.attrib:
        raise node.wrong(f"has no {needed}", f'<{node.tag} {needed}="..."/>')


def _named(root: Node, tag: str) -> dict[str, Node]:
    """Links or joints by name."""
    found: dict[str, Node] = {}
    for node in nodes(root, tag):
        name = node.get("name", "")
        if not name:
            raise node.wrong("has no name", f"a name of its own for every {tag}")
        if name in found:
            raise node.wrong(
                f"name is taken by the {tag} on line {found[name].line}", f"a name of its own for every {tag}"
            )
        found[name] = node
    return found


def _check_joint(joint: Node, joints: dict[str, Node]) -> None:
    kind = joint.get("type", "")
    if kind not in JOINT_TYPES:
        raise joint.wrong(str(unknown("joint type", kind, JOINT_TYPES)), ", ".join(JOINT_TYPES))
    for limit in nodes(joint, "limit"):
        lower, upper = number_of(limit, "lower", 0.0), number_of(limit, "upper", 0.0)
        if kind in ("revolute", "prismatic") and lower > upper:
            raise joint.wrong(f"limit has lower > upper: given {lower:g} and {upper:g}", "lower <= upper")
    for axis in nodes(joint, "axis"):
        if kind in TURNING and not any(map(float, axis.get("xyz", "1 0 0").split())):
            raise joint.wrong(f"axis is zero: given {shown(axis.get('xyz'))}", "a direction, any length but zero")
    for mimic in nodes(joint, "mimic"):
        if mimic.get("joint") not in joints:
            raise joint.wrong(str(unknown("joint to mimic", mimic.get("joint"), joints)), "a joint of this file")
        if mimic.get("joint") == joint.get("name"):
            raise joint.wrong("mimics itself", "another joint of this file")


def _check_tree(root: Node, links: dict[str, Node], joints: dict[str, Node]) -> None:
    """Every joint ties two links that exist; one root; no link with two parents; no cycle."""
    parents: dict[str, tuple[str, Node]] = {}
    for joint in joints.values():
        ends = {}
        for role in ("parent", "child"):
            end = joint.find(role)
            ends[role] = end.get("link", "") if end is not None else ""
            if ends[role] not in links:
                raise joint.wrong(
                    str(unknown(f"{role} link", ends[role], links)), f"a {role} that is a link of this file"
                )
        if ends["child"] in parents:
            first = parents[ends["child"]][1].get("name")
            raise joint.wrong(f"link {shown(ends['child'])} has two parents: also by joint {shown(first)}", "a tree")
        parents[ends["child"]] = (ends["parent"], joint)
    roots = [name for name in links if name not in parents]
    if len(roots) > 1:
        raise links[roots[1]].wrong(f"has no parent, and neither has {shown(roots[0])}", "one root link")
    depths: dict[str, int] = dict.fromkeys(roots, 0)
    for name in links:
        way = []
        while name not in depths:
            way.append(name)
            if len(way) > len(links) or name not in parents:
                raise parents[way[0]][1].wrong("is part of a cycle of links", "a tree with one root link")
            name = parents[name][0]  # noqa: PLW2901
        for step, passed in enumerate(reversed(way), 1):
            depths[passed] = depths[name] + step
            if depths[passed] > MAX_CHAIN:
                raise links[passed].wrong(f"is more than {MAX_CHAIN} joints from the root", f"at most {MAX_CHAIN}")
