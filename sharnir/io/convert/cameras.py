"""Cameras of an MJCF file. MuJoCo's look along -z with y up, ours along x with z up."""

from __future__ import annotations

import mujoco
import numpy as np

from sharnir.io.convert.source import Source, placed
from sharnir.model.poses import Pose
from sharnir.rotations import matrix_to_quat
from sharnir.spec.import_report import UNSEEN
from sharnir.spec.scene import WORLD
from sharnir.spec.sensors import Camera

FIXED = int(mujoco.mjtCamLight.mjCAMLIGHT_FIXED)
TURN = Pose(np.array([[0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]]), np.zeros(3))  # our axes in MuJoCo's
WIDEST = 3.0  # rad


def add_cameras(source: Source) -> None:
    """Those that are fixed to a body or the world, and see in perspective; others are listed."""
    m = source.model
    for c in range(m.ncam):
        name, angle = source.name("camera", c), float(np.radians(m.cam_fovy[c]))
        if int(m.cam_mode[c]) != FIXED or not 0 < angle <= WIDEST:
            source.report.add("camera", name, "only cameras that are fixed and see up to 171° are known", UNSEEN)
            continue
        carrier, pose = source.place(int(m.cam_bodyid[c]))
        pose = pose @ placed(m.cam_pos[c], m.cam_quat[c]) @ TURN
        body = WORLD if carrier == 0 else source.body_names[carrier]
        turn = matrix_to_quat(pose.R)
        source.scene.add(Camera(name=name, body=body, position=pose.x, orientation=turn, angle=angle))
