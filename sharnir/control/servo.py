"""Servo loops: position, velocity or torque of joints by PID, with feed-forward, saturation and anti-windup (M-76)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sharnir.checks import per_coordinate, real_array, vector
from sharnir.errors import fail, shown, unknown
from sharnir.model.model import Reals
from sharnir.simulation.views import write_input
from sharnir.spec.elements import plain

if TYPE_CHECKING:
    from sharnir.model.model import Model
    from sharnir.simulation.simulation import Simulation

MODES = ("position", "velocity", "torque")


class Servo:
    """Lets joint coordinates follow a target by the inputs of actuators or DC motors that drive one coordinate each.

    Added with `sim.add_controller(servo, rate=...)`, it is called so many times a second and holds its output between:

        u = kp e + ki ∫ e dt + kd ė + rate_gain · target_rate + feedforward,     within the limits of the input.

    name: of the actuator or DC motor, or names of several. mode: "position" (e in m or rad), "velocity" (m/s or rad/s)
    or "torque" (N or N m on the coordinate). gains: kp, ki, kd; ė is target_rate less the measured rate in position
    mode, and the measured difference over a period otherwise. rate_gain: a number, or one for each name. limits:
    (lower, upper) of u; left out, those of the input. Where u is cut off the integral does not grow, so that it does
    not wind up.

    target, target_rate and feedforward (unit of the input) are set at any time: a number, one for each name, or with
    several worlds [names, worlds]; for one name [worlds].
    """

    def __init__(
        self, name: str | Sequence[str], mode: str, *, gains: Any, target: Any = 0.0, rate_gain: Any = 0.0,
        limits: Any = None,
    ) -> None:  # fmt: skip
        names = plain([name] if isinstance(name, str) else name)
        if not isinstance(names, tuple) or not names or len(set(names)) < len(names):
            raise fail("servo", "drives nothing, or something twice", shown(name), "names of actuators or DC motors")
        self.names: tuple[str, ...] = names
        element = self._element = f"servo of {', '.join(map(repr, self.names))}"
        if mode not in MODES:
            raise unknown("mode", mode, MODES)
        self.mode = mode
        self.gains = vector(element, "gains", gains, 3)
        self.rate_gain = per_coordinate(element, "rate_gain", rate_gain, len(self.names))
        self.limits = None if limits is None else vector(element, "limits", limits, 2)
        if self.limits is not None and self.limits[0] > self.limits[1]:
            raise fail(element, "limits leave nothing", shown(limits), "lower ≤ upper")
        self.target: Any = target
        self.target_rate: Any = 0.0
        self.feedforward: Any = 0.0
        self._driven: Driven | None = None
        self._forget()

    def restart(self, sim: Simulation) -> None:
        """Forget what was summed: the simulation was reset or restored."""
        self._forget()

    def _forget(self) -> None:
        self._integral: Any = 0.0  # unit of the input
        self._error: Any = None  # at the last call
        self._time = -np.inf  # s, of the last call

    def __call__(self, sim: Simulation) -> None:
        if self._driven is None or self._driven.model is not sim.inner:
            self._driven = self._find(sim.inner)
        elapsed = sim.time - self._time if np.isfinite(self._time) else 0.0
        kp, ki, kd = self.gains
        rate = self._given(sim, "target_rate")
        error, slope = self._measured(sim, rate, elapsed)
        ahead = (self.rate_gain if sim.worlds == 1 else self.rate_gain[:, None]) * rate
        known = kp * error + kd * slope + ahead + self._given(sim, "feedforward")
        more = ki * elapsed * error
        wanted = known + self._integral + more
        lower, upper = self._driven.limits if sim.worlds == 1 else self._driven.limits[:, :, None]
        output = np.minimum(np.maximum(wanted, lower), upper)
        self._integral = self._integral + np.where((wanted - output) * more > 0, 0.0, more)
        self._error, self._time = error, sim.time
        write_input(
            sim, sim.impulses.state.actuator_input, self._driven.actuators, f"output of {self._element}", output
        )

    def _given(self, sim: Simulation, name: str) -> Reals:
        """A value a user sets: [names] or [names, worlds], or what is spread over that."""
        shape = (len(self.names), sim.worlds)[: 1 if sim.worlds == 1 else 2]
        try:
            value = real_array(getattr(self, name))
            if len(shape) == 2 and value.ndim == 1 and len(self.names) > 1:
                value = value[:, None]
            return value if value.shape in ((), shape) else np.broadcast_to(value, shape)
        except (TypeError, ValueError):
            allowed = f"a number or {list(shape)}"
            raise fail(self._element, f"{name} has the wrong shape", shown(getattr(self, name)), allowed) from None

    def _measured(self, sim: Simulation, rate: Reals, elapsed: float) -> tuple[Reals, Reals]:
        """Errors now, and how fast they change."""
        assert self._driven is not None
        target = self._given(sim, "target")
        if self.mode == "position":
            return target - self._driven.positions(sim), rate - self._driven.rates(sim)
        value = self._driven.rates(sim) if self.mode == "velocity" else self._driven.forces(sim)
        error = target - value
        known = self._error is not None and elapsed > 0
        return error, (error - self._error) / elapsed if known else np.zeros_like(error)

    def _find(self, model: Model) -> Driven:
        """What it drives in a model."""
        actuators = np.array([model.actuator(name) for name in self.names])
        first, end = model.actuator_start[actuators], model.actuator_start[actuators + 1]
        coordinates = model.actuator_coordinate[np.minimum(first, len(model.actuator_coordinate) - 1)]
        for name, c, single in zip(self.names, coordinates, end - first == 1, strict=True):
            if not single or (self.mode == "position" and model.coordinate_positions[c] < 0):
                allowed = "one that drives a single coordinate, with a position of its own for mode 'position'"
                raise fail(self._element, "cannot measure what it drives", f"actuator {name!r}", allowed)
        limits = model.actuator_input_limits[actuators].T if self.limits is None else self.limits[:, None]
        return Driven(model, actuators, coordinates, model.actuator_gear[first], limits)


class Driven(NamedTuple):
    """Actuators, the coordinates and gears of each [n], and limits of their inputs [2, n]."""

    model: Model
    actuators: Any
    coordinates: Any
    gears: Reals
    limits: Reals

    def positions(self, sim: Simulation) -> Reals:
        """m or rad, [n] or [n, worlds]."""
        return self._of_both(sim, sim.impulses.state.q, sim.impulses.state.loop_q)[
            self.model.coordinate_positions[self.coordinates]
        ]

    def rates(self, sim: Simulation) -> Reals:
        """m/s or rad/s."""
        sim.seen("v")
        return self._of_both(sim, sim.impulses.observations["v"], sim.impulses.observations["loop_v"])[self.coordinates]

    def forces(self, sim: Simulation) -> Reals:
        """N or N m on the coordinates in the last step."""
        given = sim._column(sim.impulses.state.actuator_force)[self.actuators]
        return given * (self.gears if sim.worlds == 1 else self.gears[:, None])

    def _of_both(self, sim: Simulation, tree: Any, loops: Any) -> Reals:
        """Of the tree, and of loop joints behind it."""
        return np.concatenate([sim._column(tree), sim._column(loops)]) if self.model.loops else sim._column(tree)
