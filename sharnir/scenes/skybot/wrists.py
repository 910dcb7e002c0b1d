"""Six-axis force sensors in the wrists: what hands feel besides their own weight."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sharnir.model import Model, Reals
from sharnir.scenes.skybot.centers import Center
from sharnir.scenes.skybot.hand import wrist_sensor

if TYPE_CHECKING:
    from sharnir.simulation import Simulation

SMOOTHING = 0.03  # s, time constant of the readings


class Felt(NamedTuple):
    """Force (N) and torque about the wrist (N m) on a hand by what it touches, world axes; place of the wrist, m."""

    force: Reals
    torque: Reals
    wrist: Reals

    def about(self, point: Reals) -> Reals:
        """[3] N m, torque about another point (m)."""
        return self.torque + np.cross(self.wrist - point, self.force)


class Wrist:
    """The sensor of one side, smoothed."""

    def __init__(self, model: Model, side: str) -> None:
        self._hand, self._center = f"{side}_hand", Center(model, f"{side}_hand")
        self._weight = self._center.mass * np.array(model.gravity)
        self._sensor = wrist_sensor(side)
        self._seen, self._time = np.zeros(6), 0.0

    def read(self, sim: Simulation) -> Felt:
        """What it shows now."""
        hand = sim.body(self._hand)
        wrist, R = hand.position, hand.rotation
        shown = sim.sensor(self._sensor)
        weight = [*self._weight, *np.cross(self._center.at(sim) - wrist, self._weight)]
        now = -np.concatenate([R @ shown[:3], R @ shown[3:]]) - weight
        elapsed, self._time = sim.time - self._time, sim.time
        self._seen = self._seen + min(1.0, elapsed / SMOOTHING) * (now - self._seen)
        return Felt(self._seen[:3], self._seen[3:], wrist)
