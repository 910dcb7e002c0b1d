"""DC motors: MuJoCo's `<dcmotor>`, whose input is a voltage, as ours."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from sharnir.io.convert.source import Source
from sharnir.spec.dc_motors import DCMotor
from sharnir.spec.import_report import CHANGED

# What its compiled parameters mean, by array and places there, where it is not known here.
UNKNOWN: tuple[tuple[str, slice, str], ...] = (
    ("gainprm", slice(2, 4), "heat that changes its resistance"),
    ("gainprm", slice(4, 8), "a controller of its own"),
    ("biasprm", slice(0, 3), "cogging"),
    ("biasprm", slice(3, 6), "friction after LuGre"),
    ("dynprm", slice(1, 2), "a largest rate of its current"),
)


def is_dc_motor(source: Source, a: int) -> bool:
    return int(source.model.actuator_gaintype[a]) == int(mujoco.mjtGain.mjGAIN_DCMOTOR)


def unknown_of_dc_motor(source: Source, a: int) -> str | None:
    """What about it is not known here."""
    m = source.model
    for name, places, what in UNKNOWN:
        if getattr(m, f"actuator_{name}")[a, places].any():
            return f"{what} is not known"
    if m.actuator_damping[a] or m.actuator_dampingpoly[a].any():
        return "damping of its own is not known"
    if int(m.actuator_trntype[a]) != int(mujoco.mjtTrn.mjTRN_JOINT):
        return "a DC motor that drives something else than a joint is not known"
    return None


def dc_motor(source: Source, a: int, name: str, terms: list[tuple[str, int, float]]) -> DCMotor:
    """The motor; terms: joint, coordinate and gear it acts on."""
    m = source.model
    resistance, constant = (float(x) for x in m.actuator_gainprm[a, :2])
    [(joint, coordinate, ratio)] = terms
    facts: dict[str, Any] = {}
    if m.actuator_ctrllimited[a] and source.on("clamping"):
        facts["voltage"] = _both_ways(source, name, m.actuator_ctrlrange[a], "V")
    if m.actuator_forcelimited[a]:
        facts["max_current"] = _both_ways(source, name, m.actuator_forcerange[a], "N m") / constant
    return DCMotor(
        name=name, joint=joint, coordinate=coordinate, ratio=ratio, resistance=resistance, torque_constant=constant,
        inductance=float(m.actuator_dynprm[a, 0]) * resistance, rotor_inertia=float(m.actuator_armature[a]), **facts,
    )  # fmt: skip


def _both_ways(source: Source, name: str, limits: Any, unit: str) -> float:
    """One limit for both ways."""
    lower, upper = (float(x) for x in np.asarray(limits).reshape(-1)[:2])
    most = max(-lower, upper)
    if lower != -upper:
        reason = f"limited to {lower:g} to {upper:g} {unit}, here up to {most:g} both ways"
        source.report.add("actuator", name, reason, CHANGED)
    return most
