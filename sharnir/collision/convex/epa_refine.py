"""Where two rims of cylinders overlap, A − B is curved both ways and its polytope closes in slowly: Newton does it."""

from __future__ import annotations

import warp as wp

from sharnir.collision.convex.support_mapping import any_normal, core_support
from sharnir.collision.shapes import Geometry, Placed
from sharnir.enums import CYLINDER
from sharnir.kernels.types import real, vec3

STEPS = wp.constant(8)


@wp.func
def _bend(S: Placed, d: vec3):
    """√c τ, where c τ τᵀ is the second derivative of a core's reach along d: r/|e_xy| across the axis for a cylinder,
    0 for flat cores."""
    bend = vec3()
    if S.kind == CYLINDER:
        e = wp.transpose(S.R) * d
        across = wp.sqrt(e[0] * e[0] + e[1] * e[1])
        if across > real(1.0e-6):
            scale = wp.sqrt(S.size[0] / across) / across
            bend = S.R * vec3(-e[1] * scale, e[0] * scale, real(0.0))
    return bend


@wp.func
def polish(geo: Geometry, A: Placed, B: Placed, normal: vec3, least: real, on_a: vec3):
    """Lessen the depth `least` (m) along a normal, from A to B, by Newton on the sphere of directions: there the
    reach h of A − B along n has the gradient P s and the Hessian P h″ P − h P, s the farthest point, P across n."""
    d = normal
    step = int(0)
    while step < STEPS:
        a = core_support(geo, A, d)
        corner = a - core_support(geo, B, -d)
        reach = wp.dot(d, corner)
        if step > 0:
            if reach >= least:
                step = STEPS
            else:
                normal = d
                least = reach
                on_a = a
        t1 = any_normal(d)
        t2 = wp.cross(d, t1)
        u = _bend(A, d)
        v = _bend(B, d)
        xx = wp.dot(u, t1) * wp.dot(u, t1) + wp.dot(v, t1) * wp.dot(v, t1) - reach
        yy = wp.dot(u, t2) * wp.dot(u, t2) + wp.dot(v, t2) * wp.dot(v, t2) - reach
        xy = wp.dot(u, t1) * wp.dot(u, t2) + wp.dot(v, t1) * wp.dot(v, t2)
        det = xx * yy - xy * xy
        if xx > real(0.0) and det > real(0.0):
            gx = wp.dot(corner, t1)
            gy = wp.dot(corner, t2)
            d = wp.normalize(d - t1 * ((yy * gx - xy * gy) / det) - t2 * ((xx * gy - xy * gx) / det))
        else:
            step = STEPS
        step += 1
    return normal, least, on_a
