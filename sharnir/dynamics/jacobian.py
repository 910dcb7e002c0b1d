"""Jacobians of points and frames (M-13)."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.tree import Tree, Workspace
from sharnir.kernels.columns import get3, get33
from sharnir.kernels.types import ANGULAR_X, ANGULAR_Y, ANGULAR_Z, SPATIAL, array2, real, vec3


@wp.func
def point_jacobian(tree: wp.ref[Tree], ws: wp.ref[Workspace], link: int, point: vec3, J: array2, w: int):
    """J[k·nv + d]: rows are v (3) of the point, given in the link frame, and ω (3), world axes."""
    dofs = tree.dof[tree.links]
    r = get3(ws.x, link, w) + get33(ws.R, link, w) * point
    d = int(0)
    while d < SPATIAL * dofs:
        J[d, w] = real(0.0)
        d += 1
    i = int(link)
    while i >= 0:
        d = tree.dof[i]
        while d < tree.dof[i + 1]:
            Sw = get3(ws.S, 2 * d + 1, w)
            Sv = get3(ws.S, 2 * d, w) + wp.cross(Sw, r)
            J[d, w] = Sv[0]
            J[dofs + d, w] = Sv[1]
            J[2 * dofs + d, w] = Sv[2]
            J[ANGULAR_X * dofs + d, w] = Sw[0]
            J[ANGULAR_Y * dofs + d, w] = Sw[1]
            J[ANGULAR_Z * dofs + d, w] = Sw[2]
            d += 1
        i = tree.parent[i]
