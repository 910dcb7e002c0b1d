"""Bodies that rest on the ground."""

from __future__ import annotations

import math

from sharnir.scenes.parts import about, turned
from sharnir.spec.elements import Body, Box, HalfSpace, Material
from sharnir.spec.joints import Free
from sharnir.spec.scene import WORLD, Scene

EDGE = 0.2  # m, of the box on the slope


def box_on_slope(angle_deg: float = 20.0, friction: float = 0.5) -> Scene:
    """A box of 1 kg lies on a slope of 20° that falls towards +x; it stays where tan(angle) is below the friction.

    angle_deg: of the slope, degrees. friction: Coulomb coefficient of the pair.
    """
    tilt = about((0.0, 1.0, 0.0), math.radians(angle_deg))
    scene = Scene(name="box_on_slope")
    scene.add(HalfSpace(orientation=tilt, material=Material(friction=friction)))
    scene.add(
        Body(
            name="box",
            mass=1.0,
            shapes=(Box(size=(EDGE, EDGE, EDGE), material=Material(friction=friction)),),
            position=turned(tilt, (0.0, 0.0, EDGE / 2)),
            orientation=tilt,
        )
    )
    scene.add(Free(name="flight", parent=WORLD, child="box"))
    return scene
