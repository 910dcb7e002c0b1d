"""Loads on light links: links whose turning under the pull of their joints is too quick for the step get more inertia
(M-91..M-95).

Joints that pull at a link make it turn back like a spring. Its stiffness is explicit in a step, since impulses act
along the joints at the start pose, so a light link under a heavy load would oscillate with growing amplitude. Where a
link's own frequency is beyond what the step resolves, its inertia in the factor is raised so that the pull acts at the
mean of both ends of the step, with a damper on quick turns. Other links and steps are as they were, bit for bit.
"""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.momenta import link_velocities, whitened_momentum
from sharnir.impulse.data import Context
from sharnir.impulse.rows.warn import warn_of
from sharnir.impulse.slots import LinkLoad, ReportItem, Status, StepWarning, WorldLoad
from sharnir.impulse.tolerances import FOLD_RATIO
from sharnir.kernels.columns import (
    get,
    get3,
    get6,
    get33,
    get_int,
    item,
    item3,
    put,
    put3,
    put6,
    put_int,
    set_item,
    set_item3,
)
from sharnir.kernels.types import (
    SYM_XX,
    SYM_XY,
    SYM_XZ,
    SYM_YY,
    SYM_YZ,
    SYM_ZZ,
    mat33,
    real,
    sym_mul,
    sym_rotate,
    vec3,
    vec6,
)

# y = (dt ω/2)² of a link's own turning: from ACTIVE_FROM on its inertia is raised, fully from ACTIVE_FULLY on
ACTIVE_FROM = wp.constant(real(0.5))
ACTIVE_FULLY = wp.constant(real(1.0))
MEAN_SHARE = wp.constant(real(0.5))  # of dt h K: a pull at the mean of both ends of the step
DAMPER_SHARE = wp.constant(real(0.15))  # of dt h K: a damper of fifth order in dt ω (M-94)
DAMPER_MEMORY = wp.constant(real(0.6))  # ρ of its filter
ADDED_SHARE = wp.constant(real(0.65))  # both together
THIN_SHARE = wp.constant(real(0.3))  # of the largest moment of a link: smaller ones are raised to it
MOST_GROWTH = wp.constant(real(1.25))  # factor by which B may grow in a step with its memory of the one before
MOST_RISE = wp.constant(real(2.0))  # of y within a step: beyond, it is made again
FOLD_RISE = wp.constant(real(10.0))  # of the pull at a link in a step, near a fold: what rises more is gone at once
HELD_SHARE = wp.constant(real(0.5))  # of K that a step goes on with where the pull has gone


@wp.func
def world_load_slot(ctx: Context, slot: int):
    """Place of a `WorldLoad` in `State.link_load`."""
    return LinkLoad.SIZE * ctx.tree.links + slot


@wp.func
def stiffness_of(ctx: Context, i: int, w: int):
    """K of link i as the step before left it, principal axes."""
    a = item3(ctx.state.link_load, LinkLoad.SIZE * i + LinkLoad.K, w)
    b = item3(ctx.state.link_load, LinkLoad.SIZE * i + LinkLoad.K_OFF, w)
    return vec6(a[0], a[1], a[2], b[0], b[1], b[2])


@wp.func
def trace_of(K: vec6):
    """Trace of a symmetric matrix."""
    return K[SYM_XX] + K[SYM_YY] + K[SYM_ZZ]


@wp.func
def turning_ratio(ctx: Context, K: vec6, i: int):
    """Largest K_aa over the moment that a turn about principal axis a meets: ω² of the link's own turning, 1/s²."""
    I = ctx.layout.link_resistance[i]
    return wp.max(wp.max(K[SYM_XX] / I[0], K[SYM_YY] / I[1]), K[SYM_ZZ] / I[2])


@wp.func
def principal_frame(ctx: Context, i: int, w: int):
    """Principal axes of link i as columns, world axes."""
    return get33(ctx.here.R, i, w) * ctx.layout.link_axes[i]


@wp.func
def sym_to_matrix(K: vec6):
    """A symmetric matrix of six numbers in full."""
    xy = K[SYM_XY]
    xz = K[SYM_XZ]
    yz = K[SYM_YZ]
    return mat33(K[SYM_XX], xy, xz, xy, K[SYM_YY], yz, xz, yz, K[SYM_ZZ])


@wp.func
def load_stiffening(ctx: Context, h: real, dt: real, w: int):
    """B of all links at the start of a step (M-93), their torques of (M-94) added to F, `Status.STIFFENED`."""
    count = int(0)
    if item(ctx.state.link_load, world_load_slot(ctx, int(WorldLoad.ACTIVE)), w) > real(0.0):
        i = int(0)
        while i < ctx.tree.links:
            count += load_link(ctx, h, dt, i, w)
            i += 1
    put_int(ctx.work.status, Status.STIFFENED, w, count)
    put_int(ctx.work.status, Status.LOADS_KNOWN, w, 0)


@wp.func
def load_link(ctx: Context, h: real, dt: real, i: int, w: int):
    """B and torque of link i; returns 1 if it has any."""
    K = stiffness_of(ctx, i, w)
    B = vec6()
    torque = vec3()
    active = int(0)
    y = real(0.25) * dt * dt * turning_ratio(ctx, K, i)
    if y > ACTIVE_FROM:
        active = 1
        share = wp.min((y - ACTIVE_FROM) / (ACTIVE_FULLY - ACTIVE_FROM), real(1.0))
        I = ctx.layout.link_moments[i]
        least = THIN_SHARE * wp.max(wp.max(I[0], I[1]), I[2])
        zero = real(0.0)
        thin = vec6(
            wp.max(least - I[0], zero), wp.max(least - I[1], zero), wp.max(least - I[2], zero), zero, zero, zero
        )
        B = sym_rotate(principal_frame(ctx, i, w), sym_to_matrix((K * (ADDED_SHARE * h * dt) + thin) * share))
        before = item(ctx.state.link_load, LinkLoad.SIZE * i + LinkLoad.TRACE, w)
        memory = remembered_rate(ctx, i, w)
        torque = sym_mul(B, memory) * wp.min(MOST_GROWTH * before * h / trace_of(B), real(1.0))
        put3(ctx.here.F, 2 * i + 1, w, get3(ctx.here.F, 2 * i + 1, w) + torque)
    put6(ctx.here.B, i, w, B)
    put3(ctx.work.added_torque, i, w, torque)
    return active


@wp.func
def remembered_rate(ctx: Context, i: int, w: int):
    """Angular velocity that B meets: where the link turns with it, B does nothing (M-94)."""
    at = LinkLoad.SIZE * i
    rate = item3(ctx.state.link_load, at + LinkLoad.RATE, w)
    y = item3(ctx.state.link_load, at + LinkLoad.DAMPER, w)
    y_before = item3(ctx.state.link_load, at + LinkLoad.DAMPER_BEFORE, w)
    return rate - (y * real(2.0) - y_before) * (DAMPER_MEMORY / ADDED_SHARE)


@wp.func
def add_raised_momenta(ctx: Context, w: int):
    """L += B ω at the velocities of the last outward pass; L without it is kept."""
    i = int(0)
    while i < ctx.tree.links:
        L = get3(ctx.here.C, 2 * i + 1, w)
        put3(ctx.work.kept_L, i, w, L)
        put3(ctx.here.C, 2 * i + 1, w, L + sym_mul(get6(ctx.here.B, i, w), get3(ctx.here.a, 2 * i + 1, w)))
        i += 1


@wp.func
def drop_raised_momenta(ctx: Context, w: int):
    """L ← what was kept."""
    i = int(0)
    while i < ctx.tree.links:
        put3(ctx.here.C, 2 * i + 1, w, get3(ctx.work.kept_L, i, w))
        i += 1


@wp.func
def forget_rates(ctx: Context, w: int):
    """Take the torques of (M-94) out of z and z_momentum: the linearised step takes the pull at its end, which is
    dissipative."""
    i = int(0)
    while i < ctx.tree.links:
        put3(ctx.here.C, 2 * i, w, vec3())
        put3(ctx.here.C, 2 * i + 1, w, get3(ctx.work.added_torque, i, w))
        put3(ctx.here.F, 2 * i + 1, w, get3(ctx.here.F, 2 * i + 1, w) - get3(ctx.work.added_torque, i, w))
        put3(ctx.work.added_torque, i, w, vec3())
        i += 1
    d = int(0)
    while d < ctx.layout.dofs:
        set_item(ctx.state.joint_momentum, d, w, real(0.0))
        d += 1
    whitened_momentum(ctx.tree, ctx.here, ctx.state.joint_momentum, ctx.work.z_residual, w)
    d = int(0)
    while d < ctx.layout.dofs:
        z = get(ctx.work.z_residual, d, w)
        put(ctx.here.z, d, w, get(ctx.here.z, d, w) - z)
        put(ctx.work.z_momentum, d, w, get(ctx.work.z_momentum, d, w) - z)
        d += 1


@wp.func
def lasting_load(ctx: Context, i: int, w: int):
    """K of link i by the joint forces of this step. Next to a fold, where loops let forces grow without bound for a
    moment, at most FOLD_RISE times as much as in the step before."""
    K = get6(ctx.work.joint_load, i, w)
    if item(ctx.state.report, ReportItem.MIN_RELATIVE_PIVOT, w) < FOLD_RATIO:
        ratio = turning_ratio(ctx, K, i)
        most = FOLD_RISE * item(ctx.state.link_load, LinkLoad.SIZE * i + LinkLoad.PULL, w)
        if ratio > most:
            K = K * (most / ratio)
    return K


@wp.func
def raise_stiffness(ctx: Context, dt: real, w: int):
    """K of the present step ← the larger of it and of what its joint forces give, by trace, for all links if any calls
    for MOST_RISE times as much and is not resolved by the step; returns 1 if so."""
    again = int(0)
    i = int(0)
    while i < ctx.tree.links:
        y = real(0.25) * dt * dt * turning_ratio(ctx, lasting_load(ctx, i, w), i)
        y_used = real(0.25) * dt * dt * turning_ratio(ctx, stiffness_of(ctx, i, w), i)
        if y > wp.max(ACTIVE_FULLY, MOST_RISE * y_used):
            again = 1
        i += 1
    if again == 1:
        i = int(0)
        while i < ctx.tree.links:
            K = lasting_load(ctx, i, w)
            if turning_ratio(ctx, K, i) > turning_ratio(ctx, stiffness_of(ctx, i, w), i):
                set_stiffness(ctx, i, K, w)
            i += 1
        set_item(ctx.state.link_load, world_load_slot(ctx, int(WorldLoad.ACTIVE)), w, real(1.0))
    return again


@wp.func
def set_stiffness(ctx: Context, i: int, K: vec6, w: int):
    """Store K of link i for the step to come."""
    set_item3(ctx.state.link_load, LinkLoad.SIZE * i + LinkLoad.K, w, vec3(K[SYM_XX], K[SYM_YY], K[SYM_ZZ]))
    set_item3(ctx.state.link_load, LinkLoad.SIZE * i + LinkLoad.K_OFF, w, vec3(K[SYM_YZ], K[SYM_XZ], K[SYM_XY]))


@wp.func
def larger_stiffness(a: vec6, b: vec6):
    """The one with the larger trace, the first where they are equal."""
    out = a
    if trace_of(b) > trace_of(a):
        out = b
    return out


@wp.func
def update_link_loads(ctx: Context, h: real, dt: real, w: int):
    """K, rates and dampers of all links for the next step (M-95), from `Scratch.joint_load`."""
    guarded = item(ctx.state.report, ReportItem.FALLBACK_USED, w) > real(0.0)
    stiffened = get_int(ctx.work.status, Status.STIFFENED, w)
    link_velocities(ctx.tree, ctx.here, ctx.state.v_next, w)
    count = int(0)
    i = int(0)
    while i < ctx.tree.links:
        at = LinkLoad.SIZE * i
        K = lasting_load(ctx, i, w)
        K = larger_stiffness(K, stiffness_of(ctx, i, w) * HELD_SHARE)
        active = real(0.25) * dt * dt * turning_ratio(ctx, K, i) > ACTIVE_FROM
        rate = vec3()
        y = vec3()
        y_before = vec3()
        trace = real(0.0)
        if active:
            count += 1
            rate = get3(ctx.here.a, 2 * i + 1, w)
            if stiffened > 0:
                if item(ctx.state.link_load, at + LinkLoad.TRACE, w) > real(0.0) and not guarded:
                    change = rate - item3(ctx.state.link_load, at + LinkLoad.RATE, w)
                    y_before = item3(ctx.state.link_load, at + LinkLoad.DAMPER, w)
                    y = (
                        change * DAMPER_SHARE
                        + (y_before * real(2.0) - item3(ctx.state.link_load, at + LinkLoad.DAMPER_BEFORE, w))
                        * DAMPER_MEMORY
                    )
                trace = trace_of(get6(ctx.here.B, i, w)) / h
        else:
            K = vec6()
        set_stiffness(ctx, i, K, w)
        set_item3(ctx.state.link_load, at + LinkLoad.RATE, w, rate)
        set_item3(ctx.state.link_load, at + LinkLoad.DAMPER, w, y)
        set_item3(ctx.state.link_load, at + LinkLoad.DAMPER_BEFORE, w, y_before)
        set_item(ctx.state.link_load, at + LinkLoad.TRACE, w, trace)
        pull = turning_ratio(ctx, get6(ctx.work.joint_load, i, w), i)
        set_item(ctx.state.link_load, at + LinkLoad.PULL, w, pull)
        i += 1
    set_item(ctx.state.link_load, world_load_slot(ctx, int(WorldLoad.ACTIVE)), w, real(count))
    set_item(ctx.state.link_load, world_load_slot(ctx, int(WorldLoad.MEASURED)), w, real(1.0))
    if stiffened > 0:
        set_item(ctx.state.report, ReportItem.STIFFENED_LINKS, w, real(stiffened))
        warn_of(ctx.state, int(StepWarning.LINKS_STIFFENED), w)


@wp.func
def clear_link_loads(ctx: Context, w: int):
    """Forget loads, rates and dampers of all links: joints pull at none of them so much that it could be stiffened."""
    i = int(0)
    while i < ctx.tree.links:
        slot = int(0)
        while slot < LinkLoad.RESERVE:
            set_item(ctx.state.link_load, LinkLoad.SIZE * i + slot, w, real(0.0))
            slot += 1
        i += 1
    set_item(ctx.state.link_load, world_load_slot(ctx, int(WorldLoad.ACTIVE)), w, real(0.0))
    set_item(ctx.state.link_load, world_load_slot(ctx, int(WorldLoad.MEASURED)), w, real(0.0))
