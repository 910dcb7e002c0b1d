"""Belts against closed forms: what a sprocket drives, and what drives it back (M-77..M-80)."""

from __future__ import annotations

import numpy as np
import pytest

import sharnir as sh
from sharnir.scenes.parts import about, turned

G = 9.81
SOLVERS = ("simgc", "simmc")
RADIUS, INERTIA = 0.1, 0.02  # m, kg m²: of the sprocket
CAR, SPROCKET = 10.0, 1.0  # kg


def crawler(mu=0.8, effort=0.0, speed=0.0, spin=0.0, on=None, height=0.0):
    """A box with a belt round it, on the ground or on what a scene has; its sprocket in the middle."""
    scene = on or sh.Scene(name="crawler")
    stuff = sh.Material(friction=mu)
    if on is None:
        scene.add(sh.HalfSpace(material=stuff))
    place = (0.0, 0.0, 0.1 + height)
    block = sh.Box(size=(0.6, 0.4, 0.2), material=stuff, belt="track")
    scene.add(sh.Body(name="car", mass=CAR, position=place, shapes=(block,)))
    scene.add(sh.Free(name="float", parent="world", child="car", velocity=(speed, 0, 0, 0, 0, 0)))
    scene.add(sh.Body(name="sprocket", mass=SPROCKET, position=place, inertia=(0.01, INERTIA, 0.01)))
    hinge = {"anchor": place, "axis": (0, 1, 0), "effort": effort, "velocity": spin}
    scene.add(sh.Revolute(name="axle", parent="car", child="sprocket", **hinge))
    scene.add(sh.Belt(name="track", joint="axle", radius=RADIUS))
    return scene


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("dt", [0.001, 0.005])
def test_a_torque_on_the_sprocket_drives_the_car(solver, dt):
    """Without slip v = r ω: the sprocket's inertia counts as I/r² of mass. Its bearing carries what it needs."""
    sim = sh.Simulation(crawler(effort=2.0), solver=solver, dt=dt)
    sim.run(1.0)
    expected = 2.0 / RADIUS / (CAR + SPROCKET + INERTIA / RADIUS**2)
    np.testing.assert_allclose(sim.body("car").velocity, (expected, 0, 0), atol=1e-9)
    np.testing.assert_allclose(sim.joint("axle").velocity, expected / RADIUS, rtol=1e-9)
    np.testing.assert_allclose(sim.joint("axle").wrench, (SPROCKET * expected, 0, SPROCKET * G, 0, 2, 0), atol=1e-6)
    pushed = sum(np.array(c.force) for c in sim.contacts("car"))
    np.testing.assert_allclose(np.abs(pushed[0]), (CAR + SPROCKET) * expected, rtol=1e-6)


def test_the_order_of_description_does_not_matter():
    """The sprocket first: the tree starts there, and the car hangs on it."""
    scene = crawler(effort=2.0)
    scene.bodies.reverse()
    del scene.joints[0]
    sim = sh.Simulation(scene, dt=0.005)
    sim.run(1.0)
    expected = 2.0 / RADIUS / (CAR + SPROCKET + INERTIA / RADIUS**2)
    np.testing.assert_allclose(sim.body("car").velocity, (expected, 0, 0), atol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_belt_that_slips_pulls_with_friction_alone(solver):
    """μ W on the car, μ W r on the sprocket, which the rest of its torque accelerates."""
    mu, effort = 0.2, 6.0
    sim = sh.Simulation(crawler(mu, effort), solver=solver, dt=0.002)
    sim.run(0.5)
    weight = (CAR + SPROCKET) * G
    np.testing.assert_allclose(sim.body("car").velocity[0], 0.5 * mu * G, rtol=1e-4)
    spin = 0.5 * (effort - mu * weight * RADIUS) / INERTIA
    np.testing.assert_allclose(sim.joint("axle").velocity, spin, rtol=1e-4)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_car_that_slides_spins_its_belt_up(solver):
    """Nothing drives: what the car loses until belt and ground agree, the sprocket gains by r, and energy is lost."""
    speed = 2.0
    sim = sh.Simulation(crawler(0.3, speed=speed), solver=solver, dt=0.002)
    before = sim.energy[0]
    sim.run(1.5)
    mass, more = CAR + SPROCKET, INERTIA / RADIUS**2
    expected = speed * mass / (mass + more)
    np.testing.assert_allclose(sim.body("car").velocity[0], expected, rtol=1e-6)
    np.testing.assert_allclose(sim.joint("axle").velocity[0], expected / RADIUS, rtol=1e-6)
    assert np.isclose(sim.energy[0] / before, mass / (mass + more), rtol=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
def test_work_of_the_motor_is_motion_and_rubbing(solver):
    """A belt that spins, then grips: work of the torque = kinetic energy + what friction took, in every second."""
    mu, effort = 0.15, 3.0
    sim = sh.Simulation(crawler(mu, effort), solver=solver, dt=0.001)
    work = rubbed = 0.0
    before = sim.energy[0]
    for k in range(1500):
        if k == 500:
            sim.joint("axle").control = -2.0 * effort  # it brakes, slips the other way round, and grips
        torque = effort + float(sim.joint("axle").control[0])
        spin, speed = float(sim.joint("axle").velocity[0]), float(sim.body("car").velocity[0])
        force = -sum(c.force[0] for c in sim.contacts("car"))
        sim.step()
        after = float(sim.joint("axle").velocity[0]), float(sim.body("car").velocity[0])
        force = -sum(c.force[0] for c in sim.contacts("car"))
        work += sim.dt * torque * (spin + after[0]) / 2
        rubbed += sim.dt * abs(force * (RADIUS * (spin + after[0]) - speed - after[1]) / 2)
    assert rubbed > 5.0
    assert np.isclose(work, sim.energy[0] - before + rubbed, rtol=0.01)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_plank_is_driven_away_from_under_it(solver):
    """On a plank that slides freely: momentum stays none, and both move as a belt between two masses makes them."""
    plank, effort = 5.0, 2.0
    scene = sh.Scene(name="plank")
    scene.add(sh.HalfSpace(material=sh.Material(friction=0.0)))
    rough = sh.Material(friction=0.9)
    scene.add(
        sh.Body(name="plank", mass=plank, shapes=(sh.Box(size=(4, 1, 0.1), material=rough),), position=(0, 0, 0.05))
    )
    sim = sh.Simulation(crawler(0.9, effort, on=scene, height=0.1), solver=solver, dt=0.002)
    sim.run(0.5)
    car, board = sim.body("car").velocity[0], sim.body("plank").velocity[0]
    mass = CAR + SPROCKET
    assert abs(mass * car + plank * board) < 1e-6
    reduced = 1 / (1 / mass + 1 / plank)  # of both, as the belt moves them apart
    apart = 0.5 * effort / RADIUS / (reduced + INERTIA / RADIUS**2)
    np.testing.assert_allclose(car - board, apart, rtol=1e-5)
    np.testing.assert_allclose(sim.joint("axle").velocity[0] * RADIUS, apart, rtol=1e-5)


def conveyor(mu, effort, load=2.0):
    """A belt round a fixed bed, with a box on it."""
    stuff = sh.Material(friction=mu)
    scene = sh.Scene(name="conveyor")
    scene.add(sh.Box(size=(4, 0.5, 0.2), position=(0, 0, -0.1), material=stuff, belt="band"))
    scene.add(sh.Body(name="box", mass=load, shapes=(sh.Box(size=(0.2,) * 3, material=stuff),), position=(-1, 0, 0.1)))
    scene.add(sh.Body(name="drum", mass=3.0, inertia=(0.01, INERTIA, 0.01), position=(-2, 0, -0.1)))
    hinge = {"anchor": (-2, 0, -0.1), "axis": (0, 1, 0), "effort": effort}
    scene.add(sh.Revolute(name="axle", parent="world", child="drum", **hinge))
    scene.add(sh.Belt(name="band", joint="axle", radius=RADIUS))
    return scene


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_conveyor_feels_its_load(solver):
    """Round what is fixed: above the axle a belt runs forward, and the box counts as m r² on the drum."""
    load, effort = 2.0, 0.8
    sim = sh.Simulation(conveyor(0.9, effort, load), solver=solver, dt=0.002)
    sim.run(0.5)
    expected = 0.5 * effort * RADIUS / (INERTIA + load * RADIUS**2)
    np.testing.assert_allclose(sim.body("box").velocity, (expected, 0, 0), atol=1e-7)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("turn", ["sprocket", "arm", "both"])
def test_only_what_the_sprocket_turns_against_an_arm_moves_its_belt(solver, turn):
    """A cylinder on an arm, with a belt that a sprocket on the chassis pulls. The arm's turn is no turn of the belt:
    turned alone, the belt on it stands still against the ground; with the sprocket, all rolls as a wheel does."""
    scene = sh.Scene(name="arm", gravity=(0, 0, -G))
    stuff = sh.Material(friction=0.9)
    scene.add(sh.HalfSpace(material=stuff))
    place, ball = (0, 0, RADIUS), (0.03, 0.03, 0.03)
    scene.add(sh.Body(name="car", mass=CAR, position=place, inertia=(0.2, 0.3, 0.3)))
    scene.add(sh.Prismatic(name="rail", parent="world", child="lift", axis=(1, 0, 0)))
    scene.add(sh.Body(name="lift", mass=0.1, inertia=ball, position=place))
    scene.add(sh.Prismatic(name="guide", parent="lift", child="car", axis=(0, 0, 1)))
    tread = sh.Cylinder(radius=RADIUS, length=0.2, orientation=about((1, 0, 0), -np.pi / 2), material=stuff, belt="b")
    scene.add(sh.Body(name="arm", mass=1.0, inertia=ball, position=place, shapes=(tread,)))
    scene.add(sh.Body(name="sprocket", mass=1.0, inertia=ball, position=place))
    for name in ("arm", "sprocket"):
        scene.add(sh.Revolute(name=name, parent="car", child=name, anchor=place, axis=(0, 1, 0)))
        scene.add(sh.Motor(name=name, joint=name, velocity=3.0 if turn in (name, "both") else 0.0))
    scene.add(sh.Belt(name="b", joint="sprocket", radius=RADIUS))
    sim = sh.Simulation(scene, solver=solver, dt=0.002)
    sim.run(1.0)
    expected = 0.0 if turn == "arm" else 3.0 * RADIUS
    np.testing.assert_allclose(sim.body("car").velocity[0], expected, atol=1e-7)
    lag = expected**2 / (2 * 0.9 * G)  # while it slips at the start
    np.testing.assert_allclose(sim.body("car").position[0], expected - lag, atol=1e-4)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("carrier", ["car", "deck"])
def test_a_body_of_the_same_mechanism_brakes_the_belt(solver, carrier):
    """A shoe of the car presses on the belt's upper run, round the car or a deck fixed to it, which comes after the
    shoe: the sprocket loses μ N r; the car, on ice, stays."""
    mu, press, spin = 0.5, 20.0, 30.0
    ice, pad = sh.Material(friction=0.0, combine="least"), sh.Material(friction=mu)
    scene = crawler(mu, spin=spin)
    scene.shapes[0].material = ice
    shoe = sh.Sphere(radius=0.03, material=pad)
    scene.add(sh.Body(name="shoe", mass=0.5, shapes=(shoe,), position=(0, 0, 0.23), inertia=(1e-3, 1e-3, 1e-3)))
    scene.add(sh.Prismatic(name="press", parent="car", child="shoe", axis=(0, 0, 1), effort=-press))
    if carrier == "deck":
        shapes, scene.bodies[0].shapes = scene.bodies[0].shapes, ()
        scene.bodies[0].inertia = (0.1, 0.2, 0.3)
        scene.add(sh.Body(name="deck", mass=1.0, shapes=shapes, position=(0, 0, 0.1)))
        scene.add(sh.Fixed(name="deck", parent="car", child="deck"))
    scene.add(sh.ContactPair(first=carrier, second="shoe", touch=True))
    sim = sh.Simulation(scene, solver=solver, dt=0.002)
    sim.run(0.2)
    normal = press + 0.5 * G
    np.testing.assert_allclose(sim.joint("axle").velocity[0], spin - 0.2 * mu * normal * RADIUS / INERTIA, rtol=1e-3)
    np.testing.assert_allclose(sim.body("car").velocity, 0.0, atol=1e-6)


def test_a_rolled_belt_runs_along_its_edge():
    """Led along x, on one lower edge, rolled by 30°: still forward, at the full speed."""
    roll = about((1, 0, 0), np.radians(30.0))
    place = (0.0, 0.0, 0.2 * np.sin(np.radians(30.0)) + 0.1 * np.cos(np.radians(30.0)))
    stuff, small = sh.Material(friction=0.9), {"mass": 1.0, "inertia": (0.1,) * 3, "position": place}
    scene = sh.Scene(name="rolled")
    scene.add(sh.HalfSpace(material=stuff))
    block = sh.Box(size=(0.6, 0.4, 0.2), material=stuff, belt="track")
    scene.add(sh.Body(name="slide", **small))
    scene.add(sh.Body(name="car", mass=CAR, position=place, orientation=roll, shapes=(block,)))
    scene.add(sh.Body(name="sprocket", **small))
    scene.add(sh.Prismatic(name="along", parent="world", child="slide", axis=(1, 0, 0)))
    scene.add(sh.Prismatic(name="up", parent="slide", child="car", axis=(0, 0, 1)))
    scene.add(sh.Revolute(name="axle", parent="car", child="sprocket", anchor=place, axis=turned(roll, (0, 1, 0))))
    scene.add(sh.Belt(name="track", joint="axle", radius=RADIUS))
    scene.add(sh.Motor(name="drive", joint="axle", velocity=5.0))
    sim = sh.Simulation(scene, dt=0.002)
    sim.run(1.0)
    np.testing.assert_allclose(sim.body("car").velocity, (5.0 * RADIUS, 0, 0), atol=1e-6)
