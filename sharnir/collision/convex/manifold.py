"""Contact manifold of two convex shapes along a known normal: clipped support faces, crossing support edges, or one
point."""

from __future__ import annotations

import warp as wp

from sharnir.collision.convex.clip import FEATURE_BASE, MAX_CLIPPED_CORNERS, clip_polygon, select_four_contacts
from sharnir.collision.convex.features import (
    MAX_FACE_CORNERS,
    find_support_face,
    write_face_corners,
    write_support_edge,
)
from sharnir.collision.convex.support_mapping import core_radius, make_perpendicular
from sharnir.collision.shapes import ContactList, Geometry, ShapePose, append_contact
from sharnir.enums import CYLINDER, HALF_SPACE
from sharnir.kernels.types import DOUBLE, mat33, real, vec3

# cosine between contact normal and face normal (3°) above which the face is clipped
MIN_FLUSH_COSINE = wp.constant(real(0.9986))
MAX_PARALLEL_EDGE_SINE = wp.constant(real(0.01))  # sine of the angle below which two edges give two contacts
# relative to the scale: by how much the deepest contact may miss the gap of the normal
TOL_DEEPEST_GAP = wp.constant(real(1.0e-9 if DOUBLE else 1.0e-4))
# relative to the scale: depths that are equal but for rounding
TOL_MANIFOLD_TIE = wp.constant(real(1.0e-7 if DOUBLE else 1.0e-4))
# relative to the scale: TOL_DEEPEST_GAP of cylinders, whose deepest rim point turns with the smallest tilt: below it
# contacts stay
TOL_RIM_GAP = wp.constant(real(1.0e-6 if DOUBLE else 1.0e-4))

HALF_EDGE_PADDED = wp.constant(real(0.5 + (1.0e-7 if DOUBLE else 1.0e-5)))  # of an edge, enlarged against rounding
AXIS_GUESSED = 0  # normal and gap are a hypothesis
AXIS_WITNESSED = 1  # on_a and on_b are closest points
AXIS_BOUNDED = 2  # the gap is a lower bound, and there may be no contact
MAX_TWO_FACES_CORNERS = wp.constant(16)  # 2 ROOM
CLIP_BUFFER_SIZE = wp.constant(32)  # 2 CLIPPED

vec3_array = wp.array(dtype=vec3)
int_array = wp.array(dtype=int)
real_array = wp.array(dtype=real)


@wp.struct
class Separation:
    """Separation of two shapes: normal, signed distance and witness points."""

    normal: vec3  # from A to B, unit length
    gap: real  # between their surfaces along it, m
    on_a: vec3  # the witness point of A's core, closest to B or deepest in it, world, m
    on_b: vec3  # that of B's core, world, m
    scale: real  # m, of the two shapes together
    evidence: int  # AXIS_GUESSED, AXIS_WITNESSED or AXIS_BOUNDED


@wp.func
def _intersect_segments(
    corner: vec3_array, corner_number: int_array, point: vec3_array, feature: int_array, gap: real_array, parallel: real
):
    """Intersect segments V[0 … 1] and V[MAX_FACE_CORNERS … + 1] in the plane: the two ends of their overlap if they are
    parallel (to a sine of `parallel`), else their crossing. `point` gets points of the first, `gap` the height of the
    second over them (m). Returns how many."""
    du = corner[1] - corner[0]
    dv = corner[MAX_FACE_CORNERS + 1] - corner[MAX_FACE_CORNERS]
    u2 = du[0] * du[0] + du[1] * du[1]
    v2 = dv[0] * dv[0] + dv[1] * dv[1]
    cross_uv = du[0] * dv[1] - du[1] * dv[0]
    count = int(0)
    o = corner[MAX_FACE_CORNERS] - corner[0]
    if cross_uv * cross_uv < parallel * parallel * u2 * v2:
        s0 = (o[0] * du[0] + o[1] * du[1]) / u2
        s1 = s0 + (dv[0] * du[0] + dv[1] * du[1]) / u2
        low = wp.max(real(0.0), wp.min(s0, s1))
        high = wp.min(real(1.0), wp.max(s0, s1))
        if high > low and wp.abs(s1 - s0) > real(0.0):
            k = int(0)
            while k < 2:
                s = wp.where(k == 0, low, high)
                t = (s - s0) / (s1 - s0)
                point[k] = corner[0] + du * s
                gap[k] = corner[MAX_FACE_CORNERS][2] + dv[2] * t - point[k][2]
                end = corner_number[k]  # whose end it is: of the first edge, or of the second
                if s > real(0.0) and s < real(1.0):
                    end = (corner_number[MAX_FACE_CORNERS + wp.where(t > real(0.5), 1, 0)] + 1) * FEATURE_BASE
                feature[k] = end
                k += 1
            count = 2
    elif u2 * v2 > real(0.0):
        s = (o[0] * dv[1] - o[1] * dv[0]) / cross_uv
        t = (o[0] * du[1] - o[1] * du[0]) / cross_uv
        if wp.abs(s - real(0.5)) <= HALF_EDGE_PADDED and wp.abs(t - real(0.5)) <= HALF_EDGE_PADDED:
            point[0] = corner[0] + du * s
            gap[0] = corner[MAX_FACE_CORNERS][2] + dv[2] * t - point[0][2]
            feature[0] = (
                (wp.min(corner_number[0], corner_number[1]) + 1) * FEATURE_BASE
                + wp.min(corner_number[MAX_FACE_CORNERS], corner_number[MAX_FACE_CORNERS + 1])
                + 1
            )
            count = 1
    return count


@wp.func
def _project_corners(T: mat33, origin: vec3, corner: vec3_array, first: int, count: int):
    """Transform corners into axes T about an origin."""
    k = int(first)
    while k < first + count:
        corner[k] = T * (corner[k] - origin)
        k += 1


@wp.func
def _find_candidates(
    geo: Geometry,
    A: ShapePose,
    B: ShapePose,
    sep: Separation,
    T: mat33,
    origin: vec3,
    point: vec3_array,
    feature: int_array,
    gap: real_array,
):
    """Contact candidates in axes T about an origin: `point` gets points of A, `gap` the height of B over them, without
    radii. Returns the index of the first candidate in point and feature, and how many there are."""
    corner = wp.zeros(shape=(MAX_TWO_FACES_CORNERS,), dtype=vec3)
    corner_number = wp.zeros(shape=(MAX_TWO_FACES_CORNERS,), dtype=int)
    tag = wp.zeros(shape=(CLIP_BUFFER_SIZE,), dtype=int)
    fa, na, vertex_a = find_support_face(geo, A, sep.normal)
    fb, nb, vertex_b = find_support_face(geo, B, -sep.normal)
    if A.kind == HALF_SPACE:
        na = sep.normal
    flush_a = wp.dot(na, sep.normal)
    flush_b = -wp.dot(nb, sep.normal)
    first = int(0)
    count = int(0)
    if wp.max(flush_a, flush_b) > MIN_FLUSH_COSINE:
        in_a = int(0)
        if A.kind != HALF_SPACE:
            in_a = write_face_corners(geo, A, sep.normal, fa, corner, corner_number, 0)
        in_b = write_face_corners(geo, B, -sep.normal, fb, corner, corner_number, MAX_FACE_CORNERS)
        _project_corners(T, origin, corner, 0, in_a)
        _project_corners(T, origin, corner, MAX_FACE_CORNERS, in_b)
        # the flatter face is the reference; A unless B is clearly better, so that it does not alternate
        by_a = A.kind == HALF_SPACE or (flush_a >= flush_b - real(1.0e-4) and in_a > 2) or in_b <= 2
        if by_a:
            first, count = clip_polygon(
                corner, corner_number, 0, in_a, MAX_FACE_CORNERS, in_b, real(1.0), point, feature, tag
            )
        else:
            first, count = clip_polygon(
                corner, corner_number, MAX_FACE_CORNERS, in_b, 0, in_a, real(-1.0), point, feature, tag
            )
        f = T * wp.where(by_a, na, nb)
        reference = wp.where(by_a, corner[0], corner[MAX_FACE_CORNERS])
        if A.kind == HALF_SPACE:
            reference = T * (A.x - origin)
        k = int(0)
        while k < count:
            q = point[first + k]
            h = reference[2] - (f[0] * (q[0] - reference[0]) + f[1] * (q[1] - reference[1])) / f[2]
            if by_a:
                gap[k] = q[2] - h
                point[first + k] = vec3(q[0], q[1], h)
            else:
                gap[k] = h - q[2]
                feature[first + k] = (feature[first + k] % FEATURE_BASE) * FEATURE_BASE + feature[
                    first + k
                ] / FEATURE_BASE
            k += 1
    else:
        in_a = write_support_edge(geo, A, sep.normal, vertex_a, corner, corner_number, 0)
        in_b = write_support_edge(geo, B, -sep.normal, vertex_b, corner, corner_number, MAX_FACE_CORNERS)
        if in_a == 2 and in_b == 2:
            _project_corners(T, origin, corner, 0, 2)
            _project_corners(T, origin, corner, MAX_FACE_CORNERS, 2)
            # an axis that was guessed is right if the edges cross: nearly parallel ones may also pass beside each other
            count = _intersect_segments(
                corner,
                corner_number,
                point,
                feature,
                gap,
                wp.where(sep.evidence == AXIS_GUESSED, real(0.0), MAX_PARALLEL_EDGE_SINE),
            )
    return first, count


@wp.func
def _cull_beyond_margin(
    point: vec3_array,
    feature: int_array,
    gap: real_array,
    first: int,
    count: int,
    radii: real,
    margin: real,
    floor: real,
):
    """Subtract the radii from the gaps, which are at least `floor` but for rounding, and drop candidates beyond the
    margin; returns how many are left, and the least gap (m)."""
    kept = int(0)
    min_gap = real(1.0e30)
    k = int(0)
    while k < count:
        g = wp.max(gap[k] - radii, floor)
        if g < margin:
            point[first + kept] = point[first + k]
            feature[first + kept] = feature[first + k]
            gap[kept] = g
            min_gap = wp.min(min_gap, g)
            kept += 1
        k += 1
    return kept, min_gap


@wp.func
def _move_nearest_to(point: vec3_array, gap: real_array, first: int, count: int, q: vec3, g: real):
    """Move the candidate closest to q there, with gap g (m): it keeps its feature id, and the deepest point is not
    lost."""
    nearest = int(0)
    min_distance2 = real(1.0e30)
    k = int(0)
    while k < count:
        du = point[first + k][0] - q[0]
        dv = point[first + k][1] - q[1]
        if du * du + dv * dv < min_distance2:
            min_distance2 = du * du + dv * dv
            nearest = k
        k += 1
    point[first + nearest] = q
    gap[nearest] = g


@wp.func
def append_manifold(
    geo: Geometry, A: ShapePose, B: ShapePose, sep: Separation, origin: vec3, margin: real, contacts: ContactList, n: int, flip: real,
    w: int,
):  # fmt: skip
    """Append at most four contacts along the normal of a separation, from coordinates about an origin (m) to the
    world's; none where the gap is only a hypothesis and no candidate has it. Returns the number of contacts."""
    point = wp.zeros(shape=(CLIP_BUFFER_SIZE,), dtype=vec3)
    feature = wp.zeros(shape=(CLIP_BUFFER_SIZE,), dtype=int)
    gap = wp.zeros(shape=(MAX_CLIPPED_CORNERS,), dtype=real)
    normal = sep.normal
    t1 = make_perpendicular(normal)
    t2 = wp.cross(normal, t1)
    T = mat33(t1[0], t1[1], t1[2], t2[0], t2[1], t2[2], normal[0], normal[1], normal[2])
    ra = core_radius(A)
    rb = core_radius(B)
    first, candidates = _find_candidates(geo, A, B, sep, T, B.x, point, feature, gap)
    count, min_gap = _cull_beyond_margin(point, feature, gap, first, candidates, ra + rb, margin, sep.gap)
    slack = TOL_DEEPEST_GAP
    if count > 2 and (A.kind == CYLINDER or B.kind == CYLINDER):
        slack = TOL_RIM_GAP
    is_gap_missed = count == 0 or min_gap > sep.gap + slack * sep.scale
    if is_gap_missed and sep.evidence == AXIS_WITNESSED:
        q = T * (sep.on_a - B.x)
        if count == 0:
            first = 0
            feature[0] = 0
            count = 1
        _move_nearest_to(point, gap, first, count, q, sep.gap)
    if not is_gap_missed or sep.evidence != AXIS_GUESSED:
        chosen = wp.vec4i(0, 1, 2, 3)
        if count > 4:
            chosen = select_four_contacts(point, gap, first, count, wp.max(slack, TOL_MANIFOLD_TIE) * sep.scale)
        k = int(0)
        while k < wp.min(count, 4):
            i = chosen[k]
            if i >= 0 and (k == 0 or i != chosen[0]):
                q = point[first + i]
                # q is on A's core: halfway to B's surface from there
                middle = q + vec3(real(0.0), real(0.0), ra + real(0.5) * gap[i])
                position = origin + B.x + wp.transpose(T) * middle
                n = append_contact(contacts, n, normal * flip, position, gap[i], feature[first + i], w)
            k += 1
    return n
