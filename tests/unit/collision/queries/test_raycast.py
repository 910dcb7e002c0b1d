"""Rays against every kind of shape: distance functions in numpy, brute force over triangles, and what is refused."""

import numpy as np
import pytest
from refusal import refused
from scipy.spatial import ConvexHull as Qhull

from sharnir import (
    Body,
    Box,
    Capsule,
    ConvexHull,
    Cylinder,
    HalfSpace,
    HeightField,
    Mesh,
    Revolute,
    Scene,
    Sphere,
    compile,
)
from sharnir.collision.queries.raycast import ray_cast
from sharnir.kernels.types import DOUBLE
from sharnir.rotations import quat_to_matrix

EPS = 1e-9 if DOUBLE else 2e-4
TURN = np.array([0.1, -0.2, 0.3, 0.9])
PLACE = np.array([0.3, -0.2, 0.5])
CORNERS = np.random.default_rng(5).normal(size=(30, 3))


def box_distance(p, half):
    d = np.abs(p) - half
    return np.linalg.norm(np.maximum(d, 0), axis=-1) + np.minimum(d.max(axis=-1), 0)


def tube_distance(p, radius, half):
    d = np.stack([np.linalg.norm(p[..., :2], axis=-1) - radius, np.abs(p[..., 2]) - half], axis=-1)
    return np.linalg.norm(np.maximum(d, 0), axis=-1) + np.minimum(d.max(axis=-1), 0)


def capsule_distance(p, radius, half):
    q = p - np.clip(p[..., 2], -half, half)[..., None] * np.array([0, 0, 1])
    return np.linalg.norm(q, axis=-1) - radius


def hull_distance(p):
    planes = Qhull(CORNERS).equations
    return (p @ planes[:, :3].T + planes[:, 3]).max(axis=-1)


SHAPES = {
    "sphere": (Sphere, {"radius": 0.7}, lambda p: np.linalg.norm(p, axis=-1) - 0.7),
    "box": (Box, {"size": (0.4, 1.0, 1.6)}, lambda p: box_distance(p, np.array([0.2, 0.5, 0.8]))),
    "cylinder": (Cylinder, {"radius": 0.5, "length": 1.2}, lambda p: tube_distance(p, 0.5, 0.6)),
    "capsule": (Capsule, {"radius": 0.3, "length": 1.0}, lambda p: capsule_distance(p, 0.3, 0.5)),
    "half-space": (HalfSpace, {}, lambda p: p[..., 2]),
    "hull": (ConvexHull, {"points": CORNERS}, hull_distance),
}


def random_rays(count, seed, spread=2.0):
    rng = np.random.default_rng(seed)
    origins = rng.normal(size=(count, 3)) * spread
    directions = 0.6 * rng.normal(size=(count, 3)) - origins
    directions[: count // 4] = np.eye(3)[np.arange(count // 4) % 3] * rng.choice([-1, 1], size=(count // 4, 1))
    return origins, directions


@pytest.mark.parametrize("name", SHAPES)
def test_rays_end_where_the_distance_function_says(name):
    cls, size, function = SHAPES[name]
    model = compile(Scene(shapes=[cls(**size, position=PLACE, orientation=TURN)]))
    origins, directions = random_rays(400, 1)
    far = 20.0
    distance, shape, normal = ray_cast(model, model.q0, origins, 3.0 * directions, far)
    R = quat_to_matrix(TURN)
    o, d = (origins - PLACE) @ R, directions / np.linalg.norm(directions, axis=1, keepdims=True) @ R
    hit = shape == 0
    assert hit.sum() > 50 and (~hit).sum() > 10
    assert np.isinf(distance[~hit]).all() and (shape[~hit] == -1).all() and (normal[~hit] == 0).all()
    inside = function(o) <= 0
    np.testing.assert_array_equal(distance[inside], 0.0)
    np.testing.assert_allclose(normal[inside], -d[inside] @ R.T, atol=EPS)
    outside = hit & ~inside
    end = o + d * np.where(hit, distance, far)[:, None]
    np.testing.assert_allclose(function(end[outside]), 0.0, atol=10 * EPS)
    way = np.linspace(0.0, 1.0, 200)[1:-1]
    before = o[:, None] + d[:, None] * (np.where(hit, distance, far)[:, None] * way)[..., None]
    assert function(before)[~inside].min() > -10 * EPS
    n = normal[outside] @ R
    np.testing.assert_allclose(np.linalg.norm(n, axis=1), 1.0, atol=EPS)
    assert ((n * d[outside]).sum(axis=1) < EPS).all()
    slope = (function(end[outside] + 1e-6 * n) - function(end[outside] - 1e-6 * n)) / 2e-6
    assert np.median(slope) > 1 - 1e-3 and (slope > 0.5).all()


def brute_force(corners, origins, directions):
    """Distances [rays], inf for none, over triangles [n, 3, 3] one by one, from both sides."""
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    best = np.full(len(origins), np.inf)
    for k, (o, d) in enumerate(zip(origins, directions, strict=True)):
        normal = np.cross(b - a, c - a)
        with np.errstate(all="ignore"):
            t = ((a - o) * normal).sum(axis=1) / (normal @ d)
            p = o + d * t[:, None]
            sides = [(np.cross(v - u, p - u) * normal).sum(axis=1) for u, v in ((a, b), (b, c), (c, a))]
        ok = (np.min(sides, axis=0) >= 0) & (t >= 0)
        best[k] = t[ok].min() if ok.any() else np.inf
    return best


def test_meshes_against_brute_force():
    rng = np.random.default_rng(2)
    corners = rng.normal(size=(400, 1, 3)) + 0.2 * rng.normal(size=(400, 3, 3))
    model = compile(Scene(shapes=[Mesh(vertices=corners.reshape(-1, 3), faces=np.arange(1200).reshape(-1, 3))]))
    origins, directions = random_rays(500, 3)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    distance, shape, normal = ray_cast(model, [], origins, directions)
    expected = brute_force(corners, origins, directions)
    assert np.isfinite(expected).sum() > 100
    np.testing.assert_allclose(distance, expected, rtol=EPS, atol=EPS)
    assert ((normal * directions).sum(axis=1)[shape == 0] <= 0).all()


def hills(rows, columns, size, seed=0):
    """Heights, and the same surface as vertices and faces."""
    heights = 0.3 * np.random.default_rng(seed).normal(size=(rows, columns))
    x, y = (np.linspace(-s / 2, s / 2, n) for s, n in zip(size, (rows, columns), strict=True))
    vertices = np.array([[x[i], y[j], heights[i, j]] for i in range(rows) for j in range(columns)])
    i, j = (k.reshape(-1) for k in np.mgrid[: rows - 1, : columns - 1])
    a = i * columns + j
    faces = np.concatenate([np.stack([a, a + columns, a + columns + 1], 1), np.stack([a, a + columns + 1, a + 1], 1)])
    return heights, vertices, faces


def test_height_fields_from_above_are_as_their_meshes():
    heights, vertices, faces = hills(9, 14, (3.0, 5.0))
    place = {"position": PLACE, "orientation": TURN}
    rng = np.random.default_rng(4)
    R = quat_to_matrix(TURN)
    above = np.column_stack([rng.uniform(-1.5, 1.5, 600), rng.uniform(-2.5, 2.5, 600), np.full(600, 1.5)])
    origins = PLACE + above @ R.T
    directions = np.column_stack([rng.normal(size=(600, 2)), -0.2 - rng.random(600)]) @ R.T
    directions[:100] = -R[:, 2]
    scenes = [Scene(shapes=[HeightField(heights=heights, size=(3, 5), **place)]),
              Scene(shapes=[Mesh(vertices=vertices, faces=faces, **place)])]  # fmt: skip
    (d, s, n), (dm, sm, nm) = (ray_cast(compile(scene), [], origins, directions) for scene in scenes)
    both = (s == 0) & (sm == 0)
    assert both.sum() > 200
    assert (both == (sm == 0)).all()
    np.testing.assert_allclose(d[both], dm[both], rtol=10 * EPS)
    assert np.mean(np.abs(n - nm)[both].max(axis=1) < 1e-3) > 0.99  # rays through edges may take either side
    np.testing.assert_array_equal(ray_cast(compile(scenes[0]), [], PLACE - 5 * R[:, 2][None], R[:, :1].T)[0], 0.0)


def test_a_ray_enters_a_height_field_through_its_rim():
    model = compile(Scene(shapes=[HeightField(heights=np.full((3, 4), 1.0), size=(2, 2))]))
    distance, _, normal = ray_cast(
        model, [], [[-3, 0, 0.5], [-3, 0, 1.5], [0, 0, -9]], [[1, 0, 0], [1, 0, 0], [0, 0, 1]]
    )
    np.testing.assert_allclose(distance, [2, np.inf, 0])
    np.testing.assert_allclose(normal[0], [-1, 0, 0])


def test_the_nearest_shape_at_the_given_positions_counts():
    scene = Scene(shapes=[HalfSpace(position=(0, 0, -10))])
    scene.add(Body(name="arm", shapes=[Sphere(radius=0.5, position=(2, 0, 0))]))
    scene.add(Revolute(name="hinge", parent="world", child="arm", axis=(0, 0, 1)))
    model = compile(scene)
    rays = [[0, 2, 5], [2, 0, 5]], [[0, 0, -1], [0, 0, -1]]
    distance, shape, _ = ray_cast(model, [np.pi / 2], *rays)
    np.testing.assert_allclose(distance, [4.5, 15.0], rtol=1e-6)
    assert shape.tolist() == [0, 1]
    distance, shape, _ = ray_cast(model, [np.pi / 2], *rays, max_distance=12)
    assert np.isinf(distance[1]) and shape.tolist() == [0, -1]
    assert [x.shape for x in ray_cast(model, [0.0], np.zeros((0, 3)), np.zeros((0, 3)))] == [(0,), (0,), (0, 3)]


@pytest.mark.parametrize(
    "change, fragment",
    [
        ({"origins": [0, 0, 0]}, "origins"),
        ({"origins": [[0, 0, np.nan]]}, "origins"),
        ({"origins": "here"}, "origins"),
        ({"directions": [[0, 0, 1], [0, 0, 1]]}, "not as many"),
        ({"directions": [[0, 0, 0]]}, "directions[0] is zero"),
        ({"max_distance": -1.0}, "max_distance"),
        ({"max_distance": np.nan}, "max_distance"),
        ({"q": [0.0]}, "q has the wrong shape"),
    ],
)
def test_what_is_no_ray_is_refused(change, fragment):
    given = {"q": [], "origins": [[0, 0, 0]], "directions": [[0, 0, 1]]} | change
    with refused(fragment, "allowed: "):
        ray_cast(compile(Scene(shapes=[Sphere(radius=1)])), **given)
