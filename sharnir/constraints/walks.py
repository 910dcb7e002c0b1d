"""Whitened rows by walks up the ancestors: w_d = Ŝ_d·p, p ← p − Û_d w_d (M-10), each entry in the order it is met."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.tree import Tree, Workspace
from sharnir.maths import array2, get, get3, put, vec3


@wp.func
def walk_row(
    tree: Tree, ws: Workspace, a: int, fa: vec3, na: vec3, b: int, fb: vec3, nb: vec3, W: array2, start: int, w: int
):
    """Row of the impulses (fa, na) on link a and (fb, nb) on link b, each about its own pivot; −1 for none."""
    k = int(start)
    while a >= 0 or b >= 0:
        link = wp.max(a, b)
        f = vec3()
        n = vec3()
        if a == link:
            f = f + fa
            n = n + na
        if b == link:
            f = f + fb
            n = n + nb
        d = tree.dof[link + 1] - 1
        first = tree.dof[link]
        while d >= first:
            along = wp.dot(get3(ws.S, 2 * d, w), f) + wp.dot(get3(ws.S, 2 * d + 1, w), n)
            w_d = along * get(ws.rsD, d, w)
            put(W, k, w, w_d)
            f = f - get3(ws.U, 2 * d, w) * w_d
            n = n - get3(ws.U, 2 * d + 1, w) * w_d
            k += 1
            d -= 1
        up = tree.parent[link]
        if a == link:
            a = up
            fa = f
            na = n
            if b == link:
                b = -1
            elif b == up:  # the walks meet: one wrench from here on
                fa = fa + fb
                na = na + nb
                b = -1
        else:
            b = up
            fb = f
            nb = n
            if a == up:
                fb = fb + fa
                nb = nb + na
                a = -1


@wp.func
def walk_coordinate(tree: Tree, ws: Workspace, link: int, coordinate: int, W: array2, start: int, w: int):
    """Row of a unit impulse on velocity coordinate `coordinate` of a link: from there to the root."""
    w_d = get(ws.rsD, coordinate, w)
    put(W, start, w, w_d)
    f = -get3(ws.U, 2 * coordinate, w) * w_d
    n = -get3(ws.U, 2 * coordinate + 1, w) * w_d
    k = start + 1
    d = coordinate - 1
    i = int(link)
    while i >= 0:
        first = tree.dof[i]
        while d >= first:
            along = wp.dot(get3(ws.S, 2 * d, w), f) + wp.dot(get3(ws.S, 2 * d + 1, w), n)
            w_d = along * get(ws.rsD, d, w)
            put(W, k, w, w_d)
            f = f - get3(ws.U, 2 * d, w) * w_d
            n = n - get3(ws.U, 2 * d + 1, w) * w_d
            k += 1
            d -= 1
        i = tree.parent[i]
        if i >= 0:
            d = tree.dof[i + 1] - 1


@wp.struct
class Three:
    """Three wrenches about a pivot."""

    f0: vec3
    n0: vec3
    f1: vec3
    n1: vec3
    f2: vec3
    n2: vec3


@wp.func
def sum_of(p: Three, q: Three):
    out = Three()
    out.f0 = p.f0 + q.f0
    out.n0 = p.n0 + q.n0
    out.f1 = p.f1 + q.f1
    out.n1 = p.n1 + q.n1
    out.f2 = p.f2 + q.f2
    out.n2 = p.n2 + q.n2
    return out


@wp.func
def climb(tree: Tree, ws: Workspace, link: int, p: Three, W: array2, start: int, length: int, k: int, w: int):
    """Entries of three rows for one link's coordinates, from place k on; what is left of the wrenches."""
    f0 = p.f0
    n0 = p.n0
    f1 = p.f1
    n1 = p.n1
    f2 = p.f2
    n2 = p.n2
    d = tree.dof[link + 1] - 1
    first = tree.dof[link]
    at = start + k
    while d >= first:
        Sv = get3(ws.S, 2 * d, w)
        Sw = get3(ws.S, 2 * d + 1, w)
        Uv = get3(ws.U, 2 * d, w)
        Uw = get3(ws.U, 2 * d + 1, w)
        rsD = get(ws.rsD, d, w)
        w0 = (wp.dot(Sv, f0) + wp.dot(Sw, n0)) * rsD
        w1 = (wp.dot(Sv, f1) + wp.dot(Sw, n1)) * rsD
        w2 = (wp.dot(Sv, f2) + wp.dot(Sw, n2)) * rsD
        put(W, at, w, w0)
        put(W, at + length, w, w1)
        put(W, at + 2 * length, w, w2)
        f0 = f0 - Uv * w0
        n0 = n0 - Uw * w0
        f1 = f1 - Uv * w1
        n1 = n1 - Uw * w1
        f2 = f2 - Uv * w2
        n2 = n2 - Uw * w2
        at += 1
        d -= 1
    out = Three()
    out.f0 = f0
    out.n0 = n0
    out.f1 = f1
    out.n1 = n1
    out.f2 = f2
    out.n2 = n2
    return out


@wp.func
def walk_three(
    tree: Tree, ws: Workspace, a: int, pa: Three, b: int, pb: Three, W: array2, start: int, length: int, w: int
):
    """Three rows, one after the other, of wrenches on link a and on link b; −1 for none."""
    k = int(0)
    while a >= 0 or b >= 0:
        link = wp.max(a, b)
        p = Three()
        if a == link:
            p = pa
        else:
            p = pb
        p = climb(tree, ws, link, p, W, start, length, k, w)
        k += tree.dof[link + 1] - tree.dof[link]
        up = tree.parent[link]
        if a == link:
            a = up
            pa = p
            if b == up:  # the walks meet: one wrench from here on
                pa = sum_of(pa, pb)
                b = -1
        else:
            b = up
            pb = p
            if a == up:
                pb = sum_of(pb, pa)
                a = -1
