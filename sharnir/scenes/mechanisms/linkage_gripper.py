"""Fingers on parallelograms: they stay parallel as they close, and each closes a loop."""

from __future__ import annotations

from sharnir.scenes.mechanisms.gripper import BASE_SIZE, FINGER_SIZE
from sharnir.spec.actuators import Coupling
from sharnir.spec.elements import Body, Box, Frame, Material
from sharnir.spec.joints import Revolute
from sharnir.spec.scene import Scene

INNER, OUTER = 0.018, 0.043  # m, of the cranks' hinges from the middle of the base
CRANK = 0.045  # m, length of the cranks
LIMITS = (-0.1, 1.2)  # rad, of the cranks from hanging down, positive is open
AXIS = (0.0, -1.0, 0.0)  # a positive angle swings what hangs towards +x


def add_linkage_fingers(
    scene: Scene, base: str, opening: float, friction: float = 0.01, material: Material | None = None
) -> None:
    """Two fingers below a body of BASE_SIZE, each on two cranks; hinge1 is what a motor drives, and a repeater makes
    the second finger the mirror image of the first.

    opening: angle of the cranks at the start, rad. friction: dry, in the hinges, N m. material: of the surfaces.
    """
    for number, side in ((1, 1.0), (2, -1.0)):
        _add_finger(scene, base, number, side, opening, friction, material or Material())
    scene.add(Coupling(name="repeater", leader="hinge1", follower="hinge2", ratio=-1.0))


def _add_finger(
    scene: Scene, base: str, number: int, side: float, opening: float, friction: float, material: Material
) -> None:
    """A finger whose frame is where its inner crank ends."""
    lower, upper = LIMITS
    limits = LIMITS if side > 0 else (-upper, -lower)
    bar = Box(size=(0.008, 0.012, CRANK), position=(0.0, 0.0, -CRANK / 2), mask=0)
    pad = Box(size=FINGER_SIZE, position=(side * 0.005, 0.0, -FINGER_SIZE[2] / 2), material=material)
    scene.add(Body(name=f"finger{number}", mass=0.08, shapes=(pad,)))
    for name, place, crank in (("hinge", INNER, "inner"), ("rocker", OUTER, "outer")):
        scene.add(Body(name=f"{crank}{number}", mass=0.03, shapes=(bar,)))
        top = Frame(anchor=(side * place, 0.0, -BASE_SIZE[2] / 2), axis=AXIS)
        scene.add(
            Revolute(
                name=f"{name}{number}", parent=base, child=f"{crank}{number}", parent_frame=top,
                child_frame=Frame(axis=AXIS), position=side * opening, limits=limits, friction=friction, armature=1e-5,
            )
        )  # fmt: skip
    end = Frame(anchor=(0.0, 0.0, -CRANK), axis=AXIS)
    for crank, away, position in (("inner", 0.0, -side * opening), ("outer", side * (OUTER - INNER), None)):
        scene.add(
            Revolute(
                name=f"{crank}_end{number}", parent=f"{crank}{number}", child=f"finger{number}", parent_frame=end,
                child_frame=Frame(anchor=(away, 0.0, 0.0), axis=AXIS), position=position,
            )
        )  # fmt: skip
