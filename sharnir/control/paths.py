"""Paths over time: minimum jerk, splines through points, turns. Before they begin and after they end they rest."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sharnir.checks import number, quaternion, real_array, vector
from sharnir.errors import fail, shown, unknown
from sharnir.model.model import Reals
from sharnir.rotations import quat_multiply, quat_to_matrix, turn_between, turn_quaternion
from sharnir.spec.elements import plain

DEGREES = {"cubic": 3, "quintic": 5}


class Motion(NamedTuple):
    """Where a path is, how fast, and how that changes. Of turns: quaternion (x, y, z, w), angular velocity (rad/s) and
    angular acceleration (rad/s²), world axes."""

    position: Reals
    velocity: Reals
    acceleration: Reals


class MinimumJerk:
    """From rest to rest along a straight line with the least integral of squared jerk: `path(t)` is a Motion.

    start, end: numbers or vectors of any size, in any unit. duration: s. begin: s, when it starts.
    """

    def __init__(self, start: Any, end: Any, duration: float, *, begin: float = 0.0) -> None:
        self.start, self.end = points("minimum jerk", "ends", [start, end])
        self.duration = number("minimum jerk", "duration", duration, above=0)
        self.begin = number("minimum jerk", "begin", begin)

    def __call__(self, t: float) -> Motion:
        s, rate, bend = eased((t - self.begin) / self.duration)
        way = self.end - self.start
        return Motion(self.start + s * way, rate / self.duration * way, bend / self.duration**2 * way)


class Spline:
    """Through points at given times, at rest at both ends: `path(t)` is a Motion.

    times: s, increasing. points: one for each time, numbers or vectors. kind: "cubic", of continuous acceleration, or
    "quintic", of continuous snap, which starts and ends without acceleration too.
    """

    def __init__(self, times: Any, points: Any, *, kind: str = "cubic") -> None:
        from scipy.interpolate import make_interp_spline

        if kind not in DEGREES:
            raise unknown("kind of spline", kind, DEGREES)
        self.times = increasing("spline", times)
        given = same_number("spline", self.times, points)
        ends = [(order, np.zeros(given.shape[1:])) for order in range(1, DEGREES[kind] // 2 + 1)]
        self._position = make_interp_spline(self.times, given, k=DEGREES[kind], bc_type=(ends, ends))
        self._velocity, self._acceleration = self._position.derivative(1), self._position.derivative(2)
        self._zero = np.zeros(given.shape[1:])

    def __call__(self, t: float) -> Motion:
        inside = float(np.clip(t, self.times[0], self.times[-1]))
        if inside != t:
            return Motion(np.asarray(self._position(inside)), self._zero, self._zero)
        return Motion(*(np.asarray(f(t)) for f in (self._position, self._velocity, self._acceleration)))


class Slerp:
    """Through orientations at given times, each way about one axis and the shorter way round: `path(t)` is a Motion.

    times: s, increasing. quaternions: (x, y, z, w), one for each time. rest: at rest at every time, in between by
    minimum jerk; else at constant speeds in between.
    """

    def __init__(self, times: Any, quaternions: Any, *, rest: bool = True) -> None:
        self.times, self.rest = increasing("slerp", times), rest
        given = same_number("slerp", self.times, quaternions)
        self.quaternions = np.array([quaternion("slerp", "quaternion", plain(q)) for q in given])
        pairs = zip(self.quaternions[:-1], self.quaternions[1:], strict=True)
        self._turns = np.array([turn_between(a, b) for a, b in pairs])  # rad, axes of the orientation it starts from

    def __call__(self, t: float) -> Motion:
        k = int(np.clip(np.searchsorted(self.times, t, side="right") - 1, 0, len(self._turns) - 1))
        span = self.times[k + 1] - self.times[k]
        s, rate, bend = (eased if self.rest else even)((t - self.times[k]) / span)
        axis = quat_to_matrix(self.quaternions[k]) @ self._turns[k]
        turned = quat_multiply(self.quaternions[k], turn_quaternion(s * self._turns[k]))
        return Motion(turned, rate / span * axis, bend / span**2 * axis)


def eased(x: float) -> tuple[float, float, float]:
    """The fifth-order step from 0 to 1 over x from 0 to 1, at rest at both ends, and its derivatives."""
    if not 0 < x < 1:
        return (0.0 if x <= 0 else 1.0), 0.0, 0.0
    return x**3 * (10 - 15 * x + 6 * x * x), 30 * (x * (1 - x)) ** 2, 60 * x * (1 - 3 * x + 2 * x * x)


def even(x: float) -> tuple[float, float, float]:
    """The straight step from 0 to 1 over x from 0 to 1, and its derivatives."""
    return float(np.clip(x, 0, 1)), float(0 <= x < 1), 0.0


def increasing(element: str, times: Any) -> Reals:
    """At least two times, each later than the one before."""
    times = plain(times)
    given = vector(element, "times", times, len(times) if isinstance(times, tuple) else 0)
    if len(given) < 2 or (np.diff(given) <= 0).any():
        raise fail(element, "times do not increase", shown(times), "two or more, each later than the one before")
    return given


def same_number(element: str, times: Reals, values: Any) -> Reals:
    """As many values as times."""
    given = points(element, "points", values)
    if len(given) != len(times):
        raise fail(element, "points and times differ in number", f"{len(given)} and {len(times)}", "as many of each")
    return given


def points(element: str, field: str, values: Any) -> Reals:
    """Finite numbers or vectors of one size."""
    try:
        given = real_array(values)
    except (TypeError, ValueError):
        raise fail(element, f"{field} are not of one size", shown(values), "numbers, or vectors of one size") from None
    if given.ndim == 0 or not np.isfinite(given).all():
        raise fail(element, f"{field} are not finite numbers", shown(values), "finite numbers or vectors")
    return given
