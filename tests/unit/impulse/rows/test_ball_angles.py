"""Angles of ball joints that limits bound (M-50..M-53), against scipy's rotations; gradients against differences."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from engine_parts import FAST_COMPILE, run
from scipy.spatial.transform import Rotation

from sharnir.enums import LimitKind
from sharnir.impulse.rows.ball_angles import ball_angle
from sharnir.kernels.types import np_real, real, vec2, vec3, vec4

wp.set_module_options(FAST_COMPILE)
SWING = np.array([0.7, 1.1])  # rad, half-angles about x and y
EXACT = 1e-12  # rad: rounding of a few operations, away from where angles are singular
CASES = [(LimitKind.EULER, 0), (LimitKind.EULER, 1), (LimitKind.EULER, 2), (LimitKind.CONE, 0), (LimitKind.ANGLE, 0),
         (LimitKind.TWIST, 0), (LimitKind.TWIST, 1), (LimitKind.TWIST, 2), (LimitKind.CONE, 2)]  # fmt: skip


@wp.kernel
def angle_kernel(
    kind: int, axis: int, swing: vec2, q: wp.array(dtype=vec4), g: wp.array(dtype=real), a: wp.array(dtype=vec3)
):
    i = wp.tid()
    angle, gradient = ball_angle(kind, axis, q[i], swing)
    g[i] = angle
    a[i] = gradient


def angles(kind: LimitKind, axis: int, turns: Rotation) -> tuple[np.ndarray, np.ndarray]:
    """Angles and gradients of many rotations."""
    n = len(turns)
    q = wp.array(turns.as_quat().astype(np_real), dtype=vec4)
    g, a = wp.zeros(n, dtype=real), wp.zeros(n, dtype=vec3)
    run(angle_kernel, int(kind), axis, vec2(*SWING), q, g, a, threads=n)
    return g.numpy(), a.numpy()


def random_turns(seed: int = 0) -> Rotation:
    """Rotations away from where angles are singular: Euler angles below 75°, hence no half turns and no twist of π."""
    rng = np.random.default_rng(seed)
    turns = Rotation.from_euler("XYZ", rng.uniform(-1.3, 1.3, size=(400, 3)))
    leans = np.linalg.norm(turns.as_matrix()[:, :2, 2], axis=1) > 0.1
    return turns[leans & (turns.magnitude() > 0.1) & (turns.magnitude() < 2.8)]


def test_euler_angles_and_the_whole_angle_are_those_of_scipy():
    turns = random_turns()
    expected = turns.as_euler("XYZ")
    for axis in range(3):
        np.testing.assert_allclose(angles(LimitKind.EULER, axis, turns)[0], expected[:, axis], atol=EXACT)
    np.testing.assert_allclose(angles(LimitKind.ANGLE, 0, turns)[0], turns.magnitude(), atol=EXACT)


@pytest.mark.parametrize("axis", range(3))
def test_twist_leaves_a_swing_about_an_axis_across(axis):
    """R = swing · twist: the rotation vector of the swing has no component along the axis of the twist."""
    turns = random_turns()
    for kind in (LimitKind.TWIST, LimitKind.CONE)[: 1 + (axis == 2)]:
        g, _ = angles(kind, axis, turns)
        swing = turns * Rotation.from_rotvec(g[:, None] * np.eye(3)[axis]).inv()
        np.testing.assert_allclose(swing.as_rotvec()[:, axis], 0, atol=EXACT)


def test_the_swing_beyond_a_cone_is_measured_from_an_ellipse():
    """The rotation vector that leans z to R z, shortened by g, ends on the ellipse of the half-angles."""
    turns = random_turns()
    g, _ = angles(LimitKind.CONE, 0, turns)
    z = turns.as_matrix()[:, :, 2]
    across = np.stack([-z[:, 1], z[:, 0]], axis=1) / np.linalg.norm(z[:, :2], axis=1)[:, None]
    edge = across * (np.arccos(z[:, 2]) - g)[:, None]
    np.testing.assert_allclose(((edge / SWING) ** 2).sum(axis=1), 1, atol=1e-11)
    straight, _ = angles(LimitKind.CONE, 0, Rotation.identity(1))
    np.testing.assert_allclose(straight, -SWING.min(), atol=EXACT)


@pytest.mark.parametrize(("kind", "axis"), CASES)
def test_gradients_are_differences(kind, axis):
    """ġ = a·w with w in axes of P: turned by exp(±h w) from the left. Central differences with h = 1e-5 err by h² times
    third derivatives, below 1e3 here, and by rounding 1e-16/h: 1e-7."""
    turns, h = random_turns(1), 1e-5
    _, a = angles(kind, axis, turns)
    for w in np.eye(3):
        ahead, behind = (angles(kind, axis, Rotation.from_rotvec(s * h * w) * turns)[0] for s in (1, -1))
        np.testing.assert_allclose(a @ w, (ahead - behind) / (2 * h), atol=1e-7)
