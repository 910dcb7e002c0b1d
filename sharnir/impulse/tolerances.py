"""Where the solver stops caring, in double and in single precision."""

from __future__ import annotations

import warp as wp

from sharnir.kernels.types import DOUBLE, real


def _by_precision(double: float, single: float) -> wp.constant:
    return wp.constant(real(double if DOUBLE else single))


GAP_TOLERANCE = _by_precision(1e-8, 1e-5)  # m or rad: position errors of this size are the solver's own
CORRECT_AGAIN_ABOVE = _by_precision(
    1e-7, 1e-4
)  # m or rad beyond what stabilisation may leave: correct again, at the new poses
TOL_GAP_GROWTH = _by_precision(3e-5, 3e-5)  # m/s² or rad/s²: growth of gaps in a step, over dt², that is left alone
MIN_TOL_GAP_GROWTH = _by_precision(1e-14, 1e-6)  # m or rad, where that is less
TOL_RESIDUAL = _by_precision(
    1e-8, 1e-8
)  # 1/s²: residual of a step, of its kinetic energy and over dt², that is left alone
MIN_TOL_RESIDUAL = _by_precision(1e-26, 1e-11)  # of the kinetic energy, where that is less
FINAL_LINEAR_RESIDUAL = _by_precision(
    1e-8, 1e-8
)  # of the kinetic energy: residual that one more correction along the tangent settles
FINAL_LINEAR_GAPS = _by_precision(1e2, 1e2)  # of what growth of gaps is left alone: the same for them
MAX_CARRIED_RESIDUAL = _by_precision(1e-10, 1e-10)  # of the kinetic energy: residual that may be left to the next step
FALLBACK_RESIDUAL = _by_precision(1e-6, 1e-6)  # of the kinetic energy: residual above which the corrections are dropped
MIN_ROW_K = _by_precision(1e-14, 1e-10)  # 1/kg, weight of a row that moves nothing
TOL_REDUNDANT = _by_precision(
    1e-10, 1e-5
)  # of a row's own weight: less is left of it by the rows of its block before it
TOL_DEPENDENT = _by_precision(1e-9, 1e-5)  # of a row's own weight: less is left of it by the rows solved before it
MIN_PIVOT_RATIO = _by_precision(1e-5, 1e-4)  # of the weight a joint's row has between free bodies
TOL_MISALIGNED = _by_precision(2e-7, 1e-5)  # more than gaps make of a redundant row: axes are a little off
PIVOT_RATIO_RESUME = _by_precision(1e-3, 1e-2)  # what it takes for a row that was looser to count again
PIVOT_DAMPING = _by_precision(
    1e-6, 1e-4
)  # of its firmness: in maximal coordinates a row held less, as at a fold, gives way
MIN_STORED_RATIO = _by_precision(1e-30, 1e-30)
DEAD_END_RATIO = _by_precision(
    1e-2, 1e-2
)  # of what a motor without bound could lately move: loops have run into a dead end
PIVOT_RATIO_DECAY = _by_precision(0.999, 0.999)  # by which the firmness of a row fades in a step
MAX_SPEED_GAIN = _by_precision(5.0, 5.0)  # rad/s or m/s, by which a limited coordinate may become faster in a step
