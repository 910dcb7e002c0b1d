"""Nameplates of the robot's drives: direct-current motors with gears and current limits, by the part they move."""

from __future__ import annotations

from typing import NamedTuple

from sharnir.spec.dc_motors import DCMotor

VOLTAGE = 48.0  # V, of the battery


class Nameplate(NamedTuple):
    """A motor with its gear."""

    resistance: float  # Ω
    constant: float  # V s or N m/A
    ratio: float  # turns of the shaft for one of the joint
    current: float  # A, that the driver lets through
    rotor: float  # kg m²
    inductance: float  # H

    @property
    def torque(self) -> float:
        """N m at the joint, the most there is."""
        return self.ratio * self.constant * self.current

    @property
    def speed(self) -> float:
        """rad/s of the joint without load."""
        return VOLTAGE / (self.constant * self.ratio)

    @property
    def damping(self) -> float:
        """N m s/rad, by which the back voltage resists the joint at a given voltage."""
        return (self.ratio * self.constant) ** 2 / self.resistance


NAMEPLATES = {
    "leg": Nameplate(0.12, 0.080, 80.0, 45.0, 1.5e-4, 6e-5),
    "shoulder": Nameplate(0.30, 0.060, 100.0, 20.0, 4e-5, 1.5e-4),
    "elbow": Nameplate(0.40, 0.050, 100.0, 16.0, 3e-5, 2e-4),
    "wrist": Nameplate(0.80, 0.040, 80.0, 8.0, 1e-5, 4e-4),
    "finger": Nameplate(8.0, 0.020, 60.0, 1.0, 2e-7, 2e-3),
}
PARTS = {  # by a part of the motor's name, the first that fits
    "hip": "leg", "knee": "leg", "ankle": "leg", "waist": "leg", "shoulder": "shoulder", "elbow": "elbow",
    "forearm": "elbow", "wrist": "wrist", "neck": "wrist", "finger": "finger", "thumb": "finger",
}  # fmt: skip


def nameplate(name: str) -> Nameplate:
    """Of the motor of that name."""
    return NAMEPLATES[next(kind for part, kind in PARTS.items() if part in name)]


def motor(name: str, joint: str, coordinate: int = 0) -> DCMotor:
    """The motor of a joint coordinate."""
    plate = nameplate(name)
    return DCMotor(
        name=name, joint=joint, coordinate=coordinate, resistance=plate.resistance, inductance=plate.inductance,
        torque_constant=plate.constant, voltage=VOLTAGE, max_current=plate.current, rotor_inertia=plate.rotor,
        ratio=plate.ratio,
    )  # fmt: skip
