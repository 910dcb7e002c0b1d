"""MuJoCo's `<dcmotor>` as our DC motor: the same motion, and what is not known of it is said."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import sharnir as sh

MODEL = """<mujoco><option timestep="{dt}" integrator="implicitfast"/><worldbody>
  <body name="upper"><joint name="shoulder" axis="0 1 0"/><geom type="capsule" size=".03" fromto="0 0 0 0 0 -.4"/>
    <body name="lower" pos="0 0 -.4"><joint name="elbow" axis="0 1 0" damping=".02"/>
      <geom type="capsule" size=".02" fromto="0 0 0 0 0 -.3"/></body></body></worldbody>
<actuator>
  <dcmotor name="first" joint="shoulder" motorconst=".05" resistance="2" gear="50" armature="1e-5" {first}/>
  <dcmotor name="second" joint="elbow" nominal="12 .3 240" gear="-30" armature="2e-5" {second}/>
</actuator></mujoco>"""
NAMES = ("first", "second")


def volts(t: float) -> tuple[float, float]:
    return 6.0 * np.sin(8.0 * t), 4.0 * np.cos(5.0 * t)


@pytest.mark.parametrize("solver", ["simgc", "simmc"])
@pytest.mark.parametrize(
    ("first", "second"),
    [("", ""), ('inductance=".001"', 'inductance="0 .003"'), ('saturation="0 1 0"', 'saturation=".05 0 0"'),
     ('inductance=".001" ctrllimited="true" ctrlrange="-3 3"', "")],
    ids=["algebraic", "inductive", "saturated", "little voltage"],
)  # fmt: skip
def test_an_arm_on_dc_motors_moves_as_in_mujoco(tmp_path, solver, first, second):
    """0.4 s; MuJoCo at 20 µs, ours at 1 ms; inputs change with every step, for an input of ours acts from half a step
    before to half a step after it is given."""
    peer = mujoco.MjModel.from_xml_string(MODEL.format(dt=2e-5, first=first, second=second))
    data = mujoco.MjData(peer)
    (tmp_path / "arm.xml").write_text(MODEL.format(dt=1e-3, first=first, second=second))
    scene = sh.load(tmp_path / "arm.xml", strict=True)
    assert [m.name for m in scene.dc_motors] == list(NAMES)
    sim = sh.Simulation(scene, solver=solver, dt=1e-3)
    for _ in range(20_000):
        data.ctrl[:] = volts(data.time)
        mujoco.mj_step(peer, data)
    for _ in range(400):
        for name, value in zip(NAMES, volts(sim.time), strict=True):
            sim.dc_motor(name).input = value
        sim.step()
    q = np.array([sim.joint(name).position[0] for name in ("shoulder", "elbow")])
    assert np.abs(q).max() > 0.05
    np.testing.assert_allclose(q, data.qpos, atol=1e-3 * np.abs(data.qpos).max())


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ('cogging=".01 6 0"', "cogging is not known"),
        ('thermal="1 2 3 4 5 6"', "heat that changes its resistance is not known"),
        ('lugre="1 2 3 4 5"', "friction after LuGre is not known"),
        ('saturation="0 0 7"', "a largest rate of its current is not known"),
        ('damping=".1"', "damping of its own is not known"),
    ],
)
def test_what_is_not_known_of_it_is_reported(tmp_path, facts, reason):
    (tmp_path / "arm.xml").write_text(MODEL.format(dt=1e-3, first=facts, second=""))
    scene = sh.load(tmp_path / "arm.xml")
    [entry] = scene.import_report.lost
    assert (entry.element, entry.name) == ("actuator", "first") and reason in entry.reason
    assert [m.name for m in scene.dc_motors] == ["second"]


def test_it_is_exported_again(tmp_path):
    (tmp_path / "arm.xml").write_text(MODEL.format(dt=1e-3, first='inductance=".001"', second=""))
    scene = sh.load(tmp_path / "arm.xml")
    peer = mujoco.MjModel.from_xml_string(scene.to_mjcf())
    data = mujoco.MjData(peer)
    peer.opt.timestep = 2e-5
    data.ctrl[:] = (5.0, -3.0)
    mujoco.mj_step(peer, data, 5000)
    sim = sh.Simulation(scene, dt=1e-3)
    for name, value in zip(NAMES, (5.0, -3.0), strict=True):
        sim.dc_motor(name).input = value
    sim.run(0.1)
    np.testing.assert_allclose(sim.q, data.qpos, atol=2e-3 * np.abs(data.qpos).max())
