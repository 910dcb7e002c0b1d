"""Row kinds: what acts on a scalar row or bilateral row, and how many impulses scalars and contacts have."""

from __future__ import annotations

from enum import IntEnum, IntFlag


class ScalarImpulse(IntEnum):
    """Places of a scalar row's impulses in p, one per kind of force that may act on it."""

    BOUND = 0
    FRICTION = 1
    MOTOR = 2
    COMPLIANT = 3


class RowKind(IntFlag):
    """What acts on a scalar row, as a set (`Layout.scalar_row_kinds`)."""

    BOUND = 1 << ScalarImpulse.BOUND  # limit or equality
    FRICTION = 1 << ScalarImpulse.FRICTION  # dry friction
    MOTOR = 1 << ScalarImpulse.MOTOR
    COMPLIANT = 1 << ScalarImpulse.COMPLIANT  # spring, damper, rotor or actuator
    # with COMPLIANT, alone on its scalar: impulse saturates at `impulse_lower` to `impulse_upper`, N s
    SATURATED = 16
    # alone on its scalar, in the place of a bound: takes back what an implicit actuator gives beyond its limits (M-71)
    SATURATION_EXCESS = 32


class BilateralKind(IntEnum):
    """Kind of a bilateral row (`Layout.bilateral_kind`); of one on a scalar, the place of its impulse
    (`ScalarImpulse`)."""

    JOINT = -1  # of a loop joint
    BOUND = ScalarImpulse.BOUND  # equality
    MOTOR = ScalarImpulse.MOTOR  # without largest force
    COMPLIANT = ScalarImpulse.COMPLIANT


class Targets(IntEnum):
    """What bilateral rows are solved for."""

    VELOCITIES = 0  # of the step
    POSITIONS = 1  # pseudo-velocities: motors and compliant forces have no targets
    IMPACT = 2  # joints rest, motors keep their velocities, compliant forces have no targets


CONTACT_IMPULSES = 6  # impulses of a contact: normal, two tangents, spin, two of rolling
SCALAR_IMPULSES = len(ScalarImpulse)  # impulses of a scalar
FURTHER_SCALAR_IMPULSES = SCALAR_IMPULSES - 1  # of a scalar, beside its first
LANES_4, LANES_8 = 4, 8  # rows whitened at once, a vector lane each
