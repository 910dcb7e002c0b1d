"""Ideal sensor readings (without noise, bias, delay) from the present state of a simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sharnir.enums import JointType
from sharnir.errors import fail
from sharnir.model.joint_rows import CONSTRAINT_COUNT, JOINT_ROW_TABLE, RowForm
from sharnir.rotations import Array, cross, matrix_to_quat, quat_to_matrix
from sharnir.spec.elements import Box, Capsule, Cylinder, Shape, Sphere
from sharnir.spec.scene import WORLD
from sharnir.spec.sensors import OF_CONTACT, SENSOR_KINDS, Sensor

if TYPE_CHECKING:
    from sharnir.model.model import Model
    from sharnir.simulation.simulation import Simulation


class FramePose(NamedTuple):
    """Axes and origin (m) of a frame in the world."""

    R: Array
    x: Array


def ideal_reading(sim: Simulation, sensor: Sensor) -> Any:
    """Ideal reading of a sensor at the present: a number or a vector."""
    what, _ = SENSOR_KINDS[sensor.kind]
    if what == "actuator":
        return float(sim.actuator(sensor.of).force)
    if what == "joint":
        return joint_reading(sim, sensor)
    if sensor.kind in ("subtree_center", "subtree_velocity"):
        return subtree_reading(sim, sensor)
    return body_reading(sim, sensor)


def joint_reading(sim: Simulation, sensor: Sensor) -> Any:
    """Ideal reading of a sensor on a joint: position, velocity, torque or wrench."""
    if sensor.kind == "joint_position":
        return float(sim.joint(sensor.of).position[sensor.coordinate])
    if sensor.kind == "joint_velocity":
        return float(sim.joint(sensor.of).velocity[sensor.coordinate])
    if sensor.kind == "joint_torque":
        return generalized_force(sim, sensor.of, sensor.coordinate)
    model = sim.model
    child = int(model.joint_link[model.joint_names.index(sensor.of), 1])
    at = sensor_frame(sim, WORLD if child < 0 else model.body_names[child], sensor)
    force, torque = joint_wrench_on_child(sim, sensor.of, at.x)
    return np.concatenate([at.R.T @ force, at.R.T @ torque])


def sensor_frame(sim: Simulation, body: str, sensor: Sensor) -> FramePose:
    """The sensor's frame in the world."""
    own = FramePose(
        quat_to_matrix(np.asarray(sensor.orientation, dtype=float)), np.asarray(sensor.position, dtype=float)
    )
    if body == WORLD:
        return own
    view = sim.body(body)
    return FramePose(view.rotation @ own.R, view.position + view.rotation @ own.x)


def joint_frame(sim: Simulation, k: int, end: int) -> FramePose:
    """Frame of joint k of the scene's model on its parent (0) or child (1), in the world."""
    model = sim.model
    link = int(model.joint_link[k, end])
    if link < 0:
        return FramePose(model.joint_rot[k, end], model.joint_pos[k, end])
    at = link_frame(sim, model, link)
    return FramePose(at.R @ model.joint_rot[k, end], at.x + at.R @ model.joint_pos[k, end])


def link_frame(sim: Simulation, model: Model, link: int) -> FramePose:
    """A link's frame in the world."""
    body = sim.body(model.body_names[link])
    R = body.rotation @ model.body_rot[link].T
    return FramePose(R, body.position - R @ model.body_pos[link])


def joint_wrench_on_child(sim: Simulation, joint: str, x: Array) -> tuple[Array, Array]:
    """Force (N) and torque (N m) about x that a joint exerts on its child, world axes."""
    if joint not in sim.inner.joint_names:  # a free joint nobody described
        return np.zeros(3), np.zeros(3)
    wrench = sim.joint(joint).wrench
    at = joint_frame(sim, sim.model.joint_names.index(joint), 1)
    return wrench[:3], wrench[3:] + cross(at.x - x, wrench[:3])


def generalized_force(sim: Simulation, joint: str, coordinate: int) -> float:
    """Generalised force (N or N m) along a coordinate of a joint that the joint exerts on its child."""
    model = sim.model
    k = model.joint_names.index(joint)
    kind = int(model.joint_kind[k])
    P, C = joint_frame(sim, k, 0), joint_frame(sim, k, 1)
    force, torque = joint_wrench_on_child(sim, joint, C.x)
    form, axis, _ = JOINT_ROW_TABLE[kind, CONSTRAINT_COUNT[kind] + coordinate]
    e = (C if form == RowForm.ABOUT_C else P).R[:, axis]
    if form == RowForm.ALONG:
        return float(e @ force)
    assert form in (RowForm.ABOUT_P, RowForm.ABOUT_C)
    return float(e @ torque + (model.joint_pitch[k] * (e @ force) if kind == JointType.HELICAL else 0.0))


def body_reading(sim: Simulation, sensor: Sensor) -> Any:
    """Ideal reading of a sensor on a frame of a body."""
    at = sensor_frame(sim, sensor.of, sensor)
    if sensor.kind == "position":
        return at.x
    if sensor.kind == "orientation":
        return matrix_to_quat(at.R)
    if sensor.kind in OF_CONTACT:
        return contact_reading(sim, sensor, at)
    if sensor.kind in ("force", "torque"):
        force, torque = parent_joint_wrench(sim, sensor.of, at.x)
        return at.R.T @ (force if sensor.kind == "force" else torque)
    if sensor.kind == "accelerometer":
        return at.R.T @ (point_acceleration(sim, sensor.of, at.x) - sim.model.gravity)
    angular_velocity, velocity = np.zeros(3), np.zeros(3)
    if sensor.of != WORLD:
        body = sim.body(sensor.of)
        angular_velocity = np.array(body.angular_velocity)
        velocity = body.velocity + cross(angular_velocity, at.x - body.position)
    return {
        "velocity": velocity, "angular_velocity": angular_velocity,
        "velocimeter": at.R.T @ velocity, "gyro": at.R.T @ angular_velocity,
    }[sensor.kind]  # fmt: skip


def parent_joint_wrench(sim: Simulation, body: str, x: Array) -> tuple[Array, Array]:
    """Force (N) and torque (N m) about x that the joint which carries a body in the tree exerts on it, world axes."""
    model = sim.model
    link = model.body(body)
    force, torque = joint_wrench_on_child(sim, model.joint_names[link], x)
    return (force, torque) if model.joint_link[link, 1] == link else (-force, -torque)


def point_acceleration(sim: Simulation, body: str, x: Array) -> Array:
    """[3] m/s², of the point of a body that is at x, world axes, by all forces on it."""
    model = sim.inner
    link = model.body(body)
    at = link_frame(sim, model, link)
    inertia = at.R @ model.inertia[link] @ at.R.T
    if model.mass[link] <= 0 or np.linalg.eigvalsh(inertia)[0] <= 0:
        raise fail(f"body {body!r}", "has no mass or inertia to measure accelerations by", 0, "one that has both")
    sim.seen("wrench")
    rate = sim.impulses.momentum_rate[link]
    turning = sim.body(body).angular_velocity
    angular_acceleration = np.linalg.solve(inertia, rate[3:] - cross(turning, inertia @ turning))
    arm = x - (at.x + at.R @ model.com[link])
    return np.asarray(
        rate[:3] / model.mass[link] + cross(angular_acceleration, arm) + cross(turning, cross(turning, arm))
    )


def contact_reading(sim: Simulation, sensor: Sensor, at: FramePose) -> Any:
    """Sum of normal forces (N), or force or torque in the sensor's frame, of the contacts within its region."""
    normal_sum, force, torque = 0.0, np.zeros(3), np.zeros(3)
    for contact in sim.contacts(sensor.of):
        if sensor.region is not None and not is_inside(sensor.region, at.R.T @ (contact.point - at.x)):
            continue
        sign = 1.0 if contact.bodies[1] == sensor.of else -1.0
        normal_sum += abs(float(contact.force @ contact.normal))
        force += sign * contact.force
        torque += sign * (contact.torque + cross(contact.point - at.x, contact.force))
    if sensor.kind == "touch":
        return normal_sum
    return at.R.T @ (force if sensor.kind == "contact_force" else torque)


def is_inside(region: Shape, point: Array) -> bool:
    """Whether a point, in the frame of a region, is inside it."""
    p = quat_to_matrix(np.asarray(region.orientation, dtype=float)).T @ (point - np.asarray(region.position))
    if isinstance(region, Box):
        return bool((np.abs(p) <= np.asarray(region.size) / 2).all())
    if isinstance(region, Sphere):
        return bool(np.linalg.norm(p) <= region.radius)
    assert isinstance(region, (Cylinder, Capsule))
    beyond = max(0.0, abs(p[2]) - region.length / 2)
    if isinstance(region, Cylinder):
        return bool(beyond == 0 and np.hypot(p[0], p[1]) <= region.radius)
    return bool(np.linalg.norm([p[0], p[1], beyond]) <= region.radius)


def subtree_reading(sim: Simulation, sensor: Sensor) -> Array:
    """Centre of mass, m, or its velocity, m/s, of a body and all links below it in the tree."""
    model = sim.model
    links = {model.body(sensor.of)}
    for i in range(model.nb):
        if int(model.parent[i]) in links:
            links.add(i)
    total, mass = np.zeros(3), 0.0
    for i in sorted(links):
        body = sim.body(model.body_names[i])
        arm = body.rotation @ model.body_rot[i].T @ (model.com[i] - model.body_pos[i])
        moving = body.velocity + cross(body.angular_velocity, arm)
        total += model.mass[i] * (body.position + arm if sensor.kind == "subtree_center" else moving)
        mass += float(model.mass[i])
    return total / mass if mass > 0 else total
