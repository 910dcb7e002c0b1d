"""Where the solver stops caring, in double and in single precision."""

from __future__ import annotations

import warp as wp

from sharnir.kernels.types import DOUBLE, real


def _either(double: float, single: float) -> wp.constant:
    return wp.constant(real(double if DOUBLE else single))


OWN = _either(1e-8, 1e-5)  # m or rad: position errors of this size are the solver's own
STRAYED = _either(1e-7, 1e-4)  # m or rad beyond what stabilisation may leave: correct again, at the new poses
CLOSED = _either(3e-5, 3e-5)  # m/s² or rad/s²: growth of gaps in a step, over dt², that is left alone
CLOSED_LEAST = _either(1e-14, 1e-6)  # m or rad, where that is less
SETTLED = _either(1e-8, 1e-8)  # 1/s²: residual of a step, of its kinetic energy and over dt², that is left alone
SETTLED_LEAST = _either(1e-26, 1e-11)  # of the kinetic energy, where that is less
NEAR = _either(1e-8, 1e-8)  # of the kinetic energy: residual that one more correction along the tangent settles
NEAR_GAPS = _either(1e2, 1e2)  # of what growth of gaps is left alone: the same for them
SMALL = _either(1e-10, 1e-10)  # of the kinetic energy: residual that may be left to the next step
GUARD = _either(1e-6, 1e-6)  # of the kinetic energy: residual above which the corrections are dropped
NOTHING = _either(1e-14, 1e-10)  # 1/kg, weight of a row that moves nothing
REDUNDANT = _either(1e-10, 1e-5)  # of a row's own weight: less is left of it by the rows of its block before it
DEPENDENT = _either(1e-9, 1e-5)  # of a row's own weight: less is left of it by the rows solved before it
LOOSE = _either(1e-5, 1e-4)  # of the weight a joint's row has between free bodies
ASKEW = _either(2e-7, 1e-5)  # more than gaps make of a redundant row: axes are a little off
FIRM_AGAIN = _either(1e-3, 1e-2)  # what it takes for a row that was looser to count again
WEAK = _either(1e-6, 1e-4)  # of its firmness: in maximal coordinates a row held less, as at a fold, gives way
VAGUE = _either(1e-30, 1e-30)
HOPELESS = _either(1e-2, 1e-2)  # of what a motor without bound could lately move: loops have run into a dead end
MEMORY = _either(0.999, 0.999)  # by which the firmness of a row fades in a step
SURPRISE = _either(5.0, 5.0)  # rad/s or m/s, by which a limited coordinate may become faster in a step
