"""Impulses of all rows for the speeds sought: sweeps to ε, a cap or the end of time, some rows solved directly
(M-39..M-42, M-48)."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.loop_joints import Loops
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.impulse.data import (
    ACCELERATE,
    ANSWERS,
    CHANGE,
    CONVERGED,
    DIRECT,
    EPSILON,
    METHOD,
    PREDICTIVE,
    REASON,
    RESIDUAL,
    SWEEPS,
    SWEPT,
    State,
    Work,
)
from sharnir.impulse.layout.layout import MOST_ROWS, Plan
from sharnir.impulse.row_kinds import CONTACT_P
from sharnir.impulse.rows.assembly import factor_joints, prepare_lines, whiten_joints
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.rows.contact_rows import count_contacts, prepare_contact, touching_count
from sharnir.impulse.rows.restitution import momenta_before
from sharnir.impulse.solve.active_sweeps import sweeps_where_stirred
from sharnir.impulse.solve.bilateral_ldl import bind, factor_bound, largest_lack
from sharnir.impulse.solve.bilateral_projection import answer_of_bound, project_rows, set_offsets
from sharnir.impulse.solve.delassus import UNKNOWN, few_rows
from sharnir.impulse.solve.gpu_pgs import sweeps_of_team
from sharnir.impulse.solve.pgs import QUIET, nothing_to_sweep, sweeps, sweeps_of_few
from sharnir.kernels.columns import get, item, item_int, put, put_int, set_item
from sharnir.kernels.lanes import teamed
from sharnir.kernels.types import array2, real, ticks
from sharnir.kernels.vector_ops import copy, load_items


@wp.func
def load_impulses(plan: Plan, state: State, work: Work, scale: real, w: int):
    load_items(state.p, work.p, plan.first_contact, scale, w)


@wp.func
def many_contacts(plan: Plan, state: State, work: Work, held: int, few: bool, w: int):
    """Whether contacts are all there is to sweep, and only those are to be whose impulses change (M-85)."""
    fit = plan.newton == 1 and plan.joints + plan.lines == 0 and held == 0 and not few and contact_count(work, w) > 0
    return fit and int(state.settings[METHOD, 0]) == PREDICTIVE and state.settings[ACCELERATE, 0] > real(0.0)


@wp.func
def settled(
    loops: Loops, plan: Plan, state: State, work: Work, held: int, z: array2, dt: real, end: wp.float64, w: int
):
    """Impulses of all rows for the speeds now sought: by sweeps alone, or with the rows that bind both ways held by a
    direct solution (M-42, M-48). Returns sweeps, the last change of an impulse and the reason of stopping."""
    if held == 1:
        bind(plan, work, z, work.p, 0, w)
        if nothing_to_sweep(plan, work, 1, w):
            return 1, largest_lack(plan, work, z, work.p, w), CONVERGED
        copy(work.p, work.p_start, plan.first_contact + CONTACT_P * contact_count(work, w), w)
        set_offsets(plan, work, z, w)
    few = plan.few == 1 and 3 * contact_count(work, w) <= MOST_ROWS and int(state.settings[METHOD, 0]) == PREDICTIVE
    few = few and held == 0 and teamed() == 0
    n = int(0)
    worst = real(0.0)
    reason = int(-1)
    if teamed() == 1 and held == 0:
        n, worst, reason = sweeps_of_team(plan, state, work, z, end, w)
    stage = int(0)  # 0: a few sweeps, if so many were enough in the step before; 1: rows may be few; 2: islands at once
    if few and int(item(state.clock, 5, w)) > QUIET:
        stage = 1
    if many_contacts(plan, state, work, held, few, w):
        n, worst, reason = sweeps_where_stirred(plan, state, work, z, end, w)
    while reason < 0:
        answered = int(0)
        if few and stage == 1:
            answered = wp.where(few_rows(plan, work, w), 1, 0)
        if answered == 1:
            n, worst, reason = sweeps_of_few(plan, state, work, n, z, end, w)
        else:
            most = int(state.settings[SWEEPS, 0])
            if few and stage == 0:
                most = wp.min(most, int(QUIET))
            n, worst, reason = sweeps(loops, plan, state, work, held, n, most, wp.where(stage == 2, 1, 0), z, end, w)
        stage += 1
    if held == 1:
        answer_of_bound(plan, work, work.p, w)
    return n + held, worst, reason


@wp.func
def solve(loops: Loops, plan: Plan, state: State, work: Work, held: int, z: array2, dt: real, end: wp.float64, w: int):
    """The same, reported."""
    n, worst, reason = settled(loops, plan, state, work, held, z, dt, end, w)
    set_item(state.report, SWEPT, w, item(state.report, SWEPT, w) + real(n))
    set_item(state.report, RESIDUAL, w, worst)
    set_item(state.report, REASON, w, real(reason))
    set_item(state.clock, 3, w, real(end - ticks()))


@wp.func
def prepare(
    tree: Tree, ws: Workspace, loops: Loops, plan: Plan, state: State, work: Work, held: int, h: real, dt: real,
    scale: real, swing: real, ahead: int, learn: int, again: int, w: int,
):  # fmt: skip
    """All rows at the start of a step, and the factors of their blocks; or again, at the poses it led to: those of
    joints and equalities, limits and contacts wait for the next step. ahead: limits look ahead; learn: see
    `factor_bound`. Returns how weak the loops are against their past."""
    prepare_model(tree, ws, loops, plan, state, work, h, dt, swing, ahead, again, w)
    if again == 0:
        bend = real(0.0)
        if ahead == 1:
            bend = since_last(state, dt, w)
        last = int(0)
        c = int(0)
        while c < touching_count(plan, state, w):
            last = prepare_contact(tree, ws, plan, state, work, c, last, scale, bend, dt, w)
            c += 1
    return prepare_blocks(loops, plan, state, work, held, ahead, learn, again, w)


@wp.func
def since_last(state: State, dt: real, w: int):
    """A step dt over the one before it; 0 where there was none."""
    ratio = real(0.0)
    if item(state.clock, 0, w) > real(0.0):
        ratio = dt / item(state.clock, 0, w)
    return ratio


@wp.func
def prepare_model(
    tree: Tree, ws: Workspace, loops: Loops, plan: Plan, state: State, work: Work, h: real, dt: real, swing: real,
    ahead: int, again: int, w: int,
):  # fmt: skip
    """Rows of joints and lines, and what contacts need to know of the motion before the step."""
    put(work.pace, CHANGE, w, state.settings[EPSILON, 0])
    put_int(work.flow, ANSWERS, w, UNKNOWN)
    whiten_joints(tree, ws, loops, plan, work, again, w)
    prepare_lines(tree, ws, loops, plan, state, work, h, dt, swing, ahead, w)
    if again == 0 and plan.surfaces.any == 1 and plan.surfaces.looks_back == 1:
        momenta_before(tree, ws, state, work, w)


@wp.func
def prepare_blocks(
    loops: Loops, plan: Plan, state: State, work: Work, held: int, ahead: int, learn: int, again: int, w: int
):
    """Which rows act, and the factors of their blocks; how weak the loops are."""
    if again == 0:
        count_contacts(plan, state, work, w)
    else:
        keep_equalities(plan, work, w)
    weakest = real(1.0)
    if plan.bound > 0 and ahead == 1:
        weakest = factor_bound(plan, state, work, learn, w)
    if held == 0:
        factor_joints(loops, plan, work, w)
    elif not nothing_to_sweep(plan, work, 1, w):
        project_rows(plan, state, work, w)
    return weakest


@wp.func
def keep_equalities(plan: Plan, work: Work, w: int):
    """Limits and contacts are left out."""
    put_int(work.touching, 0, w, 0)
    l = int(0)
    while l < plan.lines:
        if plan.line_lower[l] != plan.line_upper[l]:
            put(work.K, l, w, real(0.0))
        put(work.g_next, l, w, get(work.g, l, w))
        l += 1


@wp.func
def direct_wanted(plan: Plan, state: State, w: int):
    """1 if rows that bind both ways exist and are to be solved directly, and contacts are few enough for that."""
    held = int(0)
    if plan.bound > 0 and state.settings[DIRECT, 0] > real(0.0):
        held = 1
        if plan.contacts > 0:
            if item_int(state.touch.count, 0, w) > plan.held_contacts:
                held = 0
    return held
