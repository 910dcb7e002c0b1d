"""Kinematics and inertias of a compiled model in numpy, and the check that the joint-space inertia is regular."""

from __future__ import annotations

import numpy as np

from sharnir.errors import fail
from sharnir.model.kinematics import link_axes, spatial_inertia, tree_pivots
from sharnir.model.model import Model
from sharnir.model.poses import Pose

MIN_INERTIA_RATIO = 1e-13  # least ratio of a joint's articulated to its composite inertia: above rounding


def check_inertia_is_regular(model: Model, poses: list[Pose]) -> None:
    """Check that every joint coordinate moves some inertia: eliminate coordinates one by one, tips first (M-7)."""
    pivots = tree_pivots(model, poses)
    inertia = [spatial_inertia(model, i, poses[i], pivots[i]) for i in range(model.nb)]
    size = [np.array([I[0, 0], I.diagonal()[3:].max()]) for I in inertia]  # of the composite inertia: mass, moment
    for i in reversed(range(model.nb)):
        axes = link_axes(model, i, poses, pivots[i])
        for d in sorted(axes, reverse=True):
            S = axes[d]
            U = inertia[i] @ S
            D = S @ U + model.armature[d]
            whole = np.array([S[:3] @ S[:3], S[3:] @ S[3:]]) @ size[i] + model.armature[d]
            if not MIN_INERTIA_RATIO * whole < D:
                coordinate = d - int(model.dof_start[i])
                raise fail(
                    f"joint {model.joint_names[i]!r} of body {model.body_names[i]!r}",
                    "the joint-space inertia is singular",
                    f"inertia {max(D, 0.0):.3g} of {whole:.3g} against its velocity coordinate {coordinate}",
                    "mass or rotational inertia of the bodies beyond it in that direction, or armature",
                )  # fmt: skip
            inertia[i] = inertia[i] - np.outer(U, U) / D
        if model.parent[i] >= 0:
            inertia[model.parent[i]] = inertia[model.parent[i]] + inertia[i]
            size[model.parent[i]] = size[model.parent[i]] + size[i]
