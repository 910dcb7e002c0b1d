"""A triangle of a height field or mesh, what surrounds it there, and which points of it belong to the whole surface.

Triangles are found one by one, but a ball that rolls over a flat floor must not feel the seams between them: what a
single triangle would answer with the side of an edge is refused unless the whole surface has that side too, that is,
unless no neighbour of the edge or corner that is farthest along the normal reaches farther.
"""

from __future__ import annotations

import warp as wp

from sharnir.collision.contact_reduction import WorldSphere, insert_contact
from sharnir.collision.convex.support_mapping import core_radius, core_support, make_perpendicular
from sharnir.collision.shapes import ContactList, Geometry, ShapePose
from sharnir.enums import HALF_SPACE, HEIGHT_FIELD, TRIANGLE
from sharnir.kernels.columns import get, get3, get_int
from sharnir.kernels.types import DOUBLE, mat33, real, vec3

TOL_SAME_DIRECTION = wp.constant(
    real(1.0e-6 if DOUBLE else 1.0e-3)
)  # rad, by which directions may differ and still be the same
TRIANGLE_PADDING = wp.constant(real(1.0e-6))  # by which a triangle is enlarged when points above or below it are sought
FEATURE_HASH_MULTIPLIER = wp.constant(
    wp.uint32(2654435761)
)  # odd, near 2³² over the golden ratio: numbers times it are far apart
UNLIMITED_DEPTH = wp.constant(real(1.0e30))
MAX_RIDGE_DEPTH_RATIO = wp.constant(
    real(2.0)
)  # how much deeper than for its neighbours something may be for a triangle
MAX_FLAT_EDGE_SINE = wp.constant(real(1.0e-3))  # sine of the angle up to which an edge counts as flat for `touch`


@wp.struct
class SurfaceTriangle:
    """A triangle and its neighbourhood; points are in the frame of the surface, m."""

    index: int  # of the triangle in its surface
    a: vec3
    b: vec3
    c: vec3
    normal: vec3
    vertex_a: int  # numbers of the corners in their surface
    vertex_b: int
    vertex_c: int
    opposite_ab: vec3  # the neighbour's third corner, where there is one
    opposite_bc: vec3
    opposite_ca: vec3
    neighbour_bits: int  # bit k: there is a neighbour across edge k


@wp.func
def field_vertex_of(geo: Geometry, S: ShapePose, row: int, col: int):
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
def is_farther_along(v: vec3, p: vec3, d: vec3):
    """Whether a point v is farther along m than p."""
    return wp.dot(d, v - p) > TOL_SAME_DIRECTION * wp.length(v - p)


@wp.func
def has_field_neighbour_beyond(geo: Geometry, S: ShapePose, vertex: int, d: vec3):
    columns = geo.field_columns[S.data]
    row = vertex / columns
    col = vertex - row * columns
    p = field_vertex_of(geo, S, row, col)
    out = bool(False)
    i = int(-1)
    while i <= 1:
        j = int(-1)
        while j <= 1:
            near = i + j != 0 or i == j  # edges run along rows, columns and one diagonal
            near = near and row + i >= 0 and row + i < geo.field_rows[S.data] and col + j >= 0 and col + j < columns
            if near and (i != 0 or j != 0):
                out = out or is_farther_along(field_vertex_of(geo, S, row + i, col + j), p, d)
            j += 1
        i += 1
    return out


@wp.func
def has_mesh_neighbour_beyond(geo: Geometry, vertex: int, d: vec3):
    p = geo.mesh_vertex[vertex]
    out = bool(False)
    k = geo.mesh_neighbour_start[vertex]
    while k < geo.mesh_neighbour_start[vertex + 1]:
        out = out or is_farther_along(geo.mesh_vertex[geo.mesh_neighbour[k]], p, d)
        k += 1
    return out


@wp.func
def has_neighbour_beyond(geo: Geometry, S: ShapePose, vertex: int, d: vec3):
    """Whether a neighbour of a vertex along edges is farther along m than it."""
    out = bool(False)
    if S.kind == HEIGHT_FIELD:
        out = has_field_neighbour_beyond(geo, S, vertex, d)
    else:
        out = has_mesh_neighbour_beyond(geo, vertex, d)
    return out


@wp.func
def has_edge_neighbour_beyond(triangle: SurfaceTriangle, k: int, d: vec3):
    """Whether the neighbour across edge k is farther along m than the edge."""
    out = bool(False)
    if (triangle.neighbour_bits >> k) & 1 == 1:
        if k == 0:
            out = is_farther_along(triangle.opposite_ab, triangle.a, d)
        elif k == 1:
            out = is_farther_along(triangle.opposite_bc, triangle.b, d)
        else:
            out = is_farther_along(triangle.opposite_ca, triangle.c, d)
    return out


@wp.func
def is_outer_direction(geo: Geometry, S: ShapePose, triangle: SurfaceTriangle, d: vec3):
    """Whether the surface has an outside along m where the triangle does: at its corner or edge farthest along m."""
    la = wp.dot(d, triangle.b - triangle.a)
    lb = wp.dot(d, triangle.c - triangle.b)
    lc = wp.dot(d, triangle.a - triangle.c)
    ab = wp.abs(la) <= TOL_SAME_DIRECTION * wp.length(triangle.b - triangle.a)
    bc = wp.abs(lb) <= TOL_SAME_DIRECTION * wp.length(triangle.c - triangle.b)
    ca = wp.abs(lc) <= TOL_SAME_DIRECTION * wp.length(triangle.a - triangle.c)
    out = bool(False)
    if ab and lb <= real(0.0) and lc >= real(0.0):
        out = not has_edge_neighbour_beyond(triangle, 0, d)
    elif bc and lc <= real(0.0) and la >= real(0.0):
        out = not has_edge_neighbour_beyond(triangle, 1, d)
    elif ca and la <= real(0.0) and lb >= real(0.0):
        out = not has_edge_neighbour_beyond(triangle, 2, d)
    elif la <= real(0.0) and lc >= real(0.0):
        out = not has_neighbour_beyond(geo, S, triangle.vertex_a, d)
    elif lb <= real(0.0) and la >= real(0.0):
        out = not has_neighbour_beyond(geo, S, triangle.vertex_b, d)
    else:
        out = not has_neighbour_beyond(geo, S, triangle.vertex_c, d)
    return out


@wp.func
def find_flat_edges(triangle: SurfaceTriangle):
    """Bit k: the surface goes on across edge k, flat or upwards."""
    out = int(0)
    if (triangle.neighbour_bits & 1) == 1:
        v = triangle.opposite_ab - triangle.a
        out += wp.where(wp.dot(triangle.normal, v) >= -MAX_FLAT_EDGE_SINE * wp.length(v), 1, 0)
    if (triangle.neighbour_bits & 2) == 2:
        v = triangle.opposite_bc - triangle.b
        out += wp.where(wp.dot(triangle.normal, v) >= -MAX_FLAT_EDGE_SINE * wp.length(v), 2, 0)
    if (triangle.neighbour_bits & 4) == 4:
        v = triangle.opposite_ca - triangle.c
        out += wp.where(wp.dot(triangle.normal, v) >= -MAX_FLAT_EDGE_SINE * wp.length(v), 4, 0)
    return out


@wp.func
def is_projected_inside(triangle: SurfaceTriangle, p: vec3, up: vec3):
    """Whether a line along `up` through p meets the triangle."""
    ab = wp.dot(wp.cross(triangle.b - triangle.a, p - triangle.a), up)
    bc = wp.dot(wp.cross(triangle.c - triangle.b, p - triangle.b), up)
    ca = wp.dot(wp.cross(triangle.a - triangle.c, p - triangle.c), up)
    min_area = -TRIANGLE_PADDING * (ab + bc + ca)
    return ab >= min_area and bc >= min_area and ca >= min_area


@wp.func
def surface_feature_of(triangle: SurfaceTriangle, feature: int, plane: int):
    """One number, ≥ 0, of a triangle and what touches it, or its plane."""
    which = wp.uint32(2 * triangle.index + plane + 1) * FEATURE_HASH_MULTIPLIER
    return int((which ^ wp.uint32(feature)) & wp.uint32(2147483647))


@wp.func
def make_triangle_pose(S: ShapePose, triangle: SurfaceTriangle):
    """A patch of S as `touch` takes it."""
    b = S.R * (triangle.b - triangle.a)
    c = S.R * (triangle.c - triangle.a)
    zero = real(0.0)
    out = ShapePose()
    out.kind = TRIANGLE
    out.data = find_flat_edges(triangle)
    out.x = S.x + S.R * triangle.a
    out.R = mat33(zero, b[0], c[0], zero, b[1], c[1], zero, b[2], c[2])
    return out


@wp.func
def make_half_space_pose(S: ShapePose, triangle: SurfaceTriangle):
    """All that is below the plane of a patch of S."""
    up = S.R * triangle.normal
    side = make_perpendicular(up)
    other = wp.cross(up, side)
    out = ShapePose()
    out.kind = HALF_SPACE
    out.x = S.x + S.R * triangle.a
    out.R = mat33(side[0], other[0], up[0], side[1], other[1], up[1], side[2], other[2], up[2])
    return out


@wp.func
def filter_internal_edges(
    geo: Geometry, S: ShapePose, triangle: SurfaceTriangle, sphere: WorldSphere, exit_depth: real, contacts: ContactList, first: int, n: int, end: int, w: int
):  # fmt: skip
    """Of the points from n to `end`, found with the triangle, keep those the whole surface has, among those of the pair
    from `first` on.
    Returns the new n, and how many have the triangle's own normal. depth: m, of
    the other shape beside the triangle."""
    up = S.R * triangle.normal
    origin = S.x + S.R * triangle.a
    face_contacts = int(0)
    k = int(n)
    while k < end:
        normal = get3(contacts.normal, k, w)
        p = get3(contacts.point, k, w)
        gap = get(contacts.gap, k, w)
        feature = surface_feature_of(triangle, get_int(contacts.feature, k, w), 0)
        facing = wp.dot(normal, up)
        if facing > real(0.0) and wp.length(normal - up * facing) <= TOL_SAME_DIRECTION:
            on_b = p + normal * (real(0.5) * gap)
            gap = wp.dot(up, on_b - origin)
            if -gap <= MAX_RIDGE_DEPTH_RATIO * exit_depth:
                n = insert_contact(contacts, first, n, up, on_b - up * (real(0.5) * gap), gap, feature, sphere, w)
            face_contacts += 1
        elif facing > -TOL_SAME_DIRECTION and is_outer_direction(geo, S, triangle, wp.transpose(S.R) * normal):
            n = insert_contact(contacts, first, n, normal, p, gap, feature, sphere, w)
        k += 1
    return n, face_contacts


@wp.func
def filter_plane_contacts(
    S: ShapePose, triangle: SurfaceTriangle, sphere: WorldSphere, exit_depth: real, radius: real, contacts: ContactList, first: int, n: int, end: int, w: int
):  # fmt: skip
    """As `sift_triangle`, of points found with the triangle's plane those whose core is below the triangle; all if the
    middle of the other shape is there. around: m, radius of that shape's surface about its core."""
    up = S.R * triangle.normal
    along = triangle.normal
    max_depth = MAX_RIDGE_DEPTH_RATIO * exit_depth
    if S.kind == HEIGHT_FIELD:
        along = vec3(real(0.0), real(0.0), real(1.0))
        max_depth = UNLIMITED_DEPTH
    middle = wp.transpose(S.R) * (sphere.center - S.x)
    is_center_below = wp.dot(triangle.normal, middle - triangle.a) <= real(0.0) and is_projected_inside(
        triangle, middle, along
    )
    k = int(n)
    while k < end:
        p = get3(contacts.point, k, w)
        gap = get(contacts.gap, k, w)
        feature = surface_feature_of(triangle, get_int(contacts.feature, k, w), 1)
        core = wp.transpose(S.R) * (p + up * (real(0.5) * gap + radius) - S.x)
        if is_center_below or (
            gap + radius < real(0.0) and -gap <= max_depth and is_projected_inside(triangle, core, along)
        ):
            n = insert_contact(contacts, first, n, up, p, gap, feature, sphere, w)
        k += 1
    return n


@wp.struct
class MinTranslation:
    """A point where two shapes overlap that no triangle on its own accounts for."""

    depth: real  # m
    normal: vec3
    point: vec3  # world, m
    feature: int


@wp.func
def update_min_translation(
    geo: Geometry, S: ShapePose, triangle: SurfaceTriangle, B: ShapePose, normal: vec3, best: MinTranslation
):
    """The shorter one of `best` and the way out of a triangle along a normal."""
    out = best
    local = wp.transpose(S.R) * normal
    top = wp.max(wp.max(wp.dot(local, triangle.a), wp.dot(local, triangle.b)), wp.dot(local, triangle.c))
    lowest = core_support(geo, B, -normal) - normal * core_radius(B)
    depth = top - wp.dot(normal, lowest - S.x)
    if depth < best.depth:
        out.depth = depth
        out.normal = normal
        out.point = lowest + normal * (real(0.5) * depth)
        out.feature = surface_feature_of(triangle, 0, 1)
    return out
