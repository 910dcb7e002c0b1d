"""Actuators: forces that follow an input, by an affine law, on joints and on tendons that are sums of joints."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from sharnir.io.convert.bodies import BALL, FREE, SIZES
from sharnir.io.convert.dc_motors import dc_motor, is_dc_motor, unknown_of_dc_motor
from sharnir.io.convert.source import Source
from sharnir.io.convert.tendons import fixed_terms
from sharnir.spec.actuators import Actuator
from sharnir.spec.import_report import CHANGED, UNSEEN
from sharnir.spec.joints import Joint

TRN, DYN, GAIN, BIAS = mujoco.mjtTrn, mujoco.mjtDyn, mujoco.mjtGain, mujoco.mjtBias
ON_JOINT = (int(TRN.mjTRN_JOINT), int(TRN.mjTRN_JOINTINPARENT))
ON_TENDON = int(TRN.mjTRN_TENDON)
NONE, INTEGRATOR = int(DYN.mjDYN_NONE), int(DYN.mjDYN_INTEGRATOR)
FILTERS = (int(DYN.mjDYN_FILTER), int(DYN.mjDYN_FILTEREXACT))
Terms = list[tuple[str, int, float]]  # joint, coordinate, gear


def add_actuators(source: Source) -> None:
    """All actuators, and the limits joints put on them."""
    m = source.model
    if not source.on("actuation"):
        source.report.add("option", "actuation", "is off: there are no actuators", UNSEEN)
        return
    for a in range(m.nactuator):
        name = source.name("actuator", a)
        reason = _unknown(source, a)
        terms = None if reason else _terms(source, a)
        if terms is None:
            source.report.add("actuator", name, reason or "its transmission is not known")
        elif is_dc_motor(source, a):
            source.scene.add(dc_motor(source, a, name, terms))
        else:
            source.scene.add(_actuator(source, a, name, terms))
    _add_joint_limits(source)


def _unknown(source: Source, a: int) -> str | None:
    """What about an actuator is not known here."""
    m = source.model
    if m.actuator_delay[a] > 0:
        return "a delay is not known"
    if m.actuator_plugin[a] >= 0:
        return "a plugin drives it, which is not known"
    if (m.opt.disableactuator >> int(m.actuator_group[a])) & 1:
        return "its group is switched off"
    if is_dc_motor(source, a):
        return unknown_of_dc_motor(source, a)
    gain, bias, dynamics = int(m.actuator_gaintype[a]), int(m.actuator_biastype[a]), int(m.actuator_dyntype[a])
    if gain not in (int(GAIN.mjGAIN_FIXED), int(GAIN.mjGAIN_AFFINE)):
        return f"a gain of type {GAIN(gain).name[7:].lower()} is not known"
    if bias not in (int(BIAS.mjBIAS_NONE), int(BIAS.mjBIAS_AFFINE)):
        return f"a bias of type {BIAS(bias).name[7:].lower()} is not known"
    if dynamics not in (NONE, INTEGRATOR, *FILTERS):
        return f"dynamics of type {DYN(dynamics).name[6:].lower()} are not known"
    if m.actuator_armature[a] or m.actuator_damping[a] or m.actuator_dampingpoly[a].any():
        return "armature and damping of its own are not known"
    return None


def _terms(source: Source, a: int) -> Terms | None:
    """Coordinates and gears an actuator acts on; None where it acts on something else, or in other axes."""
    m, kind, target = source.model, int(source.model.actuator_trntype[a]), int(source.model.actuator_trnid[a, 0])
    gear = m.actuator_gear[a]
    if kind in ON_JOINT:
        joint = int(m.jnt_type[target])
        if joint in (BALL, FREE) and (kind != int(TRN.mjTRN_JOINT) or m.actuator_biasprm[a, 1] != 0):
            return None
        name, first = source.coordinate[target]
        return [(name, first + k, float(gear[k])) for k in range(SIZES[joint][1]) if gear[k] != 0 or k == 0]
    tendon = fixed_terms(m, target) if kind == ON_TENDON else None
    if tendon is None:
        return None
    return [(*source.coordinate[j], float(gear[0] * c)) for j, c in tendon.items()]


def _actuator(source: Source, a: int, name: str, terms: Terms) -> Actuator:
    m = source.model
    affine = int(m.actuator_gaintype[a]) == int(GAIN.mjGAIN_AFFINE)
    biased = int(m.actuator_biastype[a]) == int(BIAS.mjBIAS_AFFINE)
    dynamics = int(m.actuator_dyntype[a])
    facts: dict[str, Any] = {
        "gain": m.actuator_gainprm[a, :3] * ([1, 1, 1] if affine else [1, 0, 0]),
        "bias": m.actuator_biasprm[a, :3] if biased else (0.0, 0.0, 0.0),
        "integrates": dynamics == INTEGRATOR, "response": float(m.actuator_dynprm[a, 0] if dynamics in FILTERS else 0),
    }  # fmt: skip
    if m.actuator_ctrllimited[a] and source.on("clamping"):
        facts["input_limits"] = m.actuator_ctrlrange[a].reshape(-1)[:2]
    if m.actuator_forcelimited[a]:
        facts["force_limits"] = m.actuator_forcerange[a].reshape(-1)[:2]
    if m.actuator_actlimited[a] and dynamics == INTEGRATOR:
        facts["input_sum_limits"] = m.actuator_actrange[a].reshape(-1)[:2]
    elif m.actuator_actlimited[a] and dynamics in FILTERS:
        source.report.add("actuator", name, "limits of its activation are those of its input", CHANGED)
    if m.actuator_actearly[a]:
        source.report.add("actuator", name, "its activation acts a step later", CHANGED)
    joints, coordinates, gears = zip(*terms, strict=True)
    if any(coordinates):
        facts["coordinates"] = coordinates
    return Actuator(name=name, joints=joints, gears=gears, **facts)


def _add_joint_limits(source: Source) -> None:
    """What a joint lets all its actuators together do."""
    m = source.model
    joints: dict[str, Joint] = {joint.name: joint for joint in source.scene.joints}
    for j in np.flatnonzero(m.jnt_actfrclimited):
        name, k = source.coordinate[int(j)]
        lower, upper = m.jnt_actfrcrange[j]
        joint, most = joints[name], max(-lower, upper)
        if lower != -upper:
            reason = f"its actuators may give {lower:g} to {upper:g}, here up to {most:g} both ways"
            source.report.add("joint", source.joint_names[int(j)], reason, CHANGED)
        values = list(np.broadcast_to(np.asarray(joint.max_force, dtype=float), joint.nv))
        values[k] = float(most)
        joint.max_force = values[0] if joint.nv == 1 else tuple(values)
