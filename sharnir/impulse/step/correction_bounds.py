"""Bounds of a position correction: no body point moves by more than the errors that are removed and CORRECTION_SLACK,
no coordinate is moved out of its limits (M-99, M-100), and no link turns farther than its row is linear (M-114).

Near a singular pose, and where a contact normal is almost orthogonal to what joints allow, an error can only be removed
by moving bodies by many times its size. All bodies that joints and couplings connect (a *mechanism*) are then moved by
the same share of their pseudo-velocities, so that joints stay as closed as they are; the rest of the error stays.
"""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.forces import pivot_of
from sharnir.dynamics.loop_joints import ROW_TABLE_ENTRY, loop_frames_of
from sharnir.enums import ScalarSource
from sharnir.impulse.data import Context, Scratch
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.row_kinds import RowKind
from sharnir.impulse.rows.assembly import measure_loop_coordinates
from sharnir.impulse.rows.contact_frame import contact_count, shape_pair_of
from sharnir.impulse.rows.scalar_rows import measure_scalar
from sharnir.impulse.rows.warn import warn_of
from sharnir.impulse.slots import JOINT_ROWS, ContactMass, Setting, Status, StepWarning
from sharnir.impulse.solve.islands.partition import find_island, root_of_scalar, unite_trees
from sharnir.impulse.solve.split_impulse import contact_push_speed
from sharnir.kernels.columns import get, get3, get6, get33, get_int, item, item_int, put, put6, put_int, set_item
from sharnir.kernels.types import SYM_XX, SYM_YY, SYM_ZZ, real, vec3, vec6
from sharnir.model.joint_rows import RowForm

CORRECTION_SLACK = wp.constant(real(1.0e-3))  # m, by which a correction may move a point beyond the errors it removes
MOST_TURN = wp.constant(real(0.5))  # rad, of a link in a correction
LIMIT_SLACK = wp.constant(real(1.0e-6))  # m or rad, by which a correction may leave a limit: that of unfinished sweeps
# of the mobility that a contact's lighter bodies would have without joints: below, its overlap is left
MIN_CONTACT_MOBILITY = wp.constant(real(1.0e-7))
# squared radius of a ball over inertia per mass: bodies are taken for balls of their inertia, about as large as they
BALL_REACH2 = wp.constant(real(1.25))


@wp.func
def leave_immovable_contacts(ctx: Context, w: int):
    """Take contacts out of the position correction whose bodies joints let move along the normal next to not at all: a
    face tilted by 3e-4 or less against a slide. To undo their overlap bodies would have to move by thousands of times
    its depth."""
    c = int(0)
    while c < contact_count(ctx.work, w):
        at = ContactMass.SIZE * c + ContactMass.NORMAL
        inverse = get(ctx.work.contact_mass, at, w)  # kg
        free = free_mobility(ctx, c, 0, w) + free_mobility(ctx, c, 1, w)
        if inverse * free * MIN_CONTACT_MOBILITY > real(1.0) or (inverse == real(0.0) and free > real(0.0)):
            put(ctx.work.contact_mass, at, w, real(0.0))
            if get(ctx.work.contact_gap, c, w) < -CORRECTION_SLACK:
                warn_of(ctx.state, StepWarning.CORRECTION_LIMITED, w)
        c += 1


@wp.func
def free_mobility(ctx: Context, c: int, side: int, w: int):
    """1/mass (1/kg) of the body on one side of contact c; 0 for the world and for links without mass."""
    link = ctx.layout.contact_model.geo.link[item_int(ctx.state.contacts.shape, 2 * c + side, w)]
    mobility = real(0.0)
    if link >= 0:
        if ctx.tree.mass[link] > real(0.0):
            mobility = real(1.0) / ctx.tree.mass[link]
    return mobility


@wp.func
def reach_of(ctx: Context, i: int):
    """How far points of link i are from its centre of mass, m: the radius of a ball of its mass and inertia."""
    inertia = ctx.tree.inertia[i]
    reach = real(0.0)
    if ctx.tree.mass[i] > real(0.0):
        reach = wp.sqrt(BALL_REACH2 * (inertia[0, 0] + inertia[1, 1] + inertia[2, 2]) / ctx.tree.mass[i])
    return reach


@wp.func
def centre_of(ctx: Context, i: int, w: int):
    """Centre of mass of link i relative to its tree's pivot at the poses that rows belong to, m, world axes."""
    return get3(ctx.here.x, i, w) + get33(ctx.here.R, i, w) * ctx.tree.com[i]


@wp.func
def point_shift(ctx: Context, i: int, dt: real, w: int):
    """Bound of how far the pseudo-velocities that `outward` left in the workspace move points of link i, m."""
    om = get3(ctx.here.a, 2 * i + 1, w)
    v = get3(ctx.here.a, 2 * i, w) + wp.cross(om, centre_of(ctx, i, w))
    return dt * (wp.length(v) + reach_of(ctx, i) * wp.length(om))


@wp.func
def group_trees(ctx: Context, w: int):
    """Find the mechanism of every link, and in `island_parent` the islands of mechanisms that touch each other."""
    i = int(0)
    while i < ctx.layout.links:
        put_int(ctx.work.island_parent, i, w, i)
        i += 1
    k = int(0)
    while k < ctx.loops.count:
        a = ctx.loops.link[2 * k]
        b = ctx.loops.link[2 * k + 1]
        if a >= 0 and b >= 0:
            unite_trees(ctx.work, ctx.layout.link_root[a], ctx.layout.link_root[b], w)
        k += 1
    l = int(0)
    while l < ctx.layout.scalars:
        n = int(1)
        while (ctx.layout.scalar_row_kinds[l] & RowKind.BOUND) != 0 and n < ctx.layout.scalar_row_length[l]:
            unite_trees(ctx.work, root_of_scalar(ctx.layout, l, 0), root_of_scalar(ctx.layout, l, n), w)
            n += 1
        l += 1
    i = int(0)
    while i < ctx.layout.links:
        put_int(ctx.work.mechanism_of_link, i, w, find_island(ctx.work, ctx.layout.link_root[i], w))
        i += 1
    c = int(0)
    while c < contact_count(ctx.work, w):
        a = get_int(ctx.work.contact_trees, 2 * c, w)
        b = get_int(ctx.work.contact_trees, 2 * c + 1, w)
        unite_trees(ctx.work, a, b, w)
        c += 1


@wp.func
def mechanism_of_scalar(layout: wp.ref[Layout], work: wp.ref[Scratch], l: int, w: int):
    """Mechanism (a link of it) that scalar row l belongs to, −1 if it has no entries."""
    mechanism = int(-1)
    if layout.scalar_row_length[l] > 0:
        mechanism = get_int(work.mechanism_of_link, root_of_scalar(layout, l, 0), w)
    return mechanism


@wp.func
def farthest_point(ctx: Context, mechanism: int, x: vec3, w: int):
    """Distance (m) from the world's point x to the farthest point of a mechanism: lever of a rotation about x."""
    farthest = real(0.0)
    i = int(0)
    while i < ctx.layout.links:
        if get_int(ctx.work.mechanism_of_link, i, w) == mechanism:
            y = pivot_of(ctx.tree, ctx.here, i, w) + centre_of(ctx, i, w)
            farthest = wp.max(farthest, wp.length(y - x) + reach_of(ctx, i))
        i += 1
    return farthest


@wp.func
def joint_correction(ctx: Context, k: int, mechanism: int, dt: real, w: int):
    """How far points move where the errors of loop joint k are removed and joints do not multiply that, m."""
    kind = ctx.loops.kind[k]
    shift = real(0.0)
    angle = real(0.0)
    j = int(0)
    while j < ctx.loops.constraint_count[kind]:
        removed = dt * wp.abs(get(ctx.work.pseudo_target, JOINT_ROWS * k + j, w))
        form = ctx.loops.row_table[(JOINT_ROWS * kind + j) * ROW_TABLE_ENTRY]
        if form == RowForm.ALONG or form == RowForm.HELIX:
            shift = shift + removed
        else:
            angle = angle + removed
        j += 1
    if angle > real(0.0):
        s = loop_frames_of(ctx.tree, ctx.here, ctx.loops, k, w)
        shift = shift + angle * farthest_point(ctx, mechanism, s.rb + pivot_of(ctx.tree, ctx.here, s.b, w), w)
    return shift


@wp.func
def scalar_lever(ctx: Context, l: int, mechanism: int, w: int):
    """How far points of a mechanism move, m, where the bounded scalar l changes by 1 (m or rad)."""
    lever = real(0.0)
    kind = ctx.layout.scalar_source_kind[l]
    if kind == ScalarSource.TREE_DOF:
        d = ctx.layout.scalar_source[2 * l]
        linear = get3(ctx.here.S, 2 * d, w)
        angular = get3(ctx.here.S, 2 * d + 1, w)
        i = int(0)
        while i < ctx.layout.links:
            if get_int(ctx.work.mechanism_of_link, i, w) == mechanism:
                v = linear + wp.cross(angular, centre_of(ctx, i, w))
                lever = wp.max(lever, wp.length(v) + wp.length(angular) * reach_of(ctx, i))
            i += 1
    else:  # some joint of the mechanism: about the middle of a body, twice
        lever = wp.max(
            real(1.0),
            real(2.0)
            * farthest_point(
                ctx, mechanism, pivot_of(ctx.tree, ctx.here, mechanism, w) + centre_of(ctx, mechanism, w), w
            ),
        )
    return lever


@wp.func
def add_correction(work: wp.ref[Scratch], link: int, error: real, w: int):
    """Add to what is removed in the island of a link, m."""
    island = find_island(work, link, w)
    put(work.correction_removed, island, w, get(work.correction_removed, island, w) + error)


@wp.func
def sum_corrections(ctx: Context, dt: real, w: int):
    """Errors that the present correction is to remove, m, summed over every island: joints, limits and equalities, and
    of contacts the deepest of every pair of shapes."""
    i = int(0)
    while i < ctx.layout.links:
        put(ctx.work.correction_removed, i, w, real(0.0))
        put(ctx.work.correction_shift, i, w, real(0.0))
        i += 1
    k = int(0)
    while k < ctx.loops.count:
        link = wp.max(ctx.loops.link[2 * k], ctx.loops.link[2 * k + 1])
        mechanism = get_int(ctx.work.mechanism_of_link, link, w)
        add_correction(ctx.work, mechanism, joint_correction(ctx, k, mechanism, dt, w), w)
        k += 1
    l = int(0)
    while l < ctx.layout.scalars:
        mechanism = mechanism_of_scalar(ctx.layout, ctx.work, l, w)
        if (ctx.layout.scalar_row_kinds[l] & RowKind.BOUND) != 0 and mechanism >= 0:
            removed = wp.max(get(ctx.work.pseudo_velocity_lower, l, w), -get(ctx.work.pseudo_velocity_upper, l, w))
            if removed > real(0.0):
                add_correction(ctx.work, mechanism, dt * removed * scalar_lever(ctx, l, mechanism, w), w)
        l += 1
    erp = ctx.state.settings[Setting.ERP, 0]
    deepest = real(0.0)
    c = int(0)
    while c < contact_count(ctx.work, w):
        if c > 0:
            if shape_pair_of(ctx.layout, ctx.state, c, w) != shape_pair_of(ctx.layout, ctx.state, c - 1, w):
                deepest = real(0.0)
        removed = dt * contact_push_speed(ctx.work, c, dt, erp, w)
        link = wp.max(get_int(ctx.work.contact_trees, 2 * c, w), get_int(ctx.work.contact_trees, 2 * c + 1, w))
        if removed > deepest and link >= 0:
            add_correction(ctx.work, link, removed - deepest, w)
            deepest = removed
        c += 1


@wp.func
def scale_mechanism(ctx: Context, mechanism: int, share: real, with_velocity: int, w: int):
    """Multiply the pseudo-velocities in `v_advance` of the links of a mechanism by a share. with_velocity: 1 if v_next
    has been added to them, which stays."""
    d = int(0)
    while d < ctx.layout.dofs:
        if get_int(ctx.work.mechanism_of_link, ctx.layout.dof_root[d], w) == mechanism:
            base = wp.where(with_velocity == 1, item(ctx.state.v_next, d, w), real(0.0))
            set_item(ctx.state.v_advance, d, w, base + share * (item(ctx.state.v_advance, d, w) - base))
        d += 1


@wp.func
def bound_shifts(ctx: Context, dt: real, w: int):
    """Scale the pseudo-velocities `v_advance` of every mechanism so that its points move by no more than the errors
    that are removed in its island and CORRECTION_SLACK (M-99)."""
    largest = real(0.0)
    i = int(0)
    while i < ctx.layout.links:
        largest = wp.max(largest, point_shift(ctx, i, dt, w))
        i += 1
    if not (largest <= CORRECTION_SLACK):
        group_trees(ctx, w)
        sum_corrections(ctx, dt, w)
        i = int(0)
        while i < ctx.layout.links:
            mechanism = get_int(ctx.work.mechanism_of_link, i, w)
            shift = wp.max(get(ctx.work.correction_shift, mechanism, w), point_shift(ctx, i, dt, w))
            put(ctx.work.correction_shift, mechanism, w, shift)
            i += 1
        i = int(0)
        while i < ctx.layout.links:
            if get_int(ctx.work.mechanism_of_link, i, w) == i:
                removed = get(ctx.work.correction_removed, find_island(ctx.work, i, w), w)
                excess = get(ctx.work.correction_shift, i, w) - removed
                if excess > CORRECTION_SLACK:
                    scale_mechanism(ctx, i, CORRECTION_SLACK / excess, 0, w)
                    warn_of(ctx.state, StepWarning.CORRECTION_LIMITED, w)
            i += 1


@wp.func
def correction_turn(ctx: Context, i: int, dt: real, w: int):
    """How far the pseudo-velocities that `outward` left in the workspace turn link i, rad."""
    return dt * wp.length(get3(ctx.here.a, 2 * i + 1, w))


@wp.func
def limit_turns(ctx: Context, dt: real, w: int):
    """Scale the pseudo-velocities `v_advance` of every mechanism so that no link turns by more than MOST_TURN, and
    raise the inertia of links that turn by half as much or more, for the corrections to come (M-114). Where an error is
    large against the arms of its joint, light links would turn far instead of heavy ones moving, and mend nothing."""
    largest = real(0.0)
    i = int(0)
    while i < ctx.layout.links:
        largest = wp.max(largest, correction_turn(ctx, i, dt, w))
        i += 1
    if largest > MOST_TURN:
        group_trees(ctx, w)
        raised = get_int(ctx.work.status, Status.STIFFENED, w) + get_int(ctx.work.status, Status.TURN_LIMITED, w) > 0
        i = int(0)
        while i < ctx.layout.links:
            put(ctx.work.correction_shift, i, w, real(0.0))
            if not raised:
                put6(ctx.here.B, i, w, vec6())
            i += 1
        put_int(ctx.work.status, Status.TURN_LIMITED, w, 1)
        i = int(0)
        while i < ctx.layout.links:
            mechanism = get_int(ctx.work.mechanism_of_link, i, w)
            turn = correction_turn(ctx, i, dt, w)
            put(ctx.work.correction_shift, mechanism, w, wp.max(get(ctx.work.correction_shift, mechanism, w), turn))
            raise_inertia(ctx, i, turn / (real(0.5) * MOST_TURN), w)
            i += 1
        i = int(0)
        while i < ctx.layout.links:
            turn = get(ctx.work.correction_shift, i, w)
            if turn > MOST_TURN:
                scale_mechanism(ctx, i, MOST_TURN / turn, 0, w)
            i += 1


@wp.func
def raise_inertia(ctx: Context, i: int, ratio: real, w: int):
    """B of link i += ratio² times its largest moment with B, about all axes, where ratio is above 1."""
    if ratio > real(1.0):
        B = get6(ctx.here.B, i, w)
        I = ctx.layout.link_resistance[i]
        more = (wp.max(I[0], wp.max(I[1], I[2])) + B[SYM_XX] + B[SYM_YY] + B[SYM_ZZ]) * ratio * ratio
        put6(ctx.here.B, i, w, B + vec6(more, more, more, real(0.0), real(0.0), real(0.0)))


@wp.func
def has_limit(layout: wp.ref[Layout], l: int):
    """Whether scalar l is limited; equalities are not."""
    return (layout.scalar_row_kinds[l] & RowKind.BOUND) != 0 and layout.scalar_lower[l] < layout.scalar_upper[l]


@wp.func
def share_within_limits(ctx: Context, l: int, w: int):
    """Share of the present correction after which the limited scalar l is within its limits, or as far beyond as it was
    without the correction; 1 where all of it may be made (M-100)."""
    share = real(1.0)
    before = get(ctx.work.scalar_position_next, l, w)
    after = measure_scalar(ctx, ctx.here, l, ctx.state.q_next, ctx.state.loop_q_next, w)
    upper = wp.max(ctx.layout.scalar_upper[l], before)
    lower = wp.min(ctx.layout.scalar_lower[l], before)
    if after > upper + LIMIT_SLACK:
        share = (upper + LIMIT_SLACK - before) / (after - before)
    elif after < lower - LIMIT_SLACK:
        share = (before - lower + LIMIT_SLACK) / (before - after)
    return share


@wp.func
def bound_by_limits(ctx: Context, with_velocity: int, w: int):
    """Scale the pseudo-velocities in `v_advance` of mechanisms that the correction, at the poses in the workspace,
    moved out of a limit; returns 1 if there are any. Limits that were too far away to have a row are bounded here only.
    with_velocity: see `scale_mechanism`."""
    limits = int(0)
    l = int(0)
    while l < ctx.layout.scalars and limits == 0:
        limits = wp.where(has_limit(ctx.layout, l), 1, 0)
        l += 1
    limited = int(0)
    if limits == 1:
        measure_loop_coordinates(ctx.tree, ctx.here, ctx.loops, ctx.state.loop_q, ctx.state.loop_q_next, w)
    l = int(0)
    while l < ctx.layout.scalars and limits == 1:
        share = real(1.0)
        if has_limit(ctx.layout, l):
            share = share_within_limits(ctx, l, w)
        if share < real(1.0):
            if limited == 0:
                group_trees(ctx, w)
                limited = 1
            mechanism = mechanism_of_scalar(ctx.layout, ctx.work, l, w)
            if mechanism >= 0:
                scale_mechanism(ctx, mechanism, share, with_velocity, w)
        l += 1
    if limited == 1:
        warn_of(ctx.state, StepWarning.CORRECTION_LIMITED, w)
    return limited
