"""Forces of the joints in a step, the geometric stiffness they give the links (M-91), and whether the step is to be
made again with it (M-95)."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.loop_joints import ROW_TABLE_ENTRY, evaluate_row, loop_frames_of
from sharnir.dynamics.momenta import link_velocities
from sharnir.enums import ScalarSource
from sharnir.impulse.data import Context
from sharnir.impulse.loads.joint_work import (
    flag_mechanisms,
    set_work_on_links,
    subtract_work_of_curvature,
    subtract_work_on_coordinates,
)
from sharnir.impulse.loads.row_wrenches import (
    scalar_impulse_of,
    subtract_contact_impulses,
    subtract_impulse,
    subtract_spring_impulses,
)
from sharnir.impulse.loads.stiffening import ACTIVE_FROM, principal_frame, raise_stiffness
from sharnir.impulse.rows.contact_frame import contact_count, contact_force_of
from sharnir.impulse.slots import JOINT_ROWS, MechanismBound, ReportItem, Status, StatusReal
from sharnir.kernels.columns import get, get3, get6, get_int, item, item_int, put3, put6, put_int, set_item
from sharnir.kernels.types import SPATIAL, real, sym_mul, vec3, vec6
from sharnir.kernels.vector_ops import copy

MOST_TRIES = 2  # times that a step is made again with more inertia


@wp.func
def add_force_bound(ctx: Context, link: int, size: real, w: int):
    """Add an impulse of at most `size` (N s) to what acts on a link, in ws.p."""
    if link >= 0:
        bound = get3(ctx.here.p, 2 * link + 1, w)
        put3(ctx.here.p, 2 * link + 1, w, vec3(bound[0] + size, real(0.0), real(0.0)))


@wp.func
def subtract_contact_forces(ctx: Context, w: int):
    """Take from ws.p the impulses of contacts on links, without torques."""
    c = int(0)
    while c < contact_count(ctx.work, w):
        f = contact_force_of(ctx.layout, ctx.state, ctx.work, c, w)
        side = int(0)
        while side < 2:
            shape = item_int(ctx.state.contacts.shape, 2 * c + side, w)
            link = ctx.layout.contact_model.geo.link[shape]
            if link >= 0:
                sign = wp.where(side == 0, real(1.0), real(-1.0))
                put3(ctx.here.p, 2 * link, w, get3(ctx.here.p, 2 * link, w) + f * sign)
            side += 1
        c += 1


@wp.func
def loop_joint_size(ctx: Context, k: int, w: int):
    """At most the impulse (N s) that loop joint k exerts."""
    size = real(0.0)
    j = int(0)
    while j < ctx.layout.joint_force_rows[k]:
        size += wp.abs(get(ctx.work.p, JOINT_ROWS * k + j, w))
        j += 1
    return size


@wp.func
def bound_loop_joints(ctx: Context, w: int):
    """Largest impulse of a loop joint times its lever, and the sum of the impulses of all."""
    heaviest = real(0.0)
    total = real(0.0)
    k = int(0)
    while k < ctx.loops.count:
        size = loop_joint_size(ctx, k, w)
        heaviest = wp.max(heaviest, size * ctx.layout.joint_lever[k])
        total += size
        k += 1
    return heaviest, total


@wp.func
def bound_all_forces(ctx: Context, loops: real, w: int):
    """At most the impulse (N s) of any joint of the tree: the sum of what links gain beyond known forces and of the
    impulses of contacts, loop joints (`loops`, both ends) and springs."""
    total = real(2.0) * (loops + bound_springs(ctx, w))
    i = int(0)
    while i < ctx.tree.links:
        gain = get3(ctx.here.C, 2 * i, w) - get3(ctx.here.F, 2 * i, w)
        total += wp.abs(gain[0]) + wp.abs(gain[1]) + wp.abs(gain[2])
        i += 1
    c = int(0)
    while c < contact_count(ctx.work, w):
        f = contact_force_of(ctx.layout, ctx.state, ctx.work, c, w)
        total += real(2.0) * (wp.abs(f[0]) + wp.abs(f[1]) + wp.abs(f[2]))
        c += 1
    return total


@wp.func
def bound_springs(ctx: Context, w: int):
    """Sum of the impulses of springs between points."""
    total = real(0.0)
    l = int(0)
    while l < ctx.layout.scalars:
        if ctx.layout.scalar_source_kind[l] == ScalarSource.SPRING:
            total += wp.abs(scalar_impulse_of(ctx.layout, ctx.work, l, w))
        l += 1
    return total


@wp.func
def pull_of(f: vec3, r: vec3, bound: real):
    """At most how much (N m s) an impulse f at r pulls, with another one of size `bound`."""
    pull = wp.max(wp.dot(f, r), real(0.0))
    if bound > real(0.0):
        pull += bound * wp.length(r)
    return pull


@wp.func
def heaviest_tree_joint(ctx: Context, w: int):
    """Largest rise of ω² of a link (m/s over m, times the joints of a link) by the impulses of the tree's joints, from
    the tips to the roots. Those of loops and springs count with their sizes."""
    i = int(0)
    while i < ctx.tree.links:
        put3(ctx.here.p, 2 * i, w, get3(ctx.here.C, 2 * i, w) - get3(ctx.here.F, 2 * i, w))
        put3(ctx.here.p, 2 * i + 1, w, vec3())
        i += 1
    k = int(0)
    while k < ctx.loops.count:
        size = loop_joint_size(ctx, k, w)
        add_force_bound(ctx, ctx.loops.link[2 * k], size, w)
        add_force_bound(ctx, ctx.loops.link[2 * k + 1], size, w)
        k += 1
    subtract_contact_forces(ctx, w)
    springs = bound_springs(ctx, w)
    heaviest = real(0.0)
    i = ctx.tree.links - 1
    while i >= 0:
        f = get3(ctx.here.p, 2 * i, w)
        bound = get3(ctx.here.p, 2 * i + 1, w)
        x = get3(ctx.here.x, i, w)
        size = bound[0] + springs
        pull = pull_of(f, x - get3(ctx.here.com, i, w), size)
        heaviest = wp.max(heaviest, pull * ctx.layout.tree_joint_weight[2 * i])
        up = ctx.tree.parent[i]
        if up >= 0:
            pull = pull_of(-f, x - get3(ctx.here.com, up, w), size)
            heaviest = wp.max(heaviest, pull * ctx.layout.tree_joint_weight[2 * i + 1])
            put3(ctx.here.p, 2 * up, w, get3(ctx.here.p, 2 * up, w) + f)
            put3(ctx.here.p, 2 * up + 1, w, get3(ctx.here.p, 2 * up + 1, w) + bound)
        i -= 1
    return heaviest


@wp.func
def has_heavy_joints(ctx: Context, h: real, dt: real, w: int):
    """1 unless no joint can pull so much that y of (M-92) passes ACTIVE_FROM: a bound that costs little, and for the
    joints of the tree a closer one where that is not enough."""
    most = real(4.0) * ACTIVE_FROM * h / (dt * dt)
    heaviest, loops = bound_loop_joints(ctx, w)
    if ctx.layout.tree_lever > real(0.0):
        if ctx.layout.tree_lever * bound_all_forces(ctx, loops, w) > most:
            heaviest = wp.max(heaviest, heaviest_tree_joint(ctx, w))
    return wp.where(heaviest > most, 1, 0)


@wp.func
def add_joint_load(ctx: Context, i: int, f: vec3, r: vec3, w: int):
    """K of link i += what a force f (N) at r (m from the centre of mass) gives: (f·r)(1 − r̂r̂ᵀ) where it pulls."""
    pull = wp.dot(f, r)
    if pull > real(0.0):
        u = wp.transpose(principal_frame(ctx, i, w)) * r
        s = pull / wp.dot(r, r)
        load = vec6(
            pull - s * u[0] * u[0], pull - s * u[1] * u[1], pull - s * u[2] * u[2],
            -s * u[1] * u[2], -s * u[0] * u[2], -s * u[0] * u[1],
        )  # fmt: skip
        put6(ctx.work.joint_load, i, w, get6(ctx.work.joint_load, i, w) + load)


@wp.func
def measure_joint_loads(ctx: Context, h: real, w: int):
    """`Scratch.joint_load` ← K of all links from the joint forces of the step; ws.p ← impulses of the tree's joints on
    their links, as wrenches about the pivot; work of mechanisms ← that of all their joints on the links."""
    load_link_gains(ctx, w)
    subtract_spring_impulses(ctx, w)
    subtract_contact_impulses(ctx, w)
    set_work_on_links(ctx, w)
    if get_int(ctx.work.status, Status.STIFFENED, w) > 0:
        drop_raised_torques(ctx, w)
    subtract_loop_joints(ctx, h, w)
    if ctx.layout.tree_lever > real(0.0):
        sum_tree_joints(ctx, h, w)


@wp.func
def load_link_gains(ctx: Context, w: int):
    """ws.p ← what the links' momenta gain in the step beyond known forces; K ← 0."""
    i = int(0)
    while i < ctx.tree.links:
        p = get3(ctx.here.C, 2 * i, w)
        r = get3(ctx.here.com, i, w)
        L = get3(ctx.here.C, 2 * i + 1, w) + wp.cross(r, p)
        if get_int(ctx.work.status, Status.STIFFENED, w) > 0:
            L = L + get3(ctx.work.added_torque, i, w)
        put3(ctx.here.p, 2 * i, w, p - get3(ctx.here.F, 2 * i, w))
        put3(ctx.here.p, 2 * i + 1, w, L - get3(ctx.here.F, 2 * i + 1, w))
        put6(ctx.work.joint_load, i, w, vec6())
        i += 1


@wp.func
def drop_raised_torques(ctx: Context, w: int):
    """Take from ws.p what raised inertias did, so that what joints did is left."""
    link_velocities(ctx.tree, ctx.here, ctx.state.v_next, w)
    i = int(0)
    while i < ctx.tree.links:
        torque = get3(ctx.work.added_torque, i, w) - sym_mul(get6(ctx.here.B, i, w), get3(ctx.here.a, 2 * i + 1, w))
        put3(ctx.here.p, 2 * i + 1, w, get3(ctx.here.p, 2 * i + 1, w) - torque)
        i += 1


@wp.func
def subtract_loop_joints(ctx: Context, h: real, w: int):
    """Subtract the impulses of the constraint rows of loop joints from ws.p; add what their forces give to K."""
    k = int(0)
    while k < ctx.loops.count:
        s = loop_frames_of(ctx.tree, ctx.here, ctx.loops, k, w)
        force = vec3()
        torque = vec3()
        kind = ctx.loops.kind[k]
        j = int(0)
        while j < ctx.loops.constraint_count[kind]:
            g, f, n = evaluate_row(ctx.loops, s, k, (JOINT_ROWS * kind + j) * ROW_TABLE_ENTRY)
            p = get(ctx.work.p, JOINT_ROWS * k + j, w)
            force = force + f * p
            torque = torque + n * p
            j += 1
        subtract_impulse(ctx.here, s.a, s.ra, -force, -torque, w)
        subtract_impulse(ctx.here, s.b, s.rb, force, torque, w)
        if s.a >= 0:
            add_joint_load(ctx, s.a, -force / h, s.ra - get3(ctx.here.com, s.a, w), w)
        if s.b >= 0:
            add_joint_load(ctx, s.b, force / h, s.rb - get3(ctx.here.com, s.b, w), w)
        k += 1


@wp.func
def sum_tree_joints(ctx: Context, h: real, w: int):
    """ws.p ← impulses of the tree's joints on their links, from the tips to the roots; add what they give to K."""
    i = ctx.tree.links - 1
    while i >= 0:
        up = ctx.tree.parent[i]
        f = get3(ctx.here.p, 2 * i, w)
        x = get3(ctx.here.x, i, w)
        add_joint_load(ctx, i, f / h, x - get3(ctx.here.com, i, w), w)
        if up >= 0:
            add_joint_load(ctx, up, -f / h, x - get3(ctx.here.com, up, w), w)
            put3(ctx.here.p, 2 * up, w, get3(ctx.here.p, 2 * up, w) + f)
            put3(ctx.here.p, 2 * up + 1, w, get3(ctx.here.p, 2 * up + 1, w) + get3(ctx.here.p, 2 * i + 1, w))
        i -= 1


@wp.func
def note_first_loads(ctx: Context, w: int):
    """Keep the loads after the first correction: should the step become a linearised one, whose joints know nothing of
    curved paths, these are what the next step goes by."""
    if get_int(ctx.work.status, Status.STIFFENED, w) > 0 and item(ctx.state.report, ReportItem.PASS_COUNT, w) == real(
        1.0
    ):
        measure_joint_loads(ctx, get(ctx.work.status_real, StatusReal.FORCE_TIME, w), w)
        copy(ctx.work.joint_load, ctx.work.first_joint_load, SPATIAL * ctx.tree.links, w)
        put_int(ctx.work.status, Status.LOADS_KNOWN, w, 1)


@wp.func
def must_step_again(ctx: Context, h: real, dt: real, w: int):
    """Loads of joints on light links in the step just solved, where any link is stiffened or may come to be. 1 if they
    call for so much more inertia than the step had that it is to be made again with it (M-95)."""
    again = int(0)
    put_int(ctx.work.status, Status.LOADED, w, 0)
    guarded = item(ctx.state.report, ReportItem.FALLBACK_USED, w) > real(0.0)
    stiffened = get_int(ctx.work.status, Status.STIFFENED, w) > 0
    bound = int(MechanismBound.NONE)
    if guarded or stiffened:
        bound = int(MechanismBound.JOINTS)
    elif get_int(ctx.work.status, Status.RESIDUAL_DROPPED, w) == 1:
        bound = int(MechanismBound.RESIDUAL)
    put_int(ctx.work.status, Status.WORK_LIMITED, w, bound)
    loaded = bound == MechanismBound.JOINTS or has_heavy_joints(ctx, h, dt, w) == 1
    if loaded or bound != MechanismBound.NONE:
        flag_mechanisms(ctx, w)
    if loaded:
        put_int(ctx.work.status, Status.LOADED, w, 1)
        measure_joint_loads(ctx, h, w)
        subtract_work_on_coordinates(ctx, w)
        subtract_work_of_curvature(ctx, dt, w)
        if guarded and get_int(ctx.work.status, Status.LOADS_KNOWN, w) == 1:
            copy(ctx.work.first_joint_load, ctx.work.joint_load, SPATIAL * ctx.tree.links, w)
        tries = get_int(ctx.work.status, Status.TRIES, w)
        if tries < MOST_TRIES and raise_stiffness(ctx, dt, w) == 1:
            again = 1
            put_int(ctx.work.status, Status.TRIES, w, tries + 1)
            set_item(ctx.state.report, ReportItem.FALLBACK_USED, w, real(0.0))
    return again
