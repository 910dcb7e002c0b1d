"""Where a ray first meets a shape: closed forms of convex ones. Rays and normals are in the shape's frame.

A hit is a distance along the ray, FAR for none, and a normal against the ray. A ray that begins inside a solid hits it
at distance 0, with a normal straight against the ray.
"""

from __future__ import annotations

import warp as wp

from sharnir.collision.shapes import Geometry, ShapePose
from sharnir.enums import BOX, CAPSULE, CYLINDER, HALF_SPACE, HULL, SPHERE
from sharnir.kernels.types import real, vec3

RAY_INFINITY = wp.constant(real(1.0e30))
MIN_CROSSING_COSINE = wp.constant(real(1.0e-12))  # of a unit vector along an axis: parallel to what it should cross


@wp.struct
class RayHit:
    distance: real  # m
    normal: vec3


@wp.struct
class RayInterval:
    """The part of a ray that is inside of something convex."""

    start: real  # m
    end: real  # m
    normal: vec3  # where it enters


@wp.func
def make_miss():
    out = RayHit()
    out.distance = RAY_INFINITY
    return out


@wp.func
def make_hit(distance: real, normal: vec3):
    out = RayHit()
    out.distance = distance
    out.normal = normal
    return out


@wp.func
def make_full_interval():
    out = RayInterval()
    out.start = -RAY_INFINITY
    out.end = RAY_INFINITY
    return out


@wp.func
def clip_interval(interval: RayInterval, normal: vec3, offset: real, o: vec3, d: vec3):
    """The part of a span below the plane normal · x = above."""
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
def hit_interval_entry(interval: RayInterval, d: vec3):
    """The hit of a ray that is inside along a span."""
    out = make_miss()
    if interval.start <= interval.end and interval.end >= real(0.0):
        if interval.start <= real(0.0):
            out = make_hit(real(0.0), -d)
        else:
            out = make_hit(interval.start, interval.normal)
    return out


@wp.func
def cast_sphere(radius: real, o: vec3, d: vec3):
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
def intersect_tube(radius: real, o: vec3, d: vec3):
    """The part of a ray inside of a cylinder along z without end."""
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
def clip_interval_to_slab(interval: RayInterval, k: int, half: real, o: vec3, d: vec3):
    """The part of a span with |xₖ| ≤ half."""
    axis = vec3()
    axis[k] = real(1.0)
    return clip_interval(clip_interval(interval, axis, half, o, d), -axis, half, o, d)


@wp.func
def cast_capsule(radius: real, half: real, o: vec3, d: vec3):
    axis = vec3(real(0.0), real(0.0), half)
    out = cast_sphere(radius, o - axis, d)
    other = cast_sphere(radius, o + axis, d)
    if other.distance < out.distance:
        out = other
    interval = intersect_tube(radius, o, d)
    if interval.start > real(0.0) and interval.end >= interval.start:
        if wp.abs(o[2] + d[2] * interval.start) <= half and interval.start < out.distance:
            out = make_hit(interval.start, interval.normal)
    if wp.abs(o[2]) <= half and o[0] * o[0] + o[1] * o[1] <= radius * radius:
        out = make_hit(real(0.0), -d)
    return out


@wp.func
def cast_hull(geo: Geometry, hull: int, o: vec3, d: vec3):
    interval = make_full_interval()
    f = geo.hull_face_start[hull]
    while f < geo.hull_face_start[hull + 1]:
        normal = geo.face_normal[f]
        interval = clip_interval(
            interval, normal, wp.dot(normal, geo.vertex[geo.face_vertex[geo.face_corner_start[f]]]), o, d
        )
        f += 1
    return hit_interval_entry(interval, d)


@wp.func
def cast_convex(geo: Geometry, shape: ShapePose, o: vec3, d: vec3):
    """A ray against a sphere, box, cylinder, capsule, half-space or hull; it misses everything else."""
    out = make_miss()
    size = shape.size
    if shape.kind == SPHERE:
        out = cast_sphere(size[0], o, d)
    elif shape.kind == BOX:
        interval = clip_interval_to_slab(make_full_interval(), 0, size[0], o, d)
        interval = clip_interval_to_slab(interval, 1, size[1], o, d)
        out = hit_interval_entry(clip_interval_to_slab(interval, 2, size[2], o, d), d)
    elif shape.kind == CYLINDER:
        out = hit_interval_entry(clip_interval_to_slab(intersect_tube(size[0], o, d), 2, size[1], o, d), d)
    elif shape.kind == CAPSULE:
        out = cast_capsule(size[0], size[1], o, d)
    elif shape.kind == HALF_SPACE:
        up = vec3(real(0.0), real(0.0), real(1.0))
        out = hit_interval_entry(clip_interval(make_full_interval(), up, real(0.0), o, d), d)
    elif shape.kind == HULL:
        out = cast_hull(geo, shape.data, o, d)
    return out
