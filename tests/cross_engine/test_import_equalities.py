"""Equalities and tendons of MJCF files become loops, couplings and springs that move as in MuJoCo."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from mujoco_parts import parsed

import sharnir as sh
from sharnir import dynamics
from sharnir.io import Options, scene_of

LOOP = """<mujoco><worldbody>
  <body name="left" pos="0 0 0"><joint name="l" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 1" size="0.05"/>
    <body name="top" pos="0 0 1"><joint name="t" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 1 0 0" size="0.05"/>
  </body></body>
  <body name="right" pos="1 0 0"><joint name="r" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 1" size="0.05"/>
  </body>
</worldbody><option><flag contact="disable"/></option>
<equality><connect body1="top" body2="right" anchor="1 0 0"/></equality></mujoco>"""


def test_a_connected_point_closes_a_loop(tmp_path):
    p = parsed(tmp_path, LOOP)
    model = sh.compile(scene_of(p))
    assert model.loops == 1 and model.joint_types[-1] == "spherical"
    sim = sh.Simulation(model, dt=0.001)
    sim.joint("l").control = 20.0
    peer, data = p.model, mujoco.MjData(p.model)
    peer.opt.timestep, data.qfrc_applied[0] = 1e-4, 20.0
    peer.eq_solref[:] = (2e-4, 1.0)
    sim.run(0.3)
    mujoco.mj_step(peer, data, 3000)
    np.testing.assert_allclose(sim.q, data.qpos, atol=2e-3)


def test_a_weld_holds_two_bodies_as_it_says(tmp_path):
    p = parsed(tmp_path, """<mujoco><worldbody><body name="a" pos="0 0 1"><freejoint/><geom size="0.1"/></body>
      <body name="b" pos="0.5 0 1" euler="0 0 30"><freejoint/><geom size="0.1"/></body></worldbody>
      <equality><weld body1="a" body2="b"/></equality></mujoco>""")  # fmt: skip
    model = sh.compile(scene_of(p))
    assert model.joint_types[-1] == "fixed"
    sim = sh.Simulation(model, dt=0.002)
    sim.body("a").applied = (0, 0, 5, 1, 2, 3)
    sim.run(0.5)
    R, x = sim.body("a").rotation, sim.body("b").position - sim.body("a").position
    np.testing.assert_allclose(R.T @ x, (0.5, 0, 0), atol=1e-6)


def test_equalities_of_joints_and_tendons_are_couplings(tmp_path):
    p = parsed(tmp_path, """<mujoco><compiler angle="radian"/><worldbody>
      <body name="x"><joint name="a" ref="0.1"/><geom size="0.1"/></body>
      <body name="y"><joint name="b" ref="0.2"/><geom size="0.1"/></body>
      <body name="z"><joint name="c"/><joint name="d" type="slide"/><geom size="0.1"/></body>
      <body name="w"><joint name="e" axis="1 0 0"/><geom size="0.1"/></body></worldbody>
      <tendon><fixed name="t"><joint joint="c" coef="2"/><joint joint="d" coef="-4"/></fixed></tendon>
      <equality><joint name="gear" joint1="a" joint2="b" polycoef="0.5 -2 0 0 0"/><tendon name="rack" tendon1="t"/>
      <joint name="lock" joint1="e" polycoef="0.3 0 0 0 0"/></equality></mujoco>""")  # fmt: skip
    scene = scene_of(p)
    assert scene.import_report.lost == []
    gear, rack = scene.couplings
    assert (gear.leader, gear.follower, gear.ratio) == ("b", "a", -2.0)
    assert gear.offset == pytest.approx(0.1 + 0.5 + 2 * 0.2)  # q_a = 0.1 + 0.5 - 2 (q_b - 0.2)
    assert (rack.leader_coordinate, rack.follower_coordinate, rack.ratio, rack.offset) == (1, 0, 2.0, 0.0)
    assert next(j for j in scene.joints if j.name == "e").limits == ((0.3, 0.3),)


def test_a_straight_tendon_is_a_spring(tmp_path):
    p = parsed(tmp_path, """<mujoco><worldbody><site name="s" pos="0 0 2"/><body pos="0.1 0.2 1"><freejoint/>
      <geom size="0.1"/><site name="e" pos="0.05 0 0.1"/></body></worldbody><tendon><spatial stiffness="30" damping="2"
      springlength="0.4"><site site="s"/><site site="e"/></spatial></tendon></mujoco>""")  # fmt: skip
    model, data = sh.compile(scene_of(p)), mujoco.MjData(p.model)
    data.qvel[:] = np.arange(6) * 0.3
    mujoco.mj_forward(p.model, data)
    a = dynamics.aba(model, model.q0, data.qvel, np.zeros(6), springs=True)
    np.testing.assert_allclose(a, data.qacc, rtol=1e-10)


@pytest.mark.parametrize("merged", [True, False])
def test_a_tendon_may_end_on_turned_bodies_without_joints(tmp_path, merged):
    """Sites on bodies that are fixed to others, or become part of them: turned and moved twice on one side, once on
    the world's."""
    p = parsed(tmp_path, """<mujoco><worldbody>
      <body pos="0.3 -0.2 2" euler="20 50 -30"><geom size="0.1"/><site name="s" pos="0.3 0.1 -0.2"/></body>
      <body pos="0.1 0.2 1" euler="10 -20 30"><freejoint/><geom size="0.1"/>
        <body pos="0.2 0.1 0" euler="40 0 70"><geom size="0.05"/>
          <body pos="0 -0.1 0.3" euler="0 80 25"><geom size="0.05"/><site name="e" pos="0.15 0.05 0.2"/></body></body>
      </body></worldbody><tendon><spatial stiffness="30" damping="2" springlength="0.4"><site site="s"/>
      <site site="e"/></spatial></tendon></mujoco>""")  # fmt: skip
    scene, data = scene_of(p, Options(merge_fixed=merged)), mujoco.MjData(p.model)
    model, (spring,) = sh.compile(scene), scene.springs
    assert len(scene.bodies) == (1 if merged else 4)
    places = {name: k for k, name in enumerate(model.body_names)}
    rng = np.random.default_rng(5)
    for _ in range(3):
        data.qpos[:], data.qvel[:] = rng.normal(size=7), rng.normal(size=6)
        mujoco.mj_normalizeQuat(p.model, data.qpos)
        mujoco.mj_forward(p.model, data)
        q = np.concatenate([data.qpos[:3], np.roll(data.qpos[3:], -1)])
        x, R = dynamics.body_poses(model, q)
        x, R = np.concatenate([x, np.zeros((1, 3))]), np.concatenate([R, np.eye(3)[None]])  # the world is the last
        for body, anchor, site in (
            (spring.parent, spring.parent_anchor, "s"),
            (spring.child, spring.child_anchor, "e"),
        ):
            k = places.get(body, -1)
            np.testing.assert_allclose(x[k] + R[k] @ anchor, data.site(site).xpos, atol=1e-12)
        a = dynamics.aba(model, q, data.qvel, np.zeros(6), springs=True)
        np.testing.assert_allclose(a, data.qacc, rtol=1e-9, atol=1e-9)
