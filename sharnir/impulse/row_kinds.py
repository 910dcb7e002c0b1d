"""What acts on rows, and impulses they have."""

from __future__ import annotations

ACT_HOLD, ACT_FRICTION, ACT_MOTOR, ACT_SOFT = range(4)  # what acts on a line, by place among its impulses
HOLD, FRICTION, MOTOR, SOFT = (1 << act for act in range(4))  # and as a set
BOUNDED = 16  # with SOFT, and alone on its line: the soft force has no more than `lower` to `upper`, N s
EXCESS = 32  # alone on its line, in the place of a hold: takes back what an actuator in the factor has too much (M-71)
CONTACT_P = 6  # impulses of a contact: normal, two tangents, spin, two of rolling
ACTIONS = 4
OF_JOINT = -1  # a row of B that belongs to a loop joint


FEW, MANY = 4, 8  # rows walked at once
