"""Errors of an outer iteration, and the decision what follows it (M-33..M-36)."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Context
from sharnir.impulse.rows.assembly import measure_displaced_gaps
from sharnir.impulse.rows.contact_chord import max_contact_end_error
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.slots import Outcome, ReportItem, Setting, Status, StatusReal, StopReason
from sharnir.impulse.step.residuals import measure_gap_growth, measure_scalar_errors
from sharnir.impulse.tolerances import (
    FALLBACK_RESIDUAL,
    FINAL_LINEAR_GAPS,
    FINAL_LINEAR_RESIDUAL,
    MIN_TOL_GAP_GROWTH,
    MIN_TOL_RESIDUAL,
    TOL_GAP_GROWTH,
    TOL_RESIDUAL,
)
from sharnir.kernels.columns import get, get_int, item, put_int
from sharnir.kernels.types import real

CONTACT_ERROR_WEIGHT = wp.constant(real(0.03))  # weight of a contact's end-point error against a joint's gap growth

EDGE_ERROR_WEIGHT = wp.constant(real(1.0))  # the same of contacts that roll on an edge


@wp.struct
class IterationErrors:
    """What an outer iteration left, and what it is judged by."""

    residual2: real  # J, squared residual of the momentum balance and of what gaps and scalar errors would add to it
    momentum_residual2: real  # J, of the momentum balance alone
    energy: real  # J, twice the kinetic energies the residual is compared with
    growth: real  # largest growth of a joint gap (m or 1) or error of a scalar (m or rad) in the step
    contact_error: real  # m, weighted error of contacts at the end of the step
    edge_error: real  # m, the same of contacts that roll on an edge, in all iterations
    tol_residual: real  # of the energy
    tol_growth: real  # m, 1 or rad
    passes: int  # iterations after the first, so far
    max_passes: int
    is_loose: int  # 1: solved to TOL_LOOSE
    contact_sweeps_capped: int  # 1: sweeps with contacts were capped or stalled before they converged
    out_of_time: int


@wp.func
def measure_errors(ctx: Context, dt: real, w: int):
    """Errors of the present iteration: momentum residual, growth of gaps, scalar and contact errors. Joint gaps at the
    end pose are known afterwards where no scalar row needed the end pose itself."""
    e = IterationErrors()
    tol_scale = ctx.state.settings[Setting.TOL_SCALE, 0]
    e.tol_growth = wp.max(tol_scale * TOL_GAP_GROWTH * dt * dt, MIN_TOL_GAP_GROWTH)
    e.tol_residual = wp.max(tol_scale * tol_scale * TOL_RESIDUAL * dt * dt, MIN_TOL_RESIDUAL)
    e.passes = int(item(ctx.state.report, ReportItem.PASS_COUNT, w))
    e.max_passes = int(ctx.state.settings[Setting.MAX_PASSES, 0])
    residual2 = get(ctx.work.status_real, StatusReal.RESIDUAL2, w)
    e.momentum_residual2 = residual2
    growth = real(0.0)
    gaps_known = int(0)
    if ctx.layout.has_nonlinear_rows == 1:
        if ctx.layout.has_nonlinear_scalars == 0:
            gaps_known = 1
            measure_displaced_gaps(ctx.tree, ctx.here, ctx.loops, ctx.work.joint_gap_next, w)
        widest, to_undo = measure_gap_growth(ctx.loops, ctx.work, dt, w)
        growth = widest
        residual2 = residual2 + to_undo
        if ctx.layout.has_nonlinear_scalars == 1:
            widest, to_undo = measure_scalar_errors(ctx.layout, ctx.work, ctx.here.z, dt, w)
            growth = wp.max(growth, widest)
            residual2 = residual2 + to_undo
    e.residual2 = residual2
    e.growth = growth
    contact_error, edge_error = max_contact_end_error(ctx.work, w)
    e.contact_error = CONTACT_ERROR_WEIGHT * contact_error
    e.edge_error = EDGE_ERROR_WEIGHT * edge_error
    reason = item(ctx.state.report, ReportItem.STOP_REASON, w)
    if e.passes > 0 or reason != real(StopReason.CONVERGED):  # once: contacts come and go
        e.contact_error = real(0.0)
    if reason != real(StopReason.CONVERGED):
        e.edge_error = real(0.0)
    e.is_loose = get_int(ctx.work.status, Status.LOOSE_ITERATION, w)
    unfinished = reason == real(StopReason.CAPPED) or reason == real(StopReason.STALLED)
    if contact_count(ctx.work, w) > 0 and unfinished:
        e.contact_sweeps_capped = 1
    put_int(ctx.work.status, Status.END_GAPS_KNOWN, w, gaps_known)
    return e


@wp.func
def is_converged(e: IterationErrors):
    """Whether residual and errors of an iteration are within their tolerances."""
    return e.residual2 <= e.tol_residual * e.energy and (
        wp.max(e.growth, wp.max(e.contact_error, e.edge_error)) < e.tol_growth
    )


@wp.func
def final_residual2(e: IterationErrors):
    """Residual that decides about the last iteration: gaps count only where there was time to close them."""
    residual2 = e.residual2
    if e.out_of_time == 1:
        residual2 = e.momentum_residual2
    return residual2


@wp.func
def decide_outcome(e: IterationErrors):
    """What follows an iteration, by its errors alone: an `Outcome`."""
    converged = is_converged(e)
    ends = e.passes == e.max_passes or converged or e.out_of_time == 1 or e.contact_sweeps_capped == 1
    outcome = int(Outcome.ITERATE)
    if (
        e.is_loose == 1
        and e.passes < e.max_passes
        and converged
        and e.out_of_time == 0
        and e.contact_sweeps_capped == 0
    ):
        outcome = int(Outcome.TIGHTEN)
    elif ends:
        outcome = int(Outcome.ACCEPT)
        if final_residual2(e) > FALLBACK_RESIDUAL * e.energy:
            outcome = int(Outcome.FALL_BACK)
    elif e.residual2 <= FINAL_LINEAR_RESIDUAL * e.energy and (
        wp.max(e.growth, e.edge_error) <= FINAL_LINEAR_GAPS * e.tol_growth
    ):
        outcome = int(Outcome.CORRECT_LINEARLY)
    return outcome
