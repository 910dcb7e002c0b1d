"""Servo loops: position, velocity or torque of a joint by PID, with feed-forward, saturation and anti-windup (M-76)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sharnir.compiler.checks import number, vector
from sharnir.errors import fail, shown, unknown
from sharnir.spec.elements import plain

if TYPE_CHECKING:
    from sharnir.model import Model
    from sharnir.simulation import Simulation

MODES = ("position", "velocity", "torque")


class Servo:
    """Lets a joint coordinate follow a target by the input of the one actuator or DC motor that drives it.

    Added with `sim.add_controller(servo, rate=...)`, it is called so many times a second and holds its output between:

        u = kp e + ki ∫ e dt + kd ė + rate_gain · target_rate + feedforward,     within the limits of the input.

    name: of the actuator or DC motor. mode: "position" (e in m or rad), "velocity" (m/s or rad/s) or "torque" (N or N m
    on the coordinate). gains: kp, ki, kd; ė is target_rate less the measured rate in position mode, and the measured
    difference over a period otherwise. limits: (lower, upper) of u; left out, those of the input. Where u is cut off
    the integral does not grow, so that it does not wind up.

    target, target_rate and feedforward (unit of the input) are set at any time: numbers, or one for each world.
    """

    def __init__(
        self, name: str, mode: str, *, gains: Any, target: Any = 0.0, rate_gain: float = 0.0, limits: Any = None
    ) -> None:
        element = f"servo of {name!r}"
        if mode not in MODES:
            raise unknown("mode", mode, MODES)
        self.name, self.mode = name, mode
        self.gains = vector(element, "gains", plain(gains), 3)
        self.rate_gain = number(element, "rate_gain", rate_gain)
        self.limits = None if limits is None else vector(element, "limits", plain(limits), 2)
        if self.limits is not None and self.limits[0] > self.limits[1]:
            raise fail(element, "limits leave nothing", shown(limits), "lower ≤ upper")
        self.target, self.target_rate, self.feedforward = target, 0.0, 0.0
        self._forget()

    def _forget(self) -> None:
        self._integral: Any = 0.0  # unit of the input
        self._error: Any = None  # at the last call
        self._time = -np.inf  # s, of the last call

    def __call__(self, sim: Simulation) -> None:
        sim.actuator(self.name).input = self.output(sim)

    def output(self, sim: Simulation) -> Any:
        """The input that is now due, not yet given: where several servos measure first and then act, velocities, which
        depend on forces, are found once."""
        if sim.time < self._time:  # started anew
            self._forget()
        elapsed = sim.time - self._time if np.isfinite(self._time) else 0.0
        kp, ki, kd = self.gains
        error, slope = self._measured(sim, elapsed)
        known = kp * error + kd * slope + self.rate_gain * np.asarray(self.target_rate) + np.asarray(self.feedforward)
        more = ki * elapsed * error
        wanted = known + self._integral + more
        output = np.clip(wanted, *self._bounds(sim.inner))
        self._integral = self._integral + np.where((wanted - output) * more > 0, 0.0, more)
        self._error, self._time = error, sim.time
        return output

    def _bounds(self, model: Model) -> tuple[float, float]:
        limits = model.actuator_input_limits[model.actuator(self.name)] if self.limits is None else self.limits
        return float(limits[0]), float(limits[1])

    def _measured(self, sim: Simulation, elapsed: float) -> tuple[Any, Any]:
        """Error now, and how fast it changes."""
        joint, k, gear = self._driven(sim.inner)
        view = sim.joint(joint)
        if self.mode == "position":
            error = np.asarray(self.target) - view.position[k]
            slope = np.asarray(self.target_rate) - view.velocity[k]
            return error, slope
        value = view.velocity[k] if self.mode == "velocity" else gear * sim.actuator(self.name).force
        error = np.asarray(self.target) - value
        slope = (error - self._error) / elapsed if self._error is not None and elapsed > 0 else np.zeros_like(error)
        return error, slope

    def _driven(self, model: Model) -> tuple[str, int, float]:
        """Joint, coordinate and gear of the actuator."""
        a = model.actuator(self.name)
        first, end = (int(x) for x in model.actuator_start[a : a + 2])
        c = int(model.actuator_coordinate[first])
        if end - first != 1 or (self.mode == "position" and model.coordinate_positions[c] < 0):
            allowed = "one that drives a single coordinate, with a position of its own for mode 'position'"
            raise fail(f"servo of {self.name!r}", "cannot measure what it drives", f"actuator {self.name!r}", allowed)
        starts = np.concatenate([model.dof_start, model.nv + model.loop_v_start[1:]])
        j = int(np.searchsorted(starts, c, side="right")) - 1
        return model.joint_names[j], c - int(starts[j]), float(model.actuator_gear[first])
