"""GJK: distance of two convex cores as the point of the Minkowski difference A − B closest to the origin.

E. G. Gilbert, D. W. Johnson, S. S. Keerthi: A fast procedure for computing the distance between complex objects in
three-dimensional space, IEEE Journal of Robotics and Automation 4(2), 1988.
"""

from __future__ import annotations

from enum import IntEnum

import warp as wp

from sharnir.collision.convex.support_mapping import TOL_ZERO_LENGTH, core_center_of, core_support
from sharnir.collision.shapes import Geometry, ShapePose
from sharnir.kernels.types import DOUBLE, real, vec3, vec3_array, vec4

TETRAHEDRON_VERTICES = 4  # and faces: face i is opposite vertex i
TRIANGLE_VERTICES = 3
LAST_OF_TETRAHEDRON = 3  # its fourth vertex, or the face opposite to it
MAX_GJK_ITERATIONS = wp.constant(64)
# relative: height of a tetrahedron that spans no volume
TOL_FLAT_SIMPLEX = wp.constant(real(1.0e-10 if DOUBLE else 1.0e-6))
# relative: height of a tetrahedron below which none of its faces is skipped
SLIVER_SIMPLEX_HEIGHT = wp.constant(real(1.0e-3))
# of |v|²: duality gap at which iteration ends
TOL_GJK_DUALITY_GAP = wp.constant(real(1.0e-13 if DOUBLE else 1.0e-6))


class GjkStatus(IntEnum):
    """How two cores lie to each other."""

    BEYOND_REACH = 0  # farther apart than asked for
    SEPARATED = 1  # farther apart than rounding
    OVERLAPPING = 2  # the cores share a point


@wp.struct
class Simplex:
    """Up to four vertices of the Minkowski difference A − B: local arrays of the caller of `gjk_distance`."""

    point: vec3_array  # [4] of A − B, m
    point_a: vec3_array  # [4] the points of A that they come from, world, m


@wp.func
def make_simplex(point: vec3_array, point_a: vec3_array):
    """A simplex over local arrays of the caller, which must outlive it."""
    out = Simplex()
    out.point = point
    out.point_a = point_a
    return out


@wp.func
def _find_closest_on_segment(a: vec3, b: vec3):
    """Barycentric weight of b in the point of segment a b closest to the origin."""
    d = b - a
    return wp.clamp(-wp.dot(a, d) / wp.max(wp.length_sq(d), real(1.0e-30)), real(0.0), real(1.0))


@wp.func
def find_closest_on_triangle(a: vec3, b: vec3, c: vec3):
    """The point of triangle a b c closest to the origin, and its barycentric weights.

    The best of its three edges and its interior, each of which is a point of the triangle whatever rounding does. A
    test by Voronoi regions is cheaper, but in slivers it may pick the wrong one, and GJK then ends far from the closest
    point. In the interior the point comes from the normal: in slivers that is more exact than the weights.
    """
    zero = real(0.0)
    one = real(1.0)
    normal = wp.cross(b - a, c - a)
    normal2 = wp.length_sq(normal)
    alpha = wp.dot(normal, wp.cross(b, c))
    beta = wp.dot(normal, wp.cross(c, a))
    gamma = wp.dot(normal, wp.cross(a, b))
    weights = vec3(one, zero, zero)
    v = a
    min_distance2 = wp.length_sq(a)
    if alpha >= zero and beta >= zero and gamma >= zero and normal2 > zero:
        weights = vec3(alpha, beta, gamma) / (alpha + beta + gamma)
        v = normal * (wp.dot(normal, a) / normal2)
        min_distance2 = wp.length_sq(v)
    t = _find_closest_on_segment(a, b)
    p = a + (b - a) * t
    if wp.length_sq(p) < min_distance2:
        min_distance2 = wp.length_sq(p)
        v = p
        weights = vec3(one - t, t, zero)
    t = _find_closest_on_segment(a, c)
    p = a + (c - a) * t
    if wp.length_sq(p) < min_distance2:
        min_distance2 = wp.length_sq(p)
        v = p
        weights = vec3(one - t, zero, t)
    t = _find_closest_on_segment(b, c)
    p = b + (c - b) * t
    if wp.length_sq(p) < min_distance2:
        v = p
        weights = vec3(zero, one - t, t)
    return v, weights


@wp.func
def _find_closest_on_faces(simplex: vec3_array, count: int):
    """Point of a simplex of three or four vertices closest to the origin, and its barycentric weights, all zero if the
    origin is inside. Unless the tetrahedron is a sliver, faces that have the origin on the inner side are skipped: the
    closest point is on the others too."""
    best_weights = vec4()
    nearest = vec3()
    least = real(1.0e30)
    inside = int(0)
    face = int(0)
    if count == TRIANGLE_VERTICES:
        face = wp.static(LAST_OF_TETRAHEDRON)
    while face < TETRAHEDRON_VERTICES:
        i = wp.where(face == 0, 1, 0)
        j = wp.where(face <= 1, 2, 1)
        k = wp.where(face <= 2, LAST_OF_TETRAHEDRON, 2)
        a = simplex[i]
        b = simplex[j]
        c = simplex[k]
        is_skipped = bool(False)
        if count == TETRAHEDRON_VERTICES:
            normal = wp.cross(b - a, c - a)
            other = wp.dot(normal, simplex[face] - a)
            height = wp.abs(other)
            size = wp.length(normal) * wp.length(simplex[face] - a)
            if -wp.dot(normal, a) * other > real(0.0) and height > TOL_FLAT_SIMPLEX * size:
                inside += 1
                is_skipped = height > SLIVER_SIMPLEX_HEIGHT * size
        if not is_skipped:
            v, weights = find_closest_on_triangle(a, b, c)
            if wp.length_sq(v) < least:
                least = wp.length_sq(v)
                nearest = v
                best_weights = vec4()
                best_weights[i] = weights[0]
                best_weights[j] = weights[1]
                best_weights[k] = weights[2]
        face += 1
    if inside == TETRAHEDRON_VERTICES:
        best_weights = vec4()
    return nearest, best_weights


@wp.func
def _find_closest_on_simplex(simplex: vec3_array, count: int):
    """Point of a simplex of one to four vertices closest to the origin, and its barycentric weights, all zero if the
    origin is inside."""
    zero = real(0.0)
    weights = vec4(real(1.0), zero, zero, zero)
    v = simplex[0]
    if count == 2:
        t = _find_closest_on_segment(simplex[0], simplex[1])
        weights = vec4(real(1.0) - t, t, zero, zero)
        v = simplex[0] + (simplex[1] - simplex[0]) * t
    elif count > 2:
        v, weights = _find_closest_on_faces(simplex, count)
    return v, weights


@wp.func
def gjk_distance(geo: Geometry, A: ShapePose, B: ShapePose, reach: real, simplex: Simplex, scale: real):
    """Distance of the cores of A and B. Returns a GjkStatus; the vector
    v from the closest point of B to that of A; the latter (world, m); and the number of vertices left in `simplex`.

    reach: m, ends with BEYOND_REACH as soon as the cores are known to be farther apart. scale: m, size of the
    shapes; they overlap where they are apart by no more than rounding of it.
    """
    v = core_center_of(A) - core_center_of(B)
    if wp.length_sq(v) <= TOL_ZERO_LENGTH * TOL_ZERO_LENGTH * scale * scale:
        v = vec3(scale, real(0.0), real(0.0))
    on_a = A.x
    count = int(0)
    status = int(GjkStatus.SEPARATED)
    step = int(0)
    running = int(1)
    while running == 1 and step < MAX_GJK_ITERATIONS:
        a = core_support(geo, A, -v)
        corner = a - core_support(geo, B, v)
        along = wp.dot(v, corner)
        v2 = wp.length_sq(v)
        if along > real(0.0) and along * along > reach * reach * v2:
            status = GjkStatus.BEYOND_REACH
            running = 0
        elif count > 0 and v2 - along <= TOL_GJK_DUALITY_GAP * v2:
            running = 0
        else:
            is_repeated = int(0)
            i = int(0)
            while i < count:
                if wp.length_sq(simplex.point[i] - corner) <= real(0.0):
                    is_repeated = 1
                i += 1
            if is_repeated == 1:
                running = 0
            else:
                simplex.point[count] = corner
                simplex.point_a[count] = a
                v_new, weights = _find_closest_on_simplex(simplex.point, count + 1)
                total = weights[0] + weights[1] + weights[2] + weights[LAST_OF_TETRAHEDRON]
                new_a = vec3()
                kept = int(0)
                if total <= real(0.0):
                    count = count + 1
                    status = GjkStatus.OVERLAPPING
                    running = 0
                else:
                    i = int(0)
                    while i <= count:
                        if weights[i] > real(0.0):
                            new_a = new_a + simplex.point_a[i] * weights[i]
                            simplex.point[kept] = simplex.point[i]
                            simplex.point_a[kept] = simplex.point_a[i]
                            kept += 1
                        i += 1
                    # by rounding only: the iteration is at its end, and the older point is as good
                    if count > 0 and wp.length_sq(v_new) >= v2 and step > 0:
                        running = 0
                    v = v_new
                    on_a = new_a
                    count = kept
                    if wp.length_sq(v) <= TOL_ZERO_LENGTH * TOL_ZERO_LENGTH * scale * scale:
                        status = GjkStatus.OVERLAPPING
                        running = 0
        step += 1
    return status, v, on_a, count
