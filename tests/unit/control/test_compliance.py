"""Giving way to forces: what a wrist feels against contacts, admittance and impedance against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from arms import planar_arm
from refusal import refused

import sharnir as sh

SOLVERS = ["simgc", "simmc"]
START = (0.9, -1.2, 0.5)  # rad


def pressing_arm(height=0.0):
    """Three links that turn about y over a table, servos on the hinges, a hand with a tool on a wrist that measures."""
    scene = sh.Scene(name="pressing arm")
    scene.add(sh.HalfSpace(position=(0, 0, height)))
    for k in range(3):
        box = sh.Box(size=(0.4, 0.05, 0.05), position=(0.2, 0, 0), mask=0)
        scene.add(sh.Body(name=f"link{k}", shapes=[box], position=(0.4 * k, 0, 0.5)))
        parent = "world" if k == 0 else f"link{k - 1}"
        ends = {"parent": parent, "child": f"link{k}", "anchor": (0.4 * k, 0, 0.5)}
        scene.add(sh.Revolute(name=f"hinge{k}", axis=(0, 1, 0), position=START[k], damping=60.0, **ends))
        law = {"gain": (2000.0, 0.0, 0.0), "bias": (0.0, -2000.0, 0.0), "input": START[k]}
        scene.add(sh.Actuator(name=f"servo{k}", joints=[f"hinge{k}"], **law))
    palm = sh.Sphere(radius=0.03, material=sh.Material(friction=0.2))
    scene.add(sh.Body(name="hand", mass=0.8, shapes=[palm], position=(1.25, 0, 0.5)))
    scene.add(sh.Fixed(name="wrist", parent="link2", child="hand"))
    scene.add(sh.Body(name="tool", mass=0.3, inertia=(1e-3, 1e-3, 1e-3), position=(1.25, 0.1, 0.5)))
    scene.add(sh.Fixed(name="grip", parent="hand", child="tool"))
    turned = (0, np.sin(0.3), 0, np.cos(0.3))
    scene.add(sh.Sensor(name="cell", kind="wrench", of="wrist", position=(-0.05, 0, 0), orientation=turned))
    scene.add(sh.Sensor(name="felt", kind="contact_force", of="hand"))
    return scene


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_wrist_feels_what_the_hand_touches(solver):
    """At rest: nothing in the air, and on the table what the contact exerts, with its lever about the sensor."""
    sim = sh.Simulation(pressing_arm(height=-5.0), solver=solver, dt=0.002)
    wrist = sh.WristForce(sim, "cell")
    assert wrist.mass == pytest.approx(1.1) and wrist.center[1] == pytest.approx(0.1 * 0.3 / 1.1)
    sim.run(1.5)
    np.testing.assert_allclose(wrist.read(sim), 0, atol=1e-3)
    scene = pressing_arm(height=sim.body("hand").position[2] - 0.02)
    scene.joints[0].position = START[0] - 0.1
    sim = sh.Simulation(scene, solver=solver, dt=0.002)
    sim.run(1.5)
    hand = sim.body("hand")
    force = hand.rotation @ sim.sensor("felt")
    assert force[2] > 5
    read = sh.WristForce(sim, "cell").read(sim)
    np.testing.assert_allclose(read[:3], force, atol=1e-2)
    [contact] = sim.contacts("hand")
    arm = contact.point - (hand.position + hand.rotation @ [-0.05, 0, 0])
    np.testing.assert_allclose(read[3:], np.cross(arm, force), atol=1e-2)


def test_admittance_is_a_damped_spring():
    """Under a constant force: f/k (1 − e^(−t/τ)) without mass, an oscillation of √(k/m) with it."""
    slow, quick = sh.Admittance(mass=0, damping=20, stiffness=100), sh.Admittance(mass=1, damping=0, stiffness=100)
    force, dt = np.array([5.0, 0.0, -2.0]), 1e-4
    for _ in range(5000):
        damped, swinging = slow.step(force, dt), quick.step(force, dt)
    np.testing.assert_allclose(damped.offset, force / 100 * (1 - np.exp(-0.5 * 100 / 20)), rtol=1e-3)
    np.testing.assert_allclose(damped.rate, force / 20 * np.exp(-2.5), rtol=1e-3)
    np.testing.assert_allclose(swinging.offset, force / 100 * (1 - np.cos(10 * 0.5)), rtol=2e-2)
    slow.reset()
    np.testing.assert_allclose(slow.step(force, dt).offset, force * dt**2 / (20 * dt), rtol=1e-2)


def test_admittance_without_stiffness_controls_force():
    """Against a wall that is a spring, it stops where the wall pushes back as much as is wanted, and at any damping."""
    for damping in (1e-3, 1.0, 1e3):
        hand = sh.Admittance(mass=0.0, damping=(damping, 1, 1), wanted=(10.0, 0, 0))
        x = np.zeros(3)
        for _ in range(20000):
            x = hand.step(-np.array([50.0, 0, 0]) * x[0] if damping > 0.5 else (-10.0, 0, 0), 0.01).offset
        expected = 10.0 / 50.0 if damping > 0.5 else 0.0
        assert x[0] == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_hand_presses_as_hard_as_is_wanted(solver):
    """By inverse kinematics from where the admittance says, servos that know nothing of forces, and the wrist alone."""
    scene = pressing_arm(height=0.0)
    sim = sh.Simulation(scene, solver=solver, dt=0.002)
    wrist = sh.WristForce(sim, "cell")
    start = np.array(sim.body("hand").position)
    hand = sh.PositionTask("hand", start, axes=(True, False, True))
    ik = sh.InverseKinematics(sim, [hand], max_speed=2.0)
    yielding = sh.Admittance(mass=0.0, damping=(2000.0, 1, 200.0), stiffness=(1e4, 1, 0.0), wanted=(0, 0, -15.0))
    q = np.array(sim.model.q0)

    def press(sim):
        nonlocal q
        hand.target = start + yielding.step(wrist.read(sim)[:3], 0.005).offset * [1, 0, 1]
        q = ik.moved(q, ik.step(q, 0.005), 0.005)
        for k in range(3):
            sim.actuator(f"servo{k}").input = q[k]

    sim.add_controller(press, rate=200)
    sim.run(15.0)
    force = sim.body("hand").rotation @ sim.sensor("felt")
    assert force[2] == pytest.approx(15.0, rel=0.01)


@pytest.mark.parametrize("solver", SOLVERS)
def test_impedance_gives_way_by_force_over_stiffness(solver):
    """A torque-driven arm in gravity at rest under 6 N along x and −4 N along y: f/k along each axis."""
    scene = planar_arm(4, 0.4, position=0.4)
    scene.gravity = (0, -9.81, 0)
    model = sh.compile(scene)
    sim = sh.Simulation(model, solver=solver, dt=0.002)
    tip = (0.2, 0, 0)  # the centre of the last link
    place = sim.body("link3").position + sim.body("link3").rotation @ tip
    held = sh.PoseTask("link3", (place, (0, 0, np.sin(0.8), np.cos(0.8))), point=tip)
    spring = sh.Impedance(model, held, stiffness=(300, 200, 1, 1, 1, 50), damping=(40, 40, 0, 0, 0, 5), ease=0.5)

    def hold(sim):
        for k, force in enumerate(spring.forces(sim)):
            sim.joint(f"joint{k}").control = force

    sim.add_controller(hold)
    sim.run(1.0)
    here = sim.body("link3").position + sim.body("link3").rotation @ tip
    np.testing.assert_allclose(here, place, atol=1e-5)
    sim.body("link3").applied = (6.0, -4.0, 0, 0, 0, 0)
    sim.run(8.0)
    here = sim.body("link3").position + sim.body("link3").rotation @ tip
    np.testing.assert_allclose(here - place, [6 / 300, -4 / 200, 0], atol=1e-4)
    sim.body("link3").applied = 0.0
    spring.wanted = (6.0, -4.0, 0, 0, 0, 0)
    sim.run(8.0)
    here = sim.body("link3").position + sim.body("link3").rotation @ tip
    np.testing.assert_allclose(here - place, [6 / 300, -4 / 200, 0], atol=1e-4)


def test_what_is_wrong_is_said():
    scene = pressing_arm()
    with refused("unknown sensor of kind 'wrench' 'felt'", "cell"):
        sh.WristForce(scene, "felt")
    with refused("neither mass nor damping"):
        sh.Admittance(mass=0, damping=0)
    with refused("damping has the wrong shape", "3 finite numbers"):
        sh.Admittance(mass=0, damping=(1, 1))
    with refused("force has the wrong shape"):
        sh.Admittance(mass=1, damping=1).step((1, 2), 0.01)
