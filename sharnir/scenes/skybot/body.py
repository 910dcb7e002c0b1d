"""Trunk, legs and arms of the robot. Places are those of the upright robot, m."""

from __future__ import annotations

from collections.abc import Mapping
from math import cos

import numpy as np

from sharnir.scenes.parts import capsule
from sharnir.scenes.skybot.hand import add_hand
from sharnir.scenes.skybot.parts import ARM, INNER, LEG, TRUNK, Turn, add_body, add_turns
from sharnir.spec.elements import Box, Cylinder, Material, Sphere
from sharnir.spec.joints import Free
from sharnir.spec.scene import WORLD, Scene
from sharnir.spec.sensors import Camera

HEIGHT = 1.81  # m
ANKLE, KNEE, HIP = 0.08, 0.48, 0.88  # m, heights of the leg's joints
HIP_ASIDE, SHOULDER_ASIDE = 0.10, 0.22  # m, of the hips and shoulders from the middle
WAIST, CHEST, SHOULDER, NECK, SKULL = 0.98, 1.05, 1.44, 1.53, 1.58  # m, heights of joints
ELBOW, WRIST = 1.14, 0.88
FOOT_SIZE = (0.26, 0.12, 0.04)  # m
FOOT_MIDDLE = 0.02  # m, of the sole before the ankle
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


POSE = {  # rad, of both sides, at rest
    "hip_pitch": -0.30, "knee": 0.60, "ankle_pitch": -0.30, "shoulder_pitch": 0.1, "shoulder_roll": 0.3,
    "elbow": -1.6, "finger_index_1": 0.1, "finger_index_2": 0.15, "finger_middle_1": 0.1, "finger_middle_2": 0.15,
    "finger_ring_1": 0.1, "finger_ring_2": 0.15, "thumb_1": -0.3,
}  # fmt: skip
VARIED = ("shoulder_pitch", "shoulder_roll", "elbow")  # angles that differ from side to side


def standing(random: np.random.Generator) -> dict[str, float]:
    """A pose with bent knees and forearms held forward: rad by motor, each up to 10 % off."""
    off = {name: 1.0 + 0.1 * random.uniform(-1.0, 1.0) for name in POSE}
    off |= dict.fromkeys(("hip_pitch", "knee", "ankle_pitch"), off["knee"])
    pose = {}
    for side in ("left", "right"):
        for name, angle in POSE.items():
            aside = 1.0 + 0.05 * random.uniform(-1.0, 1.0) if name in VARIED else 1.0
            pose[f"{side}_{name}"] = angle * off[name] * aside
    return pose


def add_skybot(scene: Scene, pose: Mapping[str, float], soles: Material) -> None:
    """The robot on level ground, its feet side by side at x = 0, its knees bent as the pose says.

    pose: rad by motor; angles left out are zero. Feet are level where hip, knee and ankle pitch sum to zero.
    """
    drop = (KNEE - ANKLE) * (1.0 - cos(pose.get("left_ankle_pitch", 0.0)))
    drop += (HIP - KNEE) * (1.0 - cos(pose.get("left_hip_pitch", 0.0)))
    _add_trunk(scene, pose, drop)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        _add_leg(scene, side, sign, pose, soles)
        _add_arm(scene, side, sign, pose)
        add_hand(scene, side, sign, (0.0, sign * SHOULDER_ASIDE, WRIST), pose)


def _add_trunk(scene: Scene, pose: Mapping[str, float], drop: float) -> None:
    """Pelvis on its six degrees of freedom, waist, torso, neck and head. drop: m, of the pelvis by bent knees."""
    add_body(scene, "pelvis", 12.0, (0.0, 0.0, HIP), [Box(size=(0.2, 0.28, 0.14), position=(0, 0, 0.04))], TRUNK)
    scene.add(Free(name="root", parent=WORLD, child="pelvis", position=(0.0, 0.0, HIP - drop, 0.0, 0.0, 0.0, 1.0)))
    add_body(scene, "waist", 2.5, (0.0, 0.0, WAIST), [Cylinder(radius=0.09, length=0.08)], INNER)
    turn = Turn("waist_yaw", Z, (-1.2, 1.2))
    add_turns(scene, "waist", ("pelvis", "waist"), (0.0, 0.0, WAIST), [turn], pose)
    chest = Box(size=(0.22, 0.32, 0.40), position=(0.0, 0.0, 0.25))
    pack = Box(size=(0.10, 0.28, 0.34), position=(-0.16, 0.0, 0.26))
    add_body(scene, "torso", 36.0, (0.0, 0.0, CHEST), [chest, pack], TRUNK)
    turns = [Turn("waist_pitch", Y, (-0.4, 1.3)), Turn("waist_roll", X, (-0.5, 0.5))]
    add_turns(scene, "chest", ("waist", "torso"), (0.0, 0.0, CHEST), turns, pose)
    add_body(scene, "neck", 0.8, (0.0, 0.0, NECK), [Cylinder(radius=0.05, length=0.06)], INNER)
    add_turns(scene, "neck", ("torso", "neck"), (0.0, 0.0, NECK), [Turn("neck_yaw", Z, (-1.4, 1.4))], pose)
    skull = [Sphere(radius=0.11, position=(0.0, 0.0, 0.12)), Sphere(radius=0.08, position=(0.05, 0.0, 0.07))]
    add_body(scene, "head", 4.5, (0.0, 0.0, SKULL), skull, TRUNK)
    turns = [Turn("neck_pitch", Y, (-0.6, 0.9)), Turn("neck_roll", X, (-0.5, 0.5))]
    add_turns(scene, "skull", ("neck", "head"), (0.0, 0.0, SKULL), turns, pose)
    scene.add(Camera(name="eyes", body="head", position=(0.12, 0.0, 0.12), angle=1.1))


def _add_leg(scene: Scene, side: str, sign: float, pose: Mapping[str, float], soles: Material) -> None:
    """Hip of three hinges, knee, ankle of two. sign: -1 on the right."""
    y = sign * HIP_ASIDE
    hip, thigh, shin, foot = (f"{side}_{name}" for name in ("hip", "thigh", "shin", "foot"))
    add_body(scene, hip, 2.5, (0.0, y, HIP), [Sphere(radius=0.06)], INNER)
    turns = [Turn(f"{hip}_yaw", (0, 0, sign), (-0.8, 0.8)), Turn(f"{hip}_roll", (sign, 0, 0), (-0.6, 0.8))]
    add_turns(scene, hip, ("pelvis", hip), (0.0, y, HIP), turns, pose)
    add_body(scene, thigh, 9.0, (0.0, y, HIP), [capsule((0.0, 0.0, -0.1), (0.0, 0.0, -0.33), 0.065)], LEG)
    add_turns(scene, thigh, (hip, thigh), (0.0, y, HIP), [Turn(f"{hip}_pitch", Y, (-2.2, 0.7))], pose)
    add_body(scene, shin, 5.0, (0.0, y, KNEE), [capsule((0.0, 0.0, -0.05), (0.0, 0.0, -0.33), 0.05)], LEG)
    add_turns(scene, shin, (thigh, shin), (0.0, y, KNEE), [Turn(f"{side}_knee", Y, (0.0, 2.4))], pose)
    sole = Box(size=FOOT_SIZE, position=(FOOT_MIDDLE, 0.0, FOOT_SIZE[2] / 2 - ANKLE), material=soles)
    add_body(scene, foot, 2.2, (0.0, y, ANKLE), [sole], LEG)
    turns = [Turn(f"{side}_ankle_pitch", Y, (-1.3, 0.8)), Turn(f"{side}_ankle_roll", (sign, 0, 0), (-0.6, 0.6))]
    add_turns(scene, foot, (shin, foot), (0.0, y, ANKLE), turns, pose)


def _add_arm(scene: Scene, side: str, sign: float, pose: Mapping[str, float]) -> None:
    """Shoulder of three hinges, elbow, and the forearm's turn. sign: -1 on the right."""
    y = sign * SHOULDER_ASIDE
    shoulder, upper, fore, wrist = (f"{side}_{name}" for name in ("shoulder", "upper_arm", "forearm", "wrist"))
    add_body(scene, shoulder, 2.0, (0.0, y, SHOULDER), [Sphere(radius=0.07)], INNER)
    turns = [
        Turn(f"{shoulder}_pitch", Y, (-3.0, 1.0)), Turn(f"{shoulder}_roll", (sign, 0, 0), (0.0, 2.6)),
    ]  # fmt: skip
    add_turns(scene, shoulder, ("torso", shoulder), (0.0, y, SHOULDER), turns, pose)
    add_body(scene, upper, 3.2, (0.0, y, SHOULDER), [capsule((0, 0, -0.08), (0, 0, -0.26), 0.045)], ARM)
    turn = Turn(f"{shoulder}_yaw", (0, 0, sign), (-1.6, 1.6))
    add_turns(scene, upper, (shoulder, upper), (0.0, y, SHOULDER), [turn], pose)
    add_body(scene, fore, 1.8, (0.0, y, ELBOW), [capsule((0, 0, -0.03), (0, 0, -0.19), 0.038)], ARM)
    add_turns(scene, fore, (upper, fore), (0.0, y, ELBOW), [Turn(f"{side}_elbow", Y, (-2.5, 0.05))], pose)
    add_body(scene, wrist, 0.6, (0.0, y, WRIST), [Cylinder(radius=0.03, length=0.05)], INNER)
    turn = Turn(f"{side}_forearm_yaw", (0, 0, sign), (-1.9, 1.9))
    add_turns(scene, wrist, (fore, wrist), (0.0, y, WRIST), [turn], pose)
