"""Row kinds: what acts on a scalar row or bilateral row, and how many impulses scalars and contacts have."""

from __future__ import annotations

# kinds of rows and, from 0 on, places among a scalar's impulses
BOUND_ROW, FRICTION_ROW, MOTOR_ROW, COMPLIANT_ROW = range(4)
# the same as a set of bits; BOUND: limit or equality
BOUND, FRICTION, MOTOR, COMPLIANT = (1 << kind for kind in range(4))
# with COMPLIANT, alone on its scalar: impulse saturates at `impulse_lower` to `impulse_upper`, N s
SATURATED = 16
# alone on its scalar, in the place of a bound: takes back what an implicit actuator gives beyond its limits (M-71)
SATURATION_EXCESS = 32
CONTACT_IMPULSES = 6  # impulses of a contact: normal, two tangents, spin, two of rolling
SCALAR_IMPULSES = 4  # impulses of a scalar
JOINT_ROW = -1  # a bilateral row that belongs to a loop joint


LANES_4, LANES_8 = 4, 8  # rows whitened at once, a vector lane each
