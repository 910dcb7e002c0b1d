"""Points of shapes that may touch half-spaces: spheres, ends of capsules, corners of boxes, rims of cylinders."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from sharnir.kinds import BOX, CAPSULE, CYLINDER, HALF_SPACE, SPHERE

if TYPE_CHECKING:
    from sharnir.model import Model

RIM = 8  # points on each rim of a cylinder


def shape_points(kind: int, size: np.ndarray) -> tuple[np.ndarray, float]:
    """Points [n, 3] of a shape in its own frame and the radius about them."""
    if kind == SPHERE:
        return np.zeros((1, 3)), float(size[0])
    if kind == CAPSULE:
        return np.array([[0.0, 0.0, s * size[1] / 2] for s in (-1, 1)]), float(size[0])
    if kind == BOX:
        return np.array([*product((-0.5, 0.5), repeat=3)]) * size, 0.0
    if kind == CYLINDER:
        angle = np.arange(RIM) * 2 * np.pi / RIM
        rim = np.column_stack([np.cos(angle), np.sin(angle)]) * size[0]
        return np.array([[*xy, s * size[1] / 2] for s in (-1, 1) for xy in rim]), 0.0
    return np.zeros((0, 3)), 0.0


def contact_arrays(model: Model) -> dict[str, Any]:
    """Every pair of a body's point and a half-space, and the half-spaces."""
    planes = [k for k in range(len(model.shape_kind)) if model.shape_kind[k] == HALF_SPACE]
    link, plane, point, radius, mu = [], [], [], [], []
    for k in range(len(model.shape_kind)):
        if model.shape_link[k] < 0:
            continue
        points, r = shape_points(int(model.shape_kind[k]), model.shape_size[k])
        for n, half_space in enumerate(planes):
            for x in points:
                link.append(int(model.shape_link[k]))
                plane.append(n)
                point.append(model.shape_pos[k] + model.shape_rot[k] @ x)
                radius.append(r)
                mu.append(float(np.sqrt(model.shape_friction[k] * model.shape_friction[half_space])))
    return {
        "contact_link": link, "contact_plane": plane, "contact_radius": radius, "contact_mu": mu,
        "contact_point": np.array(point, dtype=float).reshape(-1, 3),
        "plane_normal": np.array([model.shape_rot[k][:, 2] for k in planes], dtype=float).reshape(-1, 3),
        "plane_point": np.array([model.shape_pos[k] for k in planes], dtype=float).reshape(-1, 3),
    }  # fmt: skip
