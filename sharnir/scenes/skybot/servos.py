"""The loops that hold the robot's joints: one for each motor, all in one pass over arrays.

A loop sees its encoder and sets its motor's voltage, as the drivers of a real robot do:

    u = (k e + c (ṡ - ẇ) + τ) R / (r K) + r K ṡ,

with e the angle's error, ṡ the rate of the target, ẇ the rate the encoder shows, τ the load expected there. The back
voltage adds its own damping (r K)²/R, which acts within the step: loops stay stable at rates of 200 Hz.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sharnir.model.model import Model, Reals
from sharnir.scenes.skybot.motors import nameplate
from sharnir.simulation.views import write_input

if TYPE_CHECKING:
    from sharnir.simulation.simulation import Simulation

BEARING = ("hip", "knee", "ankle", "waist")  # joints that carry the body
RESPONSES = 0.05, 0.04  # s, time constants of the loops of these and of all others


class Servos:
    """Position loops of all DC motors; some may give a torque instead.

    Arrays are [motors], in the order of `names`. target: rad. rate: rad/s. load: N m, expected at the joint.
    forced: whether the motor gets the voltage for the load at standstill, and holds no position.
    """

    def __init__(self, sim: Simulation) -> None:
        self.names = sim.model.actuator_names
        plates = [nameplate(name) for name in self.names]
        self.gear = np.array([p.ratio * p.constant for p in plates])  # V s/rad
        self.volts = np.array([p.resistance for p in plates]) / self.gear  # V by N m
        bearing = np.array([any(part in name for part in BEARING) for name in self.names])
        damping = np.array([p.damping for p in plates])  # N m s/rad, of the back voltage
        self.damping = np.where(bearing, damping, 0.0)  # as much again, where the body would sway
        self.stiffness = (damping + self.damping) / np.where(bearing, *RESPONSES)
        self.most = np.array([p.torque for p in plates])  # N m
        self.number = {name: k for k, name in enumerate(self.names)}
        self.rate, self.load = np.zeros(len(self.names)), np.zeros(len(self.names))
        self.forced = np.zeros(len(self.names), dtype=bool)
        self.target = read_encoders(sim)
        self.seen, self._time = self.target.copy(), np.inf  # rad, what encoders showed, and s, when

    def __call__(self, sim: Simulation) -> None:
        angle = read_encoders(sim)
        elapsed = sim.time - self._time
        turning = (angle - self.seen) / elapsed if elapsed > 0 else np.zeros_like(angle)
        self.seen, self._time = angle, sim.time
        torque = self.stiffness * (self.target - angle) + self.damping * (self.rate - turning)
        torque = np.clip(np.where(self.forced, 0.0, torque) + self.load, -self.most, self.most)
        volts = torque * self.volts + self.gear * np.where(self.forced, 0.0, self.rate)
        self._apply(sim, volts)

    def _apply(self, sim: Simulation, volts: Reals) -> None:
        write_input(sim, sim.impulses.state.actuator_input, slice(None), "voltages of the robot", volts)

    def relax(self, sim: Simulation) -> None:
        """No voltage at any motor: joints give way, braked by their shorted windings."""
        self._apply(sim, np.zeros(len(self.names)))
        self.seen, self._time = read_encoders(sim), sim.time

    def hold(self) -> None:
        """Seek the angles of the last call, expecting nothing to be carried."""
        self.target = self.seen.copy()
        self.rate, self.load = np.zeros_like(self.target), np.zeros_like(self.target)
        self.forced = np.zeros_like(self.forced)


def encoders(model: Model, q: Reals, loop_q: Reals) -> Reals:
    """[motors] rad, angles of all driven coordinates of a model, in either solver's form."""
    return np.concatenate([q, loop_q])[model.coordinate_positions[model.actuator_coordinate]]


def read_encoders(sim: Simulation) -> Reals:
    """[motors] rad, of a simulation."""
    return encoders(sim.inner, sim.q, sim._column(sim.impulses.state.loop_q))
