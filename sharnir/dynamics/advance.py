"""Integration of positions on the configuration manifold: q ⊕ dt v, quaternions by the exponential map (⊕ of M-25,
M-27)."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.tree import Tree
from sharnir.enums import MotionKind
from sharnir.kernels.columns import item, item3, set_item
from sharnir.kernels.types import QUAT_W, array2, cos_sin, quat, real


@wp.func
def integrate_positions(tree: wp.ref[Tree], q: array2, v: array2, dt: real, out: array2, w: int):
    """out = q ⊕ dt v: sums, and for quaternions the product with the exponential of the rotation vector dt ω."""
    half = real(0.5)
    e = int(0)
    while e < tree.part[tree.links]:
        i = tree.part_q[e]
        d = tree.part_v[e]
        kind = tree.kind[e]
        if kind == MotionKind.BALL:
            t = item3(v, d, w) * dt
            angle = wp.length(t)
            c, s = cos_sin(half * angle)
            factor = half
            if angle > real(1.0e-8):
                factor = s / angle
            turn = quat(t[0] * factor, t[1] * factor, t[2] * factor, c)
            new = wp.normalize(quat(item(q, i, w), item(q, i + 1, w), item(q, i + 2, w), item(q, i + QUAT_W, w)) * turn)
            set_item(out, i, w, new[0])
            set_item(out, i + 1, w, new[1])
            set_item(out, i + 2, w, new[2])
            set_item(out, i + QUAT_W, w, new[QUAT_W])
        elif kind == MotionKind.SHIFT:
            set_item(out, i, w, item(q, i, w) + dt * item(v, d, w))
            set_item(out, i + 1, w, item(q, i + 1, w) + dt * item(v, d + 1, w))
            set_item(out, i + 2, w, item(q, i + 2, w) + dt * item(v, d + 2, w))
        elif kind != MotionKind.STILL:
            set_item(out, i, w, item(q, i, w) + dt * item(v, d, w))
        e += 1
