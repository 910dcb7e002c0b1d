"""What rests stays where it is."""

from __future__ import annotations

from math import radians

import numpy as np
import pytest
from contact_scenes import Contacts, G, box_on, down, ground, put, stack, stuff
from measures import both

import sharnir as sh
from sharnir.benchmarks.holds import scenes
from sharnir.scenes.parts import about


@both
@pytest.mark.parametrize("dt", [0.01, 0.001])
@pytest.mark.parametrize("gap", [0.0, 0.001])
def test_a_box_on_a_slope_does_not_creep(solver, dt, gap):
    """20°, μ = 0.5 (tan 20° = 0.364): less than 1 µm in 60 s once it has settled."""
    sim = sh.Simulation(box_on(stuff(0.5), radians(20), gap=gap), solver=solver, dt=dt)
    sim.run(1.0)
    start, turn = sim.body("box").position.copy(), sim.body("box").rotation.copy()
    sim.run(60.0)
    assert np.abs(sim.body("box").position - start).max() < 1e-6
    assert np.abs(sim.body("box").rotation - turn).max() < 1e-6
    assert sim.energy[0] < 1e-12


@both
def test_the_ground_carries_the_weight(solver):
    """Impulses of a box at rest on a slope over the step are its weight, to the sweeps' tolerance (1e-6 of it)."""
    dt = 0.001
    sim = sh.Simulation(box_on(stuff(0.5), radians(20)), solver=solver, dt=dt)
    sim.run(1.0)
    np.testing.assert_allclose(Contacts(sim).lifting.sum(axis=0) / dt, [0.0, 0.0, G], atol=1e-5 * G)
    sim = sh.Simulation(box_on(stuff(0.5), radians(40)), solver=solver, dt=dt)
    sim.run(0.5)
    force = Contacts(sim).lifting.sum(axis=0) / dt
    assert force @ down(radians(40)) == pytest.approx(-0.5 * G * np.cos(radians(40)), rel=1e-3)


def stands(sim, n, size=0.2, off=0.0, time=10.0):
    sim.run(1.0)
    start = np.array([sim.body(f"b{i}").position for i in range(n)])
    assert np.abs(start - [(off * (i % 2), 0.0, size * (i + 0.5)) for i in range(n)]).max() < 2e-3
    sim.run(time)
    moved = np.array([sim.body(f"b{i}").position for i in range(n)]) - start
    assert np.abs(moved).max() < 1e-4
    assert sim.energy[0] < 1e-7 * n  # J: about 0.5 mm/s each
    heights = start[:, 2] + moved[:, 2]
    assert (heights - size * (np.arange(n) + 0.5)).min() > -1e-4


@both
@pytest.mark.parametrize("dt", [0.005, 0.001])
def test_a_stack_of_boxes_stands(solver, dt):
    stands(sh.Simulation(stack(10), solver=solver, dt=dt), 10, time=5.0)


@both
def test_a_crooked_stack_of_boxes_stands(solver):
    """Every second box 4 cm aside: the centre of mass above each is inside its face."""
    stands(sh.Simulation(stack(6, off=0.04), solver=solver, dt=0.002), 6, off=0.04, time=5.0)


@pytest.mark.slow
@both
@pytest.mark.parametrize("dt", [0.01, 0.001])
def test_a_stack_of_ten_boxes_stands_for_a_minute(solver, dt):
    stands(sh.Simulation(stack(10), solver=solver, dt=dt), 10, time=60.0)


@both
def test_a_heavy_box_rests_on_a_light_one(solver):
    """Mass ratio 100: neither sinks; the ground carries both."""
    scene = stack(2)
    scene.bodies[1].mass = 100.0
    sim = sh.Simulation(scene, solver=solver, dt=0.001)
    stands(sim, 2, time=2.0)
    c = Contacts(sim)
    low = c.point[:, 2] < 0.1
    assert c.lifting[low, 2].sum() / 0.001 == pytest.approx(101 * G, rel=1e-4)


@both
def test_a_ball_rests_in_a_corner(solver):
    """In a V of two smooth planes of 45° each carries m g/√2."""
    scene = sh.Scene(name="v")
    for turn in (np.pi / 4, -np.pi / 4):
        scene.add(sh.HalfSpace(orientation=about((0.0, 1.0, 0.0), turn), material=stuff(0.0)))
    put(scene, "ball", sh.Sphere(radius=0.1, material=stuff(0.0)), (0.0, 0.0, 0.1 * np.sqrt(2)), mass=1.0)
    sim = sh.Simulation(scene, solver=solver, dt=0.001)
    sim.run(1.0)
    c = Contacts(sim)
    assert c.count == 2 and np.abs(sim.body("ball").velocity).max() < 1e-9
    np.testing.assert_allclose(np.abs(c.normal_impulse) / 0.001, G / np.sqrt(2), rtol=1e-5)


def tower(masses):
    scene, edge = ground(stuff(0.5)), 0.2
    for k, mass in enumerate(masses):
        put(scene, f"b{k}", sh.Box(size=(edge,) * 3, material=stuff(0.5)), (0.0, 0.0, (k + 0.5) * edge), mass=mass)
    return scene


@both
@pytest.mark.parametrize("masses", [(1.0, 1e3), (1.0, 1e4), (1.0, 1e2, 1e4), (1.0, 1.0, 1.0, 1e4)])
def test_what_is_ten_thousand_times_heavier_stands_for_a_minute(solver, masses):
    """5 ms: no overlap above 0.05 mm, no drift above 0.1 mm (sweeps alone let the light box collapse)."""
    sim = sh.Simulation(tower(masses), solver=solver, dt=0.005)
    start = [sim.body(f"b{k}").position.copy() for k in range(len(masses))]
    for _ in range(6):
        sim.run(10.0)
        assert min(c.gap for c in sim.contacts()) > -5e-5
        for k, place in enumerate(start):
            assert np.abs(sim.body(f"b{k}").position - place).max() < 1e-4


@both
def test_a_heavy_tower_beside_other_things_stands(solver):
    """Islands are solved each on its own: thirty other boxes are more than is solved at once."""
    scene = tower((1.0, 1e4))
    for k in range(30):
        put(scene, f"other{k}", sh.Box(size=(0.1,) * 3, material=stuff(0.5)), (1.0 + 0.2 * k, 0.0, 0.05), mass=0.5)
    sim = sh.Simulation(scene, solver=solver, dt=0.005)
    sim.run(5.0)
    assert min(c.gap for c in sim.contacts()) > -5e-5
    np.testing.assert_allclose(sim.body("b1").position, [0.0, 0.0, 0.3], atol=1e-4)


@both
def test_what_slides_is_not_lifted_by_the_solution_of_an_island(solver):
    """10,000 kg on a light box that slides on a belt: the normal force stays the weight, the friction μ of it."""
    scene = sh.Scene(name="belt")
    belt = sh.Material(friction=0.2)
    scene.add(sh.Box(size=(4.0, 4.0, 0.2), position=(0.0, 0.0, -0.1), material=belt, surface_velocity=(0.5, 0.0, 0.0)))
    for k, mass in enumerate((1.0, 1e4)):
        put(scene, f"b{k}", sh.Box(size=(0.2,) * 3, material=belt), (0.0, 0.0, 0.1 + 0.2 * k), mass=mass)
    sim = sh.Simulation(scene, solver=solver, dt=0.005)
    sim.run(0.1)
    force = sum(c.force if c.bodies[1] == "b0" else -c.force for c in sim.contacts("b0", "world"))
    assert force[2] == pytest.approx(10001 * G, rel=1e-3)
    assert force[0] == pytest.approx(0.2 * 10001 * G, rel=1e-3)
    assert sim.body("b1").velocity[0] == pytest.approx(0.2 * G * 0.1, rel=1e-2)


@both
@pytest.mark.parametrize("edge", [1e-3, 1e4, 1e6])
def test_boxes_of_a_millimetre_and_of_a_thousand_kilometres_rest(solver, edge):
    """1 mg and 1e21 kg: what moves nothing is judged by the heaviest body."""
    sim = sh.Simulation(scenes.large_box(edge), solver=solver, dt=0.01)
    sim.run(1.0)
    assert abs(float(sim.body("box").position[2]) - edge / 2) < 1e-9 * max(edge, 1.0)
    forces = sum(contact.force for contact in sim.contacts())
    assert abs(forces[2]) == pytest.approx(1000 * edge**3 * G, rel=1e-6)
