"""Hands of the robot: a palm on a cross of two hinges, three fingers and an opposing thumb, two hinges each.

In the frame of a hand, at its wrist, fingers reach along -z; the palm looks inward, to the other hand where arms hang.
"""

from __future__ import annotations

from collections.abc import Mapping

from sharnir.scenes.parts import capsule
from sharnir.scenes.skybot.parts import HAND, PADS, Turn, add_body, add_turns
from sharnir.spec.elements import Box, Vector
from sharnir.spec.scene import Scene
from sharnir.spec.sensors import Sensor

PALM_SIZE = (0.10, 0.03, 0.10)  # m
KNUCKLES = 0.108  # m, from the wrist to the hinges of the fingers
FINGERS = {"index": 0.034, "middle": 0.0, "ring": -0.034}  # m, along the palm
THUMB_ALONG, THUMB_DOWN, THUMB_OUT = 0.017, 0.035, 0.005  # m, of its first hinge
PHALANGES, THICKNESS = (0.050, 0.036), 0.009  # m, lengths and radius
HOLD_OUT, HOLD_DOWN = 0.031, 0.080  # m, from the wrist to the middle of a bar that is held
NOISE = (0.1, 0.1, 0.1, 0.005, 0.005, 0.005)  # N and N m, standard deviation of what the wrist's sensor shows
FINGER_JOINTS = (*(f"finger_{name}" for name in FINGERS), "thumb")


def add_hand(scene: Scene, side: str, sign: float, place: Vector, pose: Mapping[str, float]) -> None:
    """A hand whose wrist is at a place, m. sign: -1 on the right."""
    hand, (x, y, z) = f"{side}_hand", place
    palm = Box(size=PALM_SIZE, position=(0.0, 0.0, -PALM_SIZE[2] / 2), material=PADS)
    add_body(scene, hand, 0.7, place, [palm], HAND)
    turns = [Turn(f"{side}_wrist_roll", (sign, 0, 0), (-1.1, 1.1)), Turn(f"{side}_wrist_pitch", (0, 1, 0), (-1.1, 1.1))]
    add_turns(scene, hand, (f"{side}_wrist", hand), place, turns, pose)
    scene.add(Sensor(name=wrist_sensor(side), kind="wrench", of=hand, noise=NOISE))
    for name, along in FINGERS.items():
        knuckle = (x + along, y, z - KNUCKLES)
        _add_finger(scene, f"{side}_finger_{name}", hand, knuckle, (0, 0, -1), (-sign, 0, 0), (-0.3, 1.8), pose)
    knuckle = (x + THUMB_ALONG, y - sign * THUMB_OUT, z - THUMB_DOWN)
    _add_finger(scene, f"{side}_thumb", hand, knuckle, (0, -sign, 0), (sign, 0, 0), (-1.6, 1.2), pose)


def _add_finger(
    scene: Scene, name: str, hand: str, knuckle: Vector, along: Vector, axis: Vector, limits: tuple[float, float],
    pose: Mapping[str, float],
) -> None:  # fmt: skip
    """Two phalanges from a knuckle (m) along a direction; positive angles about the axis bend them inward."""
    parent, place = hand, knuckle
    for k, length in enumerate(PHALANGES, start=1):
        end = tuple(length * a for a in along)
        body = f"{name}_{k}"
        add_body(scene, body, 0.05, place, [capsule((0, 0, 0), end, THICKNESS, material=PADS)], HAND)
        turn = Turn(body, axis, limits if k == 1 else (0.0, 1.8))
        add_turns(scene, body, (parent, body), place, [turn], pose)
        parent, place = body, tuple(p + e for p, e in zip(place, end, strict=True))


def hold_point(side: str) -> tuple[float, float, float]:
    """Middle of a bar that is held, m, in the frame of a hand."""
    return (0.0, -HOLD_OUT if side == "left" else HOLD_OUT, -HOLD_DOWN)


def wrist_sensor(side: str) -> str:
    """Name of the six-axis sensor in a wrist."""
    return f"{side}_wrist_force"
