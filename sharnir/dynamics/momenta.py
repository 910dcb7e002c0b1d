"""Momenta of the links over a finite step: the displacements of a step, the chord momenta that belong to them, and
their sum seen by the joints (M-32..M-34).

A step moves velocity coordinates by dt·v from q. Every link then undergoes a rigid displacement y ↦ Q y Q⁻¹ + t of
points about the pivot, composed outward from the exponentials of the joints' twists S dt v. Nothing is found as a
difference of positions, so nothing loses digits when the step is small.
"""

from __future__ import annotations

import warp as wp

from sharnir.access import get, get3, get33, item, put, put3
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.kinds import ADD, BALL, CARRY, STILL, STORE
from sharnir.maths import array2, cos_sin, real, vec3

SMALL_ANGLE2 = wp.constant(real(0.04))  # rad²: below it, series to the last digit


@wp.struct
class Displacement:
    u: vec3  # quaternion, vector part
    s: real  # and scalar part
    t: vec3


@wp.func
def twist_displacement(linear: vec3, turn: vec3):
    """Displacement of a twist (linear at the pivot, rotation vector): the exponential of SE(3)."""
    D = Displacement()
    one = real(1.0)
    x = wp.dot(turn, turn)
    half_sinc = real(0.5) + x * (real(-2.0833333333333332e-02) + x * (real(2.6041666666666666e-04)
        + x * (real(-1.5500992063492063e-06) + x * real(5.3822889109347443e-09))))  # sin(α/2)/α  # fmt: skip
    D.s = one + x * (real(-0.125) + x * (real(2.6041666666666665e-03) + x * (real(-2.1701388888888888e-05)
        + x * real(9.6881200396825401e-08))))  # cos(α/2)  # fmt: skip
    C = real(0.16666666666666666) + x * (real(-8.3333333333333332e-03) + x * (real(1.9841269841269841e-04)
        + x * (real(-2.7557319223985893e-06) + x * real(2.5052108385441720e-08))))  # (α − sin α)/α³  # fmt: skip
    if x > SMALL_ANGLE2:
        angle = wp.sqrt(x)
        c, s = cos_sin(real(0.5) * angle)
        half_sinc = s / angle
        D.s = c
        C = (one - real(2.0) * c * half_sinc) / x
    D.u = turn * half_sinc
    across = wp.cross(turn, linear)
    D.t = linear + across * (real(2.0) * half_sinc * half_sinc) + wp.cross(turn, across) * C
    return D


@wp.func
def turned_by(u: vec3, s: real, y: vec3):
    """Q y Q⁻¹ − y of a unit quaternion (u, s)."""
    c = wp.cross(u, y)
    return (c * s + wp.cross(u, c)) * real(2.0)


@wp.func
def rotation_vector(u: vec3, s: real):
    """Rotation vector of a unit quaternion (u, s), |angle| ≤ π."""
    x = wp.dot(u, u)
    one = real(1.0)
    factor = real(2.0) * (one + x * (real(0.16666666666666666) + x * (real(0.075) + x * (real(0.044642857142857144)
        + x * (real(0.030381944444444444) + x * (real(0.022372159090909092) + x * (real(0.017352764423076924)
        + x * real(0.01396484375))))))))  # 2 arcsin(|u|)/|u|  # fmt: skip
    if x > real(0.01) or s < real(0.0):
        length = wp.sqrt(x)
        factor = real(2.0) * wp.atan2(length, wp.abs(s)) / length
        if s < real(0.0):
            factor = -factor
    return u * factor


@wp.func
def chord_momenta(tree: Tree, ws: Workspace, v: array2, dt: real, w: int):
    """C: momenta (p, L about the centre of mass) of all links for a step dt·v from the poses in the workspace.

    L = R_m I R_mᵀ θ/dt at mid-rotation R_m, θ the rotation vector of the step (Krysl's midpoint rule): exact for a free
    body's L, second order, and symmetric in time.
    """
    u = vec3()
    s = real(1.0)
    t = vec3()
    inv_dt = real(1.0) / dt
    i = int(0)
    while i < tree.links:
        lam = tree.parent[i]
        if lam < 0:
            u = vec3()
            s = real(1.0)
            t = vec3()
        elif lam != i - 1:
            u = get3(ws.Qu, lam, w)
            s = get(ws.Qs, lam, w)
            t = get3(ws.t, lam, w)
        e = tree.part[i]
        end = tree.part[i + 1]
        while e < end:
            kind = tree.kind[e]
            d = tree.part_v[e]
            if kind != STILL:
                step = dt * item(v, d, w)
                linear = get3(ws.S, 2 * d, w) * step
                turn = get3(ws.S, 2 * d + 1, w) * step
                if kind >= BALL:  # ball or shift: three coordinates at once
                    step = dt * item(v, d + 1, w)
                    linear = linear + get3(ws.S, 2 * d + 2, w) * step
                    turn = turn + get3(ws.S, 2 * d + 3, w) * step
                    step = dt * item(v, d + 2, w)
                    linear = linear + get3(ws.S, 2 * d + 4, w) * step
                    turn = turn + get3(ws.S, 2 * d + 5, w) * step
                D = twist_displacement(linear, turn)
                t = t + D.t + turned_by(u, s, D.t)
                both = D.u * s + u * D.s + wp.cross(u, D.u)
                s = s * D.s - wp.dot(u, D.u)
                u = both
            e += 1
        put3(ws.Qu, i, w, u)
        put(ws.Qs, i, w, s)
        put3(ws.t, i, w, t)
        R = get33(ws.R, i, w)
        r = get3(ws.x, i, w) + R * tree.com[i]
        put3(ws.C, 2 * i, w, (t + turned_by(u, s, r)) * (tree.mass[i] * inv_dt))
        # at mid-rotation: a quarter of the way in quaternions, half the angle
        y = R * (tree.inertia[i] * (wp.transpose(R) * rotation_vector(u, s))) * inv_dt
        sign = wp.where(s < real(0.0), real(-1.0), real(1.0))
        c = s * sign
        b = u * sign
        put3(ws.C, 2 * i + 1, w, y * c + wp.cross(b, y) + b * (wp.dot(b, y) / (real(1.0) + c)))
        i += 1


@wp.func
def add_tangent_momenta(tree: Tree, ws: Workspace, w: int):
    """C += momenta of the links moving with the velocities a that the last outward pass left."""
    i = int(0)
    while i < tree.links:
        R = get33(ws.R, i, w)
        om = get3(ws.a, 2 * i + 1, w)
        r = get3(ws.x, i, w) + R * tree.com[i]
        p = (get3(ws.a, 2 * i, w) + wp.cross(om, r)) * tree.mass[i]
        put3(ws.C, 2 * i, w, get3(ws.C, 2 * i, w) + p)
        put3(ws.C, 2 * i + 1, w, get3(ws.C, 2 * i + 1, w) + R * (tree.inertia[i] * (wp.transpose(R) * om)))
        i += 1


@wp.func
def tangent_momenta(tree: Tree, ws: Workspace, w: int):
    """C: those momenta."""
    i = int(0)
    while i < 2 * tree.links:
        put3(ws.C, i, w, vec3())
        i += 1
    add_tangent_momenta(tree, ws, w)


@wp.func
def whitened_momentum(tree: Tree, ws: Workspace, tau: array2, z: array2, w: int):
    """z of the momenta C and joint impulses tau: the inward pass over the factor there is, without inertias (M-34)."""
    f = vec3()
    n = vec3()
    carried = int(0)
    i = tree.links - 1
    while i >= 0:
        if carried == 0:
            f = vec3()
            n = vec3()
        if tree.gathers[i] == 1:
            f = f + get3(ws.p, 2 * i, w)
            n = n + get3(ws.p, 2 * i + 1, w)
        p = get3(ws.C, 2 * i, w)
        r = get3(ws.x, i, w) + get33(ws.R, i, w) * tree.com[i]
        f = f + p
        n = n + get3(ws.C, 2 * i + 1, w) + wp.cross(r, p)
        d = tree.dof[i + 1] - 1
        first = tree.dof[i]
        while d >= first:
            along = item(tau, d, w) + wp.dot(get3(ws.S, 2 * d, w), f) + wp.dot(get3(ws.S, 2 * d + 1, w), n)
            z_d = along * get(ws.rsD, d, w)
            put(z, d, w, z_d)
            f = f - get3(ws.U, 2 * d, w) * z_d
            n = n - get3(ws.U, 2 * d + 1, w) * z_d
            d -= 1
        hand = tree.hand[i]
        carried = 0
        lam = tree.parent[i]
        if hand == CARRY:
            carried = 1
        elif hand == STORE:
            put3(ws.p, 2 * lam, w, f)
            put3(ws.p, 2 * lam + 1, w, n)
        elif hand == ADD:
            put3(ws.p, 2 * lam, w, get3(ws.p, 2 * lam, w) + f)
            put3(ws.p, 2 * lam + 1, w, get3(ws.p, 2 * lam + 1, w) + n)
        i -= 1


@wp.func
def whitened_velocity(tree: Tree, ws: Workspace, v: array2, z: array2, w: int):
    """z of velocities v: the inverse of the outward pass."""
    vel = vec3()
    om = vec3()
    i = int(0)
    while i < tree.links:
        lam = tree.parent[i]
        if lam < 0:
            vel = vec3()
            om = vec3()
        elif lam != i - 1:
            vel = get3(ws.a, 2 * lam, w)
            om = get3(ws.a, 2 * lam + 1, w)
        d = tree.dof[i]
        while d < tree.dof[i + 1]:
            along = wp.dot(get3(ws.U, 2 * d, w), vel) + wp.dot(get3(ws.U, 2 * d + 1, w), om)
            put(z, d, w, item(v, d, w) / get(ws.rsD, d, w) + along)
            vel = vel + get3(ws.S, 2 * d, w) * item(v, d, w)
            om = om + get3(ws.S, 2 * d + 1, w) * item(v, d, w)
            d += 1
        put3(ws.a, 2 * i, w, vel)
        put3(ws.a, 2 * i + 1, w, om)
        i += 1


@wp.func
def link_velocities(tree: Tree, ws: Workspace, v: array2, w: int):
    """a: velocities of the links about their pivots."""
    vel = vec3()
    om = vec3()
    i = int(0)
    while i < tree.links:
        lam = tree.parent[i]
        if lam < 0:
            vel = vec3()
            om = vec3()
        elif lam != i - 1:
            vel = get3(ws.a, 2 * lam, w)
            om = get3(ws.a, 2 * lam + 1, w)
        d = tree.dof[i]
        while d < tree.dof[i + 1]:
            vel = vel + get3(ws.S, 2 * d, w) * item(v, d, w)
            om = om + get3(ws.S, 2 * d + 1, w) * item(v, d, w)
            d += 1
        put3(ws.a, 2 * i, w, vel)
        put3(ws.a, 2 * i + 1, w, om)
        i += 1
