"""Robots of others stand under position control as they do in MuJoCo; a passive humanoid falls and comes to rest.

MuJoCo's contacts are springs: robots sink into the ground, and feet creep until no friction holds them. There are two
peers: MuJoCo as it comes, and with contacts as firm as its step allows, which hold what ours hold.
"""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray
from standing_robots import ANYMAL, PATHS, SOLO, TALOS, Robot, peer_of, posed

import sharnir as sh

Array = NDArray[np.float64]
SECONDS, REST = 10.0, 1e-3  # s; rad/s, of joints that are at rest


class Stand(NamedTuple):
    """What is seen of a robot in its last second."""

    height: Array  # [samples] m, of the base
    speed: float  # rad/s, rms over joints, the largest of the samples
    touching: set[frozenset[str]]  # bodies that press on each other at the end


def firm(peer: mujoco.MjModel) -> None:
    """Contacts as stiff as the step allows, friction that does not creep."""
    peer.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_OVERRIDE)
    peer.opt.o_solref[:], peer.opt.o_solimp[:] = (2 * peer.opt.timestep, 1.0), (0.95, 0.99, 0.001, 0.5, 2.0)
    peer.opt.o_friction[:] = (1.0, 1.0, 0.005, 0.0001, 0.0001)
    peer.opt.cone, peer.opt.impratio, peer.opt.noslip_iterations = mujoco.mjtCone.mjCONE_ELLIPTIC, 100.0, 10


def theirs(scene: sh.Scene, *, is_firm: bool) -> Stand:
    peer, data = peer_of(scene)
    if is_firm:
        firm(peer)
    steps, last = round(SECONDS / peer.opt.timestep), round(1.0 / peer.opt.timestep)
    heights, speeds = [], []
    for k in range(steps):
        mujoco.mj_step(peer, data)
        if k >= steps - last:
            heights.append(float(data.qpos[2]))
            speeds.append(rms(data.qvel[6:]))
    force, touching = np.zeros(6), set()
    for k, contact in enumerate(data.contact):
        mujoco.mj_contactForce(peer, data, k, force)
        if force[0] > 0:
            touching.add(frozenset(peer.body(peer.geom_bodyid[g]).name for g in contact.geom))
    return Stand(np.array(heights), max(speeds), touching)


def ours(scene: sh.Scene) -> Stand:
    sim = sh.Simulation(scene, dt=scene.timestep)
    sim.run(SECONDS - 1.0)
    heights, speeds = [], []
    for _ in range(100):
        sim.step(round(0.01 / sim.dt))
        heights.append(float(sim.q[2]))
        speeds.append(rms(sim.v[6:]))
    touching = {frozenset(c.bodies) for c in sim.contacts() if np.linalg.norm(c.force) > 0}
    return Stand(np.array(heights), max(speeds), touching)


def rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


@pytest.mark.parametrize("robot", [SOLO, TALOS], ids=["solo12", "talos"])
def test_stands_as_in_mujoco(robot: Robot) -> None:
    scene = posed(robot)
    here, there, held = ours(scene), theirs(scene, is_firm=False), theirs(scene, is_firm=True)
    assert here.touching == there.touching == {frozenset((foot, "world")) for foot in robot.feet}
    assert here.speed < REST
    assert np.ptp(here.height) < 1e-5
    assert np.abs(here.height.mean() - there.height.mean()) < 2e-3
    assert np.abs(here.height.mean() - held.height.mean()) < 2e-4


def test_anymal_stands_as_in_mujoco_where_feet_do_not_creep() -> None:
    scene = posed(ANYMAL)
    here, held = ours(scene), theirs(scene, is_firm=True)
    assert here.touching == held.touching == {frozenset((foot, "world")) for foot in ANYMAL.feet}
    assert here.speed < REST
    assert np.abs(here.height.mean() - held.height.mean()) < 4e-4  # MuJoCo's feet sink in by as much


@pytest.mark.parametrize(
    ("file", "seconds"),
    [
        ("gymnasium/envs/mujoco/assets/humanoid.xml", 15.0),
        ("dm_control/suite/humanoid.xml", 60.0),  # lies balanced until 25 s
    ],
)
def test_a_passive_humanoid_falls_and_comes_to_rest(file: str, seconds: float) -> None:
    found = PATHS[file]
    scene = sh.load(found.path, found.roots)
    sim = sh.Simulation(scene, dt=scene.timestep)
    start = float(sim.q[2])
    sim.run(seconds)
    assert sim.q[2] < 0.2 * start
    before = sim.q.copy()
    sim.run(15.0)
    assert np.abs(sim.v).max() < 1e-9
    assert np.abs(sim.q - before).max() < 1e-9
    assert min(contact.gap for contact in sim.contacts()) > -2e-6  # twice what the solver leaves
