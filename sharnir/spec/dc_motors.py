"""DC motors with gear and brake. Plain data, SI units; judged by `sharnir.compile`."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from sharnir.spec.elements import Element


@dataclass(kw_only=True)
class DCMotor(Element):
    """A direct-current motor that drives one velocity coordinate of a joint by a gear:

        u = R i + L di/dt + K ω,   τ = K i,   ω = ratio · q̇,   and the joint gets ratio · τ.

    joint: its name. coordinate: index of the velocity coordinate, counted from the joint's first.
    By its nameplate: stall_torque (N m at full voltage), idle_speed (rad/s of the shaft at full voltage),
    electrical_time (s, L/R). Or by its circuit: resistance (Ω), torque_constant K (N m/A, which is V s), inductance
    (H). voltage: V, of the supply, bounds what it is given; left out, 1 with a nameplate, so that the input is a
    fraction, and no bound with a circuit. max_current: A, that its driver lets through.
    rotor_inertia: kg m² of the rotor, which reaches the joint as ratio² of it. ratio: turns of the shaft for one of
    the joint (1/m for a slide), negative if it turns the other way. efficiency: share of the power that its gear
    passes on, in either direction. brake: N m, that its brake holds at the shaft when engaged. input: V, at the start.
    """

    name: str
    joint: str
    coordinate: int = 0
    stall_torque: float | None = None
    idle_speed: float | None = None
    electrical_time: float = 0.0
    resistance: float | None = None
    torque_constant: float | None = None
    inductance: float = 0.0
    voltage: float | None = None
    max_current: float = inf
    rotor_inertia: float = 0.0
    ratio: float = 1.0
    efficiency: float = 1.0
    brake: float = 0.0
    input: float = 0.0
