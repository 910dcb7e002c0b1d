"""Arms and robots that tests of control share."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

import sharnir as sh
from sharnir import dynamics
from sharnir.benchmarks.robot_files import urdf_files
from sharnir.rotations import matrix_to_quat

Array = NDArray[np.float64]
FILES = {robot.name: robot for robot in urdf_files()}
ROBOTS = {
    "panda": ("panda_description/urdf/panda.urdf", "panda_hand"),
    "ur5": ("ur_description/urdf/ur5_robot.urdf", "wrist_3_link"),
    "talos": ("talos_data/robots/talos_reduced.urdf", "arm_left_7_link"),
}


@cache
def robot(name: str, floating: bool = False) -> sh.Model:
    file = FILES[f"example-robot-data/{ROBOTS[name][0]}"]
    return sh.compile(sh.load(file.path, roots=file.roots, floating=floating))


def planar_arm(links: int = 3, length: float = 0.5, **joint: object) -> sh.Scene:
    """Links along x that turn about z, the tip at `length` along the last one, "link{links - 1}"."""
    scene = sh.Scene(name="planar arm", gravity=(0, 0, 0))
    for k in range(links):
        box = sh.Box(size=(length, 0.05, 0.05), position=(length / 2, 0, 0), mask=0)
        scene.add(sh.Body(name=f"link{k}", shapes=[box], position=(k * length, 0, 0)))
        parent = "world" if k == 0 else f"link{k - 1}"
        anchor = (k * length, 0, 0)
        scene.add(
            sh.Revolute(name=f"joint{k}", parent=parent, child=f"link{k}", anchor=anchor, axis=(0, 0, 1), **joint)
        )
    return scene


def limits(model: sh.Model) -> tuple[Array, Array]:
    """Of the tree's coordinates, a turn where there is none."""
    lower, upper = model.limit_lower[: model.nv], model.limit_upper[: model.nv]
    return np.maximum(lower, -np.pi), np.minimum(upper, np.pi)


def pose(model: sh.Model, q: Array, body: str, point: Array) -> tuple[Array, Array]:
    """Of a point of a body and its axes, by the dynamics' own kernels."""
    position, rotation = dynamics.body_poses(model, q)
    i = model.body(body)
    return position[i] + rotation[i] @ point, matrix_to_quat(rotation[i])
