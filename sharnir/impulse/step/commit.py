"""End of a step: its velocities, momenta, impulses and positions become the state."""

from __future__ import annotations

from enum import IntEnum

import warp as wp

from sharnir.impulse.data import Context
from sharnir.impulse.row_kinds import RowKind
from sharnir.impulse.rows.actuators import store_actuator_rates, store_actuators
from sharnir.impulse.rows.assembly import measure_loop_coordinates
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.rows.scalar_rows import measure_scalar
from sharnir.impulse.slots import PrevStep, ReportItem
from sharnir.impulse.step.position_phase import largest_joint_gap
from sharnir.impulse.step.residuals import twice_kinetic_energy
from sharnir.impulse.tolerances import MAX_POSITION
from sharnir.kernels.columns import get, get3, item, set_item, set_item3, set_item_int
from sharnir.kernels.types import MAT33, SPATIAL, VEC3, real
from sharnir.kernels.vector_ops import copy, copy_state, row_dot, store_state

DIVERGED_POSITION = wp.constant(real(MAX_POSITION))  # the same in the precision of kernels


class ScalarVelocity(IntEnum):
    """What is stored as velocity of a scalar."""

    ROW = 0  # that of its row
    CHORD = 1  # (g_next − g)/dt where it has a position


@wp.func
def commit_velocities(ctx: Context, h: real, dt: real, scalar_velocity: int, w: int):
    """Commit the step's velocities, momenta and impulses, except those of contacts, to the state. scalar_velocity:
    `ScalarVelocity`."""
    store_actuators(ctx, h, dt, w)
    l = int(0)
    while l < ctx.layout.scalars:
        measured = (
            ctx.layout.scalar_has_position[l] == 1
            and (ctx.layout.scalar_row_kinds[l] & (RowKind.BOUND | RowKind.COMPLIANT)) != 0
        )
        if scalar_velocity == ScalarVelocity.CHORD and measured:
            set_item(
                ctx.state.scalar_velocity,
                l,
                w,
                (get(ctx.work.scalar_position_next, l, w) - get(ctx.work.scalar_position, l, w)) / dt,
            )
        elif get(ctx.work.scalar_K, l, w) > real(0.0):
            start = ctx.layout.scalar_W_start[l]
            set_item(
                ctx.state.scalar_velocity,
                l,
                w,
                row_dot(
                    ctx.work.W,
                    start,
                    ctx.layout.scalar_row_length[l],
                    ctx.layout.index,
                    ctx.layout.scalar_index_start[l],
                    ctx.here.z,
                    w,
                ),
            )
        l += 1
    store_state(ctx.work.p, ctx.state.p, ctx.layout.contact_p_start, w)
    store_actuator_rates(ctx.layout, ctx.state, w)
    set_item_int(ctx.state.prev_contact_keys, 0, w, contact_count(ctx.work, w))
    i = int(0)
    while i < ctx.tree.links:
        set_item3(ctx.state.P, SPATIAL * i, w, get3(ctx.here.C, 2 * i, w))
        set_item3(ctx.state.P, SPATIAL * i + VEC3, w, get3(ctx.here.C, 2 * i + 1, w))
        i += 1
    set_item(ctx.state.prev_step, PrevStep.DT, w, dt)
    set_item(ctx.state.prev_step, PrevStep.FORCE_TIME, w, h)
    set_item(ctx.state.prev_step, PrevStep.PASSES, w, item(ctx.state.report, ReportItem.PASS_COUNT, w))
    set_item(ctx.state.prev_step, PrevStep.SWEEPS, w, item(ctx.state.report, ReportItem.SWEEP_COUNT, w))
    set_item(ctx.state.prev_step, PrevStep.ENERGY2, w, twice_kinetic_energy(ctx.here.z, ctx.layout.dofs, w))


@wp.func
def commit_positions(ctx: Context, positions_moved: int, w: int):
    """Commit the next positions: q, v, poses, loop coordinates; report the position error (NaN if a position diverged).
    positions_moved: the poses are those of `here`, else of `there`."""
    worst = real(0.0)
    divergence = real(0.0)  # added last: a maximum forgets it
    copy_state(ctx.state.q_next, ctx.state.q, ctx.state.q.shape[0], w)
    copy_state(ctx.state.v_next, ctx.state.v, ctx.layout.dofs, w)
    i = int(0)
    while i < ctx.state.q.shape[0]:
        if not (wp.abs(item(ctx.state.q, i, w)) < DIVERGED_POSITION):
            divergence = real(wp.nan)
        i += 1
    worst = worst + largest_joint_gap(ctx.loops, ctx.work, w)
    if positions_moved == 0:
        copy(ctx.there.R, ctx.here.R, MAT33 * ctx.tree.links, w)
        copy(ctx.there.x, ctx.here.x, VEC3 * ctx.tree.links, w)
        copy(ctx.there.S, ctx.here.S, SPATIAL * ctx.layout.dofs, w)
        copy(ctx.there.O, ctx.here.O, ctx.there.O.shape[0], w)
    measure_loop_coordinates(ctx.tree, ctx.here, ctx.loops, ctx.state.loop_q, ctx.state.loop_q, w)
    l = int(0)
    while l < ctx.layout.scalars:
        if (ctx.layout.scalar_row_kinds[l] & RowKind.BOUND) != 0:
            g = measure_scalar(ctx, ctx.here, l, ctx.state.q, ctx.state.loop_q, w)
            past = wp.max(g - ctx.layout.scalar_upper[l], ctx.layout.scalar_lower[l] - g)
            worst = max(worst, past)
        l += 1
    set_item(ctx.state.report, ReportItem.POSITION_ERROR, w, worst + divergence)
