"""Settings of the impulse solver: they belong to the solver, never to the model."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from sharnir.checks import number
from sharnir.errors import fail, shown, unknown
from sharnir.model.model import Model, check_index

IMPULSE_METHODS = ("default", "paper")
BILATERAL_SOLVERS = ("direct", "sweep")
WARN_PIVOT_RATIO = 1e-2  # pivot ratio of the loop rows, against their past, below which they are about to lose rank
WARN_POSITION_ERROR = 1e-2  # of the size of the mechanism: position errors worth a warning
MAX_STEPS_PER_LAUNCH = 256  # steps of one launch, at most: length of the report history
RELATIVE_EPSILON = 1e-6  # default ε over the weight of all bodies times dt
HEAVIEST_MECHANISM_FACTOR = 3.0  # ε is at most that of this many heaviest mechanisms, however many bodies there are
RELATIVE_EPSILON_LOOSE = 1e-3  # ε of outer iterations that others will follow, over the weight of all bodies times dt
MIN_GRAVITY = 1.0  # m/s², used where gravity is weaker


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a step is solved.

    method: "default", or "paper": the published scheme (plain sweeps at the old pose, semi-implicit Euler).
    epsilon: N s, sweeps end when no impulse changes by more; left out, 1e-6 of the bodies' weight times the step, on
        to 3e-6 of that of the heaviest mechanism, bodies that joints connect, where sweeps get there quickly, and less
        for contacts of what is lighter than the mean of all bodies.
    max_sweeps: cap on the sweeps of one solution (a step makes one to five). Sweeps that make no progress end before:
        the report's reason is then "stalled".
    budget: s, wall-clock time a step may take; sweeps end in time for it. None for no limit.
    erp: share of the position errors there are that a step undoes, 0 < erp ≤ 1.
    bilateral: equality constraints (loop joints, couplings, motors without bound, springs of loop joints) are
        solved by "direct" elimination or by "sweep".
    accelerate: sweeps extrapolate by nonsmooth conjugate gradients.
    warm_start: start from the impulses of the step before.
    passes: how often the default method may correct a step's momenta and gaps, 0 to 10. With 0 every step is taken
        along its tangent: first order, loses energy, for many worlds on a GPU.
    """

    method: str = "default"
    epsilon: float | None = None
    max_sweeps: int = 1000
    budget: float | None = None
    erp: float = 0.2
    bilateral: str = "direct"
    accelerate: bool = True
    warm_start: bool = True
    passes: int = 3

    def __post_init__(self) -> None:
        where = "settings"
        if self.method not in IMPULSE_METHODS:
            raise unknown("method", self.method, IMPULSE_METHODS)
        if self.bilateral not in BILATERAL_SOLVERS:
            raise unknown("way to solve bilateral rows", self.bilateral, BILATERAL_SOLVERS)
        if self.epsilon is not None:
            number(where, "epsilon", self.epsilon, least=0)
        if self.budget is not None:
            number(where, "budget", self.budget, above=0)
        if not number(where, "erp", self.erp, above=0) <= 1:
            raise fail(where, "erp is out of range", shown(self.erp), "a number > 0 and ≤ 1")
        if check_index(where, "max_sweeps", self.max_sweeps, 10**9, "sweeps") == 0:
            raise fail(where, "max_sweeps is out of range", "0", "a whole number ≥ 1")
        check_index(where, "passes", self.passes, 11, "passes")
        for name in ("accelerate", "warm_start"):
            if not isinstance(getattr(self, name), bool):
                raise fail(where, f"{name} is neither", shown(getattr(self, name)), "True or False")

    def compute_epsilon(self, model: Model, dt: float) -> float:
        """ε of a model at a step dt: change of impulses (N s) at which sweeps have converged."""
        if self.epsilon is not None:
            return float(self.epsilon)
        return min(
            self.compute_accept_tolerance(model, dt),
            RELATIVE_EPSILON * HEAVIEST_MECHANISM_FACTOR * model.heaviest_mechanism * _gravity(model) * dt,
        )

    def compute_accept_tolerance(self, model: Model, dt: float) -> float:
        """Change of impulses (N s) at which sweeps are accepted: below, they go on only where they get to ε quickly."""
        if self.epsilon is not None:
            return float(self.epsilon)
        return RELATIVE_EPSILON * float(model.mass.sum()) * _gravity(model) * dt

    def compute_loose_tolerance(self, model: Model, dt: float) -> float:
        """Change of impulses (N s) at which the sweeps of an outer iteration end that others will follow."""
        return max(
            self.compute_epsilon(model, dt), RELATIVE_EPSILON_LOOSE * float(model.mass.sum()) * _gravity(model) * dt
        )


def _gravity(model: Model) -> float:
    return max(float(np.linalg.norm(model.gravity)), MIN_GRAVITY)


def settings_from(values: dict[str, Any]) -> Settings:
    """Settings by name; an unknown name is answered with those there are."""
    known = [f.name for f in fields(Settings)]
    for name in values:
        if name not in known:
            raise unknown("setting", name, known)
    return Settings(**values)
