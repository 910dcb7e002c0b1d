"""Where a ray first meets a shape: closed forms of convex ones. Rays and normals are in the shape's frame.

A hit is a distance along the ray, FAR for none, and a normal against the ray. A ray that begins inside a solid hits it
at distance 0, with a normal straight against the ray.
"""

from __future__ import annotations

import warp as wp

from sharnir.collision.shapes import Geometry, Placed
from sharnir.enums import BOX, CAPSULE, CYLINDER, HALF_SPACE, HULL, SPHERE
from sharnir.kernels.types import real, vec3

FAR = wp.constant(real(1.0e30))
LEVEL = wp.constant(real(1.0e-12))  # of a unit vector along an axis: parallel to what it should cross


@wp.struct
class Hit:
    distance: real  # m
    normal: vec3


@wp.struct
class Span:
    """The part of a ray that is inside of something convex."""

    start: real  # m
    end: real  # m
    normal: vec3  # where it enters


@wp.func
def miss():
    out = Hit()
    out.distance = FAR
    return out


@wp.func
def hit(distance: real, normal: vec3):
    out = Hit()
    out.distance = distance
    out.normal = normal
    return out


@wp.func
def whole_ray():
    out = Span()
    out.start = -FAR
    out.end = FAR
    return out


@wp.func
def clipped(span: Span, normal: vec3, above: real, o: vec3, d: vec3):
    """The part of a span below the plane normal · x = above."""
    out = span
    height = wp.dot(normal, o) - above
    rate = wp.dot(normal, d)
    if wp.abs(rate) <= LEVEL:
        if height > real(0.0):
            out.end = -FAR
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
def entered(span: Span, d: vec3):
    """The hit of a ray that is inside along a span."""
    out = miss()
    if span.start <= span.end and span.end >= real(0.0):
        if span.start <= real(0.0):
            out = hit(real(0.0), -d)
        else:
            out = hit(span.start, span.normal)
    return out


@wp.func
def cast_sphere(radius: real, o: vec3, d: vec3):
    out = miss()
    along = wp.dot(o, d)
    if wp.dot(o, o) <= radius * radius:
        out = hit(real(0.0), -d)
    elif along < real(0.0):
        aside = o - d * along
        left = radius * radius - wp.dot(aside, aside)
        if left >= real(0.0):
            t = -along - wp.sqrt(left)
            out = hit(t, (o + d * t) / radius)
    return out


@wp.func
def inside_tube(radius: real, o: vec3, d: vec3):
    """The part of a ray inside of a cylinder along z without end."""
    out = whole_ray()
    a = d[0] * d[0] + d[1] * d[1]
    if a <= LEVEL * LEVEL:
        if o[0] * o[0] + o[1] * o[1] > radius * radius:
            out.end = -FAR
    else:
        middle = -(o[0] * d[0] + o[1] * d[1]) / a
        x = o[0] + d[0] * middle
        y = o[1] + d[1] * middle
        left = radius * radius - x * x - y * y
        if left < real(0.0):
            out.end = -FAR
        else:
            half = wp.sqrt(left / a)
            out.start = middle - half
            out.end = middle + half
            out.normal = vec3(o[0] + d[0] * out.start, o[1] + d[1] * out.start, real(0.0)) / radius
    return out


@wp.func
def between_planes(span: Span, k: int, half: real, o: vec3, d: vec3):
    """The part of a span with |xₖ| ≤ half."""
    axis = vec3()
    axis[k] = real(1.0)
    return clipped(clipped(span, axis, half, o, d), -axis, half, o, d)


@wp.func
def cast_capsule(radius: real, half: real, o: vec3, d: vec3):
    axis = vec3(real(0.0), real(0.0), half)
    out = cast_sphere(radius, o - axis, d)
    other = cast_sphere(radius, o + axis, d)
    if other.distance < out.distance:
        out = other
    span = inside_tube(radius, o, d)
    if span.start > real(0.0) and span.end >= span.start:
        if wp.abs(o[2] + d[2] * span.start) <= half and span.start < out.distance:
            out = hit(span.start, span.normal)
    if wp.abs(o[2]) <= half and o[0] * o[0] + o[1] * o[1] <= radius * radius:
        out = hit(real(0.0), -d)
    return out


@wp.func
def cast_hull(geo: Geometry, hull: int, o: vec3, d: vec3):
    span = whole_ray()
    f = geo.hull_face[hull]
    while f < geo.hull_face[hull + 1]:
        normal = geo.face_normal[f]
        span = clipped(span, normal, wp.dot(normal, geo.vertex[geo.corner[geo.face_corner[f]]]), o, d)
        f += 1
    return entered(span, d)


@wp.func
def cast_convex(geo: Geometry, shape: Placed, o: vec3, d: vec3):
    """A ray against a sphere, box, cylinder, capsule, half-space or hull; it misses everything else."""
    out = miss()
    size = shape.size
    if shape.kind == SPHERE:
        out = cast_sphere(size[0], o, d)
    elif shape.kind == BOX:
        span = between_planes(whole_ray(), 0, size[0], o, d)
        span = between_planes(span, 1, size[1], o, d)
        out = entered(between_planes(span, 2, size[2], o, d), d)
    elif shape.kind == CYLINDER:
        out = entered(between_planes(inside_tube(size[0], o, d), 2, size[1], o, d), d)
    elif shape.kind == CAPSULE:
        out = cast_capsule(size[0], size[1], o, d)
    elif shape.kind == HALF_SPACE:
        up = vec3(real(0.0), real(0.0), real(1.0))
        out = entered(clipped(whole_ray(), up, real(0.0), o, d), d)
    elif shape.kind == HULL:
        out = cast_hull(geo, shape.data, o, d)
    return out
