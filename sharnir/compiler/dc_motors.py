"""DC motors as actuators: a voltage for an input, a torque that falls with speed, a rotor on the joint (M-73, M-74)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sharnir.checks import number
from sharnir.compiler.actuators import CoordinateFinder
from sharnir.errors import fail
from sharnir.spec.actuators import Actuator
from sharnir.spec.dc_motors import DCMotor
from sharnir.spec.scene import Scene

NAMEPLATE, CIRCUIT = ("stall_torque", "idle_speed"), ("resistance", "torque_constant")


class Circuit(NamedTuple):
    resistance: float  # Ω
    inductance: float  # H
    constant: float  # N m/A
    voltage: float  # V


def convert_to_actuator(motor: DCMotor) -> Actuator:
    """The actuator that pushes as the motor's current does once it has settled."""
    element, circuit = f"DC motor {motor.name!r}", circuit_of(motor)
    ratio = number(element, "ratio", motor.ratio)
    if ratio == 0:
        raise fail(element, "ratio is zero", motor.ratio, "a finite number other than 0")
    most = circuit.constant * number(element, "max_current", motor.max_current, above=0, infinite=(np.inf,))
    return Actuator(
        name=motor.name, joints=(motor.joint,), coordinates=(motor.coordinate,), gears=(ratio,),
        gain=(circuit.constant / circuit.resistance, 0.0, 0.0),
        bias=(0.0, 0.0, -(circuit.constant**2) / circuit.resistance),
        input=motor.input, input_limits=(-circuit.voltage, circuit.voltage), force_limits=(-most, most),
    )  # fmt: skip


def circuit_of(motor: DCMotor) -> Circuit:
    """Resistance, inductance, torque constant and voltage of a motor described either way."""
    element = f"DC motor {motor.name!r}"
    given = [name for name in (*NAMEPLATE, *CIRCUIT) if getattr(motor, name) is not None]
    if given not in (list(NAMEPLATE), list(CIRCUIT)):
        allowed = "stall_torque and idle_speed, or resistance and torque_constant"
        raise fail(element, "is not described one way", ", ".join(given) or "neither", allowed)
    first, second = (number(element, name, getattr(motor, name), above=0) for name in given)
    other = "inductance" if given == list(NAMEPLATE) else "electrical_time"
    if getattr(motor, other) != 0:
        raise fail(element, f"{other} belongs to the other description", getattr(motor, other), "0")
    if given == list(CIRCUIT):
        inductance = number(element, "inductance", motor.inductance, least=0)
        voltage = np.inf if motor.voltage is None else motor.voltage
        return Circuit(first, inductance, second, number(element, "voltage", voltage, above=0, infinite=(np.inf,)))
    voltage = number(element, "voltage", 1.0 if motor.voltage is None else motor.voltage, above=0)
    constant = voltage / second
    resistance = constant * voltage / first
    return Circuit(resistance, resistance * number(element, "electrical_time", motor.electrical_time, least=0),
                   constant, voltage)  # fmt: skip


def dc_motor_arrays(scene: Scene) -> dict[str, Any]:
    """What actuators have beyond their laws where they are DC motors; those of the scene come after its actuators."""
    others = len(scene.actuators)
    circuits = [circuit_of(m)[:3] for m in scene.dc_motors]
    return {
        "actuator_electric": np.array([(0.0, 0.0, 0.0)] * others + circuits, dtype=float).reshape(-1, 3),
        "actuator_efficiency": np.array([1.0] * others + [_efficiency(m) for m in scene.dc_motors], dtype=float),
        "actuator_brake": np.array(
            [0.0] * others + [_check_nonnegative(m, "brake") for m in scene.dc_motors], dtype=float
        ),
    }


def add_rotors(scene: Scene, coordinates: CoordinateFinder, fields: dict[str, Any]) -> None:
    """Add the rotors, as joints feel them, to the armature of tree and loop coordinates."""
    for motor in scene.dc_motors:
        c = coordinates.find(f"DC motor {motor.name!r}", "coordinate", motor.joint, motor.coordinate)
        count = len(fields["armature"])
        name, place = ("armature", c) if c < count else ("loop_armature", c - count)
        fields[name][place] += motor.ratio**2 * _check_nonnegative(motor, "rotor_inertia")


def _check_nonnegative(motor: DCMotor, name: str) -> float:
    return number(f"DC motor {motor.name!r}", name, getattr(motor, name), least=0)


def _efficiency(motor: DCMotor) -> float:
    return number(f"DC motor {motor.name!r}", "efficiency", motor.efficiency, above=0, most=1.0)
