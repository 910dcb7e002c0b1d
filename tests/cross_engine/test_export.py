"""Scenes written as MJCF are the same mechanisms in MuJoCo."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from refusal import refused

import sharnir as sh
from sharnir.benchmarks.robot_files import mjcf_files, outcome, urdf_files
from sharnir.io.convert.contacts import bounce
from sharnir.io.mjcf_export import damping_ratio

TOLERANCE = 1e-9
ALL = {robot.name: robot for robot in (*urdf_files(), *mjcf_files())}
SOME = [
    "gymnasium/envs/mujoco/assets/humanoid.xml", "dm_control/suite/walker.xml", "dm_control/suite/manipulator.xml",
    "dm_control/mujoco/testing/assets/model_with_ball_joints.xml", "dm_control/locomotion/walkers/assets/rodent.xml",
    "dm_control/mujoco/testing/assets/model_with_third_order_actuators.xml",
    "example-robot-data/panda_description/urdf/panda.urdf", "example-robot-data/solo_description/robots/solo12.urdf",
]  # fmt: skip


@pytest.mark.parametrize("name", SOME)
def test_a_robot_comes_back_as_it_was(name):
    found = outcome(ALL[name])
    theirs, back = found.parsed.model, mujoco.MjModel.from_xml_string(found.scene.to_mjcf())
    assert (back.nq, back.nv, back.nu, back.neq) == (theirs.nq, theirs.nv, theirs.nu, theirs.neq)
    names = [[m.joint(j).name or f"joint{j}" for j in range(m.njnt)] for m in (back, theirs)]
    assert names[0] == names[1]
    qpos = theirs.qpos0 + np.random.default_rng(0).normal(size=theirs.nq) * 0.3
    mujoco.mj_normalizeQuat(theirs, qpos)
    accelerations = []
    for m in (back, theirs):
        m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        data = mujoco.MjData(m)
        data.qpos[:], data.qvel[:], data.ctrl[:] = qpos, np.linspace(-1, 1, m.nv), 0.1
        mujoco.mj_forward(m, data)
        accelerations.append(data.qacc.copy())
    assert np.abs(accelerations[0] - accelerations[1]).max() < TOLERANCE * np.abs(accelerations[1]).max()


def test_loops_springs_hulls_heights_and_states_come_back(tmp_path):
    scene = sh.Scene(name="all")
    scene.add(sh.HeightField(heights=[[0.0, 0.1], [0.2, 0.1]], size=(4, 4)))
    corners = [(x, y, z) for x in (0, 0.1) for y in (0, 0.1) for z in (0, 0.1)]
    rubber = sh.Material(friction=0.7, restitution=0.3)
    scene.add(sh.Body(name="a", shapes=[sh.ConvexHull(points=corners, material=rubber)], position=(0, 0, 1)))
    scene.add(sh.Body(name="b", shapes=[sh.Sphere(radius=0.1)], position=(0.5, 0, 1)))
    scene.add(
        sh.Free(name="fa", parent="world", child="a", position=(0, 0, 1, 0, 0, 0, 1), velocity=(1, 0, 0, 0, 0, 2))
    )
    scene.add(sh.Free(name="fb", parent="world", child="b", position=(0.5, 0, 1, 0, 0, 0, 1)))
    end = {"parent_frame": sh.Frame(anchor=(0.25, 0, 0)), "child_frame": sh.Frame(anchor=(-0.25, 0, 0))}
    scene.add(sh.Spherical(name="ball", parent="a", child="b", **end))
    scene.add(sh.Spring(name="coil", parent="world", child="b", stiffness=50.0, length=0.3))
    (tmp_path / "all.xml").write_text(scene.to_mjcf())
    back = sh.load(tmp_path / "all.xml", strict=True).at("start")
    ours, theirs = sh.compile(scene), sh.compile(back)
    assert theirs.joint_types == ours.joint_types and theirs.spring_names == ("coil",)
    np.testing.assert_allclose(theirs.q0, ours.q0, rtol=1e-15)
    np.testing.assert_allclose(theirs.v0, ours.v0, rtol=0, atol=1e-13)
    np.testing.assert_allclose(theirs.mass, ours.mass, rtol=1e-12)
    np.testing.assert_allclose(np.sort(theirs.hull_vertex, axis=0), np.sort(ours.hull_vertex, axis=0), atol=1e-12)
    np.testing.assert_allclose(theirs.field_height, ours.field_height, atol=1e-12)
    hull, sphere, field = range(3)
    for pair in ((hull, field), (sphere, field)):
        tables = [m.material_table[tuple(m.shape_material[k] for k in pair)] for m in (theirs, ours)]
        np.testing.assert_allclose(*(table[[0, 4]] for table in tables), atol=1e-5)


def test_a_damping_ratio_leaves_the_bounce_it_was_made_from():
    for e in (0.0, 0.1, 0.5, 0.9):
        assert bounce(np.array([0.02, damping_ratio(e)])) == pytest.approx(e, abs=1e-12)


def test_what_a_joint_lets_its_actuators_do_comes_back():
    scene = sh.Scene(bodies=[sh.Body(name="arm", mass=1.0, inertia=(0.1, 0.1, 0.1))])
    scene.add(sh.Revolute(name="elbow", parent="world", child="arm", max_force=2.0))
    scene.add(sh.Actuator(name="servo", joints=["elbow"], input=5.0))
    peer = mujoco.MjModel.from_xml_string(scene.to_mjcf())
    data = mujoco.MjData(peer)
    mujoco.mj_resetDataKeyframe(peer, data, 0)
    mujoco.mj_forward(peer, data)
    assert data.qfrc_actuator[0] == 2.0


def test_what_mujoco_lacks_is_refused():
    scene = sh.Scene(name="screw")
    scene.add(sh.Body(name="nut", mass=1.0, inertia=(1, 1, 1)))
    scene.add(sh.Helical(name="thread", parent="world", child="nut", pitch=0.1))
    with refused("MuJoCo twin of 'screw'", "the screw 'thread'"):
        scene.to_mjcf()
    scene.joints = [sh.Revolute(name="hinge", parent="world", child="nut")]
    scene.add(sh.Motor(name="drive", joint="hinge", velocity=1.0))
    with refused("MJCF of 'screw'", "motor 'drive', which has no gains"):
        scene.to_mjcf()
