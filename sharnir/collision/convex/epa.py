"""EPA: penetration depth of two convex cores by the expanding polytope algorithm on the Minkowski difference A − B.

G. van den Bergen: Proximity queries and penetration depth computation on 3D game objects, Game Developers Conference
2001. Every face of the polytope bounds the depth from below by its distance and from above by the support along its
normal. The result is the normal of the least upper bound met, so it is a translation that separates the cores even
where iteration ends early for lack of room.
"""

from __future__ import annotations

import warp as wp

from sharnir.collision.convex.epa_refine import refine_normal
from sharnir.collision.convex.gjk import LAST_OF_TETRAHEDRON, TETRAHEDRON_VERTICES, Simplex, find_closest_on_triangle
from sharnir.collision.convex.support_mapping import core_support, make_perpendicular
from sharnir.collision.shapes import Geometry, ShapePose
from sharnir.enums import ShapeKind
from sharnir.kernels.types import DOUBLE, cos_sin, real, real_array, vec3, vec3_array, vec3i_array

MAX_EPA_VERTICES = wp.constant(64)
MAX_EPA_FACES = wp.constant(128)  # Euler: 2 V − 4
MAX_HORIZON_EDGES = wp.constant(64)  # of the horizon seen from a new vertex
# relative to the size: difference of upper and lower bound at which iteration ends
TOL_EPA_GAP = wp.constant(real(1.0e-10 if DOUBLE else 1.0e-5))
# relative to the size: below it vertices do not span a segment, triangle or volume
TOL_DEGENERATE_SIMPLEX = wp.constant(real(1.0e-9 if DOUBLE else 1.0e-4))
# relative to the size: a vertex farther above a face sees it
TOL_VISIBLE_FACE = wp.constant(real(1.0e-13 if DOUBLE else 1.0e-6))


@wp.struct
class Polytope:
    """Polytope inside the Minkowski difference A − B: local arrays of `epa_penetration`."""

    vertex: vec3_array  # [MAX_EPA_VERTICES] of A − B, m
    vertex_a: vec3_array  # [MAX_EPA_VERTICES] the points of A that they come from, world, m
    face: vec3i_array  # [MAX_EPA_FACES] vertices, counter-clockwise from outside
    normal: vec3_array  # [MAX_EPA_FACES] outward, unit length; 0 of slivers
    distance: real_array  # [MAX_EPA_FACES] of the face's plane from the origin, m; 1e30 of slivers
    scale: real  # m, of the two shapes together


@wp.func
def make_polytope(
    vertex: vec3_array, vertex_a: vec3_array, face: vec3i_array, normal: vec3_array, distance: real_array, scale: real
):
    """A polytope over local arrays of the caller, which must outlive it."""
    out = Polytope()
    out.vertex = vertex
    out.vertex_a = vertex_a
    out.face = face
    out.normal = normal
    out.distance = distance
    out.scale = scale
    return out


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
def _complete_tetrahedron(geo: Geometry, A: ShapePose, B: ShapePose, simplex: Simplex, count: int, scale: real):
    """Extend the simplex of GJK to a tetrahedron; returns its number of vertices: fewer than 4 if A − B is flat."""
    kept = int(0)  # vertices that GJK left may be closer together than TOL_DEGENERATE_SIMPLEX
    i = int(0)
    while i < count:
        if _is_independent(simplex.point, kept, simplex.point[i], scale):
            simplex.point[kept] = simplex.point[i]
            simplex.point_a[kept] = simplex.point_a[i]
            kept += 1
        i += 1
    attempt = int(0)
    while kept < TETRAHEDRON_VERTICES and attempt < 6:
        d = _choose_expansion_direction(simplex.point, kept, attempt)
        a = core_support(geo, A, d)
        corner = a - core_support(geo, B, -d)
        attempt += 1
        if _is_independent(simplex.point, kept, corner, scale):
            simplex.point[kept] = corner
            simplex.point_a[kept] = a
            kept += 1
            attempt = 0
    return kept


@wp.func
def _store_face(polytope: Polytope, at: int, face: wp.vec3i):
    """Store a face, its vertices counter-clockwise from outside, with normal and distance. A sliver has no reliable
    normal: its distance is 1e30, so that it is never the closest."""
    a = polytope.vertex[face[0]]
    b = polytope.vertex[face[1]]
    c = polytope.vertex[face[2]]
    normal = wp.cross(b - a, c - a)
    area = wp.length(normal)
    polytope.face[at] = face
    longest = wp.max(wp.length_sq(b - a), wp.max(wp.length_sq(c - a), wp.length_sq(c - b)))
    scale2 = TOL_VISIBLE_FACE * TOL_VISIBLE_FACE * polytope.scale * polytope.scale
    if area > TOL_VISIBLE_FACE * longest and area > scale2:
        unit = normal / area
        polytope.normal[at] = unit
        polytope.distance[at] = wp.dot(unit, a)
    else:
        polytope.normal[at] = vec3()
        polytope.distance[at] = real(1.0e30)


@wp.func
def _store_tetrahedron_faces(polytope: Polytope):
    """Store the faces of the tetrahedron of vertices 0 to 3."""
    a = polytope.vertex[0]
    volume = wp.dot(wp.cross(polytope.vertex[1] - a, polytope.vertex[2] - a), polytope.vertex[LAST_OF_TETRAHEDRON] - a)
    face = int(0)
    while face < TETRAHEDRON_VERTICES:
        i = wp.where(face == 0, 1, 0)
        j = wp.where(face <= 1, 2, 1)
        k = wp.where(face <= 2, LAST_OF_TETRAHEDRON, 2)
        outward = (face & 1) == 0  # as (i, j, k) of even faces turn if the volume is positive
        if outward == (volume > real(0.0)):
            _store_face(polytope, face, wp.vec3i(i, j, k))
        else:
            _store_face(polytope, face, wp.vec3i(i, k, j))
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
def _expand_polytope(polytope: Polytope, face_count: int, new_vertex: int):
    """Replace the faces that a new vertex sees by those between it and the horizon; returns the number of faces, or −1
    if there is no room for them."""
    horizon = wp.zeros(shape=(MAX_HORIZON_EDGES,), dtype=wp.vec2i)
    edge_count = int(0)
    f = int(0)
    while f < face_count:
        distance = polytope.distance[f]
        above = wp.dot(polytope.normal[f], polytope.vertex[new_vertex]) - distance
        if distance < real(1.0e29) and above > TOL_VISIBLE_FACE * polytope.scale:
            t = polytope.face[f]
            edge_count = _toggle_horizon_edge(horizon, edge_count, t[0], t[1])
            edge_count = _toggle_horizon_edge(horizon, edge_count, t[1], t[2])
            edge_count = _toggle_horizon_edge(horizon, edge_count, t[2], t[0])
            face_count -= 1
            polytope.face[f] = polytope.face[face_count]
            polytope.normal[f] = polytope.normal[face_count]
            polytope.distance[f] = polytope.distance[face_count]
        else:
            f += 1
    if face_count + edge_count > MAX_EPA_FACES or edge_count == 0:
        face_count = -1
    else:
        f = int(0)
        while f < edge_count:
            _store_face(polytope, face_count, wp.vec3i(horizon[f][0], horizon[f][1], new_vertex))
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
def epa_penetration(geo: Geometry, A: ShapePose, B: ShapePose, simplex: Simplex, count: int, scale: real):
    """Penetration of two overlapping cores: unit normal from A to B of the shortest separating translation, its length
    (m), and the deepest point of A (world, m). simplex, count: where `gjk_distance` ended; scale: m, of the shapes."""
    normal = vec3(real(0.0), real(0.0), real(1.0))
    min_depth = real(1.0e30)
    count = _complete_tetrahedron(geo, A, B, simplex, count, scale)
    on_a = simplex.point_a[0]
    if count < TETRAHEDRON_VERTICES:  # flat: the origin is in the plane of A − B, or on its line
        normal = _choose_expansion_direction(simplex.point, count, 0)
        min_depth = real(0.0)
    else:
        vertex = wp.zeros(shape=(MAX_EPA_VERTICES,), dtype=vec3)
        vertex_a = wp.zeros(shape=(MAX_EPA_VERTICES,), dtype=vec3)
        face = wp.zeros(shape=(MAX_EPA_FACES,), dtype=wp.vec3i)
        face_normal = wp.zeros(shape=(MAX_EPA_FACES,), dtype=vec3)
        face_distance = wp.zeros(shape=(MAX_EPA_FACES,), dtype=real)
        polytope = make_polytope(vertex, vertex_a, face, face_normal, face_distance, scale)
        i = int(0)
        while i < TETRAHEDRON_VERTICES:
            polytope.vertex[i] = simplex.point[i]
            polytope.vertex_a[i] = simplex.point_a[i]
            i += 1
        _store_tetrahedron_faces(polytope)
        face_count = int(TETRAHEDRON_VERTICES)
        best = wp.vec3i(0, 1, 2)
        while count < MAX_EPA_VERTICES and face_count > 0:
            f = _find_closest_face(polytope.distance, face_count)
            depth_lower = polytope.distance[f]
            d = polytope.normal[f]
            a = core_support(geo, A, d)
            corner = a - core_support(geo, B, -d)
            depth_upper = wp.dot(d, corner)
            if depth_upper < min_depth and depth_lower < real(1.0e29):
                min_depth = depth_upper
                normal = d
                best = polytope.face[f]
            if min_depth - depth_lower <= TOL_EPA_GAP * scale:
                face_count = 0
            else:
                polytope.vertex[count] = corner
                polytope.vertex_a[count] = a
                face_count = _expand_polytope(polytope, face_count, count)
                count = count + 1
        first = polytope.vertex[best[0]]
        foot = normal * wp.dot(normal, first)
        second = polytope.vertex[best[1]]
        third = polytope.vertex[best[2]]
        v, weights = find_closest_on_triangle(first - foot, second - foot, third - foot)
        on_a = polytope.vertex_a[best[0]] * weights[0] + polytope.vertex_a[best[1]] * weights[1]
        on_a = on_a + polytope.vertex_a[best[2]] * weights[2]
        if A.kind == ShapeKind.CYLINDER and B.kind == ShapeKind.CYLINDER and count == MAX_EPA_VERTICES:
            normal, min_depth, on_a = refine_normal(geo, A, B, normal, min_depth, on_a)
    return normal, min_depth, on_a
