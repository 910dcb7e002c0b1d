"""Contacts of any two shapes: convex pairs, and a convex shape against a height field or mesh triangle by triangle."""

from __future__ import annotations

from enum import IntEnum

import warp as wp

from sharnir.collision.contact_reduction import find_deepest, insert_contact
from sharnir.collision.convex.gjk import GjkStatus, gjk_distance, make_simplex
from sharnir.collision.convex.narrow_phase import collide_convex
from sharnir.collision.convex.support_mapping import core_radius, core_support
from sharnir.collision.shapes import (
    ContactList,
    Geometry,
    NarrowPhaseContext,
    ShapePose,
    WorldSphere,
    make_contact,
)
from sharnir.collision.surface.internal_edges import (
    TOL_SAME_DIRECTION,
    UNLIMITED_DEPTH,
    MinTranslation,
    SurfaceContext,
    SurfaceTriangle,
    filter_internal_edges,
    filter_plane_contacts,
    make_half_space_pose,
    make_triangle_pose,
    update_min_translation,
)
from sharnir.collision.surface.triangle_exits import (
    find_neighbour_exit,
    local_half_extents,
    update_other_face_exit,
)
from sharnir.collision.surface.triangle_iterator import (
    TriangleIterator,
    advance_triangle,
    begin_triangles,
    current_triangle_of,
)
from sharnir.enums import ShapeKind
from sharnir.kernels.columns import get, get3, put3
from sharnir.kernels.types import column, real, vec3


class SurfaceStage(IntEnum):
    """What is compared: two convex shapes, a triangle, the plane of a triangle."""

    CONVEX_PAIR = 0
    TRIANGLE = 1
    TRIANGLE_PLANE = 2
    DONE = 3


@wp.func
def is_surface(S: ShapePose):
    """Whether a shape is a height field or a mesh."""
    return S.kind == ShapeKind.HEIGHT_FIELD or S.kind == ShapeKind.MESH


@wp.func
def height_over_triangle(geo: Geometry, S: ShapePose, triangle: SurfaceTriangle, B: ShapePose):
    """Height of the lowest point of B's core over the plane of a triangle, m."""
    up = S.R * triangle.normal
    return wp.dot(up, core_support(geo, B, -up) - S.x - S.R * triangle.a)


@wp.func
def distance_in_front(S: ShapePose, triangle: SurfaceTriangle, center: vec3):
    """Signed distance of a point in front of the plane of a triangle, m."""
    return wp.dot(S.R * triangle.normal, center - S.x - S.R * triangle.a)


@wp.func
def is_triangle_in_reach(
    S: ShapePose, triangle: SurfaceTriangle, B: ShapePose, lowest: real, margin: real, sphere: WorldSphere
):
    """Whether B reaches down to the plane of a triangle, and the triangle's box overlaps that of B in B's axes, within
    a margin."""
    is_near = lowest < margin + core_radius(B)
    if is_near:
        world_to_b = wp.transpose(B.R)
        R_ab = world_to_b * S.R
        x_ab = world_to_b * (S.x - sphere.center)
        a = R_ab * triangle.a + x_ab
        b = R_ab * triangle.b + x_ab
        c = R_ab * triangle.c + x_ab
        half_extents = local_half_extents(B, sphere) + vec3(margin)
        low = wp.min(wp.min(a, b), c)
        high = wp.max(wp.max(a, b), c)
        is_near = low[0] <= half_extents[0] and low[1] <= half_extents[1] and low[2] <= half_extents[2]
        is_near = (
            is_near and high[0] >= -half_extents[0] and high[1] >= -half_extents[1] and high[2] >= -half_extents[2]
        )
    return is_near


@wp.func
def is_plane_contact_needed(S: ShapePose, triangle: SurfaceTriangle, lowest: real, count: int, sphere: WorldSphere):
    """Whether points of B below a triangle count although no contact has the triangle's normal: the shortest exit may
    be past its edges. A height field is solid; a mesh holds what it touches and whose center is in front."""
    is_solid = S.kind == ShapeKind.HEIGHT_FIELD or (
        count > 0 and distance_in_front(S, triangle, sphere.center) > real(0.0)
    )
    return is_solid and lowest < real(0.0)


@wp.func
def classify_triangle(geo: Geometry, T: ShapePose, B: ShapePose, up: vec3, margin: real, sphere: WorldSphere):
    """GJK status of B's core against a triangle T: overlapping, separated within a margin, or beyond reach, which also
    stands for closest from behind: `collide_convex` would take that for a deep overlap, since it does not know the
    other side of a ridge."""
    status = int(GjkStatus.SEPARATED)
    if B.kind != ShapeKind.SPHERE:
        point = wp.zeros(shape=(4,), dtype=vec3)
        point_t = wp.zeros(shape=(4,), dtype=vec3)
        simplex = make_simplex(point, point_t)
        here = T  # far from the world's origin, coordinates about it keep more digits
        there = B
        here.x = vec3()
        there.x = B.x - T.x
        scale = sphere.radius + wp.length(column(T.R, 1)) + wp.length(column(T.R, 2))
        status, v, on_t, count = gjk_distance(geo, here, there, margin + core_radius(B), simplex, scale)
        if status == GjkStatus.SEPARATED and wp.dot(v, up) > TOL_SAME_DIRECTION * wp.length(v):
            status = GjkStatus.BEYOND_REACH
    return status


@wp.func
def append_min_translation(
    contacts: ContactList, first: int, n: int, translation: MinTranslation, sphere: WorldSphere, w: int
):
    """Append the minimum translation contact if there is one and no other contact that touches; returns the new n. By
    rounding, shapes that just touch may count as overlapping."""
    if translation.depth < UNLIMITED_DEPTH and n < contacts.capacity:
        is_needed = n == first
        if not is_needed:
            is_needed = get(contacts.gap, find_deepest(contacts, first, n, w), w) > TOL_SAME_DIRECTION * sphere.radius
        if is_needed:
            contact = make_contact(translation.normal, translation.point, -translation.depth, translation.feature)
            n = insert_contact(contacts, first, n, contact, sphere, w)
    return n


@wp.func
def flip_normals(contacts: ContactList, first: int, end: int, w: int):
    """Reverse the normals of contacts `first` to `end`."""
    k = int(first)
    while k < end:
        put3(contacts.normal, k, w, -get3(contacts.normal, k, w))
        k += 1


@wp.func
def collide_shapes(ctx: wp.ref[NarrowPhaseContext], A: ShapePose, B: ShapePose, n: int):
    """Append the contacts of A and B that are less than the margin apart; returns their number. Normals point from A
    to B.

    At most four for two convex shapes; at most MAX_PAIR_CONTACTS on a height field or mesh, with room for four more
    while reducing. Two surfaces do not collide. `collide_convex` is called at a single place: it is large, and inlined.
    """
    is_swapped = is_surface(B)
    S = A
    other = B
    if is_swapped:
        S = B
        other = A
    at = SurfaceContext()
    at.surface = S
    at.first = n
    stage = int(SurfaceStage.CONVEX_PAIR)
    iterator = TriangleIterator()
    status = int(GjkStatus.BEYOND_REACH)
    translation = MinTranslation()
    translation.depth = UNLIMITED_DEPTH
    if is_surface(S):
        stage = SurfaceStage.DONE
        if not is_surface(other):
            iterator = advance_triangle(ctx.geo, S, begin_triangles(ctx.geo, S, other, ctx.margin))
            at.sphere = iterator.sphere
            if iterator.valid == 1:
                at.triangle = current_triangle_of(ctx.geo, S, iterator)
                stage = SurfaceStage.TRIANGLE
    while stage != SurfaceStage.DONE:
        T = S
        if stage == SurfaceStage.TRIANGLE:
            T = make_triangle_pose(S, at.triangle)
        elif stage == SurfaceStage.TRIANGLE_PLANE:
            T = make_half_space_pose(S, at.triangle)
        end = int(n)
        lowest = real(0.0)
        if stage == SurfaceStage.TRIANGLE:
            lowest = height_over_triangle(ctx.geo, S, at.triangle, other)
            status = GjkStatus.BEYOND_REACH
            if is_triangle_in_reach(S, at.triangle, other, lowest, ctx.margin, at.sphere):
                status = classify_triangle(ctx.geo, T, other, S.R * at.triangle.normal, ctx.margin, at.sphere)
        if stage != SurfaceStage.TRIANGLE or status != GjkStatus.BEYOND_REACH:
            end = collide_convex(ctx, T, other, n)
        stored = wp.min(end, ctx.contacts.capacity)
        advance = int(1)
        if stage == SurfaceStage.CONVEX_PAIR:
            n = end
        elif stage == SurfaceStage.TRIANGLE_PLANE:
            n = filter_plane_contacts(ctx, at, core_radius(other), n, stored)
        else:
            count = end - n
            if stored > n:
                triangle_exit = find_neighbour_exit(ctx.geo, S, at.triangle, other)
                if status == GjkStatus.OVERLAPPING:
                    triangle_exit = update_other_face_exit(ctx.geo, S, at.triangle, other, at.sphere, triangle_exit)
                at.exit_depth = triangle_exit.depth
                if status == GjkStatus.OVERLAPPING and (
                    S.kind == ShapeKind.HEIGHT_FIELD or distance_in_front(S, at.triangle, at.sphere.center) > real(0.0)
                ):
                    translation = update_min_translation(
                        ctx.geo, S, at.triangle, other, triangle_exit.normal, translation
                    )
            n, flat = filter_internal_edges(ctx, at, n, stored)
            if flat == 0 and is_plane_contact_needed(S, at.triangle, lowest, count, at.sphere):
                advance = 0
        if stage == SurfaceStage.CONVEX_PAIR:
            stage = SurfaceStage.DONE
        elif advance == 0:
            stage = SurfaceStage.TRIANGLE_PLANE
        else:
            stage = SurfaceStage.TRIANGLE
            iterator = advance_triangle(ctx.geo, S, iterator)
            if iterator.valid == 1:
                at.triangle = current_triangle_of(ctx.geo, S, iterator)
            else:
                stage = SurfaceStage.DONE
    n = append_min_translation(ctx.contacts, at.first, n, translation, at.sphere, ctx.w)
    if is_swapped:
        flip_normals(ctx.contacts, at.first, n, ctx.w)
    return n
