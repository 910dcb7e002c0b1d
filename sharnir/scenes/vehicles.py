"""Parts of vehicles: a wheel suspension, and a tractor with a trailer. x forward, y left, z up."""

from __future__ import annotations

import math

import numpy as np

from sharnir.checks import number
from sharnir.scenes.parts import bar, capsule, untouched
from sharnir.spec.actuators import Motor
from sharnir.spec.elements import Body, Box, Cylinder, Spring
from sharnir.spec.joints import Revolute, Spherical, Universal
from sharnir.spec.scene import WORLD, Scene
from sharnir.spec.sensors import Camera

FORWARD = (1.0, 0.0, 0.0)
UP = (0.0, 0.0, 1.0)

# Suspension of a left wheel: points in the vehicle, m.
LOWER_INNER, LOWER_OUTER = (0.0, 0.35, 0.20), (0.0, 0.75, 0.18)
UPPER_INNER, UPPER_OUTER = (0.0, 0.42, 0.45), (-0.02, 0.72, 0.47)
TIE_INNER, TIE_OUTER = (-0.13, 0.38, 0.25), (-0.13, 0.74, 0.24)
HUB = (0.0, 0.80, 0.31)
STRUT_TOP, STRUT_FOOT = (0.0, 0.47, 0.62), (0.0, 0.60, 0.1875)
TYRE_RADIUS, TYRE_WIDTH = 0.31, 0.20
SPRING, DAMPER = 30e3, 2e3  # N/m, N s/m
PRELOAD = 0.01  # m, by which the spring is compressed at the start

# Tractor and trailer.
HITCH_HEIGHT = 0.5  # m
TRACTOR_SIZE, TRACTOR_MASS = (3.0, 1.6, 1.2), 1200.0  # m, kg
TRAILER_SIZE, TRAILER_MASS = (2.0, 1.5, 1.0), 400.0
DRAWBAR = 0.8  # m, from the hitch to the trailer's front
TRAILER_LIMITS = tuple((-math.radians(a), math.radians(a)) for a in (18.0, 15.0, 18.0))  # roll, pitch, yaw


def double_wishbone() -> Scene:
    """The suspension of one wheel on two wishbones: sprung, damped, let go in bump, it settles 51 mm lower.

    The chassis is the world. Two degrees of freedom are left: travel and the turning of the wheel.
    """
    scene = Scene(name="double_wishbone")
    scene.add(_wishbone("lower", 4.0, LOWER_INNER, LOWER_OUTER))
    scene.add(_wishbone("upper", 2.5, UPPER_INNER, UPPER_OUTER))
    scene.add(_upright())
    scene.add(bar("tie_rod", TIE_INNER, TIE_OUTER, mass=1.0))
    axle = (-math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5))  # a cylinder's z along y
    tyre = Cylinder(radius=TYRE_RADIUS, length=TYRE_WIDTH, orientation=axle)
    scene.add(Body(name="wheel", mass=20.0, shapes=(tyre,), position=HUB))
    scene.add(Revolute(name="lower_hinge", parent=WORLD, child="lower", anchor=LOWER_INNER, axis=FORWARD))
    scene.add(Revolute(name="upper_hinge", parent=WORLD, child="upper", anchor=UPPER_INNER, axis=FORWARD))
    scene.add(
        Universal(name="rack", parent=WORLD, child="tie_rod", anchor=TIE_INNER, axis=FORWARD, axis2=UP)
    )  # no third turn: the rod does not spin about itself
    scene.add(Spherical(name="lower_ball", parent="lower", child="upright", anchor=LOWER_OUTER))
    scene.add(Spherical(name="upper_ball", parent="upper", child="upright", anchor=UPPER_OUTER))
    scene.add(Spherical(name="tie_ball", parent="tie_rod", child="upright", anchor=TIE_OUTER))
    scene.add(Revolute(name="bearing", parent="upright", child="wheel", anchor=HUB, axis=(0.0, 1.0, 0.0)))
    foot = np.array(STRUT_FOOT) - np.array(LOWER_INNER)
    length = float(np.linalg.norm(np.array(STRUT_TOP) - np.array(STRUT_FOOT)))
    scene.add(
        Spring(
            name="coilover",
            parent=WORLD,
            child="lower",
            parent_anchor=STRUT_TOP,
            child_anchor=foot,
            stiffness=SPRING,
            damping=DAMPER,
            length=length + PRELOAD,
        )
    )
    return untouched(scene)


def _wishbone(name: str, mass: float, inner: tuple[float, ...], outer: tuple[float, ...]) -> Body:
    """Two arms from points 0.15 m before and behind the inner one, on whose height the frame is, to the outer one."""
    tip = np.array(outer) - np.array(inner)
    arms = [capsule((side * 0.15, 0.0, 0.0), tip, 0.018) for side in (1, -1)]
    return Body(name=name, mass=mass, shapes=arms, position=inner)


def _upright() -> Body:
    """From ball to ball, with arms to the tie rod and the hub; its frame is at the hub."""
    lower, upper, tie = (np.array(p) - np.array(HUB) for p in (LOWER_OUTER, UPPER_OUTER, TIE_OUTER))
    middle = (lower + upper) / 2
    shapes = [capsule(lower, upper, 0.03), capsule(middle, tie, 0.02), capsule(middle, (0.0, -0.02, 0.0), 0.04)]
    return Body(name="upright", mass=10.0, shapes=shapes, position=HUB)


def trailer(speed: float = 6.0, radius: float = 15.0) -> Scene:
    """A tractor is driven round a circle, a trailer without wheels hangs on its hitch: sag, sway and roll meet limits.

    speed: of the tractor, m/s, negative to drive the other way. radius: of the circle, m, to the left of the start.
    The hitch is a ball; roll, pitch and yaw of R = Rx Ry Rz, x backwards and z up, end at ±18°, ±15° and ±18°.
    """
    number("scene 'trailer'", "radius", radius, above=0)
    scene = Scene(name="trailer")
    length, _, height = TRACTOR_SIZE
    tail = (-length / 2, 0.0, HITCH_HEIGHT)
    scene.add(
        Body(
            name="tractor",
            mass=TRACTOR_MASS,
            shapes=(Box(size=TRACTOR_SIZE),),
            position=(0.0, 0.0, HITCH_HEIGHT + height / 2),
        )
    )
    long, _, high = TRAILER_SIZE
    body = Box(size=TRAILER_SIZE, position=(-DRAWBAR - long / 2, 0.0, high / 2))
    drawbar = Box(size=(DRAWBAR, 0.1, 0.1), position=(-DRAWBAR / 2, 0.0, 0.0))
    scene.add(Body(name="trailer", mass=TRAILER_MASS, shapes=(body, drawbar), position=tail))
    scene.add(Revolute(name="circle", parent=WORLD, child="tractor", anchor=(0.0, radius, 0.0), axis=UP))
    scene.add(
        Spherical(
            name="hitch",
            parent="tractor",
            child="trailer",
            anchor=tail,
            axis=UP,
            x_axis=(-1.0, 0.0, 0.0),
            limits=TRAILER_LIMITS,
            limit_angles="euler",
            damping=20.0,
        )
    )
    scene.add(Motor(name="engine", joint="circle", velocity=speed / radius))
    scene.add(Camera(name="driver", body="tractor", position=(0.0, 0.0, height / 2 + 0.3)))
    back = (-math.sin(0.2), 0.0, math.cos(0.2), 0.0)  # 0.4 rad below what is behind
    scene.add(Camera(name="mirror", body="tractor", position=(-length / 2, 0.0, height / 2 + 0.8), orientation=back))
    return untouched(scene)
