"""From a simulation to a frame: copies of arrays that are there anyway, a few microseconds each."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from sharnir.impulse.row_kinds import CONTACT_IMPULSES, SCALAR_IMPULSES, ScalarImpulse
from sharnir.impulse.slots import CONTACT_KEY_SIZE, ContactKey, PrevContact, PrevStep
from sharnir.simulation.simulation import Simulation
from sharnir.simulation.step_warnings import KINDS
from sharnir.viewer.channel import Sizes
from sharnir.viewer.readouts import Readouts

CONTACTS = 2000  # points of contact that are shown, at most
RATES = 0.1  # s, between readings of rates and energies


class Observer:
    """Fills frames. The solver may change between them; `attach` says so."""

    def __init__(self, sim: Simulation, shown: Readouts) -> None:
        self._shown = shown
        self.attach(sim)

    def attach(self, sim: Simulation) -> None:
        """Find out where this simulation keeps what is shown."""
        inner, impulses = sim.inner, sim.impulses
        self._sim, self._rated = sim, 0.0
        self._rates, self._energy = np.zeros(len(self._shown.coordinates)), (0.0, 0.0)
        c = np.array([inner.coordinate(x.joint, x.number) for x in self._shown.coordinates], dtype=int)
        self._velocities = c
        self._positions = inner.coordinate_positions[c]
        scalars = [impulses.scalars.scalar_of_coordinate.get(int(c)) for c in inner.motor_coordinate]
        motor = impulses.layout.scalar_p_start + ScalarImpulse.MOTOR
        self._motor_rows = np.array([-1 if l is None else motor + SCALAR_IMPULSES * l for l in scalars], dtype=int)

    def sizes(self) -> Sizes:
        """Of the frames that are filled."""
        shown, room = self._shown, min(self._sim.impulses.layout.max_contacts, CONTACTS)
        return Sizes(self._sim.model.nb, len(shown.coordinates), len(shown.motors), len(shown.actuators), room)

    def fill(self, frame: Any) -> None:
        """What moves and what the solver and the drives did, of the first world."""
        sim, nb = self._sim, self._sim.model.nb
        state = sim.impulses.state
        frame["time"], frame["dt"] = sim.time, sim.dt
        frame["budget"] = sim.settings.budget or 0.0
        frame["overruns"] = sim.counts.overruns
        frame["warnings"] = sum(1 << k for k, kind in enumerate(KINDS) if kind in sim.told)
        frame["position"] = first(sim.seen("position")).reshape(nb, 3)
        frame["rotation"] = first(sim.seen("rotation")).reshape(nb, 3, 3)
        if len(self._positions):
            q = np.concatenate([self._first(state.q), self._first(state.loop_q)])
            frame["q"] = q[self._positions]
            frame["control"] = self._first(sim.applied_control)[self._velocities]
        self._fill_rates(frame)
        acted = float(self._first(state.prev_step)[PrevStep.FORCE_TIME])
        self._fill_drives(frame, acted)
        self._fill_contacts(frame, acted)

    def _first(self, array: Any) -> Any:
        """What an array of the simulation holds of the first world."""
        return self._sim.impulses.host(array)[:, 0]

    def _fill_rates(self, frame: Any) -> None:
        """Rates and energies, which take a solution of their own: as often as people read numbers."""
        sim, now = self._sim, time.monotonic()
        if now - self._rated >= RATES:
            self._rated = now
            self._energy = sim.energy
            if len(self._positions):
                rates = np.concatenate([first(sim.seen("v")), first(sim.seen("loop_v"))])
                self._rates = rates[self._velocities]
        frame["v"], (frame["kinetic"], frame["potential"]) = self._rates, self._energy

    def _fill_drives(self, frame: Any, acted: float) -> None:
        state = self._sim.impulses.state
        if len(self._motor_rows):
            frame["target"] = self._first(state.motor_target)
            p = np.append(self._first(state.p), 0.0)
            frame["motor_force"] = p[self._motor_rows] / acted if acted > 0 else 0.0
        if len(self._shown.actuators):
            frame["input"] = self._first(state.actuator_input)
            frame["actuator_force"] = self._first(state.actuator_force)

    def _fill_contacts(self, frame: Any, acted: float) -> None:
        state, shapes = self._sim.impulses.state, len(self._sim.inner.shape_kind)
        room = len(frame["pair"])
        keys = self._first(state.prev_contact_keys)
        count = min(int(keys[ContactKey.COUNT]), room) if room and acted > 0 else 0
        frame["contacts"] = count
        if count:
            pair = keys[ContactKey.PAIR :: CONTACT_KEY_SIZE][:count]
            frame["pair"][:count, 0], frame["pair"][:count, 1] = np.divmod(pair, shapes)
            geometry = self._first(state.prev_contact_geometry).reshape(-1, PrevContact.SIZE)[:count]
            frame["point"][:count] = geometry[:, PrevContact.POINT : PrevContact.NORMAL]
            impulse = self._first(state.prev_contact_impulse).reshape(-1, CONTACT_IMPULSES)[:count, :3]
            frame["force"][:count] = impulse / acted


def first(values: Any) -> Any:
    """Of the first world."""
    return values[:, 0] if values.ndim == 2 else values
