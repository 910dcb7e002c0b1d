"""Regularised law of a contact (M-61): a projection onto its cone, with the slope as Hessian."""

from __future__ import annotations

import numpy as np
import warp as wp
from engine_parts import FAST_COMPILE, run

from sharnir.impulse.solve.islands.laws import cone_hessian, cone_impulse
from sharnir.kernels.types import mat33, real, vec3

wp.set_module_options(FAST_COMPILE)
MU, R = 0.6, 0.7  # friction; regularisation, 1/kg


@wp.kernel
def cone_kernel(s: wp.array(dtype=vec3), p: wp.array(dtype=vec3), G: wp.array(dtype=mat33)):
    i = wp.tid()
    p[i] = cone_impulse(s[i], real(MU), real(R))
    G[i] = cone_hessian(s[i], real(MU), real(R))


def projected(y: np.ndarray) -> np.ndarray:
    """The points of the cone |p_t| ≤ μ p_n nearest to y [n, 3]."""
    t = np.linalg.norm(y[:, 1:], axis=1)
    n = np.maximum((y[:, 0] + MU * t) / (1 + MU**2), 0)
    on = np.concatenate([n[:, None], MU * (n / np.maximum(t, 1e-300))[:, None] * y[:, 1:]], axis=1)
    return np.where((t <= MU * y[:, 0])[:, None], y, on)


def laws(s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    speeds, p, G = (wp.array(s, dtype=vec3), wp.zeros(len(s), dtype=vec3), wp.zeros(len(s), dtype=mat33))
    run(cone_kernel, speeds, p, G, threads=len(s))
    return p.numpy(), G.numpy()


def test_the_contact_law_projects_onto_its_cone_and_its_hessian_is_the_slope():
    s = np.random.default_rng(0).normal(size=(300, 3))
    p, G = laws(s)
    np.testing.assert_allclose(p, projected(-s / R), atol=1e-13)
    h = 1e-6
    numeric = np.stack([(laws(s - h * e)[0] - laws(s + h * e)[0]) / (2 * h) for e in np.eye(3)], axis=2)
    assert np.quantile(np.abs(numeric - G).max(axis=(1, 2)), 0.99) < 1e-7  # except for the few near a kink
    sticks, opens = np.linalg.norm(p[:, 1:], axis=1) < MU * p[:, 0] - 1e-9, p[:, 0] == 0
    assert sticks.sum() > 20 and opens.sum() > 20 and (~sticks & ~opens).sum() > 20
