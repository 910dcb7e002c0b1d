"""Position errors: pseudo-velocities, and corrections at the poses a step led to (M-43, M-44)."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.aba import outward
from sharnir.dynamics.advance import advance
from sharnir.dynamics.kinematics import poses
from sharnir.dynamics.loop_joints import Loops
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.impulse.data import EPSILON, ERP, MOST_PSEUDO, PSEUDO, SWEEPS, State, Work
from sharnir.impulse.layout.layout import Plan
from sharnir.impulse.row_kinds import CONTACT_P
from sharnir.impulse.rows.assembly import joint_gaps
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.solve.active_contacts import calm_all
from sharnir.impulse.solve.bilateral_ldl import bind
from sharnir.impulse.solve.bilateral_projection import set_offsets
from sharnir.impulse.solve.gpu_split_impulse import sweep_positions_kept
from sharnir.impulse.solve.gpu_sweep import keep_coordinates, share_of
from sharnir.impulse.solve.pgs import nothing_to_sweep
from sharnir.impulse.solve.split_impulse import seek_positions, sweep_positions
from sharnir.impulse.tolerances import OWN
from sharnir.kernels.columns import get, get3, get33, item, item3, set_item, set_item3
from sharnir.kernels.lanes import ROWS, teamed
from sharnir.kernels.types import array2, identity33, mat33, real, ticks, vec2, vec3
from sharnir.kernels.vector_ops import clear

PATIENCE = 20  # sweeps after which some progress must have been made
GIVE = wp.constant(real(0.1))  # of the weight of a contact's row, where pseudo-impulses would grow without end
UNFELT = wp.constant(real(0.1))  # of ε: pseudo-impulses that move a body by less than other contacts need to see
STALLED = wp.constant(real(0.7))  # of the change of pseudo-impulses then


@wp.func
def errors_to_undo(loops: Loops, plan: Plan, state: State, work: Work, n: int, dt: real, w: int):
    """1 if there are position errors to undo at the end of a step or, n-th time, at the poses reached."""
    erp = state.settings[ERP, 0]
    most = wp.where(n == 0, real(0.5) * erp * OWN, real(0.0))
    return wp.where(seek_positions(loops, plan, work, dt, erp, w) > most, 1, 0)


@wp.func
def displace(tree: Tree, ws: Workspace, loops: Loops, plan: Plan, state: State, work: Work, n: int, dt: real, w: int):
    """Next positions ← v_next and the pseudo-velocities that undo position errors (M-43), or at the poses reached, n-th
    time, the same again (M-44). Returns by how much joints are then open beyond what is allowed; poses and gaps in the
    workspace are those of the next positions."""
    outward(tree, ws, state.tau, w)
    if n == 0:
        d = int(0)
        while d < plan.dofs:
            set_item(state.tau, d, w, item(state.tau, d, w) + item(state.v_next, d, w))
            d += 1
    advance(tree, state.q, state.tau, dt, state.q_next, w)
    poses(tree, ws, state.q_next, state.q_next, w)
    joint_gaps(tree, ws, loops, work.gap_next, w)
    return open_error(loops, state, work, w)


@wp.func
def renew_positions(plan: Plan, ws: Workspace, state: State, w: int):
    """Positions ← those the step led to, for another correction there; nothing is added to the joints' inertia."""
    i = int(0)
    while i < state.q.shape[0]:
        set_item(state.q, i, w, item(state.q_next, i, w))
        i += 1
    clear(ws.hc, plan.dofs, w)
    clear(ws.hk, plan.dofs, w)


@wp.func
def push(
    tree: Tree, ws: Workspace, loops: Loops, plan: Plan, state: State, work: Work, held: int, dt: real,
    end: wp.float64, w: int,
):  # fmt: skip
    """z ← the pseudo-velocities sought, whitened; impulses start from nothing."""
    n = int(-1)
    if teamed() == 1 and held == 0:
        n = pushed_by_team(plan, state, work, ws.z, dt, w)
    if n < 0:
        n = pushed(loops, plan, state, work, held, ws.z, dt, end, w)
    set_item(state.report, PSEUDO, w, item(state.report, PSEUDO, w) + real(n))
    set_item(state.clock, 3, w, real(end - ticks()))


@wp.func
def most_pushes(state: State, w: int):
    """Sweeps that may be made."""
    return wp.min(int(state.settings[SWEEPS, 0]), int(state.settings[MOST_PSEUDO, 0] - item(state.report, PSEUDO, w)))


@wp.func
def pushed(loops: Loops, plan: Plan, state: State, work: Work, held: int, z: array2, dt: real, end: wp.float64, w: int):
    """Sweeps it took one thread."""
    clear(work.p_old, plan.first_contact + CONTACT_P * contact_count(work, w), w)
    clear(z, plan.width, w)
    calm_all(plan, work, w)
    epsilon = state.settings[EPSILON, 0]
    worst = real(2.0) * epsilon
    n = int(0)
    if held == 1:
        bind(plan, work, z, work.p_old, 1, w)
        if nothing_to_sweep(plan, work, 1, w):
            worst = real(0.0)
        else:
            set_offsets(plan, work, z, w)
    most = most_pushes(state, w)
    touching = contact_count(work, w)
    checked = real(wp.inf)
    give = real(0.0)
    while worst > epsilon and n < most and ticks() < end:
        erp = state.settings[ERP, 0]
        worst = sweep_positions(loops, plan, work, give, held, dt, erp, UNFELT * epsilon, z, work.p_old, w)
        n += 1
        worst, checked, give = after_push(n, worst, checked, give, touching)
    return n


@wp.func
def pushed_by_team(plan: Plan, state: State, work: Work, z: array2, dt: real, w: int):
    """Sweeps it took a team of threads; −1 where it cannot keep all rows."""
    n = int(-1)
    mine = share_of(plan, work, w)
    if mine.rows <= ROWS:
        n = int(0)
        epsilon = state.settings[EPSILON, 0]
        worst = real(2.0) * epsilon
        most = most_pushes(state, w)
        checked = real(wp.inf)
        give = real(0.0)
        x = vec2()
        p = vec2()
        hold = real(0.0)
        while worst > epsilon and n < most:
            worst, x, p, hold = sweep_positions_kept(plan, work, mine, give, dt, state.settings[ERP, 0], x, p, hold, w)
            n += 1
            worst, checked, give = after_push(n, worst, checked, give, mine.contacts)
        keep_coordinates(plan, x, z, w)
    return n


@wp.func
def after_push(n: int, worst: real, checked: real, give: real, touching: int):
    """The change, how much it was when last looked at, and how contacts then give: wedged ones share what cannot be
    undone, or leave it."""
    if n % PATIENCE == 0 and touching > 0:
        before = checked
        checked = worst
        if worst > STALLED * before:
            if give > real(0.0):
                worst = real(0.0)
                checked = real(0.0)
            give = GIVE
    return worst, checked, give


@wp.func
def open_error(loops: Loops, state: State, work: Work, w: int):
    """By how much joints are open beyond what stabilisation may leave."""
    keep = real(1.0) - state.settings[ERP, 0]
    worst = real(0.0)
    k = int(0)
    while k < loops.count:
        j = int(0)
        while j < loops.fixed[loops.kind[k]]:
            r = 6 * k + j
            if get(work.off, r, w) == real(0.0):
                worst = wp.max(worst, wp.abs(get(work.gap_next, r, w) - keep * get(work.gap, r, w)))
            j += 1
        k += 1
    return worst


@wp.func
def largest_gap(loops: Loops, work: Work, w: int):
    worst = real(0.0)
    k = int(0)
    while k < loops.count:
        j = int(0)
        while j < loops.fixed[loops.kind[k]]:
            worst = wp.max(worst, wp.abs(get(work.gap_next, 6 * k + j, w)))
            j += 1
        k += 1
    return worst


@wp.func
def keep_angular_momentum(tree: Tree, ws: Workspace, trial: Workspace, plan: Plan, state: State, w: int):
    """Pseudo-velocities moved bodies by dx across their momenta: give every free island back Σ dx × p by a rotation of
    the whole (M-44). Link frames sit in centres of mass here, so pivots are those."""
    k = int(0)
    while k < plan.islands:
        shifted = vec3()
        centre = vec3()
        mass = real(0.0)
        n = plan.island_start[k]
        while n < plan.island_start[k + 1]:
            i = plan.island_link[n]
            x = get3(ws.O, i, w)
            p = item3(state.P, 6 * i, w)
            shifted = shifted + wp.cross(x - get3(trial.O, i, w), p)
            centre = centre + x * tree.mass[i]
            mass = mass + tree.mass[i]
            n += 1
        centre = centre / mass
        inertia = mat33()
        n = plan.island_start[k]
        while n < plan.island_start[k + 1]:
            i = plan.island_link[n]
            R = get33(ws.R, i, w)
            r = get3(ws.O, i, w) - centre
            about = identity33() * wp.dot(r, r) - wp.outer(r, r)
            inertia = inertia + R * tree.inertia[i] * wp.transpose(R) + about * tree.mass[i]
            n += 1
        turn = wp.inverse(inertia) * (-shifted)
        n = plan.island_start[k]
        while n < plan.island_start[k + 1]:
            i = plan.island_link[n]
            R = get33(ws.R, i, w)
            p = wp.cross(turn, get3(ws.O, i, w) - centre) * tree.mass[i]
            L = R * (tree.inertia[i] * (wp.transpose(R) * turn))
            set_item3(state.P, 6 * i, w, item3(state.P, 6 * i, w) + p)
            set_item3(state.P, 6 * i + 3, w, item3(state.P, 6 * i + 3, w) + L)
            n += 1
        k += 1
