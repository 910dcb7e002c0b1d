"""Errors that shrink with the step, for comparisons with closed forms."""

from __future__ import annotations

STEPS = (0.004, 0.002, 0.001)


def shrinking(errors: dict[float, float], at_1_ms: float) -> None:
    """Relative errors by step: below a bound at 1 ms and below that times the step elsewhere."""
    for dt, error in errors.items():
        assert error <= at_1_ms * dt / 0.001, errors
