"""Sensors and cameras, judged."""

from __future__ import annotations

from sharnir.compiler.checks import number, quaternion, vector
from sharnir.compiler.shapes import dimensions
from sharnir.errors import ModelError, described, fail, unknown
from sharnir.model import index
from sharnir.spec.elements import Box, Capsule, Cylinder, Sphere
from sharnir.spec.joints import Joint
from sharnir.spec.scene import WORLD, Scene
from sharnir.spec.sensors import OF_WORLD, SENSOR_KINDS, Camera, Sensor

REGIONS = (Sphere, Box, Cylinder, Capsule)


def checked_sensors(scene: Scene, joints: list[Joint]) -> tuple[Sensor, ...]:
    """The sensors of a scene; joints: all of the model, also free ones nobody described."""
    known = {
        "joint": {j.name: j.nv for j in joints},
        "actuator": {a.name: 1 for a in scene.driven},
        "body": {b.name: 1 for b in scene.bodies},
    }
    for sensor in scene.sensors:
        element = f"sensor {sensor.name!r}"
        if not isinstance(sensor.kind, str) or sensor.kind not in SENSOR_KINDS:
            raise ModelError(f"{element}: {unknown('kind', sensor.kind, SENSOR_KINDS)}")
        what = SENSOR_KINDS[sensor.kind]
        names = known[what] | ({WORLD: 1} if sensor.kind in OF_WORLD else {})
        if sensor.of not in names:
            raise ModelError(f"{element}: {unknown(what, sensor.of, names)}")
        if what == "joint":
            index(element, "coordinate", sensor.coordinate, names[sensor.of], f"joint {sensor.of!r}")
        vector(element, "position", sensor.position, 3)
        quaternion(element, "orientation", sensor.orientation)
        if sensor.region is not None:
            if not isinstance(sensor.region, REGIONS):
                raise fail(element, "region is something else", described(sensor.region), "a solid of simple form")
            dimensions(element, sensor.region)
    return tuple(scene.sensors)


def checked_cameras(scene: Scene) -> tuple[Camera, ...]:
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
