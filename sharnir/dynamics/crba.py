"""Joint-space inertia by composite rigid bodies (M-12)."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.tree import Tree, Workspace
from sharnir.kernels.columns import get3, get6, get33, put6, put33
from sharnir.kernels.types import array2, mat33, real, sym_mul, sym_outer, sym_rotate, vec6


@wp.func
def composite_inertias(tree: wp.ref[Tree], ws: wp.ref[Workspace], w: int):
    """M, J, H of every link's subtree about the pivot."""
    zero = real(0.0)
    i = int(0)
    while i < tree.links:
        R = get33(ws.R, i, w)
        m = tree.mass[i]
        r = get3(ws.x, i, w) + R * tree.com[i]
        h = r * m
        rr = wp.dot(r, h)
        put6(ws.M, i, w, vec6(m, m, m, zero, zero, zero))
        put6(ws.J, i, w, sym_rotate(R, tree.inertia[i]) - sym_outer(r, h) + vec6(rr, rr, rr, zero, zero, zero))
        put33(ws.H, i, w, mat33(zero, h[2], -h[1], -h[2], zero, h[0], h[1], -h[0], zero))
        i += 1
    i = tree.links - 1
    while i >= 0:
        lam = tree.parent[i]
        if lam >= 0:
            put6(ws.M, lam, w, get6(ws.M, lam, w) + get6(ws.M, i, w))
            put6(ws.J, lam, w, get6(ws.J, lam, w) + get6(ws.J, i, w))
            put33(ws.H, lam, w, get33(ws.H, lam, w) + get33(ws.H, i, w))
        i -= 1


@wp.func
def mass_matrix(tree: wp.ref[Tree], ws: wp.ref[Workspace], M: array2, w: int):
    """M[d·nv + e] = S_dᵀ I^C S_e for e on the path from d to the root; other entries stay zero."""
    dofs = tree.dof[tree.links]
    i = int(0)
    while i < tree.links:
        d = tree.dof[i]
        while d < tree.dof[i + 1]:
            Sv = get3(ws.S, 2 * d, w)
            Sw = get3(ws.S, 2 * d + 1, w)
            H = get33(ws.H, i, w)
            Fv = sym_mul(get6(ws.M, i, w), Sv) + H * Sw
            Fw = wp.transpose(H) * Sv + sym_mul(get6(ws.J, i, w), Sw)
            j = int(i)
            while j >= 0:
                e = tree.dof[j]
                while e < tree.dof[j + 1]:
                    value = wp.dot(get3(ws.S, 2 * e, w), Fv) + wp.dot(get3(ws.S, 2 * e + 1, w), Fw)
                    if e == d:
                        value = value + tree.armature[d]
                    M[d * dofs + e, w] = value
                    M[e * dofs + d, w] = value
                    e += 1
                j = tree.parent[j]
            d += 1
        i += 1
