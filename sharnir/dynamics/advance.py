"""Moving positions by velocities: sums, and quaternions times the exponential of their rotation vector (M-13)."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.tree import Tree
from sharnir.kinds import BALL, SHIFT, STILL
from sharnir.maths import array2, cos_sin, quat, real, vec3


@wp.func
def advance(tree: Tree, q: array2, v: array2, dt: real, out: array2, w: int):
    """out = q ⊕ dt·v."""
    half = real(0.5)
    e = int(0)
    while e < tree.part[tree.links]:
        i = tree.part_q[e]
        d = tree.part_v[e]
        kind = tree.kind[e]
        if kind == BALL:
            t = vec3(v[d, w], v[d + 1, w], v[d + 2, w]) * dt
            angle = wp.length(t)
            c, s = cos_sin(half * angle)
            factor = half
            if angle > real(1.0e-8):
                factor = s / angle
            turn = quat(t[0] * factor, t[1] * factor, t[2] * factor, c)
            new = wp.normalize(quat(q[i, w], q[i + 1, w], q[i + 2, w], q[i + 3, w]) * turn)
            out[i, w] = new[0]
            out[i + 1, w] = new[1]
            out[i + 2, w] = new[2]
            out[i + 3, w] = new[3]
        elif kind == SHIFT:
            out[i, w] = q[i, w] + dt * v[d, w]
            out[i + 1, w] = q[i + 1, w] + dt * v[d + 1, w]
            out[i + 2, w] = q[i + 2, w] + dt * v[d + 2, w]
        elif kind != STILL:
            out[i, w] = q[i, w] + dt * v[d, w]
        e += 1
