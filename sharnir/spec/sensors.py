"""What is measured while a scene runs. Plain data, SI units; judged by `sharnir.compile`."""

from __future__ import annotations

from dataclasses import dataclass

from sharnir.spec.elements import Element, Shape, Vector

# kind → what it is a sensor of, and how many numbers it shows
SENSOR_KINDS = {
    "joint_position": ("joint", 1), "joint_velocity": ("joint", 1), "joint_torque": ("joint", 1),
    "wrench": ("joint", 6), "actuator_force": ("actuator", 1), "position": ("body", 3), "orientation": ("body", 4),
    "velocity": ("body", 3), "angular_velocity": ("body", 3), "velocimeter": ("body", 3), "gyro": ("body", 3),
    "accelerometer": ("body", 3), "force": ("body", 3), "torque": ("body", 3), "touch": ("body", 1),
    "contact_force": ("body", 3), "contact_torque": ("body", 3), "subtree_center": ("body", 3),
    "subtree_velocity": ("body", 3),
}  # fmt: skip

OF_CONTACT = ("touch", "contact_force", "contact_torque")
OF_WORLD = ("position", "orientation", "velocity", "angular_velocity", *OF_CONTACT)  # kinds that the world has too


@dataclass(kw_only=True)
class Sensor(Element):
    """Something to be read by name, with `Simulation.sensor`.

    of: name of a body ("world" too, for poses), joint or actuator, as the kind asks for. position (m), orientation
    (quaternion x, y, z, w): of the sensor's frame in the body, of a joint in its child. coordinate: of the joint,
    counted from its first.

    Kinds, of joints: "joint_position", "joint_velocity", "joint_torque" (that the joint exerts on its child along the
    coordinate, N or N m: drives, friction, springs and limits, beyond rotors), "wrench" (force and torque that the
    joint exerts on its child, about the frame, in its axes); of an actuator: "actuator_force"; of the frame in the
    world: "position", "orientation" (quaternion), "velocity", "angular_velocity"; in the frame's own axes:
    "velocimeter" (velocity), "gyro" (angular velocity), "accelerometer" (acceleration less that of gravity: at rest it
    shows +g upward), "force" and "torque" (that its joint to the parent exerts on the body, about the frame),
    "contact_force" and "contact_torque" (that contacts exert on the body, about the frame); "touch" (sum of the normal
    forces of contact on the body, N); "subtree_center", "subtree_velocity" (of the centre of mass of the body and all
    that it carries).

    region: of contacts, only those within it count, in the sensor's frame. rate: samples per second of simulated time,
    held in between; left out, it shows the present. delay: s, by which what it shows is old. bias: added, and noise:
    standard deviation of white noise added to every sample, in the unit of what it shows, one for all components or one
    for each; of an orientation, turns (rad) about the frame's own axes. resolution: it shows multiples of it. seed: of
    the noise, which also differs by the sensor's name.
    """

    name: str
    kind: str
    of: str
    position: Vector = (0.0, 0.0, 0.0)
    orientation: Vector = (0.0, 0.0, 0.0, 1.0)
    coordinate: int = 0
    region: Shape | None = None
    rate: float | None = None
    delay: float = 0.0
    noise: float | Vector = 0.0
    bias: float | Vector = 0.0
    resolution: float = 0.0
    seed: int = 0


@dataclass(kw_only=True)
class Camera(Element):
    """An eye on a body, or in the world, that a viewer can look through.

    body: its name, or "world". position (m), orientation (quaternion x, y, z, w): of its frame in the body; it looks
    along x, z is up. angle: rad, that it sees from bottom to top.
    """

    name: str
    body: str = "world"
    position: Vector = (0.0, 0.0, 0.0)
    orientation: Vector = (0.0, 0.0, 0.0, 1.0)
    angle: float = 1.0
