"""The method of separate bodies [V26, A17]: forward dynamics in three passes, linear in the links (M-5..M-10).

The inward pass leaves the factor of the inverse mass matrix, M⁻¹ = (E − HΨK)ᵀ D⁻¹ (E − HΨK), in the workspace:
S, Û = I^A S/√D and 1/√D per velocity coordinate. Joints of several degrees of freedom are several rank-one
updates, so D is diagonal for every joint.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from sharnir.access import get, get3, get6, get33, item, put, put3, put6, put33, set_item
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.kinds import ADD, CARRY, STORE
from sharnir.maths import DOUBLE, array2, mat33, real, sym_mul, sym_outer, sym_turned, vec3, vec6

LEAST = wp.constant(real(1.0e-300 if DOUBLE else 1.0e-37))  # so that nothing is divided by nothing


@wp.struct
class Articulated:
    """Articulated inertia [M H; Hᵀ J] and bias force (f, n) about the pivot."""

    M: vec6
    J: vec6
    H: mat33
    f: vec3
    n: vec3


@wp.func
def inertia_of(tree: Tree, ws: Workspace, i: int, w: int):
    """Centre of mass of link i, relative to the pivot, and the inertia about it, world axes."""
    R = get33(ws.R, i, w)
    return get3(ws.x, i, w) + R * tree.com[i], sym_turned(R, tree.inertia[i])


@wp.func
def with_inertia(a: Articulated, m: real, r: vec3, Jc: vec6):
    """Add the rigid inertia of a link of mass m (M-5)."""
    zero = real(0.0)
    h = r * m
    rr = wp.dot(r, h)
    a.M = a.M + vec6(m, m, m, zero, zero, zero)
    a.J = a.J + Jc - sym_outer(r, h) + vec6(rr, rr, rr, zero, zero, zero)
    a.H = a.H + mat33(zero, h[2], -h[1], -h[2], zero, h[0], h[1], -h[0], zero)
    return a


@wp.func
def with_bias(a: Articulated, m: real, r: vec3, Jc: vec6, ws: Workspace, i: int, w: int):
    """Add Newton–Euler of link i at the acceleration A it has at q̈ = 0 (M-6)."""
    om = get3(ws.V, 2 * i + 1, w)
    alp = get3(ws.A, 2 * i + 1, w)
    v_com = get3(ws.V, 2 * i, w) + wp.cross(om, r)
    f = (get3(ws.A, 2 * i, w) + wp.cross(alp, r) + wp.cross(om, v_com)) * m
    a.f = a.f + f
    a.n = a.n + sym_mul(Jc, alp) + wp.cross(om, sym_mul(Jc, om)) + wp.cross(r, f)
    return a


def _without_coordinate(implicit: bool) -> Any:
    """Let velocity coordinate d move freely: U = I^A S, D = SᵀU + I_rotor, I^A −= UUᵀ/D, p += U u/D (M-7).

    With implicit joints, D also holds what springs and dampers add over a step (M-31), a share θ of the damper
    acts on the velocity sought, and the rest on the one before.
    """

    def without_coordinate(a: Articulated, tree: Tree, ws: Workspace, tau: array2, v: array2, d: int, w: int):
        Sv = get3(ws.S, 2 * d, w)
        Sw = get3(ws.S, 2 * d + 1, w)
        Uv = sym_mul(a.M, Sv) + a.H * Sw
        Uw = wp.transpose(a.H) * Sv + sym_mul(a.J, Sw)
        D = wp.dot(Sv, Uv) + wp.dot(Sw, Uw)
        u = item(tau, d, w) - wp.dot(Sv, a.f) - wp.dot(Sw, a.n)
        iD = real(0.0)
        if wp.static(implicit):
            D = D + get(ws.E, d, w)
            hk = get(ws.hk, d, w)
            if hk > real(0.0):
                lean = spring_lean(real(0.25) * hk, D)
                ahead = (real(0.25) + real(0.75) * lean) * hk
                D = D + ahead
                put(ws.E, d, w, get(ws.E, d, w) + ahead)
                u = u + real(0.25) * (real(1.0) - lean) * get(ws.hb, d, w) * item(v, d, w)
            hc = get(ws.hc, d, w)
            iD = real(1.0) / D
            if hc > real(0.0):
                iD = with_damping(hc, D)
                share = damping_share(hc, D)
                put(ws.E, d, w, get(ws.E, d, w) + share * hc)
                u = u - (real(1.0) - share) * hc * item(v, d, w)
        else:
            iD = real(1.0) / (D + tree.armature[d])
        Kv = Uv * iD
        Kw = Uw * iD
        a.M = a.M - sym_outer(Kv, Uv)
        a.J = a.J - sym_outer(Kw, Uw)
        a.H = a.H - wp.outer(Kv, Uw)
        a.f = a.f + Kv * u
        a.n = a.n + Kw * u
        rsD = wp.sqrt(iD)
        put3(ws.U, 2 * d, w, Uv * rsD)
        put3(ws.U, 2 * d + 1, w, Uw * rsD)
        put(ws.rsD, d, w, rsD)
        put(ws.z, d, w, u * rsD)
        return a

    without_coordinate.__name__ = without_coordinate.__qualname__ = f"without_{'implicit' if implicit else 'free'}"
    return wp.func(without_coordinate)


@wp.func
def spring_lean(k: real, D: real):
    """How far a spring leans on where it will be, y³/(1 + y³), y = k/D with k = ¼ dt² times its stiffness: 0 for soft
    ones, which keep their energy, 1 for stiff ones, which come to rest in a step (M-31)."""
    cubed = k * k * k
    return cubed / (D * D * D + cubed + LEAST)


@wp.func
def damping_share(c: real, D: real):
    """Share θ = (1 + x)/(2 + x) of a damper that acts on the new velocity, x = c/D with c = dt times its damping: ½ for
    weak ones (second order), 1 for stiff ones. The velocity decays by 1/(1 + x + x²/2) in a step: never reversed, no
    ringing (M-31)."""
    return (D + c) / (D + D + c)


@wp.func
def with_damping(c: real, D: real):
    """1/(D + θ c): passes wait for this one, so θ is left to be found beside it."""
    twice = D + D
    return (twice + c) / (twice * (D + c) + c * c)


@wp.func
def with_children(a: Articulated, ws: Workspace, i: int, w: int):
    """Add what children other than the next link have left for link i."""
    a.M = a.M + get6(ws.M, i, w)
    a.J = a.J + get6(ws.J, i, w)
    a.H = a.H + get33(ws.H, i, w)
    a.f = a.f + get3(ws.p, 2 * i, w)
    a.n = a.n + get3(ws.p, 2 * i + 1, w)
    return a


@wp.func
def leave(a: Articulated, ws: Workspace, i: int, w: int):
    """Leave it for link i."""
    put6(ws.M, i, w, a.M)
    put6(ws.J, i, w, a.J)
    put33(ws.H, i, w, a.H)
    put3(ws.p, 2 * i, w, a.f)
    put3(ws.p, 2 * i + 1, w, a.n)


def _inward(name: str, moving: bool, implicit: bool) -> Any:
    """Articulated inertia and bias force from the tips to the roots; leaves Û, 1/√D, z.

    moving: the bias holds Newton–Euler at velocity V. implicit, of a step: see `_without_coordinate`; v is the velocity
    before, centres of mass and inertias about them are left as well.
    """
    without_coordinate = _without_coordinate(implicit)

    def inward_pass(tree: Tree, ws: Workspace, tau: array2, v: array2, loaded: int, w: int):
        a = Articulated()
        carried = int(0)
        i = tree.links - 1
        while i >= 0:
            if carried == 0:
                a = Articulated()
            if tree.gathers[i] == 1:
                a = with_children(a, ws, i, w)
            r, Jc = inertia_of(tree, ws, i, w)
            a = with_inertia(a, tree.mass[i], r, Jc)
            if wp.static(implicit):
                put3(ws.com, i, w, r)
                put6(ws.I, i, w, Jc)
            if wp.static(moving):
                a = with_bias(a, tree.mass[i], r, Jc, ws, i, w)
            if loaded > 0:
                a.f = a.f - get3(ws.F, 2 * i, w)
                a.n = a.n - get3(ws.F, 2 * i + 1, w)
            d = tree.dof[i + 1] - 1
            first = tree.dof[i]
            while d >= first:
                a = without_coordinate(a, tree, ws, tau, v, d, w)
                d -= 1
            hand = tree.hand[i]
            carried = 0
            if hand == CARRY:
                carried = 1
            elif hand == STORE:
                leave(a, ws, tree.parent[i], w)
            elif hand == ADD:
                leave(with_children(a, ws, tree.parent[i], w), ws, tree.parent[i], w)
            i -= 1

    inward_pass.__name__ = inward_pass.__qualname__ = name
    return wp.func(inward_pass)


inward = _inward("inward", moving=True, implicit=False)
inward_implicit = _inward("inward_implicit", moving=True, implicit=True)
inward_momentum = _inward("inward_momentum", moving=False, implicit=True)


@wp.func
def outward(tree: Tree, ws: Workspace, qdd: array2, w: int):
    """Accelerations from the roots to the tips: q̈ and a, the part of each link's acceleration beyond A."""
    acc = vec3()
    alp = vec3()
    i = int(0)
    while i < tree.links:
        lam = tree.parent[i]
        if lam < 0:
            acc = vec3()
            alp = vec3()
        elif lam != i - 1:
            acc = get3(ws.a, 2 * lam, w)
            alp = get3(ws.a, 2 * lam + 1, w)
        d = tree.dof[i]
        end = tree.dof[i + 1]
        while d < end:
            Uv = get3(ws.U, 2 * d, w)
            Uw = get3(ws.U, 2 * d + 1, w)
            y = (get(ws.z, d, w) - wp.dot(Uv, acc) - wp.dot(Uw, alp)) * get(ws.rsD, d, w)
            set_item(qdd, d, w, y)
            acc = acc + get3(ws.S, 2 * d, w) * y
            alp = alp + get3(ws.S, 2 * d + 1, w) * y
            d += 1
        put3(ws.a, 2 * i, w, acc)
        put3(ws.a, 2 * i + 1, w, alp)
        i += 1


@wp.func
def whiten(tree: Tree, ws: Workspace, link: int, f: vec3, n: vec3, W: array2, start: int, sign: real, w: int):
    """Add to row W[start..start+nv] what a unit impulse (f, n_O) on a link does, scaled so that J M⁻¹ Jᵀ = W Wᵀ.

    One walk up the ancestors over the factor of the last inward pass (M-10): w_d = Ŝ_d·p, p ← p − Û_d w_d.
    """
    i = int(link)
    while i >= 0:
        d = tree.dof[i + 1] - 1
        first = tree.dof[i]
        while d >= first:
            along = wp.dot(get3(ws.S, 2 * d, w), f) + wp.dot(get3(ws.S, 2 * d + 1, w), n)
            w_d = along * get(ws.rsD, d, w)
            W[start + d, w] = W[start + d, w] + sign * w_d
            f = f - get3(ws.U, 2 * d, w) * w_d
            n = n - get3(ws.U, 2 * d + 1, w) * w_d
            d -= 1
        i = tree.parent[i]


@wp.func
def whiten_coordinate(tree: Tree, ws: Workspace, link: int, coordinate: int, W: array2, start: int, w: int):
    """The same for a unit impulse on velocity coordinate `coordinate` of link `link`."""
    f = vec3()
    n = vec3()
    i = int(link)
    while i >= 0:
        d = tree.dof[i + 1] - 1
        first = tree.dof[i]
        while d >= first:
            w_d = real(0.0)
            if d == coordinate:
                w_d = get(ws.rsD, d, w)
            elif d < coordinate:
                along = wp.dot(get3(ws.S, 2 * d, w), f) + wp.dot(get3(ws.S, 2 * d + 1, w), n)
                w_d = along * get(ws.rsD, d, w)
            W[start + d, w] = w_d
            f = f - get3(ws.U, 2 * d, w) * w_d
            n = n - get3(ws.U, 2 * d + 1, w) * w_d
            d -= 1
        i = tree.parent[i]
