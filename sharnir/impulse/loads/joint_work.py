"""Work that joints do by being stiff over a step, beyond what acts along their coordinates, and the bound on it
(M-96..M-98).

Exact joints do none. In a step they do, of third order where it resolves the motion; where it does not (loads on light
links, linearised steps, steps that drop a residual) momenta are scaled down so that joints give back no more than they
took, mechanism by mechanism.
"""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.tree import Workspace
from sharnir.enums import ScalarSource
from sharnir.impulse.data import Context
from sharnir.impulse.loads.row_wrenches import scalar_impulse_of
from sharnir.impulse.loads.stiffening import THIN_SHARE, principal_frame, trace_of, world_load_slot
from sharnir.impulse.rows.warn import warn_of
from sharnir.impulse.slots import (
    LinkLoad,
    Load,
    MechanismBound,
    MechanismWork,
    ReportItem,
    Setting,
    Status,
    StepWarning,
    WorldLoad,
)
from sharnir.impulse.tolerances import REST_SPEED
from sharnir.kernels.columns import get, get3, get6, get33, get_int, item, item3, put, put_int, set_item, set_item3
from sharnir.kernels.types import SPATIAL, VEC3, real, vec3
from sharnir.kernels.vector_ops import row_dot

GIVEN_BACK = wp.constant(real(0.02))  # of the largest kinetic energy: losses of the last steps that a step may gain
KINETIC_DECAY = wp.constant(real(0.999))  # of that energy, in a step
OWED = wp.constant(real(1.0e-4))  # of that energy: what joints may owe before it is taken back


@wp.func
def flag_mechanisms(ctx: Context, w: int):
    """`Scratch.mechanism_bound` of all mechanisms: JOINTS where links are stiffened, or everywhere where the step is
    linearised; else RESIDUAL where it dropped one."""
    everywhere = int(MechanismBound.NONE)
    if item(ctx.state.report, ReportItem.FALLBACK_USED, w) > real(0.0):
        everywhere = int(MechanismBound.JOINTS)
    elif get_int(ctx.work.status, Status.RESIDUAL_DROPPED, w) == 1:
        everywhere = int(MechanismBound.RESIDUAL)
    i = int(0)
    while i < ctx.tree.links:
        put_int(ctx.work.mechanism_bound, i, w, everywhere)
        i += 1
    i = int(0)
    while i < ctx.tree.links and get_int(ctx.work.status, Status.STIFFENED, w) > 0:
        if ctx.layout.link_mechanism[i] >= 0 and trace_of(get6(ctx.here.B, i, w)) > real(0.0):
            put_int(ctx.work.mechanism_bound, ctx.layout.link_mechanism[i], w, int(MechanismBound.JOINTS))
        i += 1


@wp.func
def add_work(ctx: Context, i: int, slot: int, work: real, w: int):
    """A `MechanismWork` of link i's mechanism += work, J."""
    at = MechanismWork.SIZE * ctx.layout.link_mechanism[i] + slot
    put(ctx.work.mechanism_work, at, w, get(ctx.work.mechanism_work, at, w) + work)


@wp.func
def clear_work(ctx: Context, slot: int, w: int):
    """A `MechanismWork` of all mechanisms ← 0."""
    i = int(0)
    while i < ctx.tree.links:
        put(ctx.work.mechanism_work, MechanismWork.SIZE * i + slot, w, real(0.0))
        i += 1


@wp.func
def bound_of(ctx: Context, i: int, w: int):
    """`MechanismBound` of link i in this step; of a free body NONE."""
    bound = int(MechanismBound.NONE)
    if ctx.layout.link_mechanism[i] >= 0:
        bound = get_int(ctx.work.mechanism_bound, ctx.layout.link_mechanism[i], w)
    return bound


@wp.func
def is_limited(ctx: Context, i: int, w: int):
    """1 if the work of the joints of link i's mechanism is bounded in this step."""
    return wp.where(bound_of(ctx, i, w) == MechanismBound.JOINTS, 1, 0)


@wp.func
def note_dropped_residual(ctx: Context, w: int):
    """RESIDUAL of mechanisms ← what their momenta gain (J) by the residual that the step drops (M-110)."""
    clear_work(ctx, int(MechanismWork.RESIDUAL), w)
    d = int(0)
    while d < ctx.layout.dofs:
        i = ctx.layout.dof_root[d]
        if ctx.layout.link_mechanism[i] >= 0:
            rate = -get(ctx.here.z, d, w) - get(ctx.work.z_momentum, d, w)
            if ctx.layout.all_bodies_free == 1:
                rate = get(ctx.here.z, d, w) - get(ctx.work.z_base, d, w)
            add_work(ctx, i, int(MechanismWork.RESIDUAL), real(0.5) * get(ctx.work.z_residual, d, w) * rate, w)
        d += 1


@wp.func
def rate_of_momentum(ctx: Context, i: int, L: vec3, w: int):
    """Angular velocity of link i with angular momentum L about its centre of mass; none about axes without inertia."""
    axes = principal_frame(ctx, i, w)
    I = ctx.layout.link_moments[i]
    y = wp.transpose(axes) * L
    zero = real(0.0)
    return axes * vec3(
        wp.where(I[0] > zero, y[0] / I[0], zero),
        wp.where(I[1] > zero, y[1] / I[1], zero),
        wp.where(I[2] > zero, y[2] / I[2], zero),
    )


@wp.func
def velocity_of_momentum(ctx: Context, i: int, p: vec3):
    """Velocity of link i's centre of mass with momentum p; none without mass."""
    v = vec3()
    if ctx.tree.mass[i] > real(0.0):
        v = p / ctx.tree.mass[i]
    return v


@wp.func
def set_work_on_links(ctx: Context, w: int):
    """JOINTS ← work of the impulses ws.p on the links at the mean of their velocities over the step before and this
    one."""
    clear_work(ctx, int(MechanismWork.JOINTS), w)
    half = real(0.5)
    i = int(0)
    while i < ctx.tree.links:
        if is_limited(ctx, i, w) == 1:
            f = get3(ctx.here.p, 2 * i, w)
            n = get3(ctx.here.p, 2 * i + 1, w) - wp.cross(get3(ctx.here.com, i, w), f)
            p = get3(ctx.here.C, 2 * i, w) + item3(ctx.state.P, SPATIAL * i, w)
            L = get3(ctx.here.C, 2 * i + 1, w) + item3(ctx.state.P, SPATIAL * i + VEC3, w)
            work = half * (wp.dot(f, velocity_of_momentum(ctx, i, p)) + wp.dot(n, rate_of_momentum(ctx, i, L, w)))
            add_work(ctx, i, int(MechanismWork.JOINTS), work, w)
        i += 1


@wp.func
def limited_link_of(ctx: Context, l: int, w: int):
    """A link of the mechanism that scalar row l acts on, if the work of its joints is bounded; else −1."""
    link = int(-1)
    if ctx.layout.scalar_row_length[l] > 0:
        d = ctx.layout.index[ctx.layout.scalar_index_start[l]]
        if d < ctx.layout.dofs:
            if is_limited(ctx, ctx.layout.dof_root[d], w) == 1:
                link = ctx.layout.dof_root[d]
    return link


@wp.func
def is_coordinate_loaded(ctx: Context, d: int, w: int):
    """1 if anything acts along velocity coordinate d of the tree; else what joints give there is a residual of the
    step."""
    at = Load.SIZE * d
    force = item(ctx.state.control, d, w)
    force = wp.abs(force) + wp.abs(item(ctx.state.actuator_load, at, w))
    force += wp.abs(item(ctx.state.actuator_load, at + Load.STIFFNESS, w))
    force += wp.abs(item(ctx.state.actuator_load, at + Load.DAMPING, w))
    return wp.where(ctx.layout.dof_loaded[d] == 1 or force > real(0.0), 1, 0)


@wp.func
def subtract_work_on_coordinates(ctx: Context, w: int):
    """JOINTS −= work that joints did along their coordinates: springs, dampers, motors, limits, friction. The impulses
    of the tree's joints are in ws.p; scalar rows act on loop joints."""
    half = real(0.5)
    if ctx.layout.tree_lever > real(0.0):
        i = int(0)
        while i < ctx.tree.links:
            d = ctx.tree.dof[i]
            while d < ctx.tree.dof[i + 1] and is_limited(ctx, i, w) == 1:
                along = real(0.0)
                if is_coordinate_loaded(ctx, d, w) == 1:
                    along = wp.dot(get3(ctx.here.S, 2 * d, w), get3(ctx.here.p, 2 * i, w))
                    along += wp.dot(get3(ctx.here.S, 2 * d + 1, w), get3(ctx.here.p, 2 * i + 1, w))
                work = half * along * (item(ctx.state.v, d, w) + item(ctx.state.v_next, d, w))
                add_work(ctx, i, int(MechanismWork.JOINTS), -work, w)
                d += 1
            i += 1
    l = int(0)
    while l < ctx.layout.scalars:
        source = ctx.layout.scalar_source_kind[l]
        counts = source == ScalarSource.LOOP_DOF or (
            source != ScalarSource.SPRING and ctx.layout.tree_lever == real(0.0)
        )
        link = limited_link_of(ctx, l, w)
        if get(ctx.work.scalar_K, l, w) > real(0.0) and counts and link >= 0:
            rate = row_dot(
                ctx.work.W,
                ctx.layout.scalar_W_start[l],
                ctx.layout.scalar_row_length[l],
                ctx.layout.index,
                ctx.layout.scalar_index_start[l],
                ctx.here.z,
                w,
            )
            impulse = scalar_impulse_of(ctx.layout, ctx.work, l, w)
            work = half * impulse * (rate + item(ctx.state.scalar_velocity, l, w))
            add_work(ctx, link, int(MechanismWork.JOINTS), -work, w)
        l += 1


@wp.func
def centre_of(ctx: Context, ws: wp.ref[Workspace], i: int, w: int):
    """Centre of mass of link i, m."""
    return get3(ws.O, ctx.tree.root[i], w) + get3(ws.x, i, w) + get33(ws.R, i, w) * ctx.tree.com[i]


@wp.func
def subtract_work_of_curvature(ctx: Context, dt: real, w: int):
    """JOINTS −= work of gravity along what the links' paths in a step have beyond their momenta: those of a linearised
    step are tangents."""
    i = int(0)
    while i < ctx.tree.links:
        if is_limited(ctx, i, w) == 1:
            way = centre_of(ctx, ctx.there, i, w) - centre_of(ctx, ctx.here, i, w)
            beyond = way * ctx.tree.mass[i] - get3(ctx.here.C, 2 * i, w) * dt
            add_work(ctx, i, int(MechanismWork.JOINTS), -wp.dot(ctx.tree.gravity, beyond), w)
        i += 1


@wp.func
def turn_momenta(ctx: Context, w: int):
    """Momenta of a linearised step are tangents at its start. Those of thin links turn with them from there on: else a
    part of L would come to lie along the axis, where it takes much energy (M-96)."""
    i = int(0)
    while i < ctx.tree.links:
        I = ctx.layout.link_moments[i]
        thin = wp.min(wp.min(I[0], I[1]), I[2]) < THIN_SHARE * wp.max(wp.max(I[0], I[1]), I[2])
        if thin and is_limited(ctx, i, w) == 1:
            L = wp.transpose(get33(ctx.here.R, i, w)) * item3(ctx.state.P, SPATIAL * i + VEC3, w)
            set_item3(ctx.state.P, SPATIAL * i + VEC3, w, get33(ctx.there.R, i, w) * L)
        i += 1


@wp.func
def follow_pushes(ctx: Context, w: int):
    """Momenta turn with the links that pseudo-velocities have turned; JOINTS += what the pushes did against gravity
    (M-96)."""
    i = int(0)
    while i < ctx.tree.links:
        if is_limited(ctx, i, w) == 1:
            push = centre_of(ctx, ctx.here, i, w) - centre_of(ctx, ctx.there, i, w)
            work = -ctx.tree.mass[i] * wp.dot(ctx.tree.gravity, push)
            add_work(ctx, i, int(MechanismWork.JOINTS), work, w)
            L = wp.transpose(get33(ctx.there.R, i, w)) * item3(ctx.state.P, SPATIAL * i + VEC3, w)
            set_item3(ctx.state.P, SPATIAL * i + VEC3, w, get33(ctx.here.R, i, w) * L)
        i += 1


@wp.func
def kinetic_energy_of(ctx: Context, i: int, w: int):
    """Kinetic energy of link i's momenta, J."""
    p = item3(ctx.state.P, SPATIAL * i, w)
    L = item3(ctx.state.P, SPATIAL * i + VEC3, w)
    return real(0.5) * (wp.dot(p, velocity_of_momentum(ctx, i, p)) + wp.dot(L, rate_of_momentum(ctx, i, L, w)))


@wp.func
def measure_motion(ctx: Context, w: int):
    """KINETIC ← kinetic energy of the links' momenta, WEIGHT ← work of gravity along a step with them."""
    clear_work(ctx, int(MechanismWork.KINETIC), w)
    clear_work(ctx, int(MechanismWork.WEIGHT), w)
    i = int(0)
    while i < ctx.tree.links:
        if bound_of(ctx, i, w) != MechanismBound.NONE:
            add_work(ctx, i, int(MechanismWork.KINETIC), kinetic_energy_of(ctx, i, w), w)
            p = item3(ctx.state.P, SPATIAL * i, w)
            fall = wp.dot(ctx.tree.gravity, p) * ctx.state.settings[Setting.DT, 0]
            add_work(ctx, i, int(MechanismWork.WEIGHT), fall, w)
        i += 1


@wp.func
def scale_motion(ctx: Context, i: int, share: real, w: int):
    """Scale momenta and velocity coordinates of link i."""
    set_item3(ctx.state.P, SPATIAL * i, w, item3(ctx.state.P, SPATIAL * i, w) * share)
    set_item3(ctx.state.P, SPATIAL * i + VEC3, w, item3(ctx.state.P, SPATIAL * i + VEC3, w) * share)
    d = ctx.tree.dof[i]
    while d < ctx.tree.dof[i + 1]:
        set_item(ctx.state.v, d, w, item(ctx.state.v, d, w) * share)
        d += 1


@wp.func
def limit_joint_work(ctx: Context, w: int):
    """Joints give back at most what they took in the steps before: momenta of a mechanism shrink where its joints would
    do more work (M-98)."""
    measure_motion(ctx, w)
    least = ctx.state.settings[Setting.MEAN_MASS, 0] * REST_SPEED * REST_SPEED
    limited = int(0)
    i = int(0)
    while i < ctx.tree.links:
        if get_int(ctx.work.mechanism_bound, i, w) != MechanismBound.NONE:
            limited += settle_work(ctx, i, least, w)
        else:
            forget_kinetic_energy(ctx, i, w)
        i += 1
    if limited > 0:
        i = int(0)
        while i < ctx.tree.links:
            if bound_of(ctx, i, w) != MechanismBound.NONE:
                at = MechanismWork.SIZE * ctx.layout.link_mechanism[i] + MechanismWork.SHARE
                scale_motion(ctx, i, get(ctx.work.mechanism_work, at, w), w)
            i += 1
        warn_of(ctx.state, int(StepWarning.ENERGY_LIMITED), w)
    set_item(ctx.state.link_load, world_load_slot(ctx, int(WorldLoad.BOUNDED)), w, real(1.0))


@wp.func
def settle_work(ctx: Context, m: int, least: real, w: int):
    """Reserve and SHARE of mechanism m; returns 1 if its momenta shrink. Positions have moved already, so that half of
    the weight's work in the step goes on: at turning points what is owed is paid later. Below a kinetic energy of
    `least` nothing is paid."""
    at = MechanismWork.SIZE * m
    kinetic = get(ctx.work.mechanism_work, at + MechanismWork.KINETIC, w)
    fall = get(ctx.work.mechanism_work, at + MechanismWork.WEIGHT, w)
    reserve_slot = LinkLoad.SIZE * m + LinkLoad.RESERVE
    kinetic_slot = LinkLoad.SIZE * m + LinkLoad.KINETIC
    largest = wp.max(kinetic, KINETIC_DECAY * item(ctx.state.link_load, kinetic_slot, w))
    work = get(ctx.work.mechanism_work, at + MechanismWork.JOINTS, w)
    if get_int(ctx.work.mechanism_bound, m, w) == MechanismBound.RESIDUAL:
        work = get(ctx.work.mechanism_work, at + MechanismWork.RESIDUAL, w)
    reserve = item(ctx.state.link_load, reserve_slot, w) - work
    share = real(1.0)
    limited = int(0)
    if reserve < -OWED * largest and kinetic > least:
        limited = 1
        paid = wp.min(-reserve, wp.max(kinetic - wp.abs(fall), real(0.0)))
        share = wp.sqrt(real(1.0) - paid / kinetic)
        reserve = reserve + paid + real(0.5) * (real(1.0) - share) * fall
    put(ctx.work.mechanism_work, at + MechanismWork.SHARE, w, share)
    set_item(ctx.state.link_load, kinetic_slot, w, largest)
    set_item(ctx.state.link_load, reserve_slot, w, wp.min(reserve, GIVEN_BACK * largest))
    return limited


@wp.func
def forget_kinetic_energy(ctx: Context, m: int, w: int):
    """The largest kinetic energy of mechanism m is slowly forgotten."""
    at = LinkLoad.SIZE * m + LinkLoad.KINETIC
    set_item(ctx.state.link_load, at, w, KINETIC_DECAY * item(ctx.state.link_load, at, w))


@wp.func
def forget_kinetic_energies(ctx: Context, w: int):
    """The same of all mechanisms."""
    i = int(0)
    while i < ctx.tree.links:
        forget_kinetic_energy(ctx, i, w)
        i += 1
