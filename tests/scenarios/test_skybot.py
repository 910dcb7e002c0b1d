"""The anthropomorphic robot has the published size, mass and number of motors, stands free, and bears pushes."""

from __future__ import annotations

import numpy as np
import pytest
from measures import both

import sharnir as sh
from sharnir import scenes
from sharnir.scenes import demonstrators
from sharnir.scenes.skybot.motors import VOLTAGE, nameplate
from sharnir.scenes.skybot.servos import read_encoders
from sharnir.scenes.skybot.whole_body import WholeBody

FEET = ("left_foot", "right_foot")


def test_size_mass_and_motors_are_those_of_the_published_robot():
    scene = scenes.make("humanoid_valve")
    robot = [b for b in scene.bodies if b.name != "valve"]
    assert 106.0 <= sum(b.mass for b in robot) <= 160.0
    head = next(b for b in robot if b.name == "head")
    top = max(head.position[2] + s.position[2] + s.radius for s in head.shapes)
    assert 1.80 <= top <= 1.84
    assert len(scene.dc_motors) == 48
    driven = {(m.joint, m.coordinate) for m in scene.dc_motors}
    assert driven == {(j.name, k) for j in scene.joints if j.name not in ("root", "valve") for k in range(j.nv)}
    assert all(m.voltage == VOLTAGE and np.isfinite(m.max_current) and m.rotor_inertia > 0 for m in scene.dc_motors)


@both
def test_stands_free_on_two_feet(solver):
    """Ten seconds; after two the planned posture is held, as what joints are expected to carry is what they do."""
    sim = sh.Simulation(scenes.make("humanoid_valve"), solver=solver, dt=0.005)
    control = WholeBody(sim)
    sim.add_controller(control)
    start = np.array([sim.body(foot).position for foot in FEET])
    sim.run(2.0)
    angles = read_encoders(sim).copy()
    sim.run(8.0)
    assert np.abs(np.array([sim.body(foot).position for foot in FEET]) - start).max() < 1e-6
    assert np.abs(read_encoders(sim) - angles).max() < 2e-3  # the centre of mass comes to its place
    assert np.abs(sim.v).max() < 1e-6
    legs = [k for k, n in enumerate(control.servos.names) if "finger" not in n and "thumb" not in n]
    assert np.abs(control.servos.target - control.servos.seen)[legs].max() < 1e-5
    up = sum(abs(float(c.force[2])) for foot in FEET for c in sim.contacts(foot, "world"))
    weight = 9.81 * sum(b.mass for b in scenes.make("humanoid_valve").bodies if b.name != "valve")
    assert up == pytest.approx(weight, rel=1e-6)


def pushed(force: float, seconds: float) -> tuple[sh.Simulation, WholeBody]:
    """The robot after some time, its torso pushed backward (N) from 1 s to 1.2 s."""
    sim = sh.Simulation(scenes.make("humanoid_valve"), dt=0.005)
    control = WholeBody(sim)
    sim.add_controller(control)
    sim.run(1.0)
    sim.body("torso").applied = (-force, 0.0, 0.0, 0.0, 0.0, 0.0)
    sim.run(0.2)
    sim.body("torso").applied = 0.0
    sim.run(seconds - sim.time)
    return sim, control


def test_a_push_of_50_newtons_is_borne():
    sim, control = pushed(50.0, 5.0)
    assert not control.fallen
    assert sim.body("torso").position[2] > 0.98
    assert np.abs(sim.body("left_foot").position[:2] - (0.0, 0.1)).max() < 1e-5
    assert np.abs(sim.v).max() < 1e-4


def test_a_push_of_500_newtons_topples_it_and_it_comes_to_rest_on_the_floor():
    sim, control = pushed(500.0, 8.0)
    assert control.fallen
    assert sim.body("torso").position[2] < 0.4
    assert np.abs(sim.v).max() < 1e-6
    assert min(c.gap for c in sim.contacts()) > -1e-5
    for body in sim.model.body_names:
        assert sim.body(body).position[2] > -0.01


def test_motors_never_exceed_their_nameplates_in_a_fall():
    sim = sh.Simulation(scenes.make("humanoid_valve"), dt=0.005)
    control = WholeBody(sim)
    sim.add_controller(control)
    most = np.array([nameplate(name).constant * nameplate(name).current for name in control.servos.names])
    sim.body("torso").applied = (-600.0, 100.0, 0.0, 0.0, 0.0, 0.0)
    for _ in range(300):
        sim.step()
        given = np.array([sim.dc_motor(name).torque for name in control.servos.names])
        assert (np.abs(given) <= most * (1 + 1e-6)).all()
    assert control.fallen


def test_there_is_a_demonstrator():
    assert "humanoid_valve" in demonstrators.names()
