"""Mass, centre of mass and inertia of bodies, given or from shapes and densities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sharnir.checks import inertia_matrix, number, vector
from sharnir.compiler.shapes import SHAPES, dimensions, hull_of, shape_kind, shape_pose
from sharnir.enums import ShapeKind
from sharnir.errors import fail, shown
from sharnir.geometry.convex_hull import Hull
from sharnir.rotations import Array
from sharnir.spec.elements import Body, ConvexHull, Shape

WORLD_ONLY_SHAPES: dict[int, str] = {
    ShapeKind.HALF_SPACE: "half-space",
    ShapeKind.HEIGHT_FIELD: "height field",
    ShapeKind.MESH: "mesh",
}  # shapes of the world only


class MassProperties(NamedTuple):
    mass: float  # kg
    com: Array  # m, body frame
    inertia: Array  # kg m², about the centre of mass, body axes


def parallel_axis(mass: float, r: Array) -> Array:
    """Inertia of a point mass at r."""
    return mass * (r @ r * np.eye(3) - np.outer(r, r))


def check_movable(element: str, shape: Shape) -> int:
    """Kind of a shape that may be part of a body."""
    kind = shape_kind(element, shape)
    if kind in WORLD_ONLY_SHAPES:
        name = SHAPES[kind].__name__
        raise fail(element, f"a {WORLD_ONLY_SHAPES[kind]} cannot move", name, f"{name} among the scene's shapes only")
    return kind


def check_shape_list(element: str, shapes: Sequence[Shape]) -> Sequence[Shape]:
    """The shapes of a body, a tuple."""
    if not isinstance(shapes, tuple):
        allowed = "a list of Sphere, Box, Cylinder, Capsule, ConvexHull"
        raise fail(element, "shapes is not a list", shown(shapes), allowed)
    return shapes


def solid_properties(element: str, shape: Shape) -> tuple[float, Array, Hull | None]:
    """Volume (m³), inertia per unit density about the centre (m⁵, [3, 3], shape axes), and the hull if it is one."""
    kind = check_movable(element, shape)
    if isinstance(shape, ConvexHull):
        hull = hull_of(element, shape)
        return hull.volume, hull.inertia, hull
    volume, moments = primitive_properties(kind, dimensions(element, shape))
    return volume, np.diag(moments), None


def primitive_properties(kind: int, size: Array) -> tuple[float, Array]:
    """Volume (m³) and principal moments per unit density about the centre (m⁵), shape axes."""
    if kind == ShapeKind.BOX:
        volume = float(np.prod(size))
        return volume, volume / 12 * (size @ size - size**2)
    r, length, _ = size.tolist()
    if kind == ShapeKind.SPHERE:
        volume = 4 / 3 * np.pi * r**3
        return volume, volume * np.full(3, 0.4 * r * r)
    tube = np.pi * r * r * length
    across, along = tube * (3 * r * r + length * length) / 12, tube * r * r / 2
    if kind == ShapeKind.CYLINDER:
        return tube, np.array([across, across, along])
    if kind == ShapeKind.CAPSULE:  # two half-balls whose centres of mass lie 3/8 r beyond the ends
        balls = 4 / 3 * np.pi * r**3
        across += balls * (0.4 * r * r + length * length / 4 + 3 / 8 * length * r)
        along += balls * 0.4 * r * r
        return tube + balls, np.array([across, across, along])
    raise fail("shape", "its volume and inertia are not known", ShapeKind(kind).name, "SPHERE, BOX, CYLINDER, CAPSULE")


def sum_shapes(element: str, shapes: Sequence[Shape]) -> MassProperties:
    """Sum of the shapes, each with its density and pose."""
    parts = []
    for k, shape in enumerate(check_shape_list(element, shapes)):
        name = f"{element}, shape {k}"
        volume, moments, hull = solid_properties(name, shape)
        density = number(name, "density", shape.density, least=0)
        R, position = shape_pose(name, shape, hull)
        parts.append((density * volume, position, density * R @ moments @ R.T))
    mass = sum(m for m, _, _ in parts)
    if mass <= 0:
        return MassProperties(0.0, np.zeros(3), np.zeros((3, 3)))
    com = sum((m * r for m, r, _ in parts), np.zeros(3)) / mass
    inertia = sum((I + parallel_axis(m, r - com) for m, r, I in parts), np.zeros((3, 3)))
    return MassProperties(mass, com, inertia)


def stated_properties(element: str, body: Body) -> MassProperties:
    """Those of a body that states them all: its shapes weigh nothing."""
    for k, shape in enumerate(check_shape_list(element, body.shapes)):
        check_movable(f"{element}, shape {k}", shape)
    mass = number(element, "mass", body.mass, least=0)
    return MassProperties(
        mass, vector(element, "center_of_mass", body.center_of_mass, 3), inertia_matrix(element, body.inertia)
    )


def mass_properties(body: Body) -> MassProperties:
    element = f"body {body.name!r}"
    if body.mass is not None and body.center_of_mass is not None and body.inertia is not None:
        return stated_properties(element, body)
    from_solids = sum_shapes(element, body.shapes)
    if body.mass is not None and body.shapes and from_solids.mass == 0:  # their form counts, not their density
        from_solids = sum_shapes(element, tuple(replace(shape, density=1.0) for shape in body.shapes))
    if body.mass is None and not body.shapes:
        raise fail(element, "mass is missing", "neither mass nor shapes", "a mass ≥ 0, or shapes with a density")
    mass = from_solids.mass if body.mass is None else number(element, "mass", body.mass, least=0)
    com = from_solids.com
    if body.center_of_mass is not None:
        com = vector(element, "center_of_mass", body.center_of_mass, 3)
    if body.inertia is not None:
        inertia = inertia_matrix(element, body.inertia)
    elif from_solids.mass > 0:
        inertia = from_solids.inertia * (mass / from_solids.mass)
    else:
        inertia = np.zeros((3, 3))
    return MassProperties(mass, com, inertia)
