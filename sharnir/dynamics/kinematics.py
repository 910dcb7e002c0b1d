"""Outward pass: poses, velocities, joint axes and velocity-product accelerations of all links (M-1..M-4).

One source, two functions: `kinematics` fills everything, `poses` leaves velocities and accelerations out.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from sharnir.dynamics.angles import hinge_cos_sin
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.enums import MotionKind
from sharnir.kernels.columns import get, get3, get33, item, item3, put3, put33
from sharnir.kernels.types import QUAT_W, array2, column, identity33, matrix_from_quat, real, rotate_z, vec3


@wp.func
def store_axis(ws: wp.ref[Workspace], d: int, w: int, linear: vec3, angular: vec3):
    """Store joint axis d as a spatial motion vector about the pivot."""
    put3(ws.S, 2 * d, w, linear)
    put3(ws.S, 2 * d + 1, w, angular)


def _outward_pass(name: str, moving: bool) -> Any:
    """Make the outward pass, with velocities and accelerations where `moving`, else with poses and joint axes only."""

    def outward_pass(tree: wp.ref[Tree], ws: wp.ref[Workspace], q: array2, v: array2, w: int):
        """Fill O, R, x, S and, if moving, V and A of world w.

        A is the acceleration every link would have at q̈ = 0, with gravity as −g of the base: it collects
        V × S q̇ outward, so that no pass after this one needs a velocity-product term.
        """
        hinge_cos_sin(tree.part[tree.links], tree.kind, tree.part_q, tree.part_v, q, ws.turn, w)
        R = identity33()
        x = vec3()
        vel = vec3()
        om = vec3()
        acc = vec3()
        alp = vec3()
        O = vec3()
        i = int(0)
        while i < tree.links:
            lam = tree.parent[i]
            pivot_set = int(1)
            if lam < 0:
                R = identity33()
                x = vec3()
                O = vec3()
                pivot_set = 0
                if wp.static(moving):
                    vel = vec3()
                    om = vec3()
                    acc = -tree.gravity
                    alp = vec3()
            elif lam != i - 1:
                R = get33(ws.R, lam, w)
                x = get3(ws.x, lam, w)
                if wp.static(moving):
                    vel = get3(ws.V, 2 * lam, w)
                    om = get3(ws.V, 2 * lam + 1, w)
                    acc = get3(ws.A, 2 * lam, w)
                    alp = get3(ws.A, 2 * lam + 1, w)
            e = tree.part[i]
            end = tree.part[i + 1]
            while e < end:
                x = x + R * tree.pos[e]
                R = R * tree.rot[e]
                kind = tree.kind[e]
                qi = tree.part_q[e]
                d = tree.part_v[e]
                if kind == MotionKind.SCREW:
                    sign = tree.sign[e]
                    R = rotate_z(R, get(ws.turn, 2 * d, w), sign * get(ws.turn, 2 * d + 1, w))
                    axis = column(R, 2) * sign
                    h = tree.pitch[e]
                    if pivot_set == 0:
                        O = O + x
                        x = vec3()
                        pivot_set = 1
                    x = x + axis * (h * item(q, qi, w))
                    linear = wp.cross(x, axis) + axis * h
                    store_axis(ws, d, w, linear, axis)
                    if wp.static(moving):
                        rate = item(v, d, w)
                        dv = linear * rate
                        dw = axis * rate
                        acc = acc + wp.cross(om, dv) + wp.cross(vel, dw)
                        alp = alp + wp.cross(om, dw)
                        vel = vel + dv
                        om = om + dw
                elif kind == MotionKind.SLIDE:
                    axis = column(R, 2) * tree.sign[e]
                    x = x + axis * item(q, qi, w)
                    store_axis(ws, d, w, axis, vec3())
                    if wp.static(moving):
                        dv = axis * item(v, d, w)
                        acc = acc + wp.cross(om, dv)
                        vel = vel + dv
                elif kind == MotionKind.SHIFT:
                    B = R * tree.sign[e]
                    x = x + B * item3(q, qi, w)
                    store_axis(ws, d, w, column(B, 0), vec3())
                    store_axis(ws, d + 1, w, column(B, 1), vec3())
                    store_axis(ws, d + 2, w, column(B, 2), vec3())
                    if wp.static(moving):
                        dv = B * item3(v, d, w)
                        acc = acc + wp.cross(om, dv)
                        vel = vel + dv
                elif kind == MotionKind.BALL:
                    if pivot_set == 0:
                        O = O + x
                        x = vec3()
                        pivot_set = 1
                    turn = matrix_from_quat(
                        item(q, qi, w), item(q, qi + 1, w), item(q, qi + 2, w), item(q, qi + QUAT_W, w)
                    )
                    axes = R * tree.sign[e]
                    if tree.sign[e] > real(0.0):
                        R = R * turn
                        axes = R
                    else:
                        R = R * wp.transpose(turn)
                    store_axis(ws, d, w, wp.cross(x, column(axes, 0)), column(axes, 0))
                    store_axis(ws, d + 1, w, wp.cross(x, column(axes, 1)), column(axes, 1))
                    store_axis(ws, d + 2, w, wp.cross(x, column(axes, 2)), column(axes, 2))
                    if wp.static(moving):
                        dw = axes * item3(v, d, w)
                        dv = wp.cross(x, dw)
                        acc = acc + wp.cross(om, dv) + wp.cross(vel, dw)
                        alp = alp + wp.cross(om, dw)
                        vel = vel + dv
                        om = om + dw
                e += 1
            if lam < 0:
                if wp.dot(x, x) > real(0.0):  # translated after turning: move the pivot along, to where the root is
                    d = tree.dof[i]
                    while d < tree.dof[i + 1]:
                        turn_axis = get3(ws.S, 2 * d + 1, w)
                        store_axis(ws, d, w, get3(ws.S, 2 * d, w) + wp.cross(turn_axis, x), turn_axis)
                        d += 1
                    if wp.static(moving):
                        vel = vel + wp.cross(om, x)
                        acc = acc + wp.cross(alp, x)
                    O = O + x
                    x = vec3()
                put3(ws.O, tree.root[i], w, O)
            put33(ws.R, i, w, R)
            put3(ws.x, i, w, x)
            if wp.static(moving):
                put3(ws.V, 2 * i, w, vel)
                put3(ws.V, 2 * i + 1, w, om)
                put3(ws.A, 2 * i, w, acc)
                put3(ws.A, 2 * i + 1, w, alp)
            i += 1

    outward_pass.__name__ = outward_pass.__qualname__ = name
    return wp.func(outward_pass, inline=True)


kinematics = _outward_pass("kinematics", True)
poses = _outward_pass("poses", False)
