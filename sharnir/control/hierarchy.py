"""Least squares within bounds, one level of priority after the other."""

from __future__ import annotations

from typing import NamedTuple

import daqp
import numpy as np
from scipy.linalg.lapack import dgeqp3, dorgqr

from sharnir.model.model import Reals

SLIGHT = 1e-10  # of the largest square, always added: problems stay strictly convex
HELD = 1e-7  # of the firmest direction: weaker ones are left to the levels below
FAINT = 1e-12  # m or rad by rad or m: rounding of rows that do not feel what moves
TOLERANCE = 1e-10  # of bounds, in units of x
SOLVED = 1  # least of the solver's signs that all went well


class Level(NamedTuple):
    """min |A x − b|² + damping |x − x₀|², x₀ the result of the levels above."""

    A: Reals  # [rows, n]
    b: Reals  # [rows]
    damping: float


class Bounds(NamedTuple):
    """lower ≤ x ≤ upper, and lower_sums ≤ sums x ≤ upper_sums; x = 0 lies within."""

    lower: Reals  # [n]
    upper: Reals
    sums: Reals  # [rows, n]
    lower_sums: Reals  # [rows]
    upper_sums: Reals


def prioritised(levels: list[Level], bounds: Bounds) -> Reals:
    """x [n] that serves the first level best within the bounds, and each further one as well as those before it leave.

    A level below moves only in the null space of those above, whatever the bounds have cost them: sums of squares that
    a level has reached stay.
    """
    n = len(bounds.lower)
    x, N = np.zeros(n), None  # N [n, free]: directions the levels above do not feel
    for k, level in enumerate(levels):
        A = level.A if N is None else level.A @ N
        z = bounded(A, level.b - level.A @ x, level.damping, N, x, bounds)
        x = x + (z if N is None else N @ z)
        if k + 1 < len(levels):
            free = null_space(A)
            if free.shape[1] == 0:
                break
            N = free if N is None else N @ free
    return np.clip(x, bounds.lower, bounds.upper)


def bounded(A: Reals, b: Reals, damping: float, N: Reals | None, x: Reals, bounds: Bounds) -> Reals:
    """min |A z − b|² + damping |z|² with x + N z within bounds; 0 where the solver finds no way."""
    H = A.T @ A
    diagonal = np.einsum("ii->i", H)
    diagonal += damping + SLIGHT * max(float(diagonal.max(initial=0.0)), SLIGHT)
    f = -(b @ A)
    if N is None:
        rows, lower, upper = bounds.sums, bounds.lower, bounds.upper
        lower_sums, upper_sums = bounds.lower_sums, bounds.upper_sums
    else:
        moved = bounds.sums @ x
        finite = np.isfinite(bounds.lower) | np.isfinite(bounds.upper)
        rows = np.concatenate([N[finite], bounds.sums @ N])
        lower, upper = (bounds.lower - x)[finite], (bounds.upper - x)[finite]
        lower_sums, upper_sums = bounds.lower_sums - moved, bounds.upper_sums - moved
    low = np.concatenate([lower, lower_sums])
    high = np.concatenate([upper, upper_sums])
    if N is not None:
        low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)  # rounding of the levels above
    z, _, flag, _ = daqp.solve(H, f, rows, high, low, primal_tol=TOLERANCE)
    return z if flag >= SOLVED and np.isfinite(z).all() else np.zeros(len(f))


def null_space(A: Reals) -> Reals:
    """[n, free] orthonormal directions that A [rows, n] does not feel, by QR with pivots of Aᵀ."""
    n = A.shape[1]
    qr, _, tau, _, _ = dgeqp3(A.T)
    diagonal = np.abs(np.diagonal(qr))
    rank = int((diagonal > max(HELD * float(diagonal.max(initial=0.0)), FAINT)).sum())
    if rank == n:
        return np.zeros((n, 0))
    full = np.zeros((n, n), order="F")
    full[:, :rank] = qr[:, :rank]
    Q, _, _ = dorgqr(full, np.concatenate([tau[:rank], np.zeros(n - rank)]), overwrite_a=1)
    return np.ascontiguousarray(Q[:, rank:])
