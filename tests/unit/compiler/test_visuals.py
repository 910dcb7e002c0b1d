"""What is seen of bodies, and neither touches nor weighs."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

from sharnir import Body, Box, ModelError, Scene, Visual, compile, load

GREEN = (0.1, 0.8, 0.1, 1.0)


def test_visuals_weigh_nothing_and_touch_nothing():
    scene = Scene()
    scene.add(Body(name="ghost", mass=2.0, inertia=(1, 1, 1), visuals=[Visual(shape=Box(size=(1, 1, 1)))]))
    scene.add(Visual(file="floor.stl", color=GREEN))
    model = compile(scene)
    assert model.mass.tolist() == [2.0]
    assert len(model.shape_kind) == 0


def test_visuals_are_saved(tmp_path):
    scene = Scene(timestep=0.002)
    visuals = [
        Visual(shape=Box(size=(1, 2, 3), position=(0, 0, 1)), color=GREEN),
        Visual(file="hand.stl", scale=(1, 2, 3)),
    ]
    scene.add(Body(name="seen", mass=1.0, inertia=(1, 1, 1), visuals=visuals))
    scene.add(Visual(file="floor.stl"))
    scene.save(tmp_path / "seen.toml")
    assert Scene.load(tmp_path / "seen.toml") == scene


@pytest.mark.parametrize(
    ("visual", "message"),
    [
        (Visual(), "visual 0: is not one of shape and file"),
        (Visual(shape=Box(size=(1, 1, 1)), file="a.stl"), "visual 0: is not one of shape and file"),
        (Visual(file="a.stl", scale=(1, float("nan"), 1)), "scale component is not a finite number"),
        (Visual(file="a.stl", orientation=(0, 0, 0, 0)), "orientation is zero"),
        (Visual(shape=Box(size=(1, -1, 1))), "size component is out of range"),
    ],
)
def test_a_visual_that_cannot_be_seen_is_refused(visual, message):
    scene = Scene()
    scene.add(Body(name="ghost", mass=1.0, inertia=(1, 1, 1), visuals=[visual]))
    with pytest.raises(ModelError, match=message):
        compile(scene)


REFS = ('scale="1 2 3"', 'scale="-1 1 1"', 'refpos="1 2 3"', 'refquat="0.9 0.1 0.2 0.3" scale="2 2 2"')


@pytest.mark.parametrize("more", REFS)
def test_a_mesh_of_an_mjcf_that_touches_nothing_is_seen_where_mujoco_has_it(tmp_path, more):
    """Its vertices, as the scene places them, are those of MuJoCo's geom."""
    solid = trimesh.creation.cone(radius=0.3, height=0.8, sections=7)
    solid.apply_transform(trimesh.transformations.rotation_matrix(0.4, (1, 2, 3), (0.5, 0, 0)))
    solid.export(tmp_path / "cone.stl")
    (tmp_path / "robot.xml").write_text(f"""<mujoco><asset><mesh name="cone" file="cone.stl" {more}/></asset><worldbody>
      <body name="seen" pos="1 0 0"><joint/><geom size="0.1"/><geom type="mesh" mesh="cone" pos="0.5 0.6 0.7"
      euler="10 20 30" contype="0" conaffinity="0" rgba="1 0 0 1"/></body></worldbody></mujoco>""")
    peer = mujoco.MjModel.from_xml_path(str(tmp_path / "robot.xml"))
    theirs = Rotation.from_quat(np.roll(peer.geom_quat[1], -1)).apply(peer.mesh_vert) + peer.geom_pos[1]
    scene = load(tmp_path / "robot.xml")
    [visual] = scene.bodies[0].visuals
    assert visual.color == (1.0, 0.0, 0.0, 1.0) and not list(scene.import_report)
    if visual.file is None:
        place, vertices = visual.shape, np.array(visual.shape.vertices)
        assert "ref" in more and len(visual.shape.faces) == len(solid.faces)
    else:
        place, vertices = visual, solid.vertices * visual.scale
        assert visual.file == str(tmp_path / "cone.stl")
    ours = Rotation.from_quat(place.orientation).apply(vertices) + place.position
    assert np.abs(ours[:, None] - theirs).max(axis=2).min(axis=0).max() < 1e-6
    compile(scene)
