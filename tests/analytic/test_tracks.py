"""Tracked vehicles against closed forms: speed, skid turning (Steeds, Merritt), slopes, power; and a step of 15 cm."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from tracked_vehicle import DRIVE, GROUND, MASS, RADIUS, SIDES, SPACING, TREAD, WHEELS, G, level, vehicle

import sharnir as sh
from sharnir.scenes.tracked_robot import add_robot

SOLVERS = ("simgc", "simmc")
MU = 0.8


def running(scene, solver, left, right, duration):
    """A simulation after some time with these shares of full voltage."""
    sim = sh.Simulation(scene, solver=solver, dt=0.005)
    sim.dc_motor("left").input, sim.dc_motor("right").input = left, right
    sim.run(duration)
    return sim


def belt_speeds(sim):
    """m/s, left and right."""
    return [RADIUS * float(sim.joint(f"{name}_sprocket").velocity[0]) for name, _ in SIDES]


def slip_offset():
    """m, A: a track under uniform pressure on dry friction slips as if it turned about a point A beside it.

    At x along a track of length L = 2h the ground slips by ω (x across, A along), and friction points against that:
    the moment of its lateral part, μ q [h √(h² + A²) − A² asinh(h/A)] with q = W/(2L), twice, is balanced by that of
    the longitudinal parts, 2 μ q A asinh(h/A) each, a tread B apart. Without longitudinal slip, A = 0, the moment is
    μ W L/4.
    """
    h = GROUND / 2
    return brentq(lambda a: h * np.hypot(h, a) - (a + TREAD) * a * np.arcsinh(h / a), 1e-6, 1.0)


def of_points():
    """A (m) and thrust (N) of a track that presses on four points under its wheels instead."""
    x = (np.arange(WHEELS) - (WHEELS - 1) / 2) * SPACING
    a = brentq(lambda a: np.sum((2 * x**2 - TREAD * a) / np.hypot(x, a)), 1e-6, 1.0)
    return a, MU * MASS * G / (2 * WHEELS) * np.sum(a / np.hypot(x, a))


@pytest.mark.parametrize("solver", SOLVERS)
def test_it_drives_at_the_speed_of_its_belts(solver):
    sim = running(level(MU), solver, 0.3, 0.3, 4.0)
    idle = 0.3 * DRIVE["idle_speed"] / DRIVE["ratio"] * RADIUS
    np.testing.assert_allclose(sim.body("chassis").velocity, (idle, 0, 0), atol=1e-4 * idle)
    np.testing.assert_allclose(belt_speeds(sim), idle, rtol=1e-4)


@pytest.mark.parametrize("solver", SOLVERS)
def test_moment_of_turning_resistance(solver):
    """Turned about its middle with belts that run freely: μ W L/4."""
    scene = level(0.5, drive=None)
    scene.add(sh.Body(name="post", mass=1.0, inertia=(0.1,) * 3, position=(0, 0, 1)))
    scene.add(sh.Revolute(name="turn", parent="world", child="post", axis=(0, 0, 1)))
    scene.add(sh.Prismatic(name="slide", parent="post", child="chassis", axis=(0, 0, 1)))
    scene.add(sh.Motor(name="turn", joint="turn", velocity=0.5))
    sim = sh.Simulation(scene, solver=solver, dt=0.005)
    sim.run(1.5)
    np.testing.assert_allclose(sim.motor("turn").force, 0.5 * MASS * G * GROUND / 4, rtol=1e-3)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("left", "right"), [(-0.3, 0.3), (-0.1, 0.6)])
def test_skid_turning(solver, left, right):
    """Rate of turn (v_r − v_l)/(B + 2A), torques ±2 μ q A asinh(h/A) r; the moment is within 8 % of μ W L/4."""
    sim = running(level(MU), solver, left, right, 4.0)
    slow, fast = belt_speeds(sim)
    a, h = slip_offset(), GROUND / 2
    np.testing.assert_allclose(sim.body("chassis").angular_velocity[2], (fast - slow) / (TREAD + 2 * a), rtol=0.03)
    torque = MU * MASS * G / GROUND * a * np.arcsinh(h / a) * RADIUS
    measured = [DRIVE["ratio"] * sim.dc_motor(name).torque for name, _ in SIDES]
    np.testing.assert_allclose(measured, (-torque, torque), rtol=0.03)
    a, thrust = of_points()
    np.testing.assert_allclose(sim.body("chassis").angular_velocity[2], (fast - slow) / (TREAD + 2 * a), rtol=0.005)
    np.testing.assert_allclose(measured, (-thrust * RADIUS, thrust * RADIUS), rtol=0.005)
    moment = (measured[1] - measured[0]) / RADIUS * TREAD / 2
    np.testing.assert_allclose(moment, MU * MASS * G * GROUND / 4, rtol=0.1)


@pytest.mark.parametrize("solver", SOLVERS)
def test_power_of_the_motors_is_rubbed_off_by_the_ground(solver):
    """Turning on the spot: what sprockets give to the belts is what friction takes where they slip."""
    sim = running(level(MU), solver, -0.3, 0.3, 3.0)
    chassis = sim.body("chassis")
    given = sum(sim.dc_motor(name).mechanical_power for name, _ in SIDES)
    rubbed = 0.0
    speed = dict(zip(("left", "right"), belt_speeds(sim), strict=True))
    forward = chassis.rotation[:, 0]
    for contact in sim.contacts():
        track = next(b for b in contact.bodies if b != "world").split("_")[0]
        arm = np.array(contact.point) - chassis.position
        slip = chassis.velocity + np.cross(chassis.angular_velocity, arm) - speed[track] * forward
        rubbed += abs(np.dot(contact.force, slip))
    np.testing.assert_allclose(given, rubbed, rtol=0.01)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_slope_of_30_degrees(solver):
    """Braked it stands, to less than a micrometre in ten seconds; then it climbs, with m g sin α r/2 on a sprocket."""
    angle = np.radians(30.0)
    material = sh.Material(friction=MU)
    scene = sh.Scene(name="slope", gravity=(-G * np.sin(angle), 0.0, -G * np.cos(angle)))
    scene.add(sh.HalfSpace(material=material))
    sim = sh.Simulation(vehicle(scene, material, {**DRIVE, "brake": 1.0}), solver=solver, dt=0.005)
    motors = [sim.dc_motor(name) for name, _ in SIDES]
    for motor in motors:
        motor.brake = 1.0
    sim.run(2.0)
    before = sim.body("chassis").position.copy()
    sim.run(10.0)
    assert np.abs(sim.body("chassis").position - before).max() < 1e-6
    for motor in motors:
        motor.brake, motor.input = 0.0, 0.6
    sim.run(3.0)
    speed = sim.body("chassis").velocity[0]
    assert speed > 0.2
    np.testing.assert_allclose(belt_speeds(sim), speed, rtol=1e-3)
    np.testing.assert_allclose([DRIVE["ratio"] * m.torque for m in motors], MASS * G * 0.5 * RADIUS / 2, rtol=1e-3)
    lifting = MASS * G * 0.5 * speed
    np.testing.assert_allclose(sum(m.mechanical_power for m in motors), lifting, rtol=1e-3)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_step_of_15_cm(solver):
    """Flippers up, against the edge; once it tilts they go down, in line with the tracks, and it is on top."""
    height = 0.15
    material = sh.Material(friction=MU)
    scene = sh.Scene(name="step")
    scene.add(sh.HalfSpace(material=material))
    scene.add(sh.Box(size=(3, 2, height), position=(2.7, 0, height / 2), material=material))
    add_robot(scene, material, (0, 0, 0, 0, 0, 0, 1))
    sim = sh.Simulation(scene, solver=solver, dt=0.005)
    servos = [sh.Servo(f"{name}_flipper", "position", gains=(8, 0, 0), target=-0.7) for name, _ in SIDES]
    for servo in servos:
        sim.add_controller(servo, rate=100)
    chassis = sim.body("chassis")
    start = chassis.position.copy()
    sim.run(0.3)
    for name, _ in SIDES:
        sim.dc_motor(name).input = 0.6
    while sim.time < 8.0 and chassis.position[0] < 2.0:
        sim.run(0.05)
        if chassis.rotation[2, 0] > np.sin(np.radians(12.0)):
            servos[0].target = servos[1].target = 0.0
    assert chassis.position[0] > 2.0
    assert abs(chassis.position[2] - start[2] - height) < 0.01
    assert abs(chassis.position[1]) < 0.02
    assert chassis.rotation[2, 2] > np.cos(np.radians(3.0))
