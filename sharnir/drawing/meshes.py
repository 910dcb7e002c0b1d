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


def ball_mesh() -> tuple[Array, NDArray[np.int32]]:
    """A ball of radius 1, as a capsule without length."""
    return capsule_mesh(1.0, 0.0, around=24, rings=9)


def box_mesh() -> tuple[Array, NDArray[np.int32]]:
    """A cube of edge 1; every face has corners of its own, so that edges stay sharp."""
    square = np.array([[-1, -1, 1], [1, -1, 1], [1, 1, 1], [-1, 1, 1]]) / 2
    sides = [np.roll(square * [sign, 1, sign], k, axis=1) for k in range(3) for sign in (1, -1)]
    first = 4 * np.arange(6)[:, None, None]
    faces = (np.array([[0, 1, 2], [0, 2, 3]]) + first).reshape(-1, 3)
    return np.concatenate(sides), faces.astype(np.int32)


def cylinder_mesh(around: int = 32) -> tuple[Array, NDArray[np.int32]]:
    """A cylinder of radius and length 1 along z; its rims are sharp."""
    turn = np.arange(around) * 2 * np.pi / around
    ring = np.column_stack([np.cos(turn), np.sin(turn), np.zeros(around)])
    half = np.array([0.0, 0.0, 0.5])
    low, high = ring - half, ring + half
    points = np.concatenate([low, high, low, high, [-half, half]])
    i = np.arange(around)
    j = (i + 1) % around
    side = [np.stack([i, j, i + around], axis=1), np.stack([j, j + around, i + around], axis=1)]
    ends = [
        np.stack([np.full(around, 4 * around), j + 2 * around, i + 2 * around], axis=1),
        np.stack([np.full(around, 4 * around + 1), i + 3 * around, j + 3 * around], axis=1),
    ]
    return points, np.concatenate([*side, *ends]).astype(np.int32)
