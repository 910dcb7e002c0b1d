"""Judging values: each function returns a clean array or raises a ModelError naming the element and field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sharnir.errors import fail
from sharnir.rotations import Array


def number(element: str, field: str, value: Any, *, least: float = -np.inf, above: float = -np.inf) -> float:
    """A finite number ≥ least and > above."""
    allowed = "a finite number" + (f" ≥ {least:g}" if least > -np.inf else "")
    allowed += f" > {above:g}" if above > -np.inf else ""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
        raise fail(element, f"{field} is not a finite number", repr(value), allowed)
    if value < least or value <= above:
        raise fail(element, f"{field} is out of range", repr(value), allowed)
    return float(value)


def vector(element: str, field: str, value: Any, size: int) -> Array:
    """A finite vector of `size` numbers."""
    allowed = f"{size} finite numbers"
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != size:
        raise fail(element, f"{field} has the wrong shape", repr(value), allowed)
    for v in value:
        number(element, f"{field} component", v)
    return np.array(value, dtype=float)


def direction(element: str, field: str, value: Any) -> Array:
    """A unit vector from any vector that is not zero."""
    v = vector(element, field, value, 3)
    length = np.linalg.norm(v)
    if length < 1e-12:
        raise fail(element, f"{field} is zero", repr(value), "a vector of any length but zero")
    return v / length


def quaternion(element: str, field: str, value: Any) -> Array:
    """A unit quaternion from any quaternion (x, y, z, w) that is not zero."""
    q = vector(element, field, value, 4)
    length = np.linalg.norm(q)
    if length < 1e-12:
        raise fail(element, f"{field} is zero", repr(value), "a quaternion (x, y, z, w) of any length but zero")
    return q / length


def per_coordinate(element: str, field: str, value: Any, size: int, *, least: float = -np.inf) -> Array:
    """One number for all coordinates, or one for each."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return np.full(size, number(element, field, value, least=least))
    values = vector(element, field, value, size)
    for v in values:
        number(element, f"{field} component", float(v), least=least)
    return values


def inertia_matrix(element: str, value: Any) -> Array:
    """A rotational inertia as 3 principal moments or a symmetric 3×3 matrix, physically possible."""
    allowed = "3 moments or a symmetric 3×3 matrix with eigenvalues a, b, c ≥ 0, each at most the sum of the others"
    if isinstance(value, Sequence) and len(value) == 3 and all(isinstance(row, Sequence) for row in value):
        I = np.array([vector(element, "inertia row", row, 3) for row in value])
    else:
        I = np.diag(vector(element, "inertia", value, 3))
    scale = np.abs(I).max()
    if np.abs(I - I.T).max() > 1e-9 * scale:
        raise fail(element, "inertia is not symmetric", I.tolist(), allowed)
    moments = np.linalg.eigvalsh(I)
    shown = ", ".join(f"{m:.6g}" for m in moments)
    if moments[0] < -1e-9 * scale:
        raise fail(element, "inertia is not positive semi-definite", f"eigenvalues {shown}", allowed)
    if moments[2] > (moments[0] + moments[1]) * (1 + 1e-9) + 1e-9 * scale:
        raise fail(element, "inertia violates the triangle inequality", f"eigenvalues {shown}", allowed)
    return 0.5 * (I + I.T)
