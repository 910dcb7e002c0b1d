"""Rotations in numpy for everything outside kernels: quaternions are (x, y, z, w)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def numbers(values: Any) -> Any:
    """Python's numbers: one by one they take a fraction of the time of numpy's."""
    return values.tolist() if isinstance(values, np.ndarray) else values


def quat_multiply(a: Array, b: Array) -> Array:
    """Product a∗b: first b, then a."""
    ax, ay, az, aw = numbers(a)
    bx, by, bz, bw = numbers(b)
    return np.array([
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    ])  # fmt: skip


def quat_to_matrix(q: Array) -> Array:
    """Rotation matrix of the direction of q (its length does not matter)."""
    x, y, z, w = numbers(q)
    s = 2.0 / (x * x + y * y + z * z + w * w)
    return np.array([
        [1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)],
        [s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x)],
        [s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y)],
    ])  # fmt: skip


def matrix_to_quat(R: Array) -> Array:
    """Unit quaternion with w ≥ 0, by the largest of its four components (Shepperd)."""
    rows = numbers(R)
    diagonal = [rows[k][k] for k in range(3)]
    trace = sum(diagonal)
    i = diagonal.index(max(diagonal))
    j, m = (i + 1) % 3, (i + 2) % 3
    q = [0.0, 0.0, 0.0, 1 + trace]
    if trace < diagonal[i]:
        q[i] = 1 + 2 * diagonal[i] - trace
        q[j] = rows[j][i] + rows[i][j]
        q[m] = rows[m][i] + rows[i][m]
        q[3] = rows[m][j] - rows[j][m]
    else:
        q[:3] = rows[2][1] - rows[1][2], rows[0][2] - rows[2][0], rows[1][0] - rows[0][1]
    length = math.hypot(*q)
    return np.array(q) / (-length if q[3] < 0 else length)


def cross(a: Array, b: Array) -> Array:
    """a × b of two vectors [3], or of columns [3, n]: a tenth of the time of numpy's."""
    (ax, ay, az), (bx, by, bz) = (numbers(a), numbers(b)) if np.ndim(a) == np.ndim(b) == 1 else (a, b)
    return np.array([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])


def rotation_z(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def frame_matrix(z: Array, x: Array | None) -> Array:
    """Rotation matrix with the given z axis and x axis (made perpendicular to z; any if None)."""
    z = z / np.linalg.norm(z)
    if x is None:
        x = np.eye(3)[int(np.argmin(np.abs(z) + np.array([0.0, 1e-9, 2e-9])))]
    x = x - z * (x @ z)
    x = x / np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def turn_between(a: Array, b: Array) -> Array:
    """Rotation vector of a⁻¹∗b, the shorter way round."""
    r = quat_multiply(np.array([-a[0], -a[1], -a[2], a[3]]), b)
    if r[3] < 0:
        r = -r
    x, y, z, w = r.tolist()
    length = math.hypot(x, y, z)
    factor = 2.0 / w if length < 1e-6 * w else 2.0 * math.atan2(length, w) / length
    return factor * r[:3]


def turn_quaternion(turn: Array) -> Array:
    """Quaternion (x, y, z, w) of a rotation vector, rad."""
    x, y, z = numbers(turn)
    half = 0.5 * math.hypot(x, y, z)
    share = 0.5 * (math.sin(half) / half if half > 0 else 1.0)
    return np.array([share * x, share * y, share * z, math.cos(half)])
