"""World poses of the shapes of a model in a given configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from sharnir.collision.shapes import Geometry, ShapePose
from sharnir.errors import fail
from sharnir.kernels.types import mat33, vec3
from sharnir.model.kinematics import link_poses
from sharnir.model.poses import IDENTITY_POSE

if TYPE_CHECKING:
    from sharnir.model.model import Model, Reals


def shape_poses(model: Model, q: Any) -> tuple[Reals, Reals]:
    """Axes [shapes, 3, 3] and origins [shapes, 3] m of all shapes in the world at positions q [nq]."""
    q = model.checked("q", q, model.nq)
    if q.ndim != 1:
        raise fail(f"model {model.name!r}", "q has the wrong shape", list(q.shape), f"[{model.nq}]: one world")
    frames = [*link_poses(model, q), IDENTITY_POSE]  # the world is link -1
    R = np.array([p.R for p in frames])[model.shape_link]
    x = np.array([p.x for p in frames])[model.shape_link]
    return R @ model.shape_rot, x + np.einsum("kij,kj->ki", R, model.shape_pos)


@wp.func
def make_shape_pose(geo: Geometry, s: int, R: mat33, x: vec3):
    """Shape s with axes R and origin x (world, m)."""
    out = ShapePose()
    out.kind = geo.kind[s]
    out.data = geo.data[s]
    out.size = geo.size[s]
    out.R = R
    out.x = x
    return out
