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
    found = outcome(robot)
    assert found.loaded, found.reason
    peer, model = found.parsed.model, sh.compile(smooth_only(found.scene))
    M = np.zeros((peer.nv, peer.nv))
    data = mujoco.MjData(peer)
    mujoco.mj_forward(peer, data)
    mujoco.mj_fullM(peer, data, M)
    torques = Torques(1.0 / np.diag(np.linalg.inv(M)))
    theirs = run_mujoco(peer, torques, dt)
    run = sh.simulate(model, DURATION, times=[DURATION], rtol=1e-11, control=lambda t, q, v: torques(t))
    position, _ = sh.dynamics.body_poses(model, run.q[-1])
    moved, size = np.abs(run.q[-1] - model.q0).max(), max(1.0, np.abs(theirs.xpos).max())
    assert moved > 0.05
    assert np.abs(position - theirs.xpos[1:]).max() < TOLERANCE * size
    assert np.abs(run.v[-1] - theirs.qvel).max() < TOLERANCE * max(1.0, np.abs(theirs.qvel).max())


@pytest.mark.parametrize("name", SOME)
def test_a_robot_moves_as_in_mujoco(name):
    check_motion(ALL[name], 2e-4)
