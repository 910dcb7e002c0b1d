"""Closed-form contacts of primitives: spheres and capsules against each other, against half-spaces, and spheres against
boxes, cylinders and triangles."""

from __future__ import annotations

import warp as wp

from sharnir.collision.convex.gjk import find_closest_on_triangle
from sharnir.collision.convex.support_mapping import TOL_ZERO_LENGTH, make_perpendicular
from sharnir.collision.convex.triangle import find_facing_normal, is_over_internal_edge
from sharnir.collision.shapes import (
    NarrowPhaseContext,
    ShapePose,
    WorldSphere,
    append_contact,
    make_contact,
    make_sphere,
)
from sharnir.enums import ShapeKind
from sharnir.kernels.types import column, real, vec3

# sine of the angle between two capsule axes below which they get two contacts
MAX_PARALLEL_AXIS_SINE = wp.constant(real(0.03))


@wp.func
def append_sphere_contact(
    ctx: wp.ref[NarrowPhaseContext], a: WorldSphere, b: WorldSphere, normal: vec3, feature: int, n: int
):
    """Append the contact of two spheres along a given unit normal from a to b, if their gap is less than the margin.
    Returns the number of contacts."""
    along = wp.dot(normal, b.center - a.center)
    gap = along - a.radius - b.radius
    if gap < ctx.margin:
        point = (a.center + b.center + normal * (a.radius - b.radius)) * real(0.5)
        n = append_contact(ctx.contacts, n, make_contact(normal * ctx.flip, point, gap, feature), ctx.w)
    return n


@wp.func
def is_round(S: ShapePose):
    """Whether a shape is a sphere or a capsule."""
    return S.kind == ShapeKind.SPHERE or S.kind == ShapeKind.CAPSULE


@wp.func
def collide_half_space_round(ctx: wp.ref[NarrowPhaseContext], P: ShapePose, Q: ShapePose, n: int):
    """Append the contacts of a sphere, or of the two ends of a capsule, Q with a half-space P; returns the number of
    contacts."""
    normal = column(P.R, 2)
    half = vec3()
    ends = int(1)
    if Q.kind == ShapeKind.CAPSULE:
        half = column(Q.R, 2) * Q.size[1]
        ends = 2
    k = int(0)
    while k < ends:
        centre = Q.x + half * real(2 * k - 1)
        gap = wp.dot(normal, centre - P.x) - Q.size[0]
        if gap < ctx.margin:
            point = centre - normal * (Q.size[0] + real(0.5) * gap)
            n = append_contact(ctx.contacts, n, make_contact(normal * ctx.flip, point, gap, k), ctx.w)
        k += 1
    return n


@wp.func
def _project_to_box_surface(p: vec3, h: vec3):
    """Project a point p inside a box with half-extents h onto its surface: the closest surface point and the outward
    unit normal there; box frame, m."""
    closest = p
    normal = vec3()
    x = h[0] - wp.abs(p[0])
    y = h[1] - wp.abs(p[1])
    z = h[2] - wp.abs(p[2])
    if x <= y and x <= z:
        normal[0] = wp.where(p[0] < real(0.0), real(-1.0), real(1.0))
        closest[0] = normal[0] * h[0]
    elif y <= z:
        normal[1] = wp.where(p[1] < real(0.0), real(-1.0), real(1.0))
        closest[1] = normal[1] * h[1]
    else:
        normal[2] = wp.where(p[2] < real(0.0), real(-1.0), real(1.0))
        closest[2] = normal[2] * h[2]
    return closest, normal


@wp.func
def _project_to_cylinder_surface(p: vec3, r: real, h: real):
    """Project a point p inside a cylinder (radius r, half length h, along z) onto its surface: the closest surface
    point and the outward unit normal there; cylinder frame, m."""
    across = wp.sqrt(p[0] * p[0] + p[1] * p[1])
    normal = vec3(real(0.0), real(0.0), wp.where(p[2] < real(0.0), real(-1.0), real(1.0)))
    closest = vec3(p[0], p[1], normal[2] * h)
    if r - across < h - wp.abs(p[2]):
        normal = vec3(real(1.0), real(0.0), real(0.0))
        if across > TOL_ZERO_LENGTH * r:
            normal = vec3(p[0] / across, p[1] / across, real(0.0))
        closest = vec3(normal[0] * r, normal[1] * r, p[2])
    return closest, normal


@wp.func
def _find_closest_on_surface(B: ShapePose, x: vec3):
    """Closest point to x on the surface of a box, cylinder or triangle B (world, m); the outward unit normal there,
    valid if x is inside B; and whether it is (1 or 0)."""
    closest = vec3()
    normal = vec3()
    inside = int(0)
    if B.kind == ShapeKind.TRIANGLE:
        a = column(B.R, 0) + B.x - x
        b = column(B.R, 1) + B.x - x
        inside_point = column(B.R, 2) + B.x - x
        closest, weights = find_closest_on_triangle(a, b, inside_point)
        size = wp.length(b - a) + wp.length(inside_point - a)
        if wp.length(closest) <= TOL_ZERO_LENGTH * size:
            inside = 1
            normal = find_facing_normal(B, x)
            if wp.length_sq(normal) < real(0.5):
                normal = make_perpendicular(b - a)
        closest = closest + x
    else:
        p = wp.transpose(B.R) * (x - B.x)
        inside_point = p
        size = B.size[0]
        if B.kind == ShapeKind.BOX:
            inside_point = vec3(
                wp.clamp(p[0], -B.size[0], B.size[0]),
                wp.clamp(p[1], -B.size[1], B.size[1]),
                wp.clamp(p[2], -B.size[2], B.size[2]),
            )
            closest, normal = _project_to_box_surface(inside_point, B.size)
        else:
            across = wp.sqrt(p[0] * p[0] + p[1] * p[1])
            inward = wp.min(real(1.0), B.size[0] / wp.max(across, real(1.0e-30)))
            inside_point = vec3(p[0] * inward, p[1] * inward, wp.clamp(p[2], -B.size[1], B.size[1]))
            closest, normal = _project_to_cylinder_surface(inside_point, B.size[0], B.size[1])
        if wp.length(p - inside_point) <= TOL_ZERO_LENGTH * size:
            inside = 1
        else:
            closest = inside_point
        closest = B.x + B.R * closest
        normal = B.R * normal
    return closest, normal, inside


@wp.func
def collide_sphere_solid(ctx: wp.ref[NarrowPhaseContext], A: ShapePose, B: ShapePose, n: int):
    """Append the contact of a sphere A with a box, cylinder or triangle B. No contact where the normal leans over an
    internal edge of a triangle: the neighbour across that edge gives it. Returns the number of contacts."""
    closest, normal_out, inside = _find_closest_on_surface(B, A.x)
    normal = -normal_out
    if inside == 0:
        normal = wp.normalize(closest - A.x)
    is_neighbours = int(0)
    if B.kind == ShapeKind.TRIANGLE:
        if is_over_internal_edge(B, -normal):
            is_neighbours = 1
    if is_neighbours == 0:
        n = append_sphere_contact(ctx, make_sphere(A.x, A.size[0]), make_sphere(closest, real(0.0)), normal, 0, n)
    return n


@wp.func
def _find_closest_on_segments(u: vec3, hu: real, v: vec3, hv: real, x: vec3):
    """Parameters s, t of the closest points s u and x + t v of two segments; |s| ≤ hu, |t| ≤ hv (m); u and v are unit
    vectors."""
    c = wp.dot(u, v)
    xu = wp.dot(x, u)
    xv = wp.dot(x, v)
    # 1 − c² of nearly parallel axes is rounding; |u × v|² is not
    sine = wp.length_sq(wp.cross(u, v))
    s = real(0.0)
    if sine > TOL_ZERO_LENGTH * TOL_ZERO_LENGTH:
        s = wp.clamp((xu - c * xv) / sine, -hu, hu)
    t = c * s - xv
    if wp.abs(t) > hv:
        t = wp.clamp(t, -hv, hv)
    s = wp.clamp(xu + t * c, -hu, hu)
    return s, wp.clamp(c * s - xv, -hv, hv)


@wp.func
def collide_capsules(ctx: wp.ref[NarrowPhaseContext], A: ShapePose, B: ShapePose, n: int):
    """Append the contacts of two spheres or capsules (a sphere is a capsule of length 0): one, or two where the axes
    are nearly parallel. Returns the number of contacts."""
    ra = A.size[0]
    rb = B.size[0]
    ha = wp.where(A.kind == ShapeKind.CAPSULE, A.size[1], real(0.0))
    hb = wp.where(B.kind == ShapeKind.CAPSULE, B.size[1], real(0.0))
    u = column(A.R, 2)
    v = column(B.R, 2)
    x = B.x - A.x
    if A.kind == ShapeKind.SPHERE and B.kind == ShapeKind.SPHERE:
        u = vec3()
    s, t = _find_closest_on_segments(u, ha, v, hb, x)
    a = u * s
    b = x + v * t
    axis_distance = wp.length(b - a)
    normal = (b - a) / wp.max(axis_distance, real(1.0e-30))
    if axis_distance <= TOL_ZERO_LENGTH * (ra + rb):  # the axes meet: out of the plane of both
        normal = wp.cross(u, v)
        sine = wp.length(normal)
        if ha > real(0.0) and hb > real(0.0) and sine > TOL_ZERO_LENGTH:
            normal = normal / sine
        elif hb > ha:
            normal = make_perpendicular(v)
        else:
            normal = make_perpendicular(u)
    if axis_distance - ra - rb < ctx.margin:
        is_two_points = int(0)
        if (
            ha > real(0.0)
            and hb > real(0.0)
            and wp.length_sq(wp.cross(u, v)) < MAX_PARALLEL_AXIS_SINE * MAX_PARALLEL_AXIS_SINE
        ):
            projection = wp.dot(x, u)
            reach = hb * wp.abs(wp.dot(u, v))
            low = wp.max(-ha, projection - reach)
            high = wp.min(ha, projection + reach)
            if high - low > real(1.0e-3) * (ra + rb):
                is_two_points = 1
                end = int(0)
                while end < 2:
                    along = wp.where(end == 0, low, high)
                    on_a = u * along
                    on_b = x + v * wp.clamp(wp.dot(on_a - x, v), -hb, hb)
                    n = append_sphere_contact(
                        ctx, make_sphere(A.x + on_a, ra), make_sphere(A.x + on_b, rb), normal, end + 1, n
                    )
                    end += 1
        if is_two_points == 0:
            n = append_sphere_contact(ctx, make_sphere(A.x + a, ra), make_sphere(A.x + b, rb), normal, 0, n)
    return n
