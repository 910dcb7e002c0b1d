"""Static friction, belts and combined materials against closed forms."""

from __future__ import annotations

from math import cos, radians, sin

import numpy as np
import pytest
from contact_scenes import G, box_on, ground, put, stuff
from measures import both
from shrinking_errors import STEPS, shrinking

import sharnir as sh
from sharnir.scenes.parts import about, turned


@both
@pytest.mark.parametrize("share", [0.99, 1.01])
def test_static_friction_is_overcome_before_kinetic_acts(solver, share):
    """μ_s = 0.6, μ_k = 0.4. A push below μ_s m g moves nothing; above, a = F/m − μ_k g at once."""
    material = stuff(0.4, static_friction=0.6)
    sim = sh.Simulation(box_on(material, size=(0.3, 0.3, 0.1)), solver=solver, dt=0.001)
    sim.run(0.05)
    start = sim.body("box").position.copy()
    push = share * 0.6 * G
    sim.body("box").applied = [push, 0.0, 0.0, 0.0, 0.0, 0.0]
    sim.run(0.5)
    moved = sim.body("box").position[0] - start[0]
    if share < 1:
        assert abs(moved) < 1e-6
    else:
        assert moved == pytest.approx(0.125 * (push - 0.4 * G), rel=0.01)
    # once at rest again it takes μ_s to move it again
    if share > 1:
        sim.body("box").applied = [0.0] * 6
        sim.run(1.0)
        rest = sim.body("box").position.copy()
        sim.body("box").applied = [0.99 * 0.6 * G, 0.0, 0.0, 0.0, 0.0, 0.0]
        sim.run(0.5)
        assert np.abs(sim.body("box").position - rest).max() < 1e-6


@both
def test_a_sliding_box_with_static_friction_stops_as_kinetic_says(solver):
    v0, mu = 2.0, 0.3
    for dt in (0.002, 0.001):
        scene = box_on(stuff(mu, static_friction=0.6), v0=v0, size=(0.3, 0.3, 0.1))
        sim = sh.Simulation(scene, solver=solver, dt=dt)
        sim.run(1.0)
        assert sim.body("box").position[0] == pytest.approx(v0**2 / (2 * mu * G), rel=0.01 * dt / 0.001)


@both
@pytest.mark.parametrize("belt", [(1.0, 0.0, 0.0), (0.0, -2.0, 0.0), (0.6, 0.8, 0.0)])
def test_a_belt_carries_a_box(solver, belt):
    """It accelerates by μg until it moves with the belt, lagging behind by v²/(2μg) from then on."""
    mu, speed = 0.4, np.linalg.norm(belt)
    way = np.array(belt) / speed
    lag = {}
    for dt in STEPS:
        scene = ground(stuff(mu), surface_velocity=belt)
        box = sh.Box(size=(0.3, 0.3, 0.1), material=stuff(mu))
        put(scene, "box", box, (0.0, 0.0, 0.05))
        sim = sh.Simulation(scene, solver=solver, dt=dt)
        sim.run(0.1)
        np.testing.assert_allclose(sim.body("box").velocity, 0.1 * mu * G * way, atol=1e-3 * dt / 0.001)
        sim.run(0.9)
        np.testing.assert_allclose(sim.body("box").velocity, belt, atol=1e-6)
        lag[dt] = abs((speed * 1.0 - sim.body("box").position @ way) / (speed**2 / (2 * mu * G)) - 1)
    shrinking(lag, 0.01)


@both
@pytest.mark.parametrize("tilt", [0.0, 10.0])
def test_a_belt_runs_in_the_axes_of_its_shape(solver, tilt):
    """A plate turned by 90° about z, and a slope up which the belt carries: the velocity turns with the shape."""
    if tilt == 0.0:
        pose, wanted = about((0.0, 0.0, 1.0), np.pi / 2), (0.0, 0.5, 0.0)
    else:
        pose = about((0.0, 1.0, 0.0), radians(tilt))
        wanted = turned(pose, (0.5, 0.0, 0.0))
    scene = sh.Scene(name="belt")
    scene.add(sh.Box(size=(4, 4, 0.2), orientation=pose, material=stuff(0.5), surface_velocity=(0.5, 0, 0)))
    box = sh.Box(size=(0.2, 0.2, 0.1), material=stuff(0.5))
    put(scene, "box", box, turned(pose, (0.0, 0.0, 0.15)), orientation=pose, mass=1.0)
    sim = sh.Simulation(scene, solver=solver, dt=0.001)
    sim.run(0.8)
    np.testing.assert_allclose(sim.body("box").velocity, wanted, atol=1e-5)


@both
def test_a_belt_on_a_body_drives_it_away(solver):
    """A crawler: the belt under it runs backwards at u, so it drives forwards, up to that speed, by μg."""
    mu, u = 0.5, 0.8
    scene = ground(stuff(mu))
    crawler = sh.Box(size=(0.4, 0.2, 0.1), material=stuff(mu), surface_velocity=(-u, 0.0, 0.0))
    put(scene, "crawler", crawler, (0.0, 0.0, 0.05), orientation=about((0.0, 0.0, 1.0), 0.5))
    sim = sh.Simulation(scene, solver=solver, dt=0.001)
    heading = np.array([cos(0.5), sin(0.5), 0.0])
    sim.run(0.05)
    np.testing.assert_allclose(sim.body("crawler").velocity, 0.05 * mu * G * heading, atol=1e-3)
    sim.run(0.5)
    np.testing.assert_allclose(sim.body("crawler").velocity, u * heading, atol=1e-6)


RULED = {"geometric": 0.4, "average": 0.5, "product": 0.16, "least": 0.2, "largest": 0.8}
ORDER = list(RULED)


@both
@pytest.mark.parametrize("one", ORDER)
@pytest.mark.parametrize("other", ORDER)
def test_materials_combine_by_the_later_rule(solver, one, other):
    """μ = 0.2 and 0.8 by each rule; where two rules differ, the later of the list in Material decides."""
    rule = ORDER[max(ORDER.index(one), ORDER.index(other))]
    scene = box_on(stuff(0.2, combine=one), v0=3.0, size=(0.4, 0.4, 0.1), ground_material=stuff(0.8, combine=other))
    sim = sh.Simulation(scene, solver=solver, dt=0.001)
    sim.run(0.2)
    assert sim.body("box").velocity[0] == pytest.approx(3.0 - 0.2 * RULED[rule] * G, rel=1e-3)


@both
@pytest.mark.parametrize("rule", ORDER)
def test_other_coefficients_combine_alike(solver, rule):
    """Restitution 0.2 and 0.8, spinning 0.002 and 0.008: both coefficients of the pair by the rule."""
    scene = ground(stuff(0.5, restitution=0.8, combine=rule), gravity=0.0)
    ball = sh.Sphere(radius=0.1, material=stuff(0.5, restitution=0.2, combine=rule))
    put(scene, "ball", ball, (0.0, 0.0, 0.1005), (0.0, 0.0, -1.0))
    sim = sh.Simulation(scene, solver=solver, dt=0.001)
    sim.run(0.01)
    assert sim.body("ball").velocity[2] == pytest.approx(RULED[rule], rel=1e-9)
    share = RULED[rule] * (0.01 if rule != "product" else 1e-4)
    scene = ground(stuff(0.5, spinning=0.008, combine=rule))
    ball = sh.Sphere(radius=0.1, material=stuff(0.5, spinning=0.002, combine=rule))
    put(scene, "ball", ball, (0.0, 0.0, 0.1), spin=(0.0, 0.0, 20.0))
    sim = sh.Simulation(scene, solver=solver, dt=0.001)
    sim.run(0.2)
    assert sim.body("ball").angular_velocity[2] == pytest.approx(20.0 - 0.2 * share * G / 0.004, rel=1e-4)
