"""Velocities of a step: its momenta balance, joints are closed at its end (M-32..M-36).

A pass is two stages: impulses for the speeds sought (`press`), then a look at what they led to (`weigh`), which says
what comes next. Where a step stands is kept in `Work.flow`, so that the stages may be kernels of their own.
"""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.aba import outward
from sharnir.dynamics.loop_joints import Loops
from sharnir.dynamics.momenta import add_tangent_momenta, tangent_momenta
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.impulse.data import (
    ANSWERS,
    BOUNCING,
    CAPPED,
    CHANGE,
    CONVERGED,
    DT,
    EASY,
    ENOUGH,
    EPSILON,
    GUARDED,
    HALF,
    HELD,
    KNOWN,
    LOOSE,
    MEAN_MASS,
    MISSING,
    MODE,
    PASSED,
    PASSES,
    REASON,
    SHARE,
    SOFTENED,
    STARTED,
    TIGHT,
    WOKEN,
    State,
    Work,
)
from sharnir.impulse.layout.layout import Plan
from sharnir.impulse.row_kinds import HOLD
from sharnir.impulse.rows.assembly import bound_speed, displaced_gaps, wake_lines
from sharnir.impulse.rows.contact_chord import bend_contact, most_missed
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.rows.extrapolation import follow, forget
from sharnir.impulse.rows.restitution import aim_bounces, bounces, impact_work
from sharnir.impulse.solve.bilateral_projection import project_rows
from sharnir.impulse.solve.contact_block import start_contacts
from sharnir.impulse.solve.delassus import UNKNOWN
from sharnir.impulse.solve.pgs import time_is_up
from sharnir.impulse.solve.strategy import solve
from sharnir.impulse.step.momentum_ops import keep_momenta_left
from sharnir.impulse.step.residuals import aim, chord_residual, follow_aims, gap_growth, kinetic2, line_misses, look
from sharnir.impulse.tolerances import CLOSED, CLOSED_LEAST, GUARD, NEAR, NEAR_GAPS, SETTLED, SETTLED_LEAST, SMALL
from sharnir.kernels.columns import get, get_int, item, put, put_int, set_item
from sharnir.kernels.lanes import teamed
from sharnir.kernels.types import array2, real
from sharnir.kernels.vector_ops import column_add, copy

CALM = wp.constant(real(1.0e-2))  # m/s: where bodies move faster, one among many need not be told from one at rest
SOFTER = 8  # times an impact is made softer, at most
CONTACT_SHARE = wp.constant(real(0.03))  # of how far a contact's end is missed counts as a joint's gap
WAKES = 3  # times lines that came to act within a step are taken in
PASS, LAST, TANGENT, LOOK, DONE = range(5)  # what is next: a pass, the last correction, the tangent, a look at the end


@wp.func
def first_pass(state: State, work: Work, w: int):
    """What a step begins with: a pass or, where none is to be corrected, the tangent."""
    put_int(work.flow, MODE, w, wp.where(state.settings[PASSES, 0] > real(0.0), PASS, TANGENT))
    put_int(work.flow, WOKEN, w, 0)
    put_int(work.flow, SOFTENED, w, 0)
    bouncing = bounces(work, w)
    put_int(work.flow, BOUNCING, w, bouncing)
    loose = int(0)
    easier = state.settings[EASY, 0] > state.settings[EPSILON, 0]
    if easier and bouncing == 0 and contact_count(work, w) > 0 and item(state.clock, 4, w) > real(0.0):
        loose = 1
    put_int(work.flow, LOOSE, w, loose)
    put(work.pace, SHARE, w, real(1.0))
    put_int(work.flow, STARTED, w, 0)
    set_item(state.report, PASSED, w, real(0.0))


@wp.func
def press(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, end: wp.float64,
    w: int,
):  # fmt: skip
    """Impulses for the speeds now sought; impacts that would add energy are made softer (M-59)."""
    mode = get_int(work.flow, MODE, w)
    if mode != LOOK and mode != DONE:
        n = plan.dofs
        dt = state.settings[DT, 0]
        if teamed() == 0 or get_int(work.flow, HELD, w) == 1:
            start_contacts(plan, work, ws.z, w)
        if mode == LAST:
            copy(ws.z, work.z_old, n, w)
            add_missing(work, ws.z, n, w)
            copy(work.z_old, work.zc, n, w)  # sweeps need z_old for themselves
        bouncing = get_int(work.flow, BOUNCING, w)  # 2: as softly as it must
        tries = get_int(work.flow, SOFTENED, w)
        share = get(work.pace, SHARE, w)
        loose = get_int(work.flow, LOOSE, w) == 1
        change = state.settings[EPSILON, 0]
        if loose:
            change = state.settings[EASY, 0]
        elif item(state.clock, 6, w) > CALM * CALM * state.settings[MEAN_MASS, 0] * real(tree.links):
            change = state.settings[ENOUGH, 0]
        put(work.pace, CHANGE, w, change)
        again = int(1)
        while again == 1:
            if bouncing > 0:
                aim_bounces(plan, work, share, dt, w)
            solve(loops, plan, state, work, get_int(work.flow, HELD, w), ws.z, dt, end, w)
            again = 0
            if bouncing == 1:
                after, before = impact_work(plan, work, ws.z, w)
                if after + before <= real(1.0e-12) * kinetic2(work.zv, n, w) or tries == SOFTER:
                    bouncing = 2
                else:
                    again = 1
                    tries += 1
                    share = share * wp.where(tries == 1, -before / after, real(0.5))
                    if tries == SOFTER:
                        share = real(0.0)
        put_int(work.flow, BOUNCING, w, bouncing)
        put_int(work.flow, SOFTENED, w, tries)
        put(work.pace, SHARE, w, share)


@wp.func
def weigh(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, end: wp.float64,
    w: int,
):  # fmt: skip
    """Where the impulses lead, and what is next."""
    find_motion(tree, ws, trial, loops, plan, state, work, end, w)
    if get_int(work.flow, MODE, w) == PASS:
        c = int(0)
        while c < contact_count(work, w):
            bend_contact(tree, ws, plan, state, work, c, ws.z, state.settings[DT, 0], w)
            c += 1
    find_next(tree, ws, trial, loops, plan, state, work, end, w)


@wp.func
def find_motion(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, end: wp.float64,
    w: int,
):  # fmt: skip
    """Velocities and momenta that the impulses lead to."""
    mode = get_int(work.flow, MODE, w)
    if mode != DONE:
        dt = state.settings[DT, 0]
        if mode == LAST:
            leave_tangent(plan, ws, state, work, w)
        if mode != LOOK:
            outward(tree, ws, state.v_next, w)
        if mode == LAST:
            follow_tangent(tree, ws, plan, state, work, w)
        elif mode == TANGENT:
            tangent_momenta(tree, ws, w)
        if mode == LAST or mode == TANGENT:
            put_int(work.flow, KNOWN, w, 0)
        if mode == LOOK or (mode == PASS and plan.bent_lines == 1):
            known = wp.where(mode == LOOK, get_int(work.flow, KNOWN, w), 0)
            look(tree, trial, loops, plan, state, work, 1 - known, dt, w)
        if mode == PASS:
            put(work.pace, MISSING, w, chord_residual(tree, ws, plan, state, work, dt, w))


@wp.func
def find_next(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, end: wp.float64,
    w: int,
):  # fmt: skip
    """What is next. A step starts from the last step's correction of the tangent momenta, and hands the rest it leaves
    to the next."""
    mode = get_int(work.flow, MODE, w)
    dt = state.settings[DT, 0]
    if mode == PASS:
        mode = next_mode(tree, ws, loops, plan, state, work, dt, end, w)
    elif mode == LOOK:
        mode = DONE
    elif mode != DONE:
        alone = mode == TANGENT and state.settings[PASSES, 0] == real(0.0)
        if not alone or take_in_lines(tree, ws, loops, plan, state, work, dt, w) == 0:
            mode = LOOK
    put_int(work.flow, MODE, w, mode)


@wp.func
def next_mode(
    tree: Tree, ws: Workspace, loops: Loops, plan: Plan, state: State, work: Work, dt: real, end: wp.float64, w: int
):
    """What comes after a pass, by what it left unbalanced."""
    n = plan.dofs
    passes = int(item(state.report, PASSED, w))
    tight = state.settings[TIGHT, 0]
    closed = wp.max(tight * CLOSED * dt * dt, CLOSED_LEAST)
    settled_at = wp.max(tight * tight * SETTLED * dt * dt, SETTLED_LEAST)
    missing = get(work.pace, MISSING, w)
    unbalanced = missing
    growth = real(0.0)
    known = int(0)
    if plan.bent == 1:
        if plan.bent_lines == 0:
            known = 1
            displaced_gaps(tree, ws, loops, work.gap_next, w)
        widest, to_undo = gap_growth(loops, work, dt, w)
        growth = widest
        missing = missing + to_undo
        if plan.bent_lines == 1:
            widest, to_undo = line_misses(plan, work, ws.z, dt, w)
            growth = wp.max(growth, widest)
            missing = missing + to_undo
    missed = CONTACT_SHARE * most_missed(work, w)
    if passes > 0 or item(state.report, REASON, w) != real(CONVERGED):  # once: contacts come and go
        missed = real(0.0)
    put_int(work.flow, KNOWN, w, known)
    mode = int(PASS)
    if take_in_lines(tree, ws, loops, plan, state, work, dt, w) == 0:
        if plan.bent == 1:
            aim(loops, plan, work, ws.z, dt, w)
        energy = kinetic2(ws.z, n, w) + kinetic2(work.zP, n, w)
        out_of_time = time_is_up(state, real(0.0), end, w)
        enough = missing <= settled_at * energy and wp.max(growth, missed) < closed
        tired = contact_count(work, w) > 0 and item(state.report, REASON, w) == real(CAPPED)
        loose = get_int(work.flow, LOOSE, w)
        put_int(work.flow, LOOSE, w, 0)
        if loose == 1 and passes < int(state.settings[PASSES, 0]) and enough and not out_of_time and not tired:
            add_missing(work, ws.z, n, w)
        elif passes == int(state.settings[PASSES, 0]) or enough or out_of_time or tired:
            mode = LOOK
            if out_of_time:
                missing = unbalanced
            if missing > GUARD * energy:
                mode = TANGENT
                set_item(state.report, GUARDED, w, real(1.0))
                drop_correction(plan, state, work, ws.z, dt, w)
            else:
                keep_correction(plan, state, work, wp.where(missing > SMALL * energy, real(0.0), real(1.0)), w)
                if plan.bent_lines == 1:
                    mode = DONE
        else:
            set_item(state.report, PASSED, w, real(passes + 1))
            if missing <= NEAR * energy and growth <= NEAR_GAPS * closed:
                mode = LAST
            else:
                add_missing(work, ws.z, n, w)
    return mode


@wp.func
def take_in_lines(tree: Tree, ws: Workspace, loops: Loops, plan: Plan, state: State, work: Work, dt: real, w: int):
    """How many lines came to act within the step and are now among its rows."""
    woken = get_int(work.flow, WOKEN, w)
    awake = int(0)
    if woken < WAKES:
        awake = wake_lines(tree, ws, loops, plan, state, work, get(work.pace, HALF, w), dt, w)
    if awake > 0:
        put_int(work.flow, WOKEN, w, woken + 1)
        put_int(work.flow, ANSWERS, w, UNKNOWN)
        if get_int(work.flow, HELD, w) == 1:
            project_rows(plan, state, work, w)
    return awake


@wp.func
def add_missing(work: Work, z: array2, n: int, w: int):
    """z and what it is built on ← with what the momentum equation still lacks."""
    column_add(work.zc, 0, real(1.0), z, 0, n, w)
    column_add(work.zc, 0, real(1.0), work.base, 0, n, w)


@wp.func
def leave_tangent(plan: Plan, ws: Workspace, state: State, work: Work, w: int):
    """z ← its last change, zc ← z, tau ← velocities before it; zc: z before it."""
    d = int(0)
    while d < plan.dofs:
        z = get(ws.z, d, w)
        put(ws.z, d, w, z - get(work.zc, d, w))
        put(work.zc, d, w, z)
        set_item(state.tau, d, w, item(state.v_next, d, w))
        d += 1


@wp.func
def follow_tangent(tree: Tree, ws: Workspace, plan: Plan, state: State, work: Work, w: int):
    """Velocities and momenta follow the last change of z, whose velocities are in v_next, along the tangent: so little
    is left."""
    d = int(0)
    while d < plan.dofs:
        set_item(state.v_next, d, w, item(state.v_next, d, w) + item(state.tau, d, w))
        put(ws.z, d, w, get(work.zc, d, w))
        put(work.zc, d, w, real(0.0))
        d += 1
    add_tangent_momenta(tree, ws, w)
    keep_correction(plan, state, work, real(0.0), w)


@wp.func
def keep_momenta(tree: Tree, ws: Workspace, plan: Plan, state: State, work: Work, w: int):
    """C ← P⁺ + Σ Jᵀ p of bodies on their own: momentum is exact, whatever the passes left."""
    n = plan.dofs
    copy(ws.z, work.zc, n, w)
    d = int(0)
    while d < n:
        put(ws.z, d, w, get(work.zP, d, w) + get(ws.z, d, w) - get(work.base, d, w))
        set_item(state.lack, d, w, real(0.0))
        d += 1
    outward(tree, ws, state.tau, w)
    tangent_momenta(tree, ws, w)
    copy(work.zc, ws.z, n, w)


@wp.func
def keep_correction(plan: Plan, state: State, work: Work, share: real, w: int):
    """The correction this step called for, to start the next with, and a share of what was left of it."""
    keep_momenta_left(work.zc, work.base, work.zP, share, plan.dofs, work.z_old, state.lack, w)
    follow(state.bend, work.z_old, plan.dofs, w)
    follow_aims(plan, state, work, state.settings[DT, 0], w)


@wp.func
def forget_correction(plan: Plan, state: State, w: int):
    d = int(0)
    while d < plan.dofs:
        set_item(state.lack, d, w, real(0.0))
        d += 1
    forget(state.bend, 3 * plan.dofs + 1, w)
    forget(state.aim, 18 * plan.joints + 1, w)


@wp.func
def drop_correction(plan: Plan, state: State, work: Work, z: array2, dt: real, w: int):
    """Back to the tangent at the start of the step: it loses energy and gains none."""
    d = int(0)
    while d < plan.dofs:
        put(z, d, w, get(z, d, w) - get(work.base, d, w) + get(work.zP, d, w))
        d += 1
    forget_correction(plan, state, w)
    r = int(0)
    while r < 6 * plan.joints:
        put(work.joint_target, r, w, real(0.0))
        r += 1
    l = int(0)
    while l < plan.lines:
        if (plan.line_acts[l] & HOLD) != 0:
            g = get(work.g, l, w)
            bound_speed(plan, work, l, real(0.0), g, g, dt, 1, w)
        l += 1
