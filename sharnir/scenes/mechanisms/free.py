"""Bodies in free flight."""

from __future__ import annotations

from sharnir.spec.elements import Body, Box, Vector
from sharnir.spec.joints import Free
from sharnir.spec.scene import WORLD, Scene

BOX_SIZE = (0.1, 0.4, 0.9)  # m, of the boxes benchmark of Gazebo (scpeters/benchmark)


def free_box(
    velocity: Vector = (-2.0, 2.0, 8.0),
    spin: Vector = (0.1, 5.0, 0.1),
    gravity: Vector = (0.0, 0.0, -9.8),
) -> Scene:
    """A box of 10 kg thrown upwards, spinning about its middle axis (Gazebo's boxes benchmark)."""
    scene = Scene(name="free_box", gravity=gravity)
    scene.add(Body(name="box", mass=10.0, shapes=(Box(size=BOX_SIZE),)))
    scene.add(Free(name="flight", parent=WORLD, child="box", velocity=(*velocity, *spin)))
    return scene
