"""Actuators of MJCF files push as in MuJoCo."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from mujoco_parts import FILES, found, parsed

import sharnir as sh
from sharnir.exact.actuators import actuator_forces, gather_positions, gear_matrix
from sharnir.io import Parsed, scene_of


def forces_agree(p: Parsed, scene: sh.Scene, rng: np.random.Generator) -> None:
    """Forces of the actuators on the coordinates at random states, inputs and activations."""
    peer, model = p.model, sh.compile(scene)
    data = mujoco.MjData(peer)
    for _ in range(5):
        data.qpos[:] = peer.qpos0 + rng.normal(size=peer.nq) * 0.3
        mujoco.mj_normalizeQuat(peer, data.qpos)
        data.qvel[:], data.ctrl[:], data.act[:] = (
            rng.normal(size=peer.nv),
            rng.normal(size=peer.nu),
            rng.normal(size=peer.na),
        )
        mujoco.mj_forward(peer, data)
        q = data.qpos.copy()
        for kind, at in zip(peer.jnt_type, peer.jnt_qposadr, strict=True):
            if kind == int(mujoco.mjtJoint.mjJNT_FREE):
                q[at + 3 : at + 7] = np.roll(q[at + 3 : at + 7], -1)
        slow = (model.actuator_response > 0) | (model.actuator_integrates > 0)
        u = np.clip(data.ctrl, *model.actuator_input_limits.T)
        u[slow] = data.act
        coordinates = gather_positions(model, q[:, None])
        _, forces = actuator_forces(model, gear_matrix(model), coordinates, data.qvel[:, None], u[:, None])
        np.testing.assert_allclose(forces[: model.nv, 0], data.qfrc_actuator, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("robot", FILES, ids=lambda r: r.name)
def test_actuators_of_a_file_push_as_in_mujoco(robot):
    out = found(robot)
    if out.parsed.model.nu == 0:
        pytest.skip("no actuators")
    forces_agree(out.parsed, out.scene, np.random.default_rng(1))


DRIVEN = """<mujoco><worldbody><body>
  <joint name="a" type="slide" axis="1 0 0"/><joint name="b" axis="0 1 0" actuatorfrcrange="-0.4 0.4"/>
  <joint name="c" axis="0 0 1" ref="0.3"/><geom size="0.1"/>
</body></worldbody>
<tendon><fixed name="sum"><joint joint="a" coef="2"/><joint joint="c" coef="-0.5"/></fixed></tendon>
<actuator>
  <motor joint="a" gear="3" ctrllimited="true" ctrlrange="-0.2 0.3"/>
  <position joint="b" kp="20" kv="2" forcerange="-1 1"/>
  <velocity joint="c" kv="4" gear="2"/>
  <damper joint="a" kv="1.5" ctrlrange="0 2"/>
  <general tendon="sum" gainprm="2" biastype="affine" biasprm="0.1 -3 -0.2" gear="0.7"/>
  <general joint="c" gaintype="affine" gainprm="1 2 3"/>
  <intvelocity joint="b" kp="5" actrange="-1 1"/>
  <position joint="a" kp="7" timeconst="0.1"/>
</actuator></mujoco>"""


def test_every_affine_actuator_pushes_as_in_mujoco(tmp_path):
    p = parsed(tmp_path, DRIVEN)
    scene = scene_of(p)
    assert [type(a) for a in scene.actuators] == [sh.Actuator] * 8 and scene.import_report.lost == []
    forces_agree(p, scene, np.random.default_rng(2))


def test_driven_steps_follow_mujoco(tmp_path):
    """With lags and integrals: the same motion, to the order of the step."""
    p = parsed(tmp_path, DRIVEN)
    sim = sh.Simulation(scene_of(p), dt=1e-4)
    peer, data = p.model, mujoco.MjData(p.model)
    peer.opt.timestep, peer.opt.integrator = 1e-4, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    peer.opt.gravity[:] = sim.model.gravity
    u = np.linspace(-0.5, 0.5, peer.nu)
    data.ctrl[:] = u
    for name, value in zip(sim.model.actuator_names, u, strict=True):
        sim.actuator(name).input = value
    sim.run(0.3)
    mujoco.mj_step(peer, data, 3000)
    np.testing.assert_allclose(sim.q, data.qpos, atol=2e-3 * np.abs(data.qpos).max())


def test_what_an_actuator_cannot_be_is_reported(tmp_path):
    scene = scene_of(parsed(tmp_path, """<mujoco><worldbody><body><joint name="j"/><geom size="0.1"/><site name="s"/>
        </body></worldbody><actuator><muscle name="biceps" joint="j" lengthrange="0 1"/>
        <general name="rocket" site="s"/></actuator></mujoco>"""))  # fmt: skip
    lost = {(entry.element, entry.name) for entry in scene.import_report.lost}
    assert lost == {("actuator", "biceps"), ("actuator", "rocket")} and scene.actuators == []


def test_what_plugins_drive_and_what_deforms_is_listed(tmp_path):
    """None of them is a traceback, nor does an actuator become a motor that a plugin drives."""
    driven = """<mujoco><extension><plugin plugin="mujoco.pid"><instance name="p"><config key="kp" value="1"/>
      </instance></plugin></extension><worldbody><body><joint name="j"/><geom size=".1"/></body></worldbody><actuator>
      <plugin name="a" joint="j" plugin="mujoco.pid" instance="p" actdim="0"/></actuator></mujoco>"""
    scene = scene_of(parsed(tmp_path, driven))
    assert [(e.element, e.name) for e in scene.import_report.lost] == [("plugin", "p"), ("actuator", "a")]
    assert scene.actuators == []
    soft = """<mujoco><worldbody><flexcomp name="c" type="grid" count="2 2 2" spacing=".1 .1 .1" radius=".01" dim="3"
      mass="1"/></worldbody></mujoco>"""
    assert ("flex", "c") in [(e.element, e.name) for e in scene_of(parsed(tmp_path, soft)).import_report.lost]
