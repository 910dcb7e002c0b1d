"""Inertias of a URDF: no link may have a negative moment, unless it is fixed to others that make up for it."""

from __future__ import annotations

import numpy as np

from sharnir.io.parsing.urdf import Inertial, inertial, origin
from sharnir.io.parsing.xml_tree import Node
from sharnir.model.poses import Pose
from sharnir.rotations import Array

ROUNDING = 1e-6  # of the largest moment: files keep six digits
NOTHING = 1e-15  # kg m²: less than any body a file means


def check_inertias(links: dict[str, Node], joints: dict[str, Node]) -> None:
    """Raise the error of the first link that is refused. Links are a tree, with numbers that were checked."""
    own = {name: inertial(link) for name, link in links.items()}
    wrong = [name for name, part in own.items() if not is_positive(part.inertia)]
    fixed = [joint for joint in joints.values() if joint.get("type") == "fixed"] if wrong else []
    for name in wrong:
        whole = pooled(own, poses_around(name, fixed))
        if not is_positive(whole):
            least, _, most = np.linalg.eigvalsh(own[name].inertia)
            raise links[name].wrong(
                f"inertia is not positive: its principal moments go from {least:.6g} to {most:.6g} kg m²",
                "principal moments >= 0",
            )


def is_positive(inertia: Array) -> bool:
    """Whether no principal moment is negative, by more than rounding."""
    least, _, most = np.linalg.eigvalsh(inertia)
    return bool(least >= -ROUNDING * abs(most) - NOTHING)


def poses_around(name: str, fixed: list[Node]) -> dict[str, Pose]:
    """Poses of all links that fixed joints make one with a link, in its frame."""
    ends = [(_end(joint, "parent"), _end(joint, "child"), joint) for joint in fixed]
    poses = {name: Pose(np.eye(3), np.zeros(3))}
    grew = True
    while grew:
        grew = False
        for parent, child, joint in ends:
            if (parent in poses) != (child in poses):
                step = origin(f"joint {joint.get('name')!r}", joint)
                if parent in poses:
                    poses[child] = poses[parent] @ step
                else:
                    poses[parent] = poses[child] @ step.inverse()
                grew = True
    return poses


def _end(joint: Node, role: str) -> str:
    end = joint.find(role)
    return "" if end is None else end.get("link", "")


def pooled(own: dict[str, Inertial], poses: dict[str, Pose]) -> Array:
    """[3, 3] inertia of some links together about their common centre."""
    masses = np.array([own[name].mass for name in poses])
    centers = np.array([pose.x + pose.R @ own[name].center for name, pose in poses.items()])
    total = masses.sum()
    center = masses @ centers / total if total > 0 else np.zeros(3)
    inertia = np.zeros((3, 3))
    for (name, pose), mass, place in zip(poses.items(), masses, centers, strict=True):
        r = place - center
        inertia += pose.R @ own[name].inertia @ pose.R.T + mass * (r @ r * np.eye(3) - np.outer(r, r))
    return inertia
