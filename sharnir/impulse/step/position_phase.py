"""Position phase: split impulses (pseudo-velocities), repeated at the poses the step led to (M-43, M-44)."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.aba import outward
from sharnir.dynamics.advance import integrate_positions
from sharnir.dynamics.kinematics import poses
from sharnir.dynamics.loop_joints import LoopJoints
from sharnir.dynamics.tree import Workspace
from sharnir.impulse.data import Context, Iterate, Scratch, State, make_iterate
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.row_kinds import Targets
from sharnir.impulse.rows.assembly import measure_joint_gaps
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.slots import JOINT_ROWS, Method, PrevStep, ReportItem, Setting, Status
from sharnir.impulse.solve.active_contacts import deactivate_trees
from sharnir.impulse.solve.bilateral_ldl import solve_bilateral
from sharnir.impulse.solve.bilateral_projection import apply_swept_impulses, set_velocity_offsets
from sharnir.impulse.solve.gpu.lane_rows import LaneIterate, assign_lane_rows
from sharnir.impulse.solve.gpu.split_impulse import iterate_split_impulses_registers
from sharnir.impulse.solve.gpu.sweep import store_z_registers
from sharnir.impulse.solve.pgs import has_nothing_to_sweep, impulse_count
from sharnir.impulse.solve.split_impulse import begin_split_impulses, iterate_split_impulses, set_position_targets
from sharnir.impulse.step.correction_bounds import bound_by_limits, bound_shifts, leave_immovable_contacts, limit_turns
from sharnir.impulse.tolerances import GAP_TOLERANCE
from sharnir.kernels.columns import get, get3, get33, get_int, item, item3, set_item, set_item3
from sharnir.kernels.lanes import MAX_LANE_ROWS, uses_lanes
from sharnir.kernels.types import NO_DEADLINE, SPATIAL, VEC3, array2, identity33, mat33, read_ticks, real, vec3
from sharnir.kernels.vector_ops import clear

MAX_LIMIT_TRIES = 3  # times a correction is shortened so that it ends within limits: one is enough but for curvature


@wp.func
def has_position_error(ctx: Context, n: int, dt: real, w: int):
    """1 if there are position errors to undo at the end of the step (n = 0) or at the poses of correction n."""
    erp = ctx.state.settings[Setting.ERP, 0]
    most = wp.where(n == 0, real(0.5) * erp * GAP_TOLERANCE, real(0.0))
    found = wp.where(set_position_targets(ctx.loops, ctx.layout, ctx.work, dt, erp, w) > most, 1, 0)
    if found == 1:
        leave_immovable_contacts(ctx, w)
    return found


@wp.func
def advance_with_correction(ctx: Context, n: int, dt: real, w: int):
    """q_next ← q advanced by v_next and pseudo-velocities (M-43) or, in correction n > 0, by pseudo-velocities alone
    (M-44). Returns the joint opening beyond what stabilisation may leave; poses and gaps in the workspace are then
    those of q_next."""
    outward(ctx.tree, ctx.here, ctx.state.v_advance, w)
    bound_shifts(ctx, dt, w)
    if ctx.layout.is_maximal == 1:
        limit_turns(ctx, dt, w)
    with_velocity = wp.where(n == 0, 1, 0)
    if n == 0:
        d = int(0)
        while d < ctx.layout.dofs:
            set_item(ctx.state.v_advance, d, w, item(ctx.state.v_advance, d, w) + item(ctx.state.v_next, d, w))
            d += 1
    tries = int(0)
    while tries <= MAX_LIMIT_TRIES:
        integrate_positions(ctx.tree, ctx.state.q, ctx.state.v_advance, dt, ctx.state.q_next, w)
        poses(ctx.tree, ctx.here, ctx.state.q_next, ctx.state.q_next, w)
        tries += 1
        if int(ctx.state.settings[Setting.METHOD, 0]) != Method.PREDICTIVE:
            tries = MAX_LIMIT_TRIES + 1  # as published, a limit acts once it is passed
        elif bound_by_limits(ctx, with_velocity, w) == 0:
            tries = MAX_LIMIT_TRIES + 1
    measure_joint_gaps(ctx.tree, ctx.here, ctx.loops, ctx.work.joint_gap_next, w)
    return excess_opening(ctx.loops, ctx.state, ctx.work, w)


@wp.func
def adopt_next_positions(layout: wp.ref[Layout], ws: wp.ref[Workspace], state: wp.ref[State], w: int):
    """q ← q_next for another correction there; rows get no implicit springs or dampers."""
    i = int(0)
    while i < state.q.shape[0]:
        set_item(state.q, i, w, item(state.q_next, i, w))
        i += 1
    clear(ws.hc, layout.dofs, w)
    clear(ws.hk, layout.dofs, w)


@wp.func
def run_split_impulses(ctx: Context, dt: real, deadline: wp.float64, w: int):
    """z ← whitened pseudo-velocities for the position targets, from zero impulses; counts the sweeps."""
    direct = get_int(ctx.work.status, Status.IS_DIRECT, w)
    n = int(-1)
    if uses_lanes() == 1 and direct == 0:
        n = run_split_impulses_gpu(ctx, ctx.here.z, dt, w)
    if n < 0:
        x = make_iterate(ctx.here.z, ctx.work.p_pseudo, direct)
        n = run_split_impulses_serial(ctx, x, dt, deadline, w)
    set_item(
        ctx.state.report,
        ReportItem.PSEUDO_SWEEP_COUNT,
        w,
        item(ctx.state.report, ReportItem.PSEUDO_SWEEP_COUNT, w) + real(n),
    )
    set_item(ctx.state.prev_step, PrevStep.TICKS_LEFT, w, real(deadline - read_ticks()))


@wp.func
def run_split_impulses_serial(ctx: Context, x: wp.ref[Iterate], dt: real, deadline: wp.float64, w: int):
    """Sweep pseudo-impulses in one thread until they converge; returns the number of sweeps."""
    clear(x.p, impulse_count(ctx.layout, ctx.work, w), w)
    clear(x.z, ctx.layout.z_size, w)
    deactivate_trees(ctx.layout, ctx.work, w)
    loop = begin_split_impulses(ctx.state, contact_count(ctx.work, w), dt, w)
    if x.direct == 1:
        solve_bilateral(ctx, x.z, x.p, int(Targets.POSITIONS), w)
        if has_nothing_to_sweep(ctx.layout, ctx.work, x.direct, w):
            loop.worst = real(0.0)
        else:
            set_velocity_offsets(ctx, x.z, w)
            x.z = ctx.work.z_reduced
            clear(x.z, ctx.layout.z_size, w)
    iterate_split_impulses(ctx, x, loop, deadline, w)
    if x.direct == 1 and loop.n > 0:
        apply_swept_impulses(ctx, ctx.here.z, x.p, int(Targets.POSITIONS), w)
    return loop.n


@wp.func
def run_split_impulses_gpu(ctx: Context, z: array2, dt: real, w: int):
    """Sweep pseudo-impulses with the lanes of a GPU warp; returns the number of sweeps, −1 if the rows do not fit."""
    n = int(-1)
    x = LaneIterate()
    x.rows = assign_lane_rows(ctx.layout, ctx.work, w)
    if x.rows.rows <= MAX_LANE_ROWS:
        loop = begin_split_impulses(ctx.state, x.rows.contacts, dt, w)
        iterate_split_impulses_registers(ctx, x, loop, NO_DEADLINE, w)  # a GPU has no time budget
        store_z_registers(ctx.layout, x.z, z, w)
        n = loop.n
    return n


@wp.func
def excess_opening(loops: wp.ref[LoopJoints], state: wp.ref[State], work: wp.ref[Scratch], w: int):
    """Largest joint opening (m or 1) beyond what stabilisation may leave."""
    kept_share = real(1.0) - state.settings[Setting.ERP, 0]
    worst = real(0.0)
    k = int(0)
    while k < loops.count:
        j = int(0)
        while j < loops.constraint_count[loops.kind[k]]:
            r = JOINT_ROWS * k + j
            if get(work.joint_row_dropped, r, w) == real(0.0):
                worst = wp.max(worst, wp.abs(get(work.joint_gap_next, r, w) - kept_share * get(work.joint_gap, r, w)))
            j += 1
        k += 1
    return worst


@wp.func
def largest_joint_gap(loops: wp.ref[LoopJoints], work: wp.ref[Scratch], w: int):
    """Largest position error of the loop joints at the end of the step."""
    worst = real(0.0)
    k = int(0)
    while k < loops.count:
        j = int(0)
        while j < loops.constraint_count[loops.kind[k]]:
            worst = wp.max(worst, wp.abs(get(work.joint_gap_next, JOINT_ROWS * k + j, w)))
            j += 1
        k += 1
    return worst


@wp.func
def restore_angular_momentum(ctx: Context, w: int):
    """Give every floating group back the angular momentum Σ dx × p that pseudo-velocities took by moving bodies by dx,
    as a rotation of the whole (M-44). Link frames are at centres of mass here, so pivots are too."""
    k = int(0)
    while k < ctx.layout.floating_groups:
        shifted = vec3()
        centre = vec3()
        mass = real(0.0)
        n = ctx.layout.floating_group_start[k]
        while n < ctx.layout.floating_group_start[k + 1]:
            i = ctx.layout.floating_group_link[n]
            x = get3(ctx.here.O, i, w)
            p = item3(ctx.state.P, SPATIAL * i, w)
            shifted = shifted + wp.cross(x - get3(ctx.there.O, i, w), p)
            centre = centre + x * ctx.tree.mass[i]
            mass = mass + ctx.tree.mass[i]
            n += 1
        centre = centre / mass
        inertia = mat33()
        n = ctx.layout.floating_group_start[k]
        while n < ctx.layout.floating_group_start[k + 1]:
            i = ctx.layout.floating_group_link[n]
            R = get33(ctx.here.R, i, w)
            r = get3(ctx.here.O, i, w) - centre
            about = identity33() * wp.dot(r, r) - wp.outer(r, r)
            inertia = inertia + R * ctx.tree.inertia[i] * wp.transpose(R) + about * ctx.tree.mass[i]
            n += 1
        turn = wp.inverse(inertia) * (-shifted)
        n = ctx.layout.floating_group_start[k]
        while n < ctx.layout.floating_group_start[k + 1]:
            i = ctx.layout.floating_group_link[n]
            R = get33(ctx.here.R, i, w)
            p = wp.cross(turn, get3(ctx.here.O, i, w) - centre) * ctx.tree.mass[i]
            L = R * (ctx.tree.inertia[i] * (wp.transpose(R) * turn))
            set_item3(ctx.state.P, SPATIAL * i, w, item3(ctx.state.P, SPATIAL * i, w) + p)
            set_item3(ctx.state.P, SPATIAL * i + VEC3, w, item3(ctx.state.P, SPATIAL * i + VEC3, w) + L)
            n += 1
        k += 1
