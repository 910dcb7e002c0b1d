"""Readings of sensors from the present state of a simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sharnir.errors import fail, unknown
from sharnir.rotations import Array, matrix_to_quat, quat_to_matrix
from sharnir.spec.elements import Box, Capsule, Cylinder, Shape, Sphere
from sharnir.spec.scene import WORLD
from sharnir.spec.sensors import SENSOR_KINDS, Sensor

if TYPE_CHECKING:
    from sharnir.simulation import Simulation


def read(sim: Simulation, name: str) -> Any:
    """What a sensor shows: a number or a vector."""
    sensors = {sensor.name: sensor for sensor in sim.model.sensors}
    if name not in sensors:
        raise unknown("sensor", name, sensors)
    if sim.worlds > 1:
        raise fail(f"sensor {name!r}", "is read of one world", f"{sim.worlds} worlds", "worlds=1")
    sensor = sensors[name]
    if SENSOR_KINDS[sensor.kind] == "joint":
        joint = sim.joint(sensor.of)
        return float((joint.position if sensor.kind == "joint_position" else joint.velocity)[sensor.coordinate])
    if SENSOR_KINDS[sensor.kind] == "actuator":
        return float(sim.actuator(sensor.of).force)
    if sensor.kind in ("subtree_center", "subtree_velocity"):
        return subtree(sim, sensor)
    return of_body(sim, sensor)


def of_body(sim: Simulation, sensor: Sensor) -> Any:
    """Readings of a frame on a body."""
    own = quat_to_matrix(np.asarray(sensor.orientation, dtype=float))
    arm = np.asarray(sensor.position, dtype=float)
    if sensor.of == WORLD:
        R, x, turning, velocity = own, arm, np.zeros(3), np.zeros(3)
    else:
        body = sim.body(sensor.of)
        R, arm = body.rotation @ own, body.rotation @ arm
        x, turning = body.position + arm, np.array(body.angular_velocity)
        velocity = body.velocity + np.cross(turning, arm)
    match sensor.kind:
        case "position":
            return x
        case "orientation":
            return matrix_to_quat(R)
        case "velocity":
            return velocity
        case "angular_velocity":
            return turning
        case "velocimeter":
            return R.T @ velocity
        case "gyro":
            return R.T @ turning
        case "touch":
            return touch(sim, sensor, R, x)
    force, torque = carried(sim, sensor.of, x)
    return R.T @ (force if sensor.kind == "force" else torque)


def carried(sim: Simulation, body: str, x: Array) -> tuple[Array, Array]:
    """Force and torque about x that the joint which carries a body exerts on it, world axes."""
    model = sim.inner
    link = model.body(body)
    wrench = sim.seen("wrench")[6 * link : 6 * link + 6]
    origin = sim.body(body).position - sim.body(body).rotation @ model.body_rot[link].T @ model.body_pos[link]
    return wrench[:3], wrench[3:] + np.cross(origin - x, wrench[:3])


def touch(sim: Simulation, sensor: Sensor, R: Array, x: Array) -> float:
    """Sum of the normal forces of contact on a body, of points within the sensor's region."""
    total = 0.0
    for contact in sim.contacts(sensor.of):
        inside = sensor.region is None or within(sensor.region, R.T @ (np.asarray(contact.point) - x))
        total += abs(float(np.dot(contact.force, contact.normal))) if inside else 0.0
    return total


def within(region: Shape, point: Array) -> bool:
    """Whether a point in the frame of a region is inside it."""
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


def subtree(sim: Simulation, sensor: Sensor) -> Array:
    """Centre of mass, or its velocity, of a body and all that it carries."""
    model = sim.model
    links = {model.body(sensor.of)}
    for i in range(model.nb):
        if int(model.parent[i]) in links:
            links.add(i)
    total, mass = np.zeros(3), 0.0
    for i in sorted(links):
        body = sim.body(model.body_names[i])
        arm = body.rotation @ model.body_rot[i].T @ (model.com[i] - model.body_pos[i])
        moving = body.velocity + np.cross(body.angular_velocity, arm)
        total += model.mass[i] * (body.position + arm if sensor.kind == "subtree_center" else moving)
        mass += float(model.mass[i])
    return total / mass if mass > 0 else total
