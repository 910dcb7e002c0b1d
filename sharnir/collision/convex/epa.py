"""EPA: penetration depth of two convex cores by the expanding polytope algorithm on the Minkowski difference A − B.

G. van den Bergen: Proximity queries and penetration depth computation on 3D game objects, Game Developers Conference
2001. Every face of the polytope bounds the depth from below by its distance and from above by the support along its
normal. The result is the normal of the least upper bound met, so it is a translation that separates the cores even
where iteration ends early for lack of room.
"""

from __future__ import annotations

import warp as wp

from sharnir.collision.convex.epa_refine import refine_normal
from sharnir.collision.convex.gjk import find_closest_on_triangle
from sharnir.collision.convex.support_mapping import core_support, make_perpendicular
from sharnir.collision.shapes import Geometry, ShapePose
from sharnir.enums import CYLINDER
from sharnir.kernels.types import DOUBLE, cos_sin, real, vec3

MAX_EPA_VERTICES = wp.constant(64)
MAX_EPA_FACES = wp.constant(128)  # Euler: 2 V − 4
MAX_HORIZON_EDGES = wp.constant(64)  # of the horizon seen from a new vertex
# relative to the size: difference of upper and lower bound at which iteration ends
TOL_EPA_GAP = wp.constant(real(1.0e-10 if DOUBLE else 1.0e-5))
# relative to the size: below it vertices do not span a segment, triangle or volume
TOL_DEGENERATE_SIMPLEX = wp.constant(real(1.0e-9 if DOUBLE else 1.0e-4))
# relative to the size: a vertex farther above a face sees it
TOL_VISIBLE_FACE = wp.constant(real(1.0e-13 if DOUBLE else 1.0e-6))

vec3_array = wp.array(dtype=vec3)
vec3i_array = wp.array(dtype=wp.vec3i)
real_array = wp.array(dtype=real)


@wp.func
def _choose_expansion_direction(simplex: vec3_array, count: int, attempt: int):
    """Direction number `attempt` in which to extend a point, segment or triangle to a simplex of one dimension more."""
    d = vec3()
    if count <= 1:
        sign = wp.where((attempt & 1) == 0, real(1.0), real(-1.0))
        d[(attempt >> 1) % 3] = sign
    elif count == 2:
        along = wp.normalize(simplex[1] - simplex[0])
        e = make_perpendicular(along)
        c, s = cos_sin(real(attempt) * real(1.0471975511965976))
        d = e * c + wp.cross(along, e) * s
    else:
        d = wp.normalize(wp.cross(simplex[1] - simplex[0], simplex[2] - simplex[0]))
        if attempt == 1:
            d = -d
    return d


@wp.func
def _is_independent(simplex: vec3_array, count: int, corner: vec3, size: real):
    """Whether a vertex is affinely independent of a point, segment or triangle, by more than rounding of `size` (m)."""
    extent = real(1.0)
    if count == 1:
        extent = wp.length(corner - simplex[0])
    elif count == 2:
        extent = wp.length(wp.cross(wp.normalize(simplex[1] - simplex[0]), corner - simplex[0]))
    elif count == 3:
        extent = wp.abs(
            wp.dot(wp.normalize(wp.cross(simplex[1] - simplex[0], simplex[2] - simplex[0])), corner - simplex[0])
        )
    return extent > TOL_DEGENERATE_SIMPLEX * size


@wp.func
def _complete_tetrahedron(
    geo: Geometry, A: ShapePose, B: ShapePose, simplex: vec3_array, simplex_a: vec3_array, count: int, size: real
):
    """Extend the simplex of GJK to a tetrahedron; returns its number of vertices: fewer than 4 if A − B is flat."""
    kept = int(0)  # corners that GJK left may be closer together than `THIN`
    i = int(0)
    while i < count:
        if _is_independent(simplex, kept, simplex[i], size):
            simplex[kept] = simplex[i]
            simplex_a[kept] = simplex_a[i]
            kept += 1
        i += 1
    attempt = int(0)
    while kept < 4 and attempt < 6:
        d = _choose_expansion_direction(simplex, kept, attempt)
        a = core_support(geo, A, d)
        corner = a - core_support(geo, B, -d)
        attempt += 1
        if _is_independent(simplex, kept, corner, size):
            simplex[kept] = corner
            simplex_a[kept] = a
            kept += 1
            attempt = 0
    return kept


@wp.func
def _store_face(
    vertex: vec3_array,
    face: vec3i_array,
    face_normal: vec3_array,
    face_distance: real_array,
    at: int,
    i: int,
    j: int,
    k: int,
    size: real,
):
    """Store face i j k, counter-clockwise from outside, with normal and distance. A sliver has no reliable normal: its
    distance is 1e30, so that it is never the closest."""
    normal = wp.cross(vertex[j] - vertex[i], vertex[k] - vertex[i])
    area = wp.length(normal)
    face[at] = wp.vec3i(i, j, k)
    longest = wp.max(
        wp.length_sq(vertex[j] - vertex[i]),
        wp.max(wp.length_sq(vertex[k] - vertex[i]), wp.length_sq(vertex[k] - vertex[j])),
    )
    if area > TOL_VISIBLE_FACE * longest and area > TOL_VISIBLE_FACE * TOL_VISIBLE_FACE * size * size:
        face_normal[at] = normal / area
        face_distance[at] = wp.dot(face_normal[at], vertex[i])
    else:
        face_normal[at] = vec3()
        face_distance[at] = real(1.0e30)


@wp.func
def _store_tetrahedron_faces(
    vertex: vec3_array, face_vertices: vec3i_array, face_normal: vec3_array, face_distance: real_array, size: real
):
    """Store the faces of the tetrahedron of vertices 0 to 3."""
    volume = wp.dot(wp.cross(vertex[1] - vertex[0], vertex[2] - vertex[0]), vertex[3] - vertex[0])
    face = int(0)
    while face < 4:
        i = wp.where(face == 0, 1, 0)
        j = wp.where(face <= 1, 2, 1)
        k = wp.where(face <= 2, 3, 2)
        outward = (face & 1) == 0  # as (i, j, k) of even faces turn if the volume is positive
        if outward == (volume > real(0.0)):
            _store_face(vertex, face_vertices, face_normal, face_distance, face, i, j, k, size)
        else:
            _store_face(vertex, face_vertices, face_normal, face_distance, face, i, k, j, size)
        face += 1


@wp.func
def _toggle_horizon_edge(horizon: wp.array(dtype=wp.vec2i), edge_count: int, i: int, j: int):
    """Add an edge to the horizon, or remove the same edge of opposite direction; returns the number of edges."""
    at = int(-1)
    k = int(0)
    while k < edge_count:
        if horizon[k][0] == j and horizon[k][1] == i:
            at = k
        k += 1
    if at >= 0:
        horizon[at] = horizon[edge_count - 1]
        edge_count = edge_count - 1
    elif edge_count < MAX_HORIZON_EDGES:
        horizon[edge_count] = wp.vec2i(i, j)
        edge_count = edge_count + 1
    return edge_count


@wp.func
def _expand_polytope(
    vertex: vec3_array,
    face: vec3i_array,
    face_normal: vec3_array,
    face_distance: real_array,
    face_count: int,
    new_vertex: int,
    size: real,
):
    """Replace the faces that a new vertex sees by those between it and the horizon; returns the number of faces, or −1
    if there is no room for them."""
    horizon = wp.zeros(shape=(MAX_HORIZON_EDGES,), dtype=wp.vec2i)
    edge_count = int(0)
    f = int(0)
    while f < face_count:
        if (
            face_distance[f] < real(1.0e29)
            and wp.dot(face_normal[f], vertex[new_vertex]) - face_distance[f] > TOL_VISIBLE_FACE * size
        ):
            t = face[f]
            edge_count = _toggle_horizon_edge(horizon, edge_count, t[0], t[1])
            edge_count = _toggle_horizon_edge(horizon, edge_count, t[1], t[2])
            edge_count = _toggle_horizon_edge(horizon, edge_count, t[2], t[0])
            face_count -= 1
            face[f] = face[face_count]
            face_normal[f] = face_normal[face_count]
            face_distance[f] = face_distance[face_count]
        else:
            f += 1
    if face_count + edge_count > MAX_EPA_FACES or edge_count == 0:
        face_count = -1
    else:
        f = int(0)
        while f < edge_count:
            _store_face(
                vertex, face, face_normal, face_distance, face_count, horizon[f][0], horizon[f][1], new_vertex, size
            )
            face_count += 1
            f += 1
    return face_count


@wp.func
def _find_closest_face(face_distance: real_array, face_count: int):
    """Index of the face closest to the origin."""
    best = int(0)
    f = int(1)
    while f < face_count:
        if face_distance[f] < face_distance[best]:
            best = f
        f += 1
    return best


@wp.func
def epa_penetration(
    geo: Geometry, A: ShapePose, B: ShapePose, simplex: vec3_array, simplex_a: vec3_array, count: int, size: real
):
    """Penetration of two overlapping cores: unit normal from A to B of the shortest separating translation, its length
    (m), and the deepest point of A (world, m). simplex, simplex_a: vertices of A − B and of A where `gjk_distance`
    ended."""
    normal = vec3(real(0.0), real(0.0), real(1.0))
    min_depth = real(1.0e30)
    count = _complete_tetrahedron(geo, A, B, simplex, simplex_a, count, size)
    on_a = simplex_a[0]
    if count < 4:  # flat: the origin is in the plane of A − B, or on its line
        normal = _choose_expansion_direction(simplex, count, 0)
        min_depth = real(0.0)
    else:
        vertex = wp.zeros(shape=(MAX_EPA_VERTICES,), dtype=vec3)
        vertex_a = wp.zeros(shape=(MAX_EPA_VERTICES,), dtype=vec3)
        face = wp.zeros(shape=(MAX_EPA_FACES,), dtype=wp.vec3i)
        face_normal = wp.zeros(shape=(MAX_EPA_FACES,), dtype=vec3)
        face_distance = wp.zeros(shape=(MAX_EPA_FACES,), dtype=real)
        i = int(0)
        while i < 4:
            vertex[i] = simplex[i]
            vertex_a[i] = simplex_a[i]
            i += 1
        _store_tetrahedron_faces(vertex, face, face_normal, face_distance, size)
        face_count = int(4)
        best = wp.vec3i(0, 1, 2)
        while count < MAX_EPA_VERTICES and face_count > 0:
            f = _find_closest_face(face_distance, face_count)
            depth_lower = face_distance[f]
            d = face_normal[f]
            a = core_support(geo, A, d)
            corner = a - core_support(geo, B, -d)
            depth_upper = wp.dot(d, corner)
            if depth_upper < min_depth and depth_lower < real(1.0e29):
                min_depth = depth_upper
                normal = d
                best = face[f]
            if min_depth - depth_lower <= TOL_EPA_GAP * size:
                face_count = 0
            else:
                vertex[count] = corner
                vertex_a[count] = a
                face_count = _expand_polytope(vertex, face, face_normal, face_distance, face_count, count, size)
                count = count + 1
        foot = normal * wp.dot(normal, vertex[best[0]])
        v, weights = find_closest_on_triangle(vertex[best[0]] - foot, vertex[best[1]] - foot, vertex[best[2]] - foot)
        on_a = vertex_a[best[0]] * weights[0] + vertex_a[best[1]] * weights[1] + vertex_a[best[2]] * weights[2]
        if A.kind == CYLINDER and B.kind == CYLINDER and count == MAX_EPA_VERTICES:
            normal, min_depth, on_a = refine_normal(geo, A, B, normal, min_depth, on_a)
    return normal, min_depth, on_a
