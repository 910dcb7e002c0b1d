"""sharnir: real-time simulation of mechanisms and robots. One scene, several ways to solve it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sharnir import moved
from sharnir.builders.vehicles import Suspension, Track, Wheel, add_track, add_wheel
from sharnir.compiler import compile
from sharnir.compiler.maximal import maximal
from sharnir.control.paths import MinimumJerk, Motion, Slerp, Spline
from sharnir.control.servo import Servo
from sharnir.errors import ModelError, ModelFileError, RecordingError, SharnirError, SimulationError, SimulationWarning
from sharnir.model.model import Model
from sharnir.precision import get_precision, set_precision
from sharnir.simulation.simulate import Trajectory, simulate
from sharnir.spec.actuators import Actuator, Coupling, Motor
from sharnir.spec.belts import Belt
from sharnir.spec.dc_motors import DCMotor
from sharnir.spec.elements import (
    Body,
    Box,
    Capsule,
    ConvexHull,
    Cylinder,
    Frame,
    HalfSpace,
    HeightField,
    Material,
    Mesh,
    Sphere,
    Spring,
    Visual,
)
from sharnir.spec.joints import (
    Compound,
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Step,
    Universal,
)
from sharnir.spec.keyframes import Keyframe
from sharnir.spec.pairs import ContactPair, MaterialPair
from sharnir.spec.scene import Scene
from sharnir.spec.sensors import Camera, Sensor

if TYPE_CHECKING:
    from sharnir import dynamics as dynamics
    from sharnir import scenes as scenes
    from sharnir.collision.queries.raycast import distance as distance
    from sharnir.collision.queries.raycast import ray_cast as ray_cast
    from sharnir.control.balance import BalanceTask as BalanceTask
    from sharnir.control.compliance import Admittance as Admittance
    from sharnir.control.compliance import Impedance as Impedance
    from sharnir.control.compliance import WristForce as WristForce
    from sharnir.control.inverse_kinematics import InverseKinematics as InverseKinematics
    from sharnir.control.posture import PostureTask as PostureTask
    from sharnir.control.tasks import AxisTask as AxisTask
    from sharnir.control.tasks import CenterOfMassTask as CenterOfMassTask
    from sharnir.control.tasks import OrientationTask as OrientationTask
    from sharnir.control.tasks import PoseTask as PoseTask
    from sharnir.control.tasks import PositionTask as PositionTask
    from sharnir.io import load as load
    from sharnir.recording.read.recording import Recording as Recording
    from sharnir.recording.read.recording import open_recording as open_recording
    from sharnir.sensors.support_polygon import center_of_pressure as center_of_pressure
    from sharnir.sensors.support_polygon import support_polygon as support_polygon
    from sharnir.simulation.simulation import Report as Report
    from sharnir.simulation.simulation import Settings as Settings
    from sharnir.simulation.simulation import Simulation as Simulation
    from sharnir.simulation.snapshot import Saved as Saved

__version__ = "0.3.0"

LATE = {
    "sharnir.simulation": ("Report", "Saved", "Settings", "Simulation"),
    "sharnir.io": ("load",),
    "sharnir.recording.read.recording": ("Recording", "open_recording"),
    "sharnir.collision.queries.raycast": ("distance", "ray_cast"),
    "sharnir.control.inverse_kinematics": ("InverseKinematics",),
    "sharnir.control.posture": ("PostureTask",),
    "sharnir.control.tasks": ("AxisTask", "CenterOfMassTask", "OrientationTask", "PoseTask", "PositionTask"),
    "sharnir.control.balance": ("BalanceTask",),
    "sharnir.control.compliance": ("Admittance", "Impedance", "WristForce"),
    "sharnir.sensors.support_polygon": ("center_of_pressure", "support_polygon"),
}

moved.install()


def __getattr__(name: str) -> Any:
    """Load what needs kernels only when it is used: precision can be chosen until then."""
    import importlib

    if name in ("dynamics", "scenes"):
        return importlib.import_module(f"sharnir.{name}")
    for module, names in LATE.items():
        if name in names:
            return getattr(importlib.import_module(module), name)
    if name in moved.MOVED:
        return importlib.import_module(f"sharnir.{name}")
    raise AttributeError(f"module 'sharnir' has no attribute {name!r}")


__all__ = [
    "Actuator", "Admittance", "AxisTask", "BalanceTask", "Belt", "Body", "Box", "Camera", "Capsule",
    "CenterOfMassTask", "Compound", "ContactPair", "ConvexHull", "Coupling", "Cylinder", "Cylindrical", "DCMotor",
    "Fixed", "Frame", "Free", "HalfSpace", "HeightField", "Helical", "Impedance", "InverseKinematics", "Keyframe",
    "Material", "MaterialPair", "Mesh", "MinimumJerk", "Model", "ModelError", "ModelFileError", "Motion", "Motor",
    "OrientationTask", "Planar", "PoseTask", "PositionTask", "PostureTask", "Prismatic", "Recording",
    "RecordingError", "Report", "Revolute", "Saved", "Scene", "Sensor", "Servo", "Settings", "SharnirError",
    "Simulation", "SimulationError", "SimulationWarning", "Slerp", "Sphere", "Spherical", "Spline", "Spring", "Step",
    "Suspension", "Track", "Trajectory", "Universal", "Visual", "Wheel", "WristForce", "add_track", "add_wheel",
    "center_of_pressure", "compile", "distance", "get_precision", "load", "maximal", "open_recording", "ray_cast",
    "set_precision", "simulate", "support_polygon",
]  # fmt: skip
