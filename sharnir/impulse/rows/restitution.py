"""Impacts: speeds before and after, and what they do to the energy (M-58, M-59)."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.momenta import whitened_momentum
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.impulse.data import State, Work
from sharnir.impulse.layout.layout import Plan
from sharnir.impulse.row_kinds import CONTACT_P
from sharnir.impulse.rows.contact_frame import contact_count, contact_speed
from sharnir.kernels.columns import get, get3, item, item3, put, put3, set_item
from sharnir.kernels.types import array2, real, vec3


@wp.func
def bounces(work: Work, w: int):
    """1 if anything is about to bounce."""
    any = int(0)
    c = int(0)
    while c < contact_count(work, w):
        if get(work.bounce, c, w) > real(0.0):
            any = 1
        c += 1
    return any


@wp.func
def momenta_before(tree: Tree, ws: Workspace, state: State, work: Work, w: int):
    """zv: of the momenta before the forces of this step."""
    i = int(0)
    while i < tree.links:
        put3(ws.C, 2 * i, w, item3(state.P, 6 * i, w))
        put3(ws.C, 2 * i + 1, w, item3(state.P, 6 * i + 3, w))
        i += 1
    d = int(0)
    while d < tree.dof[tree.links]:
        set_item(state.v_next, d, w, tree.armature[d] * item(state.v, d, w))
        d += 1
    whitened_momentum(tree, ws, state.v_next, work.zv, w)


@wp.func
def beyond_impact(plan: Plan, work: Work, c: int, w: int):
    """What the speed of contact c in the step has beyond the one right after an impact: half of the step's forces, and
    the way from tangent to chord momenta."""
    bend = contact_speed(plan, work, c, 0, 0, work.base, w) - contact_speed(plan, work, c, 0, 0, work.zP, w)
    return get3(work.contact_kick, c, w) + bend


@wp.func
def impact_work(plan: Plan, work: Work, z: array2, w: int):
    """Σ p·s of bouncing contacts (J), with the speeds s after and before the impact; half the sum of both is the energy
    that the impacts add."""
    after = real(0.0)
    before = real(0.0)
    c = int(0)
    while c < contact_count(work, w):
        if get(work.bounce, c, w) > real(0.0):
            at = plan.first_contact + CONTACT_P * c
            p = vec3(get(work.p, at, w), get(work.p, at + 1, w), get(work.p, at + 2, w))
            after = after + wp.dot(p, contact_speed(plan, work, c, 0, 0, z, w) - beyond_impact(plan, work, c, w))
            before = before + wp.dot(p, get3(work.contact_now, c, w))
        c += 1
    return after, before


@wp.func
def aim_bounces(plan: Plan, work: Work, share: real, dt: real, w: int):
    """Let what bounces leave with a share of its speed."""
    c = int(0)
    while c < contact_count(work, w):
        bounce = get(work.bounce, c, w)
        if bounce > real(0.0):
            beyond = beyond_impact(plan, work, c, w)
            closing = -wp.max(get(work.contact_gap, c, w), real(0.0)) / dt
            put(work.contact_target, 3 * c, w, wp.max(share * bounce + beyond[0], closing))
        c += 1
