"""Refine EPA's normal for cylinder rims by Newton's method on the unit sphere: where the Minkowski difference is doubly
curved EPA converges only linearly."""

from __future__ import annotations

import warp as wp

from sharnir.collision.convex.support_mapping import core_support, make_perpendicular
from sharnir.collision.shapes import Geometry, ShapePose
from sharnir.enums import ShapeKind
from sharnir.kernels.types import real, vec3

MAX_REFINE_ITERATIONS = wp.constant(8)  # Newton iterations, at most


@wp.func
def _curvature_direction(S: ShapePose, d: vec3):
    """√c τ, where c τ τᵀ is the Hessian of a core's support function at unit d: c = r/|e_xy| and τ across the axis for
    a cylinder; 0 for polyhedra."""
    curvature = vec3()
    if S.kind == ShapeKind.CYLINDER:
        e = wp.transpose(S.R) * d
        across = wp.sqrt(e[0] * e[0] + e[1] * e[1])
        if across > real(1.0e-6):
            scale = wp.sqrt(S.size[0] / across) / across
            curvature = S.R * vec3(-e[1] * scale, e[0] * scale, real(0.0))
    return curvature


@wp.func
def refine_normal(geo: Geometry, A: ShapePose, B: ShapePose, normal: vec3, min_depth: real, on_a: vec3):
    """Reduce the depth `min_depth` (m) along a normal from A to B by Newton's method on the unit sphere: the support
    function h of A − B along n has there the gradient P s and the Hessian P h″ P − h P, with s the support point and P
    the projection across n. Returns normal, depth (m) and point of A."""
    d = normal
    step = int(0)
    while step < MAX_REFINE_ITERATIONS:
        a = core_support(geo, A, d)
        corner = a - core_support(geo, B, -d)
        depth = wp.dot(d, corner)
        if step > 0:
            if depth >= min_depth:
                step = MAX_REFINE_ITERATIONS
            else:
                normal = d
                min_depth = depth
                on_a = a
        t1 = make_perpendicular(d)
        t2 = wp.cross(d, t1)
        u = _curvature_direction(A, d)
        v = _curvature_direction(B, d)
        xx = wp.dot(u, t1) * wp.dot(u, t1) + wp.dot(v, t1) * wp.dot(v, t1) - depth
        yy = wp.dot(u, t2) * wp.dot(u, t2) + wp.dot(v, t2) * wp.dot(v, t2) - depth
        xy = wp.dot(u, t1) * wp.dot(u, t2) + wp.dot(v, t1) * wp.dot(v, t2)
        det = xx * yy - xy * xy
        if xx > real(0.0) and det > real(0.0):
            gx = wp.dot(corner, t1)
            gy = wp.dot(corner, t2)
            d = wp.normalize(d - t1 * ((yy * gx - xy * gy) / det) - t2 * ((xx * gy - xy * gx) / det))
        else:
            step = MAX_REFINE_ITERATIONS
        step += 1
    return normal, min_depth, on_a
