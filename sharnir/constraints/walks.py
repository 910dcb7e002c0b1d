"""Whitened rows by walks up the ancestors: w_d = Ŝ_d·p, p ← p − Û_d w_d (M-10), each entry in the order it is met."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.tree import Tree, Workspace
from sharnir.maths import array2, get, get3, put, real, vec3


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
def row_product(W: array2, first: int, second: int, length: int, w: int):
    """Σ W[first + k] W[second + k]."""
    total = real(0.0)
    k = int(0)
    while k < length:
        total = total + get(W, first + k, w) * get(W, second + k, w)
        k += 1
    return total
