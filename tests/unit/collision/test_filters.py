"""Pairs of bodies that may touch or may not, by a word of the user."""

from __future__ import annotations

import numpy as np
import pytest
from contact_scenes import ground, put, stuff
from measures import both
from refusal import refused

import sharnir as sh

CUBE = (0.2, 0.2, 0.2)


def said(scene, first, second, touch, **kw):
    scene.add(sh.ContactPair(first=first, second=second, touch=touch, **kw))
    return scene


# --- who touches whom ------------------------------------------------------------------------------------------------


def two_boxes():
    """One over the other, on the ground."""
    scene = ground(stuff())
    for k in range(2):
        put(scene, f"b{k}", sh.Box(size=CUBE, material=stuff()), (0.0, 0.0, 0.1 + 0.25 * k), mass=1.0)
    return scene


@both
def test_bodies_kept_apart_pass_through_each_other(solver):
    heights = {}
    for label, scene in (("apart", said(two_boxes(), "b1", "b0", False)), ("touching", two_boxes())):
        sim = sh.Simulation(scene, solver=solver)
        sim.run(1.0)
        heights[label] = [sim.body(f"b{k}").position[2] for k in range(2)]
        assert (sim.contacts("b0", "b1") == []) == (label == "apart")
    assert heights["apart"] == pytest.approx([0.1, 0.1], abs=1e-4)
    assert heights["touching"] == pytest.approx([0.1, 0.3], abs=1e-4)


@both
def test_a_body_kept_apart_from_the_world_falls_through_it(solver):
    sim = sh.Simulation(said(two_boxes(), "world", "b0", False), solver=solver)
    sim.run(1.0)
    assert sim.body("b0").position[2] < -1.0
    assert sim.body("b1").position[2] == pytest.approx(0.1, abs=1e-4)


@both
def test_a_pair_may_name_one_shape_of_the_world(solver):
    """A table over the ground: the box falls through the table only."""
    scene = ground(stuff())
    scene.add(sh.Box(size=(1.0, 1.0, 0.1), position=(0.0, 0.0, 0.5)))
    put(scene, "box", sh.Box(size=CUBE), (0.0, 0.0, 0.7), mass=1.0)
    sim = sh.Simulation(said(scene, "box", "world", False, second_shape=1), solver=solver)
    sim.run(1.0)
    assert sim.body("box").position[2] == pytest.approx(0.1, abs=1e-4)


def arm_over_base():
    """A base of 0.4 m, and a rod hinged to its upper edge that falls on it by half a turn or through it."""
    scene = sh.Scene(name="arm")
    scene.add(sh.Body(name="base", shapes=[sh.Box(size=(0.4, 0.4, 0.4))], position=(0.2, 0.0, -0.2)))
    scene.add(sh.Body(name="arm", shapes=[sh.Box(size=(0.3, 0.05, 0.1))], position=(0.2, 0.0, 0.15)))
    scene.add(sh.Fixed(name="root", parent="world", child="base"))
    scene.add(sh.Revolute(name="hinge", parent="base", child="arm", anchor=(0.0, 0.0, 0.0), axis=(0.0, 1.0, 0.0)))
    return scene


@both
def test_parent_and_child_collide_if_told_to(solver):
    scene = arm_over_base()
    sim = sh.Simulation(said(scene, "arm", "base", True), solver=solver, dt=0.005)
    sim.run(1.5)
    assert len(sim.contacts("arm", "base")) > 0
    # the lower edge of the rod starts 0.1 m up, and its far end, 0.35 m out, is the first to reach the base
    assert sim.joint("hinge").position[0] == pytest.approx(np.arctan2(0.1, 0.35), abs=1e-3)
    assert abs(sim.joint("hinge").velocity[0]) < 1e-3
    scene.contact_pairs.clear()
    sim = sh.Simulation(scene, solver=solver, dt=0.005)
    sim.run(0.5)
    assert sim.contacts() == [] and sim.joint("hinge").position[0] > 1.0


@both
def test_bodies_of_a_joint_that_closes_a_loop_collide_if_told_to(solver):
    """Two boxes on sliders of the world, and a slider between them, which is the one that closes a loop."""
    scene = sh.Scene(name="sliders", gravity=(0.0, 0.0, 0.0))
    slide = {"axis": (1.0, 0.0, 0.0)}
    for k, name in enumerate("ab"):
        scene.add(sh.Body(name=name, shapes=[sh.Box(size=CUBE)], position=(0.5 * k, 0.0, 0.0)))
        scene.add(sh.Prismatic(name=f"to {name}", parent="world", child=name, velocity=1.0 - k, **slide))
    scene.add(sh.Prismatic(name="between", parent="a", child="b", **slide))
    assert sh.compile(scene).loops == 1
    for touch in (False, True):
        scene.contact_pairs.clear()
        sim = sh.Simulation(said(scene, "a", "b", touch), solver=solver, dt=0.005)
        sim.run(0.6)
        apart = sim.body("b").position[0] - sim.body("a").position[0]
        assert apart == pytest.approx(0.2 if touch else -0.1, abs=1e-3)


@both
def test_what_masks_leave_out_collides_if_told_to(solver):
    ball = sh.Sphere(radius=0.1, group=0, mask=0)
    sim = sh.Simulation(said(put(ground(stuff()), "ball", ball, (0, 0, 0.1)), "ball", "world", True), solver=solver)
    sim.run(0.5)
    assert sim.body("ball").position[2] == pytest.approx(0.1, abs=1e-5)


def test_the_pair_that_names_more_shapes_decides():
    """Of two shapes of the body only the lower one touches the ground."""
    shapes = [sh.Sphere(radius=0.1, position=(0.0, 0.0, z)) for z in (-0.2, 0.2)]
    for order in (1, -1):
        scene = ground(stuff())
        scene.add(sh.Body(name="b", shapes=shapes, position=(0.0, 0.0, 0.1)))
        pairs = [("b", "world", False, {}), ("world", "b", True, {"second_shape": 1})][::order]
        for first, second, touch, shape in pairs:
            said(scene, first, second, touch, **shape)
        model = sh.compile(scene)
        assert model.pair_shape.tolist() == [[0, 2], [1, 2]] and model.pair_touch.tolist() == [0, 1]
        sim = sh.Simulation(model)
        sim.run(0.5)
        assert {c.shapes for c in sim.contacts()} == {(1, 2)}


def test_one_pair_of_shapes_settles_what_two_wider_ones_dispute():
    scene = sh.Scene(bodies=[sh.Body(name=n, shapes=[sh.Sphere(radius=1.0)] * 2) for n in "ab"])
    said(said(scene, "a", "b", True, first_shape=0), "a", "b", False, second_shape=1)
    with refused("contact pair 'a' and 'b' shape 1", "opposite", "'a' shape 0 and 'b'", "names both shapes"):
        sh.compile(scene)
    model = sh.compile(said(scene, "b", "a", True, first_shape=1, second_shape=0))
    told = dict(zip(map(tuple, model.pair_shape.tolist()), model.pair_touch.tolist(), strict=True))
    assert told == {(0, 2): 1, (0, 3): 1, (1, 3): 0}


def test_a_scene_whose_pairs_rule_out_all_contact_is_smooth():
    scene = sh.Scene(bodies=[sh.Body(name=n, shapes=[sh.Sphere(radius=1.0)]) for n in "ab"])
    with refused("contact", "exact"):
        sh.simulate(scene, duration=0.1, solver="exact")
    sh.simulate(said(scene, "a", "b", False), duration=0.1, solver="exact")


# --- what is refused -------------------------------------------------------------------------------------------------

BODIES = {
    "an unknown body": ([("a", "bb", True, {})], ["contact pair 'a' and 'bb'", "unknown body 'bb'", "'b'?"]),
    "a name that is none": ([(3, "b", True, {})], ["contact pair 3 and 'b'", "unknown body 3"]),
    "a body twice": ([("a", "a", False, {})], ["contact pair", "'a' twice", "two different bodies"]),
    "the world twice": ([("world", "world", False, {})], ["'world' twice", "two different bodies"]),
    "no word": ([("a", "b", None, {})], ["touch", "None", "True or False"]),
    "a number": ([("a", "b", 1, {})], ["touch", "given 1;", "True or False"]),
    "a shape too far": ([("a", "b", True, {"second_shape": 1})], ["second_shape", "given 1;", "0, the only one of"]),
    "half a shape": ([("a", "b", True, {"first_shape": 0.5})], ["first_shape", "0.5", "0 to 1 of the shapes of 'a'"]),
    "no shapes": ([("a", "bare", True, {})], ["contact pair 'a' and 'bare'", "without shapes"]),
    "said twice": ([("a", "b", False, {})] * 2, ["contact pair 'a' and 'b'", "given twice", "one contact pair"]),
    "contradiction": ([("a", "b", True, {}), ("b", "a", False, {})], ["given twice", "touch True and touch False"]),
    "two shapes twice": (
        [("a", "b", True, {"first_shape": 1}), ("b", "a", True, {"second_shape": 1})], ["shape 1", "given twice"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BODIES)
def test_a_bad_contact_pair_is_refused_by_name(case):
    shape = sh.Sphere(radius=1.0)
    bodies = [sh.Body(name=n, mass=1.0, inertia=(1.0,) * 3, shapes=s) for n, s in (("a", [shape] * 2), ("b", [shape]))]
    scene = sh.Scene(bodies=[*bodies, sh.Body(name="bare", mass=1.0, inertia=(1.0,) * 3)])
    pairs, fragments = BODIES[case]
    for first, second, touch, shapes in pairs:
        said(scene, first, second, touch, **shapes)
    with refused(*fragments):
        sh.compile(scene)


def test_bodies_without_shapes_may_be_kept_apart():
    bodies = [sh.Body(name=n, mass=1.0, inertia=(1.0,) * 3) for n in "ab"]
    assert len(sh.compile(said(sh.Scene(bodies=bodies), "a", "b", False)).pair_shape) == 0


def test_a_word_in_a_file_is_true_or_false(tmp_path):
    path = tmp_path / "scene.toml"
    said(two_boxes(), "b0", "b1", False).save(path)
    text = path.read_text(encoding="utf-8")
    assert "[[contact_pair]]" in text and "touch = false" in text
    path.write_text(text.replace("touch = false", "touch = 0"), encoding="utf-8")
    with refused("contact_pair 0", "touch", "given 0", "true or false"):
        sh.Scene.load(path)
