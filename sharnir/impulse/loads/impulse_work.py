"""Energy that impulses of contacts and limits add in a step (M-90), for its report; what unconverged ones add is taken
from the momenta (M-113)."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Context, Scratch
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.loads.joint_work import kinetic_energy_of, scale_motion
from sharnir.impulse.row_kinds import CONTACT_IMPULSES, SCALAR_IMPULSES, ScalarImpulse
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.rows.warn import warn_of
from sharnir.impulse.slots import BLOCK_ROWS, GroupSum, ReportItem, StepWarning, StopReason
from sharnir.impulse.solve.contact_block import apply_contact_impulses
from sharnir.impulse.solve.contact_groups import add_to_group, find_group, root_of_contact
from sharnir.impulse.solve.contact_work import group_pushed_trees, limit_root
from sharnir.impulse.solve.pgs_sweep import limit_impulse
from sharnir.impulse.tolerances import TOL_ADDED_ENERGY
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
    sums = ctx.layout.joints > 0  # of the impulses themselves: there are fewer than of joints
    linearised = item(ctx.state.report, ReportItem.FALLBACK_USED, w) > real(0.0)
    d = int(0)
    while d < ctx.layout.dofs:
        base = get(ctx.work.z_base, d, w)
        if linearised:
            base = get(ctx.work.z_momentum, d, w)
        put(ctx.work.z_impulsive, d, w, wp.where(sums, real(0.0), get(ctx.here.z, d, w) - base))
        d += 1
    if sums:
        apply_contact_impulses(ctx, ctx.work.z_impulsive, ctx.work.p, w)
    l = int(0)
    while l < ctx.layout.scalars:
        at = ctx.layout.scalar_p_start + SCALAR_IMPULSES * l
        of_limit = limit_impulse(ctx.layout, ctx.work.p, l, w)
        others = get(ctx.work.p, at, w) - of_limit
        others = others + get(ctx.work.p, at + ScalarImpulse.FRICTION, w) + get(ctx.work.p, at + ScalarImpulse.MOTOR, w)
        others = others + get(ctx.work.p, at + ScalarImpulse.COMPLIANT, w)
        if sums:
            others = -of_limit
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


@wp.func
def mark_pushed_groups(ctx: Context, w: int):
    """Groups of trees; FIRST of those on which contacts or limits act ← above 0."""
    group_pushed_trees(ctx, ctx.work.p, w)
    c = int(0)
    while c < contact_count(ctx.work, w):
        if get(ctx.work.p, ctx.layout.contact_p_start + CONTACT_IMPULSES * c, w) > real(0.0):
            add_to_group(ctx.work, root_of_contact(ctx.work, c, w), int(GroupSum.FIRST), real(1.0), w)
        c += 1
    l = int(0)
    while l < ctx.layout.scalars:
        if limit_impulse(ctx.layout, ctx.work.p, l, w) != real(0.0):
            add_to_group(ctx.work, limit_root(ctx, l, w), int(GroupSum.FIRST), real(1.0), w)
        l += 1


@wp.func
def is_pushed(ctx: Context, i: int, w: int):
    """Whether contacts or limits act on the group of trees that link i is in."""
    group = find_group(ctx.work, ctx.layout.link_root[i], w)
    return get(ctx.work.group_sum, GroupSum.SIZE * group + GroupSum.FIRST, w) > real(0.0)


@wp.func
def remove_added_energy(ctx: Context, w: int):
    """Unconverged impulses of contacts and limits add nothing at the velocities they were found for (M-111); what they
    add since contact points move along curves in the step is taken from the momenta of all that they act on (M-113)."""
    work = item(ctx.state.report, ReportItem.IMPULSE_WORK, w)
    if work > real(0.0) and int(item(ctx.state.report, ReportItem.STOP_REASON, w)) != StopReason.CONVERGED:
        mark_pushed_groups(ctx, w)
        kinetic = real(0.0)
        i = int(0)
        while i < ctx.tree.links:
            if is_pushed(ctx, i, w):
                kinetic += kinetic_energy_of(ctx, i, w)
            i += 1
        if work > TOL_ADDED_ENERGY * kinetic:
            paid = wp.min(work, kinetic)
            share = wp.sqrt(real(1.0) - paid / wp.max(kinetic, paid))
            i = int(0)
            while i < ctx.tree.links:
                if is_pushed(ctx, i, w):
                    scale_motion(ctx, i, share, w)
                i += 1
            set_item(ctx.state.report, ReportItem.IMPULSE_WORK, w, work - paid)
            warn_of(ctx.state, int(StepWarning.ENERGY_LIMITED), w)
