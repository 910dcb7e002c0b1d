"""What users ask of contacts: who touches whom, with which force, who may not touch, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from contact_scenes import G, ground, put, stuff
from measures import both
from refusal import refused

import sharnir as sh
from sharnir import scenes


def ball_over(scene, **kw):
    return put(scene, "ball", sh.Sphere(radius=0.1, material=stuff(), **kw), (0.0, 0.0, 0.1), mass=2.0)


@both
def test_forces_of_contacts_carry_the_weight(solver):
    sim = sh.Simulation(put(ground(stuff()), "box", sh.Box(size=(0.2,) * 3), (0, 0, 0.1), mass=3.0), solver=solver)
    assert sim.contacts() == []
    sim.run(1.0)
    points = sim.contacts("box", "world")
    assert len(points) == 4 and len(sim.contacts("box")) == len(sim.contacts()) == 4
    for c in points:
        assert set(c.bodies) == {"box", "world"}
        np.testing.assert_allclose(np.abs(c.normal), [0.0, 0.0, 1.0], atol=1e-9)
        assert abs(c.gap) < 3e-6 and abs(c.point[2]) < 3e-6
        assert np.abs(c.point[:2]) == pytest.approx([0.1, 0.1], abs=1e-5)
    force = sum(c.force if c.bodies[1] == "box" else -c.force for c in points)
    np.testing.assert_allclose(force, [0.0, 0.0, 3.0 * G], rtol=1e-5, atol=1e-6)


def test_what_its_mask_leaves_out_falls_through():
    sim = sh.Simulation(ball_over(ground(stuff()), mask=0))
    sim.run(0.5)
    assert sim.body("ball").position[2] == pytest.approx(0.1 - G * 0.5**2 / 2, abs=1e-3)
    assert sim.contacts() == []


def test_groups_choose_who_touches_whom():
    """Two balls, one over the other: the ground stops both, they pass each other."""
    scene = ground(stuff(), mask=3)
    for k, mask in ((1, 1), (2, 1)):
        shape = sh.Sphere(radius=0.1, group=2, mask=mask)
        put(scene, f"b{k}", shape, (0.0, 0.0, 0.15 * k), mass=1.0)
    sim = sh.Simulation(scene)
    sim.run(1.0)
    for k in (1, 2):
        assert sim.body(f"b{k}").position[2] == pytest.approx(0.1, abs=1e-5)
    assert sim.contacts("b1", "b2") == []


def test_bodies_of_one_joint_do_not_touch():
    scene = sh.Scene(name="arm", gravity=(0.0, 0.0, 0.0))
    scene.add(sh.Body(name="a", mass=1.0, shapes=[sh.Box(size=(0.2,) * 3)]))
    scene.add(sh.Body(name="b", mass=1.0, shapes=[sh.Box(size=(0.2,) * 3)], position=(0.1, 0.0, 0.0)))
    scene.add(sh.Free(name="root", parent="world", child="a"))
    scene.add(sh.Revolute(name="hinge", parent="a", child="b", anchor=(0.05, 0.0, 0.0), axis=(0.0, 0.0, 1.0)))
    sim = sh.Simulation(scene)
    sim.run(0.2)
    assert sim.contacts() == [] and np.abs(sim.v).max() == 0.0


def test_more_contacts_than_room_are_named():
    with pytest.raises(sh.SimulationError, match=r"4 points of contact: there is room for 3; .*contacts=8"):
        sim = sh.Simulation(put(ground(stuff()), "b", sh.Box(size=(0.2,) * 3), (0, 0, 0.1)), contacts=3)
        sim.run(0.1)


def test_room_for_contacts_can_be_asked_for_in_a_whole_run():
    scene = put(ground(stuff()), "b", sh.Box(size=(0.2,) * 3), (0, 0, 0.1))
    with pytest.raises(sh.SimulationError, match=r"4 points of contact: there is room for 3"):
        sh.simulate(scene, 0.02, solver="simgc", contacts=3)
    assert sh.simulate(scene, 0.02, solver="simgc", contacts=4, pairs=1).finished


def crowd(n):
    scene = sh.Scene(name="crowd", gravity=(0.0, 0.0, 0.0))
    for k in range(n):
        scene.add(sh.Body(name=f"b{k}", shapes=[sh.Sphere(radius=0.1)], position=(1e-3 * k, 0.0, 0.0)))
    return scene


def test_more_pairs_than_room_are_named_with_what_to_ask_for():
    with pytest.raises(sh.SimulationError, match=r"10 pairs of shapes .*room for 3; .*Simulation\(\.\.\., pairs=10\)"):
        sh.Simulation(crowd(5), pairs=3).step()
    sh.Simulation(crowd(5), pairs=10).step()
    with refused("pairs", "0", "≥ 1"):
        sh.Simulation(crowd(5), pairs=0)


def test_the_usual_room_is_named_too():
    """140 balls in one place have 9730 pairs; 64 a ball make 8960."""
    model = sh.compile(crowd(140))
    with pytest.raises(sh.SimulationError, match=r"9730 pairs of shapes .*room for 8960; .*pairs=9730\)"):
        sh.Simulation(model).step()
    with pytest.raises(sh.SimulationError, match="9730 points of contact"):
        sh.Simulation(model, pairs=9730).step()


@both
def test_what_is_read_between_steps_needs_room_as_well(solver):
    """The box lands on 4 points after the last step: forces read then would lack one."""
    scene = put(ground(stuff()), "b", sh.Box(size=(0.2,) * 3), (0, 0, 0.1))
    sim = sh.Simulation(scene, solver=solver, contacts=3)
    with pytest.raises(sh.SimulationError, match=r"t = 0 s: 4 points of contact: there is room for 3"):
        sim.seen("wrench")
    crowded = sh.Simulation(crowd(5), solver=solver, pairs=3)
    saved = crowded.save()
    for back in (crowded.reset, lambda: crowded.restore(saved)):
        with pytest.raises(sh.SimulationError, match="10 pairs of shapes"):
            crowded.step()
        back()
        assert crowded.body("b4").position[0] == pytest.approx(4e-3)


def test_questions_about_what_is_not_there_are_refused():
    sim = sh.Simulation(ball_over(ground(stuff())))
    with refused("body", "bell"):
        sim.contacts("bell")
    with refused("world", "7"):
        sim.contacts(world=7)


@both
def test_a_humanoid_dropped_from_two_metres_sinks_by_less_than_three_millimetres(solver):
    """27 degrees of freedom, 5 ms; 6 m/s when it lands. Also afterwards, when it falls over."""
    sim = sh.Simulation(scenes.make("humanoid", height=2.0), solver=solver, dt=0.005)
    deepest = 0.0
    for _ in range(500):
        sim.step()
        deepest = min(deepest, min((c.gap for c in sim.contacts()), default=0.0))
    assert deepest > -3e-3
    assert sim.body("torso").position[2] < 1.5


@both
@pytest.mark.parametrize("dt", [0.01, 0.005, 0.001])
def test_a_buried_box_leaves_gently(solver, dt):
    """95 % of a box of 20 cm under ground: pushed out at 3 m/s at most, and left without that speed."""
    scene = put(ground(stuff()), "box", sh.Box(size=(0.2,) * 3), (0, 0, -0.09), mass=1.0)
    sim = sh.Simulation(scene, solver=solver, dt=dt)
    z = [sim.body("box").position[2]]
    for _ in range(round(1.0 / dt)):
        sim.step()
        z.append(sim.body("box").position[2])
    assert np.diff(z).max() / dt <= 3.0 + 1e-6
    assert max(z) < 0.1 + 1e-4 and z[-1] == pytest.approx(0.1, abs=1e-4)
