"""Tolerances and thresholds of the real-time engine, in double and in single precision."""

from __future__ import annotations

import warp as wp

from sharnir.kernels.types import DOUBLE, real


def _by_precision(double: float, single: float) -> wp.constant:
    """The constant for the precision this process computes in."""
    return wp.constant(real(double if DOUBLE else single))


# m or rad: smaller position errors are rounding of the solver, undone by velocities rather than by split impulses
GAP_TOLERANCE = _by_precision(1e-8, 1e-5)
# m or rad of joint opening beyond what stabilisation may leave: correct positions again at the new poses
CORRECT_AGAIN_ABOVE = _by_precision(1e-7, 1e-4)
# m/s² or rad/s²: growth of gaps in a step, over dt², that counts as converged
TOL_GAP_GROWTH = _by_precision(3e-5, 3e-5)
MIN_TOL_GAP_GROWTH = _by_precision(1e-14, 1e-6)  # m or rad, where that is less
# 1/s²: residual of a step relative to its kinetic energy and over dt² that counts as converged
TOL_RESIDUAL = _by_precision(1e-8, 1e-8)
# m/s: speed of rounding. Residuals are compared with the energy of bodies that move by it where they move by less
REST_SPEED = _by_precision(1e-9, 1e-5)
MIN_TOL_RESIDUAL = _by_precision(1e-26, 1e-11)  # of the kinetic energy, where that is less
# of the kinetic energy: residual below which one linear correction finishes (Phase.FINAL_LINEAR)
FINAL_LINEAR_RESIDUAL = _by_precision(1e-8, 1e-8)
FINAL_LINEAR_GAPS = _by_precision(1e2, 1e2)  # times TOL_GAP_GROWTH: the same for gaps
# of the kinetic energy: residual up to which it is carried to the next step
MAX_CARRIED_RESIDUAL = _by_precision(1e-10, 1e-10)
# of the kinetic energy: residual above which the step falls back to the linearised one
FALLBACK_RESIDUAL = _by_precision(1e-6, 1e-6)
# 1/kg: W·W of a row that moves nothing, where no body is heavier than LARGE_MASS (`least_row_K`)
MIN_ROW_K = 1e-14 if DOUBLE else 1e-10
LARGE_MASS = 1e6  # kg or kg m²
# of a row's own W·W: pivot below which earlier rows of its block imply it
TOL_REDUNDANT = _by_precision(1e-10, 1e-5)
TOL_DEPENDENT = _by_precision(1e-9, 1e-5)  # of a row's own W·W: pivot below which rows solved before it imply it
MIN_PIVOT_RATIO = _by_precision(1e-5, 1e-4)  # of W·W between free bodies: joint rows with a smaller pivot are dropped
# pivot ratio above which a dropped row is misaligned rather than redundant within its gaps
TOL_MISALIGNED = _by_precision(2e-7, 1e-5)
PIVOT_RATIO_RESUME = _by_precision(1e-3, 1e-2)  # pivot ratio from which a dropped row acts again
# of the remembered pivot ratio: regularisation of joint rows in maximal coordinates, felt near a singular pose
PIVOT_DAMPING = _by_precision(1e-6, 1e-4)
MIN_STORED_RATIO = _by_precision(1e-30, 1e-30)  # least magnitude of a stored ratio, so that its sign survives
# of the remembered pivot ratio of an unbounded motor: below, loops are in a dead end and its row is dropped
DEAD_END_RATIO = _by_precision(1e-2, 1e-2)
# pivot ratio of a joint's row over the remembered one below which a fold is near
FOLD_RATIO = _by_precision(0.1, 0.1)
# of the remembered pivot ratio of an unbounded motor: there it only creeps towards a dead end
CREEP_RATIO = _by_precision(2e-2, 2e-2)
# of its target velocity, with which it creeps: its sign tells when it turns round
MIN_MOTOR_SHARE = _by_precision(1e-8, 1e-3)
PIVOT_RATIO_DECAY = _by_precision(0.999, 0.999)  # factor by which the remembered pivot ratio decays in a step
# of the largest change of velocity in an inelastic impact: change in a sweep over it that ends these
TOL_IMPACT_SPEED = _by_precision(1e-13, 1e-5)
TOL_REST_SPEED = _by_precision(1e-9, 1e-5)  # m/s: change in a sweep over contacts at rest that ends these
TOL_IMPACT_ENERGY = _by_precision(1e-14, 1e-6)  # of the energy an inelastic impact loses: rounding of its expansion
TOL_ADDED_ENERGY = _by_precision(1e-12, 1e-5)  # of the energy that impulses take: rounding of their work
MAX_SPEED_GAIN = _by_precision(5.0, 5.0)  # rad/s or m/s by which a coordinate near a limit may become faster in a step
MAX_POSITION = 1.0e12  # m or rad: positions beyond count as diverged


def least_row_K(heaviest: float) -> float:
    """W·W (1/kg or 1/(kg m²)) up to which a row is taken to move nothing. heaviest: largest mass (kg) or moment of
    inertia (kg m²) of the bodies: what a very heavy one does to its rows must not pass for rounding."""
    return MIN_ROW_K * min(1.0, LARGE_MASS / heaviest) if heaviest > 0 else MIN_ROW_K
