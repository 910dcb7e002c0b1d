"""Judging values: each function returns a clean array or raises a ModelError naming the element and field."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from sharnir.errors import fail, shown
from sharnir.rotations import Array
from sharnir.spec.elements import plain, real_array

__all__ = [
    "MAX_MAGNITUDE", "direction", "inertia_matrix", "is_number", "number", "per_coordinate", "quaternion", "real_array",
    "vector",
]  # fmt: skip
MAX_MAGNITUDE = 1e50  # beyond it powers of a value overflow; no mechanism is that large


def is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def number(
    element: str,
    field: str,
    value: Any,
    *,
    least: float = -np.inf,
    above: float = -np.inf,
    most: float = MAX_MAGNITUDE,
    infinite: tuple[float, ...] = (),
) -> float:
    """A finite number ≥ least, > above and ≤ most in magnitude, or one of those in `infinite`."""
    allowed = "a finite number" + (f" ≥ {least:g}" if least > -np.inf else "")
    allowed += f" > {above:g}" if above > -np.inf else ""
    allowed += "".join(f" or {x:g}" for x in infinite)
    bare = plain(value)
    try:
        x = float(bare) if is_number(bare) else np.nan
    except OverflowError:
        x = np.nan
    if x in infinite:
        return x
    if not np.isfinite(x):
        raise fail(element, f"{field} is not a finite number", shown(value), allowed)
    if x < least or x <= above or abs(x) > most:
        raise fail(element, f"{field} is out of range", shown(value), f"{allowed}, at most {most:g} in magnitude")
    return x


def vector(element: str, field: str, value: Any, size: int, *, most: float = MAX_MAGNITUDE) -> Array:
    """A finite vector of `size` numbers. Arrays are judged as a whole, as control loops give many."""
    if isinstance(value, np.ndarray):
        if value.shape == (size,) and value.dtype == float and (np.abs(value) <= min(most, MAX_MAGNITUDE)).all():
            return value.copy()
        value = plain(value)
    allowed = {0: "nothing: there are no coordinates", 1: "a finite number"}.get(size, f"{size} finite numbers")
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)) or len(value) != size:
        raise fail(element, f"{field} has the wrong shape", shown(value), allowed)
    return np.array([number(element, f"{field} component", v, most=most) for v in value], dtype=float)


def direction(element: str, field: str, value: Any) -> Array:
    """A unit vector from any vector that is not zero."""
    return _unit(element, field, value, 3, "a vector of any length but zero")


def quaternion(element: str, field: str, value: Any) -> Array:
    """A unit quaternion from any quaternion (x, y, z, w) that is not zero."""
    return _unit(element, field, value, 4, "a quaternion (x, y, z, w) of any length but zero")


def _unit(element: str, field: str, value: Any, size: int, allowed: str) -> Array:
    v = vector(element, field, value, size, most=np.inf)
    largest = float(np.abs(v).max())
    if largest == 0:
        raise fail(element, f"{field} is zero", shown(value), allowed)
    v = v / largest  # so that squares neither overflow nor vanish
    return np.asarray(v / np.linalg.norm(v))


def per_coordinate(element: str, field: str, value: Any, size: int, *, least: float = -np.inf) -> Array:
    """One number for all coordinates, or one for each."""
    if is_number(plain(value)):
        return np.full(size, number(element, field, value, least=least))
    values = vector(element, field, value, size)
    for v in values:
        number(element, f"{field} component", float(v), least=least)
    return values


def inertia_matrix(element: str, value: Any) -> Array:
    """A rotational inertia as 3 principal moments or a symmetric 3×3 matrix, physically possible."""
    allowed = "3 moments or a symmetric 3×3 matrix with eigenvalues a, b, c ≥ 0, each at most the sum of the others"
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)) or len(value) != 3:
        raise fail(element, "inertia has the wrong shape", shown(value), allowed)
    rows = [isinstance(row, Sequence) and not isinstance(row, (str, bytes)) for row in value]
    if rows[0] and not (all(rows) and all(len(row) == 3 for row in value)):
        raise fail(element, "inertia has the wrong shape", shown(value), allowed)
    if rows[0]:
        I = np.array([vector(element, "inertia", row, 3) for row in value])
    else:
        I = np.diag(vector(element, "inertia", value, 3))
    scale = np.abs(I).max()
    if np.abs(I - I.T).max() > 1e-9 * scale:
        raise fail(element, "inertia is not symmetric", I.tolist(), allowed)
    moments = np.linalg.eigvalsh(I)
    eigenvalues = "eigenvalues " + ", ".join(f"{m:.6g}" for m in moments)
    if moments[0] < -1e-9 * scale:
        raise fail(element, "inertia is not positive semi-definite", eigenvalues, allowed)
    if moments[2] > (moments[0] + moments[1]) * (1 + 1e-9) + 1e-9 * scale:
        raise fail(element, "inertia violates the triangle inequality", eigenvalues, allowed)
    return 0.5 * (I + I.T)
