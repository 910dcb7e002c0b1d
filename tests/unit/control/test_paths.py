"""Paths over time against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from refusal import refused
from scipy.spatial.transform import Rotation
from scipy.spatial.transform import Slerp as Reference

import sharnir as sh
from sharnir.rotations import quat_to_matrix

A, B = np.array([1.0, -2.0]), np.array([3.0, 0.5])


def derivatives(path, t, step=1e-4):
    """Of the position by differences."""
    before, here, after = (np.asarray(path(t + k * step).position) for k in (-1, 0, 1))
    return (after - before) / (2 * step), (after - 2 * here + before) / step**2


def test_minimum_jerk():
    """Middle at half time with 15/8 of the mean speed; the integral of squared jerk is 720 d²/T⁵."""
    T = 0.8
    path = sh.MinimumJerk(A, B, T, begin=0.3)
    middle = path(0.3 + T / 2)
    np.testing.assert_allclose(middle.position, (A + B) / 2, atol=1e-15)
    np.testing.assert_allclose(middle.velocity, 15 / 8 * (B - A) / T, atol=1e-14)
    np.testing.assert_allclose(middle.acceleration, 0, atol=1e-13)
    for t in (0.0, 0.3, 0.3 + T, 5.0):
        end = path(t)
        np.testing.assert_array_equal(end.position, A if t < 0.5 else B)
        assert not end.velocity.any() and not end.acceleration.any()
    times = np.linspace(0.3, 0.3 + T, 20001)
    a = np.array([path(t).acceleration for t in times])
    jerk = np.gradient(a, times, axis=0, edge_order=2)
    np.testing.assert_allclose(np.trapezoid(jerk**2, times, axis=0), 720 * (B - A) ** 2 / T**5, rtol=1e-5)


def test_two_points_are_the_hermite_polynomials():
    """Cubic 3x² − 2x³; quintic as minimum jerk."""
    cubic, quintic = (sh.Spline([1.0, 3.0], [A, B], kind=kind) for kind in ("cubic", "quintic"))
    least = sh.MinimumJerk(A, B, 2.0, begin=1.0)
    for t in np.linspace(1.0, 3.0, 11):
        x = (t - 1) / 2
        np.testing.assert_allclose(cubic(t).position, A + (3 * x**2 - 2 * x**3) * (B - A), atol=1e-13)
        for found, expected in zip(quintic(t), least(t), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-12)


def test_cubic_through_three_points():
    """Equal times h, at rest at both ends: the middle's velocity is 3 (p₂ − p₀)/(4 h)."""
    p = np.array([0.3, 1.0, -0.4])
    path = sh.Spline([0.0, 0.5, 1.0], p)
    assert abs(path(0.5).velocity - 3 * (p[2] - p[0]) / (4 * 0.5)) < 1e-12
    assert path(0.0).velocity == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("kind", ["cubic", "quintic"])
def test_splines_pass_their_points_smoothly(kind):
    times, p = [0.0, 0.4, 1.0, 1.7, 2.0], np.random.default_rng(1).normal(size=(5, 3))
    path = sh.Spline(times, p, kind=kind)
    for t, point in zip(times, p, strict=True):
        np.testing.assert_allclose(path(t).position, point, atol=1e-12)
    for t in times[1:-1]:
        before, after = path(t - 1e-9), path(t + 1e-9)
        np.testing.assert_allclose(before.acceleration, after.acceleration, atol=1e-4)
    for t in (0.123, 0.777, 1.9):
        velocity, acceleration = derivatives(path, t)
        np.testing.assert_allclose(path(t).velocity, velocity, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(path(t).acceleration, acceleration, rtol=1e-3, atol=1e-2)
    for t in (-1.0, 9.0):
        assert not path(t).velocity.any() and not path(t).acceleration.any()
    ends = [path(t).acceleration for t in (0.0, 2.0)]
    assert (np.abs(ends).max() < 1e-9) == (kind == "quintic")


def test_slerp_is_scipys():
    """At constant speeds, the shorter way where a quaternion has the other sign."""
    q = Rotation.random(4, random_state=3).as_quat()
    times = [0.0, 0.5, 1.5, 2.0]
    path = sh.Slerp(times, q * [[1], [-1], [1], [-1]], rest=False)
    reference = Reference(times, Rotation.from_quat(q))
    for t in np.linspace(0, 2, 41)[:-1]:
        assert abs(abs(path(t).position @ reference(t).as_quat()) - 1) < 1e-12
        turned = (reference(t + 5e-7) * reference(t).inv()).as_rotvec() / 5e-7 if t % 0.5 else None
        if turned is not None:
            np.testing.assert_allclose(path(t).velocity, turned, atol=1e-5)


def test_slerp_rests_at_its_points():
    """Half a turn about z in 2 s by minimum jerk: a quarter at half time, at 15/8 of the mean speed."""
    path = sh.Slerp([0, 2], [(0, 0, 0, 1), (0, 0, np.sin(1.5), np.cos(1.5))])
    np.testing.assert_allclose(path(1.0).position, [0, 0, np.sin(0.75), np.cos(0.75)], atol=1e-15)
    np.testing.assert_allclose(path(1.0).velocity, [0, 0, 15 / 8 * 1.5], atol=1e-14)
    for t in (-1, 0, 2, 3):
        assert not path(t).velocity.any() and not path(t).acceleration.any()
    t, h = 0.6, 1e-5
    R = [quat_to_matrix(path(t + k * h).position) for k in (-1, 1)]
    spin = (R[1] - R[0]) / (2 * h) @ quat_to_matrix(path(t).position).T
    np.testing.assert_allclose(path(t).velocity, [spin[2, 1], spin[0, 2], spin[1, 0]], atol=1e-8)
    change = (path(t + h).velocity - path(t - h).velocity) / (2 * h)
    np.testing.assert_allclose(path(t).acceleration, change, atol=1e-8)


def test_bad_paths_are_refused():
    with refused("times do not increase", "each later"):
        sh.Spline([0, 1, 1], [0, 1, 2])
    with refused("points and times differ in number", "3 and 2"):
        sh.Spline([0, 1], [0, 1, 2])
    with refused("unknown kind of spline 'linear'"):
        sh.Spline([0, 1], [0, 1], kind="linear")
    with refused("duration is out of range"):
        sh.MinimumJerk(0, 1, 0)
    with refused("not of one size"):
        sh.MinimumJerk([0, 1], [1], 1)
    with refused("quaternion"):
        sh.Slerp([0, 1], [(0, 0, 0, 0), (0, 0, 0, 1)])
    with refused("not finite"):
        sh.MinimumJerk(0, np.nan, 1)
