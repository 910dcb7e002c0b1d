"""Minimum-norm solutions of the whitened loop equations W y = b by a damped SVD, redundant rows allowed (M-26)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import svd
from threadpoolctl import ThreadpoolController

from sharnir.model.model import Reals

SINGULAR_VALUE_DAMPING = 1e-8  # of the largest singular value
MIN_ROW_LENGTH = 1e-12  # of the longest row of its joint: shorter ones are zero but for rounding and left out


def single_threaded_blas() -> Any:
    """Keep linear algebra on one core: threads cost more than these small matrices, a hundred times where cores are
    shared (measured)."""
    return ThreadpoolController().limit(limits=1, user_api="blas")


class LeastNormSolver:
    """Damped SVD of W [rows, coordinates], the rows of every joint scaled by the longest of them.

    So scaled, mechanisms of very different mass in one scene do not disturb each other, while a row that vanishes
    beside the others of its joint still shows that it does. Rows that are zero but for rounding are left out. Small
    singular values, as where a linkage passes a configuration in which it could branch, are damped instead of inverted.
    """

    def __init__(self, W: Reals, joint: NDArray[np.intp]) -> None:
        """joint: [rows] number of the joint each row belongs to."""
        if not np.isfinite(W).all():  # of a step that will be rejected
            W = np.zeros_like(W)
        length = np.sqrt(np.einsum("ij,ij->i", W, W))
        longest = np.zeros(joint.max(initial=-1) + 1)
        np.maximum.at(longest, joint, length)
        self._acting = length > MIN_ROW_LENGTH * longest[joint]
        self._scale = longest[joint][self._acting]
        scaled = W[self._acting] / self._scale[:, None]
        self._U, s, self._Vt = svd(scaled, full_matrices=False, check_finite=False)
        largest = s[0] if len(s) else 0.0
        self.singular_values = s / largest if largest > 0 else s  # over the largest, falling
        self._inverse = s / np.maximum(s * s + (SINGULAR_VALUE_DAMPING * largest) ** 2, np.finfo(float).tiny)

    def solve(self, b: Reals) -> Reals:
        """The least y with W y = b."""
        return np.asarray((self._U.T @ (b[self._acting] / self._scale) * self._inverse) @ self._Vt)

    def multipliers(self, y: Reals) -> Reals:
        """Forces lam along the rows with Wᵀ lam = y, the least in what they do."""
        lam = np.zeros(len(self._acting))
        lam[self._acting] = self._U @ (self._inverse * (self._Vt @ y)) / self._scale
        return lam
