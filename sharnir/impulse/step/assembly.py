"""Assembly of all rows of a step, of a position correction or of an observation, and factorisation of their blocks."""

from __future__ import annotations

import warp as wp

from sharnir.collision.buffers import ContactCount
from sharnir.impulse.data import Context, LimitRule, RowOptions, Scratch, State, make_row_options
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.rows.assembly import assemble_scalars, factor_joints, whiten_joints
from sharnir.impulse.rows.contact_rows import assemble_contact, found_contact_count, store_contact_count
from sharnir.impulse.rows.restitution import whiten_momenta_before
from sharnir.impulse.slots import DelassusState, PrevStep, Setting, Status, StatusReal
from sharnir.impulse.solve.bilateral_ldl import factor_bilateral
from sharnir.impulse.solve.bilateral_projection import project_rows
from sharnir.kernels.columns import get, get_int, item, item_int, put, put_int
from sharnir.kernels.types import real
from sharnir.kernels.vector_ops import load_state


@wp.func
def step_row_options(ctx: Context, w: int):
    """Options of the rows of a predictive step or of its present position correction."""
    n = get_int(ctx.work.status, Status.CORRECTION, w)
    h = get(ctx.work.status_real, StatusReal.FORCE_TIME, w)
    options = make_row_options(h, ctx.state.settings[Setting.DT, 0], real(1.0), LimitRule.PREDICTED)
    options.at_new_poses = wp.where(n == 0, 0, 1)
    options.update_history = wp.where(n == 0 and get_int(ctx.work.status, Status.TRIES, w) == 0, 1, 0)
    return options


@wp.func
def assemble_rows(ctx: Context, options: RowOptions, w: int):
    """Assemble all rows and factor their blocks; at new poses only joints and equalities, since limits and contacts
    wait for the next step. Returns the smallest pivot ratio of the loops relative to their past."""
    assemble_model_rows(ctx, options, w)
    if options.at_new_poses == 0:
        match_cursor = int(0)
        c = int(0)
        while c < found_contact_count(ctx.layout, ctx.state, w):
            match_cursor = assemble_contact_rows(ctx, c, match_cursor, options, w)
            c += 1
    return factor_row_blocks(ctx, options, w)


@wp.func
def assemble_model_rows(ctx: Context, options: RowOptions, w: int):
    """Assemble the rows of joints and scalar constraints, mark the Delassus matrix stale, and compute the momenta
    before the step where restitution needs them."""
    put(ctx.work.status_real, StatusReal.SWEEP_TOLERANCE, w, ctx.state.settings[Setting.EPSILON, 0])
    put_int(ctx.work.status, Status.DELASSUS, w, DelassusState.STALE)
    put_int(ctx.work.status, Status.HAS_IMPACTS, w, 0)
    put_int(ctx.work.status, Status.HAS_SEPARATIONS, w, 0)
    whiten_joints(ctx, options.at_new_poses, w)
    assemble_scalars(ctx, options, w)
    model = ctx.layout.contact_model
    if options.at_new_poses == 0 and model.has_pairs == 1 and model.needs_velocity_before == 1:
        whiten_momenta_before(ctx, w)


@wp.func
def assemble_contact_rows(ctx: Context, c: int, match_cursor: int, options: RowOptions, w: int):
    """Assemble contact c; match_cursor, and returned: see `match_contact`. The chord term of the previous step is
    extrapolated in a predictive step only."""
    chord_scale = real(0.0)
    if options.limit_rule == LimitRule.PREDICTED:
        chord_scale = step_ratio(ctx.state, options.dt, w)
    return assemble_contact(ctx, c, match_cursor, chord_scale, options.dt, w)


@wp.func
def step_ratio(state: wp.ref[State], dt: real, w: int):
    """dt over the previous step's dt; 0 where there was none."""
    ratio = real(0.0)
    if item(state.prev_step, PrevStep.DT, w) > real(0.0):
        ratio = dt / item(state.prev_step, PrevStep.DT, w)
    return ratio


@wp.func
def factor_row_blocks(ctx: Context, options: RowOptions, w: int):
    """Choose the rows that act and factor their blocks: bilateral LDLᵀ, joint blocks, or projection of the others.
    Returns the smallest pivot ratio of the loops relative to their past."""
    if options.at_new_poses == 0:
        store_contact_count(ctx.layout, ctx.state, ctx.work, w)
        put_int(ctx.work.status, Status.IS_DIRECT, w, use_direct(ctx.layout, ctx.state, w))
    else:
        drop_unilateral_rows(ctx.layout, ctx.work, w)
    weakest = real(1.0)
    if ctx.layout.has_bilateral == 1 and options.limit_rule == LimitRule.PREDICTED:
        weakest = factor_bilateral(ctx, options.update_history, w)
    direct = get_int(ctx.work.status, Status.IS_DIRECT, w)
    if direct == 0:
        factor_joints(ctx.loops, ctx.layout, ctx.work, ctx.state.settings[Setting.MIN_ROW_K, 0], w)
    else:
        project_rows(ctx, w)
    return weakest


@wp.func
def drop_unilateral_rows(layout: wp.ref[Layout], work: wp.ref[Scratch], w: int):
    """Drop limits and contacts, so that only joints and equalities act."""
    put_int(work.contact_count, 0, w, 0)
    l = int(0)
    while l < layout.scalars:
        if layout.scalar_lower[l] != layout.scalar_upper[l]:
            put(work.scalar_K, l, w, real(0.0))
        put(work.scalar_position_next, l, w, get(work.scalar_position, l, w))
        l += 1


@wp.func
def use_direct(layout: wp.ref[Layout], state: wp.ref[State], w: int):
    """1 if there are bilateral rows, they are to be solved directly, and there is room to project all contacts."""
    direct = int(0)
    if layout.has_bilateral == 1 and state.settings[Setting.BILATERAL_DIRECT, 0] > real(0.0):
        direct = 1
        if layout.max_contacts > 0:
            if item_int(state.contacts.count, ContactCount.STORED, w) > layout.max_projected_contacts:
                direct = 0
    return direct


@wp.func
def load_previous_impulses(layout: wp.ref[Layout], state: wp.ref[State], work: wp.ref[Scratch], scale: real, w: int):
    """Warm start: impulses of joints and scalar rows ← those of the previous step times `scale`."""
    load_state(state.p, work.p, layout.contact_p_start, scale, w)
