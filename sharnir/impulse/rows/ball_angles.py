"""Ball-joint angles that limits may bound (Euler angles, twist, swing cone, total angle) and their gradients
(M-50..M-53; checked by finite differences in the tests)."""

from __future__ import annotations

import warp as wp

from sharnir.enums import LimitKind
from sharnir.kernels.types import QUAT_W, matrix_from_quat, real, vec2, vec3, vec4


@wp.func
def ball_angle(kind: int, axis: int, q: vec4, swing: vec2):
    """Angle g (rad) of a ball joint and its gradient a: ġ = a·w, w the angular velocity of C against P in axes of P.

    kind `LimitKind.EULER`: angle about x, y or z in R = Rx Ry Rz. CONE, axis 0: angle by which the child's z axis leans
    beyond the elliptic swing cone of half-angles `swing`. ANGLE: total rotation angle, 0 to π. Otherwise
    the twist 2 atan2(q_k, q_w) about an axis. q: quaternion of C in P.
    """
    x = q[0]
    y = q[1]
    z = q[2]
    s = q[QUAT_W]
    R = matrix_from_quat(x, y, z, s)
    g = real(0.0)
    a = vec3()
    if kind == LimitKind.EULER:
        cb = wp.sqrt(R[0, 0] * R[0, 0] + R[0, 1] * R[0, 1])
        ca = R[2, 2] / wp.max(cb, real(1.0e-12))
        sa = -R[1, 2] / wp.max(cb, real(1.0e-12))
        if axis == 0:
            g = wp.atan2(-R[1, 2], R[2, 2])
            tb = R[0, 2] / wp.max(cb, real(1.0e-6))
            a = vec3(real(1.0), tb * sa, -tb * ca)
        elif axis == 1:
            g = wp.atan2(R[0, 2], cb)
            a = vec3(real(0.0), ca, sa)
        else:
            g = wp.atan2(-R[0, 1], R[0, 0])
            icb = real(1.0) / wp.max(cb, real(1.0e-6))
            a = vec3(real(0.0), -sa * icb, ca * icb)
    elif kind == LimitKind.CONE and axis == 0:
        n = vec3(R[0, 2], R[1, 2], R[2, 2])
        sine = wp.sqrt(n[0] * n[0] + n[1] * n[1])
        phi = wp.atan2(sine, n[2])
        if sine > real(1.0e-9):
            cb = -n[1] / sine
            sb = n[0] / sine
            ix = real(1.0) / (swing[0] * swing[0])
            iy = real(1.0) / (swing[1] * swing[1])
            h = wp.sqrt(cb * cb * ix + sb * sb * iy)
            slope = sb * cb * (iy - ix) / h
            g = phi - real(1.0) / h
            lean = slope / (h * sine)
            c = vec3(lean * cb, lean * sb, -h / sine)
            a = wp.cross(n, c) / h
        else:
            g = phi - wp.min(swing[0], swing[1])
    elif kind == LimitKind.ANGLE:
        v = vec3(x, y, z) * wp.where(s < real(0.0), real(-1.0), real(1.0))
        sine = wp.length(v)
        g = real(2.0) * wp.atan2(sine, wp.abs(s))
        if sine > real(1.0e-9):
            a = v / sine
    else:
        flip = wp.where(s < real(0.0), real(-1.0), real(1.0))
        v = vec3(x, y, z) * flip
        qw = s * flip
        k1 = (axis + 1) % 3
        k2 = (axis + 2) % 3
        qk = v[axis]
        g = real(2.0) * wp.atan2(qk, qw)
        scale = real(1.0) / wp.max(qw * qw + qk * qk, real(1.0e-12))
        a[axis] = real(1.0)
        a[k1] = (qw * v[k2] + qk * v[k1]) * scale
        a[k2] = (qk * v[k2] - qw * v[k1]) * scale
    return g, a
