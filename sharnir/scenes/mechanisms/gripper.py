"""A gripper with two fingers and one motor."""

from __future__ import annotations

from sharnir.scenes.parts import untouched
from sharnir.spec.actuators import Coupling, Motor
from sharnir.spec.elements import Body, Box, Frame, Material
from sharnir.spec.joints import Prismatic, Revolute
from sharnir.spec.scene import WORLD, Scene

BASE_SIZE = (0.12, 0.06, 0.04)  # m
FINGER_SIZE = (0.015, 0.02, 0.10)  # m
PIVOT = 0.04  # m, of the finger hinges from the middle of the base
FINGER_LIMITS = (-0.2, 0.8)  # rad, of finger 1; positive is open
MAX_TORQUE = 2.0  # N m
MAX_SPEED = 2.0  # rad/s


def gripper(target: float = 0.0, opening: float = 0.6, friction: float = 0.02) -> Scene:
    """Two fingers hang from a base on a slide; a motor closes one, a coupling makes the other its mirror image.

    target: position of the motor on finger 1, rad; beyond -0.2 and 0.8 the joint's limits hold. opening: angle of both
    fingers at the start, rad. friction: dry, in the finger hinges, N m.
    """
    scene = Scene(name="gripper")
    scene.add(Body(name="base", mass=0.5, shapes=(Box(size=BASE_SIZE),)))
    scene.add(
        Prismatic(
            name="slide",
            parent=WORLD,
            child="base",
            axis=(1.0, 0.0, 0.0),
            limits=(-0.2, 0.2),
            friction=0.5,
            damping=1.0,
        )
    )
    add_fingers(scene, "base", opening, friction)
    motor = Motor(name="grip", joint="hinge1", position=target, max_force=MAX_TORQUE, max_speed=MAX_SPEED)
    scene.add(motor)
    return untouched(scene)


def add_fingers(
    scene: Scene, base: str, opening: float, friction: float = 0.02, material: Material | None = None
) -> None:
    """Two fingers below a body of BASE_SIZE, and the repeater that makes the second the mirror image of the first.

    opening: angle of both at the start, rad. friction: dry, in the hinges, N m. material: of their surfaces.
    """
    lower, upper = FINGER_LIMITS
    for number, side in ((1, 1.0), (2, -1.0)):
        middle = (0.0, 0.0, -FINGER_SIZE[2] / 2)
        shape = Box(size=FINGER_SIZE, position=middle, material=material or Material())
        scene.add(Body(name=f"finger{number}", mass=0.1, shapes=(shape,)))
        scene.add(
            Revolute(
                name=f"hinge{number}",
                parent=base,
                child=f"finger{number}",
                # about -y: a positive angle swings the hanging finger towards +x, away from the other
                parent_frame=Frame(anchor=(side * PIVOT, 0.0, -BASE_SIZE[2] / 2), axis=(0.0, -1.0, 0.0)),
                child_frame=Frame(axis=(0.0, -1.0, 0.0)),
                position=side * opening,
                limits=FINGER_LIMITS if side > 0 else (-upper, -lower),
                friction=friction,
                armature=1e-5,
            )
        )
    scene.add(Coupling(name="repeater", leader="hinge1", follower="hinge2", ratio=-1.0))
