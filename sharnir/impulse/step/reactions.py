"""Joint reaction wrenches: what the momenta of links gain in a step beyond the known forces (M-49).

A step is solved and not kept. Its impulses act from half a step before to half a step after the present, so the forces
are centred in time.
"""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.kinematics import poses
from sharnir.dynamics.loop_joints import ROW_TABLE_ENTRY, evaluate_row, loop_frames_of
from sharnir.enums import ScalarSource
from sharnir.impulse.data import Context, Scratch, StepContext
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.loads.joint_loads import drop_raised_torques
from sharnir.impulse.loads.row_wrenches import (
    scalar_impulse_of,
    subtract_contact_impulses,
    subtract_impulse,
    subtract_spring_impulses,
)
from sharnir.impulse.rows.contact_rows import find_contacts
from sharnir.impulse.rows.scalar_rows import ball_angle_of
from sharnir.impulse.slots import JOINT_ROWS, Load, Setting, Status, StatusReal
from sharnir.impulse.step.step import assemble, begin_step, compute_free_motion, solve_velocities
from sharnir.kernels.columns import get, get3, get33, get_int, item, put3, set_item3
from sharnir.kernels.types import KERNEL_OPTIONS, NO_DEADLINE, SPATIAL, VEC3, array2, column, real, vec3

wp.set_module_options(KERNEL_OPTIONS)


@wp.func
def loop_row_impulse(ctx: Context, k: int, j: int, h: real, w: int):
    """Impulse along row j of loop joint k: its own if it is a constraint, else what acts on that coordinate."""
    fixed = ctx.loops.constraint_count[ctx.loops.kind[k]]
    total = real(0.0)
    if j < fixed:
        total = get(ctx.work.p, JOINT_ROWS * k + j, w)
    else:
        lv = ctx.loops.v_start[k] + j - fixed
        c = ctx.layout.dofs + lv
        total = h * (
            ctx.loops.effort[lv] + item(ctx.state.control, c, w) + item(ctx.state.actuator_load, Load.SIZE * c, w)
        )
        l = int(0)
        while l < ctx.layout.scalars:
            if (
                ctx.layout.scalar_source_kind[l] == ScalarSource.LOOP_DOF
                and ctx.layout.scalar_source[2 * l] == JOINT_ROWS * k + j
            ):
                total = (
                    total + scalar_impulse_of(ctx.layout, ctx.work, l, w) + coupled_impulse(ctx.layout, ctx.work, l, w)
                )
            l += 1
    return total


@wp.func
def coupled_impulse(layout: wp.ref[Layout], work: wp.ref[Scratch], scalar: int, w: int):
    """Impulse of couplings and actuators on the coordinate of a scalar."""
    total = real(0.0)
    l = int(0)
    while l < layout.scalars:
        if layout.scalar_source_kind[l] == ScalarSource.COUPLING:
            if layout.scalar_source[2 * l] == scalar:
                total = total - layout.scalar_ratio[2 * l] * scalar_impulse_of(layout, work, l, w)
            if layout.scalar_source[2 * l + 1] == scalar:
                total = total + scalar_impulse_of(layout, work, l, w)
        elif layout.scalar_source_kind[l] == ScalarSource.ACTUATOR_PATH:
            t = layout.scalar_source[2 * l]
            end = t + layout.scalar_source[2 * l + 1]
            while t < end:
                if layout.actuator_terms[t].scalar == scalar:
                    total = total + layout.actuator_terms[t].gear * scalar_impulse_of(layout, work, l, w)
                t += 1
        l += 1
    return total


@wp.func
def subtract_loop_impulses(ctx: Context, h: real, loop_wrench: array2, w: int):
    """Subtract the impulses of the loop joints, with what acts on their coordinates; store their wrenches."""
    k = int(0)
    while k < ctx.loops.count:
        s = loop_frames_of(ctx.tree, ctx.here, ctx.loops, k, w)
        force = vec3()
        torque = vec3()
        j = int(0)
        while j < JOINT_ROWS:
            g, f, n = evaluate_row(ctx.loops, s, k, (JOINT_ROWS * ctx.loops.kind[k] + j) * ROW_TABLE_ENTRY)
            p = loop_row_impulse(ctx, k, j, h, w)
            force = force + f * p
            torque = torque + n * p
            j += 1
        l = int(0)
        while l < ctx.layout.scalars:
            if (
                ctx.layout.scalar_source_kind[l] == ScalarSource.BALL_ANGLE
                and ctx.layout.scalar_source[2 * l] >= ctx.layout.dofs
                and ctx.layout.scalar_link[l] == k
            ):
                g, a = ball_angle_of(ctx.layout, l, ctx.state.q, ctx.state.loop_q, w)
                n = column(s.C, 0) * a[0] + column(s.C, 1) * a[1] + column(s.C, 2) * a[2]
                torque = torque + n * scalar_impulse_of(ctx.layout, ctx.work, l, w)
            l += 1
        subtract_impulse(ctx.here, s.a, s.ra, -force, -torque, w)
        subtract_impulse(ctx.here, s.b, s.rb, force, torque, w)
        set_item3(loop_wrench, SPATIAL * k, w, force / h)
        set_item3(loop_wrench, SPATIAL * k + VEC3, w, torque / h)
        k += 1


@wp.func
def compute_wrenches(ctx: Context, wrench: array2, loop_wrench: array2, w: int):
    """Wrenches (N, N m; world axes) of the tree's joints on their links, about the link frames' origins, and of loop
    joints on their children, about the joints' frames there, from the velocities and impulses of a step."""
    h = get(ctx.work.status_real, StatusReal.FORCE_TIME, w)
    i = int(0)
    while i < ctx.tree.links:
        p = get3(ctx.here.C, 2 * i, w)
        r = get3(ctx.here.x, i, w) + get33(ctx.here.R, i, w) * ctx.tree.com[i]
        put3(ctx.here.p, 2 * i, w, p - get3(ctx.here.F, 2 * i, w))
        put3(ctx.here.p, 2 * i + 1, w, get3(ctx.here.C, 2 * i + 1, w) + wp.cross(r, p) - get3(ctx.here.F, 2 * i + 1, w))
        i += 1
    if get_int(ctx.work.status, Status.STIFFENED, w) > 0:
        i = int(0)
        while i < ctx.tree.links:  # what raised inertias take is no reaction
            put3(ctx.here.p, 2 * i + 1, w, get3(ctx.here.p, 2 * i + 1, w) + get3(ctx.work.added_torque, i, w))
            i += 1
        drop_raised_torques(ctx, w)
    subtract_loop_impulses(ctx, h, loop_wrench, w)
    subtract_spring_impulses(ctx, w)
    subtract_contact_impulses(ctx, w)
    i = ctx.tree.links - 1
    while i >= 0:
        lam = ctx.tree.parent[i]
        f = get3(ctx.here.p, 2 * i, w)
        n = get3(ctx.here.p, 2 * i + 1, w)
        if lam >= 0:
            put3(ctx.here.p, 2 * lam, w, get3(ctx.here.p, 2 * lam, w) + f)
            put3(ctx.here.p, 2 * lam + 1, w, get3(ctx.here.p, 2 * lam + 1, w) + n)
        set_item3(wrench, SPATIAL * i, w, f / h)
        set_item3(wrench, SPATIAL * i + VEC3, w, (n - wp.cross(get3(ctx.here.x, i, w), f)) / h)
        i -= 1


@wp.kernel
def reactions_kernel(ctx: StepContext, wrench: array2, loop_wrench: array2):
    """Solve the velocities and impulses of a step and compute the wrenches from them (CPU)."""
    w = wp.tid()
    poses(ctx.tree, ctx.here, ctx.state.q, ctx.state.q, w)
    begin_step(ctx, NO_DEADLINE, w)
    compute_free_motion(ctx, NO_DEADLINE, w)
    find_contacts(ctx, ctx.state.settings[Setting.DT, 0], w)
    assemble(ctx, NO_DEADLINE, w)
    solve_velocities(ctx, NO_DEADLINE, w)
    compute_wrenches(ctx, wrench, loop_wrench, w)


@wp.kernel(module="unique", module_options=KERNEL_OPTIONS)
def wrenches_kernel(ctx: StepContext, wrench: array2, loop_wrench: array2):
    """Compute the wrenches alone, on a GPU, where velocities were solved by stages."""
    compute_wrenches(ctx, wrench, loop_wrench, wp.tid())
