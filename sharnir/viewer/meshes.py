"""Surfaces that viser does not have."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sharnir.rotations import Array


def capsule_mesh(radius: float, length: float, around: int = 24, rings: int = 8) -> tuple[Array, NDArray[np.int32]]:
    """Vertices [·, 3] (m) and triangles [·, 3], seen from outside, of a capsule along z about the origin.

    length: m, between the centres of its half-balls. around, rings: corners of a ring, and rings of a half-ball.
    """
    down = np.linspace(0.0, np.pi / 2, rings)  # from the pole to the rim
    angle = np.concatenate([down, np.pi - down[::-1]])
    offset = np.repeat([length / 2, -length / 2], rings)
    turn = np.arange(around) * 2 * np.pi / around
    r, z = radius * np.sin(angle), radius * np.cos(angle) + offset
    points = np.stack([np.outer(r, np.cos(turn)), np.outer(r, np.sin(turn)), np.tile(z[:, None], (1, around))], axis=2)
    ring, corner = (x.reshape(-1) for x in np.mgrid[: 2 * rings - 1, :around])
    a, b = ring * around + corner, ring * around + (corner + 1) % around
    faces = np.concatenate([np.stack([a, a + around, b], axis=1), np.stack([b, a + around, b + around], axis=1)])
    return points.reshape(-1, 3), faces.astype(np.int32)
