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


@wp.func
def walk_three(tree: Tree, ws: Workspace, link: int, r: vec3, e0: vec3, e1: vec3, e2: vec3, W: array2, start: int, length: int, w: int):
    """Three rows of unit forces e0, e1, e2 on a link at r from its pivot, one after the other; returns W Wᵀ: its diagonal,
    and its entries 01, 02, 12."""
    f0 = e0
    n0 = wp.cross(r, e0)
    f1 = e1
    n1 = wp.cross(r, e1)
    f2 = e2
    n2 = wp.cross(r, e2)
    own = vec3()
    cross = vec3()
    k = int(start)
    i = int(link)
    while i >= 0:
        d = tree.dof[i + 1] - 1
        first = tree.dof[i]
        while d >= first:
            Sv = get3(ws.S, 2 * d, w)
            Sw = get3(ws.S, 2 * d + 1, w)
            Uv = get3(ws.U, 2 * d, w)
            Uw = get3(ws.U, 2 * d + 1, w)
            rsD = get(ws.rsD, d, w)
            w0 = (wp.dot(Sv, f0) + wp.dot(Sw, n0)) * rsD
            w1 = (wp.dot(Sv, f1) + wp.dot(Sw, n1)) * rsD
            w2 = (wp.dot(Sv, f2) + wp.dot(Sw, n2)) * rsD
            put(W, k, w, w0)
            put(W, k + length, w, w1)
            put(W, k + 2 * length, w, w2)
            f0 = f0 - Uv * w0
            n0 = n0 - Uw * w0
            f1 = f1 - Uv * w1
            n1 = n1 - Uw * w1
            f2 = f2 - Uv * w2
            n2 = n2 - Uw * w2
            own = own + vec3(w0 * w0, w1 * w1, w2 * w2)
            cross = cross + vec3(w0 * w1, w0 * w2, w1 * w2)
            k += 1
            d -= 1
        i = tree.parent[i]
    return own, cross
