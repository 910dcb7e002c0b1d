"""How the robot is put together: driven hinges and crosses of two hinges, and which of its parts may touch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from sharnir.scenes.skybot.motors import motor
from sharnir.spec.elements import Body, Material, Shape, Vector
from sharnir.spec.joints import Revolute, Universal
from sharnir.spec.scene import Scene

# Groups of shapes, and what each may touch: neighbours that overlap stay untouched.
GROUND, TRUNK, LEG, ARM, HAND, THING, INNER = (1 << k for k in range(7))
TOUCHED = {
    GROUND: TRUNK | LEG | ARM | HAND | THING,
    TRUNK: GROUND | ARM | HAND | THING,
    LEG: GROUND | LEG | ARM | HAND | THING,
    ARM: GROUND | TRUNK | LEG | ARM | THING,
    HAND: GROUND | TRUNK | LEG | THING,
    THING: GROUND | TRUNK | LEG | ARM | HAND | THING,
    INNER: 0,
}

PADS = Material(friction=1.0)  # of palms and fingers


class Turn(NamedTuple):
    """One driven angle: name of its motor, axis at angle zero, limits in rad."""

    name: str
    axis: Vector
    limits: tuple[float, float]


def grouped(shapes: Sequence[Shape], group: int) -> tuple[Shape, ...]:
    """Shapes of a group, with what that group may touch."""
    return tuple(replace(shape, group=group, mask=TOUCHED[group]) for shape in shapes)


def add_body(scene: Scene, name: str, mass: float, place: Vector, shapes: Sequence[Shape], group: int) -> None:
    """A body of a mass (kg) whose frame is at a place (m) and whose shapes are given about it."""
    scene.add(Body(name=name, mass=mass, shapes=grouped(shapes, group), position=place))


def add_turns(
    scene: Scene, joint: str, pair: tuple[str, str], place: Vector, turns: Sequence[Turn], pose: Mapping[str, float]
) -> None:
    """A hinge, or a cross of two hinges, at a place (m), each with its motor. pose: rad at the start, by motor."""
    parent, child = pair
    ends: dict[str, Any] = {"name": joint, "parent": parent, "child": child, "anchor": place, "axis": turns[0].axis}
    limits = [turn.limits for turn in turns]
    angles = [pose.get(turn.name, 0.0) for turn in turns]
    if len(turns) == 1:
        scene.add(Revolute(**ends, limits=limits[0], position=angles[0]))
    else:
        scene.add(Universal(**ends, axis2=turns[1].axis, limits=limits, position=angles))
    for k, turn in enumerate(turns):
        scene.add(motor(turn.name, joint, k))
