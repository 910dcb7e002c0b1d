"""What a scene is made of, besides joints: bodies, shapes, springs. Plain data, no arrays, SI units.

Vectors may be given as any sequence or numpy array; they are kept as tuples. Quaternions are (x, y, z, w).
Values are judged by `sharnir.compile`, not here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = Sequence[float] | NDArray[np.float64]


def plain(value: Any) -> Any:
    """Arrays and lists as tuples, numpy scalars as Python numbers, so that scenes compare and save."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return tuple(plain(v) for v in value)
    if isinstance(value, Element):
        return replace(value)
    return value


@dataclass(kw_only=True)
class Element:
    """Base of everything a scene holds."""

    def __post_init__(self) -> None:
        for f in fields(self):
            setattr(self, f.name, plain(getattr(self, f.name)))


@dataclass(kw_only=True)
class Shape(Element):
    """A solid fixed to a body, which it gives mass where the body's own is not stated, or to the world.

    position: m, centre in the body frame or the world. orientation: quaternion (x, y, z, w). density: kg/m³.
    friction: Coulomb coefficient ≥ 0; two shapes in contact combine as the geometric mean of theirs.
    """

    position: Vector = (0.0, 0.0, 0.0)
    orientation: Vector = (0.0, 0.0, 0.0, 1.0)
    density: float = 1000.0
    friction: float = 0.5


@dataclass(kw_only=True)
class Sphere(Shape):
    """A ball. radius: m."""

    radius: float


@dataclass(kw_only=True)
class Box(Shape):
    """A box. size: full edge lengths (x, y, z), m."""

    size: Vector


@dataclass(kw_only=True)
class Cylinder(Shape):
    """A cylinder along its z axis. radius, length: m."""

    radius: float
    length: float


@dataclass(kw_only=True)
class Capsule(Shape):
    """A cylinder along z with half-balls on its ends. radius, length of the cylindrical part: m."""

    radius: float
    length: float


@dataclass(kw_only=True)
class HalfSpace(Shape):
    """Everything below the plane through `position` whose normal is the z axis of `orientation`. Fixed to the world
    only; its density means nothing."""


@dataclass(kw_only=True)
class Body(Element):
    """A rigid body.

    mass: kg; left out, it follows from the shapes and their densities.
    center_of_mass: m, body frame; left out, it follows from the shapes, or is the origin.
    inertia: kg m², about the centre of mass in body axes, as 3 principal moments or a 3×3 matrix; left out,
        it follows from the shapes scaled to the mass, or is zero (a point mass).
    position, orientation: pose in the world in the reference configuration, m and quaternion (x, y, z, w), where
        (0, 0, 0, 1) is no turn;
        left out, a joint given in body frames places the body, or it sits at the origin.
    """

    name: str
    mass: float | None = None
    center_of_mass: Vector | None = None
    inertia: Sequence[Any] | NDArray[np.float64] | None = None
    shapes: Sequence[Shape] = ()
    position: Vector | None = None
    orientation: Vector | None = None


@dataclass(kw_only=True)
class Spring(Element):
    """A linear spring and damper between two points.

    parent, child: body names or "world". parent_anchor, child_anchor: m, in the frames of those bodies.
    stiffness: N/m. damping: N s/m. length: m, where the spring is at rest.
    """

    name: str
    parent: str
    child: str
    parent_anchor: Vector = (0.0, 0.0, 0.0)
    child_anchor: Vector = (0.0, 0.0, 0.0)
    stiffness: float = 0.0
    damping: float = 0.0
    length: float = 0.0


@dataclass(kw_only=True)
class Frame(Element):
    """A joint's frame in one of its bodies: anchor in m, z along `axis`, x along `x_axis` (made perpendicular)."""

    anchor: Vector = (0.0, 0.0, 0.0)
    axis: Vector = (0.0, 0.0, 1.0)
    x_axis: Vector | None = None
