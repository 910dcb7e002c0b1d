"""Links that turn far in a step (M-105 to M-107): momenta of free ones by substeps of their rotation, turns that a
quaternion loses, contacts whose chord says nothing, and the warning."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.free_rotation import count_turns, free_turn, is_free_link
from sharnir.dynamics.momenta import rotation_offset
from sharnir.enums import ShapeKind
from sharnir.impulse.data import Context
from sharnir.impulse.row_kinds import CONTACT_IMPULSES
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.rows.warn import warn_of
from sharnir.impulse.slots import BLOCK_ROWS, Setting, Status, StepWarning
from sharnir.kernels.columns import get, get3, get6, get33, get_int, item_int, put, put3, put_int, set_item
from sharnir.kernels.types import SYM_XY, SYM_XZ, SYM_YZ, SYM_ZZ, VEC3, column, mat33, real, vec3

SUBSTEP_TURN_FROM = wp.constant(real(0.08))  # rad in a step: links that turn less need no substeps,
SUBSTEP_RATE_FROM = wp.constant(real(0.5))  # nor do those whose |I⁻¹| |L| dt is less
STEADY = wp.constant(real(1.0e-6))  # sine between spin and angular momentum below which the spin is steady
FAST_TURN = wp.constant(real(1.0))  # rad in a step: what turns farther has no useful chord
COARSE_TURN = wp.constant(real(0.5))  # rad in a step, from which the rotation of a link in a tree is not resolved
UNALIGNED = wp.constant(real(0.1))  # sine between spin and angular momentum from which a fast spin is no steady one


@wp.func
def link_spin(ctx: Context, link: int, w: int):
    """Angular velocity of a link, or of the world, that the last outward pass left."""
    om = vec3()
    if link >= 0:
        om = get3(ctx.here.a, 2 * link + 1, w)
    return om


@wp.func
def is_fast(ctx: Context, link: int, w: int):
    """Whether a link turns by more than FAST_TURN in the step."""
    return wp.length(link_spin(ctx, link, w)) * ctx.state.settings[Setting.DT, 0] > FAST_TURN


@wp.func
def is_fast_and_free(ctx: Context, link: int, w: int):
    """Whether a link turns by more than FAST_TURN in the step and is free."""
    fast = is_fast(ctx, link, w)
    if fast:
        fast = is_free_link(ctx.tree, ctx.here, link, w)
    return fast


@wp.func
def world_inertia(ctx: Context, i: int, w: int):
    """Inertia of link i about its centre of mass, world axes, as a matrix."""
    A = get6(ctx.here.I, i, w)
    return mat33(A[0], A[SYM_XY], A[SYM_XZ], A[SYM_XY], A[1], A[SYM_YZ], A[SYM_XZ], A[SYM_YZ], A[SYM_ZZ])


@wp.func
def free_link_velocity(ctx: Context, i: int, w: int):
    """Velocity (linear, angular) of a free link that its momentum after all impulses has at the pose of the start."""
    vel = vec3()
    om = vec3()
    d = ctx.tree.dof[i]
    while d < ctx.tree.dof[i + 1]:
        z = get(ctx.work.z_momentum, d, w) + get(ctx.here.z, d, w) - get(ctx.work.z_base, d, w)
        along = wp.dot(get3(ctx.here.U, 2 * d, w), vel) + wp.dot(get3(ctx.here.U, 2 * d + 1, w), om)
        rate = (z - along) * get(ctx.here.rsD, d, w)
        vel = vel + get3(ctx.here.S, 2 * d, w) * rate
        om = om + get3(ctx.here.S, 2 * d + 1, w) * rate
        d += 1
    return vel, om


@wp.func
def turns_freely(ctx: Context, i: int, dt: real, w: int):
    """Whether link i is free and its rotation needs substeps: it turns too far for the midpoint rule to keep its
    energy, or for the iteration that solves it (a contraction by about ½ |I⁻¹| |L| dt), and its spin is not steady."""
    om = get3(ctx.here.a, 2 * i + 1, w)
    turn2 = wp.dot(om, om) * dt * dt
    found = False
    if turn2 > SUBSTEP_TURN_FROM * SUBSTEP_TURN_FROM and is_free_link(ctx.tree, ctx.here, i, w):
        found = turn2 > FAST_TURN * FAST_TURN
        if not found:
            I = world_inertia(ctx, i, w)
            L = I * om
            J = wp.inverse(I)
            rate2 = wp.ddot(J, J) * wp.dot(L, L) * dt * dt
            askew = wp.length_sq(wp.cross(L, om)) > STEADY * STEADY * wp.dot(L, L) * wp.dot(om, om)
            found = askew and rate2 > SUBSTEP_RATE_FROM * SUBSTEP_RATE_FROM
    return found


@wp.func
def free_displacement(ctx: Context, i: int, p: vec3, L: vec3, dt: real, w: int):
    """Velocity (linear at the pivot, angular) that displaces link i in a step as its momentum (p, L) alone does, and
    the time (s) that was not resolved (M-105)."""
    r = get3(ctx.here.com, i, w)
    u, s, turn, over = free_turn(world_inertia(ctx, i, w), L, dt)
    return p / ctx.tree.mass[i] - rotation_offset(u, s, r) / dt, turn / dt, over


@wp.func
def settle_free_link(ctx: Context, i: int, dt: real, w: int):
    """C of a free link that turns fast ← its momentum after all impulses, less what the velocities of the step lack of
    the displacement that a free rotation makes of it (M-105). Returns the time (s) that was not resolved."""
    mass = ctx.tree.mass[i]
    r = get3(ctx.here.com, i, w)
    I = world_inertia(ctx, i, w)
    vel, om = free_link_velocity(ctx, i, w)
    p = (vel + wp.cross(om, r)) * mass
    L = I * om
    vel, om, over = free_displacement(ctx, i, p, L, dt, w)
    lacking_spin = om - get3(ctx.here.a, 2 * i + 1, w)
    lacking = vel - get3(ctx.here.a, 2 * i, w) + wp.cross(lacking_spin, r)
    put3(ctx.here.C, 2 * i, w, p - lacking * mass)
    put3(ctx.here.C, 2 * i + 1, w, L - I * lacking_spin)
    return over


@wp.func
def settle_turned_link(ctx: Context, i: int, dt: real, w: int):
    """L of a link that turns by more than half a turn in a step: (M-32) with the turns that its displacement does not
    know (M-106). Returns the sine between spin and angular momentum: 0 where the spin is steady."""
    om = get3(ctx.here.a, 2 * i + 1, w)
    I = world_inertia(ctx, i, w)
    turn = count_turns(get3(ctx.here.Qu, i, w), get(ctx.here.Qs, i, w), om * dt)
    y = I * turn / dt
    angle = wp.length(turn)
    if angle > real(0.0):
        half = turn * (wp.sin(real(0.25) * angle) / angle)  # of the rotation to the middle of the step
        y = y + rotation_offset(half, wp.cos(real(0.25) * angle), y)
    put3(ctx.here.C, 2 * i + 1, w, y)
    return wp.length(wp.cross(y, turn)) / wp.max(wp.length(y) * angle, real(1.0e-30))


@wp.func
def settle_fast_links(ctx: Context, dt: real, w: int):
    """Momenta C of the links that turn far in the step, after those of all others; notes whether there are any."""
    fast = int(0)
    i = int(0)
    while i < ctx.tree.links:
        turn2 = wp.length_sq(get3(ctx.here.a, 2 * i + 1, w)) * dt * dt
        if turn2 > SUBSTEP_TURN_FROM * SUBSTEP_TURN_FROM:
            unresolved = real(0.0)
            if turns_freely(ctx, i, dt, w):
                unresolved = settle_free_link(ctx, i, dt, w)
            elif turn2 > COARSE_TURN * COARSE_TURN and not is_free_link(ctx.tree, ctx.here, i, w):
                unresolved = settle_turned_link(ctx, i, dt, w) - UNALIGNED
            if unresolved > real(0.0):
                warn_of(ctx.state, StepWarning.FAST_SPIN, w)
            if turn2 > FAST_TURN * FAST_TURN:
                fast = 1
        i += 1
    put_int(ctx.work.status, Status.FAST_LINKS, w, fast)
    if fast == 1:
        warn_of_fast_contacts(ctx, w)


@wp.func
def stays_round(ctx: Context, shape: int, w: int):
    """Whether a shape of a link that turns far in the step stays in place by its spin: a ball, or a body of revolution
    about the spin. So does what does not turn far."""
    link = ctx.layout.contact_model.geo.link[shape]
    kind = ctx.layout.contact_model.geo.kind[shape]
    found = not is_fast(ctx, link, w) or kind == ShapeKind.SPHERE
    if not found and (kind == ShapeKind.CAPSULE or kind == ShapeKind.CYLINDER):
        axis = get33(ctx.here.R, link, w) * column(ctx.layout.contact_model.geo.rot[shape], 2)
        om = link_spin(ctx, link, w)
        found = wp.length(wp.cross(axis, om)) < UNALIGNED * wp.length(om)
    return found


@wp.func
def warn_of_fast_contacts(ctx: Context, w: int):
    """Warn where a contact bears load whose point is another one many times within the step."""
    c = int(0)
    while c < contact_count(ctx.work, w):
        if get(ctx.work.p, ctx.layout.contact_p_start + CONTACT_IMPULSES * c, w) > real(0.0):
            first = stays_round(ctx, item_int(ctx.state.contacts.shape, 2 * c, w), w)
            if not first or not stays_round(ctx, item_int(ctx.state.contacts.shape, 2 * c + 1, w), w):
                warn_of(ctx.state, StepWarning.FAST_SPIN, w)
        c += 1


@wp.func
def turn_fast_links(ctx: Context, dt: real, w: int):
    """Linearised step: velocities of free links that turn fast ← those that displace them as their momentum C does, so
    that the rotation adds no energy; C stays (M-105)."""
    i = int(0)
    while i < ctx.tree.links:
        if turns_freely(ctx, i, dt, w):
            warn_of(ctx.state, StepWarning.FAST_SPIN, w)
            vel, om, over = free_displacement(ctx, i, get3(ctx.here.C, 2 * i, w), get3(ctx.here.C, 2 * i + 1, w), dt, w)
            d = ctx.tree.dof[i]
            while d < ctx.tree.dof[i + 1]:
                along = wp.dot(get3(ctx.here.S, 2 * d, w), vel) + wp.dot(get3(ctx.here.S, 2 * d + 1, w), om)
                set_item(ctx.state.v_next, d, w, along)
                d += 1
        i += 1


@wp.func
def clear_tangent_chords(ctx: Context, w: int):
    """Before the linearised step: rows of contacts of free links that turn fast are of the momenta at the start
    already."""
    if get_int(ctx.work.status, Status.FAST_LINKS, w) == 1:
        c = int(0)
        while c < contact_count(ctx.work, w):
            a = ctx.layout.contact_model.geo.link[item_int(ctx.state.contacts.shape, 2 * c, w)]
            b = ctx.layout.contact_model.geo.link[item_int(ctx.state.contacts.shape, 2 * c + 1, w)]
            if is_fast_and_free(ctx, a, w) or is_fast_and_free(ctx, b, w):
                k = int(0)
                while k < BLOCK_ROWS:
                    at = BLOCK_ROWS * c + k
                    chord = get(ctx.work.contact_chord, VEC3 * c + k, w)
                    put(ctx.work.contact_target, at, w, get(ctx.work.contact_target, at, w) + chord)
                    k += 1
                put3(ctx.work.contact_chord, c, w, vec3())
            c += 1
