"""Further parts of MJCF files against MuJoCo: heights, margins, keyframes, joints of every kind, what is lost."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from mujoco_parts import parsed

import sharnir as sh
from sharnir import dynamics
from sharnir.io import scene_of


def test_heights_lie_where_mujoco_has_them(tmp_path):
    p = parsed(tmp_path, """<mujoco><asset><hfield name="h" nrow="3" ncol="4" size="3 2 0.5 0.1"
      elevation="0 0 1 0  0 2 0 3  1 0 0 0"/></asset><worldbody><geom type="hfield" hfield="h" pos="0.1 0.2 0.3"/>
      </worldbody></mujoco>""")  # fmt: skip
    model, data = sh.compile(scene_of(p)), mujoco.MjData(p.model)
    mujoco.mj_forward(p.model, data)
    x, y = np.meshgrid(np.linspace(-3, 3, 4) * 0.999 + 0.1, np.linspace(-2, 2, 3) * 0.999 + 0.2)
    start, down = np.column_stack([x.ravel(), y.ravel(), np.full(12, 5.0)]), np.tile([0.0, 0, -1], (12, 1))
    ours, *_ = sh.ray_cast(model, model.q0, start, down, 10.0)
    theirs = [
        mujoco.mj_ray(p.model, data, s, d, None, 1, -1, np.zeros(1, np.int32)) for s, d in zip(start, down, strict=True)
    ]
    np.testing.assert_allclose(ours, theirs, atol=5e-3)
    assert np.ptp(theirs) > 0.4


def test_margins_hold_surfaces_apart(tmp_path):
    text = """<mujoco><worldbody><geom type="plane" size="1 1 1" margin="0.01"/><body pos="0 0 0.15"><freejoint/>
      <geom type="capsule" size="0.1 0.2" euler="90 0 0" margin="0.02"/></body></worldbody></mujoco>"""
    p = parsed(tmp_path, text)
    sim = sh.Simulation(scene_of(p), dt=0.002)
    sim.run(1.0)
    data = mujoco.MjData(p.model)
    mujoco.mj_step(p.model, data, 1000)
    assert sim.q[2] == pytest.approx(0.13, abs=1e-5)
    assert sim.q[2] == pytest.approx(data.qpos[2], abs=1e-3)


def test_keyframes_are_states_to_start_from(tmp_path):
    p = parsed(tmp_path, """<mujoco><worldbody><body><freejoint name="f"/><geom size="0.1"/><body><joint name="a"/>
      <joint name="b" axis="1 0 0"/><geom size="0.1"/></body></body></worldbody>
      <actuator><motor name="m" joint="b"/></actuator><keyframe>
      <key name="home" qpos="1 2 3 0 1 0 0 0.5 0.6" qvel="1 2 3 4 5 6 7 8" ctrl="9"/></keyframe>
      </mujoco>""")  # fmt: skip
    model = sh.compile(scene_of(p).at("home"))
    assert model.q0.tolist() == [1, 2, 3, 1, 0, 0, 0, 0.5, 0.6]
    assert model.v0.tolist() == [1, 2, 3, 4, 5, 6, 7, 8] and model.actuator_input.tolist() == [9]
    with pytest.raises(sh.ModelError, match="unknown keyframe 'hom'; did you mean 'home'"):
        scene_of(p).at("hom")


def test_a_ball_turns_as_far_as_in_mujoco(tmp_path):
    """Pushed about an oblique axis against the limit of its angle, with a damper, it comes to rest where MuJoCo's does,
    but for how far that gives."""
    p = parsed(
        tmp_path,
        """<mujoco><option gravity="0 0 0" timestep="0.001"/><worldbody><body><joint name="b" type="ball"
      damping="2" range="0 40" solreflimit="0.002 1" solimplimit="0.99 0.9999 0.001"/>
      <inertial pos="0 0 0" mass="1" diaginertia="0.1 0.2 0.25"/></body></worldbody></mujoco>""",
    )
    scene = scene_of(p)
    assert not list(scene.import_report)
    sim, data = sh.Simulation(scene, dt=0.001), mujoco.MjData(p.model)
    sim.joint("b").control = data.qfrc_applied[:] = 1.0, -2.0, 0.7
    sim.run(6.0)
    mujoco.mj_step(p.model, data, 6000)
    theirs = np.roll(data.qpos, -1)
    assert 2 * np.arccos(np.abs(sim.q[3])) == pytest.approx(np.radians(40), abs=1e-6)
    assert np.abs(sim.q - theirs * np.sign(theirs @ sim.q)).max() < 1e-3
    back = mujoco.MjModel.from_xml_string(scene.to_mjcf())
    assert back.jnt_limited[0] and back.jnt_range[0, 1] == pytest.approx(np.radians(40), rel=1e-12)


def test_strict_refuses_what_is_lost(tmp_path):
    (tmp_path / "fish.xml").write_text("""<mujoco><option density="1000"/><worldbody><body><freejoint/>
      <geom size="0.1"/></body></worldbody></mujoco>""")
    assert [e.element for e in sh.load(tmp_path / "fish.xml").import_report.lost] == ["option"]
    with pytest.raises(sh.ModelError, match="forces of a fluid on bodies are not known"):
        sh.load(tmp_path / "fish.xml", strict=True)


JOINTED = """<mujoco><compiler angle="radian"/><option gravity="1 2 -9"/><worldbody>
<body pos="0 0 1" euler="0.1 0.2 0.3">
  <joint name="a" type="slide" axis="1 1 0" ref="0.2" stiffness="3" springref="0.5" damping="0.1"/>
  <joint name="b" axis="0 1 0" pos="0.1 0 0.2" ref="-0.3" stiffness="4" springref="-1" armature="0.2"/>
  <geom type="box" size="0.1 0.2 0.3" pos="0.1 0 0"/>
  <body pos="0.3 0 0" euler="0 0 1"><joint name="c" type="slide" axis="0 0 1" pos="0 0 0.1" damping="1"/>
    <joint name="d" type="ball" pos="0.05 0.1 0" stiffness="2" damping="0.3" armature="0.1"/>
    <geom type="capsule" size="0.05 0.2" pos="0 0.1 0.1"/>
    <body pos="0 0.4 0"><geom size="0.1"/>
      <body pos="0.2 0 0"><joint name="e" type="ball" springref="0"/><joint name="f" type="slide" axis="1 0 0"/>
        <geom size="0.08" pos="0 0.1 0"/></body></body></body>
</body><body pos="3 0 0"><freejoint/><geom type="ellipsoid" size="0.1 0.2 0.3"/></body></worldbody></mujoco>"""


def test_joints_of_every_kind_on_one_body_move_as_in_mujoco(tmp_path):
    """Slides, hinges and balls in one body, with reference positions and springs at rest elsewhere."""
    p = parsed(tmp_path, JOINTED)
    scene = scene_of(p)
    peer, data = p.model, mujoco.MjData(p.model)
    model = sh.compile(scene)
    peer.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    rng = np.random.default_rng(4)
    massive = [body.name for body in scene.bodies if body.mass > 0]
    for _ in range(5):
        data.qpos[:], data.qvel[:] = rng.normal(size=peer.nq), rng.normal(size=peer.nv)
        mujoco.mj_normalizeQuat(peer, data.qpos)
        mujoco.mj_forward(peer, data)
        q = data.qpos.copy()
        for kind, at in zip(peer.jnt_type, peer.jnt_qposadr, strict=True):
            first = {int(mujoco.mjtJoint.mjJNT_FREE): at + 3, int(mujoco.mjtJoint.mjJNT_BALL): at}.get(int(kind))
            if first is not None:
                q[first : first + 4] = np.roll(q[first : first + 4], -1)
        a = dynamics.aba(model, q, data.qvel, dynamics.passive_forces(model, q, data.qvel))
        np.testing.assert_allclose(a, data.qacc, rtol=1e-9, atol=1e-9)
        x, _ = dynamics.body_poses(model, q)
        np.testing.assert_allclose(x[[model.body(name) for name in massive]], data.xpos[1:], atol=1e-12)
    np.testing.assert_allclose(model.q0[:2], [0.2, -0.3])
