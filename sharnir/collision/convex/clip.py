"""Clipping of convex polygons in the plane across a contact normal, and selection of four contacts.

I. E. Sutherland, G. W. Hodgman: Reentrant polygon clipping, Communications of the ACM 17(1), 1974. Points are (u, v) in
the plane and h along the normal (m).
"""

from __future__ import annotations

import warp as wp

from sharnir.kernels.types import DOUBLE, int_array, real, real_array, vec3, vec3_array

MAX_CLIPPED_CORNERS = wp.constant(16)  # corners of the intersection of two faces with MAX_FACE_CORNERS corners each
CLIP_BUFFER_SIZE = wp.constant(2 * MAX_CLIPPED_CORNERS)
FEATURE_BASE = wp.constant(32768)  # feature id = (number in the one polygon) × FEATURE_BASE + (number in the other)
# relative to an edge's length: corners outside by less count as inside
TOL_ON_EDGE = wp.constant(real(1.0e-7 if DOUBLE else 1.0e-5))


@wp.struct
class Polygons:
    """Support features of two shapes as polygons or segments: local arrays of the caller."""

    corner: vec3_array  # [2 MAX_FACE_CORNERS] of the support feature of A, then of that of B
    number: int_array  # [2 MAX_FACE_CORNERS] of `corner`, unique within the shape


@wp.struct
class Candidates:
    """Contact candidates: local arrays of the caller."""

    point: vec3_array  # [CLIP_BUFFER_SIZE] two halves, read and written in turn
    feature: int_array  # [CLIP_BUFFER_SIZE] feature id of `point`
    gap: real_array  # [MAX_CLIPPED_CORNERS] m


@wp.func
def make_polygons(corner: vec3_array, number: int_array):
    """Polygons over local arrays of the caller, which must outlive them."""
    out = Polygons()
    out.corner = corner
    out.number = number
    return out


@wp.func
def make_candidates(point: vec3_array, feature: int_array, gap: real_array):
    """Candidates over local arrays of the caller, which must outlive them."""
    out = Candidates()
    out.point = point
    out.feature = feature
    out.gap = gap
    return out


@wp.func
def _edge_function(p: vec3, q: vec3, x: vec3, orientation: real):
    """Edge function: signed distance of x inside edge p q times the edge's length (m²), with a tolerance; ≥ 0 inside.
    orientation: 1 for counter-clockwise polygons, −1 for clockwise."""
    du = q[0] - p[0]
    dv = q[1] - p[1]
    return orientation * (du * (x[1] - p[1]) - dv * (x[0] - p[0])) + TOL_ON_EDGE * (du * du + dv * dv)


@wp.func
def _crossing_feature(polygons: Polygons, reference: wp.vec2i, edge: int, tag: int):
    """Feature id of the point where edge `edge` of the reference polygon crosses what `tag` names: an edge of the
    subject (its number), or another edge of the reference (−1 − edge), which makes it a corner of the reference."""
    feature = (polygons.number[reference[0] + edge] + 1) * FEATURE_BASE + tag + 1
    if tag < 0:
        other = -1 - tag
        corner = wp.where((other + 1) % reference[1] == edge, edge, other)
        feature = (polygons.number[reference[0] + corner] + 1) * FEATURE_BASE
    return feature


@wp.func
def clip_polygon(polygons: Polygons, candidates: Candidates, reference: wp.vec2i, subject: wp.vec2i, orientation: real):
    """Clip a polygon or segment, the subject, against the reference polygon by Sutherland–Hodgman. reference, subject:
    first of `corner`, and how many; orientation: 1 if the reference is counter-clockwise, else −1. Points and feature
    ids are written to `candidates`. Returns the index of the first point and the number of points."""
    tag = wp.zeros(shape=(CLIP_BUFFER_SIZE,), dtype=int)  # what the edge after a point lies on, see `_crossing_feature`
    count = subject[1]
    k = int(0)
    while k < count:
        candidates.point[k] = polygons.corner[subject[0] + k]
        candidates.feature[k] = polygons.number[subject[0] + k] + 1
        tag[k] = polygons.number[subject[0] + k]
        k += 1
    closed = count > 2
    source = int(0)
    c = int(0)
    while c < reference[1] and count > 0:
        target = MAX_CLIPPED_CORNERS - source
        p = polygons.corner[reference[0] + c]
        q = polygons.corner[reference[0] + wp.where(c + 1 == reference[1], 0, c + 1)]
        kept = int(0)
        k = int(0)
        side_i = _edge_function(p, q, candidates.point[source], orientation)
        side_first = side_i
        while k < count:
            i = source + k
            last = k + 1 == count
            j = wp.where(last, source, i + 1)
            side_j = side_first
            if not last:
                side_j = _edge_function(p, q, candidates.point[j], orientation)
            if side_i >= real(0.0) and kept < MAX_CLIPPED_CORNERS:
                candidates.point[target + kept] = candidates.point[i]
                candidates.feature[target + kept] = candidates.feature[i]
                tag[target + kept] = tag[i]
                kept += 1
            if (side_i >= real(0.0)) != (side_j >= real(0.0)) and (closed or not last) and kept < MAX_CLIPPED_CORNERS:
                across = candidates.point[j] - candidates.point[i]
                on = tag[i]
                candidates.point[target + kept] = candidates.point[i] + across * (side_i / (side_i - side_j))
                candidates.feature[target + kept] = _crossing_feature(polygons, reference, c, on)
                tag[target + kept] = wp.where(side_i >= real(0.0) and closed, -1 - c, on)
                kept += 1
            side_i = side_j
            k += 1
        count = kept
        source = target
        c += 1
    return source, count


@wp.func
def _exceeds(new: real, old: real, slack: real):
    """Whether a value exceeds another by more than a slack."""
    return new > old + slack


@wp.func
def select_four_contacts(candidates: Candidates, first: int, count: int, slack: real):
    """Choose four contacts: the deepest, the farthest from it, and the farthest on either side of the line through
    both. Earlier ones win ties within `slack` (m), so that equal ones do not alternate from step to step. Returns
    indices from `first` on, −1 for none."""
    a = int(0)
    k = int(1)
    while k < count:
        if _exceeds(-candidates.gap[k], -candidates.gap[a], slack):
            a = k
        k += 1
    b = int(a)
    max_distance = real(0.0)
    k = int(0)
    while k < count:
        du = candidates.point[first + k][0] - candidates.point[first + a][0]
        dv = candidates.point[first + k][1] - candidates.point[first + a][1]
        far = wp.sqrt(du * du + dv * dv)
        if _exceeds(far, max_distance, slack):
            max_distance = far
            b = k
        k += 1
    eu = candidates.point[first + b][0] - candidates.point[first + a][0]
    ev = candidates.point[first + b][1] - candidates.point[first + a][1]
    length = wp.max(wp.sqrt(eu * eu + ev * ev), real(1.0e-30))
    c = int(-1)
    d = int(-1)
    max_left = real(0.0)
    max_right = real(0.0)
    k = int(0)
    while k < count:
        du = candidates.point[first + k][0] - candidates.point[first + a][0]
        dv = candidates.point[first + k][1] - candidates.point[first + a][1]
        offset = (eu * dv - ev * du) / length
        if _exceeds(offset, max_left, slack):
            max_left = offset
            c = k
        if _exceeds(-offset, max_right, slack):
            max_right = -offset
            d = k
        k += 1
    return wp.vec4i(a, b, c, d)
