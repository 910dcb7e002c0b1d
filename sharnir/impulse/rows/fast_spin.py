"""Links that turn far in a step (M-105 to M-107): momenta of free ones by substeps of their rotation, turns that a
quaternion loses, contacts whose chord says nothing, and the warning."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.free_rotation import count_turns, free_turn, is_free_link
from sharnir.dynamics.momenta import rotation_offset
from sharnir.impulse.data import Context
from sharnir.impulse.rows.warn import warn_of
from sharnir.impulse.slots import Setting, Status, StepWarning
from sharnir.kernels.columns import get, get3, get6, get_int, put3, put_int
from sharnir.kernels.types import SYM_XY, SYM_XZ, SYM_YZ, SYM_ZZ, mat33, real, vec3

SUBSTEP_FROM = wp.constant(real(0.25))  # rad in a step: free links that turn farther rotate in substeps
FAST_TURN = wp.constant(real(1.0))  # rad in a step: what turns farther has no useful chord
UNALIGNED = wp.constant(real(0.1))  # sine between spin and angular momentum from which a fast spin is no steady one


@wp.func
def turn_squared(ctx: Context, i: int, dt: real, w: int):
    """Square of the angle (rad) by which link i turns in a step at the velocities of the last outward pass."""
    om = get3(ctx.here.a, 2 * i + 1, w) * dt
    return wp.dot(om, om)


@wp.func
def world_inertia(ctx: Context, i: int, w: int):
    """Inertia of link i about its centre of mass, world axes, as a matrix."""
    A = get6(ctx.here.I, i, w)
    return mat33(
        A[0], A[SYM_XY], A[SYM_XZ], A[SYM_XY], A[1], A[SYM_YZ], A[SYM_XZ], A[SYM_YZ], A[SYM_ZZ]
    )


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
def settle_free_link(ctx: Context, i: int, dt: real, w: int):
    """C of a free link that turns fast ← its momentum after all impulses, less what the velocities of the step lack of
    the displacement that a free rotation makes of it (M-105)."""
    mass = ctx.tree.mass[i]
    r = get3(ctx.here.com, i, w)
    I = world_inertia(ctx, i, w)
    vel, om = free_link_velocity(ctx, i, w)
    p = (vel + wp.cross(om, r)) * mass
    L = I * om
    u, s, turn, over = free_turn(I, L, dt)
    om = turn / dt
    vel = p / mass - rotation_offset(u, s, r) / dt
    now = get3(ctx.here.a, 2 * i + 1, w)
    lacking_p = vel - get3(ctx.here.a, 2 * i, w) + wp.cross(om - now, r)
    put3(ctx.here.C, 2 * i, w, p - lacking_p * mass)
    put3(ctx.here.C, 2 * i + 1, w, L - I * (om - now))
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
        turn2 = turn_squared(ctx, i, dt, w)
        if turn2 > SUBSTEP_FROM * SUBSTEP_FROM:
            unresolved = real(0.0)
            if is_free_link(ctx.tree, ctx.here, i, w):
                unresolved = settle_free_link(ctx, i, dt, w)
            elif turn2 > FAST_TURN * FAST_TURN:
                unresolved = settle_turned_link(ctx, i, dt, w) - UNALIGNED
            if unresolved > real(0.0):
                warn_of(ctx.state, StepWarning.FAST_SPIN, w)
            if turn2 > FAST_TURN * FAST_TURN:
                fast = 1
        i += 1
    put_int(ctx.work.status, Status.FAST_LINKS, w, fast)


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
