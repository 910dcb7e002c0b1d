"""Names of the arrays of a state in files, in memory order: those of format 1 and the present ones."""

from __future__ import annotations

from typing import Any

FORMAT = 2  # of snapshots and recordings; 1 up to version 0.1.0

# of format 1, in the order its recordings have them: name there, name now (a field of `impulse.data.State`)
FORMAT_1 = {
    "control": "control",
    "f_ext": "f_ext",
    "target": "motor_target",
    "drive_input": "actuator_input",
    "drive_brake": "actuator_brake",
    "clock": "prev_step",
    "q": "q",
    "v": "v",
    "P": "P",
    "loop_q": "loop_q",
    "speed": "scalar_velocity",
    "p": "p",
    "bend": "momentum_chord",
    "lack": "residual_carry",
    "aim": "joint_chord",
    "firm": "pivot_ratio",
    "drive_lagged": "actuator_activation",
    "drive_force": "actuator_force",
    "drive_flow": "actuator_force_end",
    "drive_seen": "actuator_rates",
    "touched": "prev_contact_keys",
    "touched_p": "prev_contact_impulse",
    "touched_at": "prev_contact_geometry",
    "touched_bent": "prev_contact_chord",
}


def with_present_names(arrays: dict[str, Any]) -> dict[str, Any]:
    """Arrays of any format by their present names; no present name meant something else before."""
    return {FORMAT_1.get(name, name): values for name, values in arrays.items()}
