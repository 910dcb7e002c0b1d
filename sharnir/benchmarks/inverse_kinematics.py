"""Inverse kinematics: time of a step of a humanoid, and random poses within reach of three robots.

python -m sharnir.benchmarks.inverse_kinematics [poses of each robot, 200]
"""

from __future__ import annotations

import sys
import time

import numpy as np

import sharnir as sh
from sharnir import dynamics
from sharnir.benchmarks.robot_files import urdf_files
from sharnir.rotations import matrix_to_quat

FILES = {robot.name.removeprefix("example-robot-data/"): robot for robot in urdf_files()}
ROBOTS = {
    "panda_description/urdf/panda.urdf": "panda_hand",
    "ur_description/urdf/ur5_robot.urdf": "wrist_3_link",
    "talos_data/robots/talos_reduced.urdf": "arm_left_7_link",
}


def loaded(name: str, floating: bool = False) -> sh.Model:
    """A robot of example-robot-data."""
    file = FILES[name]
    return sh.compile(sh.load(file.path, roots=file.roots, floating=floating))


def pose(model: sh.Model, q: np.ndarray, body: str) -> tuple[np.ndarray, np.ndarray]:
    """Position and quaternion of a body."""
    position, rotation = dynamics.body_poses(model, q)
    i = model.body(body)
    return position[i], matrix_to_quat(rotation[i])


def follow(priorities: bool) -> str:
    """Both feet, the centre of mass and a hand that moves, on a floating Talos with grippers."""
    model = loaded("talos_data/robots/talos_full_v2.urdf", floating=True)
    feet = [
        sh.PoseTask(f"leg_{side}_6_link", pose(model, model.q0, f"leg_{side}_6_link")) for side in ("left", "right")
    ]
    center = sh.CenterOfMassTask(dynamics.center_of_mass(model, model.q0), axes=(True, True, False))
    place, turn = pose(model, model.q0, "arm_left_7_link")
    hand = sh.PoseTask("arm_left_7_link", (place, turn), priority=1 if priorities else 0)
    ik = sh.InverseKinematics(model, [*feet, center, hand], max_speed=5.0)
    q, times = model.q0, []
    for k in range(1000):
        hand.target = place + np.array([0.05 * np.sin(0.02 * k), 0.0, 0.05]), turn
        start = time.perf_counter()
        v = ik.step(q, 0.005)
        times.append(time.perf_counter() - start)
        q = ik.moved(q, v, 0.005)
    order = "feet before the hand" if priorities else "one priority"
    half, most = 1e6 * np.percentile(times[10:], (50, 99))
    what = f"{model.nv} coordinates, {len(model.coupling_names)} couplings, 4 tasks, {order}"
    return f"step of {what}: {half:.0f} µs, p99 {most:.0f} µs"


def reach(name: str, poses: int) -> str:
    """How many of random poses are reached, and in what time."""
    model, tip = loaded(name), ROBOTS[name]
    lower = np.maximum(model.limit_lower[: model.nv], -np.pi)
    upper = np.minimum(model.limit_upper[: model.nv], np.pi)
    hand, rng = sh.PoseTask(tip, ((0, 0, 0), (0, 0, 0, 1))), np.random.default_rng(1)
    ik = sh.InverseKinematics(model, [hand])
    ik.solve()
    first = reached = 0
    times = []
    for _ in range(poses):
        hand.target = pose(model, rng.uniform(lower, upper), tip)
        first += ik.solve(restarts=0).reached
        start = time.perf_counter()
        reached += ik.solve().reached
        times.append(time.perf_counter() - start)
    half, most = 1e3 * np.percentile(times, (50, 90))
    return f"{name}: {first} of {poses} from the first start, {reached} in all; {half:.1f} ms, p90 {most:.1f} ms"


if __name__ == "__main__":
    for priorities in (False, True):
        print(follow(priorities))
    for robot in ROBOTS:
        print(reach(robot, int(sys.argv[1]) if len(sys.argv) > 1 else 200))
