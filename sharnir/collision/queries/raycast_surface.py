"""Where a ray first meets a height field or a mesh, in the shape's frame."""

from __future__ import annotations

import warp as wp

from sharnir.collision.queries.raycast_convex import FAR, LEVEL, Hit, between_planes, entered, hit, miss, whole_ray
from sharnir.collision.shapes import Geometry, Placed
from sharnir.kernels.types import DOUBLE, real, vec3

EDGE = wp.constant(real(1.0e-12 if DOUBLE else 1.0e-6))  # by which triangles are enlarged: rays do not slip between
STEEP = wp.constant(real(1.0e-30))


@wp.func
def height_at(geo: Geometry, field: int, row: int, column: int):
    return geo.height[geo.field_start[field] + row * geo.field_columns[field] + column]


@wp.func
def cell_of(x: real, half: real, cells: int):
    """Number of the cell that holds a coordinate, the nearest one if none does."""
    return wp.clamp(int(wp.floor((x + half) / (real(2.0) * half) * real(cells))), 0, cells - 1)


@wp.func
def half_plane(geo: Geometry, shape: Placed, i: int, j: int, upper: bool):
    """(height at the corner (i, j), slope along x, slope along y) of one of the two triangles of a cell."""
    dx = real(2.0) * shape.size[0] / real(geo.field_rows[shape.data] - 1)
    dy = real(2.0) * shape.size[1] / real(geo.field_columns[shape.data] - 1)
    corner = height_at(geo, shape.data, i, j)
    far = height_at(geo, shape.data, i + 1, j + 1)
    side = real(0.0)
    out = vec3()
    if upper:
        side = height_at(geo, shape.data, i, j + 1)
        out = vec3(corner, (far - side) / dx, (side - corner) / dy)
    else:
        side = height_at(geo, shape.data, i + 1, j)
        out = vec3(corner, (side - corner) / dx, (far - side) / dy)
    return out


@wp.func
def cast_half(plane: vec3, x0: real, y0: real, o: vec3, d: vec3, start: real, end: real):
    """A ray from above, from start to end over one triangle of a cell whose corner is at x0, y0."""
    slope = vec3(-plane[1], -plane[2], real(1.0))
    above = wp.dot(slope, o - vec3(x0, y0, plane[0]))
    rate = wp.dot(slope, d)
    out = miss()
    first = above + rate * start
    last = above + rate * end
    if last <= real(0.0) and end >= start:
        t = start
        if first > real(0.0):
            t = start + (end - start) * first / (first - last)
        out = hit(t, wp.normalize(slope))
    return out


@wp.func
def cast_cell(geo: Geometry, shape: Placed, i: int, j: int, o: vec3, d: vec3, start: real, end: real):
    """A ray from start to end over the cell (i, j)."""
    dx = real(2.0) * shape.size[0] / real(geo.field_rows[shape.data] - 1)
    dy = real(2.0) * shape.size[1] / real(geo.field_columns[shape.data] - 1)
    x0 = -shape.size[0] + real(i) * dx
    y0 = -shape.size[1] + real(j) * dy
    aside = (o[1] - y0) / dy - (o[0] - x0) / dx  # of the diagonal, positive over the upper triangle
    rate = d[1] / dy - d[0] / dx
    cross = end
    if wp.abs(rate) > STEEP:
        cross = wp.clamp(-aside / rate, start, end)
    upper = aside + rate * (start + cross) * real(0.5) > real(0.0)
    out = cast_half(half_plane(geo, shape, i, j, upper), x0, y0, o, d, start, cross)
    if out.distance == FAR and cross < end:
        upper = aside + rate * (cross + end) * real(0.5) > real(0.0)
        out = cast_half(half_plane(geo, shape, i, j, upper), x0, y0, o, d, cross, end)
    return out


@wp.func
def wall_after(x: real, rate: real, half: real, step: real, cell: int):
    """Where a ray leaves a cell along one axis."""
    t = FAR
    if rate > STEEP:
        t = (-half + real(cell + 1) * step - x) / rate
    elif rate < -STEEP:
        t = (-half + real(cell) * step - x) / rate
    return t


@wp.func
def cast_field(geo: Geometry, shape: Placed, o: vec3, d: vec3, most: real):
    """A ray against a height field, solid below its surface and inside of its rim."""
    rows = geo.field_rows[shape.data] - 1
    columns = geo.field_columns[shape.data] - 1
    dx = real(2.0) * shape.size[0] / real(rows)
    dy = real(2.0) * shape.size[1] / real(columns)
    span = between_planes(between_planes(whole_ray(), 0, shape.size[0], o, d), 1, shape.size[1], o, d)
    out = miss()
    t = wp.max(span.start, real(0.0))
    end = wp.min(span.end, most)
    if t <= end:
        i = cell_of(o[0] + d[0] * t, shape.size[0], rows)
        j = cell_of(o[1] + d[1] * t, shape.size[1], columns)
        below = cast_cell(geo, shape, i, j, o, d, t, t)
        if below.distance < FAR:  # under the surface where the ray begins, or where it comes in through the rim
            span.end = wp.max(span.end, t)
            out = entered(span, d)
        while out.distance == FAR and t < end and i >= 0 and j >= 0 and i < rows and j < columns:
            along_x = wall_after(o[0], d[0], shape.size[0], dx, i)
            along_y = wall_after(o[1], d[1], shape.size[1], dy, j)
            leave = wp.min(wp.max(wp.min(along_x, along_y), t), end)
            out = cast_cell(geo, shape, i, j, o, d, t, leave)
            if along_x <= along_y:
                i += wp.where(d[0] > real(0.0), 1, -1)
            else:
                j += wp.where(d[1] > real(0.0), 1, -1)
            if along_x == FAR and along_y == FAR:
                i = -1
            t = leave
    return out


@wp.func
def cast_triangle(a: vec3, b: vec3, c: vec3, o: vec3, d: vec3):
    """A ray against a triangle, from either side."""
    out = miss()
    e = b - a
    f = c - a
    normal = wp.cross(e, f)
    rate = wp.dot(normal, d)
    if wp.abs(rate) > LEVEL * wp.length(normal):
        r = o - a
        t = -wp.dot(normal, r) / rate
        s = wp.cross(r, d)
        u = -wp.dot(f, s) / rate
        v = wp.dot(e, s) / rate
        if t >= real(0.0) and u >= -EDGE and v >= -EDGE and u + v <= real(1.0) + EDGE:
            out = hit(t, wp.normalize(normal) * wp.where(rate > real(0.0), real(-1.0), real(1.0)))
    return out


@wp.func
def inverse(x: real):
    out = FAR
    if wp.abs(x) > STEEP:
        out = real(1.0) / x
    return out


@wp.func
def meets_box(low: vec3, high: vec3, o: vec3, over: vec3, most: real):
    """Whether a ray meets a box before `most`; over: inverse of its direction."""
    start = real(0.0)
    end = most
    for k in range(3):
        a = (low[k] - o[k]) * over[k]
        b = (high[k] - o[k]) * over[k]
        start = wp.max(start, wp.min(a, b))
        end = wp.min(end, wp.max(a, b))
    return start <= end


@wp.func
def cast_mesh(geo: Geometry, mesh: int, o: vec3, d: vec3, most: real):
    """A ray against the triangles of a mesh, from either side: of two at the same distance, the first."""
    out = Hit()
    out.distance = FAR
    over = vec3(inverse(d[0]), inverse(d[1]), inverse(d[2]))
    best = most
    node = geo.mesh_node[mesh]
    while node < geo.mesh_node[mesh + 1]:
        if meets_box(geo.node_low[node], geo.node_high[node], o, over, best):
            k = geo.node_first[node]
            last = k + geo.node_count[node]
            while k < last:
                a = geo.mesh_vertex[geo.mesh_corner[3 * k]]
                b = geo.mesh_vertex[geo.mesh_corner[3 * k + 1]]
                c = geo.mesh_vertex[geo.mesh_corner[3 * k + 2]]
                found = cast_triangle(a, b, c, o, d)
                if found.distance < best or (found.distance <= best and out.distance == FAR):
                    out = found
                    best = found.distance
                k += 1
            node += 1
        else:
            node = geo.node_skip[node]
    return out
