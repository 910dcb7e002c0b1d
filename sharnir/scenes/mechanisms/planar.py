"""Planar linkages of bars, built from the points where their hinges are; drawn where they start, all angles zero."""

from __future__ import annotations

import math

import numpy as np

from sharnir.checks import number
from sharnir.errors import fail
from sharnir.rotations import Array
from sharnir.scenes.mechanisms.chains import UPWARD
from sharnir.scenes.parts import bar, untouched
from sharnir.spec.actuators import Motor
from sharnir.spec.elements import Body, Box
from sharnir.spec.joints import Prismatic, Revolute
from sharnir.spec.scene import WORLD, Scene

PEAUCELLIER_ARM = 0.5  # m, of the two long arms
PEAUCELLIER_SIDE = 0.2  # m, of the rhombus
SLIDER_MASS = 0.5  # kg
SLIDER_SIZE = (0.06, 0.04, 0.04)  # m
GRAVITY = 9.81  # m/s²


def meeting(where: str, centre: Array, radius: float, other: Array, other_radius: float) -> Array:
    """The point at these distances (m) from two centres in a plane that lies left of the way from one to the other."""
    way = other - centre
    distance = float(np.linalg.norm(way))
    along = (distance**2 + radius**2 - other_radius**2) / (2 * distance) if distance > 0 else np.inf
    if not abs(along) <= radius * (1 + 1e-12):
        given = f"links of {radius:g} m and {other_radius:g} m over a distance of {distance:g} m"
        raise fail(where, "the links do not meet", given, "lengths and a start that close the loop")
    way = way / distance
    return centre + along * way + math.sqrt(max(0.0, radius**2 - along**2)) * np.array([-way[1], way[0]])


def upright(point: Array) -> tuple[float, float, float]:
    """A point of the linkage's plane in the x–z plane of the world."""
    return (float(point[0]), 0.0, float(point[1]))


def level(point: Array) -> tuple[float, float, float]:
    """A point of the linkage's plane in the x–y plane of the world."""
    return (float(point[0]), float(point[1]), 0.0)


def four_bar(
    crank: float = 0.1,
    coupler: float = 0.25,
    rocker: float = 0.2,
    ground: float = 0.25,
    start: float = 1.0,
    speed: float | None = None,
    spin: float = 2.0,
    gravity: bool = False,
) -> Scene:
    """A four-bar linkage in the x–z plane whose crank turns fully; weightless and set spinning, or driven.

    crank, coupler, rocker, ground: lengths, m; crank=0.1, coupler=0.2, rocker=0.1, ground=0.2 is a parallelogram, flat
    twice a turn. start: crank angle from +x upwards, rad. speed: rad/s of a motor on the crank, or None for no motor;
    spin: initial crank rate without one, rad/s. gravity: whether weight acts.
    """
    where = "scene 'four_bar'"
    for name, length in (("crank", crank), ("coupler", coupler), ("rocker", rocker), ("ground", ground)):
        number(where, name, length, above=0)
    pivots = np.zeros(2), np.array([ground, 0.0])
    pin = crank * np.array([math.cos(start), math.sin(start)])
    far = meeting(where, pin, coupler, pivots[1], rocker)
    scene = Scene(name="four_bar", gravity=(0.0, 0.0, -GRAVITY if gravity else 0.0))
    scene.add(bar("crank", upright(pivots[0]), upright(pin), up=UPWARD))
    scene.add(bar("coupler", upright(pin), upright(far), up=UPWARD))
    scene.add(bar("rocker", upright(pivots[1]), upright(far), up=UPWARD))
    rate = spin if speed is None else None
    scene.add(_hinge("joint1", WORLD, "crank", pivots[0], velocity=rate))
    scene.add(_hinge("joint2", "crank", "coupler", pin))
    scene.add(_hinge("joint3", "coupler", "rocker", far))
    scene.add(_hinge("joint4", WORLD, "rocker", pivots[1]))
    if speed is not None:
        scene.add(Motor(name="motor", joint="joint1", velocity=number(where, "speed", speed)))
    return untouched(scene)


def slider_crank(crank: float = 0.1, rod: float = 0.3, speed: float = 5.0, start: float = 0.5) -> Scene:
    """A crank in the x–z plane drives a slider of 0.5 kg along x through a connecting rod, motor on the crank.

    crank, rod: lengths, m. speed: of the motor, rad/s. start: crank angle from +x upwards, rad.
    """
    where = "scene 'slider_crank'"
    number(where, "crank", crank, above=0)
    number(where, "rod", rod, above=crank)
    pin = crank * np.array([math.cos(start), math.sin(start)])
    wrist = np.array([pin[0] + math.sqrt(rod**2 - pin[1] ** 2), 0.0])
    scene = Scene(name="slider_crank")
    scene.add(bar("crank", (0.0, 0.0, 0.0), upright(pin), up=UPWARD))
    scene.add(bar("rod", upright(pin), upright(wrist), up=UPWARD))
    scene.add(Body(name="slider", mass=SLIDER_MASS, shapes=(Box(size=SLIDER_SIZE),), position=upright(wrist)))
    scene.add(_hinge("joint1", WORLD, "crank", np.zeros(2)))
    scene.add(_hinge("joint2", "crank", "rod", pin))
    scene.add(_hinge("joint3", "rod", "slider", wrist))
    scene.add(Prismatic(name="guide", parent=WORLD, child="slider", anchor=upright(wrist), axis=(1.0, 0.0, 0.0)))
    scene.add(Motor(name="motor", joint="joint1", velocity=speed))
    return untouched(scene)


def peaucellier(r: float = 0.2, speed: float = 1.0, start: float = 0.0, spin: float = 0.0) -> Scene:
    """The Peaucellier–Lipkin linkage in the x–y plane: a motor turns the crank, point T runs on a straight line.

    r: crank length and distance of the fixed pivots O and Q, m. speed: of the motor on the crank, rad/s; r = 0.2 jams
    at ±82.8°. start: crank angle from +x, rad. spin: initial crank rate, rad/s. Gravity acts across the plane.

    With arms L and sides s, OP·OT = L² - s², and P runs on a circle through O: T runs on x = (L² - s²)/(2 r). T is the
    far end of `side_at` and `side_bt` (x = +s/2 in their frames); its hinge is joint6.
    """
    where = "scene 'peaucellier'"
    number(where, "r", r, above=0)
    o, q = np.zeros(2), np.array([r, 0.0])
    p = q + r * np.array([math.cos(start), math.sin(start)])
    a = meeting(where, o, PEAUCELLIER_ARM, p, PEAUCELLIER_SIDE)
    b = meeting(where, p, PEAUCELLIER_SIDE, o, PEAUCELLIER_ARM)
    t = a + b - p
    scene = Scene(name="peaucellier")
    bars = (
        ("crank", q, p), ("arm_a", o, a), ("arm_b", o, b),
        ("side_pa", p, a), ("side_pb", p, b), ("side_at", a, t), ("side_bt", b, t),
    )  # fmt: skip
    for name, begin, end in bars:
        scene.add(bar(name, level(begin), level(end)))
    hinges = (
        (WORLD, "crank", q), (WORLD, "arm_a", o), (WORLD, "arm_b", o), ("crank", "side_pa", p), ("crank", "side_pb", p),
        ("side_at", "side_bt", t), ("arm_a", "side_at", a), ("arm_a", "side_pa", a), ("arm_b", "side_bt", b),
        ("arm_b", "side_pb", b),
    )  # fmt: skip
    for k, (parent, child, place) in enumerate(hinges):
        rate = spin if k == 0 else None
        scene.add(
            Revolute(
                name=f"joint{k + 1}",
                parent=parent,
                child=child,
                anchor=level(place),
                axis=(0.0, 0.0, 1.0),
                velocity=rate,
            )
        )
    scene.add(Motor(name="motor", joint="joint1", velocity=speed))
    return untouched(scene)


def _hinge(name: str, parent: str, child: str, place: Array, velocity: float | None = None) -> Revolute:
    """A hinge of a linkage in the x–z plane; angles count from x upwards. velocity: initial rate, rad/s."""
    return Revolute(name=name, parent=parent, child=child, anchor=upright(place), axis=UPWARD, velocity=velocity)
