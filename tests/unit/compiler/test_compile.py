"""From scene to model: numbering, spanning tree and loop joints, placement, motion of joints, mass properties."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest
from random_trees import TYPES, random_scene, random_state, relative, shuffled
from scipy.integrate import quad
from scipy.spatial.transform import Rotation

from sharnir import (
    Actuator,
    Body,
    Box,
    Capsule,
    ContactPair,
    ConvexHull,
    Coupling,
    Cylinder,
    Cylindrical,
    Fixed,
    Frame,
    Free,
    HalfSpace,
    HeightField,
    Helical,
    Mesh,
    ModelError,
    Motor,
    Planar,
    Prismatic,
    Revolute,
    Scene,
    Sphere,
    Spherical,
    Spring,
    Universal,
    compile,
    dynamics,
    scenes,
)
from sharnir.rotations import quat_to_matrix
from sharnir.spec.joints import JOINT_TYPES

MOMENTS = (0.4, 0.5, 0.6)
LOOSE = tuple(t for t in TYPES if t is not Fixed)


def block(name, **changes):
    """A body that is regular on any joint."""
    return Body(**{"name": name, "mass": 1.0, "inertia": MOMENTS, **changes})


def pitch_of(kind):
    return {"pitch": 0.3} if kind is Helical else {}


# --- numbering and spanning tree -------------------------------------------------------------------------------------


def check_tree(scene, model):
    """λ(i) < i, and every body and joint of the scene appears once, joints where they connect the right bodies."""
    assert (model.parent < np.arange(model.nb)).all()
    assert sorted(model.body_names) == sorted(b.name for b in scene.bodies)
    implicit = set(model.joint_names) - {j.name for j in scene.joints}
    assert len(model.joint_names) == len(scene.joints) + len(implicit) == model.nb + model.loops
    names = ("world", *model.body_names)
    joints = {j.name: j for j in scene.joints}
    for i, joint in enumerate(model.joint_names):
        if i < model.nb:
            ends = names[model.parent[i] + 1], names[i + 1]
        else:
            ends = tuple(names[k + 1] for k in model.loop_link[i - model.nb])
        if joint in joints:
            assert set(ends) == {joints[joint].parent, joints[joint].child}
        else:
            assert ends[0] == "world"
    return implicit


@pytest.mark.parametrize("seed", range(20))
def test_links_are_numbered_outwards_whatever_the_order_of_description(seed):
    rng = np.random.default_rng(seed)
    scene = random_scene(rng, 15, root_types=LOOSE, reverse=0.5)
    parents = []
    for _ in range(3):
        scene = shuffled(rng, scene)
        model = compile(scene)
        assert not check_tree(scene, model)
        names = ("world", *model.body_names)
        parents.append({names[i + 1]: names[model.parent[i] + 1] for i in range(model.nb)})
    assert parents[0] == parents[1] == parents[2]


@pytest.mark.parametrize("seed", range(20))
def test_any_graph_of_joints_has_a_spanning_tree(seed):
    rng = np.random.default_rng(seed)
    scene = Scene(bodies=[block(f"b{k}") for k in range(12)])
    ends = ["world", *(b.name for b in scene.bodies)]
    for k in range(rng.integers(5, 25)):
        parent, child = rng.choice(ends, 2, replace=False)
        kind = (Spherical, Revolute, Free)[rng.integers(3)]
        scene.add(kind(name=f"j{k}", parent=str(parent), child=str(child)))
    model = compile(scene)
    implicit = check_tree(scene, model)
    assert model.loops == len(scene.joints) + len(implicit) - len(scene.bodies)


def test_links_of_a_chain_follow_each_other():
    scene = scenes.make("rods", n=5)
    scene.bodies.reverse()
    model = compile(scene)
    assert model.body_names == ("rod1", "rod2", "rod3", "rod4", "rod5")
    assert model.parent.tolist() == [-1, 0, 1, 2, 3]


def test_trees_are_counted():
    scene = Scene(bodies=[block(n) for n in "abcd"], joints=[Spherical(name="j", parent="a", child="c")])
    model = compile(scene)
    assert model.trees == 3
    tree = dict(zip(model.body_names, model.tree, strict=True))
    assert tree["a"] == tree["c"]
    assert len({tree["a"], tree["b"], tree["d"]}) == 3


def test_compiling_leaves_the_scene_alone():
    scene = scenes.make("andrews")
    before = repr(scene)
    compile(scene)
    assert repr(scene) == before


# --- read-only arrays ------------------------------------------------------------------------------------------------


def rich_model():
    scene = random_scene(np.random.default_rng(3), 8, root_types=LOOSE)
    scene.add(Spring(name="spring", parent="world", child="b0", stiffness=1.0))
    scene.add(Free(name="loop", parent="b0", child="b1"))
    scene.add(block("floating"))
    scene.add(Motor(name="motor", joint="loop", velocity=1.0))
    scene.add(Coupling(name="gear", leader="loop", follower="loop", follower_coordinate=1))
    scene.add(Actuator(name="drive", joints=["loop"]))
    scene.add(Body(name="ball", shapes=[Sphere(radius=0.1)]))
    scene.add(ContactPair(first="ball", second="world", touch=False))
    scene.add(HalfSpace())
    scene.add(ConvexHull(points=[[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]))
    scene.add(HeightField(heights=[[0, 0], [0, 1]], size=(1, 1)))
    scene.add(Mesh(vertices=[[0, 0, 0], [1, 0, 0], [0, 1, 0]], faces=[[0, 1, 2]]))
    return compile(scene)


def test_every_array_of_a_model_is_read_only():
    model = rich_model()
    arrays = {f.name: getattr(model, f.name) for f in fields(model)}
    arrays = {n: a for n, a in arrays.items() if isinstance(a, np.ndarray)} | {"quaternions": model.quaternions}
    assert len(arrays) > 30
    for name, array in arrays.items():
        assert array.size, name
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_fields_of_a_model_cannot_be_replaced():
    with pytest.raises(FrozenInstanceError):
        rich_model().mass = np.zeros(1)


# --- loops -----------------------------------------------------------------------------------------------------------


def four_bar():
    return scenes.make("n_four_bar", n=1)


def test_a_four_bar_has_three_links_and_a_loop():
    model = compile(four_bar())
    assert (model.nb, model.nv, model.loops, model.trees) == (3, 3, 1, 2)
    check_tree(four_bar(), model)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_ladder_has_a_loop_per_rung(n):
    scene = scenes.make("n_four_bar", n=n)
    model = compile(scene)
    assert (model.nb, model.loops) == (2 * n + 1, n)
    check_tree(scene, model)


def test_the_tree_takes_shortest_paths_to_the_world():
    scene = Scene(bodies=[block(n) for n in "abcd"])
    for parent, child in ("ab", "bc", "cd"):
        scene.add(Spherical(name=parent + child, parent=parent, child=child))
    for body in "ad":
        scene.add(Spherical(name=f"world{body}", parent="world", child=body))
    model = compile(scene)
    depth = {-1: 0}
    for i, lam in enumerate(model.parent):
        depth[i] = depth[lam] + 1
    assert {n: depth[i] for i, n in enumerate(model.body_names)} == {"a": 1, "b": 2, "c": 2, "d": 1}
    assert model.joint_names[model.nb :] == ("bc",)


def test_a_body_welded_twice_closes_a_loop_without_freedom():
    welds = [Fixed(name=n, parent="world", child="a", anchor=(x, 0, 0)) for n, x in (("first", 0.0), ("second", 1.0))]
    model = compile(Scene(bodies=[block("a")], joints=welds))
    assert (model.nv, model.loops, model.joint_names) == (0, 1, ("first", "second"))
    assert model.joint("second").closes_loop


def test_two_joints_between_the_same_bodies_close_a_loop():
    scene = Scene(bodies=[block("a"), block("b")])
    scene.add(Spherical(name="ball", parent="a", child="b"))
    scene.add(Revolute(name="hinge", parent="b", child="a", axis=(0, 1, 0)))
    model = compile(scene)
    check_tree(scene, model)
    assert model.joint_names == ("a_free", "ball", "hinge")
    assert model.joint_types == ("free", "spherical", "revolute")
    assert model.loop_link.tolist() == [[1, 0]]


@pytest.mark.parametrize("kind", TYPES)
def test_a_loop_joint_keeps_all_its_properties(kind):
    v = tuple(0.1 * (k + 1) for k in range(kind.nv))
    stiffness = {Spherical: 2.0, Free: (1.0, 2.0, 3.0, 4.0, 4.0, 4.0)}.get(kind, v)
    rest = {4: (0.6, 0, 0, 0.8), 7: (1.0, 2.0, 3.0, 0, 0.6, 0, 0.8)}.get(kind.nq, v)
    scene = Scene(bodies=[block("a")])
    scene.add(Spherical(name="tree", parent="world", child="a", anchor=(1, 0, 0)))
    scene.add(
        kind(name="loop", parent="world", child="a", damping=v, stiffness=stiffness, rest=rest, armature=v[::-1],
             effort=3.0, **({} if kind is Free else {"anchor": (1, 0, 0)}), **pitch_of(kind))
    )  # fmt: skip
    model = compile(scene)
    joint = model.joint("loop")
    assert (joint.name, joint.type, joint.closes_loop) == ("loop", kind.__name__.lower(), True)
    assert (joint.q, joint.v) == (slice(0, kind.nq), slice(0, kind.nv))
    np.testing.assert_array_equal(model.loop_damping, v)
    np.testing.assert_array_equal(model.loop_stiffness, np.broadcast_to(stiffness, kind.nv))
    np.testing.assert_array_equal(model.loop_armature, v[::-1])
    np.testing.assert_array_equal(model.loop_effort, np.full(kind.nv, 3.0))
    np.testing.assert_allclose(model.loop_rest, rest, rtol=1e-15)
    np.testing.assert_allclose(model.loop_pitch, [0.3 / (2 * np.pi) if kind is Helical else 0.0])


def test_loop_joints_share_the_loop_coordinates_in_order():
    scene = Scene(bodies=[block("a")], joints=[Spherical(name="tree", parent="world", child="a")])
    for name, kind in (("one", Revolute), ("two", Planar), ("three", Spherical)):
        scene.add(kind(name=name, parent="world", child="a"))
    model = compile(scene)
    places = [model.joint(n) for n in ("one", "two", "three")]
    assert [(p.q.start, p.q.stop) for p in places] == [(0, 1), (1, 4), (4, 8)]
    assert [(p.v.start, p.v.stop) for p in places] == [(0, 1), (1, 4), (4, 7)]


def test_the_frames_of_a_loop_joint_meet_in_the_initial_pose():
    model = compile(scenes.make("andrews"))
    position, rotation = dynamics.body_poses(model, model.q0)
    for k in range(model.loops):
        ends = []
        for link, x in zip(model.loop_link[k], model.loop_pos[k], strict=True):
            in_body = model.body_rot[link].T @ (x - model.body_pos[link])
            ends.append(position[link] + rotation[link] @ in_body)
        np.testing.assert_allclose(ends[0], ends[1], atol=1e-9)


def test_a_position_of_a_loop_joint_that_fits_is_accepted_and_another_refused():
    scene = four_bar()
    for joint in scene.joints:
        joint.position = 0.0
    loop = compile(scene).joint_names[-1]
    next(j for j in scene.joints if j.name == loop).position = 0.1
    with pytest.raises(ModelError, match=rf"joint '{loop}'.* 0\.1.*allowed"):
        compile(scene)


def test_joints_with_a_stated_position_carry_the_tree():
    """A position that was stated holds, whichever joint would be nearer to the world."""
    scene = four_bar()
    for joint in scene.joints:
        joint.position = None
    for stated in scene.joints:
        stated.position = 0.0
        assert not compile(scene).joint(stated.name).closes_loop
        stated.position = None


# --- free joints -----------------------------------------------------------------------------------------------------


def test_a_body_without_joints_gets_a_free_joint_at_its_pose():
    scene = Scene(bodies=[block("a", position=(1, 2, 3), orientation=(0, 0, 3, 4))])
    model = compile(scene)
    assert model.joint_names == ("a_free",)
    assert model.joint_types == ("free",)
    np.testing.assert_allclose(model.q0, [1, 2, 3, 0, 0, 0.6, 0.8], atol=1e-15)


def test_a_floating_tree_gets_one_free_joint_at_the_first_body_described():
    scene = Scene(bodies=[block(n) for n in "cab"])
    scene.add(Spherical(name="ab", parent="a", child="b"))
    scene.add(Spherical(name="bc", parent="b", child="c"))
    model = compile(scene)
    assert model.joint_names == ("c_free", "bc", "ab")
    assert model.parent.tolist() == [-1, 0, 1]


def test_the_name_of_an_implicit_joint_avoids_names_taken():
    scene = Scene(bodies=[block("a"), block("b")], joints=[Spherical(name="a_free", parent="a", child="b")])
    assert compile(scene).joint_names == ("a_free_", "a_free")


def test_implicit_joints_of_different_bodies_have_different_names():
    scene = Scene(bodies=[block("a"), block("a_"), block("b"), block("c")])
    scene.add(Spherical(name="a_free", parent="b", child="c"))
    names = compile(scene).joint_names
    assert len(set(names)) == len(names)


def test_a_free_joint_keeps_its_name_state_and_properties():
    scene = Scene(bodies=[block("a", position=(9, 9, 9))])
    scene.add(
        Free(name="flight", parent="world", child="a", position=(1, 2, 3, 0, 0, 0, 2), velocity=range(6),
             damping=0.5, effort=(1, 2, 3, 4, 5, 6))
    )  # fmt: skip
    model = compile(scene)
    assert model.joint_names == ("flight",)
    np.testing.assert_array_equal(model.q0, [1, 2, 3, 0, 0, 0, 1])
    np.testing.assert_array_equal(model.v0, range(6))
    np.testing.assert_array_equal(model.effort, range(1, 7))
    np.testing.assert_array_equal(model.damping, np.full(6, 0.5))


def test_a_free_joint_between_bodies_starts_from_their_poses():
    scene = Scene(bodies=[block("a", position=(1, 0, 0), orientation=(0, 0, 1, 1)), block("b", position=(1, 2, 0))])
    scene.add(Revolute(name="hinge", parent="world", child="a", anchor=(1, 0, 0)))
    scene.add(Free(name="tether", parent="a", child="b"))
    model = compile(scene)
    half = np.sqrt(0.5)
    np.testing.assert_allclose(model.q0[model.joint("tether").q], [2, 0, 0, 0, 0, -half, half], atol=1e-15)
    np.testing.assert_allclose(dynamics.body_poses(model, model.q0)[0], [[1, 0, 0], [1, 2, 0]], atol=1e-15)


def test_a_free_joint_gives_way_to_any_other():
    scene = Scene(bodies=[block("a"), block("b")])
    scene.add(Free(name="free", parent="world", child="b"))
    scene.add(Spherical(name="ba", parent="b", child="a"))
    scene.add(Spherical(name="root", parent="world", child="a"))
    model = compile(scene)
    assert model.joint_names == ("root", "ba", "free")
    assert model.joint("free").closes_loop


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


# --- mass properties -------------------------------------------------------------------------------------------------


def properties(**body):
    """Mass, centre of mass and inertia of a compiled body, in its own frame."""
    model = compile(Scene(bodies=[Body(name="a", **body)], joints=[Fixed(name="j", parent="world", child="a")]))
    R = model.body_rot[0]
    return model.mass[0], R.T @ (model.com[0] - model.body_pos[0]), R.T @ model.inertia[0] @ R


def of_revolution(radius, half):
    """Volume and second moments ∫x², ∫y², ∫z² of a solid with radius(z) for |z| ≤ half, by quadrature."""
    volume = quad(lambda z: np.pi * radius(z) ** 2, -half, half, epsabs=1e-13)[0]
    across = quad(lambda z: np.pi * radius(z) ** 4 / 4, -half, half, epsabs=1e-13)[0]
    along = quad(lambda z: np.pi * radius(z) ** 2 * z**2, -half, half, epsabs=1e-13)[0]
    return volume, np.array([across, across, along])


def rounded(z, r=0.3, length=0.8):
    beyond = max(abs(z) - length / 2, 0.0)
    return np.sqrt(max(r * r - beyond**2, 0.0))


SOLIDS = {
    "sphere": (Sphere(radius=0.3), of_revolution(lambda z: np.sqrt(max(0.09 - z * z, 0.0)), 0.3)),
    "cylinder": (Cylinder(radius=0.3, length=0.8), of_revolution(lambda z: 0.3, 0.4)),
    "capsule": (Capsule(radius=0.3, length=0.8), of_revolution(rounded, 0.7)),
    "box": (Box(size=(0.2, 0.3, 0.5)), (0.03, 0.03 * np.array([0.04, 0.09, 0.25]) / 12)),
}


def moments(second):
    """Rotational inertia of second moments [3] or [3, 3]."""
    second = np.diag(second) if np.ndim(second) == 1 else second
    return np.trace(second) * np.eye(3) - second


@pytest.mark.parametrize("name", SOLIDS)
def test_mass_properties_of_a_solid_are_its_integrals(name):
    shape, (volume, second) = SOLIDS[name]
    mass, com, inertia = properties(shapes=[replace(shape, density=7.0)])
    assert mass == pytest.approx(7 * volume, rel=1e-7)
    np.testing.assert_allclose(com, 0, atol=1e-15)
    np.testing.assert_allclose(inertia, 7 * moments(second), rtol=1e-7, atol=1e-12)


def test_closed_forms_of_solids():
    r, length = 0.3, 0.8
    sphere, cylinder = 1000 * 4 / 3 * np.pi * r**3, 1000 * np.pi * r * r * length
    assert properties(shapes=[Sphere(radius=r)])[2] == pytest.approx(0.4 * sphere * r * r * np.eye(3))
    across = cylinder * (r * r / 4 + length**2 / 12)
    expected = np.diag([across, across, cylinder * r * r / 2])
    assert properties(shapes=[Cylinder(radius=r, length=length)])[2] == pytest.approx(expected)


def test_a_short_capsule_is_nearly_a_ball_and_a_thin_one_a_rod():
    ball, capsule = (properties(shapes=[s]) for s in (Sphere(radius=0.5), Capsule(radius=0.5, length=1e-9)))
    np.testing.assert_allclose(capsule[2], ball[2], rtol=1e-7)
    mass, _, inertia = properties(shapes=[Capsule(radius=1e-6, length=2.0)])
    np.testing.assert_allclose(inertia[0, 0], mass * 4 / 12, rtol=1e-5)


def points_of(shape, volume, second):
    """Six equal masses with the solid's mass, centre and second moments, in the body frame."""
    offsets = np.sqrt(3 * second / volume)
    points = np.vstack([np.diag(offsets), -np.diag(offsets)])
    R = quat_to_matrix(np.array(shape.orientation))
    return np.full(6, shape.density * volume / 6), points @ R.T + np.array(shape.position)


def pile(rng):
    """Solids of all kinds, off centre and turned, and the points equivalent to them."""
    shapes, weights, points = [], [], []
    for shape, (volume, second) in SOLIDS.values():
        pose = {"position": rng.normal(size=3), "orientation": rng.normal(size=4)}
        placed = replace(shape, density=rng.uniform(1, 5), **pose)
        shapes.append(placed)
        w, p = points_of(placed, volume, second)
        weights.append(w)
        points.append(p)
    return shapes, np.concatenate(weights), np.concatenate(points)


def about_center(weights, points):
    mass = weights.sum()
    com = weights @ points / mass
    d = points - com
    return mass, com, moments(np.einsum("i,ij,ik->jk", weights, d, d))


@pytest.mark.parametrize("seed", range(5))
def test_solids_off_centre_and_turned_add_up(seed):
    shapes, weights, points = pile(np.random.default_rng(seed))
    mass, com, inertia = about_center(weights, points)
    found = properties(shapes=shapes)
    assert found[0] == pytest.approx(mass, rel=1e-7)
    np.testing.assert_allclose(found[1], com, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found[2], inertia, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("density", [1.0, 1000.0])
def test_a_given_mass_scales_the_inertia_of_shapes(density):
    shapes = [replace(s, density=density * s.density) for s in pile(np.random.default_rng(1))[0]]
    own = properties(shapes=shapes)
    mass, com, inertia = properties(mass=2.5, shapes=shapes)
    assert mass == 2.5
    np.testing.assert_allclose(com, own[1], rtol=1e-12)
    np.testing.assert_allclose(inertia, own[2] * 2.5 / own[0], rtol=1e-12)


def test_given_properties_win_over_shapes():
    shapes = [Box(size=(1, 2, 3))]
    mass, com, inertia = properties(mass=2, center_of_mass=(1, 2, 3), inertia=(3, 4, 5), shapes=shapes)
    assert mass == 2
    np.testing.assert_array_equal(com, [1, 2, 3])
    np.testing.assert_array_equal(inertia, np.diag([3, 4, 5]))


def test_a_given_matrix_is_the_inertia_about_the_center_of_mass():
    matrix = np.array([[3.0, 0.5, 0.2], [0.5, 4.0, 0.1], [0.2, 0.1, 5.0]])
    np.testing.assert_array_equal(properties(mass=1, inertia=matrix, center_of_mass=(1, 0, 0))[2], matrix)


def test_without_inertia_or_shapes_a_body_is_a_point():
    mass, com, inertia = properties(mass=3)
    assert mass == 3
    assert not com.any()
    assert not inertia.any()


def test_mass_properties_turn_with_the_joint_frame():
    scene = Scene(
        bodies=[Body(name="a", mass=2, inertia=(1, 2, 3), center_of_mass=(0, 0, 1), orientation=(1, 2, 3, 4))]
    )
    scene.add(Revolute(name="j", parent="world", child="a", axis=(1, 1, 0)))
    model = compile(scene)
    R = quat_to_matrix(np.array([1.0, 2.0, 3.0, 4.0]))
    axis = np.array([1, 1, 0]) / np.sqrt(2)
    com = R @ [0, 0, 1]
    about = R @ np.diag([1, 2, 3]) @ R.T + 2 * (com @ com * np.eye(3) - np.outer(com, com))
    np.testing.assert_allclose(dynamics.crba(model, [0.4]), [[axis @ about @ axis]], rtol=1e-14)


# --- lookups ---------------------------------------------------------------------------------------------------------


def test_bodies_and_joints_are_found_by_name():
    model = compile(four_bar())
    assert [model.body(n) for n in model.body_names] == list(range(model.nb))
    for i, name in enumerate(model.joint_names[: model.nb]):
        joint = model.joint(name)
        assert (joint.name, joint.type, joint.closes_loop) == (name, "revolute", False)
        assert (joint.q, joint.v) == (slice(i, i + 1), slice(i, i + 1))
    assert model.joint(model.joint_names[-1]).closes_loop


@pytest.mark.parametrize(("find", "wrong", "nearest"), [("body", "uprigt0", "upright0"), ("joint", "Left0", "left0")])
def test_an_unknown_name_is_answered_with_the_nearest(find, wrong, nearest):
    model = compile(four_bar())
    with pytest.raises(ModelError, match=rf"unknown {find} '{wrong}'.*did you mean '{nearest}'\?"):
        getattr(model, find)(wrong)


@pytest.mark.parametrize("find", ["body", "joint"])
@pytest.mark.parametrize("wrong", [None, 0, "", ["left0"], {}], ids=repr)
def test_a_lookup_of_what_is_no_name_is_refused(find, wrong):
    with pytest.raises(ModelError, match=f"unknown {find} .*Known: "):
        getattr(compile(four_bar()), find)(wrong)


@pytest.mark.parametrize("kind", JOINT_TYPES.values(), ids=JOINT_TYPES)
def test_a_joint_has_its_number_of_coordinates(kind):
    scene = Scene(bodies=[block("a"), block("b")])
    scene.add(Revolute(name="first", parent="world", child="a"))
    scene.add(kind(name="second", parent="a", child="b", **pitch_of(kind)))
    model = compile(scene)
    assert model.joint("second").q == slice(1, 1 + kind.nq)
    assert model.joint("second").v == slice(1, 1 + kind.nv)
    assert (model.nq, model.nv) == (1 + kind.nq, 1 + kind.nv)


def test_a_used_model_can_be_copied_and_sent_elsewhere():
    import copy
    import pickle

    from sharnir import dynamics

    model = compile(four_bar())
    before = dynamics.aba(model, model.q0, model.v0, np.zeros(model.nv))
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(dynamics.aba(other, other.q0, other.v0, np.zeros(other.nv)), before)
        assert not other.mass.flags.writeable
