"""The decision after an outer iteration, a pure function of its errors, case by case (M-33..M-36)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

import numpy as np
import pytest
import warp as wp
from engine_parts import FAST_COMPILE, run

from sharnir.impulse.slots import Outcome
from sharnir.impulse.step.iteration_errors import IterationErrors, decide_outcome
from sharnir.impulse.tolerances import FALLBACK_RESIDUAL, FINAL_LINEAR_GAPS, FINAL_LINEAR_RESIDUAL

wp.set_module_options(FAST_COMPILE)
ENERGY, TOL_RESIDUAL, TOL_GROWTH = 4.0, 2.0**-40, 2.0**-20  # powers of two: borders are exact
CONVERGED = TOL_RESIDUAL * ENERGY  # J, largest residual that counts as converged
LINEAR, FALLBACK = float(FINAL_LINEAR_RESIDUAL) * ENERGY, float(FALLBACK_RESIDUAL) * ENERGY
LINEAR_GROWTH = float(FINAL_LINEAR_GAPS) * TOL_GROWTH
ABOVE, BELOW = np.nextafter(1.0, 2.0), np.nextafter(1.0, 0.0)


@dataclass(frozen=True)
class Errors:
    """Fields of `IterationErrors`; by default those of a first iteration that is far from converged."""

    residual2: float = 1.0
    momentum_residual2: float = 0.0
    energy: float = ENERGY
    growth: float = 0.0
    contact_error: float = 0.0
    tol_residual: float = TOL_RESIDUAL
    tol_growth: float = TOL_GROWTH
    passes: int = 0
    max_passes: int = 4
    is_loose: int = 0
    contact_sweeps_capped: int = 0
    out_of_time: int = 0


@wp.kernel
def decide_kernel(errors: wp.array(dtype=IterationErrors), out: wp.array(dtype=int)):
    i = wp.tid()
    out[i] = decide_outcome(errors[i])


def decide(*cases: Errors) -> list[Outcome]:
    given = []
    for case in cases:
        errors = IterationErrors()
        for name, value in asdict(case).items():
            setattr(errors, name, value)
        given.append(errors)
    out = wp.zeros(len(given), dtype=int, device="cpu")
    run(decide_kernel, wp.array(given, dtype=IterationErrors, device="cpu"), out, threads=len(given))
    return [Outcome(int(x)) for x in out.numpy()]


DONE = Errors(residual2=CONVERGED, growth=BELOW * TOL_GROWTH, contact_error=BELOW * TOL_GROWTH)
LAST = Errors(passes=4)
LATE = Errors(out_of_time=1)
STALLED = Errors(contact_sweeps_capped=1)
NEAR = Errors(residual2=LINEAR, growth=LINEAR_GROWTH)
CASES = [
    ("far from converged", Errors(), Outcome.ITERATE),
    ("within all tolerances", DONE, Outcome.ACCEPT),
    ("residual just above its tolerance", replace(DONE, residual2=ABOVE * CONVERGED), Outcome.CORRECT_LINEARLY),
    ("growth at its tolerance", replace(DONE, growth=TOL_GROWTH), Outcome.CORRECT_LINEARLY),
    ("contact error at its tolerance", replace(DONE, contact_error=TOL_GROWTH), Outcome.CORRECT_LINEARLY),
    ("at both borders of the linear correction", NEAR, Outcome.CORRECT_LINEARLY),
    ("residual above the linear correction", replace(NEAR, residual2=ABOVE * LINEAR), Outcome.ITERATE),
    ("growth above the linear correction", replace(NEAR, growth=ABOVE * LINEAR_GROWTH), Outcome.ITERATE),
    ("contact error does not hinder it", replace(NEAR, contact_error=1.0), Outcome.CORRECT_LINEARLY),
    ("nothing moves, nothing is left", replace(DONE, residual2=0.0, energy=0.0), Outcome.ACCEPT),
    ("nothing moves, something is left", replace(DONE, energy=0.0), Outcome.ITERATE),
    # the last iteration
    ("last pass at the fallback residual", replace(LAST, residual2=FALLBACK), Outcome.ACCEPT),
    ("last pass above the fallback residual", replace(LAST, residual2=ABOVE * FALLBACK), Outcome.FALL_BACK),
    ("last pass near: no linear correction", replace(NEAR, passes=4), Outcome.ACCEPT),
    ("pass before the last", replace(LAST, passes=3), Outcome.ITERATE),
    ("gaps count in the last pass", replace(LAST, momentum_residual2=0.0), Outcome.FALL_BACK),
    ("no passes allowed", Errors(max_passes=0), Outcome.FALL_BACK),
    # out of time: gaps could not be closed, only the momentum balance counts
    ("large gap residual, small momentum residual", replace(LATE, momentum_residual2=FALLBACK), Outcome.ACCEPT),
    ("momentum residual too large", replace(LATE, momentum_residual2=ABOVE * FALLBACK), Outcome.FALL_BACK),
    ("near the solution", replace(NEAR, out_of_time=1), Outcome.ACCEPT),
    ("growth far above its tolerance", replace(LATE, growth=1.0), Outcome.ACCEPT),
    # sweeps stalled: further iterations would stall as well
    ("small residual", replace(STALLED, residual2=FALLBACK), Outcome.ACCEPT),
    ("large residual", STALLED, Outcome.FALL_BACK),
    # solved to TOL_LOOSE
    ("loose and converged", replace(DONE, is_loose=1), Outcome.TIGHTEN),
    ("loose, converged, last pass", replace(DONE, is_loose=1, passes=4), Outcome.ACCEPT),
    ("loose, converged, out of time", replace(DONE, is_loose=1, out_of_time=1), Outcome.ACCEPT),
    ("loose, converged, stalled", replace(DONE, is_loose=1, contact_sweeps_capped=1), Outcome.ACCEPT),
    ("loose, not converged", replace(NEAR, is_loose=1), Outcome.CORRECT_LINEARLY),
    ("loose, far from converged", Errors(is_loose=1), Outcome.ITERATE),
]


@pytest.mark.parametrize(("errors", "outcome"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_the_outcome_follows_from_the_errors(errors, outcome):
    assert decide(errors) == [outcome]


def test_every_outcome_occurs():
    assert {outcome for _, _, outcome in CASES} == set(Outcome)


def test_errors_that_are_not_numbers_never_count_as_converged():
    nan = float("nan")
    assert decide(replace(DONE, residual2=nan), replace(NEAR, residual2=nan)) == [Outcome.ITERATE] * 2
