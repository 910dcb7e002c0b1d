"""What the live view draws of a model, and how it keeps pace."""

from __future__ import annotations

import numpy as np
import pytest
from refusal import refused
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

import sharnir as sh
from sharnir import scenes
from sharnir.drawing.batches import drawing, form_of, multiplied, quaternions, rotated
from sharnir.drawing.meshes import ball_mesh, box_mesh, capsule_mesh, cylinder_mesh
from sharnir.drawing.pieces import STILL_COLOR, extent, pieces, placed
from sharnir.enums import ShapeKind
from sharnir.sensors.support_polygon import convex_hull_2d
from sharnir.simulation.simulation import Simulation
from sharnir.viewer.source.live import poses_of
from sharnir.viewer.source.pace import FRAME, LATE, Pace


def test_every_shape_is_drawn_where_it_was_described():
    scene = sh.Scene(name="all")
    turn = (0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5))  # x → y
    shapes = (
        sh.Sphere(radius=0.1, position=(1, 0, 0)),
        sh.Box(size=(0.1, 0.2, 0.3), position=(2, 0, 0), orientation=turn),
        sh.Cylinder(radius=0.1, length=0.4, position=(3, 0, 0)),
        sh.Capsule(radius=0.1, length=0.5, position=(4, 0, 0)),
    )
    scene.add(sh.Body(name="body", shapes=shapes, position=(0, 0, 5), orientation=turn))
    scene.add(sh.Revolute(name="hinge", parent="world", child="body", anchor=(7, 8, 9), axis=(1, 0, 0)))
    scene.add(sh.HalfSpace(position=(0, 0, -1)))
    for solver in ("simgc", "simmc"):
        simulation = Simulation(scene, solver=solver)
        drawn = pieces(simulation.model)
        assert [p.kind for p in drawn] == [
            ShapeKind.SPHERE,
            ShapeKind.BOX,
            ShapeKind.CYLINDER,
            ShapeKind.CAPSULE,
            ShapeKind.HALF_SPACE,
        ]
        assert [p.size.tolist() for p in drawn[1:3]] == [[0.1, 0.2, 0.3], [0.1, 0.4, 0.0]]
        for k, piece in enumerate(drawn[:4]):
            pose = placed(piece, poses_of(simulation))
            np.testing.assert_allclose(pose.x, (0, k + 1, 5), atol=1e-12)  # the body's x is the world's y
            np.testing.assert_allclose(pose.R[:, 0], (-1, 0, 0) if k == 1 else (0, 1, 0), atol=1e-12)
        np.testing.assert_array_equal(drawn[4].pose.x, (0, 0, -1))
        assert len({p.color for p in drawn[:4]}) == 1
        assert drawn[4].color == STILL_COLOR


def test_bodies_without_shapes_are_balls_with_rods_to_their_joints():
    simulation = Simulation(scenes.make("rods", n=3))
    poses = poses_of(simulation)
    drawn = pieces(simulation.model)
    kinds = [[p.kind for p in drawn if p.link == link] for link in range(3)]
    assert kinds == [[ShapeKind.SPHERE, ShapeKind.CYLINDER, ShapeKind.CYLINDER]] * 2 + [
        [ShapeKind.SPHERE, ShapeKind.CYLINDER]
    ]
    ends = []
    for piece in drawn:
        if piece.kind == ShapeKind.CYLINDER:
            pose = placed(piece, poses)
            ends.append(pose.x + pose.R[:, 2] * piece.size[1] / 2)
    np.testing.assert_allclose(ends[0], 0.0, atol=1e-12)  # the first hinge is in the origin
    np.testing.assert_allclose(ends[1], ends[2], atol=1e-12)  # the rods of neighbours meet in their hinge
    assert len({p.color for p in drawn}) == 3


def test_extent_holds_what_has_an_end_and_is_never_nothing():
    simulation = Simulation(scenes.make("box_on_slope"))
    center, radius = extent(pieces(simulation.model), poses_of(simulation))
    np.testing.assert_allclose(center, poses_of(simulation).position[0])
    assert 0.1 * np.sqrt(3) <= radius < 1.0
    assert extent([], poses_of(simulation))[1] > 0


def test_capsules_are_closed_and_seen_from_outside():
    radius, length = 0.3, 0.8
    points, faces = capsule_mesh(radius, length, around=64, rings=32)
    core = np.clip(points[:, 2], -length / 2, length / 2)
    distance = np.linalg.norm(points - np.outer(core, (0, 0, 1)), axis=1)
    np.testing.assert_allclose(distance, radius, rtol=1e-12)
    a, b, c = points[faces].transpose(1, 0, 2)
    volume = (np.cross(a, b) * c).sum() / 6  # signed: positive when all triangles face outwards
    assert volume == pytest.approx(np.pi * radius**2 * (length + 4 / 3 * radius), rel=5e-3)


def test_pace_follows_the_wall_clock_and_does_not_catch_up_lost_time():
    pace = Pace(0.01, now=100.0, time=3.0)
    assert [pace.due(100.0, 3.0), pace.due(100.02, 3.0), pace.due(100.045, 3.02)] == [0, 2, 2]
    assert pace.due(105.0, 3.04) == int(FRAME / 0.01) == 1  # far behind: a frame's worth
    assert pace.due(105.02, 3.05) == 2  # and in step again
    slow = Pace(2 * LATE, now=0.0, time=0.0)
    assert [slow.due(0.1, 0.0), slow.due(0.201, 0.0), slow.due(0.3, 0.2)] == [0, 1, 0]


def test_pace_measures_the_real_time_factor():
    pace = Pace(0.01, now=0.0, time=0.0)
    pace.due(0.1, 0.05)
    assert pace.factor is None
    pace.due(1.0, 0.5)
    assert pace.factor == pytest.approx(0.5)
    pace.start(2.0, 0.5)
    assert pace.factor is None


def test_pace_slows_down():
    pace = Pace(0.01, now=0.0, time=0.0)
    pace.speed = 0.1
    assert [pace.due(0.05, 0.0), pace.due(0.1, 0.0), pace.due(0.25, 0.01)] == [0, 1, 1]


@pytest.mark.parametrize("form", [ball_mesh, box_mesh, cylinder_mesh])
def test_forms_are_closed_and_seen_from_outside(form):
    points, faces = form()
    a, b, c = points[faces].transpose(1, 0, 2)
    expected = {ball_mesh: 4 / 3 * np.pi, box_mesh: 1.0, cylinder_mesh: np.pi}[form]
    assert (np.cross(a, b) * c).sum() / 6 == pytest.approx(expected, rel=0.03)
    _, place = np.unique(points.round(9), axis=0, return_inverse=True)
    edges = place[faces][:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    edges = edges[edges[:, 0] != edges[:, 1]]
    there, back = ({tuple(e) for e in edges[:, order].tolist()} for order in ([0, 1], [1, 0]))
    assert there == back  # every edge belongs to two faces that see it the other way round


def test_turns_of_many_bodies_are_those_of_scipy():
    a, b = Rotation.random(200, random_state=0), Rotation.random(200, random_state=1)
    q, p = quaternions(a.as_matrix()), quaternions(b.as_matrix())
    same = np.abs((multiplied(q, p) * (a * b).as_quat()[:, [3, 0, 1, 2]]).sum(axis=1))
    np.testing.assert_allclose(same, 1.0, atol=1e-12)
    x = np.random.default_rng(2).normal(size=(200, 3))
    np.testing.assert_allclose(rotated(q, x), a.apply(x), atol=1e-12)


def test_equal_forms_are_one_batch_and_are_placed_with_their_bodies():
    simulation = Simulation(scenes.make("pile", n=2))
    drawn = drawing(simulation.model, poses_of(simulation))
    assert [len(batch.link) for batch in drawn.seen] == [simulation.model.nb]
    simulation = Simulation(scenes.make("humanoid"))
    poses = poses_of(simulation)
    drawn, shapes = drawing(simulation.model, poses), pieces(simulation.model)
    assert len(drawn.grounds) == 1
    position = np.concatenate([poses.position, np.zeros((1, 3))])
    turn = np.concatenate([quaternions(poses.rotation), [[1.0, 0.0, 0.0, 0.0]]])
    found = np.concatenate([batch.placed(position, turn)[0] for batch in drawn.seen])
    wanted = np.array([placed(p, poses).x for p in shapes if p.kind != ShapeKind.HALF_SPACE])
    assert sorted(map(tuple, found.round(9))) == sorted(map(tuple, wanted.round(9)))


def test_visuals_stand_for_bodies_and_keep_their_colours(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    trimesh.creation.box((1, 2, 3)).export(tmp_path / "box.stl")
    scene = sh.Scene()
    green = (0.0, 1.0, 0.0, 0.5)
    visuals = [
        sh.Visual(file=str(tmp_path / "box.stl"), scale=(0.1, 0.1, 0.1), position=(0, 0, 1), color=green),
        sh.Visual(file=str(tmp_path / "lost.stl")),
    ]
    scene.add(sh.Body(name="covered", shapes=[sh.Sphere(radius=0.1)], visuals=visuals))
    eyes = [sh.Visual(shape=sh.Sphere(radius=0.01), color=(1, 0, 0, 1))]
    scene.add(sh.Body(name="eyed", shapes=[sh.Sphere(radius=0.1)], visuals=eyes))
    simulation = Simulation(scene)
    drawn = drawing(simulation.model, poses_of(simulation))
    assert len(drawn.notes) == 1 and "lost.stl is not shown" in drawn.notes[0]
    mesh = next(b for b in drawn.seen if b.opacity == 0.5)
    assert (mesh.link.tolist(), mesh.color.tolist()) == ([0], [[0, 255, 0]])
    np.testing.assert_allclose(np.ptp(mesh.vertices, axis=0), (0.1, 0.2, 0.3))
    balls = next(b for b in drawn.seen if b.opacity == 1.0)
    assert balls.link.tolist() == [1, 1]  # eyes do not hide the head, the mesh hides the ball
    assert [b.link.tolist() for b in drawn.solid] == [[0, 1]]


def test_a_shape_that_has_no_form_is_refused():
    scene = sh.Scene(name="one", shapes=[sh.Sphere(radius=0.1)])
    [piece] = pieces(sh.compile(scene))
    with refused("no form", "MESH"):
        form_of(piece._replace(kind=ShapeKind.MESH))


def test_support_is_the_convex_rim_of_points():
    rng = np.random.default_rng(3)
    points = np.column_stack([rng.normal(size=(40, 2)), np.zeros(40)])
    rim = convex_hull_2d(points)
    wanted = points[ConvexHull(points[:, :2]).vertices]
    assert sorted(map(tuple, rim)) == sorted(map(tuple, wanted))
