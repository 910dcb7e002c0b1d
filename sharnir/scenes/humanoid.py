"""A humanoid of capsules, after the one that comes with MuJoCo: its sizes, its axes, its 27 degrees of freedom.

Hinges that share two bodies are `Universal`: (abdomen z, y), (hip x, z), (ankle y, x), (shoulder 1, 2). One small body
per leg separates the hip's third hinge, y. Springs in all joints hold it upright. x forward, y left, z up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sharnir.scenes.parts import capsule
from sharnir.spec.elements import Body, HalfSpace, Material, Shape, Sphere, Vector
from sharnir.spec.joints import Free, Joint, Revolute, Universal
from sharnir.spec.scene import WORLD, Scene

FRICTION = 0.8  # of the feet on the ground
ARMATURE = 0.01  # kg m², of every hinge
HIP_MASS, HIP_INERTIA = 0.1, 1e-4  # kg and kg m², of the body inside the hip
ANKLE_REST = 0.02  # rad, of the ankle springs: they carry the weight that stands before the ankles
SOLE = 0.0265  # m, radius of the foot's capsules
OTHERS, THIGHS, LOWER_TRUNK = 1, 2, 4  # groups of shapes: thighs overlap the pelvis, as in the original, untouched
TOUCHED = {OTHERS: OTHERS | THIGHS | LOWER_TRUNK, THIGHS: OTHERS | THIGHS, LOWER_TRUNK: OTHERS}

# Places of the bodies standing upright, m over the ground, those of the left side.
TORSO = (0.0, 0.0, 1.282)
WAIST = (-0.01, 0.0, 1.022)
PELVIS = (-0.01, 0.0, 0.857)
THIGH = (-0.01, 0.1, 0.817)
SHIN = (-0.01, 0.09, 0.4165)
FOOT = (-0.01, 0.09, SOLE)
UPPER_ARM = (0.0, 0.17, 1.342)
LOWER_ARM = (0.18, 0.35, 1.162)

# Stiffness (N m/rad) and damping (N m s/rad) of the joints.
SPRINGS = {
    "abdomen": (200.0, 10.0), "hip": (600.0, 20.0), "knee": (600.0, 20.0), "ankle": (500.0, 15.0),
    "shoulder": (20.0, 2.0), "elbow": (20.0, 1.0),
}  # fmt: skip


def humanoid(height: float = 0.0) -> Scene:
    """A humanoid of capsules, 40 kg and 1.56 m, stands on the ground by the springs in its 21 hinges.

    height: of its soles over the ground at the start, m; 0 just touches.
    """
    scene = Scene(name="humanoid")
    scene.add(HalfSpace(material=Material(friction=FRICTION), mask=TOUCHED[OTHERS]))
    _trunk(scene, height)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        _leg(scene, side, sign)
        _arm(scene, side, sign)
    return scene


def _trunk(scene: Scene, height: float) -> None:
    """Torso with head, lower waist, pelvis. height: m, by which all starts above the places stated."""
    torso = (
        capsule((0.0, -0.07, 0.0), (0.0, 0.07, 0.0), 0.07),
        Sphere(radius=0.09, position=(0.0, 0.0, 0.19)),
        capsule((-0.01, -0.06, -0.12), (-0.01, 0.06, -0.12), 0.06),
    )
    _body(scene, "torso", TORSO, torso)
    start = (*_above(TORSO, height), 0.0, 0.0, 0.0, 1.0)
    scene.add(Free(name="root", parent=WORLD, child="torso", position=start))
    _body(scene, "waist", WAIST, [capsule((0.0, -0.06, 0.0), (0.0, 0.06, 0.0), 0.06)])
    _cross(
        scene, "abdomen_zy", ("torso", "waist"), _above(WAIST, 0.065), ((0, 0, 1), (0, 1, 0)), ((-45, 45), (-75, 30))
    )
    _body(scene, "pelvis", PELVIS, [capsule((-0.02, -0.07, 0.0), (-0.02, 0.07, 0.0), 0.09)])
    _hinge(scene, "abdomen_x", ("waist", "pelvis"), _above(PELVIS, 0.1), (1, 0, 0), (-35, 35))


def _leg(scene: Scene, side: str, sign: float) -> None:
    """Thigh, shin and foot; the hip's hinges x and z turn a small body, y the thigh on it. sign: -1 on the right."""
    hip, thigh, shin, foot = (f"{side}_{name}" for name in ("hip", "thigh", "shin", "foot"))
    place = _mirrored(THIGH, sign)
    ball = Sphere(radius=0.02, mask=TOUCHED[OTHERS])
    inertia = (HIP_INERTIA, HIP_INERTIA, HIP_INERTIA)
    scene.add(Body(name=hip, mass=HIP_MASS, inertia=inertia, shapes=(ball,), position=place))
    axes = ((sign, 0, 0), (0, 0, sign))
    _cross(scene, f"{hip}_xz", ("pelvis", hip), place, axes, ((-10, 30), (-35, 60)))
    _body(scene, thigh, place, [capsule((0.0, 0.0, 0.0), (0.0, -0.01 * sign, -0.34), 0.06)])
    _hinge(scene, f"{hip}_y", (hip, thigh), place, (0, 1, 0), (-110, 20))
    place = _mirrored(SHIN, sign)
    _body(scene, shin, place, [capsule((0.0, 0.0, 0.0), (0.0, 0.0, -0.3), 0.049)])
    _hinge(scene, f"{side}_knee", (thigh, shin), _above(place, 0.02), (0, -1, 0), (-160, 2))
    place = _mirrored(FOOT, sign)
    rubber = Material(friction=FRICTION)
    soles = [capsule((-0.07, y, 0.0), (0.14, 3 * y, 0.0), SOLE, material=rubber) for y in (-0.012, 0.012)]
    _body(scene, foot, place, soles)
    _cross(scene, f"{side}_ankle_yx", (shin, foot), _above(place, 0.08), ((0, 1, 0), (1, 0, 0)), ((-50, 50), (-35, 35)))


def _arm(scene: Scene, side: str, sign: float) -> None:
    """Upper arm, and lower arm with hand, held forward. sign: -1 on the right."""
    upper, lower = f"{side}_upper_arm", f"{side}_lower_arm"
    place = _mirrored(UPPER_ARM, sign)
    _body(scene, upper, place, [capsule((0.0, 0.0, 0.0), (0.16, 0.16 * sign, -0.16), 0.04)])
    axes = ((2 * sign, -1, sign), (0, sign, 1))
    _cross(scene, f"{side}_shoulder", ("torso", upper), place, axes, ((-60, 85), (-60, 85)))
    place = _mirrored(LOWER_ARM, sign)
    forearm = capsule((0.01, -0.01 * sign, 0.01), (0.17, -0.17 * sign, 0.17), 0.031)
    hand = Sphere(radius=0.04, position=(0.18, -0.18 * sign, 0.18))
    _body(scene, lower, place, [forearm, hand])
    _hinge(scene, f"{side}_elbow", (upper, lower), place, (0, -sign, -1), (-100, 50))


def _body(scene: Scene, name: str, place: Vector, shapes: Sequence[Shape]) -> None:
    """A body whose mass follows from its shapes at 1000 kg/m³."""
    group = THIGHS if name.endswith("thigh") else LOWER_TRUNK if name in ("waist", "pelvis") else OTHERS
    grouped = [replace(shape, group=group, mask=TOUCHED[group]) for shape in shapes]
    scene.add(Body(name=name, shapes=grouped, position=place))


def _hinge(scene: Scene, name: str, pair: tuple[str, str], place: Vector, axis: Vector, degrees: Vector) -> None:
    """A hinge with limits in degrees and the spring of its kind."""
    parent, child = pair
    limits = tuple(math.radians(d) for d in degrees)
    joint = Revolute(name=name, parent=parent, child=child, anchor=place, axis=axis, limits=limits)
    scene.add(_sprung(joint))


def _cross(
    scene: Scene, name: str, pair: tuple[str, str], place: Vector, axes: Sequence[Vector], degrees: Sequence[Vector]
) -> None:
    """Two perpendicular hinges with limits in degrees and the spring of their kind."""
    parent, child = pair
    limits = np.radians(np.array(degrees, dtype=float))
    axis, axis2 = axes
    joint = Universal(name=name, parent=parent, child=child, anchor=place, axis=axis, axis2=axis2, limits=limits)
    scene.add(_sprung(joint))


def _sprung(joint: Joint) -> Joint:
    kind = next(k for k in SPRINGS if k in joint.name)
    joint.stiffness, joint.damping = SPRINGS[kind]
    joint.armature = ARMATURE
    if kind == "ankle":
        joint.rest = (ANKLE_REST, 0.0)
    return joint


def _mirrored(place: Vector, sign: float) -> tuple[float, float, float]:
    x, y, z = place
    return (x, sign * y, z)


def _above(place: Vector, rise: float) -> tuple[float, float, float]:
    x, y, z = place
    return (x, y, z + rise)
