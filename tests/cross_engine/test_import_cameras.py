"""Cameras of MJCF files look where MuJoCo's do."""

from __future__ import annotations

import mujoco
import numpy as np

import sharnir as sh
from sharnir.rotations import quat_to_matrix

MODEL = """<mujoco><worldbody>
  <camera name="room" pos="1 2 3" xyaxes="1 0 0 0 0.6 0.8" fovy="50"/>
  <camera name="tracking" mode="trackcom" pos="1 0 0"/>
  <body name="arm" pos="0 0 1" euler="10 20 30"><joint axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.03"/>
    <body name="fixed" pos="0.1 0 0" euler="0 90 0"><geom size="0.02"/><camera pos="0 0.1 0" euler="40 50 60"/></body>
  </body></worldbody></mujoco>"""


def test_cameras_look_where_mujoco_does(tmp_path):
    (tmp_path / "m.xml").write_text(MODEL)
    for merge in (False, True):
        scene = sh.load(tmp_path / "m.xml", merge_fixed=merge)
        assert [e.element for e in scene.import_report if e.element == "camera"] == ["camera"]
        model = mujoco.MjModel.from_xml_string(MODEL)
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        sim = sh.Simulation(scene)
        numbers = [c for c in range(model.ncam) if model.camera(c).name != "tracking"]
        for camera, c in zip(sim.model.cameras, numbers, strict=True):
            R, x = np.eye(3), np.zeros(3)
            if camera.body != "world":
                R, x = sim.body(camera.body).rotation, sim.body(camera.body).position
            R, x = R @ quat_to_matrix(np.array(camera.orientation)), x + R @ camera.position
            theirs = data.cam_xmat[c].reshape(3, 3)
            np.testing.assert_allclose(x, data.cam_xpos[c], atol=1e-9)
            np.testing.assert_allclose(R[:, 0], -theirs[:, 2], atol=1e-9)
            np.testing.assert_allclose(R[:, 2], theirs[:, 1], atol=1e-9)
            assert np.degrees(camera.angle) == model.cam_fovy[c]
