"""Parts that scenes are built from: bars, rods with round ends, and rotations between directions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sharnir.rotations import Array, frame_matrix, matrix_to_quat, quat_to_matrix
from sharnir.spec.elements import Body, Box, Capsule, Material, Vector
from sharnir.spec.scene import Scene

BAR_DENSITY = 1.0  # kg/m, of the bars of linkages
BAR_WIDTH = 0.02  # m, of their square section


def about(axis: Vector, angle: float) -> tuple[float, ...]:
    """Quaternion (x, y, z, w) of a turn by `angle` (rad) about a unit axis."""
    return (*(np.sin(angle / 2) * np.array(axis, dtype=float)).tolist(), float(np.cos(angle / 2)))


def turned(orientation: Vector, vector: Vector) -> Array:
    """A vector given in a frame of that orientation, in the world's axes."""
    return quat_to_matrix(np.array(orientation, dtype=float)) @ np.array(vector, dtype=float)


def bar(name: str, start: Vector, end: Vector, mass: float | None = None, up: Vector = (0.0, 0.0, 1.0)) -> Body:
    """A bar of square section between two points of the world (m), of 1 kg/m unless its mass (kg) is given.

    Its frame is in its middle, x from start to end, z along `up` (made perpendicular to x).
    """
    a, b = np.array(start, dtype=float), np.array(end, dtype=float)
    x, z = b - a, np.array(up, dtype=float)
    length = float(np.linalg.norm(x))
    z = z - x * (z @ x) / length**2
    size = (length, BAR_WIDTH, BAR_WIDTH)
    return Body(
        name=name,
        mass=BAR_DENSITY * length if mass is None else mass,
        shapes=(Box(size=size, mask=0),),
        position=(a + b) / 2,
        orientation=matrix_to_quat(frame_matrix(z, x)),
    )


def untouched(scene: Scene) -> Scene:
    """The scene, with shapes that are seen but touch nothing: bars of linkages lie in one plane."""
    for body in scene.bodies:
        body.shapes = tuple(replace(shape, mask=0) for shape in body.shapes)
    return scene


def capsule(
    start: Vector, end: Vector, radius: float, density: float = 1000.0, material: Material | None = None
) -> Capsule:
    """A capsule whose half-balls have their centres at two points of the body's frame (m). density: kg/m³."""
    a, b = np.array(start, dtype=float), np.array(end, dtype=float)
    return Capsule(
        radius=radius,
        length=float(np.linalg.norm(b - a)),
        position=(a + b) / 2,
        orientation=matrix_to_quat(frame_matrix(b - a, None)),
        density=density,
        material=material or Material(),
    )
