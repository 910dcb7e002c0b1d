"""Giving way to forces: what a wrist feels, a commanded place that yields to it, joint torques of a spring in space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sharnir.checks import number, per_coordinate, vector
from sharnir.control.arguments import model_of, state_of
from sharnir.control.kinematics import Kinematics
from sharnir.control.tasks import PoseTask, carried_by
from sharnir.dynamics import body_poses, rnea
from sharnir.errors import fail, unknown
from sharnir.model.model import Model, Reals
from sharnir.rotations import cross, quat_to_matrix
from sharnir.spec.elements import Vector

if TYPE_CHECKING:
    from sharnir.simulation.simulation import Simulation
    from sharnir.spec.scene import Scene


class WristForce:
    """What acts on a hand from outside, by a sensor of kind "wrench" on the joint that carries it.

    The weight of all that the joint's child carries, at the model's initial positions, is taken off; what accelerates
    it is not. sensor: its name.
    """

    def __init__(self, model: Model | Scene | Simulation, sensor: str) -> None:
        self.model = m = model_of(model)
        sensors = {s.name: s for s in m.sensors if s.kind == "wrench"}
        if sensor not in sensors:
            raise unknown("sensor of kind 'wrench'", sensor, sensors)
        self.sensor = sensors[sensor]
        child = int(m.joint_link[m.joint_names.index(self.sensor.of), 1])
        if child < 0:
            raise fail(
                f"sensor {sensor!r}", "its joint carries the world", f"joint {self.sensor.of!r}", "one of a hand"
            )
        self.body = m.body_names[child]
        mass = np.where(carried_by(m, self.body), m.mass, 0.0)
        self.mass = float(mass.sum())
        x, R = body_poses(m, m.q0)
        centers = x + np.einsum("kij,klj,kl->ki", R, m.body_rot, m.com - m.body_pos)
        center = mass @ centers / self.mass if self.mass > 0 else x[child]
        self.center = R[child].T @ (center - x[child])  # m, in the hand

    def read(self, sim: Simulation) -> Reals:
        """[6] force (N) and torque (N m, about the sensor's frame) on the hand, world axes: what it touches."""
        R = sim.body(self.body).rotation
        own = R @ quat_to_matrix(np.asarray(self.sensor.orientation, dtype=float))
        reading = sim.sensor(self.sensor.name)
        force, torque = own @ reading[:3], own @ reading[3:]
        weight = self.mass * self.model.gravity
        arm = R @ (self.center - np.asarray(self.sensor.position, dtype=float))
        return np.concatenate([-force - weight, -torque - cross(arm, weight)])


class Yield(NamedTuple):
    """An offset and its rate: m and m/s, or rad and rad/s."""

    offset: Reals
    rate: Reals


class Admittance:
    """An offset of a commanded place that yields to a measured force as a mass on a spring and a damper would:

        mass ẍ + damping ẋ + stiffness x = force + wanted.

    All are one number for all axes or one for each: three (m, N) or six (m, N; rad, N m). Along an axis without
    stiffness the offset goes on until what is felt is the opposite of `wanted`: force control. wanted: what the hand
    shall exert on what it touches, to be set at any time. Steps are implicit: any damping is stable.
    """

    def __init__(
        self, *, mass: float | Vector, damping: float | Vector, stiffness: float | Vector = 0.0,
        wanted: float | Vector = 0.0, axes: int = 3,
    ) -> None:  # fmt: skip
        self._axes = axes
        values = {"mass": mass, "damping": damping, "stiffness": stiffness}
        self.mass, self.damping, self.stiffness = (
            per_coordinate("admittance", name, value, axes, least=0) for name, value in values.items()
        )
        if (self.mass + self.damping <= 0).any():
            raise fail("admittance", "neither mass nor damping along an axis", 0, "one of the two > 0 along each")
        self.wanted = wanted
        self.reset()

    def reset(self) -> None:
        """No offset, at rest."""
        self._x, self._v = np.zeros(self._axes), np.zeros(self._axes)

    @property
    def wanted(self) -> Reals:
        """N and N m, that the hand shall exert."""
        return self._wanted

    @wanted.setter
    def wanted(self, value: Any) -> None:
        self._wanted = per_coordinate("admittance", "wanted", value, self._axes)

    def step(self, force: Any, dt: float) -> Yield:
        """The offset a time dt (s) on, given what acts on the hand [axes]."""
        dt = number("admittance", "dt", dt, above=0)
        f = vector("admittance", "force", force, self._axes) + self._wanted
        inertia = self.mass + dt * self.damping + dt * dt * self.stiffness
        self._v = (self.mass * self._v + dt * (f - self.stiffness * self._x)) / inertia
        self._x = self._x + dt * self._v
        return Yield(self._x.copy(), self._v.copy())


class Impedance:
    """Joint forces that hold a frame on a body as a spring and a damper in space would, for joints driven by torque:

        τ = Jᵀ (stiffness (target − pose) + damping (target_rate − velocity) + wanted) + τ₀,

    τ₀ what gravity and motion ask for.

    task: a sharnir.PoseTask, whose target may be changed at any time. stiffness (N/m, N m/rad), damping (N s/m,
    N m s/rad): one for all six axes or one for each. wanted: [6] N and N m, exerted besides. ease: N m s/rad or N s/m,
    of joints, so that those the frame does not feel come to rest.
    """

    def __init__(
        self, model: Model | Scene | Simulation, task: PoseTask, *, stiffness: float | Vector, damping: float | Vector,
        wanted: Vector = (0.0,) * 6, ease: float = 0.0,
    ) -> None:  # fmt: skip
        self.model, self.task = model_of(model), task
        self.stiffness = per_coordinate("impedance", "stiffness", stiffness, 6, least=0)
        self.damping = per_coordinate("impedance", "damping", damping, 6, least=0)
        self.wanted, self.ease = wanted, number("impedance", "ease", ease, least=0)
        self._kinematics = Kinematics(self.model, [task.place(self.model)], [])

    @property
    def wanted(self) -> Reals:
        """[6] N and N m, that the frame exerts besides."""
        return self._wanted

    @wanted.setter
    def wanted(self, value: Any) -> None:
        self._wanted = vector("impedance", "wanted", value, 6)

    def forces(self, sim: Simulation) -> Reals:
        """[nv] N and N m, by velocity coordinate of the scene's model."""
        q, v = state_of(sim)
        self._kinematics.at(q)
        J = self._kinematics.J[0]
        rate = np.zeros(6) if self.task.target_rate is None else self.task.target_rate
        error = self.task.error(self._kinematics, 0, q)
        pull = self.stiffness * error + self.damping * (rate - J @ v) + self._wanted
        return np.asarray(J.T @ pull + rnea(self.model, q, v, np.zeros(self.model.nv)) - self.ease * v)
