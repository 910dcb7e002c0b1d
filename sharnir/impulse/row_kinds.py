"""What acts on rows, and impulses they have."""

from __future__ import annotations

BOUND_ROW, FRICTION_ROW, MOTOR_ROW, COMPLIANT_ROW = range(4)  # what acts on a line, by place among its impulses
BOUND, FRICTION, MOTOR, COMPLIANT = (1 << act for act in range(4))  # and as a set
SATURATED = 16  # with SOFT, and alone on its line: the soft force has no more than `lower` to `upper`, N s
SATURATION_EXCESS = (
    32  # alone on its line, in the place of a hold: takes back what an actuator in the factor has too much (M-71)
)
CONTACT_IMPULSES = 6  # impulses of a contact: normal, two tangents, spin, two of rolling
SCALAR_IMPULSES = 4
JOINT_ROW = -1  # a row of B that belongs to a loop joint


LANES_4, LANES_8 = 4, 8  # rows walked at once
