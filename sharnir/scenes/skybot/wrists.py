"""What the robot's hands feel, by the six-axis sensors in its wrists."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sharnir.control.compliance import WristForce
from sharnir.model.model import Reals
from sharnir.rotations import cross
from sharnir.scenes.skybot.hand import wrist_sensor

if TYPE_CHECKING:
    from sharnir.simulation.simulation import Simulation

SMOOTHING = 0.03  # s, time constant of the readings


class Felt(NamedTuple):
    """Force (N) and torque about the wrist (N m) on a hand by what it touches, world axes; place of the wrist, m."""

    force: Reals
    torque: Reals
    wrist: Reals

    def about(self, point: Reals) -> Reals:
        """[3] N m, torque about another point (m)."""
        return self.torque + cross(self.wrist - point, self.force)


class Wrist:
    """The sensor of one side, without the hand's weight, smoothed."""

    def __init__(self, sim: Simulation, side: str) -> None:
        self._force = WristForce(sim.model, wrist_sensor(side))
        self._seen, self._time = np.zeros(6), sim.time

    def read(self, sim: Simulation) -> Felt:
        """What it shows now."""
        elapsed, self._time = sim.time - self._time, sim.time
        self._seen = self._seen + min(1.0, elapsed / SMOOTHING) * (self._force.read(sim) - self._seen)
        return Felt(self._seen[:3], self._seen[3:], sim.body(self._force.body).position)
