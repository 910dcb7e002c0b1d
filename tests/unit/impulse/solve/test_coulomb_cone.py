"""The law of one contact: sliding is found exactly, with the normal impulse that goes with it (M-82)."""

from __future__ import annotations

import numpy as np
import warp as wp

from sharnir.impulse.solve.coulomb_cone import solve_cone
from sharnir.kernels.types import array2, np_real, real, vec3

SWEEPS = 6
SIZE = 13  # numbers of a block that the law reads


@wp.kernel(enable_backward=False)
def solved_kernel(K: array2, A: array2, mu: array2, s: array2, p: array2):
    """Sweep every contact alone, some times over."""
    c = wp.tid()
    old = vec3()
    for _ in range(SWEEPS):
        speed = vec3()
        for i in range(3):
            speed[i] = s[3 * c + i, 0]
            for j in range(3):
                speed[i] = speed[i] + A[9 * c + 3 * i + j, 0] * old[j]
        old = solve_cone(K, SIZE * c, mu[c, 0], old, speed, 0)
    for i in range(3):
        p[3 * c + i, 0] = old[i]


def blocks(A: np.ndarray) -> np.ndarray:
    """[n, SIZE] what the law reads of blocks [n, 3, 3]: inverse, inverses of normal and tangents, what couples them."""
    out = np.zeros((len(A), SIZE))
    out[:, :9] = np.linalg.inv(A).reshape(-1, 9)
    out[:, 9] = 1 / A[:, 0, 0]
    out[:, 10] = 1 / np.linalg.eigvalsh(A[:, 1:, 1:])[:, 1]
    out[:, 11:] = A[:, 0, 1:]
    return out


def test_a_contact_that_slides_is_solved_within_six_sweeps():
    """Random blocks whose tangents and normal are coupled as at the tips of long links: what comes out closes the gap,
    lies on the cone and opposes the sliding."""
    rng, n = np.random.default_rng(0), 20_000
    halves = rng.normal(size=(n, 3, 5)) * np.exp(rng.normal(size=(n, 3, 1)))
    A = halves @ halves.transpose(0, 2, 1)
    mu, s = rng.uniform(0.1, 1.0, n), rng.normal(size=(n, 3))
    values = (blocks(A), A, mu, s, np.zeros((n, 3)))
    arrays = [
        wp.array(np.ascontiguousarray(v.reshape(-1, 1).astype(np_real)), dtype=real, device="cpu") for v in values
    ]
    wp.launch(solved_kernel, dim=n, inputs=arrays, device="cpu")
    p = arrays[-1].numpy().reshape(n, 3).astype(float)
    after = s + np.einsum("nij,nj->ni", A, p)
    size = np.linalg.norm(s, axis=1)
    tangent, sliding = np.linalg.norm(p[:, 1:], axis=1), np.linalg.norm(after[:, 1:], axis=1)
    opens = (p[:, 0] == 0) & (after[:, 0] > -1e-9 * size)
    assert 0.3 < opens.mean() < 0.7
    assert (tangent <= mu * p[:, 0] * (1 + 1e-9)).all()
    slides = ~opens & (tangent > mu * p[:, 0] * (1 - 1e-9))
    assert slides.sum() > 5000
    against = np.einsum("ni,ni->n", p[:, 1:], after[:, 1:]) + tangent * sliding  # 0 where they are opposite
    wrong = np.abs(after[:, 0]) + np.where(slides, against / np.maximum(tangent, 1e-300), sliding)
    assert np.quantile(wrong[~opens] / size[~opens], 0.999) < 1e-9
