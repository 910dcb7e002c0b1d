"""A gripper of one motor and a repeater takes an object from the floor, on a portal or an arm, and moves it.

Both manipulators keep the hand upright. The portal's zero is where the hand grasps. The arm's angles are zero with the
upper arm upright, the forearm level and the hand below its end: waist about z, shoulder, elbow and wrist about y,
positive forward and down. x forward, z up.
"""

from __future__ import annotations

from math import acos, atan2, cos, pi, sin
from typing import TYPE_CHECKING, NamedTuple

from sharnir.scenes.mechanisms.gripper import BASE_SIZE, FINGER_SIZE, MAX_TORQUE, PIVOT, add_fingers
from sharnir.scenes.parts import capsule
from sharnir.spec.actuators import Motor
from sharnir.spec.elements import Body, Box, Cylinder, HalfSpace, Material, Shape, Vector
from sharnir.spec.joints import Free, Joint, Prismatic, Revolute
from sharnir.spec.scene import WORLD, Scene
from sharnir.spec.sensors import Camera

if TYPE_CHECKING:
    from sharnir.simulation.simulation import Simulation

REACH = BASE_SIZE[2] + FINGER_SIZE[2]  # m, from the top of the hand down to the finger tips
OBJECT_SIZE = (2 * PIVOT - FINGER_SIZE[0], 0.05, 0.06)  # m; the fingers are parallel when they hold it
ASIDE = 0.003  # m, by which the object lies off the middle of the hand: the fingers bring it there
CLEAR = 0.01  # m, of the finger tips over the floor while they grasp
LIFT, TRAVEL = 0.15, 0.4  # m: how far the object is taken
OPEN, CLOSED = 0.3, -1.0  # rad, of finger 1; the object is in the way of the latter
SHOULDER, LINK = 0.3, 0.3  # m: height of the shoulder, length of upper arm and forearm
PLACE = 0.4  # m, of the object from the axis of the arm's waist
MOVING = 0.7  # of the time a stage takes; the rest is for the motors to arrive
SPEED, RESPONSE = 2.0, 0.05  # m/s or rad/s, s: of the manipulators' motors
GRIP_SPEED = 0.4  # rad/s
DOWN = (0.0, sin(0.45), 0.0, cos(0.45))  # quaternion of a camera that looks 0.9 rad below what is ahead
MOTORS = {  # N and kg, N m and kg m²: the most a motor gives, its rotor
    "travel": (60.0, 0.5), "lift": (60.0, 0.5),
    "waist": (10.0, 0.05), "shoulder": (40.0, 0.2), "elbow": (20.0, 0.1), "wrist": (5.0, 0.02),
}  # fmt: skip


class Stage(NamedTuple):
    """A part of the operator's programme, and where it ends."""

    begins: float  # s
    takes: float  # s
    name: str
    along: float  # of the way to the place where the object is put down
    up: float  # of the height to which it is lifted
    grip: float  # rad, target of the fingers' motor


def grasp(mass: float = 0.3, friction: float = 0.8, torque: float = MAX_TORQUE) -> Scene:
    """A gripper of one motor on a portal stands open over an object, as the programme of its operator begins.

    mass: kg, of the object. friction: of all surfaces. torque: N m, the most that the motor of the fingers gives.
    """
    scene, rubber = _floor("grasp", friction)
    hand = (0.0, 0.0, CLEAR + REACH - BASE_SIZE[2] / 2)
    beam = (0.0, 0.0, hand[2] + 2 * LIFT)
    carriage = Box(size=(0.1, 0.1, 0.1), material=rubber)
    start = motor_targets(0.0, 1.0, arm=False)
    _add_driven(scene, Prismatic, "travel", (WORLD, "carriage"), (2.0, carriage, beam), beam, (1.0, 0.0, 0.0), start)
    palm = Box(size=BASE_SIZE, material=rubber)
    _add_driven(scene, Prismatic, "lift", ("carriage", "hand"), (0.5, palm, hand), hand, (0.0, 0.0, 1.0), start)
    _add_gripper_and_object(scene, ASIDE, mass, torque, rubber)
    return scene


def grasp_arm(mass: float = 0.3, friction: float = 0.8, torque: float = MAX_TORQUE) -> Scene:
    """A gripper of one motor on an arm of four hinges stands open over an object, as the programme begins.

    mass: kg, of the object. friction: of all surfaces. torque: N m, the most that the motor of the fingers gives.
    """
    scene, rubber = _floor("grasp_arm", friction)
    top, wrist = (0.0, 0.0, SHOULDER + LINK), (LINK, 0.0, SHOULDER + LINK)
    base, shoulder = (0.0, 0.0, 0.0), (0.0, 0.0, SHOULDER)
    hand = (LINK, 0.0, SHOULDER + LINK - BASE_SIZE[2] / 2)
    column = Cylinder(radius=0.05, length=0.2, position=(0.0, 0.0, 0.15), material=rubber)
    upper = capsule(base, (0.0, 0.0, LINK), 0.03, material=rubber)
    fore = capsule(base, (LINK, 0.0, 0.0), 0.025, material=rubber)
    palm = Box(size=BASE_SIZE, material=rubber)
    z, y = (0.0, 0.0, 1.0), (0.0, 1.0, 0.0)
    start = motor_targets(0.0, 1.0, arm=True)
    _add_driven(scene, Revolute, "waist", (WORLD, "column"), (3.0, column, base), base, z, start)
    _add_driven(scene, Revolute, "shoulder", ("column", "upper_arm"), (1.0, upper, shoulder), shoulder, y, start)
    _add_driven(scene, Revolute, "elbow", ("upper_arm", "forearm"), (0.8, fore, top), top, y, start)
    _add_driven(scene, Revolute, "wrist", ("forearm", "hand"), (0.5, palm, hand), wrist, y, start)
    _add_gripper_and_object(scene, PLACE + ASIDE, mass, torque, rubber)
    return scene


def programme() -> list[Stage]:
    """What the operator does, from a hand that is open over the object."""
    stages = [
        (1.5, "lower", 0.0, 0.0, OPEN), (1.5, "close", 0.0, 0.0, CLOSED), (1.5, "lift", 0.0, 1.0, CLOSED),
        (2.0, "move", 1.0, 1.0, CLOSED), (1.5, "put down", 1.0, 0.0, CLOSED), (1.0, "release", 1.0, 0.0, OPEN),
        (1.5, "leave", 1.0, 1.0, OPEN),
    ]  # fmt: skip
    begins, out = 0.0, []
    for takes, name, along, up, grip in stages:
        out.append(Stage(begins, takes, name, along, up, grip))
        begins += takes
    return out


def duration() -> float:
    """s, of the programme."""
    last = programme()[-1]
    return last.begins + last.takes


def operate(sim: Simulation) -> None:
    """A controller that sets the motors of either scene as the programme says for the present time."""
    for name, target in targets(sim.time, "waist" in sim.model.motor_names).items():
        sim.motor(name).target = target


def targets(time: float, arm: bool = False) -> dict[str, float]:
    """Targets of all motors at a time (s) of the programme: from stage to stage by a smooth curve."""
    now = [0.0, 1.0, OPEN]
    for stage in programme():
        x = min(max((time - stage.begins) / (MOVING * stage.takes), 0.0), 1.0)
        share = x * x * x * (10.0 + x * (6.0 * x - 15.0))
        end = (stage.along, stage.up, stage.grip)
        now = [(1.0 - share) * a + share * b for a, b in zip(now, end, strict=True)]
    along, up, grip = now
    return {**motor_targets(along, up, arm), "grip": grip}


def motor_targets(along: float, up: float, arm: bool) -> dict[str, float]:
    """Targets of the manipulator's motors (m or rad) that bring the hand some share of the way along and up."""
    if not arm:
        return {"travel": TRAVEL * along, "lift": LIFT * up}
    x, z = PLACE, CLEAR + LIFT * up + REACH - SHOULDER
    bend = acos((x * x + z * z) / (2 * LINK * LINK) - 1.0)
    shoulder, elbow = pi / 2 - atan2(z, x) - bend / 2, bend - pi / 2
    return {"waist": TRAVEL / PLACE * along, "shoulder": shoulder, "elbow": elbow, "wrist": -shoulder - elbow}


def _floor(name: str, friction: float) -> tuple[Scene, Material]:
    scene, material = Scene(name=name), Material(friction=friction)
    scene.add(HalfSpace(material=material))
    return scene, material


def _add_driven(
    scene: Scene, kind: type[Joint], name: str, pair: tuple[str, str], body: tuple[float, Shape, Vector],
    anchor: Vector, axis: Vector, start: dict[str, float],
) -> None:  # fmt: skip
    """A body (mass, shape, place) on a joint of one coordinate with a motor. start: m or rad, by name of joint."""
    force, rotor = MOTORS[name]
    mass, shape, place = body
    parent, child = pair
    scene.add(Body(name=child, mass=mass, shapes=(shape,), position=place))
    at = start[name]
    scene.add(kind(name=name, parent=parent, child=child, anchor=anchor, axis=axis, position=at, armature=rotor))
    scene.add(Motor(name=name, joint=name, position=at, max_force=force, max_speed=SPEED, response=RESPONSE))


def _add_gripper_and_object(scene: Scene, place: float, mass: float, torque: float, material: Material) -> None:
    """Open fingers on the hand and, on the floor at x = place (m), a box of that mass (kg). torque: N m."""
    add_fingers(scene, "hand", OPEN, material=material)
    scene.add(Motor(name="grip", joint="hinge1", position=OPEN, max_force=torque, max_speed=GRIP_SPEED))
    box = Box(size=OBJECT_SIZE, material=material)
    scene.add(Body(name="object", mass=mass, shapes=(box,), position=(place, 0.0, OBJECT_SIZE[2] / 2)))
    scene.add(Free(name="flight", parent=WORLD, child="object"))
    scene.add(Camera(name="hand", body="hand", position=(-0.16, 0.0, 0.04), orientation=DOWN, angle=1.2))
