"""Momentum of floating trees where an outer iteration ends before it has converged (M-102).

The residual of the momentum balance that a step leaves (M-33) is carried to the next one only while it is small. What is
larger is left out, but for its sum over the bodies of a tree that floats: otherwise momentum would get lost in an
impact that the passes of a step do not resolve.
"""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.aba import outward
from sharnir.impulse.data import Context
from sharnir.kernels.columns import get, get3, get33, put, put3
from sharnir.kernels.types import identity33, mat33, real, vec3

FREE_DOFS = 6  # velocity coordinates of the root of a tree that floats
# least determinant of a tree's inertia over the cube of its trace: below, as for a thin rod, no rotation is restored
MIN_INERTIA_DETERMINANT = wp.constant(real(1.0e-9))


@wp.func
def swap_residual(ctx: Context, w: int):
    """Exchange z and the whitened residual."""
    d = int(0)
    while d < ctx.layout.dofs:
        z = get(ctx.here.z, d, w)
        put(ctx.here.z, d, w, get(ctx.work.z_residual, d, w))
        put(ctx.work.z_residual, d, w, z)
        d += 1


@wp.func
def restore_momentum(ctx: Context, root: int, w: int):
    """Add the momentum and angular momentum that the residual's velocities (in the workspace) have in the floating tree
    of link `root` to the momenta of its links, as those of a rigid motion of the whole tree."""
    mass = real(0.0)
    centre = vec3()
    momentum = vec3()
    i = int(root)
    while i < ctx.layout.links and ctx.layout.link_root[wp.min(i, ctx.layout.links - 1)] == root:
        x = get3(ctx.here.com, i, w)
        v = get3(ctx.here.a, 2 * i, w) + wp.cross(get3(ctx.here.a, 2 * i + 1, w), x)
        mass = mass + ctx.tree.mass[i]
        centre = centre + x * ctx.tree.mass[i]
        momentum = momentum + v * ctx.tree.mass[i]
        i += 1
    end = i
    centre = centre / mass
    inertia = mat33()
    spin = vec3()
    i = int(root)
    while i < end:
        r = get3(ctx.here.com, i, w) - centre
        om = get3(ctx.here.a, 2 * i + 1, w)
        v = get3(ctx.here.a, 2 * i, w) + wp.cross(om, get3(ctx.here.com, i, w))
        R = get33(ctx.here.R, i, w)
        I = R * ctx.tree.inertia[i] * wp.transpose(R)
        inertia = inertia + I + (identity33() * wp.dot(r, r) - wp.outer(r, r)) * ctx.tree.mass[i]
        spin = spin + I * om + wp.cross(r, v) * ctx.tree.mass[i]
        i += 1
    turn = vec3()
    trace = inertia[0, 0] + inertia[1, 1] + inertia[2, 2]
    if wp.determinant(inertia) > MIN_INERTIA_DETERMINANT * trace * trace * trace:
        turn = wp.inverse(inertia) * spin
    i = int(root)
    while i < end:
        R = get33(ctx.here.R, i, w)
        v = momentum / mass + wp.cross(turn, get3(ctx.here.com, i, w) - centre)
        put3(ctx.here.C, 2 * i, w, get3(ctx.here.C, 2 * i, w) + v * ctx.tree.mass[i])
        L = R * (ctx.tree.inertia[i] * (wp.transpose(R) * turn))
        put3(ctx.here.C, 2 * i + 1, w, get3(ctx.here.C, 2 * i + 1, w) + L)
        i += 1


@wp.func
def restore_tree_momenta(ctx: Context, w: int):
    """Give the momenta C of the step back what the residual that is not carried takes from every floating tree as a
    whole (M-102)."""
    swap_residual(ctx, w)
    outward(ctx.tree, ctx.here, ctx.state.v_exact, w)
    swap_residual(ctx, w)
    i = int(0)
    while i < ctx.layout.links:
        floats = ctx.tree.parent[i] < 0 and ctx.tree.dof[i + 1] - ctx.tree.dof[i] == FREE_DOFS
        if floats:
            restore_momentum(ctx, i, w)
        i += 1
