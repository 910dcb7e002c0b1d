"""Published benchmarks: SimBenchmark's rolling and 666 scenes, Gazebo's tumbling boxes (contact_references.json)."""

from __future__ import annotations

import numpy as np
import pytest
from contact_scenes import G, ground, put, stuff
from measures import both, moving_momenta, stored_momenta

import sharnir as sh


def rolling(balls: int = 5) -> sh.Scene:
    """SimBenchmark's *rolling*: 5×5 balls of 1 kg on a box of 10 kg that is pushed over the ground; μ 0.4 and 0.8."""
    floor = stuff(0.4, combine="least")
    scene = ground(floor)
    put(scene, "box", sh.Box(size=(20.0, 20.0, 1.0), material=stuff(0.8, combine="least")), (0, 0, 0.5), mass=10.0)
    for i in range(balls):
        for j in range(balls):
            place = (2.0 * i - balls + 1, 2.0 * j - balls + 1, 1.5)
            put(scene, f"ball{i}{j}", sh.Sphere(radius=0.5, material=stuff(0.8, combine="least")), place, mass=1.0)
    return scene


@both
@pytest.mark.parametrize("angle", [0.0, 30.0, 45.0, 60.0, 77.0])
def test_simbenchmark_rolling(solver, angle):
    """A push of 150 N at several angles for 4 s: squared errors of velocities, in the mean over steps and balls, are
    ≤ 1e-6 (m/s)² at 1 ms (RaiSim 4.1e-7, MuJoCo 2.4e-3). a_box (M + n m/3.5) = F − μ(M + nm)g, a_ball = a_box/3.5."""
    F, M, n = 150.0, 10.0, 25
    a_box = (F - 0.4 * (M + n) * G) / (M + n / 3.5)
    assert a_box == pytest.approx(0.7385, abs=1e-4)
    way = np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle)), 0.0])
    sim = sh.Simulation(rolling(), solver=solver, dt=0.001)
    sim.body("box").applied = [*(F * way), 0.0, 0.0, 0.0]
    names = [name for name in sim.model.body_names if name != "box"]
    squares = []
    for _ in range(400):
        sim.step(10)
        box = np.sum((sim.body("box").velocity - a_box * sim.time * way) ** 2)
        balls = [np.sum((sim.body(b).velocity - a_box / 3.5 * sim.time * way) ** 2) for b in names]
        squares.append([box, np.mean(balls)])
    assert np.mean(squares, axis=0).max() < 1e-6


def grid(n: int) -> sh.Scene:
    """SimBenchmark's *666*: n³ frictionless balls of 10 kg, 0.1 m, 0.21 m apart, a little off, dropped from 1 mm."""
    rng = np.random.default_rng(42)
    scene = ground(stuff(0.0))
    for i, at in enumerate(np.ndindex(n, n, n)):
        place = 0.21 * np.array(at) + np.array([*rng.uniform(0, 0.001, 2), 0.101])
        put(scene, f"b{i}", sh.Sphere(radius=0.1, material=stuff(0.0)), place, mass=10.0)
    return scene


def penetration(sim, time, radius=0.1) -> float:
    """Sum over pairs of squared overlaps, in the mean over every fifth step, m²."""
    names, total = sim.model.body_names, []
    for _ in range(round(time / sim.dt / 5)):
        sim.step(5)
        x = np.array([sim.body(b).position for b in names])
        apart = np.linalg.norm(x[:, None] - x[None], axis=2)[np.triu_indices(len(x), 1)]
        overlap = np.maximum(0.0, 2 * radius - apart), np.maximum(0.0, radius - x[:, 2])
        total.append(sum((o**2).sum() for o in overlap))
    return float(np.mean(total))


@both
def test_simbenchmark_666(solver):
    """The squared overlaps of all pairs of 216 balls together, in the mean over 1.5 s in which they fall asunder, are
    below 1.4e-4 m² at 1 ms (RaiSim 1.35e-4, ODE 1.55e-4, MuJoCo 0.095)."""
    sim = sh.Simulation(grid(6), solver=solver, dt=0.001)
    assert penetration(sim, 1.5) < 1.4e-4
    assert max(sim.body(b).position[2] for b in sim.model.body_names) < 0.6  # of 1.15 m


def boxes(n: int, v, w, gravity) -> sh.Scene:
    """Gazebo's benchmark *boxes*: n boxes of 10 kg that tumble beside each other, with shapes that never touch."""
    scene = sh.Scene(name="boxes", gravity=gravity)
    scene.add(sh.HalfSpace(position=(0.0, 0.0, -1000.0)))
    for i in range(n):
        put(scene, f"b{i}", sh.Box(size=(0.1, 0.4, 0.9)), (0.0, 2.0 * i, 0.0), v, w, mass=10.0)
    return scene


@both
@pytest.mark.parametrize("n", [1, 4])
@pytest.mark.parametrize("dt", [0.004, 0.001])
@pytest.mark.parametrize("motion", ["simple", "complex"])
def test_gazebo_boxes(solver, n, dt, motion):
    """Over 10 s: position errors ≤ g dt T/2 (what symplectic Euler has; ODE, Bullet and DART 0.049 m at 1 ms), angular
    momentum to 1e-9 (ODE 1.3e-2)."""
    if motion == "simple":
        v, w, g = (-0.9, 0.4, 0.1), (0.5, 0.0, 0.0), 0.0
    else:
        v, w, g = (-2.0, 2.0, 8.0), (0.1, 5.0, 0.1), 9.8
    sim = sh.Simulation(boxes(n, v, w, (0.0, 0.0, -g)), solver=solver, dt=dt)
    kinetic = sim.energy[0] / n
    assert kinetic == pytest.approx(5.001041625 if motion == "simple" else 368.5464166667, rel=1e-7)
    one = np.array([0.8083333333333333, 0.6833333333333333, 0.1416666666666667]) * w
    total, off, turn, off_seen = sum(sim.energy), 0.0, 0.0, 0.0
    for _ in range(100):
        sim.run(0.1)
        t = sim.time
        for i in range(n):
            exact = np.array([0.0, 2.0 * i, 0.0]) + np.array(v) * t - [0, 0, 0.5 * g * t * t]
            off = max(off, np.abs(sim.body(f"b{i}").position - exact).max())
        P = sim.impulses.state.P.numpy()[:, 0].reshape(-1, 6)
        turn = max(turn, np.abs(P[:, 3:] - one).max())
        if n == 1:
            off_seen = max(off_seen, np.abs(moving_momenta(sim).angular - one).max())
    assert off <= g * dt * 10 / 2 + 1e-9
    assert turn <= 1e-9 and off_seen <= 1e-9
    assert abs(sum(sim.energy) / total - 1) < 1e-3 * (dt / 0.001) ** 2
    assert np.abs(stored_momenta(sim).linear - n * 10 * np.array([v[0], v[1], v[2] - g * 10])).max() < n * 9.8 * 10 * dt
