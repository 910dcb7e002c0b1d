"""Sensors of joints, actuators, sites and bodies."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from sharnir.io.convert.source import Source, placed
from sharnir.model.poses import Pose
from sharnir.rotations import matrix_to_quat
from sharnir.spec.elements import Box, Capsule, Cylinder, Shape, Sphere
from sharnir.spec.import_report import UNSEEN
from sharnir.spec.scene import WORLD
from sharnir.spec.sensors import OF_WORLD, Sensor

SENSOR, OBJ, GEOM = mujoco.mjtSensor, mujoco.mjtObj, mujoco.mjtGeom
KINDS = {
    SENSOR.mjSENS_JOINTPOS: "joint_position", SENSOR.mjSENS_JOINTVEL: "joint_velocity",
    SENSOR.mjSENS_ACTUATORFRC: "actuator_force", SENSOR.mjSENS_FRAMEPOS: "position",
    SENSOR.mjSENS_FRAMEQUAT: "orientation", SENSOR.mjSENS_FRAMELINVEL: "velocity",
    SENSOR.mjSENS_FRAMEANGVEL: "angular_velocity", SENSOR.mjSENS_VELOCIMETER: "velocimeter",
    SENSOR.mjSENS_GYRO: "gyro", SENSOR.mjSENS_ACCELEROMETER: "accelerometer", SENSOR.mjSENS_FORCE: "force",
    SENSOR.mjSENS_TORQUE: "torque", SENSOR.mjSENS_TOUCH: "touch", SENSOR.mjSENS_SUBTREECOM: "subtree_center",
    SENSOR.mjSENS_SUBTREELINVEL: "subtree_velocity",
}  # fmt: skip
BY_NUMBER = {int(kind): name for kind, name in KINDS.items()}
OF_WHOLE = ("force", "torque", "subtree_center", "subtree_velocity")  # of a body with a joint of its own


def add_sensors(source: Source) -> None:
    """Sensors that are known; the others are listed."""
    m = source.model
    for s in range(m.nsensor):
        name, number = source.name("sensor", s), int(m.sensor_type[s])
        facts = _facts(source, s)
        if facts is None:
            what = SENSOR(number).name[7:].lower()
            source.report.add("sensor", name, f"what a sensor of kind {what} shows here is not measured", UNSEEN)
        else:
            source.scene.add(Sensor(name=name, kind=BY_NUMBER[number], **facts))


def _facts(source: Source, s: int) -> dict[str, Any] | None:
    """What a sensor measures; None if that is not known."""
    m, kind = source.model, BY_NUMBER.get(int(source.model.sensor_type[s]))
    thing, number = int(m.sensor_objtype[s]), int(m.sensor_objid[s])
    if kind is None or m.sensor_refid[s] >= 0 or m.sensor_cutoff[s] > 0 or m.sensor_noise[s] > 0:
        return None
    if thing == int(OBJ.mjOBJ_JOINT):
        name, k = source.coordinate[number]
        return {"of": name, "coordinate": k}
    if thing == int(OBJ.mjOBJ_ACTUATOR):
        name = source.name("actuator", number)
        return {"of": name} if name in source.driven_names else None
    found = _frame(source, thing, number)
    if found is None:
        return None
    body, pose = found
    carrier = source.carrier[body]
    if (carrier == 0 and kind not in OF_WORLD) or (carrier != body and kind in OF_WHOLE):
        return None
    in_carrier = (
        (source.pose(carrier).inverse() if carrier else Pose(np.eye(3), np.zeros(3))) @ source.pose(body) @ pose
    )
    facts: dict[str, Any] = {
        "of": source.body_names[carrier] if carrier else WORLD, "position": in_carrier.x,
        "orientation": matrix_to_quat(in_carrier.R),
    }  # fmt: skip
    if kind == "touch":
        facts["region"] = _region(source, number)
        return None if facts["region"] is None else facts
    return facts


def _frame(source: Source, thing: int, number: int) -> tuple[int, Pose] | None:
    """The body and the pose in it of what a sensor is attached to."""
    m = source.model
    if thing == int(OBJ.mjOBJ_SITE):
        return int(m.site_bodyid[number]), placed(m.site_pos[number], m.site_quat[number])
    if thing == int(OBJ.mjOBJ_XBODY):
        return number, placed(np.zeros(3), np.array([1.0, 0, 0, 0]))
    if thing == int(OBJ.mjOBJ_BODY):
        return number, placed(m.body_ipos[number], m.body_iquat[number])
    if thing == int(OBJ.mjOBJ_GEOM):
        return int(m.geom_bodyid[number]), placed(m.geom_pos[number], m.geom_quat[number])
    return None


def _region(source: Source, site: int) -> Shape | None:
    """The volume of a site; None if it is none of ours."""
    kind, (a, b, _) = int(source.model.site_type[site]), source.model.site_size[site]
    if kind == int(GEOM.mjGEOM_SPHERE):
        return Sphere(radius=float(a))
    if kind == int(GEOM.mjGEOM_BOX):
        return Box(size=2 * source.model.site_size[site])
    if kind == int(GEOM.mjGEOM_CYLINDER):
        return Cylinder(radius=float(a), length=float(2 * b))
    if kind == int(GEOM.mjGEOM_CAPSULE):
        return Capsule(radius=float(a), length=float(2 * b))
    return None
