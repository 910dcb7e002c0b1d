"""Convex hulls: faces, edges, mass, and what is refused."""

import numpy as np
import pytest
from refusal import refused

from sharnir import Body, Box, ConvexHull, Revolute, Scene, compile
from sharnir.enums import ShapeKind
from sharnir.geometry.convex_hull import build_vertex_faces, convex_hull
from sharnir.rotations import quat_to_matrix

CUBE = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
TURN = (0.1, -0.2, 0.3, 0.9)


def check(hull, points):
    """Euler's formula; edges of faces and neighbours agree; faces look outward, turn left and hold all points."""
    edges = [(int(a), int(b)) for face in hull.faces for a, b in zip(face, np.roll(face, -1), strict=True)]
    assert len(set(edges)) == len(edges)
    assert {(b, a) for a, b in edges} == set(edges)
    assert {(a, int(b)) for a, near in enumerate(hull.neighbours) for b in near} == set(edges)
    assert len(hull.vertices) - len(edges) // 2 + len(hull.faces) == 2
    scale = np.abs(points).max()
    for face, normal in zip(hull.faces, hull.normals, strict=True):
        corners = hull.vertices[face]
        offset = corners @ normal
        assert np.ptp(offset) < 1e-5 * scale
        assert ((points - hull.center) @ normal).max() < offset.min() + 1e-5 * scale
        sides = np.roll(corners, -1, axis=0) - corners
        turns = np.cross(sides, np.roll(sides, -1, axis=0)) @ normal
        assert turns.min() > -1e-6 * scale**2


def test_a_cube_has_six_faces_of_four_corners():
    extra = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.3, -1.0, 0.2]]  # inside, and on faces
    hull = convex_hull(np.concatenate([CUBE, extra, CUBE]))
    check(hull, CUBE)
    assert sorted(len(f) for f in hull.faces) == [4] * 6
    assert [len(n) for n in hull.neighbours] == [3] * 8
    assert hull.volume == pytest.approx(8.0)
    assert sorted(map(tuple, np.abs(np.round(hull.normals, 12)).tolist())) == sorted(
        2 * [(0, 0, 1), (0, 1, 0), (1, 0, 0)]
    )


def test_a_tetrahedron():
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
    hull = convex_hull(points)
    check(hull, points)
    assert [len(f) for f in hull.faces] == [3] * 4
    assert hull.volume == pytest.approx(1 / 6)
    np.testing.assert_allclose(hull.center, 0.25)
    np.testing.assert_allclose(np.diag(hull.inertia), 1 / 80)  # ∫x² = 1/60 about the corner
    np.testing.assert_allclose(hull.inertia[0, 1], 1 / 480)


@pytest.mark.parametrize("seed", range(4))
def test_random_points_of_any_scale_and_place(seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(60, 3)) * 10.0 ** (3 * seed - 6) + rng.normal(size=3)
    check(convex_hull(points), points)


def test_a_prism_with_many_sides_keeps_its_caps_whole():
    angle = np.arange(40) * 2 * np.pi / 40
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    points = np.array([[*xy, z] for z in (-0.5, 0.5) for xy in ring]) @ quat_to_matrix(TURN).T
    hull = convex_hull(points.astype(np.float32).astype(float))
    check(hull, points)
    assert sorted(len(f) for f in hull.faces) == [4] * 40 + [40] * 2


def test_a_box_given_by_its_corners_is_that_box():
    size = np.array([0.3, 0.7, 1.1])
    place = {"position": (1.0, 2.0, 3.0), "orientation": TURN, "density": 123.0}
    shift = np.array([0.4, -0.5, 0.6])
    hull = ConvexHull(points=CUBE * size / 2 + shift, **place)
    box = Box(size=size, **(place | {"position": np.array([1.0, 2.0, 3.0]) + quat_to_matrix(TURN) @ shift}))
    models = [compile(Scene(bodies=[Body(name="a", shapes=[s])])) for s in (hull, box)]
    for name in ("mass", "com", "inertia", "shape_pos", "shape_rot"):
        np.testing.assert_allclose(*(getattr(m, name) for m in models), rtol=1e-12, atol=1e-12, err_msg=name)


def test_fans_are_the_faces_around_each_vertex():
    hull = convex_hull(np.random.default_rng(3).normal(size=(40, 3)))
    corners = np.concatenate(hull.faces)
    starts = np.cumsum([0, *(len(face) for face in hull.faces)])
    first, around = build_vertex_faces(starts, corners, len(hull.vertices))
    for v in range(len(hull.vertices)):
        expected = [k for k, face in enumerate(hull.faces) if v in face]
        assert around[first[v] : first[v + 1]].tolist() == expected


def test_hulls_are_arrays_of_the_model():
    tetrahedron = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    scene = Scene(shapes=[ConvexHull(points=tetrahedron)])
    scene.add(Body(name="a", shapes=[Box(size=(1, 1, 1)), ConvexHull(points=CUBE)]))
    scene.add(Revolute(name="hinge", parent="world", child="a"))
    model = compile(scene)
    assert model.shape_data.tolist() == [-1, 0, 1]
    assert model.shape_kind[1:].tolist() == [ShapeKind.HULL, ShapeKind.HULL]
    assert model.hull_vertex_start.tolist() == [0, 8, 12]
    assert model.hull_face_start.tolist() == [0, 6, 10]
    assert model.hull_corner_start[-1] == len(model.hull_corner) == 24 + 12
    assert model.hull_edge_start[-1] == len(model.hull_neighbour) == 24 + 12
    assert model.hull_corner[24:].min() == 8
    assert not model.hull_vertex.flags.writeable
    other = compile(Scene(shapes=[ConvexHull(points=2 * tetrahedron, position=(-0.25, -0.25, -0.25))]))
    assert other.fingerprint != compile(Scene(shapes=[ConvexHull(points=tetrahedron)])).fingerprint


@pytest.mark.parametrize(
    "points, fragment",
    [
        ([], "points has the wrong shape"),
        (3.0, "points has the wrong shape"),
        (CUBE[:3], "points has the wrong shape"),
        (CUBE[:, :2], "points has the wrong shape"),
        ([[0, 0, 0], [1, 0, 0], [0, 1], [0, 0, 1]], "points has the wrong shape"),
        ([["a", 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], "points is not made of numbers"),
        ([[np.nan, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], "points[0, 0] is not a finite number"),
        ([[0, 0, 0], [1, 0, np.inf], [0, 1, 0], [0, 0, 1]], "points[1, 2] is not a finite number"),
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [2, 3, 0]], "points lie in one plane"),
        ([[1, 1, 1]] * 5, "points lie in one plane"),
        ([[0, 0, 0], [1, 1, 1], [2, 2, 2], [3, 3, 3]], "points lie in one plane"),
    ],
)
def test_what_is_no_hull_is_refused(points, fragment):
    with refused("body 'a', shape 0", fragment, "allowed: "):
        compile(Scene(bodies=[Body(name="a", shapes=[ConvexHull(points=points)])]))
    with refused("world, shape 0", fragment, "allowed: "):
        compile(Scene(shapes=[ConvexHull(points=points)]))
