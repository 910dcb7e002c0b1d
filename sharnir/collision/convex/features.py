"""Support features: the face, edge or vertex of a convex shape that meets another shape along a normal.

Corners are written from `at` on, counter-clockwise about the outward normal, each with a number that is unique within
the shape (below 2^15 − 1).
"""

from __future__ import annotations

from enum import IntFlag

import warp as wp

from sharnir.collision.convex.clip import Polygons
from sharnir.collision.convex.support_mapping import hull_support
from sharnir.collision.shapes import TRIANGLE_CORNERS, Geometry, ShapePose
from sharnir.enums import ShapeKind
from sharnir.kernels.types import column, real, vec3

BOX_FACE_CORNERS = 4
MAX_FACE_CORNERS = wp.constant(8)  # corners of a face; of larger faces some are left out
# cosine between axis and normal above which a cylinder's cap is its support feature
MIN_CAP_COSINE = wp.constant(real(0.7))
# cosine below which a cylinder's side line is, where there is no face to rest on
MAX_SIDE_COSINE = wp.constant(real(0.1))
SQRT_HALF = wp.constant(real(0.7071067811865476))


class BoxCorner(IntFlag):
    """Number of a corner of a box: the axes along which it is on the positive side."""

    X = 1
    Y = 2
    Z = 4
    ALL = 7


@wp.func
def find_support_face(geo: Geometry, S: ShapePose, d: vec3):
    """The face whose outward normal is nearest to d (world), −1 for shapes without faces; that normal (world); and, for
    a hull, its support vertex along d."""
    e = wp.transpose(S.R) * d
    face = int(-1)
    support_vertex = int(0)
    normal = vec3()
    if S.kind == ShapeKind.BOX:
        k = int(0)
        if wp.abs(e[1]) > wp.abs(e[0]):
            k = 1
        if wp.abs(e[2]) > wp.abs(e[k]):
            k = 2
        face = 2 * k + wp.where(e[k] > real(0.0), 1, 0)
        normal = column(S.R, k) * wp.sign(e[k])
    elif S.kind == ShapeKind.CYLINDER:
        face = wp.where(e[2] > real(0.0), 1, 0)
        normal = column(S.R, 2) * wp.sign(e[2])
    elif S.kind == ShapeKind.TRIANGLE:
        a = column(S.R, 0)
        normal = wp.normalize(wp.cross(column(S.R, 1) - a, column(S.R, 2) - a))
        face = 1
        if wp.dot(normal, d) < real(0.0):
            normal = -normal
            face = 0
    elif S.kind == ShapeKind.HULL:
        support_vertex, position = hull_support(geo, S.data, e)
        max_cosine = real(-2.0)
        i = geo.vertex_face_start[support_vertex]
        while (
            i < geo.vertex_face_start[support_vertex + 1]
        ):  # only faces at the farthest corner: others may look that way from behind it
            along = wp.dot(geo.face_normal[geo.vertex_face[i]], e)
            if along > max_cosine:
                max_cosine = along
                face = geo.vertex_face[i]
            i += 1
        normal = S.R * geo.face_normal[face]
    return face, normal, support_vertex


@wp.func
def _box_corner_of(S: ShapePose, bits: int):
    """Corner of a box, world, m. bits: its `BoxCorner`."""
    x = wp.where((bits & BoxCorner.X) != 0, S.size[0], -S.size[0])
    y = wp.where((bits & BoxCorner.Y) != 0, S.size[1], -S.size[1])
    z = wp.where((bits & BoxCorner.Z) != 0, S.size[2], -S.size[2])
    return S.x + S.R * vec3(x, y, z)


@wp.func
def _rim_corner_of(S: ShapePose, k: int, top: int):
    """Corner k of the octagon on a cylinder's rim, world, m. top: 1 for the cap at +z, 0 at −z."""
    r = S.size[0]
    quarter = (k >> 1) & 3
    x = real(1.0)
    y = real(0.0)
    if (k & 1) == 1:
        x = SQRT_HALF
        y = SQRT_HALF
    c = wp.where(quarter == 0, x, wp.where(quarter == 1, -y, wp.where(quarter == 2, -x, y)))
    s = wp.where(quarter == 0, y, wp.where(quarter == 1, x, wp.where(quarter == 2, -y, -x)))
    z = wp.where(top == 1, S.size[1], -S.size[1])
    return S.x + S.R * vec3(r * c, r * s, z)


@wp.func
def write_face_corners(geo: Geometry, S: ShapePose, d: vec3, face: int, polygons: Polygons, at: int):
    """Write the corners (world, m) and corner numbers of a face found by `find_support_face`; of a capsule, or a
    cylinder that touches with its side, the ends of its support line along d; returns how many."""
    count = int(0)
    k = int(0)
    if S.kind == ShapeKind.BOX:
        axis = face >> 1
        up = face & 1
        one = 1 << ((axis + 1) % 3)
        two = 1 << ((axis + 2) % 3)
        base = up << axis
        while k < BOX_FACE_CORNERS:
            i = wp.where(up == 1, k, 3 - k)
            bits = base + wp.where(i == 0 or i == 3, one, 0) + wp.where(i < 2, two, 0)
            polygons.corner[at + k] = _box_corner_of(S, bits)
            polygons.number[at + k] = bits
            k += 1
        count = wp.static(BOX_FACE_CORNERS)
    elif S.kind == ShapeKind.HULL:
        first = geo.face_corner_start[face]
        size = geo.face_corner_start[face + 1] - first
        count = wp.min(size, MAX_FACE_CORNERS)
        while k < count:
            v = geo.face_vertex[first + (k * size) / count]
            polygons.corner[at + k] = S.x + S.R * geo.vertex[v]
            polygons.number[at + k] = v - geo.hull_vertex_start[S.data]
            k += 1
    elif S.kind == ShapeKind.TRIANGLE:
        while k < TRIANGLE_CORNERS:
            i = wp.where(face == 1, k, 2 - k)
            polygons.corner[at + k] = S.x + column(S.R, i)
            polygons.number[at + k] = i
            k += 1
        count = wp.static(TRIANGLE_CORNERS)
    elif S.kind == ShapeKind.CYLINDER and wp.abs(wp.dot(column(S.R, 2), d)) > MIN_CAP_COSINE:
        while k < MAX_FACE_CORNERS:
            i = wp.where(face == 1, k, (MAX_FACE_CORNERS - k) % MAX_FACE_CORNERS)
            polygons.corner[at + k] = _rim_corner_of(S, i, face)
            polygons.number[at + k] = i + MAX_FACE_CORNERS * face
            k += 1
        count = MAX_FACE_CORNERS
    elif S.kind == ShapeKind.CYLINDER or S.kind == ShapeKind.CAPSULE:
        count = _write_axis_segment(S, d, polygons, at)
    else:
        polygons.corner[at] = S.x
        polygons.number[at] = 0
        count = 1
    return count


@wp.func
def _write_axis_segment(S: ShapePose, d: vec3, polygons: Polygons, at: int):
    """Write the two ends of a capsule's axis, or of the side line of a cylinder that is its support along d;
    returns 2."""
    offset = vec3()
    if S.kind == ShapeKind.CYLINDER:
        e = wp.transpose(S.R) * d
        scale = S.size[0] / wp.max(wp.sqrt(e[0] * e[0] + e[1] * e[1]), real(1.0e-30))
        offset = S.R * vec3(e[0] * scale, e[1] * scale, real(0.0))
    half = column(S.R, 2) * S.size[1]
    polygons.corner[at] = S.x + offset - half
    polygons.corner[at + 1] = S.x + offset + half
    polygons.number[at] = 0
    polygons.number[at + 1] = 1
    return int(2)


@wp.func
def write_support_edge(geo: Geometry, S: ShapePose, d: vec3, support_vertex: int, polygons: Polygons, at: int):
    """Write the two ends of the edge that is the support along d and most perpendicular to it; returns how many: 1 for
    a point. support_vertex: of a hull, from `find_support_face`."""
    e = wp.transpose(S.R) * d
    count = int(2)
    if S.kind == ShapeKind.BOX:
        k = int(0)
        if wp.abs(e[1]) < wp.abs(e[0]):
            k = 1
        if wp.abs(e[2]) < wp.abs(e[k]):
            k = 2
        bits = (
            wp.where(e[0] > real(0.0), BoxCorner.X, 0)
            + wp.where(e[1] > real(0.0), BoxCorner.Y, 0)
            + wp.where(e[2] > real(0.0), BoxCorner.Z, 0)
        )
        low = bits & (BoxCorner.ALL - (1 << k))
        polygons.corner[at] = _box_corner_of(S, low)
        polygons.corner[at + 1] = _box_corner_of(S, low + (1 << k))
        polygons.number[at] = low
        polygons.number[at + 1] = low + (1 << k)
    elif S.kind == ShapeKind.HULL:
        other = int(support_vertex)
        min_drop = real(2.0)
        i = geo.vertex_neighbour_start[support_vertex]
        while i < geo.vertex_neighbour_start[support_vertex + 1]:
            drop = -wp.dot(wp.normalize(geo.vertex[geo.vertex_neighbour[i]] - geo.vertex[support_vertex]), e)
            if drop < min_drop:
                min_drop = drop
                other = geo.vertex_neighbour[i]
            i += 1
        low = wp.min(support_vertex, other)
        high = wp.max(support_vertex, other)
        polygons.corner[at] = S.x + S.R * geo.vertex[low]
        polygons.corner[at + 1] = S.x + S.R * geo.vertex[high]
        polygons.number[at] = low - geo.hull_vertex_start[S.data]
        polygons.number[at + 1] = high - geo.hull_vertex_start[S.data]
    elif S.kind == ShapeKind.TRIANGLE:
        low = int(0)
        most = real(-1.0e30)
        for k in range(3):  # the edge whose middle is farthest along d
            along = wp.dot(column(S.R, k) + column(S.R, (k + 1) % 3), d)
            if along > most:
                most = along
                low = k
        high = (low + 1) % 3
        polygons.corner[at] = S.x + column(S.R, low)
        polygons.corner[at + 1] = S.x + column(S.R, high)
        polygons.number[at] = low
        polygons.number[at + 1] = high
    elif S.kind == ShapeKind.CAPSULE or (S.kind == ShapeKind.CYLINDER and wp.abs(e[2]) < MAX_SIDE_COSINE):
        count = _write_axis_segment(S, d, polygons, at)
    else:
        polygons.corner[at] = S.x
        polygons.number[at] = 0
        count = 1
    return count
