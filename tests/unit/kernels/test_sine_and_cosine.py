"""Our own sine and cosine, which every hinge goes through."""

from __future__ import annotations

import numpy as np
import pytest

import sharnir
from sharnir import dynamics


@pytest.mark.parametrize("largest", [1.0, 10.0, 1e4, 9.9e4, 1e6, 1e12])
def test_hinges_turn_by_the_right_angle_however_often_they_turned(largest):
    """Rotation matrices against the library's sine and cosine to 1 ulp of 1; quadrants and their borders included."""
    scene = sharnir.Scene()
    scene.add(sharnir.Body(name="wheel", mass=1.0, inertia=(1.0, 1.0, 1.0)))
    scene.add(sharnir.Revolute(name="hinge", parent="world", child="wheel"))
    borders = np.round(np.linspace(-largest, largest, 2001) / (np.pi / 4)) * (np.pi / 4)
    angles = np.concatenate([np.random.default_rng(0).uniform(-largest, largest, 5000), borders])
    _, R = dynamics.body_poses(sharnir.compile(scene), angles[None])
    np.testing.assert_allclose(R[0, 0, 0], np.cos(angles), atol=2.3e-16, rtol=0)
    np.testing.assert_allclose(R[0, 1, 0], np.sin(angles), atol=2.3e-16, rtol=0)
