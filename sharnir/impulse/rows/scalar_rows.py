"""Scalar rows: position and whitened row of joint coordinates, ball angles, couplings, springs and actuator paths."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.forces import pivot_of, spring_end_position
from sharnir.dynamics.loop_joints import loop_frames_of
from sharnir.dynamics.tree import Workspace
from sharnir.enums import ScalarSource
from sharnir.impulse.data import Context
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.rows.ball_angles import ball_angle
from sharnir.impulse.rows.whitened_rows import make_row_ends, whiten_dof_row, whiten_pair_row
from sharnir.kernels.columns import get, get3, item, put
from sharnir.kernels.types import QUAT_W, VEC3, array2, column, matrix_from_quat, real, vec2, vec3, vec4


@wp.func
def coordinate_position(layout: wp.ref[Layout], l: int, q: array2, loop_q: array2, w: int):
    """Position of the joint coordinate of scalar l."""
    position = item(q, 0, w)
    if layout.scalar_source_kind[l] == ScalarSource.LOOP_DOF:
        position = item(loop_q, layout.scalar_q[l], w)
    else:
        position = item(q, layout.scalar_q[l], w)
    return position


@wp.func
def ball_angle_of(layout: wp.ref[Layout], l: int, q: array2, loop_q: array2, w: int):
    """Angle (rad) of a ball joint's scalar and its gradient with respect to the angular velocity in child axes."""
    i = layout.scalar_q[l]
    code = layout.scalar_source[2 * l + 1]
    kind = code / VEC3
    axis = code % VEC3
    swing = vec2(layout.scalar_ratio[2 * l], layout.scalar_ratio[2 * l + 1])
    x = real(0.0)
    y = real(0.0)
    z = real(0.0)
    s = real(1.0)
    if layout.scalar_source[2 * l] < layout.dofs:
        x = item(q, i, w)
        y = item(q, i + 1, w)
        z = item(q, i + 2, w)
        s = item(q, i + QUAT_W, w)
    else:
        x = item(loop_q, i, w)
        y = item(loop_q, i + 1, w)
        z = item(loop_q, i + 2, w)
        s = item(loop_q, i + QUAT_W, w)
    g, a = ball_angle(kind, axis, vec4(x, y, z, s), swing)
    return g, wp.transpose(matrix_from_quat(x, y, z, s)) * a


@wp.func
def path_position(layout: wp.ref[Layout], l: int, q: array2, loop_q: array2, w: int):
    """Position of an actuator's path; rotations given by a quaternion do not count."""
    g = real(0.0)
    k = layout.scalar_source[2 * l]
    end = k + layout.scalar_source[2 * l + 1]
    while k < end:
        if layout.actuator_terms[k].q >= 0:
            g = g + layout.actuator_terms[k].gear * coordinate_position(
                layout, layout.actuator_terms[k].scalar, q, loop_q, w
            )
        k += 1
    return g


@wp.func
def measure_scalar(ctx: Context, ws: wp.ref[Workspace], l: int, q: array2, loop_q: array2, w: int):
    """Position that scalar l measures, at the poses in the workspace and the coordinates q, loop_q."""
    kind = ctx.layout.scalar_source_kind[l]
    g = real(0.0)
    if kind == ScalarSource.TREE_DOF or kind == ScalarSource.LOOP_DOF:
        g = coordinate_position(ctx.layout, l, q, loop_q, w)
    elif kind == ScalarSource.COUPLING:
        leader = coordinate_position(ctx.layout, ctx.layout.scalar_source[2 * l], q, loop_q, w)
        follower = coordinate_position(ctx.layout, ctx.layout.scalar_source[2 * l + 1], q, loop_q, w)
        g = follower - ctx.layout.scalar_ratio[2 * l] * leader - ctx.layout.scalar_ratio[2 * l + 1]
    elif kind == ScalarSource.ACTUATOR_PATH:
        g = path_position(ctx.layout, l, q, loop_q, w)
    elif kind == ScalarSource.SPRING:
        s = ctx.layout.scalar_source[2 * l]
        g = wp.length(spring_end_position(ctx.tree, ws, 2 * s + 1, w) - spring_end_position(ctx.tree, ws, 2 * s, w))
    else:
        g, a = ball_angle_of(ctx.layout, l, q, loop_q, w)
    return g


@wp.func(inline=True)
def whiten_scalar(ctx: Context, W: array2, l: int, q: array2, loop_q: array2, w: int):
    """Store the whitened row of scalar l in W; that of a loop joint's coordinate is there with those of the joint."""
    kind = ctx.layout.scalar_source_kind[l]
    start = ctx.layout.scalar_W_start[l]
    if kind == ScalarSource.TREE_DOF:
        whiten_dof_row(ctx, ctx.layout.scalar_link[l], ctx.layout.scalar_source[2 * l], W, start, w)
    elif kind == ScalarSource.COUPLING:
        combine_coupling(ctx.layout, W, l, w)
    elif kind == ScalarSource.ACTUATOR_PATH:
        combine_path(ctx.layout, W, l, w)
    elif kind == ScalarSource.SPRING:
        whiten_spring(ctx, W, ctx.layout.scalar_source[2 * l], start, w)
    elif kind == ScalarSource.BALL_ANGLE:
        whiten_ball_angle(ctx, W, l, q, loop_q, w)


@wp.func
def combine_coupling(layout: wp.ref[Layout], W: array2, l: int, w: int):
    """Row of a coupling: the follower's minus ratio times the leader's."""
    leader = layout.scalar_W_start[layout.scalar_source[2 * l]]
    follower = layout.scalar_W_start[layout.scalar_source[2 * l + 1]]
    k = int(0)
    while k < layout.scalar_row_length[l]:
        place = layout.summand_map_start[l] + 2 * k
        value = real(0.0)
        if layout.index[place] >= 0:
            value = -layout.scalar_ratio[2 * l] * get(W, leader + layout.index[place], w)
        if layout.index[place + 1] >= 0:
            value = value + get(W, follower + layout.index[place + 1], w)
        put(W, layout.scalar_W_start[l] + k, w, value)
        k += 1


@wp.func
def combine_path(layout: wp.ref[Layout], W: array2, l: int, w: int):
    """Row of an actuator's path: sum of its coordinates' rows times their gears."""
    first = layout.scalar_source[2 * l]
    count = layout.scalar_source[2 * l + 1]
    k = int(0)
    while k < layout.scalar_row_length[l]:
        value = real(0.0)
        j = int(0)
        while j < count:
            place = layout.index[layout.summand_map_start[l] + count * k + j]
            if place >= 0:
                term = layout.actuator_terms[first + j]
                value = value + term.gear * get(W, layout.scalar_W_start[term.scalar] + place, w)
            j += 1
        put(W, layout.scalar_W_start[l] + k, w, value)
        k += 1


@wp.func
def whiten_spring(ctx: Context, W: array2, s: int, start: int, w: int):
    """Row of a spring's length."""
    a = ctx.tree.spring_link[2 * s]
    b = ctx.tree.spring_link[2 * s + 1]
    xa = spring_end_position(ctx.tree, ctx.here, 2 * s, w)
    xb = spring_end_position(ctx.tree, ctx.here, 2 * s + 1, w)
    length = wp.length(xb - xa)
    n = vec3()
    if length > real(0.0):
        n = (xb - xa) / length
    ra = xa - pivot_of(ctx.tree, ctx.here, a, w)
    rb = xb - pivot_of(ctx.tree, ctx.here, b, w)
    whiten_pair_row(ctx, make_row_ends(a, -n, -wp.cross(ra, n), b, n, wp.cross(rb, n)), W, start, w)


@wp.func
def whiten_ball_angle(ctx: Context, W: array2, l: int, q: array2, loop_q: array2, w: int):
    """Row of a ball joint's angle: a torque on the child, its opposite on the parent."""
    g, a = ball_angle_of(ctx.layout, l, q, loop_q, w)
    c = ctx.layout.scalar_source[2 * l]
    link = ctx.layout.scalar_link[l]
    if c < ctx.layout.dofs:
        n = (
            get3(ctx.here.S, 2 * c + 1, w) * a[0]
            + get3(ctx.here.S, 2 * (c + 1) + 1, w) * a[1]
            + get3(ctx.here.S, 2 * (c + 2) + 1, w) * a[2]
        )
        ends = make_row_ends(link, vec3(), n, ctx.tree.parent[link], vec3(), -n)
        whiten_pair_row(ctx, ends, W, ctx.layout.scalar_W_start[l], w)
    else:
        s = loop_frames_of(ctx.tree, ctx.here, ctx.loops, link, w)
        n = column(s.C, 0) * a[0] + column(s.C, 1) * a[1] + column(s.C, 2) * a[2]
        ends = make_row_ends(s.a, vec3(), -n, s.b, vec3(), n)
        whiten_pair_row(ctx, ends, W, ctx.layout.scalar_W_start[l], w)
