"""Energy that impulses of contacts and limits add in a step (M-90), for its report."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Context, Scratch
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.row_kinds import CONTACT_IMPULSES, SCALAR_IMPULSES, ScalarImpulse
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.slots import BLOCK_ROWS, JOINT_ROWS, ReportItem
from sharnir.impulse.solve.pgs_sweep import limit_impulse
from sharnir.kernels.columns import get, get3, item, put, set_item
from sharnir.kernels.types import real
from sharnir.kernels.vector_ops import row_add, row_dot


@wp.func
def acts_one_sided(layout: wp.ref[Layout], work: wp.ref[Scratch], w: int):
    """Whether the step has contacts, or limits that act."""
    acts = contact_count(work, w) > 0
    l = int(0)
    while l < layout.scalars and not acts:
        acts = limit_impulse(layout, work.p, l, w) != real(0.0)
        l += 1
    return acts


@wp.func
def load_impulsive_velocity(ctx: Context, w: int):
    """z_impulsive ← Wᵀp of contacts and limits: z of the step without what momenta, joints and the other forces on
    scalar rows make of it."""
    linearised = item(ctx.state.report, ReportItem.FALLBACK_USED, w) > real(0.0)
    d = int(0)
    while d < ctx.layout.dofs:
        base = get(ctx.work.z_base, d, w)
        if linearised:
            base = get(ctx.work.z_momentum, d, w)
        put(ctx.work.z_impulsive, d, w, get(ctx.here.z, d, w) - base)
        d += 1
    k = int(0)
    while k < ctx.layout.joints:
        j = int(0)
        while j < ctx.loops.constraint_count[ctx.loops.kind[k]]:
            row_add(
                ctx.work.W,
                ctx.layout.joint_W_start[k] + j * ctx.layout.joint_row_length[k],
                ctx.layout.joint_row_length[k],
                ctx.layout.index,
                ctx.layout.joint_index_start[k],
                -get(ctx.work.p, JOINT_ROWS * k + j, w),
                ctx.work.z_impulsive,
                w,
            )
            j += 1
        k += 1
    l = int(0)
    while l < ctx.layout.scalars:
        at = ctx.layout.scalar_p_start + SCALAR_IMPULSES * l
        others = get(ctx.work.p, at, w) - limit_impulse(ctx.layout, ctx.work.p, l, w)
        others = others + get(ctx.work.p, at + ScalarImpulse.FRICTION, w) + get(ctx.work.p, at + ScalarImpulse.MOTOR, w)
        others = others + get(ctx.work.p, at + ScalarImpulse.COMPLIANT, w)
        if others != real(0.0):
            row_add(
                ctx.work.W,
                ctx.layout.scalar_W_start[l],
                ctx.layout.scalar_row_length[l],
                ctx.layout.index,
                ctx.layout.scalar_index_start[l],
                -others,
                ctx.work.z_impulsive,
                w,
            )
        l += 1


@wp.func
def measure_limit_chords(ctx: Context, w: int):
    """Σ p (ḡ − s) (J) of limits: mean rate of their positions over the step beyond the velocity of their rows."""
    total = real(0.0)
    l = int(0)
    while l < ctx.layout.scalars:
        p = limit_impulse(ctx.layout, ctx.work.p, l, w)
        if p != real(0.0):
            s = row_dot(
                ctx.work.W,
                ctx.layout.scalar_W_start[l],
                ctx.layout.scalar_row_length[l],
                ctx.layout.index,
                ctx.layout.scalar_index_start[l],
                ctx.here.z,
                w,
            )
            total = total + p * (item(ctx.state.scalar_velocity, l, w) - s)
        l += 1
    return total


@wp.func
def report_impulse_work(ctx: Context, w: int):
    """Add to the report the energy that the step's impulses of contacts and limits add (M-90), beside that of its
    impacts. Of contacts the mean velocity over the step counts, against moving surfaces."""
    if acts_one_sided(ctx.layout, ctx.work, w):
        load_impulsive_velocity(ctx, w)
        total = measure_limit_chords(ctx, w)
        d = int(0)
        while d < ctx.layout.dofs:
            y = get(ctx.work.z_impulsive, d, w)
            total = total + y * (get(ctx.here.z, d, w) - real(0.5) * y)
            d += 1
        c = int(0)
        while c < contact_count(ctx.work, w):
            at = ctx.layout.contact_p_start + CONTACT_IMPULSES * c
            target = get3(ctx.work.contact_target, c, w)
            total = total + get(ctx.work.p, at, w) * get(ctx.work.contact_chord, BLOCK_ROWS * c, w)
            total = total - get(ctx.work.p, at + 1, w) * target[1] - get(ctx.work.p, at + 2, w) * target[2]
            c += 1
        total = total + item(ctx.state.report, ReportItem.IMPULSE_WORK, w)
        set_item(ctx.state.report, ReportItem.IMPULSE_WORK, w, total)
