"""Named access to the DC motors of a simulation (`views`): currents, voltages, where energy goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sharnir.errors import fail, shown
from sharnir.impulse.slots import ActuatorRate, PrevStep
from sharnir.simulation.views import ActuatorView, write_input

if TYPE_CHECKING:
    from sharnir.simulation.simulation import Simulation


class DCMotorView(ActuatorView):
    """A DC motor of a simulation; its input is the voltage it is given. What is shown belongs to the last step: means
    over the time its torque acted."""

    __slots__ = ("_constant", "_inductance", "_resistance")

    def __init__(self, simulation: Simulation, name: str) -> None:
        super().__init__(simulation, name)
        self._resistance, self._inductance, self._constant = simulation.inner.actuator_electric[self._number]
        if self._constant == 0:
            raise fail(f"actuator {name!r}", "is no DC motor", "an Actuator", "the name of a DCMotor")

    def _state(self, name: str, row: int) -> Any:
        return self._simulation._column(getattr(self._simulation.impulses.state, name))[row]

    def _rate(self, slot: ActuatorRate) -> Any:
        return self._state("actuator_rates", ActuatorRate.SIZE * self._number + slot)

    @property
    def brake(self) -> Any:
        """How far its brake is engaged, from 0 to 1, held until changed."""
        return self._state("actuator_brake", self._number)

    @brake.setter
    def brake(self, value: Any) -> None:
        what = f"brake of DC motor {self.name!r}"
        try:
            share = np.asarray(value, dtype=float)
            fits = bool(((share >= 0) & (share <= 1)).all()) and np.asarray(value).dtype.kind in "fiub"
        except (TypeError, ValueError, OverflowError):
            fits = False
        if not fits:
            raise fail(what, "is out of range", shown(value), "numbers from 0 to 1, or True and False")
        array = self._simulation.impulses.state.actuator_brake
        write_input(self._simulation, array, self._number, what, share)

    @property
    def torque(self) -> Any:
        """N m, of the shaft."""
        return self.force

    @property
    def current(self) -> Any:
        """A."""
        return self.force / self._constant

    @property
    def speed(self) -> Any:
        """rad/s, of the shaft."""
        return self._rate(ActuatorRate.PATH)

    @property
    def voltage(self) -> Any:
        """V at its terminals: what it was given, or as much as its driver let through at the largest current."""
        model = self._simulation.inner
        given = np.clip(self.input, *model.actuator_input_limits[self._number])
        rise = self._rate(ActuatorRate.FORCE) / self._constant
        held = self._resistance * self.current + self._inductance * rise + self._constant * self.speed
        return np.where(self._limited(), held, given)[()]

    @property
    def electrical_power(self) -> Any:
        """W it takes from its supply; negative where it feeds back."""
        return self.voltage * self.current

    @property
    def heat(self) -> Any:
        """W lost in its windings."""
        return self._resistance * self._mean_square_current()

    def _mean_square_current(self) -> Any:
        """A², with what the current changed by within the step where it has an inductance (M-73)."""
        mean, acted = self.current, self._state("prev_step", PrevStep.FORCE_TIME)
        change = self._rate(ActuatorRate.FORCE) / self._constant
        if self._inductance == 0:
            return mean**2
        before = self._state("actuator_force_end", self._number) / self._constant - change * acted
        x = np.where(acted > 0, acted, 1.0) * self._resistance / self._inductance
        kept, kept_twice = -np.expm1(-x) / x, -np.expm1(-2 * x) / (2 * x)
        end = (mean - kept * before) / (1 - kept)  # what it settles to
        square = end**2 + 2 * end * (before - end) * kept + (before - end) ** 2 * kept_twice
        return np.where(self._limited() | (acted == 0), mean**2, square)[()]

    def _limited(self) -> Any:
        """Whether its driver held the current back."""
        most = self._simulation.inner.actuator_force_limits[self._number, 1]
        return np.abs(self.force) > most * (1 - 1e-6)

    @property
    def mechanical_power(self) -> Any:
        """W it gives its shaft, before the rotor, the gear and the brake."""
        return self.torque * self.speed
