"""Sensors of MJCF files show what MuJoCo's show."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from mujoco_parts import parsed

import sharnir as sh
from sharnir.io import scene_of

SENSED = """<mujoco><option timestep="0.002"/><worldbody><geom type="plane" size="1 1 1"/>
  <body name="arm" pos="0 0 0.5"><joint name="a" axis="0 1 0" damping="0.5"/>
    <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02"/><site name="mid" pos="0.15 0.01 0.02" euler="10 20 30"/>
    <body name="hand" pos="0.3 0 0"><joint name="b" axis="0 0 1" damping="0.2"/><geom size="0.05" pos="0.1 0 0"/>
      <site name="tip" pos="0.1 0 0" euler="40 0 10"/></body></body>
  <body name="ball" pos="1 0 0.049"><freejoint/><geom size="0.05"/><site name="pad" size="0.06"/></body>
</worldbody><actuator><motor name="m" joint="b"/></actuator>
<sensor><jointpos joint="b"/><jointvel joint="a"/><actuatorfrc actuator="m"/><framepos objtype="site" objname="tip"/>
  <framequat objtype="xbody" objname="hand"/><framelinvel objtype="site" objname="tip"/>
  <frameangvel objtype="site" objname="tip"/><velocimeter site="tip"/><gyro site="tip"/><subtreecom body="arm"/>
  <subtreelinvel body="arm"/><force site="mid"/><torque site="mid"/><touch site="pad"/><accelerometer site="tip"/>
</sensor></mujoco>"""


@pytest.mark.parametrize("solver", ["simgc", "simmc"])
def test_sensors_show_what_mujoco_shows(tmp_path, solver):
    p = parsed(tmp_path, SENSED)
    scene = scene_of(p)
    assert [(e.element, e.name) for e in scene.import_report] == [("bodies", "world and ball")]  # the ball overlaps
    sim = sh.Simulation(scene, dt=0.002, solver=solver)
    sim.actuator("m").input = 0.01
    sim.run(0.2)
    data = mujoco.MjData(p.model)
    for k, name in enumerate("ab"):
        data.qpos[k], data.qvel[k] = sim.joint(name).position[0], sim.joint(name).velocity[0]
    data.ctrl[:] = 0.01
    mujoco.mj_forward(p.model, data)
    for s, sensor in enumerate(scene.sensors):
        first, size = p.model.sensor_adr[s], p.model.sensor_dim[s]
        theirs, got = data.sensordata[first : first + size], np.atleast_1d(sim.sensor(sensor.name))
        if sensor.kind == "orientation":
            theirs = np.roll(theirs, -1) * np.sign(theirs[0])
        if sensor.kind == "touch":
            theirs = np.array([p.model.body_mass[3] * 9.81])
        np.testing.assert_allclose(got, theirs, atol=2e-3 * max(1.0, np.abs(theirs).max()), err_msg=sensor.kind)


def test_sensors_are_saved(tmp_path):
    scene = scene_of(parsed(tmp_path, SENSED))
    scene.save(tmp_path / "sensed.toml")
    assert sh.Scene.load(tmp_path / "sensed.toml") == scene


@pytest.mark.parametrize(
    ("sensor", "message"),
    [
        (sh.Sensor(name="s", kind="smell", of="arm"), "sensor 's': unknown kind 'smell'"),
        (sh.Sensor(name="s", kind="gyro", of="leg"), "sensor 's': unknown body 'leg'"),
        (sh.Sensor(name="s", kind="joint_position", of="a", coordinate=1), "coordinate is out of range"),
        (sh.Sensor(name="s", kind="touch", of="arm", region=sh.HalfSpace()), "region is something else"),
    ],
)
def test_a_sensor_of_nothing_is_refused(tmp_path, sensor, message):
    scene = scene_of(parsed(tmp_path, SENSED))
    scene.add(sensor)
    with pytest.raises(sh.ModelError, match=message):
        sh.compile(scene)
