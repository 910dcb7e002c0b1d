"""A body pulled by a spring: a force on a point of it, an input like any other."""

from __future__ import annotations

import numpy as np

from sharnir.model.model import Model, Reals
from sharnir.rotations import Array
from sharnir.simulation.simulation import Simulation

RATE = 12.0  # rad/s, at which the spring would swing the whole mechanism
STABLE = 0.25  # rad: by how much a spring may swing the point in a step
DAMPED = 0.7  # of critical


class Pull:
    """Holds a point of a body by a spring and a damper.

    mechanism: kg, of all that is joined to the body. point, target: m, world: of the body, and where it is pulled to.
    """

    def __init__(self, sim: Simulation, link: int, mechanism: float, point: Array, target: Array) -> None:
        self.name = sim.model.body_names[link]
        body = sim.body(self.name)
        self.target = np.array(target, dtype=float)
        self._local = body.rotation.T @ (point - body.position)
        self._center = centers(sim.model)[link]
        self._before = np.array(body.applied)
        self._mechanism = mechanism
        self._light = lightness(sim.model, link, self._local - self._center)

    def apply(self, sim: Simulation) -> None:
        """Put the force of the next step on the body."""
        body = sim.body(self.name)
        R, spin = body.rotation, body.angular_velocity
        arm = R @ self._local
        velocity = body.velocity + np.cross(spin, arm)
        stiffness = min(self._mechanism * RATE**2, (STABLE / sim.dt) ** 2 / self._light)
        damping = 2 * DAMPED * np.sqrt(stiffness / self._light)
        force = stiffness * (self.target - self.point(sim)) - damping * velocity
        torque = np.cross(R @ (self._local - self._center), force)
        body.applied = self._before + np.concatenate([force, torque])

    def point(self, sim: Simulation) -> Reals:
        """Where the point is, m, world."""
        body = sim.body(self.name)
        return np.asarray(body.position + body.rotation @ self._local)

    def let_go(self, sim: Simulation) -> None:
        """Leave on the body what was applied to it before."""
        sim.body(self.name).applied = self._before


def centers(model: Model) -> Array:
    """[nb, 3] m, centres of mass in the body frames."""
    return np.einsum("nji,nj->ni", model.body_rot, model.com - model.body_pos)


def lightness(model: Model, link: int, arm: Array) -> float:
    """1/kg: the most that a point of a body at `arm` (m, body axes) from its centre gives way to an impulse, alone."""
    inertia = model.body_rot[link].T @ model.inertia[link] @ model.body_rot[link]
    x, y, z = arm
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    heavy = max(float(model.mass[link]), 1e-6)
    return float(np.linalg.eigvalsh(np.eye(3) / heavy - cross @ np.linalg.pinv(inertia, 1e-9) @ cross).max())
