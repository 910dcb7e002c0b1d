"""Height fields and meshes: arrays, neighbourhoods, trees, scene files, and what is refused."""

import numpy as np
import pytest
from refusal import refused

from sharnir import Body, ConvexHull, HeightField, Mesh, Scene, compile
from sharnir.drawing.pieces import pieces, reach
from sharnir.enums import ShapeKind
from sharnir.geometry.mesh_bvh import MAX_LEAF_TRIANGLES, build_bvh, build_surface_mesh

SQUARE = {"vertices": [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], "faces": [[0, 1, 2], [0, 2, 3]]}


def test_height_fields_and_meshes_are_arrays_of_the_model():
    heights = np.arange(6.0).reshape(2, 3)
    scene = Scene(shapes=[HeightField(heights=heights, size=(1, 2)), Mesh(**SQUARE), Mesh(**SQUARE)])
    scene.add(HeightField(heights=-heights.T, size=(3, 4)))
    model = compile(scene)
    assert model.shape_kind.tolist() == [ShapeKind.HEIGHT_FIELD, ShapeKind.MESH, ShapeKind.MESH, ShapeKind.HEIGHT_FIELD]
    assert model.shape_data.tolist() == [0, 0, 1, 1]
    assert model.shape_size.tolist() == [[1, 2, 0], [0, 0, 0], [0, 0, 0], [3, 4, 0]]
    assert model.field_start.tolist() == [0, 6, 12]
    assert model.field_shape.tolist() == [[2, 3], [3, 2]]
    assert model.field_height[6:].tolist() == [0, -3, -1, -4, -2, -5]
    assert model.mesh_triangle_start.tolist() == [0, 2, 4]
    assert model.mesh_node_start.tolist() == [0, 1, 2]
    assert model.mesh_corner[2:].min() == 4
    assert not model.mesh_vertex.flags.writeable
    scene.shapes[0].heights = heights + 1.0
    assert compile(scene).fingerprint != model.fingerprint


def test_neighbours_across_edges_and_around_vertices():
    soup = np.array(SQUARE["vertices"], dtype=float)[np.array(SQUARE["faces"]).reshape(-1)]  # corners given twice
    for vertices, faces in ((SQUARE["vertices"], SQUARE["faces"]), (soup, np.arange(6).reshape(2, 3))):
        mesh = build_surface_mesh(np.asarray(vertices, dtype=float), np.asarray(faces))
        assert len(mesh.vertices) == 4
        across = mesh.opposite[mesh.opposite >= 0]
        assert sorted(map(tuple, mesh.vertices[across].tolist())) == [(0, 1, 0), (1, 0, 0)]
        assert sorted(len(r) for r in mesh.ring) == [2, 2, 3, 3]


def test_an_edge_of_three_triangles_has_no_neighbour():
    fan = build_surface_mesh(
        np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, -1, 0]], dtype=float),
        np.array([[0, 1, 2], [0, 1, 3], [1, 0, 4]]),
    )
    assert (fan.opposite == -1).all()


def test_the_tree_holds_every_triangle_once_and_skips_what_is_below():
    corners = np.random.default_rng(0).normal(size=(333, 3, 3))
    order, tree = build_bvh(corners)
    assert sorted(order.tolist()) == list(range(333))
    corners = corners[order]
    leaves = np.flatnonzero(tree.triangles)
    assert (tree.triangles[leaves] <= MAX_LEAF_TRIANGLES).all()
    np.testing.assert_array_equal(tree.first[leaves], np.cumsum(tree.triangles[leaves]) - tree.triangles[leaves])
    for node, skip in enumerate(tree.skip):
        below = np.concatenate(
            [np.arange(f, f + c) for f, c in zip(tree.first[node:skip], tree.triangles[node:skip], strict=True)]
        )
        np.testing.assert_array_equal(tree.low[node], corners[below].min(axis=(0, 1)))
        np.testing.assert_array_equal(tree.high[node], corners[below].max(axis=(0, 1)))
    assert tree.skip[0] == len(tree.skip)


def test_a_scene_file_keeps_them(tmp_path):
    rng = np.random.default_rng(1)
    scene = Scene(shapes=[HeightField(heights=rng.normal(size=(3, 4)), size=(0.1, 7)), Mesh(**SQUARE, density=0.1)])
    scene.add(Body(name="stone", shapes=[ConvexHull(points=rng.normal(size=(9, 3)), position=(1, 2, 3), density=2.0)]))
    scene.save(tmp_path / "scene.toml")
    loaded = Scene.load(tmp_path / "scene.toml")
    assert loaded == scene
    assert compile(loaded).fingerprint == compile(scene).fingerprint


@pytest.mark.parametrize(
    "shape, name", [(HeightField(heights=np.zeros((2, 2)), size=(1, 1)), "height field"), (Mesh(**SQUARE), "mesh")]
)
def test_they_cannot_move(shape, name):
    with refused("body 'a', shape 0", f"a {name} cannot move", "among the scene's shapes only"):
        compile(Scene(bodies=[Body(name="a", mass=1.0, shapes=[shape])]))


@pytest.mark.parametrize(
    "heights, size, fragment",
    [
        ([], (1, 1), "heights has the wrong shape"),
        ([1.0, 2.0], (1, 1), "heights has the wrong shape"),
        ([[1.0, 2.0]], (1, 1), "heights has the wrong shape"),
        ([[1.0], [2.0]], (1, 1), "heights has the wrong shape"),
        ([[[1.0, 2.0]]], (1, 1), "heights has the wrong shape"),
        ([[1.0, 2.0], [1.0]], (1, 1), "heights has the wrong shape"),
        ([[1.0, 2.0], [1.0, None]], (1, 1), "heights is not made of numbers"),
        ([[1.0, 2.0], [np.nan, 0.0]], (1, 1), "heights[1, 0] is not a finite number"),
        ([[1.0, 2.0], [1e60, 0.0]], (1, 1), "heights[1, 0] is not a finite number"),
        (np.zeros((2, 2)), (1, 1, 1), "size has the wrong shape"),
        (np.zeros((2, 2)), 1.0, "size has the wrong shape"),
        (np.zeros((2, 2)), (1, 0), "size component is out of range"),
    ],
)
def test_what_is_no_height_field_is_refused(heights, size, fragment):
    with refused("world, shape 0", fragment, "allowed: "):
        compile(Scene(shapes=[HeightField(heights=heights, size=size)]))


@pytest.mark.parametrize(
    "change, fragment",
    [
        ({"vertices": []}, "vertices has the wrong shape"),
        ({"faces": []}, "faces has the wrong shape"),
        ({"faces": [[0, 1]]}, "faces has the wrong shape"),
        ({"faces": [0, 1, 2]}, "faces has the wrong shape"),
        ({"faces": [[0, 1, 4]]}, "faces[0] names no vertices"),
        ({"faces": [[0, 1, 2], [-1, 1, 2]]}, "faces[1] names no vertices"),
        ({"faces": [[0, 1.5, 2]]}, "faces[0] names no vertices"),
        ({"faces": [[0, 1, "2"]]}, "faces is not made of numbers"),
        ({"faces": [[0, 1, 1]]}, "faces[0] has no area"),
        ({"vertices": [[0, 0, 0], [1, 1, 1], [2, 2, 2], [0, 1, 0]]}, "faces[0] has no area"),
        ({"vertices": [[0, 0, 0], [1, 0, 0], [1, np.nan, 0], [0, 1, 0]]}, "vertices[2, 1] is not a finite number"),
    ],
)
def test_what_is_no_mesh_is_refused(change, fragment):
    with refused("world, shape 0", fragment, "allowed: "):
        compile(Scene(shapes=[Mesh(**(SQUARE | change))]))


def test_they_are_drawn_as_triangles():
    cube = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
    heights = np.arange(12.0).reshape(3, 4)
    shapes = [ConvexHull(points=cube + 5.0), HeightField(heights=heights, size=(2, 3)), Mesh(**SQUARE), Mesh(**SQUARE)]
    hull, field, _, mesh = pieces(compile(Scene(shapes=shapes)))
    corners = [piece.surface[0][piece.surface[1]] for piece in (hull, field, mesh)]
    volume = np.linalg.det(corners[0]).sum() / 6
    assert (len(corners[0]), volume) == (12, pytest.approx(8.0))
    assert reach(hull) == pytest.approx(np.sqrt(3))
    areas = [np.cross(c[:, 1] - c[:, 0], c[:, 2] - c[:, 0])[:, 2] / 2 for c in corners[1:]]
    assert areas[0].sum() == pytest.approx(6.0) and areas[0].min() > 0
    np.testing.assert_allclose(field.surface[0][[0, 11]], [[-1, -1.5, 0], [1, 1.5, 11]])
    assert areas[1].tolist() == [0.5, 0.5]
