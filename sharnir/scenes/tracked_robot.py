"""A mobile robot of 100 kg on two tracks with flippers, driven by DC motors. x forward, y left, z up."""

from __future__ import annotations

import math
from typing import Any

from sharnir.builders.vehicles import AXLE, Suspension, Track, add_track
from sharnir.spec.dc_motors import DCMotor
from sharnir.spec.elements import Body, Box, Cylinder, Material, Vector, Visual
from sharnir.spec.joints import Fixed, Free, Revolute
from sharnir.spec.scene import WORLD, Scene
from sharnir.spec.sensors import Camera

G = 9.81  # m/s²
SIDES = (("left", 1.0), ("right", -1.0))

CHASSIS_SIZE, CHASSIS_MASS = (0.84, 0.42, 0.16), 70.0  # m, kg
CHASSIS_HEIGHT = 0.18  # m, of its middle
HEAVY = (0.04, 0.0, -0.02)  # m, its centre of mass from there: batteries lie low and in front
RADIUS = 0.1  # m, of the tracks' ends and road wheels
TREAD = 0.6  # m, from track to track
TRACK_LENGTH, TRACK_WIDTH, TRACK_MASS = 0.8, 0.12, 8.0  # m between the axles of the ends; m; kg
WHEELS, SPACING, DROP, WHEEL_MASS = 4, 0.15, 0.03, 0.5  # road wheels of a track, m apart, m below the ends, kg each
SPROCKET_MASS = 2.0  # kg
FLIPPER_LENGTH, FLIPPER_WIDTH, FLIPPER_MASS, FLIPPER_PLACE = 0.32, 0.06, 3.0, 0.4  # m, m, kg, m from the middle
FLIPPER_RAISED = -1.2  # rad, at the start; positive is down
FLIPPER_FRICTION = 12.0  # N m, of its worm gear: it stays where it is
ROBOT_MASS = CHASSIS_MASS + 2 * (TRACK_MASS + SPROCKET_MASS + WHEELS * WHEEL_MASS + FLIPPER_MASS)  # kg

TOP_SPEED = 1.0  # m/s, of the belts at full voltage without load
DRIVE: dict[str, Any] = {  # full voltage counts as 1 V; a little less current than at standstill
    "stall_torque": 2.0, "idle_speed": 400.0, "max_current": 760.0, "electrical_time": 1e-3, "rotor_inertia": 4e-5,
    "ratio": 400.0 * RADIUS / TOP_SPEED, "brake": 1.0,
}  # fmt: skip
FLIPPER_DRIVE: dict[str, Any] = {
    "stall_torque": 0.8, "idle_speed": 300.0, "max_current": 228.0, "electrical_time": 1e-3,
    "rotor_inertia": 2e-5, "ratio": 200.0,
}  # fmt: skip


def add_robot(scene: Scene, material: Material, pose: Vector) -> None:
    """Add the robot: bodies `chassis`, tracks and flippers `left`, `right`, `left_flipper`, `right_flipper`.

    material: of its belts. pose: of the chassis at the start, (x, y, z, quaternion) against standing on z = 0 at the
    origin. DC motors have the names of the tracks and flippers they move; inputs are fractions of full voltage.
    """
    middle = (0.0, 0.0, CHASSIS_HEIGHT)
    hull = Box(size=CHASSIS_SIZE)
    mast = Cylinder(radius=0.02, length=0.3, position=(-0.3, 0.0, CHASSIS_SIZE[2] / 2 + 0.15), group=0, mask=0)
    scene.add(
        Body(
            name="chassis", mass=CHASSIS_MASS, center_of_mass=HEAVY, shapes=(hull,), position=middle,
            visuals=(Visual(shape=hull, color=(0.85, 0.55, 0.1, 1.0)), Visual(shape=mast, color=(0.2, 0.2, 0.2, 1.0))),
        )
    )  # fmt: skip
    scene.add(Free(name="robot", parent=WORLD, child="chassis", position=_raised(pose, CHASSIS_HEIGHT)))
    for name, side in SIDES:
        _add_side(scene, material, name, side)
    scene.add(Camera(name="driver", body="chassis", position=(-0.3, 0.0, 0.4), orientation=_nodding(0.25)))


def _add_side(scene: Scene, material: Material, name: str, side: float) -> None:
    """A track and its flipper, with their motors."""
    load = (ROBOT_MASS - 2 * WHEELS * WHEEL_MASS) * G / (2 * WHEELS)
    spring = Suspension(stiffness=2e4, damping=500.0, travel=0.015, load=load, mass=WHEEL_MASS)
    place = (0.0, side * TREAD / 2, RADIUS + DROP)
    add_track(
        scene,
        Track(
            name=name, position=place, length=TRACK_LENGTH, radius=RADIUS, width=TRACK_WIDTH, mass=TRACK_MASS,
            sprocket_mass=SPROCKET_MASS, wheels=WHEELS, spacing=SPACING, drop=DROP, suspension=spring,
            material=material,
        ),
    )  # fmt: skip
    scene.add(Fixed(name=name, parent="chassis", child=name, anchor=place))
    scene.add(DCMotor(name=name, joint=f"{name}_sprocket", **DRIVE))
    flipper, pivot = f"{name}_flipper", (TRACK_LENGTH / 2, side * FLIPPER_PLACE, RADIUS + DROP)
    add_track(
        scene,
        Track(
            name=flipper, position=(pivot[0] + FLIPPER_LENGTH / 2, *pivot[1:]), length=FLIPPER_LENGTH, radius=RADIUS,
            width=FLIPPER_WIDTH, mass=FLIPPER_MASS, belt=f"{name}_sprocket", material=material,
        ),
    )  # fmt: skip
    scene.add(
        Revolute(
            name=flipper, parent=name, child=flipper, anchor=pivot, axis=AXLE, position=FLIPPER_RAISED,
            friction=FLIPPER_FRICTION,
        )
    )  # fmt: skip
    scene.add(DCMotor(name=flipper, joint=flipper, **FLIPPER_DRIVE))


def _raised(pose: Vector, height: float) -> tuple[float, ...]:
    x, y, z, *turn = pose
    return (x, y, z + height, *turn)


def _nodding(angle: float) -> tuple[float, float, float, float]:
    """A camera that looks `angle` (rad) below what is ahead."""
    return (0.0, math.sin(angle / 2), 0.0, math.cos(angle / 2))
