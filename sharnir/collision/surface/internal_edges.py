"""Triangles of height fields and meshes with their neighbours, and removal of contacts with internal edges (ghost
contacts).

Contacts are computed triangle by triangle, but a ball that rolls over a flat floor must not hit the edges between
triangles: a contact whose normal is not the triangle's own is kept only if it is outward for the whole surface, that
is, if no neighbour of the support edge or vertex reaches farther along the normal. Compare ActiveEdges in Jolt Physics,
btInternalEdgeUtility in Bullet and E. Catto: Ghost collisions (Box2D, 2020).
"""

from __future__ import annotations

import warp as wp

from sharnir.collision.contact_reduction import insert_contact
from sharnir.collision.convex.support_mapping import core_radius, core_support, make_perpendicular
from sharnir.collision.shapes import (
    EdgeFlag,
    Geometry,
    NarrowPhaseContext,
    ShapePose,
    WorldSphere,
    make_contact,
    read_contact,
)
from sharnir.enums import ShapeKind
from sharnir.kernels.types import DOUBLE, mat33, real, vec3

# rad, by which directions may differ and still be the same
TOL_SAME_DIRECTION = wp.constant(real(1.0e-6 if DOUBLE else 1.0e-3))
# relative, by which a triangle is enlarged when points are projected onto it
TRIANGLE_PADDING = wp.constant(real(1.0e-6))
# odd, near 2³² over the golden ratio (Fibonacci hashing)
FEATURE_HASH_MULTIPLIER = wp.constant(wp.uint32(2654435761))
UNLIMITED_DEPTH = wp.constant(real(1.0e30))  # m: no exit found, or any depth allowed
# largest ratio of depth below a triangle to depth of the shortest exit
MAX_RIDGE_DEPTH_RATIO = wp.constant(real(2.0))
# sine of the angle up to which an edge counts as flat for `collide_convex`
MAX_FLAT_EDGE_SINE = wp.constant(real(1.0e-3))


@wp.struct
class SurfaceTriangle:
    """A triangle of a surface with its neighbours; points in the surface's frame, m."""

    index: int  # of the triangle in its surface
    a: vec3
    b: vec3
    c: vec3
    normal: vec3
    vertex_a: int  # indices of the corners in their surface
    vertex_b: int
    vertex_c: int
    opposite_ab: vec3  # the neighbour's third corner across edge a b, if there is a neighbour
    opposite_bc: vec3
    opposite_ca: vec3
    neighbour_bits: int  # bit k: there is a neighbour across edge k


@wp.struct
class SurfaceContext:
    """What is compared with a convex shape at a time: a triangle of a surface."""

    surface: ShapePose
    triangle: SurfaceTriangle
    sphere: WorldSphere  # bounding sphere of the convex shape
    exit_depth: real  # m, depth of the convex shape's shortest exit other than through the triangle's face
    first: int  # first contact of the pair


@wp.func
def field_vertex_of(geo: Geometry, S: ShapePose, row: int, col: int):
    """Position of a height field's vertex, field frame, m."""
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
    """Whether a point v is farther along d than p."""
    return wp.dot(d, v - p) > TOL_SAME_DIRECTION * wp.length(v - p)


@wp.func
def has_field_neighbour_beyond(geo: Geometry, S: ShapePose, vertex: int, d: vec3):
    """Whether a neighbour of a height field's vertex along edges is farther along d than the vertex."""
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
    """Whether a neighbour of a mesh vertex along edges is farther along d than the vertex."""
    p = geo.mesh_vertex[vertex]
    out = bool(False)
    k = geo.mesh_neighbour_start[vertex]
    while k < geo.mesh_neighbour_start[vertex + 1]:
        out = out or is_farther_along(geo.mesh_vertex[geo.mesh_neighbour[k]], p, d)
        k += 1
    return out


@wp.func
def has_neighbour_beyond(geo: Geometry, S: ShapePose, vertex: int, d: vec3):
    """Whether a neighbour of a surface's vertex along edges is farther along d than the vertex."""
    out = bool(False)
    if S.kind == ShapeKind.HEIGHT_FIELD:
        out = has_field_neighbour_beyond(geo, S, vertex, d)
    else:
        out = has_mesh_neighbour_beyond(geo, vertex, d)
    return out


@wp.func
def has_edge_neighbour_beyond(triangle: SurfaceTriangle, k: int, d: vec3):
    """Whether the neighbour across edge k is farther along d than the edge."""
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
    """Whether direction d (surface frame) is outward for the whole surface at the triangle's support vertex or edge
    along d."""
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
    """Bit k: the surface continues across edge k flat or upwards (concave): an internal edge."""
    out = int(0)
    if (triangle.neighbour_bits & EdgeFlag.AB) == EdgeFlag.AB:
        v = triangle.opposite_ab - triangle.a
        out += wp.where(wp.dot(triangle.normal, v) >= -MAX_FLAT_EDGE_SINE * wp.length(v), EdgeFlag.AB, 0)
    if (triangle.neighbour_bits & EdgeFlag.BC) == EdgeFlag.BC:
        v = triangle.opposite_bc - triangle.b
        out += wp.where(wp.dot(triangle.normal, v) >= -MAX_FLAT_EDGE_SINE * wp.length(v), EdgeFlag.BC, 0)
    if (triangle.neighbour_bits & EdgeFlag.CA) == EdgeFlag.CA:
        v = triangle.opposite_ca - triangle.c
        out += wp.where(wp.dot(triangle.normal, v) >= -MAX_FLAT_EDGE_SINE * wp.length(v), EdgeFlag.CA, 0)
    return out


@wp.func
def is_projected_inside(triangle: SurfaceTriangle, p: vec3, up: vec3):
    """Whether the line through p along `up` meets the triangle."""
    ab = wp.dot(wp.cross(triangle.b - triangle.a, p - triangle.a), up)
    bc = wp.dot(wp.cross(triangle.c - triangle.b, p - triangle.b), up)
    ca = wp.dot(wp.cross(triangle.a - triangle.c, p - triangle.c), up)
    min_area = -TRIANGLE_PADDING * (ab + bc + ca)
    return ab >= min_area and bc >= min_area and ca >= min_area


@wp.func
def surface_feature_of(triangle: SurfaceTriangle, feature: int, plane: int):
    """Feature id ≥ 0: a hash of the triangle's index, plane (0: the triangle, 1: its plane) and the feature of the
    pair."""
    which = wp.uint32(2 * triangle.index + plane + 1) * FEATURE_HASH_MULTIPLIER
    return int((which ^ wp.uint32(feature)) & wp.uint32(2147483647))


@wp.func
def make_triangle_pose(S: ShapePose, triangle: SurfaceTriangle):
    """A triangle of S as a convex shape for `collide_convex`."""
    b = S.R * (triangle.b - triangle.a)
    c = S.R * (triangle.c - triangle.a)
    zero = real(0.0)
    out = ShapePose()
    out.kind = ShapeKind.TRIANGLE
    out.data = find_flat_edges(triangle)
    out.x = S.x + S.R * triangle.a
    out.R = mat33(zero, b[0], c[0], zero, b[1], c[1], zero, b[2], c[2])
    return out


@wp.func
def make_half_space_pose(S: ShapePose, triangle: SurfaceTriangle):
    """The half-space below the plane of a triangle of S, as a shape."""
    up = S.R * triangle.normal
    side = make_perpendicular(up)
    other = wp.cross(up, side)
    out = ShapePose()
    out.kind = ShapeKind.HALF_SPACE
    out.x = S.x + S.R * triangle.a
    out.R = mat33(side[0], other[0], up[0], side[1], other[1], up[1], side[2], other[2], up[2])
    return out


@wp.func
def filter_internal_edges(ctx: wp.ref[NarrowPhaseContext], at: SurfaceContext, n: int, end: int):
    """Internal-edge filter: of contacts n to `end`, found with the triangle, keep those that the whole surface has, and
    insert them into those of the pair. Returns the new n, and the number of contacts with the triangle's own normal."""
    S = at.surface
    triangle = at.triangle
    up = S.R * triangle.normal
    origin = S.x + S.R * triangle.a
    face_contacts = int(0)
    k = int(n)
    while k < end:
        contact = read_contact(ctx.contacts, k, ctx.w)
        contact.feature = surface_feature_of(triangle, contact.feature, 0)
        facing = wp.dot(contact.normal, up)
        if facing > real(0.0) and wp.length(contact.normal - up * facing) <= TOL_SAME_DIRECTION:
            on_b = contact.point + contact.normal * (real(0.5) * contact.gap)
            gap = wp.dot(up, on_b - origin)
            if -gap <= MAX_RIDGE_DEPTH_RATIO * at.exit_depth:
                on_face = make_contact(up, on_b - up * (real(0.5) * gap), gap, contact.feature)
                n = insert_contact(ctx.contacts, at.first, n, on_face, at.sphere, ctx.w)
            face_contacts += 1
        elif facing > -TOL_SAME_DIRECTION and is_outer_direction(
            ctx.geo, S, triangle, wp.transpose(S.R) * contact.normal
        ):
            n = insert_contact(ctx.contacts, at.first, n, contact, at.sphere, ctx.w)
        k += 1
    return n, face_contacts


@wp.func
def filter_plane_contacts(ctx: wp.ref[NarrowPhaseContext], at: SurfaceContext, radius: real, n: int, end: int):
    """Of contacts n to `end`, found with the triangle's plane, keep those whose core point is below the triangle, or
    all if the center of the other shape is, and insert them into those of the pair. Returns the new n. radius: m, of
    the other shape's surface about its core."""
    S = at.surface
    triangle = at.triangle
    up = S.R * triangle.normal
    along = triangle.normal
    max_depth = MAX_RIDGE_DEPTH_RATIO * at.exit_depth
    if S.kind == ShapeKind.HEIGHT_FIELD:
        along = vec3(real(0.0), real(0.0), real(1.0))
        max_depth = UNLIMITED_DEPTH
    middle = wp.transpose(S.R) * (at.sphere.center - S.x)
    is_center_below = wp.dot(triangle.normal, middle - triangle.a) <= real(0.0) and is_projected_inside(
        triangle, middle, along
    )
    k = int(n)
    while k < end:
        contact = read_contact(ctx.contacts, k, ctx.w)
        contact.normal = up
        contact.feature = surface_feature_of(triangle, contact.feature, 1)
        gap = contact.gap
        core = wp.transpose(S.R) * (contact.point + up * (real(0.5) * gap + radius) - S.x)
        if is_center_below or (
            gap + radius < real(0.0) and -gap <= max_depth and is_projected_inside(triangle, core, along)
        ):
            n = insert_contact(ctx.contacts, at.first, n, contact, at.sphere, ctx.w)
        k += 1
    return n


@wp.struct
class MinTranslation:
    """Minimum translation out of a surface: the contact used where no triangle gives one."""

    depth: real  # m
    normal: vec3  # unit, world, direction of the translation
    point: vec3  # world, m
    feature: int


@wp.func
def update_min_translation(
    geo: Geometry, S: ShapePose, triangle: SurfaceTriangle, B: ShapePose, normal: vec3, best: MinTranslation
):
    """The shorter of `best` and the translation of B out of a triangle of S along a unit normal (world)."""
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
