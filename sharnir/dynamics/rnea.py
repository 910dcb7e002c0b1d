"""Inverse dynamics: the joint forces that give accelerations, by Newton–Euler outward and sums inward (M-11)."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.tree import Tree, Workspace
from sharnir.kernels.columns import get3, get33, item, put3, set_item
from sharnir.kernels.types import array2, vec3


@wp.func
def accelerate(tree: wp.ref[Tree], ws: wp.ref[Workspace], qdd: array2, w: int):
    """ws.a ← acceleration of every link beyond A (that at q̈ = 0) for given q̈."""
    i = int(0)
    while i < tree.links:
        lam = tree.parent[i]
        acc = vec3()
        alp = vec3()
        if lam >= 0:
            acc = get3(ws.a, 2 * lam, w)
            alp = get3(ws.a, 2 * lam + 1, w)
        d = tree.dof[i]
        while d < tree.dof[i + 1]:
            acc = acc + get3(ws.S, 2 * d, w) * item(qdd, d, w)
            alp = alp + get3(ws.S, 2 * d + 1, w) * item(qdd, d, w)
            d += 1
        put3(ws.a, 2 * i, w, acc)
        put3(ws.a, 2 * i + 1, w, alp)
        i += 1


@wp.func
def link_forces(tree: wp.ref[Tree], ws: wp.ref[Workspace], loaded: int, w: int):
    """p: wrench about the pivot that moves every link as A + a says, less the applied wrench F."""
    i = int(0)
    while i < tree.links:
        R = get33(ws.R, i, w)
        om = get3(ws.V, 2 * i + 1, w)
        acc = get3(ws.A, 2 * i, w) + get3(ws.a, 2 * i, w)
        alp = get3(ws.A, 2 * i + 1, w) + get3(ws.a, 2 * i + 1, w)
        r = get3(ws.x, i, w) + R * tree.com[i]
        v_com = get3(ws.V, 2 * i, w) + wp.cross(om, r)
        f = (acc + wp.cross(alp, r) + wp.cross(om, v_com)) * tree.mass[i]
        Rt = wp.transpose(R)
        L = R * (tree.inertia[i] * (Rt * om))
        n = R * (tree.inertia[i] * (Rt * alp)) + wp.cross(om, L) + wp.cross(r, f)
        if loaded > 0:
            f = f - get3(ws.F, 2 * i, w)
            n = n - get3(ws.F, 2 * i + 1, w)
        put3(ws.p, 2 * i, w, f)
        put3(ws.p, 2 * i + 1, w, n)
        i += 1


@wp.func
def subtree_forces(tree: wp.ref[Tree], ws: wp.ref[Workspace], w: int):
    """p: sum over the subtree, the wrench that the joint of each link transmits to it."""
    i = tree.links - 1
    while i >= 0:
        lam = tree.parent[i]
        if lam >= 0:
            put3(ws.p, 2 * lam, w, get3(ws.p, 2 * lam, w) + get3(ws.p, 2 * i, w))
            put3(ws.p, 2 * lam + 1, w, get3(ws.p, 2 * lam + 1, w) + get3(ws.p, 2 * i + 1, w))
        i -= 1


@wp.func
def joint_forces(tree: wp.ref[Tree], ws: wp.ref[Workspace], qdd: array2, tau: array2, w: int):
    """τ = Sᵀ p + I_rotor q̈."""
    i = int(0)
    while i < tree.links:
        f = get3(ws.p, 2 * i, w)
        n = get3(ws.p, 2 * i + 1, w)
        d = tree.dof[i]
        while d < tree.dof[i + 1]:
            along = wp.dot(get3(ws.S, 2 * d, w), f) + wp.dot(get3(ws.S, 2 * d + 1, w), n)
            set_item(tau, d, w, along + tree.armature[d] * item(qdd, d, w))
            d += 1
        i += 1
