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
from sharnir.impulse.slots import BLOCK_ROWS, Mu, Setting, Status
from sharnir.kernels.columns import get, get3, get33, get_int, item3, item_int, put, put3
from sharnir.kernels.types import VEC3, array2, column, real, vec3

SLIP_FRICTION_SHARE = wp.constant(real(0.999))  # of the friction bound: with more than this a contact slips
# cosine between normal and axis above which a cylinder stands on its flat end
FLAT_END_COSINE = wp.constant(real(0.999))


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
def measure_relative_travel(ctx: Context, a: int, b: int, x: vec3, centre: vec3, w: int):
    """Displacement (m, axes of link a) of the surface of link b at x against link a in the step whose displacements are
    in the workspace: that of the centre of curvature, and the rolling about it."""
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
    lever = x - centre
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
    return travel


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
    (`contact_end_error`)."""
    normal, t1, t2 = contact_frame_of(ctx.state, ctx.work, c, w)
    x = item3(ctx.state.contacts.point, VEC3 * c, w)
    gap_share = real(0.5) * get(ctx.work.contact_gap, c, w)
    first = item_int(ctx.state.contacts.shape, 2 * c, w)
    second = item_int(ctx.state.contacts.shape, 2 * c + 1, w)
    a = ctx.layout.contact_model.geo.link[first]
    b = ctx.layout.contact_model.geo.link[second]
    centre = find_curvature_centre(ctx, second, x, normal, gap_share, w)
    sign = real(1.0)
    if wp.length_sq(centre - x) == real(0.0):  # the second is flat: seen from there the first rolls
        centre = find_curvature_centre(ctx, first, x, -normal, gap_share, w)
        link = a
        a = b
        b = link
        sign = real(-1.0)
    travel = measure_relative_travel(ctx, a, b, x, centre, w) * (sign / dt)
    if has_belt(ctx.layout, ctx.state, c, w):
        travel = travel + measure_belt_travel(ctx.here, ctx.layout, ctx.state, c, normal, w) / dt
    s = contact_velocity(ctx, c, 0, 0, z, w)
    chord = vec3(wp.dot(travel, normal), wp.dot(travel, t1), wp.dot(travel, t2)) - s
    if get_int(ctx.work.status, Status.FAST_LINKS, w) == 1:
        if is_fast_and_free(ctx, a, w) or is_fast_and_free(ctx, b, w):
            chord = tangent_chord(ctx, c, w)
        elif (is_fast(ctx, a, w) or is_fast(ctx, b, w)) and wp.length_sq(centre - x) == real(0.0):
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


@wp.func
def max_contact_end_error(work: wp.ref[Scratch], w: int):
    """Largest distance (m) by which the end point of a loaded contact was missed."""
    worst = real(0.0)
    c = int(0)
    while c < contact_count(work, w):
        worst = wp.max(worst, get(work.contact_end_error, c, w))
        c += 1
    return worst
