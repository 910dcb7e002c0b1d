"""Triangles: distance, the side they push to, and edges across which the surface goes on."""

from __future__ import annotations

import numpy as np
import pytest
from narrow_pairs import Hulls, Shapes, touch_all
from narrow_reference import gap_along, outside, random_hulls, random_shapes

from sharnir.enums import ShapeKind

SOLIDS = [ShapeKind.SPHERE, ShapeKind.CAPSULE, ShapeKind.BOX, ShapeKind.CYLINDER, ShapeKind.HULL]
SIZE = {
    ShapeKind.SPHERE: [0.1, 0, 0],
    ShapeKind.CAPSULE: [0.1, 0.1, 0],
    ShapeKind.BOX: [0.1, 0.1, 0.1],
    ShapeKind.CYLINDER: [0.1, 0.1, 0],
}
# a corner at the origin, the others along x and y; edges: 0 along x, 1 the long one, 2 along y
FLAT = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])


def triangles(corners: np.ndarray, n: int = 1, data: int = 0) -> Shapes:
    return Shapes.of(ShapeKind.TRIANGLE, [0, 0, 0], corners, np.zeros((n, 3)), np.full(n, data))


def ball(kind: int, x: object) -> Shapes:
    return Shapes.of(kind, SIZE.get(kind, [0, 0, 0]), np.eye(3), [x])


@pytest.mark.parametrize("kind", SOLIDS)
def test_distance_of_shapes_apart_is_certain(kind: int) -> None:
    """Slabs along the normal are the gap apart, so nothing is nearer; two points of the shapes are, so that is it."""
    rng = np.random.default_rng(kind)
    hulls = random_hulls(rng)
    n = 1000
    A, B = (
        Shapes.of(ShapeKind.TRIANGLE, [0, 0, 0], rng.uniform(-1, 1, (n, 3, 3)), np.zeros((n, 3))),
        random_shapes(rng, kind, n),
    )
    B.x *= 2
    points = touch_all(hulls, A, B, 1.0)
    apart = np.flatnonzero((points.count > 0) & (points.least() > 1e-6))
    assert len(apart) > 200
    for k in apart:
        normal, x, gap, _ = points.of(k)
        i = np.argmin(gap)
        assert abs(gap_along(A, B, hulls, k, normal[i]) - gap[i]) < 4e-6
        on_a, on_b = x[i] - normal[i] * gap[i] / 2, x[i] + normal[i] * gap[i] / 2
        share = np.linalg.solve(A.R[k], on_a)
        assert abs(share.sum() - 1) < 1e-3 and share.min() > -1e-3
        assert outside(B, hulls, k, on_b[None])[0] < 1e-3


@pytest.mark.parametrize("kind", SOLIDS)
def test_normals_point_to_the_side_of_the_centre(kind: int) -> None:
    """However deep, also where the way out of the other side were shorter."""
    rng = np.random.default_rng(3)
    hulls = random_hulls(rng)
    A, B = triangles(3 * FLAT - 0.9, 300), random_shapes(rng, kind, 300)
    B.x[:, 2] = rng.uniform(-1.5, -0.3, 300)  # the triangle is at z = −0.9
    points = touch_all(hulls, A, B, 0.01)
    side = np.sign(B.x[:, 2] + 0.9)
    found = points.count > 0
    assert found.sum() > 100
    assert np.all(points.normal[found, 0, 2] * side[found] > -1e-3 - 1e-9)


@pytest.mark.parametrize(
    "kind", [ShapeKind.SPHERE, ShapeKind.CAPSULE, ShapeKind.BOX, ShapeKind.CYLINDER, ShapeKind.HULL]
)
def test_nothing_leans_over_an_edge_where_the_surface_goes_on(kind: int) -> None:
    """Beside edge 0, half over it: pushed sideways if the triangle ends there, upwards or not at all if it goes on."""
    hulls = Hulls([np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)])])
    B = ball(kind, [0.4, -0.095, 0.02])
    ends = touch_all(hulls, triangles(FLAT), B, 0.01)
    assert ends.count[0] > 0 and ends.normal[0, 0, 1] < -0.5
    goes_on = touch_all(hulls, triangles(FLAT, data=1), B, 0.01)
    normal = goes_on.of(0)[0]
    assert np.allclose(normal, [0, 0, 1]) and (len(normal) > 0 or kind in (ShapeKind.SPHERE, ShapeKind.CAPSULE))
    other_edge = touch_all(hulls, triangles(FLAT, data=6), B, 0.01)
    assert np.array_equal(other_edge.normal, ends.normal)


def test_two_triangles_of_a_square_carry_a_box_like_one_floor() -> None:
    """A box across the diagonal of a flat square: all points push up, and reach its four corners."""
    R = np.array(
        [np.column_stack([[0, 0, 0], [1, 0, 0], [1, 1, 0]]), np.column_stack([[0, 0, 0], [1, 1, 0], [0, 1, 0]])]
    )
    A = Shapes.of(ShapeKind.TRIANGLE, [0, 0, 0], R, np.zeros((2, 3)), [4, 1])
    B = Shapes.of(ShapeKind.BOX, [0.2, 0.2, 0.2], np.eye(3), [[0.5, 0.5, 0.199]] * 2)
    points = touch_all(None, A, B, 0.01)
    assert np.all(points.count >= 3)
    x = np.vstack([points.of(k)[1] for k in range(2)])
    assert np.allclose(np.vstack([points.of(k)[0] for k in range(2)]), [0, 0, 1])
    for corner in ([0.3, 0.3], [0.3, 0.7], [0.7, 0.3], [0.7, 0.7]):
        assert np.linalg.norm(x[:, :2] - corner, axis=1).min() < 1e-6


@pytest.mark.parametrize("corners", [np.zeros((3, 3)), np.array([[0.0, 0.5, 1.0]] * 3), np.diag([1e-9, 1e-9, 1e-9])])
@pytest.mark.parametrize("kind", SOLIDS)
def test_triangles_without_area_give_finite_answers(kind: int, corners: np.ndarray) -> None:
    hulls = random_hulls(np.random.default_rng(0))
    for x in ([0, 0, 0], [0.05, 0, 0], [0, 0, 0.1], [0.3, 0.3, 0.3]):
        normal, point, gap, _ = touch_all(hulls, triangles(corners), ball(kind, x), 0.01).of(0)
        assert np.all(np.isfinite(point)) and np.all(np.isfinite(gap))
        assert np.allclose(np.linalg.norm(normal, axis=1), 1)
