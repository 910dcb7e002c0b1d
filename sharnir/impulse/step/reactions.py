"""Wrenches of joints: what the momenta of links gain in a step beyond the known forces (M-49).

A step is solved and not kept. Its impulses act from half a step before to half a step after the present, so that the
forces are centred in time.
"""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.forces import pivot, spring_end
from sharnir.dynamics.kinematics import poses
from sharnir.dynamics.loop_joints import Loops, loop_ends, row_form
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.enums import COUPLING, LOOP_ROW, PATH, SPRING, TURN
from sharnir.impulse.data import DT, HALF, State, Work
from sharnir.impulse.layout.layout import Plan
from sharnir.impulse.rows.belts import pull_of
from sharnir.impulse.rows.contact_frame import contact_count, impulse_of_contact
from sharnir.impulse.rows.contact_rows import find_contacts
from sharnir.impulse.rows.scalar_rows import turn_of
from sharnir.impulse.step.step import gather, line_up, seek_velocities, set_out
from sharnir.kernels.columns import get, get3, get33, item, item3, item_int, put3, set_item3
from sharnir.kernels.types import KERNEL_OPTIONS, array2, column, real, ticks, vec3

wp.set_module_options(KERNEL_OPTIONS)


@wp.func
def take(ws: Workspace, link: int, r: vec3, f: vec3, n: vec3, w: int):
    """Take a known impulse, a force at r and a torque, out of what the tree's joints must give a link."""
    if link >= 0:
        put3(ws.p, 2 * link, w, get3(ws.p, 2 * link, w) - f)
        put3(ws.p, 2 * link + 1, w, get3(ws.p, 2 * link + 1, w) - n - wp.cross(r, f))


@wp.func
def impulse_of_line(plan: Plan, work: Work, l: int, w: int):
    """All impulses of a line."""
    at = plan.first_line + 4 * l
    return get(work.p, at, w) + get(work.p, at + 1, w) + get(work.p, at + 2, w) + get(work.p, at + 3, w)


@wp.func
def impulse_on_row(loops: Loops, plan: Plan, state: State, work: Work, k: int, j: int, h: real, w: int):
    """Impulse along row j of loop joint k: its own if it is a constraint, else what acts on that coordinate."""
    fixed = loops.fixed[loops.kind[k]]
    total = real(0.0)
    if j < fixed:
        total = get(work.p, 6 * k + j, w)
    else:
        lv = loops.v_start[k] + j - fixed
        c = plan.dofs + lv
        total = h * (loops.effort[lv] + item(state.control, c, w) + item(state.pull, 4 * c, w))
        l = int(0)
        while l < plan.lines:
            if plan.line_kind[l] == LOOP_ROW and plan.line_of[2 * l] == 6 * k + j:
                total = total + impulse_of_line(plan, work, l, w) + impulse_of_others(plan, work, l, w)
            l += 1
    return total


@wp.func
def impulse_of_others(plan: Plan, work: Work, line: int, w: int):
    """What couplings and actuators do to the coordinate of a line."""
    total = real(0.0)
    l = int(0)
    while l < plan.lines:
        if plan.line_kind[l] == COUPLING:
            if plan.line_of[2 * l] == line:
                total = total - plan.line_ratio[2 * l] * impulse_of_line(plan, work, l, w)
            if plan.line_of[2 * l + 1] == line:
                total = total + impulse_of_line(plan, work, l, w)
        elif plan.line_kind[l] == PATH:
            t = plan.line_of[2 * l]
            end = t + plan.line_of[2 * l + 1]
            while t < end:
                if plan.terms[t].line == line:
                    total = total + plan.terms[t].gear * impulse_of_line(plan, work, l, w)
                t += 1
        l += 1
    return total


@wp.func
def take_loops(
    tree: Tree, ws: Workspace, loops: Loops, plan: Plan, state: State, work: Work, h: real, loop_wrench: array2, w: int
):
    """Impulses of the loop joints, with what acts on their coordinates."""
    k = int(0)
    while k < loops.count:
        s = loop_ends(tree, ws, loops, k, w)
        force = vec3()
        torque = vec3()
        j = int(0)
        while j < 6:
            g, f, n = row_form(loops, s, k, (6 * loops.kind[k] + j) * 3)
            p = impulse_on_row(loops, plan, state, work, k, j, h, w)
            force = force + f * p
            torque = torque + n * p
            j += 1
        l = int(0)
        while l < plan.lines:
            if plan.line_kind[l] == TURN and plan.line_of[2 * l] >= plan.dofs and plan.line_link[l] == k:
                g, a = turn_of(plan, l, state.q, state.loop_q, w)
                n = column(s.C, 0) * a[0] + column(s.C, 1) * a[1] + column(s.C, 2) * a[2]
                torque = torque + n * impulse_of_line(plan, work, l, w)
            l += 1
        take(ws, s.a, s.ra, -force, -torque, w)
        take(ws, s.b, s.rb, force, torque, w)
        set_item3(loop_wrench, 6 * k, w, force / h)
        set_item3(loop_wrench, 6 * k + 3, w, torque / h)
        k += 1


@wp.func
def take_springs(tree: Tree, ws: Workspace, plan: Plan, work: Work, w: int):
    """Impulses of springs between points."""
    l = int(0)
    while l < plan.lines:
        if plan.line_kind[l] == SPRING:
            s = plan.line_of[2 * l]
            a = tree.spring_link[2 * s]
            b = tree.spring_link[2 * s + 1]
            xa = spring_end(tree, ws, 2 * s, w)
            xb = spring_end(tree, ws, 2 * s + 1, w)
            f = wp.normalize(xb - xa) * impulse_of_line(plan, work, l, w)
            take(ws, a, xa - pivot(tree, ws, a, w), -f, vec3(), w)
            take(ws, b, xb - pivot(tree, ws, b, w), f, vec3(), w)
        l += 1


@wp.func
def take_contacts(tree: Tree, ws: Workspace, plan: Plan, state: State, work: Work, w: int):
    """Impulses of contacts."""
    c = int(0)
    while c < contact_count(work, w):
        f, n = impulse_of_contact(plan, state, work, c, w)
        x = item3(state.touch.point, 3 * c, w)
        normal = item3(state.touch.normal, 3 * c, w)
        side = int(0)
        while side < 2:
            shape = item_int(state.touch.shape, 2 * c + side, w)
            link = plan.surfaces.geo.link[shape]
            sign = wp.where(side == 0, real(-1.0), real(1.0))
            pull = pull_of(ws, plan, shape, normal * -sign, w)
            torque = n * sign
            if pull.sprocket >= 0:
                turning = pull.axis * (sign * wp.dot(f, pull.way))
                torque = torque - turning
                take(ws, pull.sprocket, vec3(), vec3(), turning, w)
            take(ws, link, x - pivot(tree, ws, link, w), f * sign, torque, w)
            side += 1
        c += 1


@wp.func
def take_all(
    tree: Tree, ws: Workspace, loops: Loops, plan: Plan, state: State, work: Work, wrench: array2, loop_wrench: array2,
    w: int,
):  # fmt: skip
    """Wrenches (N, N m; world axes) of the tree's joints on their links, about the link frames' origins, and of loop
    joints on their children, about the joints' frames there, by the velocities and impulses of a step."""
    h = get(work.pace, HALF, w)
    i = int(0)
    while i < tree.links:
        p = get3(ws.C, 2 * i, w)
        r = get3(ws.x, i, w) + get33(ws.R, i, w) * tree.com[i]
        put3(ws.p, 2 * i, w, p - get3(ws.F, 2 * i, w))
        put3(ws.p, 2 * i + 1, w, get3(ws.C, 2 * i + 1, w) + wp.cross(r, p) - get3(ws.F, 2 * i + 1, w))
        i += 1
    take_loops(tree, ws, loops, plan, state, work, h, loop_wrench, w)
    take_springs(tree, ws, plan, work, w)
    take_contacts(tree, ws, plan, state, work, w)
    i = tree.links - 1
    while i >= 0:
        lam = tree.parent[i]
        f = get3(ws.p, 2 * i, w)
        n = get3(ws.p, 2 * i + 1, w)
        if lam >= 0:
            put3(ws.p, 2 * lam, w, get3(ws.p, 2 * lam, w) + f)
            put3(ws.p, 2 * lam + 1, w, get3(ws.p, 2 * lam + 1, w) + n)
        set_item3(wrench, 6 * i, w, f / h)
        set_item3(wrench, 6 * i + 3, w, (n - wp.cross(get3(ws.x, i, w), f)) / h)
        i -= 1


@wp.kernel
def reactions_kernel(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, wrench: array2,
    loop_wrench: array2,
):  # fmt: skip
    """Velocities and impulses of a step, and the wrenches by them."""
    w = wp.tid()
    poses(tree, ws, state.q, state.q, w)
    end = ticks() + wp.float64(1.0e14)
    set_out(tree, ws, trial, loops, plan, state, work, end, w)
    gather(tree, ws, trial, loops, plan, state, work, end, w)
    find_contacts(tree, ws, plan, state, work, state.settings[DT, 0], w)
    line_up(tree, ws, trial, loops, plan, state, work, end, w)
    seek_velocities(tree, ws, trial, loops, plan, state, work, end, w)
    take_all(tree, ws, loops, plan, state, work, wrench, loop_wrench, w)


@wp.kernel(module="unique", module_options=KERNEL_OPTIONS)
def wrenches_kernel(
    tree: Tree, ws: Workspace, trial: Workspace, loops: Loops, plan: Plan, state: State, work: Work, wrench: array2,
    loop_wrench: array2,
):  # fmt: skip
    """The wrenches alone, on a GPU, where velocities are sought by stages."""
    take_all(tree, ws, loops, plan, state, work, wrench, loop_wrench, wp.tid())
