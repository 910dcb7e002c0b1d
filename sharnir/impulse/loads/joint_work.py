"""Work that joints do by being stiff over a step, beyond what acts along their coordinates, and the bound on it
(M-96..M-98).

Exact joints do none. In a step they do, of third order where it resolves the motion; where it does not (loads on light
links, linearised steps) momenta are scaled down so that joints give back no more than they
took.
"""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.tree import Workspace
from sharnir.enums import ScalarSource
from sharnir.impulse.data import Context
from sharnir.impulse.loads.row_wrenches import scalar_impulse_of
from sharnir.impulse.loads.stiffening import THIN_SHARE, principal_frame, trace_of, world_load_slot
from sharnir.impulse.rows.warn import warn_of
from sharnir.impulse.slots import Load, ReportItem, Setting, Status, StatusReal, StepWarning, WorldLoad
from sharnir.impulse.tolerances import REST_SPEED
from sharnir.kernels.columns import get, get3, get6, get33, get_int, item, item3, put, put_int, set_item, set_item3
from sharnir.kernels.types import SPATIAL, VEC3, real, vec3
from sharnir.kernels.vector_ops import row_dot

GIVEN_BACK = wp.constant(real(0.02))  # of the largest kinetic energy: losses of the last steps that a step may gain
KINETIC_DECAY = wp.constant(real(0.999))  # of that energy, in a step
OWED = wp.constant(real(1.0e-4))  # of that energy: what joints may owe before it is taken back


@wp.func
def flag_mechanisms(ctx: Context, w: int):
    """`Scratch.mechanism_limited` ← 1 for mechanisms with stiffened links, or for all where the step is linearised:
    there the work of joints is bounded."""
    guarded = item(ctx.state.report, ReportItem.FALLBACK_USED, w) > real(0.0)
    stiffened = get_int(ctx.work.status, Status.STIFFENED, w) > 0
    i = int(0)
    while i < ctx.tree.links:
        put_int(ctx.work.mechanism_limited, i, w, wp.where(guarded, 1, 0))
        i += 1
    i = int(0)
    while i < ctx.tree.links:
        if stiffened and ctx.layout.link_mechanism[i] >= 0:
            if trace_of(get6(ctx.here.B, i, w)) > real(0.0):
                put_int(ctx.work.mechanism_limited, ctx.layout.link_mechanism[i], w, 1)
        i += 1


@wp.func
def is_limited(ctx: Context, i: int, w: int):
    """1 if the work of the joints of link i's mechanism is bounded in this step; of a free body never."""
    limited = int(0)
    if ctx.layout.link_mechanism[i] >= 0:
        limited = get_int(ctx.work.mechanism_limited, ctx.layout.link_mechanism[i], w)
    return limited


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
def work_on_links(ctx: Context, w: int):
    """Work (J) of the impulses ws.p on the links at the mean of their velocities over the step before and this one."""
    work = real(0.0)
    half = real(0.5)
    i = int(0)
    while i < ctx.tree.links:
        if is_limited(ctx, i, w) == 1:
            f = get3(ctx.here.p, 2 * i, w)
            n = get3(ctx.here.p, 2 * i + 1, w) - wp.cross(get3(ctx.here.com, i, w), f)
            p = get3(ctx.here.C, 2 * i, w) + item3(ctx.state.P, SPATIAL * i, w)
            L = get3(ctx.here.C, 2 * i + 1, w) + item3(ctx.state.P, SPATIAL * i + VEC3, w)
            work += half * (wp.dot(f, p) / ctx.tree.mass[i] + wp.dot(n, rate_of_momentum(ctx, i, L, w)))
        i += 1
    return work


@wp.func
def is_scalar_limited(ctx: Context, l: int, w: int):
    """`is_limited` of the mechanism that scalar row l acts on."""
    limited = int(0)
    if ctx.layout.scalar_row_length[l] > 0:
        d = ctx.layout.index[ctx.layout.scalar_index_start[l]]
        if d < ctx.layout.dofs:
            limited = is_limited(ctx, ctx.layout.dof_root[d], w)
    return limited


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
def work_on_coordinates(ctx: Context, w: int):
    """Work (J) that joints did along their coordinates: springs, dampers, motors, limits, friction. The impulses of the
    tree's joints are in ws.p; scalar rows act on loop joints."""
    work = real(0.0)
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
                work += half * along * (item(ctx.state.v, d, w) + item(ctx.state.v_next, d, w))
                d += 1
            i += 1
    l = int(0)
    while l < ctx.layout.scalars:
        source = ctx.layout.scalar_source_kind[l]
        counts = source == ScalarSource.LOOP_DOF or (
            source != ScalarSource.SPRING and ctx.layout.tree_lever == real(0.0)
        )
        if get(ctx.work.scalar_K, l, w) > real(0.0) and counts and is_scalar_limited(ctx, l, w) == 1:
            rate = row_dot(
                ctx.work.W,
                ctx.layout.scalar_W_start[l],
                ctx.layout.scalar_row_length[l],
                ctx.layout.index,
                ctx.layout.scalar_index_start[l],
                ctx.here.z,
                w,
            )
            work += (
                half * scalar_impulse_of(ctx.layout, ctx.work, l, w) * (rate + item(ctx.state.scalar_velocity, l, w))
            )
        l += 1
    return work


@wp.func
def centre_of(ctx: Context, ws: wp.ref[Workspace], i: int, w: int):
    """Centre of mass of link i, m."""
    return get3(ws.O, ctx.tree.root[i], w) + get3(ws.x, i, w) + get33(ws.R, i, w) * ctx.tree.com[i]


@wp.func
def work_of_curvature(ctx: Context, dt: real, w: int):
    """Work (J) of gravity along what the links' paths in a step have beyond their momenta: those of a linearised step
    are tangents."""
    work = real(0.0)
    i = int(0)
    while i < ctx.tree.links:
        if is_limited(ctx, i, w) == 1:
            way = centre_of(ctx, ctx.there, i, w) - centre_of(ctx, ctx.here, i, w)
            work += wp.dot(ctx.tree.gravity, way * ctx.tree.mass[i] - get3(ctx.here.C, 2 * i, w) * dt)
        i += 1
    return work


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
    """Momenta turn with the links that pseudo-velocities have turned; JOINT_WORK += what the pushes did against
    gravity (M-96)."""
    work = real(0.0)
    i = int(0)
    while i < ctx.tree.links:
        if is_limited(ctx, i, w) == 1:
            push = centre_of(ctx, ctx.here, i, w) - centre_of(ctx, ctx.there, i, w)
            work = work - ctx.tree.mass[i] * wp.dot(ctx.tree.gravity, push)
            L = wp.transpose(get33(ctx.there.R, i, w)) * item3(ctx.state.P, SPATIAL * i + VEC3, w)
            set_item3(ctx.state.P, SPATIAL * i + VEC3, w, get33(ctx.here.R, i, w) * L)
        i += 1
    put(ctx.work.status_real, StatusReal.JOINT_WORK, w, get(ctx.work.status_real, StatusReal.JOINT_WORK, w) + work)


@wp.func
def kinetic_energy_of_momenta(ctx: Context, w: int):
    """Kinetic energy (J) of the links' momenta."""
    energy = real(0.0)
    i = int(0)
    while i < ctx.tree.links:
        p = item3(ctx.state.P, SPATIAL * i, w)
        L = item3(ctx.state.P, SPATIAL * i + VEC3, w)
        if is_limited(ctx, i, w) == 0:
            p = vec3()
            L = vec3()
        energy += real(0.5) * (wp.dot(p, p) / ctx.tree.mass[i] + wp.dot(L, rate_of_momentum(ctx, i, L, w)))
        i += 1
    return energy


@wp.func
def work_of_weight(ctx: Context, w: int):
    """Work (J) of gravity along a step with the links' momenta."""
    work = real(0.0)
    i = int(0)
    while i < ctx.tree.links:
        if is_limited(ctx, i, w) == 1:
            work += wp.dot(ctx.tree.gravity, item3(ctx.state.P, SPATIAL * i, w))
        i += 1
    return work * ctx.state.settings[Setting.DT, 0]


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
    """Joints give back at most what they took in the steps before: momenta shrink where they would do more work
    (M-98). Positions have moved already, so that half of the weight's work in the step goes on: at turning points what
    is owed is paid later."""
    reserve_slot = world_load_slot(ctx, int(WorldLoad.RESERVE))
    kinetic_slot = world_load_slot(ctx, int(WorldLoad.KINETIC))
    kinetic = kinetic_energy_of_momenta(ctx, w)
    largest = wp.max(kinetic, KINETIC_DECAY * item(ctx.state.link_load, kinetic_slot, w))
    reserve = item(ctx.state.link_load, reserve_slot, w) - get(ctx.work.status_real, StatusReal.JOINT_WORK, w)
    least = ctx.state.settings[Setting.MEAN_MASS, 0] * REST_SPEED * REST_SPEED
    if reserve < -OWED * largest and kinetic > least:
        fall = work_of_weight(ctx, w)
        paid = wp.min(-reserve, wp.max(kinetic - wp.abs(fall), real(0.0)))
        share = wp.sqrt(real(1.0) - paid / kinetic)
        reserve = reserve + paid + real(0.5) * (real(1.0) - share) * fall
        i = int(0)
        while i < ctx.tree.links:
            if is_limited(ctx, i, w) == 1:
                scale_motion(ctx, i, share, w)
            i += 1
        warn_of(ctx.state, int(StepWarning.ENERGY_LIMITED), w)
    set_item(ctx.state.link_load, kinetic_slot, w, largest)
    set_item(ctx.state.link_load, reserve_slot, w, wp.min(reserve, GIVEN_BACK * largest))
