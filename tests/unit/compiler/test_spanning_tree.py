"""From scene to tree: numbering of links, shortest paths to the world, joints that close loops, free joints."""

from __future__ import annotations

import numpy as np
import pytest
from blocks import LOOSE, block, check_tree, four_bar, pitch_of
from random_trees import TYPES, random_scene, shuffled

from sharnir import Fixed, Free, Helical, ModelError, Planar, Revolute, Scene, Spherical, compile, dynamics, scenes

# --- numbering and spanning tree -------------------------------------------------------------------------------------


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


# --- loops -----------------------------------------------------------------------------------------------------------


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
