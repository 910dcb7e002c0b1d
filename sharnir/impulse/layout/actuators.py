"""Actuators of a model as arrays: force laws, paths, and the scalar rows they need (host; M-68..M-72)."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
import warp as wp

from sharnir.enums import ScalarSource
from sharnir.impulse.row_kinds import RowKind
from sharnir.kernels.types import real, vec3

if TYPE_CHECKING:
    from sharnir.impulse.layout.scalar_layout import ScalarRowBuilder
    from sharnir.model.model import Ints, Model, Reals


class ActuatorTreatment(IntEnum):
    """How an actuator's force is found."""

    EXPLICIT = 0  # from the state at the start of a step
    IMPLICIT = 1  # in the factor of the tree
    ROW = 2  # in a scalar row


@wp.struct
class ActuatorData:
    """An actuator: force law gain · input + bias in (1, position, rate) of its path, limits, time constants, losses."""

    treatment: int  # `ActuatorTreatment`
    term_start: int  # first of its path terms
    term_end: int  # after the last
    scalar: int  # its scalar row; −1 for none
    has_position: int  # 1 if all coordinates of its path have positions
    shares_coordinates: int  # 1 if other actuators act on one of its coordinates that has a largest force
    integrates: int  # 1 if its activation is the integral of its input
    has_losses: int  # 1 if it has gear losses or a brake
    gain: vec3  # per unit of input: force, force per position, force per rate
    bias: vec3  # the same without input
    input_low: real
    input_high: real
    force_low: real  # N or N m
    force_high: real  # N or N m
    integral_low: real  # of the integrated input
    integral_high: real  # of the integrated input
    input_time_constant: real  # s, of the input's filter
    force_time_constant: real  # s, of the force (L/R of a motor)
    efficiency: real
    brake: real  # N or N m, along the path


@wp.struct
class PathTerm:
    """One coordinate of an actuator's path, with its gear."""

    coordinate: int  # c
    q: int  # its place in q, or in loop q where it closes a loop; -1 for a rotation given by a quaternion
    is_loop: int  # 1 where its joint closes a loop
    scalar: int  # scalar of the coordinate, where the path is a scalar row; else −1
    gear: real
    max_force: real  # N or N m, of all actuators on the coordinate together


def path_terms_of(model: Model, a: int) -> range:
    """Path terms of actuator a."""
    return range(int(model.actuator_start[a]), int(model.actuator_start[a + 1]))


def choose_treatment(model: Model, a: int) -> ActuatorTreatment:
    """How the force of actuator a is found: explicit if its law depends on neither position nor rate, in the factor of
    the tree if its path is one tree coordinate, else as a scalar row."""
    moves = model.actuator_gain[a, 1:].any() or model.actuator_bias[a, 1:].any()
    if not moves or not model.actuator_gear[path_terms_of(model, a)].any():
        return ActuatorTreatment.EXPLICIT
    coordinates = model.actuator_coordinate[path_terms_of(model, a)]
    return ActuatorTreatment.IMPLICIT if len(coordinates) == 1 and coordinates[0] < model.nv else ActuatorTreatment.ROW


def coordinates_of_row_paths(model: Model) -> set[int]:
    """Coordinates on paths that are scalar rows."""
    wanted = [a for a in range(len(model.actuator_names)) if choose_treatment(model, a) == ActuatorTreatment.ROW]
    return {int(model.actuator_coordinate[t]) for a in wanted for t in path_terms_of(model, a)}


def add_actuator_scalars(builder: ScalarRowBuilder) -> None:
    """Add the scalar rows of actuators: of paths that are not one tree coordinate, and of the force limits of those
    that are."""
    m = builder.model
    limits = find_force_limits(m)
    for a in range(len(m.actuator_names)):
        treatment, terms, limited = choose_treatment(m, a), path_terms_of(m, a), bool(np.isfinite(limits[a]).any())
        if treatment == ActuatorTreatment.ROW:
            builder.add_path(
                a,
                [int(m.actuator_coordinate[t]) for t in terms],
                terms.start,
                RowKind.COMPLIANT | RowKind.SATURATED * limited,
            )
        elif treatment == ActuatorTreatment.IMPLICIT and limited:
            builder.add_saturation_excess(a, int(m.actuator_coordinate[terms.start]))


def find_force_limits(model: Model) -> Reals:
    """[actuators, 2] force limits: an actuator's own, and those of a coordinate that it alone acts on."""
    out = model.actuator_force_limits.copy()
    count = count_actuators(model)
    for a in range(len(out)):
        for t in path_terms_of(model, a):
            c, gear = int(model.actuator_coordinate[t]), abs(float(model.actuator_gear[t]))
            if count[c] == 1 and gear > 0:
                max_force = model.drive_max_force[c] / gear
                out[a] = np.clip(out[a], -max_force, max_force)
    return out


def force_time_constant_of(model: Model, a: int) -> float:
    """Time constant (s) of an actuator's force: inductance over resistance."""
    resistance, inductance, _ = model.actuator_electric[a]
    return float(inductance / resistance) if resistance > 0 else 0.0


def find_lossy_actuators(model: Model) -> set[int]:
    """Actuators with gear losses or a brake."""
    return {int(a) for a in np.flatnonzero((model.actuator_efficiency < 1) | (model.actuator_brake > 0))}


def find_lossy_coordinates(model: Model) -> set[int]:
    """Coordinates on which gear losses and brakes act."""
    return {int(model.actuator_coordinate[t]) for a in find_lossy_actuators(model) for t in path_terms_of(model, a)}


def count_actuators(model: Model) -> Ints:
    """[nc] how many actuators act on each coordinate."""
    return np.bincount(model.actuator_coordinate, minlength=model.nc).astype(np.int32)


def upload_actuators(model: Model, builder: ScalarRowBuilder, device: str) -> tuple[wp.array, wp.array]:
    """Upload the actuators and the terms of their paths."""
    limits, count = find_force_limits(model), count_actuators(model)
    scalar_of = {
        row.motor: l
        for l, row in enumerate(builder.rows)
        if row.row_kinds & RowKind.SATURATION_EXCESS or row.source_kind == ScalarSource.ACTUATOR_PATH
    }
    max_force = np.where(count > 1, model.drive_max_force, np.inf)
    actuators, terms = [], []
    for a in range(len(model.actuator_names)):
        d, own = ActuatorData(), path_terms_of(model, a)
        coordinates = model.actuator_coordinate[own]
        d.treatment, d.term_start, d.term_end, d.scalar = (
            choose_treatment(model, a),
            own.start,
            own.stop,
            scalar_of.get(a, -1),
        )
        d.has_position = int((model.coordinate_positions[coordinates] >= 0).all())
        d.shares_coordinates = int(np.isfinite(max_force[coordinates]).any())
        d.integrates = int(model.actuator_integrates[a])
        d.gain, d.bias = vec3(*model.actuator_gain[a]), vec3(*model.actuator_bias[a])
        d.input_low, d.input_high = model.actuator_input_limits[a]
        d.force_low, d.force_high = limits[a]
        d.integral_low, d.integral_high = model.actuator_input_sum_limits[a]
        d.input_time_constant, d.force_time_constant = model.actuator_response[a], force_time_constant_of(model, a)
        d.efficiency, d.brake = model.actuator_efficiency[a], model.actuator_brake[a]
        d.has_losses = int(a in find_lossy_actuators(model))
        actuators.append(d)
        terms += [_path_term(model, builder, t, d.treatment == ActuatorTreatment.ROW, max_force) for t in own]
    return wp.array(actuators, dtype=ActuatorData, device=device), wp.array(terms, dtype=PathTerm, device=device)


def _path_term(model: Model, builder: ScalarRowBuilder, t: int, in_row: bool, max_force: Reals) -> PathTerm:
    out, c = PathTerm(), int(model.actuator_coordinate[t])
    q = int(model.coordinate_positions[c])
    out.coordinate, out.gear, out.max_force = c, model.actuator_gear[t], max_force[c]
    out.is_loop = int(c >= model.nv)
    out.q = q - model.nq if q >= 0 and out.is_loop else q
    out.scalar = builder.scalar_of_coordinate[c] if in_row else -1
    return out
