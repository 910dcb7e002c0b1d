"""Forces of actuators, by their law, and the part of a simulation that applies them before its steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from sharnir.maths import np_real
from sharnir.model import Model, Reals

if TYPE_CHECKING:
    from sharnir.simulation import Simulation


def gear_matrix(model: Model) -> Reals:
    """[nc, actuators] force on a coordinate by the force of an actuator, and the path's position by a coordinate's."""
    out = np.zeros((model.nc, len(model.actuator_names)))
    numbers = np.repeat(np.arange(len(model.actuator_names)), np.diff(model.actuator_start))
    np.add.at(out, (model.actuator_coordinate, numbers), model.actuator_gear)
    return out


def positions(model: Model, q: Reals) -> Reals:
    """[nc, worlds] position of every coordinate, from (q, loop q) [.., worlds]; 0 for those of a quaternion."""
    place = model.coordinate_positions
    return np.where(place[:, None] >= 0, q[place], 0.0) if len(q) else np.zeros((model.nc, q.shape[1]))


def actuator_forces(model: Model, gears: Reals, q: Reals, v: Reals, u: Reals) -> tuple[Reals, Reals]:
    """Forces f [actuators, worlds] and what they put on coordinates [nc, worlds], for coordinates' positions and
    rates q, v [nc, worlds] and inputs u [actuators, worlds], clamped and lagged."""
    path, rate = gears.T @ q, gears.T @ v
    terms = np.stack([np.ones_like(path), path, rate])
    f = np.einsum("ak,kaw->aw", model.actuator_gain, terms) * u + np.einsum("ak,kaw->aw", model.actuator_bias, terms)
    f = np.clip(f, *model.actuator_force_limits.T[:, :, None])
    most = model.drive_max_force[:, None]
    return f, np.clip(gears @ f, -most, most)


class Actuation:
    """The actuators of a simulation. `control` [nc, worlds] is what the user applies besides them."""

    def __init__(self, model: Model, worlds: int) -> None:
        self.model, self.gears = model, gear_matrix(model)
        count = len(model.actuator_names)
        self.control = wp.zeros((model.nc, worlds), dtype=wp.float64, device="cpu")
        self.input = wp.zeros((count, worlds), dtype=wp.float64, device="cpu")
        self.state = np.zeros((count, worlds))  # what the law gets, where it lags or integrates
        self.force = np.zeros((count, worlds))
        self.moves = bool(model.actuator_gain[:, 1:].any() or model.actuator_bias[:, 1:].any())  # depends on motion
        self.slow = (model.actuator_response > 0) | (model.actuator_integrates > 0)
        self.every_step = self.moves or bool(self.slow.any())
        self.reset()

    def reset(self) -> None:
        """As at the start."""
        self.control.zero_()
        self.input.numpy()[:] = self.model.actuator_input[:, None]
        self.state[:] = 0.0
        self.force[:] = 0.0

    def apply(self, sim: Simulation) -> None:
        """Put the forces of the next step, or of all steps if nothing changes them, on the coordinates."""
        control = self.control.numpy()
        q = v = np.zeros_like(control)
        if self.moves:
            state = sim.impulses.state
            q = positions(self.model, np.concatenate([state.q.numpy(), state.loop_q.numpy()]))
            v = np.concatenate([sim.seen("v"), sim.seen("loop_v")]).reshape(control.shape)
        given = np.clip(self.input.numpy(), *self.model.actuator_input_limits.T[:, :, None])
        u = np.where(self.slow[:, None], self.state, given)
        self.force, forces = actuator_forces(self.model, self.gears, q, v, u)
        sim.impulses.state.control.assign((control + forces).astype(np_real))
        self._follow(given, sim.dt)

    def _follow(self, given: Reals, dt: float) -> None:
        """Let what lags or integrates follow its input for a step."""
        m = self.model
        if not self.slow.any():
            return
        share = 1 - np.exp(-dt / np.where(m.actuator_response > 0, m.actuator_response, 1.0))
        lagged = self.state + share[:, None] * (given - self.state)
        summed = np.clip(self.state + dt * given, *m.actuator_input_sum_limits.T[:, :, None])
        self.state = np.where(m.actuator_integrates[:, None] > 0, summed, lagged)

    def saved(self) -> dict[str, Any]:
        """Copies of all that evolves."""
        values = {"control": self.control.numpy(), "input": self.input.numpy(), "state": self.state}
        return {f"actuator_{name}": array.copy() for name, array in values.items()}

    def restore(self, arrays: dict[str, Any]) -> None:
        """Go on from what `saved` returned."""
        self.control.assign(arrays["actuator_control"])
        self.input.assign(arrays["actuator_input"])
        self.state = arrays["actuator_state"].copy()
