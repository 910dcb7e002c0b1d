"""Rotation of a free body in substeps (M-105): energy, turns, steady spin."""

import numpy as np
import pytest
import warp as wp
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from sharnir.dynamics.free_rotation import free_turn
from sharnir.kernels.types import mat33, np_real, real, vec3

MOMENTS = ((1.0, 2.0, 2.5), (1.0, 1.0, 0.01), (0.001, 1.0, 1.0005), (1.0, 1.0001, 2.0))


@wp.kernel
def turn_kernel(I: wp.array(dtype=mat33), L: wp.array(dtype=vec3), dt: real, out: wp.array(dtype=real)):
    u, s, turn, over = free_turn(I[0], L[0], dt)
    for k in range(3):
        out[k] = u[k]
        out[4 + k] = turn[k]
    out[3] = s
    out[7] = over


def turned(I, L, dt):
    """Quaternion, rotation vector with all turns (rad), time left (s)."""
    out = wp.zeros(8, dtype=real, device="cpu")
    arrays = [wp.array(np.array([x], dtype=np_real), dtype=t, device="cpu") for x, t in ((I, mat33), (L, vec3))]
    wp.launch(turn_kernel, 1, inputs=[*arrays, dt, out], device="cpu")
    got = out.numpy()
    return Rotation.from_quat(got[:4]), got[4:7], got[7]


def body(moments, seed=1):
    axes = Rotation.random(random_state=seed).as_matrix()
    spin = np.random.default_rng(seed).normal(size=3)
    I = axes @ np.diag(moments) @ axes.T
    return I, I @ spin / np.linalg.norm(spin)


@pytest.mark.parametrize("moments", MOMENTS)
@pytest.mark.parametrize("dt", [0.3, 1.4, 15.0])
def test_energy_is_kept(moments, dt):
    I, L = body(moments)
    energy = 0.5 * L @ np.linalg.solve(I, L)
    R = np.eye(3)
    for _ in range(50):
        turn, _, over = turned(R @ I @ R.T, L, dt)
        assert over == 0.0
        R = turn.as_matrix() @ R
        assert 0.5 * L @ R @ np.linalg.solve(I, R.T @ L) == pytest.approx(energy, rel=1e-11)


@pytest.mark.parametrize("moments", MOMENTS)
def test_attitude_is_that_of_eulers_equations(moments):
    I, L = body(moments)

    def rate(t, y):
        R = Rotation.from_quat(y).as_matrix()
        om = np.linalg.solve(R @ I @ R.T, L)
        return 0.5 * np.append(y[3] * om + np.cross(om, y[:3]), -om @ y[:3])

    exact = solve_ivp(rate, (0.0, 2.0), [0, 0, 0, 1], rtol=1e-9, atol=1e-9).y[:, -1]
    turn, vector, _ = turned(I, L, 2.0)
    assert (turn * Rotation.from_quat(exact).inv()).magnitude() < 5e-3
    assert (turn * Rotation.from_rotvec(vector).inv()).magnitude() < 1e-12


def test_steady_spin_is_exact_and_its_turns_are_counted():
    I, _ = body((1.0, 2.0, 2.5))
    axis = np.linalg.eigh(I)[1][:, 1]
    _, vector, over = turned(I, 2.0 * axis, 20.0)
    np.testing.assert_allclose(vector, 20.0 * axis, atol=1e-9)
    _, vector, over = turned(np.eye(3), 1000.0 * axis, 1.0)
    np.testing.assert_allclose(vector, 1000.0 * axis, rtol=1e-12)
    assert over == 0.0


def test_nothing_turns_without_momentum():
    _, vector, _ = turned(np.eye(3), np.zeros(3), 1.0)
    np.testing.assert_array_equal(vector, 0.0)


def test_time_beyond_the_substeps_is_reported():
    I, L = body((1.0, 2.0, 2.5))
    assert turned(I, L, 500.0)[2] > 0.0
