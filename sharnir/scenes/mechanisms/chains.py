"""Pendulums and chains."""

from __future__ import annotations

import math
from numbers import Integral

from sharnir.checks import number
from sharnir.errors import fail, shown
from sharnir.scenes.parts import bar, untouched
from sharnir.spec.elements import Body, Frame
from sharnir.spec.joints import Revolute, Spherical
from sharnir.spec.scene import WORLD, Scene

# Planar scenes move in the x–z plane; this hinge axis turns from x towards z, so that angles count from the
# horizontal upwards.
UPWARD = (0.0, -1.0, 0.0)

LINK = 0.2  # m, of the five-link chain; 1 kg/m
MOST = 100_000  # parts


def count(scene: str, n: int) -> int:
    """A number of repeated parts."""
    if isinstance(n, bool) or not isinstance(n, Integral) or not 1 <= n <= MOST:
        raise fail(f"scene {scene!r}", "n is out of range", shown(n), f"a whole number ≥ 1, at most {MOST}")
    return int(n)


def pendulum(length: float = 1.0, angle: float = math.pi / 2) -> Scene:
    """A point mass of 1 kg on a massless rod of 1 m, released at 90° from hanging."""
    number("scene 'pendulum'", "length", length, above=0)
    scene = Scene(name="pendulum")
    scene.add(Body(name="bob", mass=1.0, position=(0.0, 0.0, -length)))
    scene.add(Revolute(name="pivot", parent=WORLD, child="bob", axis=UPWARD, position=angle))
    return untouched(scene)


def double_pendulum(angle1: float = math.pi / 2, angle2: float = math.pi / 2) -> Scene:
    """Two point masses of 1 kg on massless rods of 1 m, both released at 90° from hanging."""
    scene = Scene(name="double_pendulum")
    scene.add(Body(name="upper", mass=1.0, position=(0.0, 0.0, -1.0)))
    scene.add(Body(name="lower", mass=1.0, position=(0.0, 0.0, -2.0)))
    scene.add(Revolute(name="shoulder", parent=WORLD, child="upper", axis=UPWARD, position=angle1))
    elbow = (0.0, 0.0, -1.0)
    scene.add(
        Revolute(name="elbow", parent="upper", child="lower", anchor=elbow, axis=UPWARD, position=angle2 - angle1)
    )
    return untouched(scene)


def rods(n: int = 10, angle: float = -1.0) -> Scene:
    """The chain of [V26]: 10 equal rods, 1 m and 10 kg in all, straight and 1 rad below the horizontal at first."""
    n = count("rods", n)
    length, mass = 1.0 / n, 10.0 / n
    about_centre = mass * length**2 / 12
    scene = Scene(name="rods")
    for k in range(n):
        inertia = (0.0, about_centre, about_centre)
        scene.add(Body(name=f"rod{k + 1}", mass=mass, inertia=inertia, position=((k + 0.5) * length, 0.0, 0.0)))
    for k in range(n):
        parent = f"rod{k}" if k else WORLD
        anchor = (k * length, 0.0, 0.0)
        scene.add(
            Revolute(
                name=f"hinge{k + 1}",
                parent=parent,
                child=f"rod{k + 1}",
                anchor=anchor,
                axis=UPWARD,
                position=0.0 if k else angle,
            )
        )
    return untouched(scene)


def spherical_pendulum(length: float = 1.0, tilt: float = 1.0, swirl: float = 2.0) -> Scene:
    """A rod of 1 kg on a ball joint, tilted by 1 rad from hanging and swirled."""
    number("scene 'spherical_pendulum'", "length", length, above=0)
    scene = Scene(name="spherical_pendulum")
    across, along = length**2 / 12, 1e-4 * length**2
    scene.add(Body(name="rod", mass=1.0, inertia=(across, across, along)))
    scene.add(
        Spherical(
            name="ball",
            parent=WORLD,
            child="rod",
            parent_frame=Frame(),
            child_frame=Frame(anchor=(0.0, 0.0, length / 2)),
            position=(0.0, -math.sin(tilt / 2), 0.0, math.cos(tilt / 2)),
            velocity=(swirl, 0.0, swirl),
        )
    )
    return untouched(scene)


def five_link_chain(friction: float = 0.12, damping: float = 0.0, n: int = 5) -> Scene:
    """Five equal bars of 0.2 m and 0.2 kg on hinges with dry friction, released from the horizontal.

    friction: N m in every hinge; 0.12 brings it to rest in some 20 s, 0 gives the frictionless chain. damping:
    N m s/rad in every hinge. n: number of bars.
    """
    n = count("five_link_chain", n)
    scene = Scene(name="five_link_chain")
    for k in range(n):
        start, end = (LINK * k, 0.0, 0.0), (LINK * (k + 1), 0.0, 0.0)
        name = f"link{k + 1}"
        scene.add(bar(name, start, end))
        scene.add(
            Revolute(
                name=f"hinge{k + 1}",
                parent=f"link{k}" if k else WORLD,
                child=name,
                anchor=start,
                axis=UPWARD,
                friction=friction,
                damping=damping,
            )
        )
    return untouched(scene)
