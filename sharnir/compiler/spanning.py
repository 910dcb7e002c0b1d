"""The spanning tree: which joints carry the tree, which close loops, and the regular numbering λ(i) < i."""

from __future__ import annotations

from collections.abc import Container, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Any, NamedTuple

from sharnir.errors import ModelError, fail, shown, unknown
from sharnir.spec.elements import Body
from sharnir.spec.joints import Free, Joint
from sharnir.spec.scene import WORLD, Scene


class Link(NamedTuple):
    body: Body
    joint: Joint
    parent: str  # name of the body towards the root, or "world"
    reverse: bool  # the joint is crossed from its child to its parent


class SpanningTree(NamedTuple):
    links: list[Link]  # in regular numbering, depth first
    loops: list[Joint]


def check_names(scene: Scene) -> None:
    """Names are text, unique per kind, and refer to what exists."""
    kinds: dict[str, Sequence[Any]] = {
        "body": scene.bodies, "joint": scene.joints, "spring": scene.springs, "motor": scene.motors,
        "coupling": scene.couplings, "belt": scene.belts, "actuator": scene.driven, "sensor": scene.sensors,
        "camera": scene.cameras,
    }  # fmt: skip
    for kind, elements in kinds.items():
        check_unique(kind, elements)
    names = [WORLD, *(b.name for b in scene.bodies)]
    for kind in ("joint", "spring"):
        for element in kinds[kind]:
            check_known(f"{kind} {element.name!r}", "body", (element.parent, element.child), names)
            if element.parent == element.child:
                given = f"{element.parent!r} twice"
                raise fail(f"{kind} {element.name!r}", "connects a body with itself", given, "two different bodies")
    joints = [j.name for j in scene.joints]
    for motor in scene.motors:
        check_known(f"motor {motor.name!r}", "joint", (motor.joint,), joints)
    for dc_motor in scene.dc_motors:
        check_known(f"DC motor {dc_motor.name!r}", "joint", (dc_motor.joint,), joints)
    for actuator in scene.actuators:
        if not isinstance(actuator.joints, tuple) or not actuator.joints:
            allowed = "a list of the joints it acts on"
            raise fail(f"actuator {actuator.name!r}", "joints is not a list of names", shown(actuator.joints), allowed)
        check_known(f"actuator {actuator.name!r}", "joint", actuator.joints, joints)
    for belt in scene.belts:
        check_known(f"belt {belt.name!r}", "joint", (belt.joint,), joints)
    for coupling in scene.couplings:
        check_known(f"coupling {coupling.name!r}", "joint", (coupling.leader, coupling.follower), joints)


def check_unique(kind: str, elements: Sequence[Any]) -> None:
    """Names are text and used once."""
    seen: set[str] = set()
    for element in elements:
        if not isinstance(element.name, str) or not element.name:
            raise fail(f"a {kind}", "name is not text", shown(element.name), "a non-empty name")
        if kind == "body" and element.name == WORLD:
            raise fail(f"{kind} {element.name!r}", "name is reserved", repr(WORLD), "any other name")
        if element.name in seen:
            raise fail(f"{kind} {element.name!r}", "name is taken", repr(element.name), "a name used once")
        seen.add(element.name)


def check_known(element: str, kind: str, given: tuple[str, ...], names: list[str]) -> None:
    """Names an element refers to exist."""
    for name in given:
        if name not in names:
            raise ModelError(f"{element}: {unknown(kind, name, names)}")


def build_spanning_tree(scene: Scene) -> SpanningTree:
    """Spanning tree by shortest paths to the world. Joints with a stated position go first, so that it holds whatever
    the order of description, free joints without one last. Bodies without any joint get a free one of their own."""
    neighbours: dict[str, list[Joint]] = {WORLD: [], **{b.name: [] for b in scene.bodies}}
    for joint in scene.joints:
        neighbours[joint.parent].append(joint)
        neighbours[joint.child].append(joint)
    reached: dict[str, tuple[Joint, str] | None] = {WORLD: None}
    queue: list[tuple[int, int, Joint, str]] = []  # by worth, then first come, first served
    order = count()

    def enqueue_joints(here: str) -> None:
        for joint in neighbours[here]:
            heappush(queue, (_priority(joint), next(order), joint, here))

    def grow() -> None:
        while queue:
            _, _, joint, here = heappop(queue)
            there = joint.child if joint.parent == here else joint.parent
            if there not in reached:
                reached[there] = (joint, here)
                enqueue_joints(there)

    enqueue_joints(WORLD)
    grow()
    taken = {j.name for j in scene.joints}
    for body in scene.bodies:
        if body.name not in reached:
            reached[body.name] = (Free(name=free_joint_name(body.name, taken), parent=WORLD, child=body.name), WORLD)
            enqueue_joints(body.name)
            grow()
    links = _depth_first(scene, reached)
    used = {id(link.joint) for link in links}
    return SpanningTree(links, [j for j in scene.joints if id(j) not in used])


def _priority(joint: Joint) -> int:
    if joint.position is not None:
        return 0
    return 2 if isinstance(joint, Free) else 1


def free_joint_name(body: str, taken: Container[str]) -> str:
    """Name of the free joint a body gets of its own."""
    name = f"{body}_free"
    while name in taken:
        name += "_"
    return name


def _depth_first(scene: Scene, reached: dict[str, tuple[Joint, str] | None]) -> list[Link]:
    bodies = {b.name: b for b in scene.bodies}
    children: dict[str, list[str]] = {name: [] for name in reached}
    for name in bodies:  # in the order of description
        entry = reached[name]
        assert entry is not None
        children[entry[1]].append(name)
    links = []
    stack = list(reversed(children[WORLD]))
    while stack:
        name = stack.pop()
        joint, parent = reached[name]  # type: ignore[misc]
        links.append(Link(bodies[name], joint, parent, reverse=joint.child != name))
        stack.extend(reversed(children[name]))
    return links
