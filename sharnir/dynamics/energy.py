"""Centre of mass, energy and momentum (M-17..M-19)."""

from __future__ import annotations

from enum import IntEnum

import warp as wp

from sharnir.dynamics.forces import spring_energy
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.kernels.columns import get3, get33, item, set_item
from sharnir.kernels.types import array2, real, vec3


class Total(IntEnum):
    """Numbers of `totals`."""

    MASS = 0  # kg
    MOMENT_X = 1  # first moment of mass, kg m
    MOMENT_Y = 2
    MOMENT_Z = 3
    KINETIC = 4  # energy, J
    POTENTIAL = 5
    LINEAR_X = 6  # linear momentum, kg m/s
    LINEAR_Y = 7
    LINEAR_Z = 8
    ANGULAR_X = 9  # angular momentum about the origin, kg m²/s
    ANGULAR_Y = 10
    ANGULAR_Z = 11


TOTALS_SIZE = len(Total)


@wp.func
def link_kinetic_energy(tree: wp.ref[Tree], ws: wp.ref[Workspace], i: int, w: int):
    """Kinetic energy of link i."""
    R = get33(ws.R, i, w)
    om = get3(ws.V, 2 * i + 1, w)
    v_com = get3(ws.V, 2 * i, w) + wp.cross(om, get3(ws.x, i, w) + R * tree.com[i])
    turning = wp.transpose(R) * om
    return real(0.5) * (tree.mass[i] * wp.dot(v_com, v_com) + wp.dot(turning, tree.inertia[i] * turning))


@wp.func
def energies(tree: wp.ref[Tree], ws: wp.ref[Workspace], q: array2, v: array2, w: int):
    """Kinetic energy, rotors included, and potential energy, springs included, of all links and tree joints."""
    kinetic = real(0.0)
    potential = spring_energy(tree, ws, q, w)
    i = int(0)
    while i < tree.links:
        kinetic = kinetic + link_kinetic_energy(tree, ws, i, w)
        r = get3(ws.O, tree.root[i], w) + get3(ws.x, i, w) + get33(ws.R, i, w) * tree.com[i]
        potential = potential - tree.mass[i] * wp.dot(tree.gravity, r)
        i += 1
    d = int(0)
    while d < tree.dof[tree.links]:
        kinetic = kinetic + real(0.5) * tree.armature[d] * item(v, d, w) * item(v, d, w)
        d += 1
    return kinetic, potential


@wp.func
def totals(tree: wp.ref[Tree], ws: wp.ref[Workspace], q: array2, v: array2, out: array2, w: int):
    """Sums over all links of world w: mass (kg), first moment (kg m), kinetic and potential energy (J), linear momentum
    (kg m/s) and angular momentum about the origin (kg m²/s): TOTALS_SIZE numbers."""
    mass = real(0.0)
    moment = vec3()
    P = vec3()
    L = vec3()
    i = int(0)
    while i < tree.links:
        m = tree.mass[i]
        R = get33(ws.R, i, w)
        om = get3(ws.V, 2 * i + 1, w)
        r = get3(ws.x, i, w) + R * tree.com[i]
        v_com = get3(ws.V, 2 * i, w) + wp.cross(om, r)
        r = r + get3(ws.O, tree.root[i], w)
        mass = mass + m
        moment = moment + r * m
        P = P + v_com * m
        L = L + wp.cross(r, v_com * m) + R * (tree.inertia[i] * (wp.transpose(R) * om))
        i += 1
    kinetic, potential = energies(tree, ws, q, v, w)
    set_item(out, Total.MASS, w, mass)
    set_item(out, Total.MOMENT_X, w, moment[0])
    set_item(out, Total.MOMENT_Y, w, moment[1])
    set_item(out, Total.MOMENT_Z, w, moment[2])
    set_item(out, Total.KINETIC, w, kinetic)
    set_item(out, Total.POTENTIAL, w, potential)
    set_item(out, Total.LINEAR_X, w, P[0])
    set_item(out, Total.LINEAR_Y, w, P[1])
    set_item(out, Total.LINEAR_Z, w, P[2])
    set_item(out, Total.ANGULAR_X, w, L[0])
    set_item(out, Total.ANGULAR_Y, w, L[1])
    set_item(out, Total.ANGULAR_Z, w, L[2])
