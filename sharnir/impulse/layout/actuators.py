"""Actuators of a model as kernels see them: laws, paths, and the lines they need (M-68..M-72)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import warp as wp

from sharnir.enums import PATH, TREE_DOF
from sharnir.impulse.row_kinds import BOUNDED, EXCESS, SOFT
from sharnir.kernels.types import real, vec3

if TYPE_CHECKING:
    from sharnir.impulse.layout.scalar_rows import Lines
    from sharnir.model.model import Ints, Model, Reals

# Where an actuator's force is found: as it is at the start of a step, in the factor of the tree, or in a line.
PLAIN, FACTOR, LINE = range(3)


@wp.struct
class Drive:
    """An actuator."""

    place: int  # PLAIN, FACTOR or LINE
    first: int  # of its terms
    end: int
    line: int  # its line; -1 for none
    measured: int  # 1 if all coordinates of its path have positions
    shared: int  # 1 if others act on one of its coordinates, which has a largest force
    integrates: int
    rubs: int  # 1 if it has a gear that loses, or a brake
    gain: vec3
    bias: vec3
    input_low: real
    input_high: real
    low: real  # N or N m
    high: real
    sum_low: real
    sum_high: real
    response: real  # s, of its input
    lag: real  # s, of its force
    efficiency: real
    brake: real  # N or N m, along the path


@wp.struct
class Term:
    """A coordinate of an actuator's path."""

    coordinate: int  # c
    q: int  # its place in q, or in loop q where it closes a loop; -1 for a rotation given by a quaternion
    loop: int  # 1 where its joint closes a loop
    line: int  # of the coordinate, where the path is a line; else -1
    gear: real
    most: real  # N or N m, of all actuators on the coordinate


def terms_of(model: Model, a: int) -> range:
    """Terms of an actuator."""
    return range(int(model.actuator_start[a]), int(model.actuator_start[a + 1]))


def place_of(model: Model, a: int) -> int:
    """Where the force of an actuator is found."""
    moves = model.actuator_gain[a, 1:].any() or model.actuator_bias[a, 1:].any()
    if not moves or not model.actuator_gear[terms_of(model, a)].any():
        return PLAIN
    coordinates = model.actuator_coordinate[terms_of(model, a)]
    return FACTOR if len(coordinates) == 1 and coordinates[0] < model.nv else LINE


def path_coordinates(model: Model) -> set[int]:
    """Coordinates on paths that are lines."""
    wanted = [a for a in range(len(model.actuator_names)) if place_of(model, a) == LINE]
    return {int(model.actuator_coordinate[t]) for a in wanted for t in terms_of(model, a)}


def add_drive_lines(lines: Lines) -> None:
    """Lines of actuators: of paths that are not one coordinate of the tree, and of limits of those that are."""
    m = lines.model
    limits = force_limits(m)
    for a in range(len(m.actuator_names)):
        place, terms, limited = place_of(m, a), terms_of(m, a), bool(np.isfinite(limits[a]).any())
        if place == LINE:
            lines.path(a, [int(m.actuator_coordinate[t]) for t in terms], terms.start, SOFT | BOUNDED * limited)
        elif place == FACTOR and limited:
            c = int(m.actuator_coordinate[terms.start])
            link, entries = lines.tree_walk(c)
            lines.add(TREE_DOF, entries, of=(c, 0), link=link, acts=EXCESS, measured=0, motor=a)


def force_limits(model: Model) -> Reals:
    """[actuators, 2] of an actuator's force: its own, and of a coordinate that it alone acts on."""
    out = model.actuator_force_limits.copy()
    count = sharing(model)
    for a in range(len(out)):
        for t in terms_of(model, a):
            c, gear = int(model.actuator_coordinate[t]), abs(float(model.actuator_gear[t]))
            if count[c] == 1 and gear > 0:
                most = model.drive_max_force[c] / gear
                out[a] = np.clip(out[a], -most, most)
    return out


def lag_of(model: Model, a: int) -> float:
    """Time constant (s) of an actuator's force."""
    resistance, inductance, _ = model.actuator_electric[a]
    return float(inductance / resistance) if resistance > 0 else 0.0


def rubbing(model: Model) -> set[int]:
    """Actuators whose gears lose, or that have a brake."""
    return {int(a) for a in np.flatnonzero((model.actuator_efficiency < 1) | (model.actuator_brake > 0))}


def rubbed_coordinates(model: Model) -> set[int]:
    """Coordinates that their gears and brakes rub."""
    return {int(model.actuator_coordinate[t]) for a in rubbing(model) for t in terms_of(model, a)}


def sharing(model: Model) -> Ints:
    """[nc] how many actuators act on each coordinate."""
    return np.bincount(model.actuator_coordinate, minlength=model.nc).astype(np.int32)


def drive_arrays(model: Model, lines: Lines, device: str) -> tuple[wp.array, wp.array]:
    """The actuators and the terms of their paths on a device."""
    limits, count = force_limits(model), sharing(model)
    line_of = {row["motor"]: l for l, row in enumerate(lines.rows) if row["acts"] & EXCESS or row["kind"] == PATH}
    most = np.where(count > 1, model.drive_max_force, np.inf)
    drives, terms = [], []
    for a in range(len(model.actuator_names)):
        d, own = Drive(), terms_of(model, a)
        coordinates = model.actuator_coordinate[own]
        d.place, d.first, d.end, d.line = place_of(model, a), own.start, own.stop, line_of.get(a, -1)
        d.measured = int((model.coordinate_positions[coordinates] >= 0).all())
        d.shared = int(np.isfinite(most[coordinates]).any())
        d.integrates = int(model.actuator_integrates[a])
        d.gain, d.bias = vec3(*model.actuator_gain[a]), vec3(*model.actuator_bias[a])
        d.input_low, d.input_high = model.actuator_input_limits[a]
        d.low, d.high = limits[a]
        d.sum_low, d.sum_high = model.actuator_input_sum_limits[a]
        d.response, d.lag = model.actuator_response[a], lag_of(model, a)
        d.efficiency, d.brake = model.actuator_efficiency[a], model.actuator_brake[a]
        d.rubs = int(a in rubbing(model))
        drives.append(d)
        terms += [_term(model, lines, t, d.place == LINE, most) for t in own]
    return wp.array(drives, dtype=Drive, device=device), wp.array(terms, dtype=Term, device=device)


def _term(model: Model, lines: Lines, t: int, in_line: bool, most: Reals) -> Term:
    out, c = Term(), int(model.actuator_coordinate[t])
    q = int(model.coordinate_positions[c])
    out.coordinate, out.gear, out.most = c, model.actuator_gear[t], most[c]
    out.loop = int(c >= model.nv)
    out.q = q - model.nq if q >= 0 and out.loop else q
    out.line = lines.of_coordinate[c] if in_line else -1
    return out
