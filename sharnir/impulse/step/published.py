"""The step of the papers: sweeps at the start pose, split impulses for old errors, semi-implicit Euler (M-35)."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.aba import outward
from sharnir.dynamics.advance import integrate_positions
from sharnir.dynamics.inward import inward_implicit
from sharnir.dynamics.kinematics import poses
from sharnir.dynamics.momenta import tangent_momenta
from sharnir.enums import ExternalForces
from sharnir.impulse.data import Context, LimitRule, make_row_options
from sharnir.impulse.rows.assembly import measure_joint_gaps
from sharnir.impulse.rows.contact_matching import store_contacts
from sharnir.impulse.rows.contact_rows import find_contacts
from sharnir.impulse.slots import JOINT_ROWS, Method, Setting, StatusReal
from sharnir.impulse.solve.pgs_sweep import apply_impulses
from sharnir.impulse.solve.strategy import sweep_and_report
from sharnir.impulse.step.assembly import assemble_rows, load_previous_impulses
from sharnir.impulse.step.commit import ScalarVelocity, commit_positions, commit_velocities
from sharnir.impulse.step.free_motion import load_free_motion, published_free_motion
from sharnir.impulse.step.position_phase import (
    advance_with_correction,
    has_position_error,
    restore_angular_momentum,
    run_split_impulses,
)
from sharnir.impulse.step.step import velocity_deadline_of, warm_start_factor
from sharnir.kernels.columns import get, put
from sharnir.kernels.types import real
from sharnir.kernels.vector_ops import clear, copy


@wp.func
def published_step(ctx: Context, deadline: wp.float64, w: int):
    """The papers' step: free motion, sweeps at the old pose, split impulses for the old errors, semi-implicit Euler."""
    dt = ctx.state.settings[Setting.DT, 0]
    if int(ctx.state.settings[Setting.METHOD, 0]) == Method.PAPER_TREE:
        published_free_motion(ctx, dt, w)
    else:
        load_free_motion(ctx, dt, dt, w)
        inward_implicit(ctx.tree, ctx.here, ctx.state.tau, ctx.state.v, ExternalForces.WRENCHES, 0, w)
    clear(ctx.work.joint_row_dropped, JOINT_ROWS * ctx.layout.joints, w)  # this method drops no row
    put(ctx.work.status_real, StatusReal.WARM_FACTOR, w, warm_start_factor(ctx.state, dt, w))
    load_previous_impulses(ctx.layout, ctx.state, ctx.work, get(ctx.work.status_real, StatusReal.WARM_FACTOR, w), w)
    find_contacts(ctx, dt, w)
    assemble_rows(ctx, make_row_options(dt, dt, real(1.0), LimitRule.WHEN_REACHED), w)
    clear(ctx.work.joint_target, JOINT_ROWS * ctx.layout.joints, w)
    apply_impulses(ctx, ctx.here.z, ctx.work.p, w)
    sweep_and_report(ctx, velocity_deadline_of(ctx.state, deadline), w)
    outward(ctx.tree, ctx.here, ctx.state.v_next, w)
    tangent_momenta(ctx.tree, ctx.here, w)
    copy(ctx.work.joint_gap, ctx.work.joint_gap_next, JOINT_ROWS * ctx.layout.joints, w)
    copy(ctx.work.scalar_position, ctx.work.scalar_position_next, ctx.layout.scalars, w)
    commit_velocities(ctx, dt, dt, ScalarVelocity.ROW, w)
    store_contacts(ctx.layout, ctx.state, ctx.work, w)
    integrate_positions(ctx.tree, ctx.state.q, ctx.state.v_next, dt, ctx.state.q_next, w)
    poses(ctx.tree, ctx.there, ctx.state.q_next, ctx.state.q_next, w)
    measure_joint_gaps(ctx.tree, ctx.there, ctx.loops, ctx.work.joint_gap_trial, w)
    positions_moved = has_position_error(ctx, 0, dt, w)
    if positions_moved == 1:
        run_split_impulses(ctx, dt, deadline, w)
        advance_with_correction(ctx, 0, dt, w)
        restore_angular_momentum(ctx, w)
    else:
        copy(ctx.work.joint_gap_trial, ctx.work.joint_gap_next, JOINT_ROWS * ctx.layout.joints, w)
    commit_positions(ctx, positions_moved, w)
