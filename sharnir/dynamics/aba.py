"""Articulated-body algorithm, in [V26, A17] the method of separate bodies: forward dynamics in three passes, linear in
the number of links (M-5..M-10).

The inward pass leaves the factor of the inverse mass matrix, M⁻¹ = (E − HΨK)ᵀ D⁻¹ (E − HΨK), in the workspace: S, Û =
I^A S/√D and 1/√D per velocity coordinate. Joints of several degrees of freedom are several rank-one updates, so D is
diagonal for every joint. The steps of the impulse solver use `sharnir.dynamics.inward`, which adds implicit springs and
dampers and is native. The functions of the inward pass take structs by value: by reference it takes 4 to 5 % longer.
"""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.tree import DenseRow, Tree, Workspace, Wrench, make_wrench
from sharnir.enums import InertiaHandoff
from sharnir.kernels.columns import get, get3, get6, get33, item, put, put3, put6, put33
from sharnir.kernels.types import C_REAL, array2, mat33, real, sym_mul, sym_outer, sym_rotate, vec3, vec6


@wp.struct
class ArticulatedBody:
    """Articulated inertia [M H; Hᵀ J] and bias force (f, n) about the pivot."""

    M: vec6
    J: vec6
    H: mat33
    f: vec3
    n: vec3


@wp.func
def link_inertia(tree: wp.ref[Tree], ws: wp.ref[Workspace], i: int, w: int):
    """Centre of mass of link i relative to the pivot, m, and its inertia about the centre of mass, kg m²,
    world axes."""
    R = get33(ws.R, i, w)
    return get3(ws.x, i, w) + R * tree.com[i], sym_rotate(R, tree.inertia[i])


@wp.func
def add_rigid_inertia(a: ArticulatedBody, m: real, r: vec3, Jc: vec6):
    """Add the rigid-body inertia of a link of mass m, centre of mass r, inertia Jc about it (M-5)."""
    zero = real(0.0)
    h = r * m
    rr = wp.dot(r, h)
    a.M = a.M + vec6(m, m, m, zero, zero, zero)
    a.J = a.J + Jc - sym_outer(r, h) + vec6(rr, rr, rr, zero, zero, zero)
    a.H = a.H + mat33(zero, h[2], -h[1], -h[2], zero, h[0], h[1], -h[0], zero)
    return a


@wp.func
def bias_wrench(m: real, r: vec3, Jc: vec6, ws: wp.ref[Workspace], i: int, w: int):
    """Bias wrench (force, torque about the pivot) of link i by Newton–Euler, at the acceleration A it has at q̈ = 0
    (M-6)."""
    om = get3(ws.V, 2 * i + 1, w)
    alp = get3(ws.A, 2 * i + 1, w)
    v_com = get3(ws.V, 2 * i, w) + wp.cross(om, r)
    f = (get3(ws.A, 2 * i, w) + wp.cross(alp, r) + wp.cross(om, v_com)) * m
    return f, sym_mul(Jc, alp) + wp.cross(om, sym_mul(Jc, om)) + wp.cross(r, f)


@wp.func
def eliminate_coordinate(a: ArticulatedBody, tree: Tree, ws: Workspace, tau: array2, d: int, w: int):
    """Eliminate velocity coordinate d from the articulated inertia: U = I^A S, D = SᵀU + I_rotor, I^A −= UUᵀ/D, p += U
    u/D (M-7). Stores Û, 1/√D and z."""
    Sv = get3(ws.S, 2 * d, w)
    Sw = get3(ws.S, 2 * d + 1, w)
    Uv = sym_mul(a.M, Sv) + a.H * Sw
    Uw = wp.transpose(a.H) * Sv + sym_mul(a.J, Sw)
    u = item(tau, d, w) - wp.dot(Sv, a.f) - wp.dot(Sw, a.n)
    iD = real(1.0) / (wp.dot(Sv, Uv) + wp.dot(Sw, Uw) + tree.armature[d])
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


@wp.func
def add_children(a: ArticulatedBody, ws: Workspace, i: int, w: int):
    """Add the articulated inertias and bias forces that children other than the next link have stored for link i."""
    a.M = a.M + get6(ws.M, i, w)
    a.J = a.J + get6(ws.J, i, w)
    a.H = a.H + get33(ws.H, i, w)
    a.f = a.f + get3(ws.p, 2 * i, w)
    a.n = a.n + get3(ws.p, 2 * i + 1, w)
    return a


@wp.func
def store_articulated(a: ArticulatedBody, ws: Workspace, i: int, w: int):
    """Store an articulated inertia and bias force for link i, to be added when the inward pass gets there."""
    put6(ws.M, i, w, a.M)
    put6(ws.J, i, w, a.J)
    put33(ws.H, i, w, a.H)
    put3(ws.p, 2 * i, w, a.f)
    put3(ws.p, 2 * i + 1, w, a.n)


@wp.func
def inward(tree: Tree, ws: Workspace, tau: array2, loaded: int, w: int):
    """Inward pass: articulated inertia and bias force at velocity V from the tips to the roots; leaves Û, 1/√D, z
    (M-5..M-8). loaded: 1 where applied wrenches F act."""
    articulated = ArticulatedBody()
    is_carried = int(0)
    i = tree.links - 1
    while i >= 0:
        if is_carried == 0:
            articulated = ArticulatedBody()
        if tree.has_branches[i] == 1:
            articulated = add_children(articulated, ws, i, w)
        r, Jc = link_inertia(tree, ws, i, w)
        articulated = add_rigid_inertia(articulated, tree.mass[i], r, Jc)
        f, n = bias_wrench(tree.mass[i], r, Jc, ws, i, w)
        articulated.f = articulated.f + f
        articulated.n = articulated.n + n
        if loaded > 0:
            articulated.f = articulated.f - get3(ws.F, 2 * i, w)
            articulated.n = articulated.n - get3(ws.F, 2 * i + 1, w)
        d = tree.dof[i + 1] - 1
        first = tree.dof[i]
        while d >= first:
            articulated = eliminate_coordinate(articulated, tree, ws, tau, d, w)
            d -= 1
        handoff = tree.inertia_handoff[i]
        is_carried = 0
        if handoff == InertiaHandoff.CARRY:
            is_carried = 1
        elif handoff == InertiaHandoff.STORE:
            store_articulated(articulated, ws, tree.parent[i], w)
        elif handoff == InertiaHandoff.ADD:
            store_articulated(add_children(articulated, ws, tree.parent[i], w), ws, tree.parent[i], w)
        i -= 1


@wp.func_native(
    """
#if defined(__CUDA_ARCH__)
    const long long n = ws.S.shape[1];
    REAL* out = qdd.data + w;
#else
    const long long n = 1;
    REAL* out = qdd.data + (long long)(w) * qdd.shape[0];
    w = 0;
#endif
    REAL a[6], s[6] = {0, 0, 0, 0, 0, 0}, y = 0;  // links move with a + s y: of the last coordinate y is awaited
    for (int i = 0; i < tree.links; ++i) {
        const int up = tree.parent.data[i];
        if (up != i - 1 || up < 0) {
            const REAL* from = ws.a.data + (long long)(6*up)*n + w;
            for (int k = 0; k < 6; ++k) a[k] = up < 0 ? (REAL)0 : from[k*n];
            y = 0;
        }
        for (long long d = tree.dof.data[i]; d < tree.dof.data[i + 1]; ++d) {
            const REAL* u = ws.U.data + 6*d*n + w;
            const REAL rsD = ws.rsD.data[d*n + w];
            const REAL along = (u[0]*a[0] + u[n]*a[1] + u[2*n]*a[2]) + (u[3*n]*a[3] + u[4*n]*a[4] + u[5*n]*a[5]);
            const REAL share = (u[0]*s[0] + u[n]*s[1] + u[2*n]*s[2]) + (u[3*n]*s[3] + u[4*n]*s[4] + u[5*n]*s[5]);
            for (int k = 0; k < 6; ++k) {
                a[k] += s[k]*y;
                s[k] = ws.S.data[(6*d + k)*n + w];
            }
            y = (ws.z.data[d*n + w] - along)*rsD - share*rsD*y;
            out[d*n] = y;
        }
        REAL* to = ws.a.data + (long long)(6*i)*n + w;
        for (int k = 0; k < 6; ++k) to[k*n] = a[k] + s[k]*y;
    }
""".replace("REAL", C_REAL)
)
def outward(tree: Tree, ws: Workspace, qdd: array2, w: int):
    """Accelerations from the roots to the tips (M-9): q̈ and a, the part of each link's acceleration beyond A. Native:
    a coordinate waits for q̈ of the one before it, not for the acceleration that this adds to."""
    ...


@wp.func
def whiten_dof(ws: wp.ref[Workspace], d: int, p: wp.ref[Wrench], w: int):
    """Pass impulse p through velocity coordinate d (M-10): returns w_d = Ŝ_d·p and leaves p − Û_d w_d to the links
    below."""
    along = wp.dot(get3(ws.S, 2 * d, w), p.f) + wp.dot(get3(ws.S, 2 * d + 1, w), p.n)
    w_d = along * get(ws.rsD, d, w)
    p.f = p.f - get3(ws.U, 2 * d, w) * w_d
    p.n = p.n - get3(ws.U, 2 * d + 1, w) * w_d
    return w_d


@wp.func
def whiten_unit_dof(ws: wp.ref[Workspace], d: int, p: wp.ref[Wrench], w: int):
    """Entry of a unit impulse on velocity coordinate d itself, 1/√D; p: what it leaves to the links below."""
    w_d = get(ws.rsD, d, w)
    p.f = -get3(ws.U, 2 * d, w) * w_d
    p.n = -get3(ws.U, 2 * d + 1, w) * w_d
    return w_d


@wp.func
def whiten(tree: wp.ref[Tree], ws: wp.ref[Workspace], link: int, impulse: Wrench, row: DenseRow, w: int):
    """Add to a row W what an impulse on a link does, scaled so that J M⁻¹ Jᵀ = W Wᵀ: one pass up the ancestors with
    the factor of the last inward pass (M-10)."""
    p = make_wrench(impulse.f, impulse.n)
    i = int(link)
    while i >= 0:
        d = tree.dof[i + 1] - 1
        first = tree.dof[i]
        while d >= first:
            row.array[row.start + d, w] = row.array[row.start + d, w] + whiten_dof(ws, d, p, w)
            d -= 1
        i = tree.parent[i]


@wp.func
def whiten_coordinate(tree: wp.ref[Tree], ws: wp.ref[Workspace], link: int, coordinate: int, row: DenseRow, w: int):
    """Row W of a unit impulse on velocity coordinate `coordinate` of link `link`, whitened so that M⁻¹ = W Wᵀ (M-10);
    entries of other branches are not written."""
    p = Wrench()
    i = int(link)
    while i >= 0:
        d = tree.dof[i + 1] - 1
        first = tree.dof[i]
        while d >= first:
            w_d = real(0.0)
            if d == coordinate:
                w_d = whiten_unit_dof(ws, d, p, w)
            elif d < coordinate:
                w_d = whiten_dof(ws, d, p, w)
            row.array[row.start + d, w] = w_d
            d -= 1
        i = tree.parent[i]
