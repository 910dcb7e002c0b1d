"""Sensors and cameras, judged."""

from __future__ import annotations

from sharnir.checks import number, per_coordinate, quaternion, vector
from sharnir.compiler.shapes import dimensions
from sharnir.errors import ModelError, described, fail, shown, unknown
from sharnir.model.model import check_index
from sharnir.spec.elements import Box, Capsule, Cylinder, Sphere
from sharnir.spec.joints import Compound, Joint
from sharnir.spec.scene import WORLD, Scene
from sharnir.spec.sensors import OF_CONTACT, OF_WORLD, SENSOR_KINDS, Camera, Sensor

REGIONS = (Sphere, Box, Cylinder, Capsule)


def check_sensors(scene: Scene, joints: list[Joint]) -> tuple[Sensor, ...]:
    """The sensors of a scene; joints: all of the model, also free ones nobody described."""
    compounds = {j.name for j in joints if isinstance(j, Compound)}
    known = {
        "joint": {j.name: j.nv for j in joints},
        "actuator": {a.name: 1 for a in scene.driven},
        "body": {b.name: 1 for b in scene.bodies},
    }
    for sensor in scene.sensors:
        element = f"sensor {sensor.name!r}"
        if not isinstance(sensor.kind, str) or sensor.kind not in SENSOR_KINDS:
            raise ModelError(f"{element}: {unknown('kind', sensor.kind, SENSOR_KINDS)}")
        what, _ = SENSOR_KINDS[sensor.kind]
        names = known[what] | ({WORLD: 1} if sensor.kind in OF_WORLD else {})
        if sensor.of not in names:
            raise ModelError(f"{element}: {unknown(what, sensor.of, names)}")
        if what == "joint":
            if sensor.kind != "wrench":
                check_index(element, "coordinate", sensor.coordinate, names[sensor.of], f"joint {sensor.of!r}")
            if sensor.kind == "joint_torque" and sensor.of in compounds:
                raise fail(element, "a compound joint has no such axes", f"joint {sensor.of!r}", "a wrench of it")
        vector(element, "position", sensor.position, 3)
        quaternion(element, "orientation", sensor.orientation)
        check_sensor_quality(element, sensor)
        if sensor.region is not None:
            if sensor.kind not in OF_CONTACT:
                raise fail(element, "a region is of contacts only", sensor.kind, "kinds " + ", ".join(OF_CONTACT))
            if not isinstance(sensor.region, REGIONS):
                raise fail(element, "region is something else", described(sensor.region), "a solid of simple form")
            dimensions(element, sensor.region)
    return tuple(scene.sensors)


def check_sensor_quality(element: str, sensor: Sensor) -> None:
    """Rate, delay, noise, bias and resolution of a sensor."""
    size = 3 if sensor.kind == "orientation" else SENSOR_KINDS[sensor.kind][1]
    if sensor.rate is not None:
        number(element, "rate", sensor.rate, above=0)
    number(element, "delay", sensor.delay, least=0)
    per_coordinate(element, "noise", sensor.noise, size, least=0)
    per_coordinate(element, "bias", sensor.bias, size)
    if number(element, "resolution", sensor.resolution, least=0) > 0 and sensor.kind == "orientation":
        raise fail(element, "a quaternion has no resolution", sensor.resolution, "0")
    if isinstance(sensor.seed, bool) or not isinstance(sensor.seed, int) or not 0 <= sensor.seed < 2**63:
        raise fail(element, "seed is out of range", shown(sensor.seed), "a whole number ≥ 0, below 2**63")


def check_cameras(scene: Scene) -> tuple[Camera, ...]:
    """The cameras of a scene."""
    names = [WORLD, *(b.name for b in scene.bodies)]
    for camera in scene.cameras:
        element = f"camera {camera.name!r}"
        if camera.body not in names:
            raise ModelError(f"{element}: {unknown('body', camera.body, names)}")
        vector(element, "position", camera.position, 3)
        quaternion(element, "orientation", camera.orientation)
        number(element, "angle", camera.angle, above=0, most=3.0)
    return tuple(scene.cameras)
