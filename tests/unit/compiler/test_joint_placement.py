"""Joints move their bodies as documented, placed in the world or in bodies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from blocks import block, pitch_of
from random_trees import random_state, relative
from scipy.spatial.transform import Rotation

from sharnir import (
    Cylindrical,
    Fixed,
    Frame,
    Free,
    Helical,
    Planar,
    Prismatic,
    Revolute,
    Scene,
    Spherical,
    Spring,
    Universal,
    compile,
    dynamics,
)
from sharnir.rotations import quat_to_matrix

# --- motion of joints ------------------------------------------------------------------------------------------------


AXIS = np.array([1.0, 2.0, 2.0]) / 3
ACROSS = np.array([2.0, 1.0, -2.0]) / 3
THIRD = np.cross(AXIS, ACROSS)
FRAME = np.column_stack([ACROSS, THIRD, AXIS])  # x, y, z of the joint in the world
ANCHOR = np.array([0.3, -0.2, 0.5])


def turn(axis, angle):
    return Rotation.from_rotvec(angle * axis).as_matrix()


def quaternion_turn(q):
    return FRAME @ quat_to_matrix(np.array(q)) @ FRAME.T


# by type: q, rotation of the body, and shift of its anchored point, in the world
MOTIONS = {
    Fixed: ((), np.eye(3), np.zeros(3)),
    Revolute: ((0.7,), turn(AXIS, 0.7), np.zeros(3)),
    Prismatic: ((0.7,), np.eye(3), 0.7 * AXIS),
    Helical: ((0.7,), turn(AXIS, 0.7), 0.7 * 0.3 / (2 * np.pi) * AXIS),
    Cylindrical: ((0.4, 0.7), turn(AXIS, 0.7), 0.4 * AXIS),
    Universal: ((0.4, 0.7), turn(AXIS, 0.4) @ turn(ACROSS, 0.7), np.zeros(3)),
    Spherical: ((0.1, 0.5, 0.5, 0.7), quaternion_turn((0.1, 0.5, 0.5, 0.7)), np.zeros(3)),
    Planar: ((0.4, 0.6, 0.7), turn(AXIS, 0.7), 0.4 * ACROSS + 0.6 * THIRD),
}


def world_placing(kind):
    across = {"axis2": 3 * ACROSS} if kind is Universal else {"x_axis": ACROSS + 0.5 * AXIS}
    return {"anchor": ANCHOR, "axis": 2 * AXIS, **across, **pitch_of(kind)}


@pytest.mark.parametrize("kind", MOTIONS)
def test_a_joint_moves_its_child_as_documented(kind):
    q, R, shift = MOTIONS[kind]
    body = block("a", position=(1.0, 0.5, -0.3), orientation=(0.1, 0.2, 0.3, 0.4))
    joint = kind(name="j", parent="world", child="a", position=q, **world_placing(kind))
    model = compile(Scene(bodies=[body], joints=[joint]))
    position, rotation = dynamics.body_poses(model, model.q0)
    expected = ANCHOR + shift + R @ (np.array(body.position) - ANCHOR)
    np.testing.assert_allclose(position[0], expected, atol=1e-14)
    np.testing.assert_allclose(rotation[0], R @ quat_to_matrix(np.array(body.orientation)), atol=1e-14)


@pytest.mark.parametrize("kind", MOTIONS)
def test_a_joint_described_towards_the_world_moves_the_other_way(kind):
    q, R, shift = MOTIONS[kind]
    joint = kind(name="j", parent="a", child="world", position=q, **world_placing(kind))
    model = compile(Scene(bodies=[block("a")], joints=[joint]))
    position, rotation = dynamics.body_poses(model, model.q0)
    np.testing.assert_allclose(rotation[0], R.T, atol=1e-14)
    np.testing.assert_allclose(position[0], ANCHOR - R.T @ (ANCHOR + shift), atol=1e-14)


def test_a_free_joint_described_towards_the_world_holds_the_pose_of_the_world():
    body = block("a", position=(1, 0, 0), orientation=(0, 0, 1, 1))
    model = compile(Scene(bodies=[body], joints=[Free(name="j", parent="a", child="world")]))
    half = np.sqrt(0.5)
    np.testing.assert_allclose(model.q0, [0, 1, 0, 0, 0, -half, half], atol=1e-15)
    np.testing.assert_allclose(dynamics.body_poses(model, model.q0)[0], [[1, 0, 0]], atol=1e-15)


def test_default_axes_are_z_and_for_universal_joints_z_and_x():
    placed = {"axis": (0, 0, 1), "axis2": (1, 0, 0)}
    for kind, explicit in ((Revolute, {"axis": (0, 0, 1)}), (Universal, placed)):
        pair = [
            compile(Scene(bodies=[block("a")], joints=[kind(name="j", parent="world", child="a", **given)]))
            for given in ({}, explicit)
        ]
        np.testing.assert_array_equal(pair[0].part_rot, pair[1].part_rot)


# --- placement in the world and in bodies ----------------------------------------------------------------------------


def in_frames(scene):
    """The same scene with its joints placed in body frames and its bodies, but for roots, by their joints."""
    poses = {"world": (np.zeros(3), np.eye(3))}
    for body in scene.bodies:
        poses[body.name] = np.array(body.position), quat_to_matrix(np.array(body.orientation))

    def frame(body, anchor, z, x):
        p, R = poses[body]
        return Frame(anchor=R.T @ (anchor - p), axis=R.T @ z, x_axis=R.T @ x)

    joints = []
    for j in scene.joints:
        anchor, z = np.array(j.anchor), np.array(j.axis)
        across = np.array(j.axis2 if isinstance(j, Universal) else j.x_axis)
        ends = {"parent_frame": frame(j.parent, anchor, z, across), "child_frame": frame(j.child, anchor, z, across)}
        if isinstance(j, Universal):
            ends["child_frame"] = frame(j.child, anchor, across, np.cross(z, across))
        changes = {"axis2": None} if isinstance(j, Universal) else {}
        joints.append(replace(j, anchor=None, axis=None, x_axis=None, **ends, **changes))
    bodies = [replace(b, position=None, orientation=None) for b in scene.bodies]
    return replace(scene, bodies=bodies, joints=joints)


def chain(rng, kinds):
    scene = Scene(gravity=rng.normal(size=3))
    for k, kind in enumerate(kinds):
        pose = {"position": rng.normal(size=3), "orientation": rng.normal(size=4)}
        scene.add(block(f"b{k}", center_of_mass=rng.normal(size=3), **pose))
        axis, other = rng.normal(size=(2, 3))
        across = {"axis2": np.cross(axis, other)} if kind is Universal else {"x_axis": other}
        ends = (f"b{k - 1}" if k else "world", f"b{k}")
        parent, child = ends[:: rng.choice([1, -1])]
        anchor = rng.normal(size=3)
        scene.add(kind(name=f"j{k}", parent=parent, child=child, anchor=anchor, axis=axis, **across, **pitch_of(kind)))
    return scene


@pytest.mark.parametrize("kind", [*MOTIONS, None], ids=[*(k.__name__ for k in MOTIONS), "mixed"])
@pytest.mark.parametrize("seed", range(3))
def test_placement_in_bodies_and_in_the_world_give_the_same_dynamics(kind, seed):
    rng = np.random.default_rng(seed)
    kinds = [Spherical, *rng.permutation([*MOTIONS])] if kind is None else [Revolute, kind, kind]
    scene = chain(rng, kinds)
    model, other = compile(scene), compile(in_frames(scene))
    q, v, _, tau, f_ext = random_state(rng, model)
    assert relative(other.q0, model.q0) < 1e-15
    for x, y in zip(dynamics.body_poses(model, q), dynamics.body_poses(other, q), strict=True):
        assert relative(x, y) < 1e-12
    assert relative(dynamics.crba(model, q), dynamics.crba(other, q)) < 1e-12
    assert relative(dynamics.aba(model, q, v, tau, f_ext), dynamics.aba(other, q, v, tau, f_ext)) < 1e-10


def test_a_pose_that_agrees_with_the_joint_frames_is_accepted():
    frames = {"parent_frame": Frame(anchor=(1, 0, 0)), "child_frame": Frame(anchor=(0, 2, 0))}
    joint = Revolute(name="j", parent="world", child="a", **frames)
    given = compile(Scene(bodies=[block("a", position=(1, -2, 0))], joints=[joint]))
    implied = compile(Scene(bodies=[block("a")], joints=[joint]))
    np.testing.assert_array_equal(given.body_pos, implied.body_pos)


def test_one_frame_alone_leaves_the_other_at_the_body():
    joint = Revolute(name="j", parent="world", child="a", parent_frame=Frame(anchor=(1, 2, 3)))
    model = compile(Scene(bodies=[block("a")], joints=[joint]))
    np.testing.assert_array_equal(dynamics.body_poses(model, [0.0])[0], [[1, 2, 3]])


def test_spring_ends_are_fixed_in_body_frames():
    scene = Scene(bodies=[block("a", position=(1, 0, 0), orientation=(0, 0, 1, 1))], gravity=(0, 0, 0))
    scene.add(Revolute(name="j", parent="world", child="a", anchor=(0, 0, 0)))
    ends = {"parent_anchor": (0, 0, 4), "child_anchor": (3, 0, 0)}
    scene.add(Spring(name="s", parent="world", child="a", stiffness=2.0, length=1.0, **ends))
    model = compile(scene)
    stretch = np.sqrt(1 + 9 + 16) - 1.0  # the child's end is at (1, 3, 0)
    assert dynamics.energy(model, [0.0], [0.0])[1] == pytest.approx(stretch**2)
