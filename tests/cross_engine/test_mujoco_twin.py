"""The twin in MuJoCo is the same mechanism: inertia, accelerations, loops, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from random_trees import random_scene
from refusal import refused

import sharnir
from sharnir import dynamics, scenes

mujoco = pytest.importorskip("mujoco")

from sharnir.io import mujoco_model as mt  # noqa: E402

TOLERANCE = 1e-8  # MuJoCo's least inertia, 1e-14, and rounding at condition numbers of some 1e6
TREES = [
    ("pendulum", {}),
    ("double_pendulum", {}),
    ("rods", {}),
    ("spherical_pendulum", {}),
    ("free_box", {}),
    ("five_link_chain", {"friction": 0.0}),
    ("five_link_chain", {}),
    ("gripper", {}),
    ("grasp", {}),
    ("grasp_arm", {}),
    ("humanoid", {}),
    ("box_on_slope", {}),
]
LOOPS = ["n_four_bar", "andrews", "four_bar", "slider_crank", "peaucellier", "double_wishbone"]


def random_state(model):
    rng = np.random.default_rng(3)
    q, v, tau = (rng.normal(size=n) for n in (model.nq, model.nv, model.nv))
    for k in model.quaternions:
        q[k : k + 4] /= np.linalg.norm(q[k : k + 4])
    return q, v, tau


def relative(ours, theirs):
    return np.linalg.norm(ours - theirs) / np.linalg.norm(theirs)


def accelerations(model, peer, q, v, tau):
    """Ours, and MuJoCo's without constraints and motors, both with all springs and dampers."""
    data = mt.start(model, peer, q, v)
    order = mt.velocity_order(model)
    data.ctrl[:] = 0.0
    peer.actuator_biasprm[:] = 0.0
    data.qfrc_applied[:] = tau[order]
    mujoco.mj_forward(peer, data)
    forces = tau + dynamics.passive_forces(model, q, v) - model.effort
    ours = dynamics.aba(model, q, v, forces, springs=True)
    return ours[order], data


def check_inertia_and_accelerations(model):
    peer = mt.twin(model, 1e-3)
    q, v, tau = random_state(model)
    ours, data = accelerations(model, peer, q, v, tau)
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(peer, data, M)
    order = mt.velocity_order(model)
    assert relative(dynamics.crba(model, q)[np.ix_(order, order)], M) < TOLERANCE
    assert relative(ours, data.qacc_smooth) < TOLERANCE


@pytest.mark.parametrize(("name", "parameters"), TREES)
def test_inertia_and_accelerations_of_trees_agree(name, parameters):
    check_inertia_and_accelerations(sharnir.compile(scenes.make(name, **parameters)))


@pytest.mark.parametrize("seed", range(5))
def test_random_trees_agree(seed):
    rng = np.random.default_rng(seed)
    plain = (sharnir.Fixed, sharnir.Revolute, sharnir.Prismatic, sharnir.Cylindrical, sharnir.Universal, sharnir.Planar)
    check_inertia_and_accelerations(sharnir.compile(random_scene(rng, 12, plain, reverse=0.5)))
    balls = (*plain, sharnir.Spherical, sharnir.Free)
    check_inertia_and_accelerations(sharnir.compile(random_scene(rng, 12, balls)))


@pytest.mark.parametrize("name", LOOPS)
def test_loops_hold_together_in_the_initial_state(name):
    model = sharnir.compile(scenes.make(name))
    peer = mt.twin(model, 1e-4)
    data = mt.start(model, peer)
    assert np.abs(data.efc_pos[: data.ne]).max() < 1e-9  # rows of loops come first
    assert np.abs(data.efc_vel[: data.ne]).max() < 1e-9
    q, v, tau = random_state(model)
    ours, data = accelerations(model, peer, q, v, tau)
    assert relative(ours, data.qacc_smooth) < TOLERANCE


@pytest.mark.parametrize("points", [1, 2])
def test_a_four_bar_moves_as_ours(points):
    scene = scenes.make("four_bar")
    model = sharnir.compile(scene)
    peer = mt.twin(model, 1e-4, hinge_points=points)
    peer.eq_solref[:] = [2e-4, 1.0]
    data = mt.start(model, peer)
    mujoco.mj_step(peer, data, 5000)
    run = sharnir.simulate(scene, 0.5, times=[0.5])
    assert np.abs(mt.from_qpos(model, data.qpos) - run.q[-1]).max() < 1e-3  # first order in the step


def test_limits_friction_motors_and_couplings_arrive():
    scene = scenes.make("gripper", target=-1.0)
    model = sharnir.compile(scene)
    peer = mt.twin(model, 1e-3)
    assert peer.jnt_range[1] == pytest.approx(scene.joints[1].limits)
    assert peer.dof_frictionloss[1] == scene.joints[1].friction
    peer.jnt_solref[:] = [2e-3, 1.0]  # limits stiff enough for the motor
    data = mt.start(model, peer)
    mujoco.mj_step(peer, data, 2000)
    q = mt.from_qpos(model, data.qpos)
    hinges = [q[model.joint(f"hinge{k}").q][0] for k in (1, 2)]
    assert hinges[0] == pytest.approx(-0.2, abs=0.02)  # at its limit, which gives a little
    assert hinges[1] == pytest.approx(-hinges[0], abs=5e-3)


def test_a_driven_crank_keeps_its_speed():
    model = sharnir.compile(scenes.make("slider_crank"))
    peer = mt.twin(model, 1e-3)
    data = mt.start(model, peer)
    mujoco.mj_step(peer, data, 500)
    speed = data.qvel[list(mt.velocity_order(model)).index(model.joint("joint1").v.start)]
    assert speed == pytest.approx(5.0, rel=0.02)


@pytest.mark.parametrize(("angle", "slides"), [(20.0, False), (35.0, True)])
def test_a_box_slides_where_friction_is_too_small(angle, slides):
    model = sharnir.compile(scenes.make("box_on_slope", angle_deg=angle))
    peer = mt.twin(model, 1e-3)
    peer.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    data = mt.start(model, peer)
    mujoco.mj_step(peer, data, 500)
    way = np.linalg.norm(data.qpos[:3] - model.q0[:3])
    a, mu = np.radians(angle), 0.5
    expected = 0.5 * 9.81 * (np.sin(a) - mu * np.cos(a)) * 0.5**2 if slides else 0.0
    assert way == pytest.approx(expected, abs=5e-3)


def test_the_humanoid_stands():
    model = sharnir.compile(scenes.make("humanoid"))
    peer = mt.twin(model, 2e-3)
    data = mt.start(model, peer)
    head = model.q0[2]
    for _ in range(10):
        mujoco.mj_step(peer, data, 250)
        assert data.qpos[2] > head - 0.05
    assert np.linalg.norm(data.qpos[:2] - model.q0[:2]) < 0.05
    assert np.abs(data.qvel).max() < 0.1
    assert data.ncon == 8  # four points of each foot


def test_positions_map_both_ways():
    model = sharnir.compile(scenes.make("humanoid"))
    q, *_ = random_state(model)
    qpos = mt.to_qpos(model, q)
    assert qpos[3] == q[6]  # MuJoCo's scalar comes first
    assert np.array_equal(mt.from_qpos(model, qpos), q)


def test_step_times_are_times():
    model = sharnir.compile(scenes.make("five_link_chain"))
    peer = mt.twin(model, 1e-3)
    times = mt.step_times(peer, mt.start(model, peer), 100, rounds=3)
    assert times.shape == (3,)
    assert (times > 1e-8).all() and (times < 1e-2).all()


def test_what_mujoco_lacks_is_refused():
    with refused("MuJoCo twin of 'trailer'", "limits of the rotation of 'hitch'"):
        mt.twin(scenes.make("trailer"), 1e-3)
    scene = scenes.make("four_bar")
    scene.joints = [replace(j, friction=0.1) for j in scene.joints]
    with refused("MuJoCo twin of 'four_bar'", "friction in joints that close loops"):
        mt.twin(scene, 1e-3)
    scene = scenes.make("humanoid")
    scene.add(sharnir.ContactPair(first="torso", second="world", touch=False))
    with refused("MuJoCo twin of 'humanoid'", "contact pairs"):
        mt.twin(scene, 1e-3)
