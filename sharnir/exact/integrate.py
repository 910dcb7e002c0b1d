"""Integrators of the exact solver: SciPy's adaptive one-step methods in our own stepping loop, and fixed-step RK4 and
semi-implicit Euler.

After every step the state is projected onto the constraint manifold (unit quaternions, closed loops). A one-step method
keeps no history that this would spoil.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.integrate import DOP853, Radau

from sharnir.errors import SimulationError
from sharnir.exact.singularity_guard import NEAR_SINGULAR, GuardedDOP853
from sharnir.exact.system import System
from sharnir.model.model import Reals

ADAPTIVE = {"dop853": DOP853, "radau": Radau}
Step = tuple[float, Reals]


class ProgressMonitor:
    """Raises a SimulationError where an adaptive run hardly advances: steps shrink without end near a singular
    configuration, or where the system is stiff."""

    WINDOW = 20_000  # evaluations over which progress is judged
    MIN_PROGRESS = 1e-4  # of the best progress over as many evaluations: no ordinary motion slows down so much
    MIN_PROGRESS_NEAR_SINGULAR = 0.03  # the same where the loop rows are nearly rank-deficient

    def __init__(self, t: float, first_step: float) -> None:
        self._t, self._evaluations = t, 0
        self._best = 0.1 * first_step * self.WINDOW / 12  # first steps are chosen carefully small

    def check(self, t: float, system: System, rates: Reals, stiff: bool) -> None:
        if system.evaluations - self._evaluations < self.WINDOW:
            return
        done = t - self._t
        near_singular = system.closed and system.loop_rank.last < NEAR_SINGULAR
        if done < (self.MIN_PROGRESS_NEAR_SINGULAR if near_singular else self.MIN_PROGRESS) * self._best:
            nq, nv = system.model.nq, system.model.nv
            hint = "a larger rtol may help" if stiff else "method 'radau' or a larger rtol may help"
            joint = system.model.joint_of(int(np.argmax(np.abs(rates[nq : nq + nv]))))
            raise SimulationError(
                f"t = {t:.6g} s: {self.WINDOW} evaluations advanced the run by only {done:.1e} s: near a singular "
                f"configuration, or very stiff (fastest change at joint {joint!r}); {hint}"
            )
        self._best = max(self._best, done)
        self._t, self._evaluations = t, system.evaluations


def integrate_adaptive(system: System, method: str, y: Reals, times: Reals, rtol: float, atol: float) -> Iterator[Step]:
    """States at `times` by an adaptive SciPy method.

    Steps end at these times, except where the loop rows are nearly rank-deficient (`GuardedDOP853`). Radau steps past
    all but the last time and is interpolated, since it would lose its factors and its Jacobian at every stop.
    """
    start, end = float(times[0]), float(times[-1])
    if method == "dop853" and system.closed:
        solver: Any = GuardedDOP853(system, start, y, end, rtol=rtol, atol=atol)
    else:
        extra = {"jac": system.jacobian} if method == "radau" else {}
        solver = ADAPTIVE[method](system.rates, start, y, end, rtol=rtol, atol=atol, **extra)
    progress = ProgressMonitor(start, solver.h_abs)
    yield start, y
    k = 1
    while k < len(times):
        skip_until = end if method == "radau" else getattr(solver, "skip_until", start)
        solver.t_bound = float(next((t for t in times[k:] if t > skip_until), end))
        solver.status, wanted_step = "running", solver.h_abs
        message = solver.step()
        if solver.status == "failed":
            raise SimulationError(f"t = {solver.t:.6g} s: method {method!r} cannot go on: {message}")
        progress.check(solver.t, system, solver.f, stiff=method == "radau")
        if times[k] < solver.t:
            interpolant = solver.dense_output() if method == "radau" else solver.interpolant()
        while k < len(times) and times[k] < solver.t:
            yield float(times[k]), system.project(times[k], interpolant(times[k]))
            k += 1
        y = system.project(solver.t, solver.y)
        on_time = k < len(times) and times[k] == solver.t
        if on_time or getattr(solver, "shortened", False):  # cut short, but not by the error of the method
            solver.h_abs = max(solver.h_abs, wanted_step)
        if on_time:
            yield solver.t, y
            k += 1
        solver.y, solver.f = y, system.rates(solver.t, y)


def rk4(system: System, t: float, y: Reals, dt: float) -> Reals:
    """Classical Runge–Kutta, order 4."""
    k1 = system.rates(t, y)
    k2 = system.rates(t + dt / 2, y + dt / 2 * k1)
    k3 = system.rates(t + dt / 2, y + dt / 2 * k2)
    k4 = system.rates(t + dt, y + dt * k3)
    return y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def euler(system: System, t: float, y: Reals, dt: float) -> Reals:
    """Semi-implicit Euler, order 1: velocities first, then positions from the new velocities (L15-6, L15-7)."""
    nq, nv = system.model.nq, system.model.nv
    rates = system.rates(t, y)
    out = y + dt * rates
    out[:nq] = system.advance(y[:nq], dt * out[nq : nq + nv])
    return out


FIXED_STEP: dict[str, Callable[[System, float, Reals, float], Reals]] = {"rk4": rk4, "euler": euler}
EXACT_METHODS = (*ADAPTIVE, *FIXED_STEP)


def integrate_fixed_step(system: System, method: str, y: Reals, times: Reals, dt: float) -> Iterator[Step]:
    """States at `times`, by equal steps of at most dt (s) between them."""
    step = FIXED_STEP[method]
    yield float(times[0]), y
    for start, end in pairwise(times):
        n = max(1, int(np.ceil((end - start) / dt - 1e-6)))
        h = (end - start) / n
        for k in range(n):
            y = system.project(start + (k + 1) * h, step(system, start + k * h, y, h))
            if not np.isfinite(y).all():
                raise SimulationError(f"t = {start + (k + 1) * h:.6g} s: method {method!r} diverged with dt = {dt:g} s")
        yield float(end), y


def integrate_to_times(system: System, method: str, times: Reals, options: dict[str, Any]) -> Iterator[Step]:
    """States (t, y) of the system at increasing `times`, from its initial state. options: rtol and atol, or dt."""
    y = system.initial()
    if method in ADAPTIVE:
        return integrate_adaptive(system, method, y, times, options["rtol"], options["atol"])
    return integrate_fixed_step(system, method, y, times, options["dt"])
