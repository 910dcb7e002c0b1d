"""Ray casts against convex shapes in closed form. Rays and normals are in the shape's frame.

A hit is a distance along the ray, RAY_INFINITY for none, and a unit normal facing the ray. A ray that begins inside a
solid hits it at distance 0, with a normal opposite to the ray.
"""

from __future__ import annotations

import warp as wp

from sharnir.collision.shapes import Geometry, ShapePose
from sharnir.enums import ShapeKind
from sharnir.kernels.types import real, vec3

RAY_INFINITY = wp.constant(real(1.0e30))  # m: no hit; longer than any ray
# of unit vectors: a ray is parallel to a plane or axis if its rate against it is not larger
MIN_CROSSING_COSINE = wp.constant(real(1.0e-12))


@wp.struct
class Ray:
    """A half-line."""

    origin: vec3  # m, shape frame
    direction: vec3  # unit, shape frame


@wp.struct
class RayHit:
    """Where a ray hits first."""

    distance: real  # m, RAY_INFINITY: no hit
    normal: vec3  # unit, facing the ray; shape frame


@wp.struct
class RayInterval:
    """The interval of a ray inside a convex set."""

    start: real  # m along the ray
    end: real  # m along the ray; < start: empty
    normal: vec3  # outward unit normal where the ray enters


@wp.func
def make_ray(origin: vec3, direction: vec3):
    """A ray from a point (m) along a unit vector."""
    out = Ray()
    out.origin = origin
    out.direction = direction
    return out


@wp.func
def make_miss():
    """A ray that hits nothing."""
    out = RayHit()
    out.distance = RAY_INFINITY
    return out


@wp.func
def make_hit(distance: real, normal: vec3):
    """A hit at a distance (m) with a unit normal."""
    out = RayHit()
    out.distance = distance
    out.normal = normal
    return out


@wp.func
def make_interval(start: real, end: real):
    """The interval of a ray between two distances along it, m."""
    out = RayInterval()
    out.start = start
    out.end = end
    return out


@wp.func
def make_full_interval():
    """The interval of a whole line."""
    out = RayInterval()
    out.start = -RAY_INFINITY
    out.end = RAY_INFINITY
    return out


@wp.func
def clip_interval(interval: RayInterval, normal: vec3, offset: real, ray: Ray):
    """Clip an interval of a ray to the half-space normal · x ≤ offset (m)."""
    o = ray.origin
    d = ray.direction
    out = interval
    height = wp.dot(normal, o) - offset
    rate = wp.dot(normal, d)
    if wp.abs(rate) <= MIN_CROSSING_COSINE:
        if height > real(0.0):
            out.end = -RAY_INFINITY
    else:
        t = -height / rate
        if rate < real(0.0):
            if t > out.start:
                out.start = t
                out.normal = normal
        else:
            out.end = wp.min(out.end, t)
    return out


@wp.func
def hit_interval_entry(interval: RayInterval, ray: Ray):
    """The hit where a ray enters a convex set along an interval; at distance 0 if it begins inside."""
    out = make_miss()
    if interval.start <= interval.end and interval.end >= real(0.0):
        if interval.start <= real(0.0):
            out = make_hit(real(0.0), -ray.direction)
        else:
            out = make_hit(interval.start, interval.normal)
    return out


@wp.func
def cast_sphere(radius: real, ray: Ray):
    """Cast a ray against a sphere about the origin."""
    o = ray.origin
    d = ray.direction
    out = make_miss()
    along = wp.dot(o, d)
    if wp.dot(o, o) <= radius * radius:
        out = make_hit(real(0.0), -d)
    elif along < real(0.0):
        nearest = o - d * along
        half_chord2 = radius * radius - wp.dot(nearest, nearest)
        if half_chord2 >= real(0.0):
            t = -along - wp.sqrt(half_chord2)
            out = make_hit(t, (o + d * t) / radius)
    return out


@wp.func
def intersect_tube(radius: real, ray: Ray):
    """The interval of a ray inside an infinite cylinder along z."""
    o = ray.origin
    d = ray.direction
    out = make_full_interval()
    a = d[0] * d[0] + d[1] * d[1]
    if a <= MIN_CROSSING_COSINE * MIN_CROSSING_COSINE:
        if o[0] * o[0] + o[1] * o[1] > radius * radius:
            out.end = -RAY_INFINITY
    else:
        middle = -(o[0] * d[0] + o[1] * d[1]) / a
        x = o[0] + d[0] * middle
        y = o[1] + d[1] * middle
        half_chord2 = radius * radius - x * x - y * y
        if half_chord2 < real(0.0):
            out.end = -RAY_INFINITY
        else:
            half = wp.sqrt(half_chord2 / a)
            out.start = middle - half
            out.end = middle + half
            out.normal = vec3(o[0] + d[0] * out.start, o[1] + d[1] * out.start, real(0.0)) / radius
    return out


@wp.func
def clip_interval_to_slab(interval: RayInterval, k: int, half: real, ray: Ray):
    """Clip an interval to the slab |xₖ| ≤ half (m)."""
    axis = vec3()
    axis[k] = real(1.0)
    return clip_interval(clip_interval(interval, axis, half, ray), -axis, half, ray)


@wp.func
def cast_capsule(radius: real, half: real, ray: Ray):
    """Cast a ray against a capsule along z with half length `half` (m)."""
    o = ray.origin
    d = ray.direction
    axis = vec3(real(0.0), real(0.0), half)
    out = cast_sphere(radius, make_ray(o - axis, d))
    other = cast_sphere(radius, make_ray(o + axis, d))
    if other.distance < out.distance:
        out = other
    interval = intersect_tube(radius, ray)
    if interval.start > real(0.0) and interval.end >= interval.start:
        if wp.abs(o[2] + d[2] * interval.start) <= half and interval.start < out.distance:
            out = make_hit(interval.start, interval.normal)
    if wp.abs(o[2]) <= half and o[0] * o[0] + o[1] * o[1] <= radius * radius:
        out = make_hit(real(0.0), -d)
    return out


@wp.func
def cast_hull(geo: Geometry, hull: int, ray: Ray):
    """Cast a ray against a convex hull by clipping it against all faces."""
    interval = make_full_interval()
    f = geo.hull_face_start[hull]
    while f < geo.hull_face_start[hull + 1]:
        normal = geo.face_normal[f]
        interval = clip_interval(
            interval, normal, wp.dot(normal, geo.vertex[geo.face_vertex[geo.face_corner_start[f]]]), ray
        )
        f += 1
    return hit_interval_entry(interval, ray)


@wp.func
def cast_convex(geo: Geometry, shape: ShapePose, ray: Ray):
    """Cast a ray against a sphere, box, cylinder, capsule, half-space or hull; other kinds are missed."""
    out = make_miss()
    size = shape.size
    if shape.kind == ShapeKind.SPHERE:
        out = cast_sphere(size[0], ray)
    elif shape.kind == ShapeKind.BOX:
        interval = clip_interval_to_slab(make_full_interval(), 0, size[0], ray)
        interval = clip_interval_to_slab(interval, 1, size[1], ray)
        out = hit_interval_entry(clip_interval_to_slab(interval, 2, size[2], ray), ray)
    elif shape.kind == ShapeKind.CYLINDER:
        out = hit_interval_entry(clip_interval_to_slab(intersect_tube(size[0], ray), 2, size[1], ray), ray)
    elif shape.kind == ShapeKind.CAPSULE:
        out = cast_capsule(size[0], size[1], ray)
    elif shape.kind == ShapeKind.HALF_SPACE:
        up = vec3(real(0.0), real(0.0), real(1.0))
        out = hit_interval_entry(clip_interval(make_full_interval(), up, real(0.0), ray), ray)
    elif shape.kind == ShapeKind.HULL:
        out = cast_hull(geo, shape.data, ray)
    return out
