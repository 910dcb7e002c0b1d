"""Coefficients given for two materials, instead of what their rules make."""

from __future__ import annotations

from dataclasses import replace
from math import cos, radians, sin

import numpy as np
import pytest
from contact_scenes import G, box_on, down, ground, put, stuff
from measures import both
from refusal import refused

import sharnir as sh


def named(name, friction=0.5, **kw):
    return sh.Material(name=name, friction=friction, **kw)


def of_materials(scene, **kw):
    scene.add(sh.MaterialPair(first="ball", second="floor", **kw))
    return scene


@both
@pytest.mark.parametrize(("rule", "of_each", "k"), [("geometric", 0.0, 0.8), ("largest", 1.0, 0.5)])
def test_a_pair_bounces_with_its_own_restitution(solver, rule, of_each, k):
    """Dropped from 1 m: the next top is k² m up, whatever the rule makes of the two materials."""
    ball, floor = (named(name, restitution=of_each, combine=rule) for name in ("ball", "floor"))
    scene = put(ground(floor), "ball", sh.Sphere(radius=0.1, material=ball), (0.0, 0.0, 1.1), mass=1.0)
    sim = sh.Simulation(of_materials(scene, restitution=k), solver=solver, dt=0.001)
    fall = (2 / G) ** 0.5
    sim.run(fall * (1 + k))
    assert sim.body("ball").position[2] - 0.1 == pytest.approx(k * k, abs=2e-2 * k)
    assert abs(sim.body("ball").velocity[2]) < 0.05


def test_a_pair_has_its_own_threshold():
    """At 1 m/s: below the threshold of the pair, far above that of the materials."""
    ball, floor = (named(name, restitution=1.0) for name in ("ball", "floor"))
    for threshold, after in ((2.0, 0.0), (0.5, 1.0)):
        scene = ground(floor, gravity=0.0)
        put(scene, "ball", sh.Sphere(radius=0.1, material=ball), (0, 0, 0.15), velocity=(0, 0, -1.0))
        sim = sh.Simulation(of_materials(scene, threshold=threshold), dt=0.001)
        sim.run(0.1)
        assert sim.body("ball").velocity[2] == pytest.approx(after, abs=1e-6)


@both
@pytest.mark.parametrize(("of_each", "of_pair"), [(0.0, 1.0), (1.0, 0.1)])
def test_a_pair_sticks_or_slides_by_its_own_friction(solver, of_each, of_pair):
    angle, t = radians(20.0), 0.5
    scene = box_on(named("ball", of_each), angle, ground_material=named("floor", of_each))
    sim = sh.Simulation(of_materials(scene, friction=of_pair), solver=solver, dt=0.002)
    start = sim.body("box").position.copy()
    sim.run(t)
    way = (sim.body("box").position - start) @ down(angle)
    slides = max(0.0, G * (sin(angle) - of_pair * cos(angle)))
    assert way == pytest.approx(slides * t * t / 2, abs=1e-4, rel=5e-3)


def test_a_pair_rolls_against_its_own_resistance():
    """A ball that rolls at 1 m/s is stopped by nothing but the pair's rolling: v² = 2·(5/7) g c/r · s."""
    r, c = 0.1, 0.005
    rolls = {"velocity": (1.0, 0.0, 0.0), "spin": (0.0, 1.0 / r, 0.0)}
    scene = put(ground(named("floor")), "ball", sh.Sphere(radius=r, material=named("ball")), (0, 0, r), **rolls)
    free = sh.Simulation(scene, dt=0.002)
    sim = sh.Simulation(of_materials(scene, rolling=c), dt=0.002)
    for s in (free, sim):
        s.run(2.0)
    assert free.body("ball").velocity[0] == pytest.approx(1.0, abs=1e-3)
    assert sim.body("ball").velocity[0] == pytest.approx(1.0 - 5 / 7 * G * c / r * 2.0, abs=1e-2)


def test_other_bodies_of_these_materials_and_other_materials():
    """The pair holds for both orders and nothing else; what it leaves out is combined; names do not reach the table."""
    scene = ground(named("floor", 0.2, restitution=0.4))
    for k, material in enumerate((named("ball", 0.8, restitution=0.9), stuff(0.8, restitution=0.9), named("x", 0.3))):
        put(scene, f"b{k}", sh.Sphere(radius=0.1, material=material), (k, 0, 1))
    model = sh.compile(of_materials(scene, friction=0.7))
    ball, plain, _, floor = model.shape_material
    assert len(model.material) == 4 and ball != plain
    table = model.material_table
    np.testing.assert_array_equal(table, table.swapaxes(0, 1))
    np.testing.assert_allclose(table[ball, floor], [0.7, 0.7, 0.0, 0.0, 0.6, 0.02])
    np.testing.assert_allclose(table[plain, floor], [0.4, 0.4, 0.0, 0.0, 0.6, 0.02])
    np.testing.assert_allclose(table[ball, ball, 0], 0.8)
    scene.material_pairs.clear()
    assert len(sh.compile(scene).material) == 3
    scene.add(sh.MaterialPair(first="ball", second="ball", restitution=0.0, static_friction=1.2))
    model = sh.compile(scene)
    ball = model.shape_material[0]
    np.testing.assert_allclose(model.material_table[ball, ball], [0.8, 1.2, 0.0, 0.0, 0.0, 0.02])


@both
def test_one_scene_of_pairs_steps_alike_after_a_file(solver, tmp_path):
    scene = of_materials(box_on(named("ball", 0.0), 0.3, ground_material=named("floor", 0.0)), friction=0.2)
    put(scene, "ghost", sh.Box(size=(0.2,) * 3), (0.3, 0.0, 0.3))
    scene.add(sh.ContactPair(first="box", second="ghost", touch=False))
    scene.save(tmp_path / "scene.toml")
    loaded = sh.Scene.load(tmp_path / "scene.toml")
    assert loaded == scene and sh.compile(loaded).fingerprint == sh.compile(scene).fingerprint
    ends = []
    for s in (scene, loaded):
        sim = sh.Simulation(s, solver=solver)
        sim.run(0.2)
        ends.append(sim.q.copy())
    np.testing.assert_array_equal(*ends)


MATERIALS = {
    "unknown": ([{"second": "flor", "friction": 1.0}], ["'ball' and 'flor'", "unknown material 'flor'", "'floor'?"]),
    "no name": ([{"second": None, "friction": 1.0}], ["material pair 'ball' and None", "unknown material None"]),
    "nothing": ([{}], ["material pair 'ball' and 'floor'", "gives no coefficient", "restitution, threshold"]),
    "negative": ([{"rolling": -1.0}], ["material pair 'ball' and 'floor'", "rolling", "-1.0", "≥ 0"]),
    "no number": ([{"threshold": "fast"}], ["threshold", "'fast'", "a finite number"]),
    "too bouncy": ([{"restitution": 1.5}], ["restitution", "1.5", "0 to 1"]),
    "less static": ([{"friction": 0.5, "static_friction": 0.4}], ["static_friction", "0.4", "≥ 0.5"]),
    "less static than combined": ([{"static_friction": 0.2}], ["static_friction", "0.2", "≥ 0.3"]),
    "twice": ([{"friction": 1.0}, {"first": "floor", "second": "ball", "rolling": 1.0}], ["given twice"]),
}  # fmt: skip


@pytest.mark.parametrize("case", MATERIALS)
def test_a_bad_material_pair_is_refused_by_name(case):
    scene = ground(named("floor", 0.3))
    scene.add(sh.Body(name="b", shapes=[sh.Sphere(radius=1.0, material=named("ball", 0.3))]))
    pairs, fragments = MATERIALS[case]
    for pair in pairs:
        scene.add(sh.MaterialPair(**{"first": "ball", "second": "floor", **pair}))
    with refused(*fragments):
        sh.compile(scene)


def test_one_name_for_two_materials_is_refused():
    scene = ground(named("steel", 0.3))
    scene.add(sh.Body(name="b", shapes=[sh.Sphere(radius=1.0, material=replace(named("steel", 0.3), rolling=0.1))]))
    with refused("shape 0", "material 'steel'", "two ways", "same values"):
        sh.compile(scene)
    for name in ("", 3):
        with refused("world, shape 0, material", "name", repr(name), "a non-empty name"):
            sh.compile(ground(named(name)))
