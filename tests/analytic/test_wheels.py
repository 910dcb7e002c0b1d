"""Wheels on struts with DC motors against closed forms: sag, straight speed, rate of turn."""

from __future__ import annotations

import numpy as np
import pytest

import sharnir as sh

G = 9.81
SOLVERS = ("simgc", "simmc")
RADIUS, TREAD, WHEELBASE = 0.1, 0.4, 0.5  # m
BODY, WHEEL, STRUT = 10.0, 0.6, 0.4  # kg
STIFFNESS = 5000.0  # N/m
MOTOR = {"stall_torque": 0.1, "idle_speed": 400.0, "electrical_time": 0.5e-3, "rotor_inertia": 2e-6, "ratio": 20}


def car(load: float = 30.0, friction: float = 0.9) -> sh.Scene:
    """Two driven wheels in the middle, and two balls without friction before and behind."""
    grip, slick = sh.Material(friction=friction), sh.Material(friction=0.0, combine="least")
    scene = sh.Scene(name="car")
    scene.add(sh.HalfSpace(material=grip))
    balls = [sh.Sphere(radius=0.05, position=(x, 0, -0.1), material=slick) for x in (-0.25, 0.25)]
    hull = sh.Box(size=(0.5, 0.3, 0.08), group=0, mask=0)
    scene.add(sh.Body(name="chassis", mass=BODY, shapes=(hull, *balls), position=(0, 0, 0.15), center_of_mass=(0,) * 3))
    spring = sh.Suspension(stiffness=STIFFNESS, damping=150.0, travel=0.03, load=load, mass=STRUT)
    for name, side in (("left", 1), ("right", -1)):
        size = {"radius": RADIUS, "width": 0.002, "mass": WHEEL}
        place = (0.0, side * TREAD / 2, RADIUS)
        sh.add_wheel(
            scene, sh.Wheel(name=name, parent="chassis", position=place, suspension=spring, material=grip, **size)
        )
        scene.add(sh.DCMotor(name=name, joint=name, **MOTOR))
    return scene


@pytest.mark.parametrize("solver", SOLVERS)
def test_struts_bear_what_springs_give(solver):
    """On balls it cannot sink: wheels bear springs and what hangs below these, balls the rest."""
    sim = sh.Simulation(car(load=30.0), solver=solver, dt=0.005)
    sim.run(1.0)
    for name in ("left", "right"):
        np.testing.assert_allclose(sim.joint(f"{name}_strut").position, 0.0, atol=2e-6)
        force = sum(abs(c.force[2]) for c in sim.contacts(name))
        np.testing.assert_allclose(force, 30.0 + (WHEEL + STRUT) * G, rtol=1e-3)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_strut_that_bears_more_sags(solver):
    """Without balls under it, between guides: half of the body's weight on each spring, beyond its load."""
    scene = car(load=30.0)
    scene.bodies[0].shapes = scene.bodies[0].shapes[:1]
    scene.add(sh.Prismatic(name="guide", parent="world", child="chassis", axis=(0, 0, 1)))
    sim = sh.Simulation(scene, solver=solver, dt=0.005)
    sim.run(2.0)
    sag = (BODY * G / 2 - 30.0) / STIFFNESS
    np.testing.assert_allclose(sim.joint("left_strut").position, sag, rtol=1e-4)
    np.testing.assert_allclose(sim.body("chassis").position[2], 0.15 - sag, rtol=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
def test_straight_speed_is_that_of_the_wheels(solver):
    sim = sh.Simulation(car(), solver=solver, dt=0.005)
    sim.dc_motor("left").input = sim.dc_motor("right").input = 0.5
    sim.run(4.0)
    rates = [sim.joint(name).velocity[0] for name in ("left", "right")]
    idle = 0.5 * MOTOR["idle_speed"] / MOTOR["ratio"]
    np.testing.assert_allclose(rates, idle, rtol=0.01)
    chassis = sim.body("chassis")
    np.testing.assert_allclose(chassis.velocity @ chassis.rotation, (RADIUS * np.mean(rates), 0, 0), atol=1e-4)
    assert abs(chassis.rotation[1, 0]) < 0.005


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("left", "right"), [(0.2, 0.4), (-0.2, 0.2)])
def test_rate_of_turn_is_that_of_the_wheels(solver, left, right):
    """ω = r (ω_r − ω_l)/B, about the middle of the axle, which goes at the mean of both."""
    sim = sh.Simulation(car(), solver=solver, dt=0.005)
    sim.dc_motor("left").input, sim.dc_motor("right").input = left, right
    sim.run(4.0)
    slow, fast = (RADIUS * float(sim.joint(name).velocity[0]) for name in ("left", "right"))
    chassis = sim.body("chassis")
    np.testing.assert_allclose(chassis.angular_velocity[2], (fast - slow) / TREAD, rtol=0.01)  # of the width, 5 %
    np.testing.assert_allclose(chassis.velocity @ chassis.rotation[:, 0], (fast + slow) / 2, atol=0.002)
