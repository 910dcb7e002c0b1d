"""Narrow phase of two convex shapes: contacts that overlap or are closer than a margin.

Spheres and capsules have closed forms (`primitives`). For every other pair first the normal and gap are found
(half-spaces: given; boxes: separating axis test; all else: GJK and EPA), then the contacts along them (`manifold`).
"""

from __future__ import annotations

import warp as wp

from sharnir.collision.convex.box_sat import find_separating_axis
from sharnir.collision.convex.epa import epa_penetration
from sharnir.collision.convex.gjk import GjkStatus, gjk_distance, make_simplex
from sharnir.collision.convex.manifold import Evidence, Separation, append_manifold
from sharnir.collision.convex.primitives import (
    collide_capsules,
    collide_half_space_round,
    collide_sphere_solid,
    is_round,
)
from sharnir.collision.convex.support_mapping import core_center_of, core_radius, core_support, find_rim_support
from sharnir.collision.convex.triangle import MAX_UPRIGHT_SINE, find_facing_normal, is_over_internal_edge
from sharnir.collision.shapes import Geometry, NarrowPhaseContext, ShapePose
from sharnir.enums import ShapeKind
from sharnir.kernels.columns import put3
from sharnir.kernels.types import column, real, vec3


@wp.func
def _shape_rank_of(kind: int):
    """Rank of a shape kind: pairs are ordered by it, so that results do not depend on the order of the arguments."""
    rank = int(3)
    if kind == ShapeKind.HALF_SPACE:
        rank = 0
    elif kind == ShapeKind.SPHERE:
        rank = 1
    elif kind == ShapeKind.CAPSULE:
        rank = 2
    return rank


@wp.func
def _select_shape(second: bool, A: ShapePose, B: ShapePose):
    """B if `second`, else A; by components, without a branch."""
    S = ShapePose()
    S.kind = wp.where(second, B.kind, A.kind)
    S.data = wp.where(second, B.data, A.data)
    S.R = wp.where(second, B.R, A.R)
    S.x = wp.where(second, B.x, A.x)
    S.size = wp.where(second, B.size, A.size)
    return S


@wp.func
def _estimate_size(geo: Geometry, S: ShapePose):
    """Characteristic size of a shape, m, as scale of tolerances."""
    e = wp.length(S.size)
    if S.kind == ShapeKind.HULL:
        e = wp.length(geo.vertex[geo.hull_vertex_start[S.data]])
    elif S.kind == ShapeKind.TRIANGLE:
        e = wp.length(column(S.R, 1) - column(S.R, 0)) + wp.length(column(S.R, 2) - column(S.R, 0))
    return e


@wp.func
def _separate_half_space(geo: Geometry, A: ShapePose, B: ShapePose):
    """Separation of a half-space A and a convex shape B."""
    sep = Separation()
    sep.normal = column(A.R, 2)
    sep.on_b = core_support(geo, B, -sep.normal)
    sep.gap = wp.dot(sep.normal, sep.on_b - A.x)
    sep.on_a = sep.on_b - sep.normal * sep.gap
    sep.gap = sep.gap - core_radius(B)
    sep.scale = _estimate_size(geo, B)
    sep.evidence = Evidence.WITNESSED
    return sep


@wp.func
def _separate_gjk_epa(geo: Geometry, A: ShapePose, B: ShapePose, margin: real):
    """Separation of two convex shapes by GJK, and EPA where their cores overlap. Where they are farther apart than
    `margin` (m), the gap is 1e30 and `normal` a separating direction."""
    sep = Separation()
    sep.scale = _estimate_size(geo, A) + _estimate_size(geo, B)
    sep.evidence = Evidence.WITNESSED
    point = wp.zeros(shape=(4,), dtype=vec3)
    point_a = wp.zeros(shape=(4,), dtype=vec3)
    simplex = make_simplex(point, point_a)
    radii = core_radius(A) + core_radius(B)
    status, v, on_a, count = gjk_distance(geo, A, B, margin + radii, simplex, sep.scale)
    sep.on_a = on_a
    sep.normal = -v
    sep.gap = real(1.0e30)
    if status != GjkStatus.BEYOND_REACH:
        if status == GjkStatus.OVERLAPPING:
            normal, depth_epa, on_a_epa = epa_penetration(geo, A, B, simplex, count, sep.scale)
            sep.normal = normal
            sep.gap = -depth_epa - radii
            sep.on_a = on_a_epa
            sep.on_b = on_a_epa - normal * depth_epa
        else:
            core_gap = wp.length(v)
            sep.normal = v / -core_gap
            sep.gap = core_gap - radii
            sep.on_b = on_a - v
        # GJK and EPA end on a chord of a rim; the support point of the rim is off it
        core_gap = sep.gap + radii
        is_single_a, rim_a = find_rim_support(A, sep.normal)
        is_single_b, rim_b = find_rim_support(B, -sep.normal)
        if is_single_b:
            sep.on_a = rim_b - sep.normal * core_gap
            sep.on_b = rim_b
        elif is_single_a:
            sep.on_a = rim_a
            sep.on_b = rim_a + sep.normal * core_gap
    return sep


@wp.func
def _redirect_through_face(geo: Geometry, A: ShapePose, B: ShapePose, is_b_triangle: bool, sep: Separation):
    """Redirect a separation from a triangle (A, or B if is_b_triangle) through the triangle's face where it leads out
    of its back or leans over an internal edge; else return it unchanged."""
    triangle = _select_shape(is_b_triangle, A, B)
    other = _select_shape(not is_b_triangle, A, B)
    face_normal = find_facing_normal(triangle, core_center_of(other))
    sign = wp.where(is_b_triangle, real(-1.0), real(1.0))
    normal = sep.normal * sign  # from the triangle to the other
    if wp.length_sq(face_normal) > real(0.5) and (
        wp.dot(normal, face_normal) < -MAX_UPRIGHT_SINE or is_over_internal_edge(triangle, normal)
    ):
        lowest = core_support(geo, other, -face_normal)
        sep.normal = face_normal * sign
        sep.gap = wp.dot(face_normal, lowest - triangle.x - column(triangle.R, 0)) - core_radius(other)
        sep.evidence = Evidence.BOUNDED
    return sep


@wp.func
def collide_solids(ctx: wp.ref[NarrowPhaseContext], A: ShapePose, B: ShapePose, n: int):
    """Append the contacts of a pair without closed form. Boxes apart may be closest at corners, which the separating
    axis test does not see: then no contact is found along its axis, and GJK runs. Where no contact is found, the normal
    of contact n is left as the direction from A to B along which they were last seen separated."""
    n_before = n
    is_box_pair = A.kind == ShapeKind.BOX and B.kind == ShapeKind.BOX
    attempt = wp.where(is_box_pair, 0, 1)
    while attempt < 2:
        sep = Separation()
        if A.kind == ShapeKind.HALF_SPACE:
            sep = _separate_half_space(ctx.geo, A, B)
        elif attempt == 0:
            normal, gap = find_separating_axis(A, B, ctx.margin)
            sep.normal = normal
            sep.gap = gap
            sep.scale = wp.length(A.size) + wp.length(B.size)
        else:
            sep = _separate_gjk_epa(ctx.geo, A, B, ctx.margin)
            if sep.gap < ctx.margin and (A.kind == ShapeKind.TRIANGLE or B.kind == ShapeKind.TRIANGLE):
                sep = _redirect_through_face(ctx.geo, A, B, A.kind != ShapeKind.TRIANGLE, sep)
        attempt += 1
        if sep.gap < ctx.margin:
            n = append_manifold(ctx, A, B, sep, n)
        else:
            attempt = 2
        if n > n_before:
            attempt = 2
        elif n < ctx.contacts.capacity:
            put3(ctx.contacts.normal, n, ctx.w, sep.normal * ctx.flip)
    return n


@wp.func
def collide_convex(ctx: wp.ref[NarrowPhaseContext], A: ShapePose, B: ShapePose, n: int):
    """Append the contacts of convex shapes A and B that are less than the margin apart, at most four; returns their
    number.

    Normals point from A to B. TRIANGLE shapes: see sharnir.collision.convex.triangle. Without contacts, contact n
    holds a separating direction, see `collide_solids`.
    """
    is_swapped = _shape_rank_of(B.kind) < _shape_rank_of(A.kind)
    P = _select_shape(is_swapped, A, B)
    Q = _select_shape(not is_swapped, A, B)
    ctx.flip = wp.where(is_swapped, real(-1.0), real(1.0))
    if is_round(P) and is_round(Q):
        n = collide_capsules(ctx, P, Q, n)
    elif P.kind == ShapeKind.HALF_SPACE and is_round(Q):
        n = collide_half_space_round(ctx, P, Q, n)
    elif P.kind == ShapeKind.SPHERE and (
        Q.kind == ShapeKind.BOX or Q.kind == ShapeKind.CYLINDER or Q.kind == ShapeKind.TRIANGLE
    ):
        n = collide_sphere_solid(ctx, P, Q, n)
    elif Q.kind != ShapeKind.HALF_SPACE:
        ctx.origin = P.x  # far from the world's, coordinates about it keep more digits
        Q.x = Q.x - P.x
        P.x = vec3()
        n = collide_solids(ctx, P, Q, n)
    return n
