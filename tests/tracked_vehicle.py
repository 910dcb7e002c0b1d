"""A tracked vehicle for tests: symmetric, two tracks of four road wheels, a DC motor on each sprocket."""

from __future__ import annotations

import sharnir as sh

G = 9.81  # m/s²
RADIUS, LENGTH, TREAD = 0.1, 0.7, 0.6  # m: of a track's ends, between them, from track to track
WHEELS, SPACING = 4, 0.125  # of a track: road wheels, m from one to the next
GROUND = WHEELS * SPACING  # m, length of ground that each track presses on
CHASSIS, FRAME, WHEEL, SPROCKET = 60.0, 6.0, 0.5, 2.0  # kg
MASS = CHASSIS + 2 * (FRAME + WHEELS * WHEEL + SPROCKET)  # kg, in all
DRIVE = {"stall_torque": 1.5, "idle_speed": 400.0, "electrical_time": 1e-3, "rotor_inertia": 2e-5, "ratio": 40}
SIDES = (("left", 1), ("right", -1))


def suspension(travel: float = 0.015) -> sh.Suspension:
    """That of a road wheel, which bears its share of the weight where it starts."""
    load = (MASS - 2 * WHEELS * WHEEL) * G / (2 * WHEELS)
    return sh.Suspension(stiffness=2e4, damping=400.0, travel=travel, load=load, mass=WHEEL)


def vehicle(
    scene: sh.Scene, material: sh.Material, drive: dict | None = DRIVE, width: float = 0.01, height: float = 0.0
) -> sh.Scene:
    """The vehicle at the origin of a scene, its tracks on z = height. drive: of its motors; None for none."""
    floor = RADIUS + height
    hull = sh.Box(size=(0.6, 0.4, 0.12), group=0, mask=0)
    ahead = (2 * SPROCKET * LENGTH / 2 / CHASSIS, 0.0, 0.0)  # so that all of it has its centre in the middle
    pose = (0.0, 0.0, floor + 0.05)
    scene.add(sh.Body(name="chassis", mass=CHASSIS, center_of_mass=ahead, shapes=(hull,), position=pose))
    for name, side in SIDES:
        place = (0.0, side * TREAD / 2, floor + 0.03)
        sh.add_track(
            scene,
            sh.Track(name=name, position=place, length=LENGTH, radius=RADIUS, width=width, mass=FRAME,
                     material=material, sprocket_mass=SPROCKET, wheels=WHEELS, spacing=SPACING, drop=0.03,
                     suspension=suspension()),
        )  # fmt: skip
        scene.add(sh.Fixed(name=name, parent="chassis", child=name, anchor=place))
        if drive is not None:
            scene.add(sh.DCMotor(name=name, joint=f"{name}_sprocket", **drive))
    return scene


def level(friction: float = 0.8, **options) -> sh.Scene:
    """The vehicle on level ground."""
    material = sh.Material(friction=friction)
    scene = sh.Scene(name="tracked")
    scene.add(sh.HalfSpace(material=material))
    return vehicle(scene, material, **options)
