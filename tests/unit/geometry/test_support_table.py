"""Farthest vertices by cells of directions: as among all vertices, also where faces are flat and rims round."""

from __future__ import annotations

import numpy as np
import warp as wp
from narrow_pairs import Hulls

from sharnir.collision.convex.support_mapping import hull_support
from sharnir.collision.shapes import Geometry
from sharnir.geometry.support_table import build_support_table
from sharnir.kernels.types import KERNEL_OPTIONS, np_real, vec3
from sharnir.kernels.vector_ops import indices

wp.set_module_options(KERNEL_OPTIONS)
EXACT = 1e-14  # of the size


@wp.kernel
def _farthest(geo: Geometry, direction: wp.array(dtype=vec3), vertex: indices, point: wp.array(dtype=vec3)):
    w = wp.tid()
    number, at = hull_support(geo, 0, direction[w])
    vertex[w] = number
    point[w] = at


def clouds() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    ball = rng.normal(size=(400, 3))
    angle = np.linspace(0.0, 2 * np.pi, 90, endpoint=False)
    rim = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    drum = np.concatenate([np.column_stack([rim, np.full(90, z)]) for z in (-0.3, 0.3)])
    return {
        "ball": ball / np.linalg.norm(ball, axis=1, keepdims=True) * [1.0, 0.4, 2.0],
        "drum": drum,
        "turned drum": drum @ np.linalg.qr(rng.normal(size=(3, 3)))[0],
        "small": rng.normal(size=(12, 3)),
    }


def directions() -> np.ndarray:
    """Random ones, and those on the edges of cells."""
    rng = np.random.default_rng(4)
    grid = np.stack(np.meshgrid(*[np.linspace(-1.0, 1.0, 9)] * 3), axis=-1).reshape(-1, 3)
    return np.concatenate([rng.normal(size=(4000, 3)), grid[np.abs(grid).max(axis=1) > 0]])


def test_no_vertex_is_farther() -> None:
    d = directions()
    for name, cloud in clouds().items():
        hulls = Hulls([cloud])
        vertex, point = wp.zeros(len(d), dtype=int, device="cpu"), wp.zeros(len(d), dtype=vec3, device="cpu")
        along = wp.array(d.astype(np_real), dtype=vec3, device="cpu")
        wp.launch(_farthest, dim=len(d), inputs=[hulls.geometry("cpu"), along, vertex, point], device="cpu")
        all_points = np.array(hulls.vertex)
        found = point.numpy()
        assert np.array_equal(found, all_points[vertex.numpy()]), name
        lost = (d @ all_points.T).max(axis=1) - np.einsum("ij,ij->i", d, found)
        assert (lost <= EXACT * np.linalg.norm(d, axis=1) * np.abs(all_points).max()).all(), name


def test_cells_leave_few_vertices_to_compare() -> None:
    hulls = Hulls([clouds()["ball"]])
    _, cell, _ = build_support_table(np.array(hulls.first), np.array(hulls.vertex))
    assert np.diff(cell).mean() < 8
    assert np.diff(cell).min() >= 1


def test_a_direction_that_is_none_finds_a_vertex() -> None:
    hulls = Hulls([clouds()["ball"]])
    d = np.array([[0.0, 0.0, 0.0], [np.nan, 1.0, 0.0], [np.inf, 0.0, 1.0]])
    vertex, point = wp.zeros(3, dtype=int, device="cpu"), wp.zeros(3, dtype=vec3, device="cpu")
    along = wp.array(d.astype(np_real), dtype=vec3, device="cpu")
    wp.launch(_farthest, dim=3, inputs=[hulls.geometry("cpu"), along, vertex, point], device="cpu")
    assert (vertex.numpy() >= 0).all() and (vertex.numpy() < len(hulls.vertex)).all()
