"""Equalities and tendons of MJCF files become loops, couplings and springs that move as in MuJoCo."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from mujoco_parts import parsed

import sharnir as sh
from sharnir import dynamics
from sharnir.impulse.layout.bilateral import free_body_K, least_mobility
from sharnir.io import Options, scene_of
from sharnir.io.mujoco_model import from_qpos, to_qpos

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


ENDS = {
    "as the bodies start": '<weld body1="a" body2="b"/>',
    "anchor": '<weld body1="a" body2="b" anchor=".1 .2 .3"/>',
    "relpose": '<weld body1="a" body2="b" relpose=".4 .1 0 .9 .3 -.2 .1"/>',
    "relpose and anchor": '<weld body1="a" body2="b" relpose=".4 .1 0 .9 .3 -.2 .1" anchor=".1 .2 .3"/>',
    "relpose without quaternion": '<weld body1="a" body2="b" relpose=".4 .1 0 0 0 0 0" anchor=".1 .2 .3"/>',
    "the world": '<weld body1="a" anchor=".1 .2 .3"/>',
    "the world, relpose": '<weld body1="a" relpose=".4 .1 0 .9 .3 -.2 .1" anchor=".1 .2 .3"/>',
    "sites": '<weld site1="s" site2="t"/>',
    "points of bodies": '<weld body1="a" body2="b" relpose=".4 .1 0 1 0 0 0" anchor=".1 .2 .3" torquescale="0"/>',
    "points of sites": '<weld site1="s" site2="t" torquescale="0"/>',
    "connect": '<connect body1="a" body2="b" anchor=".1 .2 .3"/>',
    "connect to the world": '<connect body1="a" anchor=".1 .2 .3"/>',
    "connect sites": '<connect site1="s" site2="t"/>',
}  # fmt: skip


@pytest.mark.parametrize("equality", ENDS.values(), ids=ENDS)
def test_gaps_of_loops_are_those_of_mujoco(tmp_path, equality):
    """Where the frames of our joint are apart, by points and by turn, MuJoCo's equality is off by as much; and it is
    the file's start where both are closed, that is taken."""
    p = parsed(tmp_path, f"""<mujoco><worldbody>
      <body name="a" pos="0 0 1" euler="10 20 30"><freejoint/><geom size="0.01"/>
        <site name="s" pos=".1 .2 .3" euler="0 30 0"/></body>
      <body name="b" pos="0.5 0 1" euler="0 0 30"><freejoint/><geom size="0.01"/>
        <site name="t" pos="-.1 .1 0" euler="40 0 0"/></body></worldbody>
      <equality>{equality}</equality></mujoco>""")  # fmt: skip
    model, data = sh.compile(scene_of(p)), mujoco.MjData(p.model)
    points = "connect" in equality or "torquescale" in equality
    assert model.loops == 1 and model.joint_types[-1] == ("spherical" if points else "fixed")
    rng = np.random.default_rng(3)
    for qpos in (to_qpos(model, model.q0), *rng.normal(size=(3, p.model.nq))):
        data.qpos[:] = qpos
        mujoco.mj_normalizeQuat(p.model, data.qpos)
        mujoco.mj_forward(p.model, data)
        assert data.ncon == 0
        x, R = dynamics.body_poses(model, from_qpos(model, data.qpos))
        x, R = np.concatenate([x, np.zeros((1, 3))]), np.concatenate([R, np.eye(3)[None]])  # the world is the last
        (a, b), at, turned = model.loop_link[0], model.loop_pos[0], model.loop_rot[0]
        gap = x[a] + R[a] @ at[0] - x[b] - R[b] @ at[1]
        np.testing.assert_allclose(gap, data.efc_pos[:3], atol=1e-9)
        cosine = (np.trace((R[a] @ turned[0]).T @ R[b] @ turned[1]) - 1) / 2
        if not points:  # MuJoCo's error of a turn by an angle is the sine of its half
            assert np.sum(data.efc_pos[3:6] ** 2) == pytest.approx((1 - cosine) / 2, abs=1e-9)
    data.qpos[:] = to_qpos(model, model.q0)
    mujoco.mj_forward(p.model, data)
    np.testing.assert_allclose(data.efc_pos, 0, atol=1e-8)


@pytest.mark.parametrize("given", ["", 'anchor=".1 .2 .3"', 'relpose=".4 .1 0 .9 .3 -.2 .1" anchor=".1 .2 .3"'])
def test_welded_bodies_end_where_mujoco_welds_them(tmp_path, given):
    p = parsed(tmp_path, f"""<mujoco><option gravity="0 0 0" timestep="0.0005"/><worldbody>
      <body name="a" pos="0 0 1"><freejoint/><geom size="0.1"/></body>
      <body name="b" pos="0.5 0 1" euler="0 0 30"><freejoint/><geom size="0.1"/></body></worldbody>
      <equality><weld body1="a" body2="b" {given} solref="0.005 1"/></equality></mujoco>""")  # fmt: skip
    sim, data = sh.Simulation(sh.compile(scene_of(p)), dt=0.002), mujoco.MjData(p.model)
    sim.body("a").applied = (0, 0, 0.01, 0.01, 0.02, 0.03)
    data.body("a").xfrc_applied = (0.01, 0.02, 0.03, 0, 0, 0.01)
    sim.run(0.5)
    mujoco.mj_step(p.model, data, 1000)
    (xa, Ra), (xb, Rb) = ((data.body(k).xpos, data.body(k).xmat.reshape(3, 3)) for k in "ab")
    a, b = sim.body("a"), sim.body("b")  # MuJoCo's weld is soft
    np.testing.assert_allclose(a.rotation.T @ (b.position - a.position), Ra.T @ (xb - xa), atol=5e-3)
    np.testing.assert_allclose(a.rotation.T @ b.rotation, Ra.T @ Rb, atol=5e-3)


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


MARKED = """<mujoco><worldbody>
  <body name="upper" pos="0 0 1"><joint name="s" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 1 0 0" size="0.05"/>
    <body name="lower" pos="1 0 0" euler="0 60 0"><joint name="e" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 1 0 0" size="0.05" mass="4"/>
      <body name="mark" pos="1 0 0" euler="0 0 20">
        <inertial pos="0 0 0" mass="1e-8" diaginertia="1e-8 1e-8 1e-8"/></body></body></body></worldbody>
  <option><flag contact="disable"/></option><equality><connect body1="mark" anchor="0 0 0"/></equality></mujoco>"""


def test_a_loop_holds_by_a_mark_without_weight_worth_naming(tmp_path):
    """A body of 1e-8 kg that the tree fixes to an arm counts as part of the arm: its loop is not taken for immobile."""
    p = parsed(tmp_path, MARKED)
    model, merged = (sh.compile(scene_of(p, Options(merge_fixed=merge))) for merge in (False, True))
    assert model.joint_names[-1] == "equality0" and model.nv == 2  # the file's joints make the tree
    for row in range(3):
        K = [free_body_K(m, 0, row, least_mobility(m)) for m in (model, merged)]
        assert K[0] == pytest.approx(K[1], rel=1e-6)
    sim = sh.Simulation(model, dt=0.002)
    before = sim.body("mark").position.copy()
    sim.run(0.3)
    np.testing.assert_allclose(sim.body("mark").position, before, atol=1e-6)
