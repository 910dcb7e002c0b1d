"""Rotations in numpy for everything outside kernels: quaternions are (x, y, z, w)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def quat_multiply(a: Array, b: Array) -> Array:
    """Product a∗b: first b, then a."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return np.array([
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    ])  # fmt: skip


def quat_to_matrix(q: Array) -> Array:
    """Rotation matrix of the direction of q (its length does not matter)."""
    x, y, z, w = q
    s = 2.0 / (x * x + y * y + z * z + w * w)
    return np.array([
        [1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)],
        [s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x)],
        [s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y)],
    ])  # fmt: skip


def matrix_to_quat(R: Array) -> Array:
    """Unit quaternion with w ≥ 0, by the largest of its four components (Shepperd)."""
    trace = np.trace(R)
    candidates = np.array([R[0, 0], R[1, 1], R[2, 2], trace])
    k = int(np.argmax(candidates))
    q = np.empty(4)
    if k == 3:
        q[:] = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], 1 + trace
    else:
        i, j, m = k, (k + 1) % 3, (k + 2) % 3
        q[i] = 1 + 2 * R[i, i] - trace
        q[j] = R[j, i] + R[i, j]
        q[m] = R[m, i] + R[i, m]
        q[3] = R[m, j] - R[j, m]
    q /= np.linalg.norm(q)
    return -q if q[3] < 0 else q


def cross(a: Array, b: Array) -> Array:
    """a × b of two vectors [3]: a tenth of the time of numpy's."""
    (ax, ay, az), (bx, by, bz) = a, b
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
    length = float(np.linalg.norm(r[:3]))
    factor = 2.0 / r[3] if length < 1e-6 * r[3] else 2.0 * np.arctan2(length, r[3]) / length
    return factor * r[:3]


def turn_quaternion(turn: Array) -> Array:
    """Quaternion (x, y, z, w) of a rotation vector, rad."""
    half = 0.5 * float(np.sqrt(turn @ turn))
    return np.array([*(0.5 * np.sinc(half / np.pi) * turn), np.cos(half)])
