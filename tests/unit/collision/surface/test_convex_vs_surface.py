"""Convex shapes on height fields and meshes: no seams, edges and corners where there are some, and no way through."""

import numpy as np
import pytest
from refusal import refused
from scipy.spatial.transform import Rotation

import sharnir as sh
from sharnir import (
    Body,
    Box,
    Capsule,
    ConvexHull,
    Cylinder,
    HalfSpace,
    HeightField,
    Mesh,
    Scene,
    Sphere,
    compile,
)
from sharnir.collision.queries.distance import distance, find_pair_contacts
from sharnir.kernels.types import DOUBLE

EPS = 1e-9 if DOUBLE else 1e-4
UPRIGHT = np.array([0.0, 0.0, 0.0, 1.0])
CUBE = np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)])
BODIES = {
    "sphere": Sphere(radius=0.1),
    "box": Box(size=(0.3, 0.4, 0.2)),
    "cylinder": Cylinder(radius=0.15, length=0.2),
    "capsule": Capsule(radius=0.1, length=0.3, orientation=(0, np.sqrt(0.5), 0, np.sqrt(0.5))),
    "hull": ConvexHull(points=CUBE),
}  # all of them 0.2 high


def grid(heights, size):
    """A surface of heights [rows, columns] over an area, as vertices and faces."""
    rows, columns = heights.shape
    x, y = (np.linspace(-s / 2, s / 2, n) for s, n in zip(size, heights.shape, strict=True))
    vertices = np.column_stack([np.repeat(x, columns), np.tile(y, rows), heights.reshape(-1)])
    i, j = (k.reshape(-1) for k in np.mgrid[: rows - 1, : columns - 1])
    a = i * columns + j
    faces = np.concatenate([np.stack([a, a + columns, a + columns + 1], 1), np.stack([a, a + columns + 1, a + 1], 1)])
    return {"vertices": vertices, "faces": faces}


def surfaces(heights, size):
    return {"mesh": Mesh(**grid(heights, size)), "field": HeightField(heights=heights, size=size)}


def on(surface, shape):
    """A model of a free body with a shape, number 0, on a surface, number 1."""
    return compile(Scene(shapes=[surface], bodies=[Body(name="a", shapes=[shape])]))


def pose(x, y, z, turn=UPRIGHT):
    return np.array([x, y, z, *turn])


@pytest.mark.parametrize("kind", ["mesh", "field"])
@pytest.mark.parametrize("name", BODIES)
def test_a_flat_floor_has_no_seams(name, kind):
    model = on(surfaces(np.zeros((21, 21)), (2.0, 2.0))[kind], BODIES[name])
    rng = np.random.default_rng(0)
    for k, (x, y) in enumerate([(0.0, 0.0), (0.05, 0.0), (0.1, 0.1), *rng.uniform(-0.6, 0.6, size=(60, 2))]):
        gap = (-0.002, 0.001, -0.03)[k % 3]
        spin = Rotation.from_euler("z", 0.3 * k).as_quat()
        normals, points, gaps, features = find_pair_contacts(model, pose(x, y, 0.1 + gap, spin), 1, 0, 0.005)
        assert 1 <= len(gaps) <= 8
        np.testing.assert_allclose(normals, np.tile([0, 0, 1], (len(gaps), 1)), atol=EPS)
        np.testing.assert_allclose(gaps, gap, atol=EPS)
        np.testing.assert_allclose(points[:, 2], gap / 2, atol=EPS)
        assert len(set(features.tolist())) == len(features)
        if name in ("box", "hull"):
            half = [0.15, 0.2] if name == "box" else [0.1, 0.1]
            local = (points[:, :2] - [x, y]) @ Rotation.from_quat(spin).as_matrix()[:2, :2]
            for corner in np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]]) * half:
                assert np.linalg.norm(local - corner, axis=1).min() < 0.01


@pytest.mark.parametrize("kind", ["mesh", "field"])
def test_a_ball_that_rolls_over_a_flat_floor_touches_it_in_one_point(kind):
    model = on(surfaces(np.zeros((21, 21)), (2.0, 2.0))[kind], Sphere(radius=0.1))
    for s in np.linspace(-0.85, 0.85, 200):
        normals, points, gaps, _ = find_pair_contacts(model, pose(s, 0.31 * s, 0.099), 1, 0, 0.01)
        assert len(gaps) == 1
        np.testing.assert_allclose([*normals[0], gaps[0], *points[0, :2]], [0, 0, 1, -0.001, s, 0.31 * s], atol=EPS)


@pytest.mark.parametrize("name", BODIES)
def test_height_fields_are_as_their_meshes(name):
    rng = np.random.default_rng(1)
    heights = 0.05 * rng.normal(size=(15, 12))
    mesh, field = (on(surface, BODIES[name]) for surface in surfaces(heights, (1.5, 1.2)).values())
    for k in range(20):
        q = pose(*rng.uniform(-0.3, 0.3, size=2), 0.6, Rotation.random(random_state=k).as_quat())
        for _ in range(8):
            apart = distance(mesh, q, 1, 0)[0]
            assert distance(field, q, 1, 0)[0] == pytest.approx(apart, abs=1e-6 if DOUBLE else 1e-3)
            q[2] -= apart - 0.001
        q[2] -= 0.005  # into it: shapes are pushed out along normals of the mesh, or along columns of the field
        deep = [distance(model, q, 1, 0)[0] for model in (mesh, field)]
        assert max(deep) < 0
        assert deep[0] == pytest.approx(deep[1], rel=0.5)


@pytest.mark.parametrize("kind", ["mesh", "field"])
@pytest.mark.parametrize("name", BODIES)
def test_what_sinks_into_spiky_ground_is_in_it_about_as_deep(name, kind):
    rng = np.random.default_rng(1)
    model = on(surfaces(0.05 * rng.normal(size=(15, 12)), (1.5, 1.2))[kind], BODIES[name])  # slopes of 45° and more
    for k in range(25):
        q = pose(*rng.uniform(-0.3, 0.3, size=2), 0.6, Rotation.random(random_state=k).as_quat())
        for _ in range(12):
            q[2] -= distance(model, q, 1, 0)[0] - 0.0005
        for depth in (0.002, 0.004):
            gap = find_pair_contacts(model, q - depth * np.eye(7)[2], 1, 0, 0.002)[2].min()
            assert -1.5 * depth < gap < 0


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("depth", [0.05, 0.15, 0.5, 3.0])
def test_height_fields_push_up_what_is_below_them(name, depth):
    rng = np.random.default_rng(2)
    model = on(HeightField(heights=0.02 * rng.normal(size=(21, 21)), size=(2.0, 2.0)), BODIES[name])
    for k in range(10):
        q = pose(*rng.uniform(-0.5, 0.5, size=2), 0.1 - depth, Rotation.random(random_state=k).as_quat())
        normals, _, gaps, _ = find_pair_contacts(model, q, 1, 0, 0.005)
        assert len(gaps) and normals[:, 2].min() > 0.4
        assert gaps.min() < -0.5 * depth + 0.1


def closest(corners, p):
    """Nearest point of a triangle to p, by projecting on its face, its edges and its corners."""
    a, b, c = corners
    normal = np.cross(b - a, c - a)
    inside = p - normal * ((p - a) @ normal) / (normal @ normal)
    if min(np.cross(v - u, inside - u) @ normal for u, v in ((a, b), (b, c), (c, a))) >= 0:
        return inside
    ends = [(u, v - u) for u, v in ((a, b), (b, c), (c, a))]
    points = [u + d * np.clip((p - u) @ d / (d @ d), 0, 1) for u, d in ends]
    return min(points, key=lambda x: np.linalg.norm(x - p))


def test_the_tree_of_a_mesh_misses_no_triangle():
    rng = np.random.default_rng(3)
    corners = rng.normal(size=(150, 1, 3)) + 0.3 * rng.normal(size=(150, 3, 3))
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    mesh = Mesh(vertices=corners.reshape(-1, 3), faces=np.arange(450).reshape(-1, 3))
    model = on(mesh, Sphere(radius=0.2))
    for _ in range(60):
        p = rng.normal(size=3)
        near = [(closest(t, p), n) for t, n in zip(corners, normals, strict=True)]
        expected = min(np.linalg.norm(p - x) for x, n in near if (p - x) @ n >= 0) - 0.2
        gap, on_mesh, on_ball, normal = distance(model, pose(*p), 1, 0)
        assert gap == pytest.approx(expected, abs=10 * EPS)
        np.testing.assert_allclose(on_ball - on_mesh, normal * gap, atol=10 * EPS)


def test_a_ridge_a_valley_and_a_rim():
    ridge = np.repeat([[0.0], [1.0], [0.0]], 5, axis=1)  # slopes of 45° that meet above x = 0
    model = on(Mesh(**grid(ridge, (2.0, 4.0))), Sphere(radius=0.1))
    normals, points, gaps, _ = find_pair_contacts(model, pose(0.0, 0.3, 1.09), 1, 0, 0.02)
    np.testing.assert_allclose(normals, [[0, 0, 1]], atol=EPS)
    np.testing.assert_allclose(gaps, -0.01, atol=EPS)
    np.testing.assert_allclose(points, [[0, 0.3, 0.995]], atol=EPS)
    model = on(Mesh(**grid(1.0 - ridge, (2.0, 4.0))), Sphere(radius=0.1))
    normals, _, gaps, _ = find_pair_contacts(model, pose(0.0, 0.3, 0.1 * np.sqrt(2) - 0.01), 1, 0, 0.02)
    np.testing.assert_allclose(sorted(normals[:, 0]), np.array([-1, 1]) * np.sqrt(0.5), atol=EPS)
    np.testing.assert_allclose(gaps, -0.01 * np.sqrt(0.5), atol=EPS)
    model = on(Mesh(**grid(np.zeros((3, 3)), (2.0, 2.0))), Sphere(radius=0.1))
    normals, _, gaps, _ = find_pair_contacts(model, pose(1.06, 0.2, 0.08), 1, 0, 0.02)
    np.testing.assert_allclose(normals, [[0.6, 0, 0.8]], atol=EPS)
    np.testing.assert_allclose(gaps, 0.0, atol=EPS)


def test_a_peak_holds_a_wide_box_in_its_tip():
    heights = np.zeros((5, 5))
    heights[2, 2] = 0.5
    for surface in surfaces(heights, (4.0, 4.0)).values():
        normals, points, gaps, _ = find_pair_contacts(
            on(surface, Box(size=(1, 1, 0.2))), pose(0.1, 0, 0.599), 1, 0, 0.01
        )
        np.testing.assert_allclose(normals, np.tile([0, 0, 1], (len(gaps), 1)), atol=EPS)
        k = int(np.argmin(gaps))
        np.testing.assert_allclose([*points[k], gaps[k]], [0, 0, 0.4995, -0.001], atol=EPS)


def test_distances():
    scene = Scene(shapes=[Sphere(radius=1), Box(size=(2, 2, 2), position=(3, 0, 0)), HalfSpace(position=(0, 0, -5))])
    scene.add(HeightField(heights=np.zeros((4, 4)), size=(10, 10), position=(0, 0, -7)))
    model = compile(scene)
    for a, b, expected in ((0, 1, 1.0), (1, 0, 1.0), (0, 2, 4.0), (2, 1, 4.0), (0, 3, 6.0), (3, 1, 6.0)):
        gap, on_a, on_b, normal = distance(model, [], a, b)
        assert gap == pytest.approx(expected, abs=EPS)
        np.testing.assert_allclose(on_b - on_a, normal * gap, atol=EPS)
    for pair in ((0, 0), (2, 3)):
        with refused("not two shapes that can be apart", f"shapes {pair[0]} and {pair[1]}"):
            distance(model, [], *pair)
    with refused("shape is out of range", "0 to 3"):
        distance(model, [], 0, 4)


@pytest.mark.parametrize("start", [-3.0, -2.99, 1.234])
def test_a_cylinder_rolls_on_over_large_triangles(start):
    """What just touches counts as an overlap by rounding: it was pushed down through the floor."""
    material = sh.Material(friction=0.8)
    corners = [(-10, -3, 0), (10, -3, 0), (10, 3, 0), (-10, 3, 0)]
    scene = sh.Scene(name="roll")
    scene.add(sh.Mesh(vertices=corners, faces=[(0, 1, 2), (0, 2, 3)], material=material))
    lying = (-np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))
    wheel = sh.Cylinder(radius=0.1, length=0.12, orientation=lying, material=material)
    scene.add(sh.Body(name="wheel", mass=5.0, shapes=[wheel], position=(start, 0.3, 0.1)))
    scene.add(sh.Free(name="free", parent="world", child="wheel", velocity=(1, 0, 0, 0, 10, 0)))
    sim = sh.Simulation(scene, dt=0.005)
    sim.run(1.0)
    np.testing.assert_allclose(sim.body("wheel").velocity, (1.0, 0.0, 0.0), atol=1e-3)
    assert abs(sim.body("wheel").position[2] - 0.1) < 1e-5
