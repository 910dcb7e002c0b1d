"""Ray casts against height fields and meshes, in the shape's frame."""

from __future__ import annotations

import warp as wp

from sharnir.collision.queries.raycast_convex import (
    MIN_CROSSING_COSINE,
    RAY_INFINITY,
    Ray,
    RayHit,
    RayInterval,
    clip_interval_to_slab,
    hit_interval_entry,
    make_full_interval,
    make_hit,
    make_interval,
    make_miss,
)
from sharnir.collision.shapes import TRIANGLE_CORNERS, Geometry, ShapePose
from sharnir.kernels.types import DOUBLE, real, vec3

# barycentric, by which triangles are enlarged, so that rays do not pass between them
TOL_TRIANGLE_EDGE = wp.constant(real(1.0e-12 if DOUBLE else 1.0e-6))
MIN_RAY_RATE = wp.constant(real(1.0e-30))  # smallest rate of a ray along an axis


@wp.func
def field_height_of(geo: Geometry, field: int, row: int, column: int):
    """Height of a vertex of a height field, m."""
    return geo.height[geo.field_start[field] + row * geo.field_columns[field] + column]


@wp.func
def clamped_cell_of(x: real, half: real, cells: int):
    """Index of the cell that holds a coordinate (m), clamped to the field."""
    return wp.clamp(int(wp.floor((x + half) / (real(2.0) * half) * real(cells))), 0, cells - 1)


@wp.func
def field_plane_of(geo: Geometry, shape: ShapePose, i: int, j: int, upper: bool):
    """Plane of one of the two triangles of a cell: (height at corner (i, j) in m, slope along x, slope along y)."""
    dx = real(2.0) * shape.size[0] / real(geo.field_rows[shape.data] - 1)
    dy = real(2.0) * shape.size[1] / real(geo.field_columns[shape.data] - 1)
    corner = field_height_of(geo, shape.data, i, j)
    far = field_height_of(geo, shape.data, i + 1, j + 1)
    side = real(0.0)
    out = vec3()
    if upper:
        side = field_height_of(geo, shape.data, i, j + 1)
        out = vec3(corner, (far - side) / dx, (side - corner) / dy)
    else:
        side = field_height_of(geo, shape.data, i + 1, j)
        out = vec3(corner, (side - corner) / dx, (far - side) / dy)
    return out


@wp.func
def cast_field_triangle(plane: vec3, x0: real, y0: real, ray: Ray, interval: RayInterval):
    """Cast a ray from above, over an interval of it, against one triangle of a cell with its corner at x0, y0 (m)."""
    o = ray.origin
    d = ray.direction
    start = interval.start
    end = interval.end
    slope = vec3(-plane[1], -plane[2], real(1.0))
    height = wp.dot(slope, o - vec3(x0, y0, plane[0]))
    rate = wp.dot(slope, d)
    out = make_miss()
    first = height + rate * start
    last = height + rate * end
    if last <= real(0.0) and end >= start:
        t = start
        if first > real(0.0):
            t = start + (end - start) * first / (first - last)
        out = make_hit(t, wp.normalize(slope))
    return out


@wp.func
def cast_field_cell(geo: Geometry, shape: ShapePose, i: int, j: int, ray: Ray, interval: RayInterval):
    """Cast a ray over an interval of it against cell (i, j)."""
    o = ray.origin
    d = ray.direction
    start = interval.start
    end = interval.end
    dx = real(2.0) * shape.size[0] / real(geo.field_rows[shape.data] - 1)
    dy = real(2.0) * shape.size[1] / real(geo.field_columns[shape.data] - 1)
    x0 = -shape.size[0] + real(i) * dx
    y0 = -shape.size[1] + real(j) * dy
    diagonal_offset = (o[1] - y0) / dy - (o[0] - x0) / dx  # of the diagonal, positive over the upper triangle
    rate = d[1] / dy - d[0] / dx
    cross = end
    if wp.abs(rate) > MIN_RAY_RATE:
        cross = wp.clamp(-diagonal_offset / rate, start, end)
    upper = diagonal_offset + rate * (start + cross) * real(0.5) > real(0.0)
    out = cast_field_triangle(field_plane_of(geo, shape, i, j, upper), x0, y0, ray, make_interval(start, cross))
    if out.distance == RAY_INFINITY and cross < end:
        upper = diagonal_offset + rate * (cross + end) * real(0.5) > real(0.0)
        out = cast_field_triangle(field_plane_of(geo, shape, i, j, upper), x0, y0, ray, make_interval(cross, end))
    return out


@wp.func
def find_cell_exit(x: real, rate: real, half: real, step: real, cell: int):
    """Distance along a ray (m) where it leaves a cell along one axis; RAY_INFINITY if it is parallel."""
    t = RAY_INFINITY
    if rate > MIN_RAY_RATE:
        t = (-half + real(cell + 1) * step - x) / rate
    elif rate < -MIN_RAY_RATE:
        t = (-half + real(cell) * step - x) / rate
    return t


@wp.func
def cast_field(geo: Geometry, shape: ShapePose, ray: Ray, max_distance: real):
    """Cast a ray against a height field, solid below its surface and within its rim, cell by cell (DDA)."""
    o = ray.origin
    d = ray.direction
    rows = geo.field_rows[shape.data] - 1
    columns = geo.field_columns[shape.data] - 1
    dx = real(2.0) * shape.size[0] / real(rows)
    dy = real(2.0) * shape.size[1] / real(columns)
    interval = clip_interval_to_slab(
        clip_interval_to_slab(make_full_interval(), 0, shape.size[0], ray), 1, shape.size[1], ray
    )
    out = make_miss()
    t = wp.max(interval.start, real(0.0))
    end = wp.min(interval.end, max_distance)
    if t <= end:
        i = clamped_cell_of(o[0] + d[0] * t, shape.size[0], rows)
        j = clamped_cell_of(o[1] + d[1] * t, shape.size[1], columns)
        below = cast_field_cell(geo, shape, i, j, ray, make_interval(t, t))
        if below.distance < RAY_INFINITY:  # under the surface where the ray begins, or enters through the rim
            interval.end = wp.max(interval.end, t)
            out = hit_interval_entry(interval, ray)
        while out.distance == RAY_INFINITY and t < end and i >= 0 and j >= 0 and i < rows and j < columns:
            along_x = find_cell_exit(o[0], d[0], shape.size[0], dx, i)
            along_y = find_cell_exit(o[1], d[1], shape.size[1], dy, j)
            t_exit = wp.min(wp.max(wp.min(along_x, along_y), t), end)
            out = cast_field_cell(geo, shape, i, j, ray, make_interval(t, t_exit))
            if along_x <= along_y:
                i += wp.where(d[0] > real(0.0), 1, -1)
            else:
                j += wp.where(d[1] > real(0.0), 1, -1)
            if along_x == RAY_INFINITY and along_y == RAY_INFINITY:
                i = -1
            t = t_exit
    return out


@wp.func
def cast_triangle(a: vec3, b: vec3, c: vec3, ray: Ray):
    """Cast a ray against a triangle, from either side (Möller–Trumbore)."""
    o = ray.origin
    d = ray.direction
    out = make_miss()
    e = b - a
    f = c - a
    normal = wp.cross(e, f)
    rate = wp.dot(normal, d)
    if wp.abs(rate) > MIN_CROSSING_COSINE * wp.length(normal):
        r = o - a
        t = -wp.dot(normal, r) / rate
        s = wp.cross(r, d)
        u = -wp.dot(f, s) / rate
        v = wp.dot(e, s) / rate
        if (
            t >= real(0.0)
            and u >= -TOL_TRIANGLE_EDGE
            and v >= -TOL_TRIANGLE_EDGE
            and u + v <= real(1.0) + TOL_TRIANGLE_EDGE
        ):
            out = make_hit(t, wp.normalize(normal) * wp.where(rate > real(0.0), real(-1.0), real(1.0)))
    return out


@wp.func
def bounded_reciprocal(x: real):
    """1/x, or RAY_INFINITY where x is nearly 0."""
    out = RAY_INFINITY
    if wp.abs(x) > MIN_RAY_RATE:
        out = real(1.0) / x
    return out


@wp.func
def is_crossing_box(low: vec3, high: vec3, o: vec3, inverse_direction: vec3, max_distance: real):
    """Whether a ray hits a box before max_distance (m), by slabs. inverse_direction: componentwise."""
    start = real(0.0)
    end = max_distance
    for k in range(3):
        a = (low[k] - o[k]) * inverse_direction[k]
        b = (high[k] - o[k]) * inverse_direction[k]
        start = wp.max(start, wp.min(a, b))
        end = wp.min(end, wp.max(a, b))
    return start <= end


@wp.func
def cast_mesh(geo: Geometry, mesh: int, ray: Ray, max_distance: real):
    """Cast a ray against the triangles of a mesh, from either side, by its BVH; of two at the same distance the first
    counts."""
    o = ray.origin
    d = ray.direction
    out = RayHit()
    out.distance = RAY_INFINITY
    inverse_direction = vec3(bounded_reciprocal(d[0]), bounded_reciprocal(d[1]), bounded_reciprocal(d[2]))
    best = max_distance
    node = geo.mesh_node_start[mesh]
    while node < geo.mesh_node_start[mesh + 1]:
        if is_crossing_box(geo.node_low[node], geo.node_high[node], o, inverse_direction, best):
            k = geo.node_first[node]
            last = k + geo.node_count[node]
            while k < last:
                a = geo.mesh_vertex[geo.mesh_triangle_vertex[TRIANGLE_CORNERS * k]]
                b = geo.mesh_vertex[geo.mesh_triangle_vertex[TRIANGLE_CORNERS * k + 1]]
                c = geo.mesh_vertex[geo.mesh_triangle_vertex[TRIANGLE_CORNERS * k + 2]]
                candidate = cast_triangle(a, b, c, ray)
                if candidate.distance < best or (candidate.distance <= best and out.distance == RAY_INFINITY):
                    out = candidate
                    best = candidate.distance
                k += 1
            node += 1
        else:
            node = geo.node_skip[node]
    return out
