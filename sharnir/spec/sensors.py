"""What is measured while a scene runs. Plain data, SI units; judged by `sharnir.compile`."""

from __future__ import annotations

from dataclasses import dataclass

from sharnir.spec.elements import Element, Shape, Vector

# kind → what it is a sensor of
SENSOR_KINDS = {
    "joint_position": "joint", "joint_velocity": "joint", "actuator_force": "actuator", "position": "body",
    "orientation": "body", "velocity": "body", "angular_velocity": "body", "velocimeter": "body", "gyro": "body",
    "force": "body", "torque": "body", "touch": "body", "subtree_center": "body", "subtree_velocity": "body",
}  # fmt: skip

OF_WORLD = ("position", "orientation", "velocity", "angular_velocity", "touch")  # kinds that the world has too


@dataclass(kw_only=True)
class Sensor(Element):
    """Something to be read by name, with `Simulation.sensor`.

    of: name of a body ("world" too, for poses), joint or actuator, as the kind asks for. position (m), orientation
    (quaternion x, y, z, w): of the sensor's frame in the body. coordinate: of the joint, counted from its first.
    kinds: "joint_position", "joint_velocity"; "actuator_force"; of the frame in the world "position", "orientation"
    (quaternion), "velocity", "angular_velocity"; in the sensor's own axes "velocimeter" (velocity), "gyro" (angular
    velocity), "force" and "torque" (that its joint to the parent exerts on the body, about the frame); "touch" (sum of
    the normal forces of contact on the body, N, within `region` if there is one, in the sensor's frame);
    "subtree_center", "subtree_velocity" (of the centre of mass of the body and all that it carries).
    """

    name: str
    kind: str
    of: str
    position: Vector = (0.0, 0.0, 0.0)
    orientation: Vector = (0.0, 0.0, 0.0, 1.0)
    coordinate: int = 0
    region: Shape | None = None


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
