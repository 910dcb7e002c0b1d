"""Friction of flat contacts is that of uniform pressure (M-109); sliding, tipping and reported wrenches stay right."""

import math

import numpy as np
import pytest

from sharnir.benchmarks.holds.cases import MEAN_RADIUS
from sharnir.benchmarks.holds.scenes import spinning_plate
from sharnir.compiler import compile
from sharnir.simulation.simulation import Simulation
from sharnir.spec.elements import Body, Box, HalfSpace, Material
from sharnir.spec.joints import Free
from sharnir.spec.scene import WORLD, Scene

SOLVERS = ("simgc", "simmc")
HEIGHT = (0.0, 0.0, 0.05)
EDGE, MASS, MOMENT, FRICTION, G = 0.2, 1.0, 1 / 150, 0.4, 9.81


def block(velocity=(0.0, 0.0, 0.0), spin=0.0, center_of_mass=(0.0, 0.0, 0.0)):
    """A flat square block on the ground."""
    scene = Scene(name="block")
    rough = Material(friction=FRICTION)
    scene.add(HalfSpace(material=rough))
    shape = Box(size=(EDGE, EDGE, 0.1), material=rough)
    inertia = (0.005, 0.005, MOMENT)
    com = center_of_mass
    body = Body(name="block", mass=MASS, center_of_mass=com, inertia=inertia, shapes=(shape,), position=HEIGHT)
    scene.add(body)
    scene.add(Free(name="free", parent=WORLD, child="block", velocity=(*velocity, 0.0, 0.0, spin)))
    return scene


def uniform_pressure(speed, spin):
    """Force (N) along the velocity and torque (N m) against the spin on a square that slides and spins."""
    x = (np.arange(200) + 0.5) / 200 * EDGE - EDGE / 2
    X, Y = np.meshgrid(x, x)
    u, v = speed - spin * Y, spin * X
    n = np.hypot(u, v)
    return FRICTION * MASS * G * (u / n).mean(), FRICTION * MASS * G * ((X * v - Y * u) / n).mean()


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("dt", [0.001, 0.005])
@pytest.mark.parametrize("shape", ["disc", "square", "rectangle", "ring"])
def test_spinning_plates_slow_as_under_uniform_pressure(solver, dt, shape):
    sim = Simulation(compile(spinning_plate(shape)), solver=solver, dt=dt)
    sim.run(0.04)
    slowed = (10.0 - float(sim.body("plate").angular_velocity[2])) / sim.time
    moment = float(sim.model.inertia[0][2, 2]) / float(sim.model.mass[0])
    assert slowed == pytest.approx(FRICTION * G * MEAN_RADIUS[shape] / moment, rel=0.03 if shape == "ring" else 1e-3)
    assert abs(float(sim.body("plate").position[2]) - 0.01) < 2e-6


@pytest.mark.parametrize("radius", [0.02, 0.05, 0.1, 0.2, 0.5])
def test_sliding_and_spinning_stay_within_the_limit_surface(radius):
    sim = Simulation(compile(block((1.0, 0.0, 0.0), 1.0 / radius)), dt=0.0002)
    sim.step(5)
    body, start = sim.body("block"), sim.time
    speed, spin = float(body.velocity[0]), float(body.angular_velocity[2])
    sim.step(2)
    force = MASS * (speed - float(body.velocity[0])) / (sim.time - start)
    torque = MOMENT * (spin - float(body.angular_velocity[2])) / (sim.time - start)
    force_expected, torque_expected = uniform_pressure(1.0, 1.0 / radius)
    assert 0.75 * force_expected < force < 1.03 * force_expected
    assert 0.8 * torque_expected < torque < 1.03 * torque_expected


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("center", [(0.0, 0.0, 0.0), (0.05, 0.0, 0.0), (0.05, 0.03, -0.02)])
def test_sliding_is_exact_wherever_the_load_is(solver, center):
    sim = Simulation(compile(block((1.0, 0.5, 0.0), center_of_mass=center)), solver=solver, dt=0.001)
    sim.run(0.2)
    body = sim.body("block")
    speed = np.linalg.norm(np.array(body.velocity)[:2])
    assert speed == pytest.approx(math.hypot(1.0, 0.5) - FRICTION * G * 0.2, abs=5e-4)
    assert abs(float(body.angular_velocity[2])) < 0.01


@pytest.mark.parametrize("solver", SOLVERS)
def test_reported_forces_and_torques_are_those_that_act(solver):
    sim = Simulation(compile(block((0.3, 0.0, 0.0), 10.0)), solver=solver, dt=0.0005)
    sim.step(20)
    body = sim.body("block")
    before = float(body.angular_velocity[2])
    sim.step()
    middle = np.array(body.position) - 0.5 * sim.dt * np.array(body.velocity)
    torque = sum(np.cross(c.point - middle, c.force) + c.torque for c in sim.contacts())[2]
    slowed = MOMENT * (before - float(body.angular_velocity[2])) / sim.dt
    assert abs(torque) == pytest.approx(slowed, rel=2e-3)
    assert sum(c.force[2] for c in sim.contacts()) == pytest.approx(-MASS * G, rel=1e-3)
