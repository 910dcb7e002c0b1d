"""Two seconds of smooth random torques: robots from files move as in MuJoCo, without contact, limits and friction."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import sharnir as sh
from sharnir.benchmarks.robot_files import Robot, mjcf_files, outcome, urdf_files

Array = NDArray[np.float64]
DURATION, TOLERANCE = 2.0, 1e-5
OFF = mujoco.mjtDisableBit
ALL = {robot.name: robot for robot in (*urdf_files(), *mjcf_files())}
SOME = [
    "gymnasium/envs/mujoco/assets/ant.xml", "gymnasium/envs/mujoco/assets/humanoid.xml",
    "dm_control/suite/walker.xml", "dm_control/mujoco/testing/assets/model_with_ball_joints.xml",
    "example-robot-data/panda_description/urdf/panda.urdf", "example-robot-data/solo_description/robots/solo12.urdf",
    "example-robot-data/ur_description/urdf/ur5_robot.urdf",
]  # fmt: skip


def smooth_only(scene: sh.Scene) -> sh.Scene:
    """Without all that is not smooth, and without drives."""
    scene.shapes, scene.contact_pairs, scene.material_pairs = [], [], []
    scene.couplings, scene.actuators = [], []
    for body in scene.bodies:
        body.shapes = ()
    for joint in scene.joints:
        joint.limits, joint.friction = None, 0.0
    return scene


# links of grams on dampers: explicit methods take minutes, or links without mass whose motion is chaotic in two seconds
STIFF = ("allegro", "icub", "human_description", "g1_29dof_with_hand", "drosophila", "tiago", "talos_full")


class Torques:
    """Sums of sines, about as strong as what gives 2 rad/s² or m/s² to a joint alone."""

    def __init__(self, strength: Array) -> None:
        rng = np.random.default_rng(11)
        self.strength = 2.0 * strength[:, None]
        self.rate, self.phase = rng.uniform(1.0, 6.0, (len(strength), 3)), rng.uniform(0, 6.0, (len(strength), 3))

    def __call__(self, t: float) -> Array:
        return (self.strength * np.sin(self.rate * t + self.phase)).sum(axis=1)


def run_mujoco(peer: mujoco.MjModel, torques: Torques, dt: float) -> mujoco.MjData:
    peer.opt.integrator, peer.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, dt
    peer.opt.disableflags |= int(OFF.mjDSBL_CONSTRAINT) | int(OFF.mjDSBL_ACTUATION)

    def push(_: mujoco.MjModel, data: mujoco.MjData) -> None:
        data.qfrc_passive += torques(data.time)

    data = mujoco.MjData(peer)
    mujoco.set_mjcb_passive(push)
    try:
        mujoco.mj_step(peer, data, round(DURATION / dt))
    finally:
        mujoco.set_mjcb_passive(None)
    return data


def check_motion(robot: Robot, dt: float) -> None:
    """Ours against MuJoCo at step dt: within 1e-5, or within what MuJoCo's own step leaves, which falls as dt⁴."""
    found = outcome(robot)
    assert found.loaded, found.reason
    peer, model = found.parsed.model, sh.compile(smooth_only(found.scene))
    data, M = mujoco.MjData(peer), np.zeros((peer.nv, peer.nv))
    mujoco.mj_forward(peer, data)
    mujoco.mj_fullM(peer, data, M)
    torques = Torques(1.0 / np.diag(np.linalg.inv(M)))
    run = sh.simulate(model, DURATION, times=[DURATION], rtol=1e-11, control=lambda t, q, v: torques(t))
    position, _ = sh.dynamics.body_poses(model, run.q[-1])
    theirs = run_mujoco(peer, torques, dt)
    size = max(1.0, np.abs(theirs.xpos).max())
    error = np.abs(position - theirs.xpos[1:]).max() / size
    assert np.abs(run.v[-1]).max() > 0.01
    if error > TOLERANCE:
        coarse = np.abs(run_mujoco(peer, torques, 2 * dt).xpos - theirs.xpos).max() / size
        assert error < 0.2 * coarse


@pytest.mark.parametrize("name", SOME)
def test_a_robot_moves_as_in_mujoco(name):
    check_motion(ALL[name], 2e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ALL if not any(word in name for word in STIFF)])
def test_every_robot_moves_as_in_mujoco(name):
    found = outcome(ALL[name])
    if not found.loaded or found.parsed.model.nv == 0:
        pytest.skip(found.reason or "nothing moves")
    check_motion(ALL[name], 1e-4)
