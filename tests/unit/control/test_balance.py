"""Standing: polygons of support, pressure, and a humanoid that shifts its weight and is pushed."""

from __future__ import annotations

import numpy as np
import pytest
from refusal import refused
from standing_robots import TALOS, posed

import sharnir as sh
from sharnir.rotations import matrix_to_quat
from sharnir.sensors.support_polygon import center_of_mass, centroid, distance_inside, move_inside

SQUARE = np.array([(0.0, 0.0), (2.0, 0.0), (2.0, 1.0), (0.0, 1.0)])
FEET = sorted(TALOS.feet)


@pytest.mark.parametrize("solver", ["simgc", "simmc"])
def test_polygon_and_pressure_of_a_table(solver):
    """Two feet far apart: their corners; the pressure is under the common centre, also when pushed."""
    scene = sh.Scene(name="table")
    scene.add(sh.HalfSpace())
    scene.add(sh.Body(name="plate", mass=8.0, inertia=(1, 1, 1), position=(0.1, 0.05, 0.6)))
    for name, x in (("left", -0.4), ("right", 0.4)):
        scene.add(sh.Body(name=name, mass=1.0, shapes=[sh.Box(size=(0.1, 0.3, 0.04))], position=(x, 0, 0.02)))
        scene.add(sh.Fixed(name=f"{name}_leg", parent="plate", child=name))
    sim = sh.Simulation(scene, solver=solver, dt=0.002)
    sim.run(0.4)
    polygon = sh.support_polygon(sim, ["left", "right"])
    corners = {(round(float(x), 4), round(float(y), 4)) for x, y in polygon}
    assert corners >= {(-0.45, -0.15), (-0.45, 0.15), (0.45, -0.15), (0.45, 0.15)}
    assert np.abs(polygon).max(axis=0) == pytest.approx((0.45, 0.15), abs=1e-6)
    balance = sh.BalanceTask(["left", "right"])
    assert balance.look(sim) == pytest.approx(0.15 - 0.04, abs=1e-4)
    np.testing.assert_allclose(sh.center_of_pressure(sim, ["left", "right"]), [0.08, 0.04], atol=1e-4)
    sim.body("plate").applied = (20.0, 0, 0, 0, 0, 0)
    sim.run(0.4)
    weight = 10 * 9.81
    expected = 0.08 + 20.0 * 0.6 / weight
    np.testing.assert_allclose(sh.center_of_pressure(sim, ["left", "right"])[0], expected, atol=1e-3)
    assert len(sh.support_polygon(sim, ["left"])) == 4
    with refused("unknown body 'middle'", "left"):
        sh.support_polygon(sim, ["middle"])


def test_nothing_bears_what_flies():
    scene = sh.Scene(name="air")
    scene.add(sh.HalfSpace())
    scene.add(sh.Body(name="foot", shapes=[sh.Sphere(radius=0.1)], position=(0, 0, 5)))
    sim = sh.Simulation(scene)
    sim.run(0.1)
    balance = sh.BalanceTask(["foot"])
    assert len(sh.support_polygon(sim, ["foot"])) == 0
    assert sh.center_of_pressure(sim, ["foot"]) is None
    assert balance.look(sim) == -np.inf == balance.follow(sim, 0.01)


@pytest.mark.parametrize(
    ("point", "margin"),
    [((1.0, 0.5), 0.5), ((0.1, 0.5), 0.1), ((-0.3, 0.5), -0.3), ((2.3, 1.4), -0.5), ((1.0, -2.0), -2.0)],
)
def test_inside_by(point, margin):
    assert distance_inside(SQUARE, np.array(point)) == pytest.approx(margin)


def test_points_are_drawn_inside():
    np.testing.assert_allclose(centroid(SQUARE), [1.0, 0.5])
    np.testing.assert_array_equal(move_inside(SQUARE, np.array([0.5, 0.5]), 0.2), [0.5, 0.5])
    np.testing.assert_allclose(move_inside(SQUARE, np.array([-5.0, 0.5]), 0.2), [0.2, 0.5], atol=1e-9)
    np.testing.assert_allclose(move_inside(SQUARE, np.array([1.0, 9.0]), 0.7), [1.0, 0.5])
    line = np.array([(0.0, 0.0), (1.0, 0.0)])
    assert distance_inside(line, np.array([0.5, 0.2])) == pytest.approx(-0.2)
    np.testing.assert_allclose(move_inside(line, np.array([0.2, 0.4]), 0.1), [0.5, 0.0])


class Standing:
    """Talos under position servos whose inputs come from inverse kinematics: feet where they are, balance, posture."""

    def __init__(self, gains: tuple[float, float]) -> None:
        self.sim = sim = sh.Simulation(posed(TALOS), dt=TALOS.dt)
        sim.run(0.5)
        self.least = np.inf
        pelvis = "base_link" if "base_link" in sim.model.body_names else sim.model.body_names[0]
        self.balance = sh.BalanceTask(FEET, of=pelvis, margin=0.02, gains=gains)
        places = {foot: sim.body(foot) for foot in FEET}
        stand = [sh.PoseTask(f, (b.position, matrix_to_quat(b.rotation))) for f, b in places.items()]
        self.q = np.array(sim.q)
        self.ik = sh.InverseKinematics(sim, [*stand, self.balance, sh.PostureTask(self.q)], max_speed=2.0)
        self.names = list(sim.model.actuator_names)
        self.places = [sim.model.joint(n).q.start for n in self.names]
        self.start = {foot: np.array(b.position) for foot, b in places.items()}
        sim.add_controller(self.control, rate=100)

    def control(self, sim: sh.Simulation) -> None:
        inside = self.balance.follow(sim, 0.01)
        self.least = min(self.least, inside)
        v = self.ik.step(self.q, 0.01)
        self.q = self.ik.moved(self.q, v, 0.01)
        for name, place in zip(self.names, self.places, strict=True):
            sim.actuator(name).input = self.q[place]

    def slip(self) -> float:
        return max(float(np.linalg.norm(self.sim.body(f).position - x)) for f, x in self.start.items())

    def center(self) -> np.ndarray:
        return center_of_mass(self.sim, self.balance.group(self.sim.model))[:2]


@pytest.mark.parametrize("gains", [(0.0, 0.0), (1.0, 0.2)])
def test_a_humanoid_shifts_its_weight(gains):
    """By 4 cm to the left within 2 s, the feet stay; with feedback also although joints sag."""
    robot = Standing(gains)
    robot.sim.run(1.0)
    start = robot.balance.target[:2]
    path = sh.MinimumJerk(start, start + np.array([0.0, 0.04]), 2.0, begin=robot.sim.time)

    def shift(sim: sh.Simulation) -> None:
        robot.balance.wanted = path(sim.time).position

    robot.sim.add_controller(shift, rate=100)
    robot.sim.run(6.0)
    missed = float(np.linalg.norm(robot.center() - robot.balance.wanted))
    assert (missed < 1e-3) == (gains[0] > 0) and missed < 0.02
    assert robot.least > 0.02
    assert robot.slip() < 1e-3


@pytest.mark.parametrize("gains", [(0.0, 0.0), (0.0, 0.2)])
def test_feedback_stands_a_push_that_topples_stiff_joints(gains):
    """135 N forward on the chest for 0.2 s."""
    robot = Standing(gains)
    robot.sim.run(3.0)
    start, chest = robot.center(), robot.sim.body("torso_2_link")
    chest.applied = (135.0, 0, 0, 0, 0, 0)
    robot.sim.run(0.2)
    chest.applied = 0.0
    robot.sim.run(4.0)
    moved = float(np.linalg.norm(robot.center() - start))
    if gains[1] == 0.0:
        assert moved > 0.3
    else:
        assert moved < 2e-3 and robot.least > 0 and robot.slip() < 1e-3
