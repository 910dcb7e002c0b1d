"""DOP853 that avoids ending steps where the loop rows are nearly rank-deficient.

Near a configuration in which a linkage could branch, rounding of size ε in the positions becomes an acceleration of 2 ε
θ̇²/θ³ (docs/method.md, section 6), while the motion itself passes smoothly. A step that meets this noise must not be
repeated much smaller, which would only bring its stages closer to the singularity, but slightly shorter, so that they
fall elsewhere.
"""

from __future__ import annotations

from typing import Any

from scipy.integrate import DOP853

from sharnir.exact.system import System
from sharnir.model.model import Reals

NEAR_SINGULAR = 0.03  # smallest singular value over the largest seen in the run, below which noise is to be expected
MIN_RANK_AT_STEP_END = 0.003  # and below which no step ends
MAX_RETRIES = 30  # repetitions of a step until the ordinary step control takes over again
SHORTEN_ERROR_NORM = 1.0  # error norm that makes SciPy's step control shorten a step by its safety factor, 0.9


class GuardedDOP853(DOP853):
    """DOP853 whose steps are repeated slightly shorter where the loop rows are nearly rank-deficient."""

    def __init__(self, system: System, t: float, y: Reals, end: float, **tolerances: float) -> None:
        self._system, self._end, self._tries = system, end, 0
        self.t_bound: float = end
        self.skip_until = t  # steps do not end at outputs up to this time
        self.shortened = False  # whether the last step was repeated for the loops' sake
        super().__init__(system.rates, t, y, end, **tolerances)

    def _step_impl(self) -> Any:
        self.shortened, self._tries = False, 0
        self._system.loop_rank.pop_smallest()
        return super()._step_impl()

    def _estimate_error_norm(self, K: Reals, h: float, scale: Reals) -> float:
        norm = float(super()._estimate_error_norm(K, h, scale))
        smallest, at_end = self._system.loop_rank.pop_smallest()
        spoiled = norm >= 1 and smallest < NEAR_SINGULAR
        if (spoiled or at_end < MIN_RANK_AT_STEP_END) and self._tries < MAX_RETRIES:
            self._tries, self.shortened = self._tries + 1, True
            if at_end < MIN_RANK_AT_STEP_END and self.t + h >= self.t_bound:  # an output is due right there
                self.skip_until, self.t_bound = self.t_bound, self._end
            return SHORTEN_ERROR_NORM
        return norm

    def interpolant(self) -> Any:
        """The state within the last step: the method's own interpolation, or a cubic where its stages meet noise."""
        self._system.loop_rank.pop_smallest()
        inside = self.dense_output()
        if self._system.loop_rank.pop_smallest()[0] < MIN_RANK_AT_STEP_END:
            inside.F[3:] = 0.0
        return inside
