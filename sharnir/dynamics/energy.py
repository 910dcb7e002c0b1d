"""Centre of mass, energy and momentum (M-17..M-19)."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.forces import spring_energy
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.maths import array2, get3, get33, real, vec3

TOTALS = 12  # mass, centre of mass (3), kinetic, potential energy, linear (3), angular momentum about the origin (3)


@wp.func
def totals(tree: Tree, ws: Workspace, q: array2, v: array2, out: array2, w: int):
    """Sums over all links of world w, in the order of TOTALS."""
    half = real(0.5)
    mass = real(0.0)
    moment = vec3()
    kinetic = real(0.0)
    P = vec3()
    L = vec3()
    i = int(0)
    while i < tree.links:
        m = tree.mass[i]
        R = get33(ws.R, i, w)
        om = get3(ws.V, 2 * i + 1, w)
        r = get3(ws.x, i, w) + R * tree.com[i]
        v_com = get3(ws.V, 2 * i, w) + wp.cross(om, r)
        spin = R * (tree.inertia[i] * (wp.transpose(R) * om))
        r = r + get3(ws.O, tree.root[i], w)
        mass = mass + m
        moment = moment + r * m
        kinetic = kinetic + half * (m * wp.dot(v_com, v_com) + wp.dot(om, spin))
        P = P + v_com * m
        L = L + wp.cross(r, v_com * m) + spin
        i += 1
    d = int(0)
    while d < tree.dof[tree.links]:
        kinetic = kinetic + half * tree.armature[d] * v[d, w] * v[d, w]
        d += 1
    out[0, w] = mass
    out[1, w] = moment[0]
    out[2, w] = moment[1]
    out[3, w] = moment[2]
    out[4, w] = kinetic
    out[5, w] = spring_energy(tree, ws, q, w) - wp.dot(tree.gravity, moment)
    out[6, w] = P[0]
    out[7, w] = P[1]
    out[8, w] = P[2]
    out[9, w] = L[0]
    out[10, w] = L[1]
    out[11, w] = L[2]
