"""What a scene is made of, besides joints: bodies, shapes, springs. Plain data, no arrays, SI units.

Vectors may be given as any sequence or numpy array; they are kept as tuples. Quaternions are (x, y, z, w).
Values are judged by `sharnir.compile`, not here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
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


def real_array(values: Any) -> NDArray[Any]:
    """Numbers as a new array, or a TypeError or ValueError: True is none, nor is text, nor what no float can hold."""
    array = values if isinstance(values, np.ndarray) else np.asarray(values)
    if array.dtype.kind not in "fiu" and array.size:
        raise TypeError("not numbers")
    if not isinstance(values, (np.ndarray, np.generic)) and _holds_flag(values):
        raise TypeError("not numbers")
    return array.astype(float)


def _holds_flag(values: Any) -> bool:
    """Whether a sequence has True or False in it, which numpy takes for 1 and 0 among numbers."""
    if isinstance(values, (list, tuple)):
        return any(_holds_flag(v) for v in values)
    return isinstance(values, (bool, np.bool_))


@dataclass(kw_only=True)
class Element:
    """Base of everything a scene holds."""

    def __post_init__(self) -> None:
        for f in fields(self):
            setattr(self, f.name, plain(getattr(self, f.name)))


@dataclass(kw_only=True)
class Material(Element):
    """What a surface does to another where they touch.

    friction: Coulomb's coefficient of sliding, ≥ 0. static_friction: what it takes to start sliding, ≥ friction; left
    out, the same. rolling, spinning: m, torque against rolling and against turning about the normal, per normal force.
    restitution: speed after an impact over the speed before it, 0 to 1. threshold: m/s, what approaches slower does
    not bounce. combine: how two materials make the coefficients of their pair, one by one: "geometric" (mean),
    "average", "product", "least" or "largest"; where the two differ, the later rule of this list decides. Of the
    thresholds, the larger one counts. name: by which a MaterialPair gives the coefficients of two materials instead;
    materials of one name are the same in all their values.
    """

    friction: float = 0.5
    static_friction: float | None = None
    rolling: float = 0.0
    spinning: float = 0.0
    restitution: float = 0.0
    threshold: float = 0.02
    combine: str = "geometric"
    name: str | None = None


@dataclass(kw_only=True)
class Shape(Element):
    """A solid fixed to a body, which it gives mass where the body's own is not stated, or to the world.

    position: m, centre in the body frame or the world. orientation: quaternion (x, y, z, w). density: kg/m³. material:
    of its surface. surface_velocity: m/s, with which the surface runs over the shape, as a belt does, in the axes of
    the shape. belt: name of the Belt that runs round it. group, mask: bits, 31 of them; two shapes may touch if the
    group of each has a bit in common with the mask of the other, so that mask 0 touches nothing. Bodies that a joint
    connects do not touch each other. A ContactPair decides for two bodies, or two shapes of them, whatever joints and
    masks say.
    """

    position: Vector = (0.0, 0.0, 0.0)
    orientation: Vector = (0.0, 0.0, 0.0, 1.0)
    density: float = 1000.0
    material: Material = field(default_factory=Material)
    surface_velocity: Vector = (0.0, 0.0, 0.0)
    belt: str | None = None
    group: int = 1
    mask: int = 1


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
class ConvexHull(Shape):
    """The smallest convex solid that holds some points. points: [n, 3] m, about `position`; at least four that do not
    lie in one plane. Those inside it, and those on its faces, may be given too."""

    points: Sequence[Any] | NDArray[np.float64]


@dataclass(kw_only=True)
class HeightField(Shape):
    """Ground of varying height: solid below its surface, without end. Fixed to the world only; its density means
    nothing.

    heights: [rows, columns] m, at least 2×2, along the z axis from `position`; rows follow each other along x, columns
        along y. A cell is cut into two triangles along the diagonal from its lower x and y to its higher ones.
    size: m, along x and y, from the first to the last row and column; `position` is in the middle.
    """

    heights: Sequence[Any] | NDArray[np.float64]
    size: Vector


@dataclass(kw_only=True)
class Mesh(Shape):
    """A surface of triangles that holds what comes from outside. Fixed to the world only; its density means nothing.

    vertices: [n, 3] m, about `position`; those at the same place count as one. faces: [m, 3] numbers of vertices from
    0, counter-clockwise seen from outside.
    """

    vertices: Sequence[Any] | NDArray[np.float64]
    faces: Sequence[Any] | NDArray[np.int32]


@dataclass(kw_only=True)
class Visual(Element):
    """What is seen of a body, or of the world, and neither touches nor weighs: a shape, or a mesh in a file.

    shape: with its own pose. file: path of a mesh. position (m), orientation (quaternion x, y, z, w), scale (along
    x, y, z): of the file's mesh in the body frame or the world. color: red, green, blue, opacity, 0 to 1.
    """

    shape: Shape | None = None
    file: str | None = None
    position: Vector = (0.0, 0.0, 0.0)
    orientation: Vector = (0.0, 0.0, 0.0, 1.0)
    scale: Vector = (1.0, 1.0, 1.0)
    color: Vector = (0.5, 0.5, 0.5, 1.0)


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
    visuals: what is seen of it besides its shapes, or instead of them.
    """

    name: str
    mass: float | None = None
    center_of_mass: Vector | None = None
    inertia: Sequence[Any] | NDArray[np.float64] | None = None
    shapes: Sequence[Shape] = ()
    position: Vector | None = None
    orientation: Vector | None = None
    visuals: Sequence[Visual] = ()


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
