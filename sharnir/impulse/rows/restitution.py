"""Newton restitution with an energy check: velocities before and after impacts, and the work of their impulses (M-58,
M-59)."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.momenta import whitened_momentum
from sharnir.impulse.data import Context, Scratch
from sharnir.impulse.row_kinds import CONTACT_IMPULSES
from sharnir.impulse.rows.contact_frame import contact_count, contact_velocity
from sharnir.impulse.slots import BLOCK_ROWS
from sharnir.kernels.columns import get, get3, item, item3, put, put3, set_item
from sharnir.kernels.types import SPATIAL, VEC3, array2, real, vec3


@wp.func
def has_restitution(work: wp.ref[Scratch], w: int):
    """1 if any contact has a restitution velocity."""
    found = int(0)
    c = int(0)
    while c < contact_count(work, w):
        if get(work.restitution_velocity, c, w) > real(0.0):
            found = 1
        c += 1
    return found


@wp.func
def whiten_momenta_before(ctx: Context, w: int):
    """z_before ← whitened momenta before the forces of this step, rotors included."""
    i = int(0)
    while i < ctx.tree.links:
        put3(ctx.here.C, 2 * i, w, item3(ctx.state.P, SPATIAL * i, w))
        put3(ctx.here.C, 2 * i + 1, w, item3(ctx.state.P, SPATIAL * i + VEC3, w))
        i += 1
    d = int(0)
    while d < ctx.tree.dof[ctx.tree.links]:
        set_item(ctx.state.joint_momentum, d, w, ctx.tree.armature[d] * item(ctx.state.v, d, w))
        d += 1
    whitened_momentum(ctx.tree, ctx.here, ctx.state.joint_momentum, ctx.work.z_before, w)


@wp.func
def velocity_gain_after_impact(ctx: Context, c: int, w: int):
    """What the velocity of contact c over the step has beyond the one right after the impact: half of the step's
    forces, and the chord minus tangent momenta."""
    chord = contact_velocity(ctx, c, 0, 0, ctx.work.z_base, w) - contact_velocity(ctx, c, 0, 0, ctx.work.z_momentum, w)
    return get3(ctx.work.impact_velocity_gain, c, w) + chord


@wp.func
def impact_work(ctx: Context, z: array2, w: int):
    """Σ p·s (J) over contacts with restitution, with the velocities s after and before the impact; half the sum of both
    is the energy the impacts add."""
    after = real(0.0)
    before = real(0.0)
    c = int(0)
    while c < contact_count(ctx.work, w):
        if get(ctx.work.restitution_velocity, c, w) > real(0.0):
            at = ctx.layout.contact_p_start + CONTACT_IMPULSES * c
            p = vec3(get(ctx.work.p, at, w), get(ctx.work.p, at + 1, w), get(ctx.work.p, at + 2, w))
            after = after + wp.dot(p, contact_velocity(ctx, c, 0, 0, z, w) - velocity_gain_after_impact(ctx, c, w))
            before = before + wp.dot(p, get3(ctx.work.impact_velocity, c, w))
        c += 1
    return after, before


@wp.func
def set_restitution_targets(ctx: Context, share: real, dt: real, w: int):
    """Set the normal targets of contacts with restitution to `share` of their restitution velocity."""
    c = int(0)
    while c < contact_count(ctx.work, w):
        restitution = get(ctx.work.restitution_velocity, c, w)
        if restitution > real(0.0):
            gain = velocity_gain_after_impact(ctx, c, w)
            closing = -wp.max(get(ctx.work.contact_gap, c, w), real(0.0)) / dt
            put(ctx.work.contact_target, BLOCK_ROWS * c, w, wp.max(share * restitution + gain[0], closing))
        c += 1
