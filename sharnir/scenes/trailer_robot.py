"""The demonstrator of [L15]: a tracked robot tows a trailer over a course of turns, a bank and a hill.

The trailer hangs on a ball joint whose angles about X, Y and Z of R = Rx Ry Rz (x forward, z up, of the robot) end at
±18°, ±15° and ±18°. Turns bring it to its limits about Z, the hill about Y, the bank, which lifts one track, about X.
"""

from __future__ import annotations

import math

import numpy as np

from sharnir.builders.vehicles import Wheel, add_wheel
from sharnir.rotations import frame_matrix, matrix_to_quat
from sharnir.scenes.parts import about, capsule
from sharnir.scenes.tracked_robot import SIDES, add_robot
from sharnir.spec.elements import Body, Box, ConvexHull, HalfSpace, Material, Vector, Visual
from sharnir.spec.joints import Spherical
from sharnir.spec.scene import WORLD, Scene
from sharnir.spec.sensors import Camera

FRICTION = 0.8  # of belts and ground
VARIED = 0.1  # share by which seeds vary friction, and m and rad by which they vary the start
LIMITS = tuple(math.radians(a) for a in (18.0, 15.0, 18.0))  # about X, Y, Z

HITCH = (-0.56, 0.0, 0.25)  # m, where the robot starts
AXLE_BEHIND, WHEEL_RADIUS, WHEEL_WIDTH, TRAILER_TREAD = 0.8, 0.12, 0.05, 0.6  # m
CARGO_SIZE, TRAILER_MASS, WHEEL_MASS = (0.6, 0.44, 0.2), 22.0, 1.5  # m, kg
AHEAD_OF_AXLE = 0.06  # m, of the trailer's centre of mass: the hitch bears some of it

# The course: (x, y) m of the middle of the way, corners rounded by the driver.
WAY = ((0.0, 0.0), (3.0, 0.0), (3.0, 3.0), (21.0, 3.0))
LANE = 3.0  # m, y of bank and hill
BANK_START, BANK_RISE, BANK_LENGTH, BANK_HEIGHT = 7.0, 0.9, 1.2, 0.26  # m; its left side is under the left track
HILL_START, HILL_HEIGHT, HILL_TOP, HILL_ANGLE = 12.5, 0.8, 2.6, math.radians(20.0)  # m, m, m, rad
ROAD_WIDTH = 2.4  # m, of the hill
CAMERAS = (  # name, body, where it is and what it looks at, m
    ("course", WORLD, (10.0, -7.0, 6.0), (10.5, 2.0, 0.0)),
    ("behind", "chassis", (-3.2, 0.0, 1.5), (0.0, 0.0, 0.1)),
    ("beside", "chassis", (0.0, -2.8, 1.0), (0.2, 0.0, 0.0)),
)


def trailer_robot(seed: int = 0) -> Scene:
    """A tracked robot with DC motors tows a trailer on a limited ball joint over a course of turns, a bank and a hill.

    seed: of friction, by up to 10 %, and of place and heading at the start, by up to 0.1 m and 0.1 rad; 0: none of it.
    """
    shifts = np.random.default_rng(seed).uniform(-VARIED, VARIED, 4) if seed else np.zeros(4)
    ground = Material(friction=FRICTION * (1.0 + shifts[0]))
    scene = Scene(name="trailer_robot", timestep=0.005)
    _add_course(scene, ground)
    heading = about((0.0, 0.0, 1.0), float(shifts[3]))
    add_robot(scene, ground, (float(shifts[1]), float(shifts[2]), 0.0, *heading))
    _add_trailer(scene)
    for name, body, eye, at in CAMERAS:
        scene.add(Camera(name=name, body=body, position=eye, orientation=_looking(eye, at)))
    return scene


def _add_course(scene: Scene, ground: Material) -> None:
    scene.add(HalfSpace(material=ground))
    low, high = BANK_START + BANK_RISE, BANK_START + BANK_RISE + BANK_LENGTH
    profile = [(BANK_START, 0.0), (low, BANK_HEIGHT), (high, BANK_HEIGHT), (high + BANK_RISE, 0.0)]
    scene.add(ConvexHull(points=_extruded(profile, 0.1, 1.0), position=(0.0, LANE, 0.0), material=ground))
    run = HILL_HEIGHT / math.tan(HILL_ANGLE)
    top, end = HILL_START + run, HILL_START + run + HILL_TOP
    profile = [(HILL_START, 0.0), (top, HILL_HEIGHT), (end, HILL_HEIGHT), (end + run, 0.0)]
    points = _extruded(profile, -ROAD_WIDTH / 2, ROAD_WIDTH / 2)
    scene.add(ConvexHull(points=points, position=(0.0, LANE, 0.0), material=ground))


def _extruded(profile: list[tuple[float, float]], right: float, left: float) -> list[tuple[float, float, float]]:
    """Corners of a solid with a profile (x, z) between two sides."""
    return [(x, y, z) for x, z in profile for y in (right, left)]


def _add_trailer(scene: Scene) -> None:
    """A cart on two wheels; its frame is in the hitch."""
    axle = (-AXLE_BEHIND, 0.0, WHEEL_RADIUS - HITCH[2])
    cargo = Box(size=CARGO_SIZE, position=(-AXLE_BEHIND, 0.0, 0.12))
    front = -AXLE_BEHIND + CARGO_SIZE[0] / 2
    bar = capsule((0.0, 0.0, 0.0), (front, 0.0, 0.0), 0.025)
    beam = Box(size=(0.06, TRAILER_TREAD - 0.1, 0.06), position=(axle[0], 0.0, axle[2]), group=0, mask=0)
    seen = ((cargo, (0.25, 0.4, 0.6, 1.0)), (bar, (0.2, 0.2, 0.2, 1.0)), (beam, (0.2, 0.2, 0.2, 1.0)))
    scene.add(
        Body(
            name="trailer", mass=TRAILER_MASS, shapes=(cargo, bar), position=HITCH,
            center_of_mass=(-AXLE_BEHIND + AHEAD_OF_AXLE, 0.0, 0.06),
            visuals=[Visual(shape=shape, color=color) for shape, color in seen],
        )
    )  # fmt: skip
    scene.add(
        Spherical(
            name="hitch", parent="chassis", child="trailer", anchor=HITCH, axis=(0.0, 0.0, 1.0), x_axis=(1.0, 0.0, 0.0),
            limits=[(-a, a) for a in LIMITS], limit_angles="euler", damping=0.5,
        )
    )  # fmt: skip
    plastic = Material(friction=0.3, combine="least")
    for name, side in SIDES:
        place = (HITCH[0] + axle[0], side * TRAILER_TREAD / 2, WHEEL_RADIUS)
        add_wheel(
            scene,
            Wheel(
                name=f"trailer_{name}", parent="trailer", position=place, radius=WHEEL_RADIUS, width=WHEEL_WIDTH,
                mass=WHEEL_MASS, material=plastic,
            ),
        )  # fmt: skip


def _looking(eye: Vector, at: Vector) -> tuple[float, float, float, float]:
    """Orientation of a camera: x from eye to what it looks at, z up."""
    x = np.subtract(at, eye)
    up = np.array([0.0, 0.0, 1.0]) * (x @ x) - x * x[2]
    quat = matrix_to_quat(frame_matrix(up, x))
    return (float(quat[0]), float(quat[1]), float(quat[2]), float(quat[3]))
