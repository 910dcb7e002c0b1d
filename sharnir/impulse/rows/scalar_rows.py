"""Lines: rows on joint coordinates, angles of balls, couplings, springs and paths; positions and whitened rows."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.forces import pivot, spring_end
from sharnir.dynamics.loop_joints import Loops, loop_ends, row_form
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.enums import COUPLING, LOOP_ROW, PATH, SPRING, TREE_DOF
from sharnir.impulse.layout.layout import Plan
from sharnir.impulse.rows.ball_angles import ball_angle
from sharnir.impulse.rows.whitened_rows import walk_coordinate, walk_row
from sharnir.kernels.columns import get, get3, item, put
from sharnir.kernels.types import array2, column, real, rotation, vec3


@wp.func
def plain_position(plan: Plan, l: int, q: array2, loop_q: array2, w: int):
    """Position of a joint coordinate's line."""
    position = item(q, 0, w)
    if plan.line_kind[l] == LOOP_ROW:
        position = item(loop_q, plan.line_q[l], w)
    else:
        position = item(q, plan.line_q[l], w)
    return position


@wp.func
def turn_of(plan: Plan, l: int, q: array2, loop_q: array2, w: int):
    """Angle and gradient of a ball's line."""
    i = plan.line_q[l]
    code = plan.line_of[2 * l + 1]
    kind = code / 3
    axis = code % 3
    sx = plan.line_ratio[2 * l]
    sy = plan.line_ratio[2 * l + 1]
    x = real(0.0)
    y = real(0.0)
    z = real(0.0)
    s = real(1.0)
    if plan.line_of[2 * l] < plan.dofs:
        x = item(q, i, w)
        y = item(q, i + 1, w)
        z = item(q, i + 2, w)
        s = item(q, i + 3, w)
    else:
        x = item(loop_q, i, w)
        y = item(loop_q, i + 1, w)
        z = item(loop_q, i + 2, w)
        s = item(loop_q, i + 3, w)
    g, a = ball_angle(kind, axis, x, y, z, s, sx, sy)
    return g, wp.transpose(rotation(x, y, z, s)) * a


@wp.func
def path_position(plan: Plan, l: int, q: array2, loop_q: array2, w: int):
    """Position of an actuator's path; of rotations given by a quaternion, nothing."""
    g = real(0.0)
    k = plan.line_of[2 * l]
    end = k + plan.line_of[2 * l + 1]
    while k < end:
        if plan.terms[k].q >= 0:
            g = g + plan.terms[k].gear * plain_position(plan, plan.terms[k].line, q, loop_q, w)
        k += 1
    return g


@wp.func
def line_position(tree: Tree, ws: Workspace, plan: Plan, l: int, q: array2, loop_q: array2, w: int):
    """What the line measures, at the poses in the workspace and the coordinates q, loop_q."""
    kind = plan.line_kind[l]
    g = real(0.0)
    if kind == TREE_DOF or kind == LOOP_ROW:
        g = plain_position(plan, l, q, loop_q, w)
    elif kind == COUPLING:
        leader = plain_position(plan, plan.line_of[2 * l], q, loop_q, w)
        follower = plain_position(plan, plan.line_of[2 * l + 1], q, loop_q, w)
        g = follower - plan.line_ratio[2 * l] * leader - plan.line_ratio[2 * l + 1]
    elif kind == PATH:
        g = path_position(plan, l, q, loop_q, w)
    elif kind == SPRING:
        s = plan.line_of[2 * l]
        g = wp.length(spring_end(tree, ws, 2 * s + 1, w) - spring_end(tree, ws, 2 * s, w))
    else:
        g, a = turn_of(plan, l, q, loop_q, w)
    return g


@wp.func
def whiten_line(
    tree: Tree, ws: Workspace, loops: Loops, plan: Plan, W: array2, l: int, q: array2, loop_q: array2, w: int
):
    """The line's row in W."""
    kind = plan.line_kind[l]
    start = plan.line_start[l]
    if kind == TREE_DOF:
        walk_coordinate(tree, ws, plan.line_link[l], plan.line_of[2 * l], W, start, w)
    elif kind == LOOP_ROW:
        k = plan.line_link[l]
        s = loop_ends(tree, ws, loops, k, w)
        g, f, n = row_form(loops, s, k, (6 * loops.kind[k] + plan.line_of[2 * l] - 6 * k) * 3)
        na = n + wp.cross(s.ra, f)
        walk_row(tree, ws, s.a, -f, -na, s.b, f, n + wp.cross(s.rb, f), W, start, w)
    elif kind == COUPLING:
        combine_lines(plan, W, l, w)
    elif kind == PATH:
        combine_path(plan, W, l, w)
    elif kind == SPRING:
        whiten_spring(tree, ws, W, plan.line_of[2 * l], start, w)
    else:
        whiten_turn(tree, ws, loops, plan, W, l, q, loop_q, w)


@wp.func
def combine_lines(plan: Plan, W: array2, l: int, w: int):
    """Row of a coupling: the follower's less ratio times the leader's."""
    leader = plan.line_start[plan.line_of[2 * l]]
    follower = plan.line_start[plan.line_of[2 * l + 1]]
    k = int(0)
    while k < plan.line_length[l]:
        place = plan.map_start[l] + 2 * k
        value = real(0.0)
        if plan.index[place] >= 0:
            value = -plan.line_ratio[2 * l] * get(W, leader + plan.index[place], w)
        if plan.index[place + 1] >= 0:
            value = value + get(W, follower + plan.index[place + 1], w)
        put(W, plan.line_start[l] + k, w, value)
        k += 1


@wp.func
def combine_path(plan: Plan, W: array2, l: int, w: int):
    """Row of an actuator's path: those of its coordinates, times the gears."""
    first = plan.line_of[2 * l]
    count = plan.line_of[2 * l + 1]
    k = int(0)
    while k < plan.line_length[l]:
        value = real(0.0)
        j = int(0)
        while j < count:
            place = plan.index[plan.map_start[l] + count * k + j]
            if place >= 0:
                term = plan.terms[first + j]
                value = value + term.gear * get(W, plan.line_start[term.line] + place, w)
            j += 1
        put(W, plan.line_start[l] + k, w, value)
        k += 1


@wp.func
def whiten_spring(tree: Tree, ws: Workspace, W: array2, s: int, start: int, w: int):
    """Row of a spring's length."""
    a = tree.spring_link[2 * s]
    b = tree.spring_link[2 * s + 1]
    xa = spring_end(tree, ws, 2 * s, w)
    xb = spring_end(tree, ws, 2 * s + 1, w)
    length = wp.length(xb - xa)
    n = vec3()
    if length > real(0.0):
        n = (xb - xa) / length
    ra = xa - pivot(tree, ws, a, w)
    rb = xb - pivot(tree, ws, b, w)
    walk_row(tree, ws, a, -n, -wp.cross(ra, n), b, n, wp.cross(rb, n), W, start, w)


@wp.func
def whiten_turn(
    tree: Tree, ws: Workspace, loops: Loops, plan: Plan, W: array2, l: int, q: array2, loop_q: array2, w: int
):
    """Row of a ball's angle: a torque on the child, its opposite on the parent."""
    g, a = turn_of(plan, l, q, loop_q, w)
    c = plan.line_of[2 * l]
    link = plan.line_link[l]
    if c < plan.dofs:
        n = get3(ws.S, 2 * c + 1, w) * a[0] + get3(ws.S, 2 * c + 3, w) * a[1] + get3(ws.S, 2 * c + 5, w) * a[2]
        walk_row(tree, ws, link, vec3(), n, tree.parent[link], vec3(), -n, W, plan.line_start[l], w)
    else:
        s = loop_ends(tree, ws, loops, link, w)
        n = column(s.C, 0) * a[0] + column(s.C, 1) * a[1] + column(s.C, 2) * a[2]
        walk_row(tree, ws, s.a, vec3(), -n, s.b, vec3(), n, W, plan.line_start[l], w)
