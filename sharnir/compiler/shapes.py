"""Shapes as arrays: those of the bodies in the order of links, then those fixed to the world."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from sharnir.compiler.checks import number, quaternion, vector
from sharnir.compiler.motions import Pose
from sharnir.errors import fail
from sharnir.rotations import Array, quat_to_matrix
from sharnir.spec.elements import Body, Box, Capsule, Cylinder, HalfSpace, Shape, Sphere
from sharnir.spec.scene import WORLD, Scene

SHAPES: tuple[type[Shape], ...] = (Sphere, Box, Cylinder, Capsule, HalfSpace)  # in the order of sharnir.kinds


def shape_kind(element: str, shape: Shape) -> int:
    """Index into SHAPES."""
    for kind, cls in enumerate(SHAPES):
        if isinstance(shape, cls):
            return kind
    raise fail(element, "unknown shape", type(shape).__name__, "Sphere, Box, Cylinder, Capsule or HalfSpace")


def dimensions(element: str, shape: Shape) -> Array:
    """[3] m: radius of a sphere, edges of a box, radius and length of a cylinder or capsule, zeros of a half-space."""
    if isinstance(shape, Box):
        size = vector(element, "size", shape.size, 3)
        for edge in size:
            number(element, "size component", float(edge), above=0)
        return size
    if isinstance(shape, (Sphere, Cylinder, Capsule)):
        radius = number(element, "radius", shape.radius, above=0)
        length = 0.0 if isinstance(shape, Sphere) else number(element, "length", shape.length, above=0)
        return np.array([radius, length, 0.0])
    return np.zeros(3)


def shape_pose(element: str, shape: Shape) -> Pose:
    """Pose of a shape in its body, or in the world."""
    R = quat_to_matrix(quaternion(element, "orientation", shape.orientation))
    return Pose(R, vector(element, "position", shape.position, 3))


def described_shapes(bodies: Iterable[Body], scene: Scene) -> Iterator[tuple[str, str, Shape]]:
    """(what carries it, how a message names it, shape), in the order of the arrays."""
    for body in bodies:
        for k, shape in enumerate(body.shapes):
            yield body.name, f"body {body.name!r}, shape {k}", shape
    for k, shape in enumerate(scene.shapes):
        yield WORLD, f"{WORLD}, shape {k}", shape


def shape_arrays(
    bodies: Iterable[Body], scene: Scene, index: dict[str, int], in_link: dict[str, Pose]
) -> dict[str, Any]:
    """Kinds, poses in link frames, sizes and friction of all shapes."""
    kinds, links, poses, sizes, friction = [], [], [], [], []
    for carrier, element, shape in described_shapes(bodies, scene):
        kinds.append(shape_kind(element, shape))
        links.append(index[carrier])
        poses.append(in_link[carrier] @ shape_pose(element, shape))
        sizes.append(dimensions(element, shape))
        friction.append(number(element, "friction", shape.friction, least=0))
        number(element, "density", shape.density, least=0)
    return {
        "shape_kind": np.array(kinds, dtype=np.int32),
        "shape_link": np.array(links, dtype=np.int32),
        "shape_rot": np.array([p.R for p in poses], dtype=float).reshape(-1, 3, 3),
        "shape_pos": np.array([p.x for p in poses], dtype=float).reshape(-1, 3),
        "shape_size": np.array(sizes, dtype=float).reshape(-1, 3),
        "shape_friction": np.array(friction, dtype=float),
    }
