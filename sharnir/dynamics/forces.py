"""Passive and applied forces: joint springs, dampers and constant efforts; springs between points; applied wrenches
(M-14..M-16)."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.tree import Tree, Workspace
from sharnir.enums import MotionKind
from sharnir.kernels.columns import get3, get33, item, item3, put3, set_item
from sharnir.kernels.types import ANGULAR, QUAT_W, SPATIAL, array2, real, vec3


@wp.func
def rotation_from_rest(a: array2, b: wp.array(dtype=real), i: int, w: int):
    """Rotation vector log(b⁻¹∗a), the shorter way round, rad: a the quaternion a[i..i+3, w], b the rest quaternion
    b[i..i+3]."""
    av = item3(a, i, w)
    bv = vec3(b[i], b[i + 1], b[i + 2])
    aw = item(a, i + QUAT_W, w)
    bw = b[i + QUAT_W]
    scalar = aw * bw + wp.dot(av, bv)
    vector = av * bw - bv * aw - wp.cross(bv, av)
    if scalar < real(0.0):
        scalar = -scalar
        vector = -vector
    length = wp.length(vector)
    factor = real(2.0) / scalar
    if length > real(1.0e-6) * scalar:
        factor = real(2.0) * wp.atan2(length, scalar) / length
    return vector * factor


@wp.func
def passive_forces(tree: wp.ref[Tree], q: array2, v: array2, tau: array2, w: int):
    """τ of constant efforts, dampers and springs (M-14), N or N m; the spring of a quaternion acts along the rotation
    vector from rest."""
    e = int(0)
    while e < tree.part[tree.links]:
        qi = tree.part_q[e]
        d = tree.part_v[e]
        kind = tree.kind[e]
        n = int(1)
        if kind == MotionKind.BALL:
            t = rotation_from_rest(q, tree.rest, qi, w)
            set_item(tau, d, w, tree.effort[d] - tree.damping[d] * item(v, d, w) - tree.stiffness[d] * t[0])
            set_item(
                tau, d + 1, w, tree.effort[d + 1] - tree.damping[d + 1] * item(v, d + 1, w) - tree.stiffness[d] * t[1]
            )
            set_item(
                tau, d + 2, w, tree.effort[d + 2] - tree.damping[d + 2] * item(v, d + 2, w) - tree.stiffness[d] * t[2]
            )
        elif kind != MotionKind.STILL:
            if kind == MotionKind.SHIFT:
                n = 3
            k = int(0)
            while k < n:
                stretch = item(q, qi + k, w) - tree.rest[qi + k]
                set_item(
                    tau,
                    d + k,
                    w,
                    tree.effort[d + k] - tree.damping[d + k] * item(v, d + k, w) - tree.stiffness[d + k] * stretch,
                )
                k += 1
        e += 1


@wp.func
def spring_energy(tree: wp.ref[Tree], ws: wp.ref[Workspace], q: array2, w: int):
    """Energy stored in joint springs and springs between points."""
    energy = real(0.0)
    half = real(0.5)
    e = int(0)
    while e < tree.part[tree.links]:
        qi = tree.part_q[e]
        d = tree.part_v[e]
        kind = tree.kind[e]
        if kind == MotionKind.BALL:
            t = rotation_from_rest(q, tree.rest, qi, w)
            energy = energy + half * tree.stiffness[d] * wp.dot(t, t)
        elif kind != MotionKind.STILL:
            n = int(1)
            if kind == MotionKind.SHIFT:
                n = 3
            k = int(0)
            while k < n:
                stretch = item(q, qi + k, w) - tree.rest[qi + k]
                energy = energy + half * tree.stiffness[d + k] * stretch * stretch
                k += 1
        e += 1
    s = int(0)
    while s < tree.springs:
        data = tree.spring_data[s]
        stretch = (
            wp.length(spring_end_position(tree, ws, 2 * s + 1, w) - spring_end_position(tree, ws, 2 * s, w)) - data[2]
        )
        energy = energy + half * data[0] * stretch * stretch
        s += 1
    return energy


@wp.func
def pivot_of(tree: wp.ref[Tree], ws: wp.ref[Workspace], link: int, w: int):
    """Pivot of a link's tree in the world, m; the origin for the world (link −1)."""
    O = vec3()
    if link >= 0:
        O = get3(ws.O, tree.root[link], w)
    return O


@wp.func
def spring_end_position(tree: wp.ref[Tree], ws: wp.ref[Workspace], end: int, w: int):
    """World position of a spring's end."""
    link = tree.spring_link[end]
    point = tree.spring_anchor[end]
    if link >= 0:
        point = pivot_of(tree, ws, link, w) + get3(ws.x, link, w) + get33(ws.R, link, w) * point
    return point


@wp.func
def point_velocity(ws: wp.ref[Workspace], link: int, r: vec3, w: int):
    """Velocity of a link's point at r from the pivot."""
    vel = vec3()
    if link >= 0:
        vel = get3(ws.V, 2 * link, w) + wp.cross(get3(ws.V, 2 * link + 1, w), r)
    return vel


@wp.func
def add_force(ws: wp.ref[Workspace], link: int, r: vec3, force: vec3, w: int):
    """Add a force at r from the pivot, world axes, to the applied wrench F of a link; nothing for the world."""
    if link >= 0:
        put3(ws.F, 2 * link, w, get3(ws.F, 2 * link, w) + force)
        put3(ws.F, 2 * link + 1, w, get3(ws.F, 2 * link + 1, w) + wp.cross(r, force))


@wp.func
def set_applied_wrenches(tree: wp.ref[Tree], ws: wp.ref[Workspace], f_ext: array2, w: int):
    """F ← the applied wrenches f_ext (force, torque about the centre of mass, world axes), moved to the pivot."""
    i = int(0)
    while i < tree.links:
        force = item3(f_ext, SPATIAL * i, w)
        torque = item3(f_ext, SPATIAL * i + ANGULAR, w)
        r = get3(ws.x, i, w) + get33(ws.R, i, w) * tree.com[i]
        put3(ws.F, 2 * i, w, force)
        put3(ws.F, 2 * i + 1, w, torque + wp.cross(r, force))
        i += 1


@wp.func
def add_spring_wrenches(tree: wp.ref[Tree], ws: wp.ref[Workspace], w: int):
    """F += the forces of springs and dampers between points (M-15)."""
    s = int(0)
    while s < tree.springs:
        a = tree.spring_link[2 * s]
        b = tree.spring_link[2 * s + 1]
        data = tree.spring_data[s]
        xa = spring_end_position(tree, ws, 2 * s, w)
        xb = spring_end_position(tree, ws, 2 * s + 1, w)
        length = wp.length(xb - xa)
        if length > real(0.0):
            n = (xb - xa) / length
            ra = xa - pivot_of(tree, ws, a, w)
            rb = xb - pivot_of(tree, ws, b, w)
            rate = wp.dot(n, point_velocity(ws, b, rb, w) - point_velocity(ws, a, ra, w))
            pull = n * (data[0] * (length - data[2]) + data[1] * rate)
            add_force(ws, a, ra, pull, w)
            add_force(ws, b, rb, -pull, w)
        s += 1


@wp.func
def spring_dissipation(tree: wp.ref[Tree], ws: wp.ref[Workspace], w: int):
    """Power lost in the dampers of springs between points."""
    lost = real(0.0)
    s = int(0)
    while s < tree.springs:
        a = tree.spring_link[2 * s]
        b = tree.spring_link[2 * s + 1]
        xa = spring_end_position(tree, ws, 2 * s, w)
        xb = spring_end_position(tree, ws, 2 * s + 1, w)
        length = wp.length(xb - xa)
        if length > real(0.0):
            va = point_velocity(ws, a, xa - pivot_of(tree, ws, a, w), w)
            vb = point_velocity(ws, b, xb - pivot_of(tree, ws, b, w), w)
            rate = wp.dot(xb - xa, vb - va) / length
            lost = lost + tree.spring_data[s][1] * rate * rate
        s += 1
    return lost
