"""Chord correction of contacts (M-60): mean relative velocity of the two surfaces over the step minus W·z.

Rows are linear in the velocities, paths are arcs: without it a grasped body creeps outward by (ω dt)² r/2 per step. The
difference, the contact's chord term, is found from where the step leads and subtracted from the rows' targets.
"""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.forces import pivot_of
from sharnir.dynamics.free_rotation import count_turns
from sharnir.dynamics.momenta import rotation_offset, rotation_vector
from sharnir.enums import ShapeKind
from sharnir.impulse.data import Context, Scratch
from sharnir.impulse.row_kinds import CONTACT_IMPULSES
from sharnir.impulse.rows.assembly import displace_point
from sharnir.impulse.rows.belts import has_belt, measure_belt_travel
from sharnir.impulse.rows.contact_frame import contact_count, contact_frame_of, contact_velocity
from sharnir.impulse.rows.fast_spin import is_fast, is_fast_and_free, link_spin
from sharnir.impulse.rows.flat_contact import travel_of_arm
from sharnir.impulse.slots import BLOCK_ROWS, Impact, Mu, Setting, Status
from sharnir.kernels.columns import get, get3, get33, get_int, item3, item_int, put, put3
from sharnir.kernels.types import VEC3, array2, column, real, vec3

SLIP_FRICTION_SHARE = wp.constant(real(0.999))  # of the friction bound: with more than this a contact slips
# cosine between normal and axis above which a cylinder stands on its flat end
FLAT_END_COSINE = wp.constant(real(0.999))
EDGE_DAMPING = wp.constant(real(2.0))  # 1/rad², of the angle by which the contact point moves along the edge in a step
ON_EDGE_COSINE = wp.constant(real(0.01))  # the same above which it rolls on its edge rather than on its side


@wp.struct
class Rolling:
    """How two links roll on each other at a contact."""

    a: int  # link it rolls on
    b: int  # link that rolls
    x: vec3  # m, point of the contact
    centre: vec3  # m, about which the surface of b is curved at x
    inward: vec3  # normal into b
    axis: vec3  # of the circle by whose edge b touches a plane; 0 where it does not
    radius: real  # m, of that circle


@wp.func
def cylinder_axis(ctx: Context, shape: int, w: int):
    """Axis of a cylinder, world."""
    axis = column(ctx.layout.contact_model.geo.rot[shape], 2)
    link = ctx.layout.contact_model.geo.link[shape]
    if link >= 0:
        axis = get33(ctx.here.R, link, w) * axis
    return axis


@wp.func
def find_curvature_centre(ctx: Context, shape: int, x: vec3, inward: vec3, gap_share: real, w: int):
    """Centre of curvature about which a shape rolls at point x (world, m), x itself where it is flat. gap_share:
    distance of x from the surface, m; inward: normal into the shape."""
    kind = ctx.layout.contact_model.geo.kind[shape]
    centre = x
    if kind == ShapeKind.SPHERE or kind == ShapeKind.CAPSULE:
        centre = x + inward * (ctx.layout.contact_model.geo.size[shape][0] + gap_share)
    elif kind == ShapeKind.CYLINDER:
        link = ctx.layout.contact_model.geo.link[shape]
        R = ctx.layout.contact_model.geo.rot[shape]
        origin = ctx.layout.contact_model.geo.pos[shape]
        if link >= 0:
            B = get33(ctx.here.R, link, w)
            origin = pivot_of(ctx.tree, ctx.here, link, w) + get3(ctx.here.x, link, w) + B * origin
            R = B * R
        axis = column(R, 2)
        if wp.abs(wp.dot(axis, inward)) < FLAT_END_COSINE:
            centre = origin + axis * wp.dot(x - origin, axis)
    return centre


@wp.func
def edge_lever(axis: vec3, inward: vec3, radius: real):
    """From the centre of a circle to its point that is farthest along −inward."""
    out = axis * wp.dot(axis, inward) - inward
    return out * (radius / wp.length(out))


@wp.func
def measure_edge_travel(rolling: Rolling, turn: vec3, end_axis: vec3):
    """What the travel of a circle that rolls on its edge has beyond that about the start point: the point it touches
    with moves along the edge. Along the normal the circle ends where its lowest point is; across it the lever is the
    mean of the start and the end (M-108)."""
    swing = edge_lever(end_axis, rolling.inward, rolling.radius) - edge_lever(
        rolling.axis, rolling.inward, rolling.radius
    )
    extra = wp.cross(turn, swing * real(0.5))
    rise = wp.dot(swing - wp.cross(turn, rolling.x - rolling.centre) - extra, rolling.inward)
    angle2 = wp.length_sq(swing) / (rolling.radius * rolling.radius)
    return (extra + rolling.inward * rise) * wp.max(real(1.0) - EDGE_DAMPING * angle2, real(0.0))


@wp.func
def measure_relative_travel(ctx: Context, rolling: Rolling, w: int):
    """Displacement (m, axes of link a) of the surface of link b at x against link a in the step whose displacements are
    in the workspace: that of the centre of curvature, and the rolling about it."""
    a = rolling.a
    b = rolling.b
    centre = rolling.centre
    Oa = pivot_of(ctx.tree, ctx.here, a, w)
    Ob = pivot_of(ctx.tree, ctx.here, b, w)
    apart = (
        displace_point(ctx.tree, ctx.here, b, centre - Ob, w)
        + Ob
        - displace_point(ctx.tree, ctx.here, a, centre - Oa, w)
        - Oa
    )
    ua = vec3()
    sa = real(1.0)
    if a >= 0:
        ua = -get3(ctx.here.Qu, a, w)
        sa = get(ctx.here.Qs, a, w)
    travel = apart + rotation_offset(ua, sa, apart)
    lever = rolling.x - centre
    if wp.dot(lever, lever) > real(0.0):
        ub = vec3()
        sb = real(1.0)
        if b >= 0:
            ub = get3(ctx.here.Qu, b, w)
            sb = get(ctx.here.Qs, b, w)
        u = ub * sa + ua * sb + wp.cross(ua, ub)
        s = sa * sb - wp.dot(ua, ub)
        turn = rotation_vector(u, s)
        if get_int(ctx.work.status, Status.FAST_LINKS, w) == 1:
            dt = ctx.state.settings[Setting.DT, 0]
            turn = count_turns(u, s, (link_spin(ctx, b, w) - link_spin(ctx, a, w)) * dt)
        travel = travel + wp.cross(turn, lever)
        if wp.length_sq(rolling.axis) > real(0.0):
            end_axis = rolling.axis + rotation_offset(u, s, rolling.axis)
            travel = travel + measure_edge_travel(rolling, turn, end_axis)
    return travel


@wp.func
def find_edge(ctx: Context, rolling: wp.ref[Rolling], shape: int, other: int, gap_share: real, w: int):
    """Axis and radius of a cylinder that touches what is flat with its edge."""
    axis = cylinder_axis(ctx, shape, w)
    cosine = wp.abs(wp.dot(axis, rolling.inward))
    if cosine > ON_EDGE_COSINE and cosine < FLAT_END_COSINE:
        centre = find_curvature_centre(ctx, other, rolling.x, -rolling.inward, gap_share, w)
        if wp.length_sq(centre - rolling.x) == real(0.0):
            rolling.axis = axis
            rolling.radius = ctx.layout.contact_model.geo.size[shape][0]


@wp.func
def tangent_chord(ctx: Context, c: int, w: int):
    """Chord term that makes the rows of contact c those of the velocities at the start pose, after all impulses
    (M-107): W·z less the chord corrections of momenta, those included that the present residual will add."""
    return (
        contact_velocity(ctx, c, 0, 0, ctx.work.z_momentum, w)
        - contact_velocity(ctx, c, 0, 0, ctx.work.z_base, w)
        - contact_velocity(ctx, c, 0, 0, ctx.work.z_residual, w)
    )


@wp.func
def update_contact_chord(ctx: Context, c: int, z: array2, dt: real, w: int):
    """Update the chord term of contact c from the step whose displacements are in the workspace (M-60):
    `contact_chord`, the target velocities, and for a loaded contact the distance by which its end point was missed
    (`contact_end_error`; `contact_edge_error` where it rolls on an edge)."""
    normal, t1, t2 = contact_frame_of(ctx.state, ctx.work, c, w)
    x = item3(ctx.state.contacts.point, VEC3 * c, w)
    gap_share = real(0.5) * get(ctx.work.contact_gap, c, w)
    first = item_int(ctx.state.contacts.shape, 2 * c, w)
    second = item_int(ctx.state.contacts.shape, 2 * c + 1, w)
    rolling = Rolling()
    rolling.a = ctx.layout.contact_model.geo.link[first]
    rolling.b = ctx.layout.contact_model.geo.link[second]
    rolling.x = x
    rolling.inward = normal
    rolling.centre = find_curvature_centre(ctx, second, x, normal, gap_share, w)
    sign = real(1.0)
    edge = second
    if wp.length_sq(rolling.centre - x) == real(0.0):  # the second is flat: seen from there the first rolls
        rolling.inward = -normal
        rolling.centre = find_curvature_centre(ctx, first, x, -normal, gap_share, w)
        link = rolling.a
        rolling.a = rolling.b
        rolling.b = link
        sign = real(-1.0)
        edge = first
    if ctx.layout.contact_model.geo.kind[edge] == ShapeKind.CYLINDER:
        find_edge(ctx, rolling, edge, first + second - edge, gap_share, w)
    travel = measure_relative_travel(ctx, rolling, w) * (sign / dt)
    if has_belt(ctx.layout, ctx.state, c, w):
        travel = travel + measure_belt_travel(ctx.here, ctx.layout, ctx.state, c, normal, w) / dt
    s = contact_velocity(ctx, c, 0, 0, z, w)
    along = wp.dot(travel, normal)
    arm = get3(ctx.work.contact_arm, c, w)
    if wp.dot(arm, arm) > real(0.0):
        travel = travel + travel_of_arm(ctx, rolling.a, rolling.b, arm, w) * (sign / dt)
    chord = vec3(along, wp.dot(travel, t1), wp.dot(travel, t2)) - s
    if get_int(ctx.work.status, Status.FAST_LINKS, w) == 1:
        if is_fast_and_free(ctx, rolling.a, w) or is_fast_and_free(ctx, rolling.b, w):
            chord = tangent_chord(ctx, c, w)
        elif (is_fast(ctx, rolling.a, w) or is_fast(ctx, rolling.b, w)) and wp.length_sq(rolling.centre - x) == real(
            0.0
        ):
            chord = vec3()
    change = chord - get3(ctx.work.contact_chord, c, w)
    put3(ctx.work.contact_chord, c, w, chord)
    k = int(0)
    while k < BLOCK_ROWS:
        put(
            ctx.work.contact_target,
            BLOCK_ROWS * c + k,
            w,
            get(ctx.work.contact_target, BLOCK_ROWS * c + k, w) - change[k],
        )
        k += 1
    if ctx.layout.contact_model.has_restitution == 1:
        limit_struck_target(ctx.work, c, dt, w)
    at = ctx.layout.contact_p_start + CONTACT_IMPULSES * c
    end_error = real(0.0)
    if get(ctx.work.p, at, w) > real(0.0):
        friction_bound = SLIP_FRICTION_SHARE * get(ctx.work.contact_mu, Mu.SIZE * c, w) * get(ctx.work.p, at, w)
        tangential = vec3(real(0.0), get(ctx.work.p, at + 1, w), get(ctx.work.p, at + 2, w))
        if (
            wp.length_sq(tangential) > friction_bound * friction_bound
        ):  # it slides: where to across the normal does not matter
            change = vec3(change[0], real(0.0), real(0.0))
        end_error = dt * wp.length(change)
    put(ctx.work.contact_end_error, c, w, end_error)
    on_edge = wp.length_sq(rolling.axis) > real(0.0)
    put(ctx.work.contact_edge_error, c, w, wp.where(on_edge, end_error, real(0.0)))


@wp.func
def limit_struck_target(work: wp.ref[Scratch], c: int, dt: real, w: int):
    """Keep the target of a contact that strikes from pushing for the sake of its path: that it turns into the other
    body is for the next step. Such a push would add energy (of an edge that turns by a radian in the step, more than it
    has)."""
    if get(work.impact, Impact.SIZE * c + Impact.IS_STRUCK, w) == real(1.0):
        closing = wp.max(get(work.contact_gap, c, w), real(0.0)) / dt
        chord = get(work.contact_chord, BLOCK_ROWS * c, w)
        put(work.contact_target, BLOCK_ROWS * c, w, wp.min(-closing - chord, real(0.0)))


@wp.func
def max_contact_end_error(work: wp.ref[Scratch], w: int):
    """Largest distance (m) by which the end point of a loaded contact was missed, and of one that rolls on an edge."""
    worst = real(0.0)
    edge = real(0.0)
    c = int(0)
    while c < contact_count(work, w):
        worst = wp.max(worst, get(work.contact_end_error, c, w))
        edge = wp.max(edge, get(work.contact_edge_error, c, w))
        c += 1
    return worst, edge
