"""An arm of six hinges with a gripper of one motor takes an object from a table and puts it on a shelf.

Reference configuration: upper arm upright, forearm level along x, hand below its end. Waist about z, shoulder, elbow
and wrist 2 about y, wrist 1 about the forearm, wrist 3 about the hand's own upright axis. x forward, z up.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sharnir.model.model import check_index
from sharnir.scenes.mechanisms.gripper import BASE_SIZE, FINGER_SIZE, PIVOT, add_fingers
from sharnir.scenes.mechanisms.linkage_gripper import add_linkage_fingers
from sharnir.scenes.parts import about, capsule
from sharnir.spec.dc_motors import DCMotor
from sharnir.spec.elements import Body, Box, Cylinder, HalfSpace, Material, Shape, Vector
from sharnir.spec.joints import Free, Revolute
from sharnir.spec.scene import WORLD, Scene
from sharnir.spec.sensors import Camera

SHOULDER, LINK, WRIST = 0.35, 0.38, 0.08  # m: height of the shoulder, length of upper arm and forearm, wrist to hand
TABLE, SHELF = 0.2, 0.3  # m, heights of their tops
TABLE_AT, SHELF_AT = (0.45, -0.2), (0.35, 0.32)  # m, of their middles from the arm's axis
OBJECT_SIZE = (2 * PIVOT - FINGER_SIZE[0], 0.05, 0.08)  # m
OBJECT_MASS = 0.4  # kg
ASIDE, TURN = 0.02, 0.3  # m, rad: how far the object may lie off the middle of the table
FRICTION, SPREAD = 0.8, 0.1  # of all surfaces, and by how much of it seeds differ
READY = {"waist": 0.0, "shoulder": -0.3, "elbow": 0.7, "wrist1": 0.0, "wrist2": -0.4, "wrist3": 0.0}  # rad
OPEN = {"repeater": 0.3, "linkage": 0.75}  # rad, of the first finger's hinge
EASY_TURN = 0.5  # N m at the joint: dry friction that hinges of the arm have, by their largest torque of 100 N m


class Nameplate(NamedTuple):
    """Of a motor and its gear; the joint has ratio times the torque."""

    stall_torque: float  # N m
    idle_speed: float  # rad/s
    ratio: float
    rotor_inertia: float  # kg m²


PLATES = {
    "waist": Nameplate(0.6, 420.0, 120.0, 3e-5), "shoulder": Nameplate(0.9, 420.0, 120.0, 4e-5),
    "elbow": Nameplate(0.6, 420.0, 120.0, 3e-5), "wrist1": Nameplate(0.2, 500.0, 100.0, 8e-6),
    "wrist2": Nameplate(0.2, 500.0, 100.0, 8e-6), "wrist3": Nameplate(0.1, 500.0, 100.0, 5e-6),
    "grip": Nameplate(0.06, 300.0, 60.0, 1e-6),
}  # fmt: skip
EFFICIENCY, ELECTRICAL_TIME = 0.9, 5e-4  # of the gears; s, of the windings
ARM = tuple(name for name in PLATES if name != "grip")


def manipulator_grasp(seed: int = 0, linkage: int = 0) -> Scene:
    """An arm of six hinges with DC motors stands before an object on a table; its gripper has one motor.

    seed: varies the arm's posture, where the object lies, and friction by up to 10 %. linkage: 0 for fingers on hinges
    that a repeater makes mirror images, 1 for fingers on parallelograms, which close loops.
    """
    rng = np.random.default_rng(seed)
    material = Material(friction=FRICTION * (1 + SPREAD * rng.uniform(-1, 1)))
    scene = Scene(name="manipulator_grasp")
    scene.add(HalfSpace(material=material))
    _add_arm(scene, {name: angle + 0.1 * rng.uniform(-1, 1) for name, angle in READY.items()}, material)
    kind = ("repeater", "linkage")[check_index("scene 'manipulator_grasp'", "linkage", linkage, 2, "the grippers")]
    (add_linkage_fingers if linkage else add_fingers)(scene, "hand", OPEN[kind], material=material)
    scene.add(_motor("grip", "hinge1"))
    _add_furniture(scene, material)
    x, y = ASIDE * rng.uniform(-1, 1, 2) + TABLE_AT
    box = Box(size=OBJECT_SIZE, material=material)
    turn = about((0.0, 0.0, 1.0), TURN * rng.uniform(-1, 1))
    at = (x, y, TABLE + OBJECT_SIZE[2] / 2)
    scene.add(Body(name="object", mass=OBJECT_MASS, shapes=(box,), position=at, orientation=turn))
    scene.add(Free(name="flight", parent=WORLD, child="object"))
    scene.add(Camera(name="hand", body="hand", position=(-0.2, 0.0, 0.1), orientation=about((0, 1, 0), 0.8), angle=1.2))
    return scene


def _add_arm(scene: Scene, start: dict[str, float], material: Material) -> None:
    """Links, hinges and motors. start: rad, by name of hinge."""
    x, y, z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    base, shoulder, elbow = (0.0, 0.0, 0.0), (0.0, 0.0, SHOULDER), (0.0, 0.0, SHOULDER + LINK)
    turn, bend = (0.6 * LINK, 0.0, elbow[2]), (LINK, 0.0, elbow[2])
    hand = (LINK, 0.0, elbow[2] - WRIST - BASE_SIZE[2] / 2)
    column = Cylinder(radius=0.06, length=SHOULDER - 0.07, position=(0, 0, (SHOULDER - 0.07) / 2), material=material)
    palm = Box(size=BASE_SIZE, material=material)
    stem = capsule(base, (0.0, 0.0, -WRIST / 2), 0.02, material=material)
    links: list[tuple[str, str, str, float, Shape, Vector, Vector]] = [
        ("waist", WORLD, "column", 4.0, column, base, z),
        ("shoulder", "column", "upper_arm", 2.0, capsule(base, (0, 0, LINK), 0.04, material=material), shoulder, y),
        ("elbow", "upper_arm", "forearm", 1.0, capsule(base, (0.5 * LINK, 0, 0), 0.035, material=material), elbow, y),
        ("wrist1", "forearm", "turret", 0.6, capsule(base, (0.4 * LINK, 0, 0), 0.03, material=material), turn, x),
        ("wrist2", "turret", "stem", 0.3, stem, bend, y),
    ]
    for name, parent, child, mass, shape, at, axis in links:
        scene.add(Body(name=child, mass=mass, shapes=(shape,), position=at))
        _add_hinge(scene, name, (parent, child), at, axis, start)
    scene.add(Body(name="hand", mass=0.5, shapes=(palm,), position=hand))
    _add_hinge(scene, "wrist3", ("stem", "hand"), hand, z, start)


def _add_hinge(
    scene: Scene, name: str, pair: tuple[str, str], at: Vector, axis: Vector, start: dict[str, float]
) -> None:
    """A hinge with its motor."""
    rub = EASY_TURN * PLATES[name].stall_torque * PLATES[name].ratio / 100.0
    parent, child = pair
    scene.add(
        Revolute(
            name=name, parent=parent, child=child, anchor=at, axis=axis, position=start[name], friction=rub,
            limits=(-2.9, 2.9),
        )
    )  # fmt: skip
    scene.add(_motor(name, name))


def _motor(name: str, joint: str) -> DCMotor:
    plate = PLATES[name]._asdict()
    return DCMotor(name=name, joint=joint, electrical_time=ELECTRICAL_TIME, efficiency=EFFICIENCY, **plate)


def _add_furniture(scene: Scene, material: Material) -> None:
    """A table, and a shelf that stands higher."""
    for (x, y), height in ((TABLE_AT, TABLE), (SHELF_AT, SHELF)):
        top = Box(size=(0.3, 0.3, 0.03), position=(x, y, height - 0.015), material=material)
        leg = Box(size=(0.06, 0.06, height - 0.03), position=(x, y, (height - 0.03) / 2), material=material)
        scene.add(top)
        scene.add(replace(leg, mask=0))
