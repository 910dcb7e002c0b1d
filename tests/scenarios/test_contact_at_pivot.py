"""Links that overlap where a ball connects them: a contact in the ball's centre has no lever, and moves nothing."""

from __future__ import annotations

import numpy as np

import sharnir as sh
from sharnir.benchmarks.robot_files import mjcf_files

FILE = "dm_control/mujoco/testing/assets/model_with_ball_joints.xml"


def test_a_contact_without_a_lever_moves_nothing() -> None:
    robot = next(r for r in mjcf_files() if r.name == FILE)
    scene, bare = sh.load(robot.path, robot.roots), sh.load(robot.path, robot.roots)
    for body in bare.bodies:
        body.shapes = ()
    bare.shapes.clear()
    bare.contact_pairs.clear()
    sim, free = (sh.Simulation(s, dt=0.002) for s in (scene, bare))
    start, most = sum(sim.energy), -np.inf
    for _ in range(50):
        sim.run(0.02)
        free.run(0.02)
        most = max(most, sum(sim.energy))
    assert sim.contacts()[0].gap < -0.01
    assert most < start + 1e-6
    assert np.abs(sim.q - free.q).max() < 0.05
