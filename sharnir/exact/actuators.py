"""Explicit actuator forces at an instant, for the exact solver: gain and bias laws, clamped."""

from __future__ import annotations

import numpy as np

from sharnir.model.model import Model, Reals


def gear_matrix(model: Model) -> Reals:
    """[nc, actuators] force on a coordinate by the force of an actuator, and the path's position by a coordinate's."""
    out = np.zeros((model.nc, len(model.actuator_names)))
    numbers = np.repeat(np.arange(len(model.actuator_names)), np.diff(model.actuator_start))
    np.add.at(out, (model.actuator_coordinate, numbers), model.actuator_gear)
    return out


def gather_positions(model: Model, q: Reals) -> Reals:
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
    max_force = model.drive_max_force[:, None]
    return f, np.clip(gears @ f, -max_force, max_force)
