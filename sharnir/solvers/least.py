"""Least solutions of the whitened loop equations W y = b, redundant rows allowed (M-26)."""

from __future__ import annotations

import numpy as np
from scipy.linalg import svd

from sharnir.model import Reals

DAMPING = 1e-8  # of the largest singular value


class Least:
    """A factor of W [rows, coordinates].

    Directions the loops barely hold, as where a linkage passes a configuration in which it could branch, are damped
    instead of followed into infinity.
    """

    def __init__(self, W: Reals) -> None:
        self._acting = np.einsum("ij,ij->i", W, W) > 0
        W = W[self._acting]
        if not np.isfinite(W).all():  # of a step that will be rejected
            W = np.full_like(W, 0.0)
        self._U, s, self._Vt = svd(W, full_matrices=False, check_finite=False)
        largest = s[0] if len(s) else 0.0
        self.strengths = s / largest if largest > 0 else s  # of the directions held, falling
        self._inverse = s / np.maximum(s * s + (DAMPING * largest) ** 2, np.finfo(float).tiny)

    def solve(self, b: Reals) -> Reals:
        """The least y with W y = b."""
        return np.asarray((self._U.T @ b[self._acting] * self._inverse) @ self._Vt)

    def multipliers(self, y: Reals) -> Reals:
        """The least forces lam along the rows with Wᵀ lam = y."""
        lam = np.zeros(len(self._acting))
        lam[self._acting] = self._U @ (self._inverse * (self._Vt @ y))
        return lam
