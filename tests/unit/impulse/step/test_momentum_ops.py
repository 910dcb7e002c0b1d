"""Fused vector operations of the momentum balance (M-33), against numpy."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from engine_parts import FAST_COMPILE, column, read, run, zeros

from sharnir.impulse.step.momentum_ops import compute_momentum_residual, predict_momenta, store_momentum_chord
from sharnir.kernels.types import array2, real

wp.set_module_options(FAST_COMPILE)
N = 11  # more than one batch of a native loop, and not a multiple of it
ROUNDING = 1e-14


@wp.kernel
def predict_kernel(z: array2, lack: array2, bend: array2, order: int, ratio: real, n: int, zP: array2, base: array2):
    predict_momenta(z, lack, bend, order, ratio, n, zP, base, 0)


@wp.kernel
def chord_kernel(zc: array2, base: array2, zP: array2, share: real, n: int, z: array2, lack: array2):
    store_momentum_chord(zc, base, zP, share, n, z, lack, 0)


@wp.kernel
def residual_kernel(zP: array2, z: array2, base: array2, zc: array2, n: int, out: array2):
    out[0, 0] = compute_momentum_residual(zP, z, base, zc, n, 0)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_momenta_are_predicted_by_the_series(order):
    """zP = z + lack; base = z = zP + ratio times the sum of the first order + 1 terms."""
    rng = np.random.default_rng(order)
    z0, lack, bend, out = rng.normal(size=N), rng.normal(size=N), rng.normal(size=(3, N)), (zeros(N), zeros(N))
    z = column(z0)
    run(predict_kernel, z, column(lack), column(bend.reshape(-1)), order, 0.7, N, *out)
    zP = z0 + lack
    np.testing.assert_allclose(read(out[0]), zP, atol=ROUNDING)
    for found in (out[1], z):
        np.testing.assert_allclose(read(found), zP + 0.7 * bend[: order + 1].sum(axis=0), atol=ROUNDING)


def test_the_chord_and_what_is_carried_on_are_stored():
    rng = np.random.default_rng(5)
    zc, base, zP = rng.normal(size=(3, N))
    z, lack = zeros(N), zeros(N)
    run(chord_kernel, column(zc), column(base), column(zP), 0.3, N, z, lack)
    np.testing.assert_allclose(read(z), base - zP + zc, atol=ROUNDING)
    np.testing.assert_allclose(read(lack), 0.3 * zc, atol=ROUNDING)


def test_the_residual_and_its_square():
    rng = np.random.default_rng(6)
    zP, z, base, zc0 = rng.normal(size=(4, N))
    zc, out = column(zc0), zeros(1)
    run(residual_kernel, column(zP), column(z), column(base), zc, N, out)
    residual = zP + z - base - zc0
    np.testing.assert_allclose(read(zc), residual, atol=ROUNDING)
    np.testing.assert_allclose(read(out)[0], residual @ residual, rtol=1e-13)
