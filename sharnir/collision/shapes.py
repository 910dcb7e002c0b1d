"""Device structs of shapes, posed shapes and contact lists."""

from __future__ import annotations

from enum import IntFlag

import warp as wp

from sharnir.kernels.columns import get, get3, get_int, ints2, put, put3, put_int
from sharnir.kernels.types import array2, mat33, real, vec3
from sharnir.kernels.vector_ops import indices

TRIANGLE_CORNERS = 3  # entries of a triangle in Geometry.mesh_triangle_vertex and mesh_opposite_vertex


class EdgeFlag(IntFlag):
    """Edges of a triangle a b c, as a set."""

    AB = 1
    BC = 2
    CA = 4


@wp.struct
class Geometry:
    """The shapes of a model with the hulls, height fields and meshes they refer to."""

    count: int
    kind: indices  # [shape] ShapeKind
    link: indices  # [shape] −1 for the world
    rot: wp.array(dtype=mat33)  # [shape] axes in the link frame
    pos: wp.array(dtype=vec3)  # [shape] origin in the link frame, m
    size: wp.array(dtype=vec3)  # [shape] half-extents of a box; radius and half length; radius; m
    box_center: wp.array(dtype=vec3)  # [shape] center of the bounding box along its axes, shape frame, m
    box_half: wp.array(dtype=vec3)  # [shape] half-extents of that box, m
    bounding_radius: wp.array(dtype=real)  # [shape] of the bounding sphere about its origin, m; 0 for half-spaces
    data: indices  # [shape] index of its hull, height field or mesh
    hull_vertex_start: indices  # [hull + 1] first of its vertices
    hull_face_start: indices  # [hull + 1] first of its faces
    vertex_neighbour_start: indices  # [vertex + 1] first of its neighbours along edges, in `vertex_neighbour`
    vertex_neighbour: indices  # vertices, counted over all hulls
    vertex: wp.array(dtype=vec3)  # [vertex] m, shape frame
    hull_cell_start: indices  # [hull + 1] first of its cells of the support table, see sharnir.geometry.support_table
    cell_vertex_start: indices  # [cell + 1] first of its support candidates
    cell_vertex_position: wp.array(dtype=vec3)  # positions of the support candidates, m, shape frame
    cell_vertex: indices  # their indices in `vertex`
    vertex_face_start: indices  # [vertex + 1] first of the faces around it, in `vertex_face`
    vertex_face: indices  # faces, counted over all hulls
    face_corner_start: indices  # [face + 1] first of its corners, in `face_vertex`
    face_vertex: indices  # vertices, counted over all hulls, counter-clockwise seen from outside
    face_normal: wp.array(dtype=vec3)  # [face] outward, shape frame
    field_start: indices  # [field] first of its heights
    field_rows: indices  # [field] along x
    field_columns: indices  # [field] along y
    height: wp.array(dtype=real)  # m, row by row
    mesh_node_start: indices  # [mesh + 1] first node of its BVH, depth first
    node_low: wp.array(dtype=vec3)  # [node] m, shape frame
    node_high: wp.array(dtype=vec3)  # [node] m, shape frame
    node_skip: indices  # [node] next node if its box is missed (skip link)
    node_first: indices  # [node] first triangle of a leaf
    node_count: indices  # [node] triangles of a leaf, 0 of other nodes
    mesh_vertex: wp.array(dtype=vec3)  # [mesh vertex] m, shape frame
    mesh_triangle_vertex: indices  # [3 triangle] mesh vertices, counter-clockwise seen from outside
    # [3 triangle] the neighbour's third vertex across edge k → k + 1; −1: none, or several
    mesh_opposite_vertex: indices
    mesh_neighbour_start: indices  # [mesh vertex + 1] first of its neighbours along edges, in `mesh_neighbour`
    mesh_neighbour: indices  # mesh vertices


@wp.struct
class ShapePose:
    """A shape with its world pose."""

    kind: int
    # index of its hull, height field or mesh; of a TRIANGLE bits of its edges, see sharnir.collision.convex.triangle
    data: int
    R: mat33  # its axes in the world
    x: vec3  # its origin in the world, m
    size: vec3  # as in `Geometry`


@wp.struct
class ContactList:
    """Contacts found so far, a workspace [item, column]."""

    capacity: int  # contacts there is room for
    normal: array2  # [3 point] from the first shape to the second, unit length, world axes
    point: array2  # [3 point] halfway between the two surfaces, world, m
    gap: array2  # [point] from the first surface to the second along the normal, m; negative: they overlap
    feature: ints2  # [point] feature id: the same as long as the same features touch


@wp.struct
class ContactPoint:
    """One contact of two shapes."""

    normal: vec3  # from the first shape to the second, unit length, world axes
    point: vec3  # halfway between the two surfaces, world, m
    gap: real  # from the first surface to the second along the normal, m; negative: they overlap
    feature: int  # feature id: the same as long as the same features touch


@wp.struct
class NarrowPhaseContext:
    """What the narrow phase of a pair needs besides the two shapes."""

    geo: Geometry
    contacts: ContactList  # to which contacts are appended
    margin: real  # m, contacts with a smaller gap are found
    flip: real  # −1 where the shapes were swapped: normals are stored reversed; else 1
    origin: vec3  # world, m, about which the poses of the pair are given
    w: int


@wp.struct
class WorldSphere:
    """A sphere: of a round shape, or the bounding sphere of the convex shape of a pair, as length scale."""

    center: vec3  # world, m
    radius: real  # m


@wp.func
def make_contact(normal: vec3, point: vec3, gap: real, feature: int):
    """A contact of these four parts."""
    out = ContactPoint()
    out.normal = normal
    out.point = point
    out.gap = gap
    out.feature = feature
    return out


@wp.func
def make_narrow_phase_context(geo: Geometry, contacts: ContactList, w: int):
    """The context of pairs in the order given, posed about the world's origin; `margin` is to be set for each."""
    out = NarrowPhaseContext()
    out.geo = geo
    out.contacts = contacts
    out.flip = real(1.0)
    out.w = w
    return out


@wp.func
def make_sphere(center: vec3, radius: real):
    """A sphere about a center (world, m) with a radius (m)."""
    out = WorldSphere()
    out.center = center
    out.radius = radius
    return out


@wp.func
def read_contact(contacts: ContactList, k: int, w: int):
    """Contact k."""
    return make_contact(
        get3(contacts.normal, k, w),
        get3(contacts.point, k, w),
        get(contacts.gap, k, w),
        get_int(contacts.feature, k, w),
    )


@wp.func
def write_contact(contacts: ContactList, k: int, contact: ContactPoint, w: int):
    """Write contact k."""
    put3(contacts.normal, k, w, contact.normal)
    put3(contacts.point, k, w, contact.point)
    put(contacts.gap, k, w, contact.gap)
    put_int(contacts.feature, k, w, contact.feature)


@wp.func
def append_contact(contacts: ContactList, n: int, contact: ContactPoint, w: int):
    """Append contact n if there is room; returns n + 1, stored or not."""
    if n < contacts.capacity:
        write_contact(contacts, n, contact, w)
    return n + 1
