"""Belts as arrays over shapes: which sprocket pulls the surface, about what axis, at what radius (M-77)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sharnir.checks import number
from sharnir.compiler.shapes import iterate_shapes
from sharnir.errors import ModelError, fail, shown, unknown
from sharnir.model.poses import Pose
from sharnir.rotations import Array
from sharnir.spec.belts import Belt
from sharnir.spec.elements import Body
from sharnir.spec.joints import Fixed, Joint, Prismatic, Revolute
from sharnir.spec.scene import Scene

TOL_PARALLEL = 1e-9  # sine of the angle between axes that count as one


def belt_arrays(
    bodies: Sequence[Body], scene: Scene, joints: list[Joint], frames: list[tuple[Pose, Pose]],
    reference: dict[str, Pose], index: dict[str, int], in_link: dict[str, Pose],
) -> dict[str, Any]:  # fmt: skip
    """Sprocket's link (−1: no belt) and axis times radius, in the axes of the shape's link, of every shape."""
    axes = {j.name: reference[j.parent].R @ P.R[:, 2] for j, (P, _) in zip(joints, frames, strict=True)}
    belts = {belt.name: belt for belt in scene.belts}
    hinges = {name: _hinge(belt, scene.joints) for name, belt in belts.items()}
    radii = {name: number(f"belt {name!r}", "radius", belt.radius, above=0) for name, belt in belts.items()}
    carriers = {name: bodies_keeping_axis(hinge, scene.joints, axes) for name, hinge in hinges.items()}
    sprockets, runs = [], []
    for carrier, element, shape in iterate_shapes(bodies, scene):
        sprocket, run = -1, np.zeros(3)
        if shape.belt is not None:
            if not isinstance(shape.belt, str) or shape.belt not in belts:
                raise ModelError(f"{element}: {unknown('belt', shape.belt, belts)}")
            hinge = hinges[shape.belt]
            if carrier not in carriers[shape.belt]:
                given = f"belt {shape.belt!r} about joint {hinge.name!r}"
                allowed = "a body on which that axis keeps its direction: joined by hinges along it, slides, fixings"
                raise fail(element, "cannot carry this belt", given, allowed)
            sprocket = index[hinge.child]
            run = in_link[carrier].R @ reference[carrier].R.T @ axes[hinge.name] * radii[shape.belt]
        sprockets.append(sprocket)
        runs.append(run)
    return {
        "belt_names": tuple(belts),
        "shape_sprocket": np.array(sprockets, dtype=np.int32),
        "shape_run": np.array(runs, dtype=float).reshape(-1, 3),
    }


def check_belt_pairs(scene: Scene, fields: dict[str, Any]) -> None:
    """No contact pair lets what one belt runs round touch each other, or the belt's sprocket."""
    link, sprocket = fields["shape_link"], fields["shape_sprocket"]
    for (a, b), touch in zip(fields["pair_shape"], fields["pair_touch"], strict=True):
        shared = sprocket[a] >= 0 and sprocket[a] == sprocket[b]
        own = (sprocket[a] >= 0 and sprocket[a] == link[b]) or (sprocket[b] >= 0 and sprocket[b] == link[a])
        if touch and (shared or own):
            given = f"touch True for shapes {a} and {b} of the model"
            allowed = "shapes of one belt, and its sprocket, that do not touch each other"
            raise fail(f"scene {scene.name!r}", "a contact pair lets a belt touch itself", given, allowed)


def _hinge(belt: Belt, joints: list[Joint]) -> Revolute:
    """The hinge of a belt's sprocket, which carries nothing else."""
    element = f"belt {belt.name!r}"
    joint = next(j for j in joints if j.name == belt.joint)
    if not isinstance(joint, Revolute):
        raise fail(element, "is not on a hinge", f"joint {joint.name!r}, {type(joint).__name__}", "a Revolute joint")
    others = [j.name for j in joints if j is not joint and joint.child in (j.parent, j.child)]
    if others:
        allowed = "a sprocket that no other joint connects to anything"
        raise fail(element, "its sprocket has other joints", shown(others), allowed)
    return joint


def bodies_keeping_axis(hinge: Revolute, joints: list[Joint], axes: dict[str, Array]) -> set[str]:
    """Bodies against which the axis of a hinge keeps its direction, without its child, the sprocket."""
    known, waiting = {hinge.parent}, [hinge.parent]
    keeping = [j for j in joints if j is not hinge and _keeps_direction(j, axes[j.name], axes[hinge.name])]
    while waiting:
        body = waiting.pop()
        for joint in keeping:
            for here, there in ((joint.parent, joint.child), (joint.child, joint.parent)):
                if here == body and there not in known:
                    known.add(there)
                    waiting.append(there)
    return known


def _keeps_direction(joint: Joint, axis: Array, direction: Array) -> bool:
    """Whether what a joint connects keeps a direction in common."""
    if isinstance(joint, Revolute):
        return bool(np.linalg.norm(np.cross(axis, direction)) < TOL_PARALLEL)
    return isinstance(joint, (Fixed, Prismatic))
