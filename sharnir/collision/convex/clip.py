"""Clipping of convex polygons in the plane across a contact normal, and selection of four contacts.

I. E. Sutherland, G. W. Hodgman: Reentrant polygon clipping, Communications of the ACM 17(1), 1974. Points are (u, v) in
the plane and h along the normal (m).
"""

from __future__ import annotations

import warp as wp

from sharnir.kernels.types import DOUBLE, real, vec3

MAX_CLIPPED_CORNERS = wp.constant(16)  # corners of the intersection of two faces with MAX_FACE_CORNERS corners each
FEATURE_BASE = wp.constant(32768)  # feature id = (number in the one polygon) × FEATURE_BASE + (number in the other)
# relative to an edge's length: corners outside by less count as inside
TOL_ON_EDGE = wp.constant(real(1.0e-7 if DOUBLE else 1.0e-5))

vec3_array = wp.array(dtype=vec3)
int_array = wp.array(dtype=int)
real_array = wp.array(dtype=real)


@wp.func
def _edge_function(p: vec3, q: vec3, x: vec3, orientation: real):
    """Edge function: signed distance of x inside edge p q times the edge's length (m²), with a tolerance; ≥ 0 inside.
    orientation: 1 for counter-clockwise polygons, −1 for clockwise."""
    du = q[0] - p[0]
    dv = q[1] - p[1]
    return orientation * (du * (x[1] - p[1]) - dv * (x[0] - p[0])) + TOL_ON_EDGE * (du * du + dv * dv)


@wp.func
def _crossing_feature(I: int_array, reference: int, reference_count: int, edge: int, tag: int):
    """Feature id of the point where edge `edge` of the reference polygon crosses what `tag` names: an edge of the
    subject (its number), or another edge of the reference (−1 − edge), which makes it a corner of the reference."""
    feature = (I[reference + edge] + 1) * FEATURE_BASE + tag + 1
    if tag < 0:
        other = -1 - tag
        corner = wp.where((other + 1) % reference_count == edge, edge, other)
        feature = (I[reference + corner] + 1) * FEATURE_BASE
    return feature


@wp.func
def clip_polygon(
    V: vec3_array, I: int_array, reference: int, reference_count: int, subject: int, count: int, orientation: real,
    point: vec3_array, feature: int_array, tag: int_array,
):  # fmt: skip
    """Clip polygon or segment V[subject …] against V[reference …] by Sutherland–Hodgman; orientation: 1 if the
    reference is counter-clockwise, else −1. Points and feature ids are written to point and feature (two halves of
    CLIP_BUFFER_SIZE in turn). Returns the index of the first point and the number of points."""
    k = int(0)
    while k < count:
        point[k] = V[subject + k]
        feature[k] = I[subject + k] + 1
        tag[k] = I[subject + k]
        k += 1
    closed = count > 2
    source = int(0)
    c = int(0)
    while c < reference_count and count > 0:
        target = MAX_CLIPPED_CORNERS - source
        p = V[reference + c]
        q = V[reference + wp.where(c + 1 == reference_count, 0, c + 1)]
        kept = int(0)
        k = int(0)
        side_i = _edge_function(p, q, point[source], orientation)
        side_first = side_i
        while k < count:
            i = source + k
            last = k + 1 == count
            j = wp.where(last, source, i + 1)
            side_j = side_first
            if not last:
                side_j = _edge_function(p, q, point[j], orientation)
            if side_i >= real(0.0) and kept < MAX_CLIPPED_CORNERS:
                point[target + kept] = point[i]
                feature[target + kept] = feature[i]
                tag[target + kept] = tag[i]
                kept += 1
            if (side_i >= real(0.0)) != (side_j >= real(0.0)) and (closed or not last) and kept < MAX_CLIPPED_CORNERS:
                point[target + kept] = point[i] + (point[j] - point[i]) * (side_i / (side_i - side_j))
                feature[target + kept] = _crossing_feature(I, reference, reference_count, c, tag[i])
                tag[target + kept] = wp.where(side_i >= real(0.0) and closed, -1 - c, tag[i])
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
def select_four_contacts(point: vec3_array, gap: real_array, first: int, count: int, slack: real):
    """Choose four contacts: the deepest, the farthest from it, and the farthest on either side of the line through
    both. Earlier ones win ties within `slack` (m), so that equal ones do not alternate from step to step. Returns
    indices from `first` on, −1 for none."""
    a = int(0)
    k = int(1)
    while k < count:
        if _exceeds(-gap[k], -gap[a], slack):
            a = k
        k += 1
    b = int(a)
    max_distance = real(0.0)
    k = int(0)
    while k < count:
        du = point[first + k][0] - point[first + a][0]
        dv = point[first + k][1] - point[first + a][1]
        far = wp.sqrt(du * du + dv * dv)
        if _exceeds(far, max_distance, slack):
            max_distance = far
            b = k
        k += 1
    eu = point[first + b][0] - point[first + a][0]
    ev = point[first + b][1] - point[first + a][1]
    length = wp.max(wp.sqrt(eu * eu + ev * ev), real(1.0e-30))
    c = int(-1)
    d = int(-1)
    max_left = real(0.0)
    max_right = real(0.0)
    k = int(0)
    while k < count:
        offset = (
            eu * (point[first + k][1] - point[first + a][1]) - ev * (point[first + k][0] - point[first + a][0])
        ) / length
        if _exceeds(offset, max_left, slack):
            max_left = offset
            c = k
        if _exceeds(-offset, max_right, slack):
            max_right = -offset
            d = k
        k += 1
    return wp.vec4i(a, b, c, d)
