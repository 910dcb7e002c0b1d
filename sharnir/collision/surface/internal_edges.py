"""A triangle of a height field or mesh, what surrounds it there, and which points of it belong to the whole surface.

Triangles are found one by one, but a ball that rolls over a flat floor must not feel the seams between them: what a
single triangle would answer with the side of an edge is refused unless the whole surface has that side too, that is,
unless no neighbour of the edge or corner that is farthest along the normal reaches farther.
"""

from __future__ import annotations

import warp as wp

from sharnir.collision.contact_reduction import Ball, keep_point
from sharnir.collision.convex.support_mapping import any_normal, core_radius, core_support
from sharnir.collision.shapes import Found, Geometry, Placed
from sharnir.enums import HALF_SPACE, HEIGHT_FIELD, TRIANGLE
from sharnir.kernels.columns import get, get3, get_int
from sharnir.kernels.types import DOUBLE, mat33, real, vec3

TILT = wp.constant(real(1.0e-6 if DOUBLE else 1.0e-3))  # rad, by which directions may differ and still be the same
RIM = wp.constant(real(1.0e-6))  # by which a triangle is enlarged when points above or below it are sought
SPREAD = wp.constant(wp.uint32(2654435761))  # odd, near 2³² over the golden ratio: numbers times it are far apart
FAR_BELOW = wp.constant(real(1.0e30))
RIDGE = wp.constant(real(2.0))  # how much deeper than for its neighbours something may be for a triangle
FLAT_EDGE = wp.constant(real(1.0e-3))  # sine of the angle up to which an edge counts as flat for `touch`


@wp.struct
class Patch:
    """A triangle and its neighbourhood; points are in the frame of the surface, m."""

    number: int  # of the triangle in its surface
    a: vec3
    b: vec3
    c: vec3
    normal: vec3
    at_a: int  # numbers of the corners in their surface
    at_b: int
    at_c: int
    across_ab: vec3  # the neighbour's third corner, where there is one
    across_bc: vec3
    across_ca: vec3
    shared: int  # bit k: there is a neighbour across edge k


@wp.func
def field_vertex(geo: Geometry, S: Placed, row: int, col: int):
    """A point of a height field's surface, its frame, m."""
    field = S.data
    rows = geo.field_rows[field] - 1
    columns = geo.field_columns[field] - 1
    return vec3(
        S.size[0] * (real(2 * row) / real(rows) - real(1.0)),
        S.size[1] * (real(2 * col) / real(columns) - real(1.0)),
        geo.height[geo.field_start[field] + row * (columns + 1) + col],
    )


@wp.func
def beyond(v: vec3, p: vec3, m: vec3):
    """Whether a point v is farther along m than p."""
    return wp.dot(m, v - p) > TILT * wp.length(v - p)


@wp.func
def field_ring_beyond(geo: Geometry, S: Placed, vertex: int, m: vec3):
    columns = geo.field_columns[S.data]
    row = vertex / columns
    col = vertex - row * columns
    p = field_vertex(geo, S, row, col)
    out = bool(False)
    i = int(-1)
    while i <= 1:
        j = int(-1)
        while j <= 1:
            near = i + j != 0 or i == j  # edges run along rows, columns and one diagonal
            near = near and row + i >= 0 and row + i < geo.field_rows[S.data] and col + j >= 0 and col + j < columns
            if near and (i != 0 or j != 0):
                out = out or beyond(field_vertex(geo, S, row + i, col + j), p, m)
            j += 1
        i += 1
    return out


@wp.func
def mesh_ring_beyond(geo: Geometry, vertex: int, m: vec3):
    p = geo.mesh_vertex[vertex]
    out = bool(False)
    k = geo.mesh_ring[vertex]
    while k < geo.mesh_ring[vertex + 1]:
        out = out or beyond(geo.mesh_vertex[geo.mesh_near[k]], p, m)
        k += 1
    return out


@wp.func
def ring_beyond(geo: Geometry, S: Placed, vertex: int, m: vec3):
    """Whether a neighbour of a vertex along edges is farther along m than it."""
    out = bool(False)
    if S.kind == HEIGHT_FIELD:
        out = field_ring_beyond(geo, S, vertex, m)
    else:
        out = mesh_ring_beyond(geo, vertex, m)
    return out


@wp.func
def edge_beyond(patch: Patch, k: int, m: vec3):
    """Whether the neighbour across edge k is farther along m than the edge."""
    out = bool(False)
    if (patch.shared >> k) & 1 == 1:
        if k == 0:
            out = beyond(patch.across_ab, patch.a, m)
        elif k == 1:
            out = beyond(patch.across_bc, patch.b, m)
        else:
            out = beyond(patch.across_ca, patch.c, m)
    return out


@wp.func
def is_side(geo: Geometry, S: Placed, patch: Patch, m: vec3):
    """Whether the surface has an outside along m where the triangle does: at its corner or edge farthest along m."""
    la = wp.dot(m, patch.b - patch.a)
    lb = wp.dot(m, patch.c - patch.b)
    lc = wp.dot(m, patch.a - patch.c)
    ab = wp.abs(la) <= TILT * wp.length(patch.b - patch.a)
    bc = wp.abs(lb) <= TILT * wp.length(patch.c - patch.b)
    ca = wp.abs(lc) <= TILT * wp.length(patch.a - patch.c)
    out = bool(False)
    if ab and lb <= real(0.0) and lc >= real(0.0):
        out = not edge_beyond(patch, 0, m)
    elif bc and lc <= real(0.0) and la >= real(0.0):
        out = not edge_beyond(patch, 1, m)
    elif ca and la <= real(0.0) and lb >= real(0.0):
        out = not edge_beyond(patch, 2, m)
    elif la <= real(0.0) and lc >= real(0.0):
        out = not ring_beyond(geo, S, patch.at_a, m)
    elif lb <= real(0.0) and la >= real(0.0):
        out = not ring_beyond(geo, S, patch.at_b, m)
    else:
        out = not ring_beyond(geo, S, patch.at_c, m)
    return out


@wp.func
def flat_edges(patch: Patch):
    """Bit k: the surface goes on across edge k, flat or upwards."""
    out = int(0)
    if (patch.shared & 1) == 1:
        v = patch.across_ab - patch.a
        out += wp.where(wp.dot(patch.normal, v) >= -FLAT_EDGE * wp.length(v), 1, 0)
    if (patch.shared & 2) == 2:
        v = patch.across_bc - patch.b
        out += wp.where(wp.dot(patch.normal, v) >= -FLAT_EDGE * wp.length(v), 2, 0)
    if (patch.shared & 4) == 4:
        v = patch.across_ca - patch.c
        out += wp.where(wp.dot(patch.normal, v) >= -FLAT_EDGE * wp.length(v), 4, 0)
    return out


@wp.func
def over(patch: Patch, p: vec3, up: vec3):
    """Whether a line along `up` through p meets the triangle."""
    ab = wp.dot(wp.cross(patch.b - patch.a, p - patch.a), up)
    bc = wp.dot(wp.cross(patch.c - patch.b, p - patch.b), up)
    ca = wp.dot(wp.cross(patch.a - patch.c, p - patch.c), up)
    least = -RIM * (ab + bc + ca)
    return ab >= least and bc >= least and ca >= least


@wp.func
def feature_of(patch: Patch, feature: int, plane: int):
    """One number, ≥ 0, of a triangle and what touches it, or its plane."""
    which = wp.uint32(2 * patch.number + plane + 1) * SPREAD
    return int((which ^ wp.uint32(feature)) & wp.uint32(2147483647))


@wp.func
def triangle_of(S: Placed, patch: Patch):
    """A patch of S as `touch` takes it."""
    b = S.R * (patch.b - patch.a)
    c = S.R * (patch.c - patch.a)
    zero = real(0.0)
    out = Placed()
    out.kind = TRIANGLE
    out.data = flat_edges(patch)
    out.x = S.x + S.R * patch.a
    out.R = mat33(zero, b[0], c[0], zero, b[1], c[1], zero, b[2], c[2])
    return out


@wp.func
def plane_of(S: Placed, patch: Patch):
    """All that is below the plane of a patch of S."""
    up = S.R * patch.normal
    side = any_normal(up)
    other = wp.cross(up, side)
    out = Placed()
    out.kind = HALF_SPACE
    out.x = S.x + S.R * patch.a
    out.R = mat33(side[0], other[0], up[0], side[1], other[1], up[1], side[2], other[2], up[2])
    return out


@wp.func
def sift_triangle(
    geo: Geometry, S: Placed, patch: Patch, ball: Ball, depth: real, found: Found, first: int, n: int, end: int, w: int
):  # fmt: skip
    """Of the points from n to `end`, found with the triangle, keep those the whole surface has, among those of the pair
    from `first` on.
    Returns the new n, and how many have the triangle's own normal. depth: m, of
    the other shape beside the triangle."""
    up = S.R * patch.normal
    origin = S.x + S.R * patch.a
    flat = int(0)
    k = int(n)
    while k < end:
        m = get3(found.normal, k, w)
        p = get3(found.point, k, w)
        gap = get(found.gap, k, w)
        feature = feature_of(patch, get_int(found.feature, k, w), 0)
        facing = wp.dot(m, up)
        if facing > real(0.0) and wp.length(m - up * facing) <= TILT:
            on_b = p + m * (real(0.5) * gap)
            gap = wp.dot(up, on_b - origin)
            if -gap <= RIDGE * depth:
                n = keep_point(found, first, n, up, on_b - up * (real(0.5) * gap), gap, feature, ball, w)
            flat += 1
        elif facing > -TILT and is_side(geo, S, patch, wp.transpose(S.R) * m):
            n = keep_point(found, first, n, m, p, gap, feature, ball, w)
        k += 1
    return n, flat


@wp.func
def sift_plane(
    S: Placed, patch: Patch, ball: Ball, depth: real, around: real, found: Found, first: int, n: int, end: int, w: int
):  # fmt: skip
    """As `sift_triangle`, of points found with the triangle's plane those whose core is below the triangle; all if the
    middle of the other shape is there. around: m, radius of that shape's surface about its core."""
    up = S.R * patch.normal
    along = patch.normal
    most = RIDGE * depth
    if S.kind == HEIGHT_FIELD:
        along = vec3(real(0.0), real(0.0), real(1.0))
        most = FAR_BELOW
    middle = wp.transpose(S.R) * (ball.center - S.x)
    sunk = wp.dot(patch.normal, middle - patch.a) <= real(0.0) and over(patch, middle, along)
    k = int(n)
    while k < end:
        p = get3(found.point, k, w)
        gap = get(found.gap, k, w)
        feature = feature_of(patch, get_int(found.feature, k, w), 1)
        core = wp.transpose(S.R) * (p + up * (real(0.5) * gap + around) - S.x)
        if sunk or (gap + around < real(0.0) and -gap <= most and over(patch, core, along)):
            n = keep_point(found, first, n, up, p, gap, feature, ball, w)
        k += 1
    return n


@wp.struct
class WayOut:
    """A point where two shapes overlap that no triangle on its own accounts for."""

    depth: real  # m
    normal: vec3
    point: vec3  # world, m
    feature: int


@wp.func
def way_out(geo: Geometry, S: Placed, patch: Patch, B: Placed, normal: vec3, best: WayOut):
    """The shorter one of `best` and the way out of a triangle along a normal."""
    out = best
    local = wp.transpose(S.R) * normal
    top = wp.max(wp.max(wp.dot(local, patch.a), wp.dot(local, patch.b)), wp.dot(local, patch.c))
    lowest = core_support(geo, B, -normal) - normal * core_radius(B)
    depth = top - wp.dot(normal, lowest - S.x)
    if depth < best.depth:
        out.depth = depth
        out.normal = normal
        out.point = lowest + normal * (real(0.5) * depth)
        out.feature = feature_of(patch, 0, 1)
    return out
