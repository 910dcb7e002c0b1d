"""Contact manifold of two convex shapes along a known normal: clipped support faces, crossing support edges, or one
point."""

from __future__ import annotations

from enum import IntEnum

import warp as wp

from sharnir.collision.convex.clip import (
    CLIP_BUFFER_SIZE,
    FEATURE_BASE,
    MAX_CLIPPED_CORNERS,
    Candidates,
    Polygons,
    clip_polygon,
    make_candidates,
    make_polygons,
    select_four_contacts,
)
from sharnir.collision.convex.features import (
    MAX_FACE_CORNERS,
    find_support_face,
    write_face_corners,
    write_support_edge,
)
from sharnir.collision.convex.support_mapping import core_radius, make_perpendicular
from sharnir.collision.shapes import Geometry, NarrowPhaseContext, ShapePose, append_contact, make_contact
from sharnir.enums import ShapeKind
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
CORNERS_OF_A = wp.constant(0)  # of ManifoldBuffers.corner: first corner of A's support feature
CORNERS_OF_B = wp.constant(MAX_FACE_CORNERS)  # and of B's
MAX_TWO_FACES_CORNERS = wp.constant(2 * MAX_FACE_CORNERS)


class Evidence(IntEnum):
    """What is known of a separation."""

    GUESSED = 0  # normal and gap are a hypothesis
    WITNESSED = 1  # on_a and on_b are closest points
    BOUNDED = 2  # the gap is a lower bound, and there may be no contact


@wp.struct
class Separation:
    """Separation of two shapes: normal, signed distance and witness points."""

    normal: vec3  # from A to B, unit length
    gap: real  # between their surfaces along it, m
    on_a: vec3  # the witness point of A's core, closest to B or deepest in it, world, m
    on_b: vec3  # that of B's core, world, m
    scale: real  # m, of the two shapes together
    evidence: int  # Evidence


@wp.struct
class TangentFrame:
    """Axes of a contact: two tangents and the normal, about an origin."""

    T: mat33  # rows: tangents and normal, world
    origin: vec3  # m


@wp.func
def make_tangent_frame(normal: vec3, origin: vec3):
    """The frame of a unit normal, a function of it only, about an origin (m)."""
    t1 = make_perpendicular(normal)
    t2 = wp.cross(normal, t1)
    out = TangentFrame()
    out.T = mat33(t1[0], t1[1], t1[2], t2[0], t2[1], t2[2], normal[0], normal[1], normal[2])
    out.origin = origin
    return out


@wp.func
def _intersect_segments(polygons: Polygons, candidates: Candidates, parallel: real):
    """Intersect the support edges of A and B in the plane: the two ends of their overlap if they are parallel (to a
    sine of `parallel`), else their crossing. `point` gets points of A's edge, `gap` the height of B's over them (m).
    Returns how many."""
    du = polygons.corner[CORNERS_OF_A + 1] - polygons.corner[CORNERS_OF_A]
    dv = polygons.corner[CORNERS_OF_B + 1] - polygons.corner[CORNERS_OF_B]
    u2 = du[0] * du[0] + du[1] * du[1]
    v2 = dv[0] * dv[0] + dv[1] * dv[1]
    cross_uv = du[0] * dv[1] - du[1] * dv[0]
    count = int(0)
    o = polygons.corner[CORNERS_OF_B] - polygons.corner[CORNERS_OF_A]
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
                candidates.point[k] = polygons.corner[CORNERS_OF_A] + du * s
                candidates.gap[k] = polygons.corner[CORNERS_OF_B][2] + dv[2] * t - candidates.point[k][2]
                end = polygons.number[CORNERS_OF_A + k]  # whose end it is: of A's edge, or of B's
                if s > real(0.0) and s < real(1.0):
                    end = (polygons.number[CORNERS_OF_B + wp.where(t > real(0.5), 1, 0)] + 1) * FEATURE_BASE
                candidates.feature[k] = end
                k += 1
            count = 2
    elif u2 * v2 > real(0.0):
        s = (o[0] * dv[1] - o[1] * dv[0]) / cross_uv
        t = (o[0] * du[1] - o[1] * du[0]) / cross_uv
        if wp.abs(s - real(0.5)) <= HALF_EDGE_PADDED and wp.abs(t - real(0.5)) <= HALF_EDGE_PADDED:
            candidates.point[0] = polygons.corner[CORNERS_OF_A] + du * s
            candidates.gap[0] = polygons.corner[CORNERS_OF_B][2] + dv[2] * t - candidates.point[0][2]
            edge_a = wp.min(polygons.number[CORNERS_OF_A], polygons.number[CORNERS_OF_A + 1])
            edge_b = wp.min(polygons.number[CORNERS_OF_B], polygons.number[CORNERS_OF_B + 1])
            candidates.feature[0] = (edge_a + 1) * FEATURE_BASE + edge_b + 1
            count = 1
    return count


@wp.func
def _project_corners(polygons: Polygons, frame: TangentFrame, first: int, count: int):
    """Transform corners into a contact's frame."""
    k = int(first)
    while k < first + count:
        polygons.corner[k] = frame.T * (polygons.corner[k] - frame.origin)
        k += 1


@wp.func
def _find_candidates(
    geo: Geometry, A: ShapePose, B: ShapePose, sep: Separation, frame: TangentFrame, candidates: Candidates
):
    """Contact candidates in a frame: `point` gets points of A, `gap` the height of B over them, without radii. Returns
    the index of the first candidate in `point` and `feature`, and how many there are."""
    corner = wp.zeros(shape=(MAX_TWO_FACES_CORNERS,), dtype=vec3)
    number = wp.zeros(shape=(MAX_TWO_FACES_CORNERS,), dtype=int)
    polygons = make_polygons(corner, number)
    fa, na, vertex_a = find_support_face(geo, A, sep.normal)
    fb, nb, vertex_b = find_support_face(geo, B, -sep.normal)
    if A.kind == ShapeKind.HALF_SPACE:
        na = sep.normal
    flush_a = wp.dot(na, sep.normal)
    flush_b = -wp.dot(nb, sep.normal)
    first = int(0)
    count = int(0)
    if wp.max(flush_a, flush_b) > MIN_FLUSH_COSINE:
        in_a = int(0)
        if A.kind != ShapeKind.HALF_SPACE:
            in_a = write_face_corners(geo, A, sep.normal, fa, polygons, CORNERS_OF_A)
        in_b = write_face_corners(geo, B, -sep.normal, fb, polygons, CORNERS_OF_B)
        _project_corners(polygons, frame, CORNERS_OF_A, in_a)
        _project_corners(polygons, frame, CORNERS_OF_B, in_b)
        # the flatter face is the reference; A unless B is clearly better, so that it does not alternate
        by_a = A.kind == ShapeKind.HALF_SPACE or (flush_a >= flush_b - real(1.0e-4) and in_a > 2) or in_b <= 2
        polygon_a = wp.vec2i(CORNERS_OF_A, in_a)
        polygon_b = wp.vec2i(CORNERS_OF_B, in_b)
        if by_a:
            first, count = clip_polygon(polygons, candidates, polygon_a, polygon_b, real(1.0))
        else:
            first, count = clip_polygon(polygons, candidates, polygon_b, polygon_a, real(-1.0))
        f = frame.T * wp.where(by_a, na, nb)
        reference = wp.where(by_a, polygons.corner[CORNERS_OF_A], polygons.corner[CORNERS_OF_B])
        if A.kind == ShapeKind.HALF_SPACE:
            reference = frame.T * (A.x - frame.origin)
        k = int(0)
        while k < count:
            q = candidates.point[first + k]
            h = reference[2] - (f[0] * (q[0] - reference[0]) + f[1] * (q[1] - reference[1])) / f[2]
            if by_a:
                candidates.gap[k] = q[2] - h
                candidates.point[first + k] = vec3(q[0], q[1], h)
            else:
                candidates.gap[k] = h - q[2]
                feature = candidates.feature[first + k]
                candidates.feature[first + k] = (feature % FEATURE_BASE) * FEATURE_BASE + feature / FEATURE_BASE
            k += 1
    else:
        in_a = write_support_edge(geo, A, sep.normal, vertex_a, polygons, CORNERS_OF_A)
        in_b = write_support_edge(geo, B, -sep.normal, vertex_b, polygons, CORNERS_OF_B)
        if in_a == 2 and in_b == 2:
            _project_corners(polygons, frame, CORNERS_OF_A, 2)
            _project_corners(polygons, frame, CORNERS_OF_B, 2)
            # an axis that was guessed is right if the edges cross: nearly parallel ones may also pass beside each other
            parallel = wp.where(sep.evidence == Evidence.GUESSED, real(0.0), MAX_PARALLEL_EDGE_SINE)
            count = _intersect_segments(polygons, candidates, parallel)
    return first, count


@wp.func
def _cull_beyond_margin(candidates: Candidates, first: int, count: int, radii: real, margin: real, floor: real):
    """Subtract the radii from the gaps, which are at least `floor` but for rounding, and drop candidates beyond the
    margin; returns how many are left, and the least gap (m)."""
    kept = int(0)
    min_gap = real(1.0e30)
    k = int(0)
    while k < count:
        g = wp.max(candidates.gap[k] - radii, floor)
        if g < margin:
            candidates.point[first + kept] = candidates.point[first + k]
            candidates.feature[first + kept] = candidates.feature[first + k]
            candidates.gap[kept] = g
            min_gap = wp.min(min_gap, g)
            kept += 1
        k += 1
    return kept, min_gap


@wp.func
def _move_nearest_to(candidates: Candidates, first: int, count: int, q: vec3, g: real):
    """Move the candidate closest to q there, with gap g (m): it keeps its feature id, and the deepest point is not
    lost."""
    nearest = int(0)
    min_distance2 = real(1.0e30)
    k = int(0)
    while k < count:
        du = candidates.point[first + k][0] - q[0]
        dv = candidates.point[first + k][1] - q[1]
        if du * du + dv * dv < min_distance2:
            min_distance2 = du * du + dv * dv
            nearest = k
        k += 1
    candidates.point[first + nearest] = q
    candidates.gap[nearest] = g


@wp.func
def append_manifold(ctx: wp.ref[NarrowPhaseContext], A: ShapePose, B: ShapePose, sep: Separation, n: int):
    """Append at most four contacts along the normal of a separation; none where the gap is only a hypothesis and no
    candidate has it. Returns the number of contacts."""
    point = wp.zeros(shape=(CLIP_BUFFER_SIZE,), dtype=vec3)
    feature = wp.zeros(shape=(CLIP_BUFFER_SIZE,), dtype=int)
    gap = wp.zeros(shape=(MAX_CLIPPED_CORNERS,), dtype=real)
    candidates = make_candidates(point, feature, gap)
    frame = make_tangent_frame(sep.normal, B.x)
    ra = core_radius(A)
    rb = core_radius(B)
    first, found = _find_candidates(ctx.geo, A, B, sep, frame, candidates)
    count, min_gap = _cull_beyond_margin(candidates, first, found, ra + rb, ctx.margin, sep.gap)
    slack = TOL_DEEPEST_GAP
    if count > 2 and (A.kind == ShapeKind.CYLINDER or B.kind == ShapeKind.CYLINDER):
        slack = TOL_RIM_GAP
    is_gap_missed = count == 0 or min_gap > sep.gap + slack * sep.scale
    if is_gap_missed and sep.evidence == Evidence.WITNESSED:
        q = frame.T * (sep.on_a - B.x)
        if count == 0:
            first = 0
            candidates.feature[0] = 0
            count = 1
        _move_nearest_to(candidates, first, count, q, sep.gap)
    if not is_gap_missed or sep.evidence != Evidence.GUESSED:
        chosen = wp.vec4i(0, 1, 2, 3)
        if count > 4:
            chosen = select_four_contacts(candidates, first, count, wp.max(slack, TOL_MANIFOLD_TIE) * sep.scale)
        k = int(0)
        while k < wp.min(count, 4):
            i = chosen[k]
            if i >= 0 and (k == 0 or i != chosen[0]):
                q = candidates.point[first + i]
                gap_i = candidates.gap[i]
                # q is on A's core: halfway to B's surface from there
                middle = q + vec3(real(0.0), real(0.0), ra + real(0.5) * gap_i)
                position = ctx.origin + B.x + wp.transpose(frame.T) * middle
                contact = make_contact(sep.normal * ctx.flip, position, gap_i, candidates.feature[first + i])
                n = append_contact(ctx.contacts, n, contact, ctx.w)
            k += 1
    return n
