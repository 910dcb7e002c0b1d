"""Rectangles of contacts: the share by which their friction is drawn, against numbers (M-109)."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from sharnir.benchmarks.holds.cases import rectangle_mean_radius
from sharnir.collision.flat_contacts import is_rectangle, rectangle_share
from sharnir.kernels.types import array2, real, vec3


@wp.kernel
def share_kernel(points: wp.array(dtype=vec3), out: array2):
    found = is_rectangle(points[0], points[1], points[2], points[3])
    out[0, 0] = wp.where(found, rectangle_share(points[0], points[1], points[2]), real(-1.0))


def share(points: np.ndarray) -> float:
    out = wp.zeros((1, 1), dtype=real, device="cpu")
    wp.launch(share_kernel, 1, [wp.array(points, dtype=vec3, device="cpu"), out], device="cpu")
    return float(out.numpy()[0, 0])


def corners(a: float, b: float) -> np.ndarray:
    """Of a rectangle a × b (m), turned any way."""
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    flat = np.array([[a, b, 0], [-a, b, 0], [-a, -b, 0], [a, -b, 0]]) / 2
    return flat @ turn.T + [1.0, 2.0, 3.0]


@pytest.mark.parametrize("b", [1.0, 0.8, 0.5, 0.25, 0.1, 0.03])
def test_mean_radius_of_rectangles(b):
    expected = 1.0 - rectangle_mean_radius(1.0, b) / (np.hypot(1.0, b) / 2)
    assert share(corners(1.0, b)) == pytest.approx(expected, abs=2e-4)


def test_other_quadrilaterals_are_none():
    square = corners(1.0, 1.0)
    assert share(square[[0, 2, 1, 3]]) == -1.0
    square[0] += 0.1 * (square[0] - square[2])
    assert share(square) == -1.0
    rhombus = np.array([[2.0, 0, 0], [0, 1, 0], [-2, 0, 0], [0, -1, 0]])
    assert share(rhombus) == -1.0
