"""Robots of others stand under position control as they do in MuJoCo; a passive humanoid falls and comes to rest.

MuJoCo's contacts are springs: robots sink into the ground, and feet creep until no friction holds them. There are two
peers: MuJoCo as it comes, and with contacts as firm as its step allows, which hold what ours hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import sharnir as sh
from sharnir.benchmarks.robot_files import mjcf_files, urdf_files

Array = NDArray[np.float64]
PATHS = {robot.name: robot for robot in (*urdf_files(), *mjcf_files())}
SECONDS, REST = 10.0, 1e-3  # s; rad/s, of joints that are at rest


@dataclass
class Robot:
    """A robot, how it stands, and the gains of its joints: N m/rad and N m s/rad by a part of their names."""

    file: str
    pose: dict[str, float]  # rad, by a part of the joint's name
    gains: dict[str, tuple[float, float]]  # the first that fits
    feet: set[str]
    dt: float


SOLO = Robot(
    file="example-robot-data/solo_description/robots/solo12.urdf", pose={"_HFE": 0.8, "_KFE": -1.6},
    gains={"": (30.0, 0.3)}, feet={f"{leg}_FOOT" for leg in ("FL", "FR", "HL", "HR")}, dt=0.001,
)  # fmt: skip
ANYMAL = Robot(
    file="example-robot-data/anymal_b_simple_description/robots/anymal.urdf",
    pose={"LF_HFE": 0.4, "RF_HFE": 0.4, "LH_HFE": -0.4, "RH_HFE": -0.4, "LF_KFE": -0.8, "RF_KFE": -0.8, "LH_KFE": 0.8,
          "RH_KFE": 0.8},
    gains={"": (300.0, 3.0)}, feet={f"{leg}_FOOT" for leg in ("LF", "RF", "LH", "RH")}, dt=0.002,
)  # fmt: skip
LEG = {"3": -0.411354, "4": 0.859395, "5": -0.448041, "6": -0.001708}
ARM = {"left_1": 0.25847, "right_1": -0.25847, "left_2": 0.173046, "right_2": -0.173046, "4": -0.525366, "7": 0.1}
TALOS = Robot(
    file="example-robot-data/talos_data/robots/talos_reduced.urdf",
    pose={f"leg_{side}_{k}": angle for side in ("left", "right") for k, angle in LEG.items()}
    | {f"arm_{k}" if "_" in k else f"arm_{side}_{k}": a for side in ("left", "right") for k, a in ARM.items()},
    gains={"leg": (3000.0, 200.0), "torso": (3000.0, 100.0), "": (300.0, 5.0)},
    feet={"leg_left_6_link", "leg_right_6_link"}, dt=0.002,
)  # fmt: skip


class Stand(NamedTuple):
    """What is seen of a robot in its last second."""

    height: Array  # [samples] m, of the base
    speed: float  # rad/s, rms over joints, the largest of the samples
    touching: set[frozenset[str]]  # bodies that press on each other at the end


def posed(robot: Robot) -> sh.Scene:
    """The robot with its lowest point on the ground, every joint with a servo that seeks the pose."""
    found = PATHS[robot.file]
    scene = sh.load(found.path, found.roots, floating=True)
    scene.timestep = robot.dt
    scene.add(sh.HalfSpace(material=sh.Material(friction=1.0, combine="largest")))
    for joint in [j for j in scene.joints if j.nv == 1]:
        angle = next((a for name, a in robot.pose.items() if name in joint.name), 0.0)
        stiffness, joint.damping = next(g for name, g in robot.gains.items() if name in joint.name)
        joint.position = angle if joint.limits is None else float(np.clip(angle, *np.ravel(joint.limits)))
        law = {"gain": (stiffness, 0.0, 0.0), "bias": (0.0, -stiffness, 0.0)}
        scene.add(sh.Actuator(name=joint.name, joints=[joint.name], input=joint.position, **law))
    [root] = [j for j in scene.joints if isinstance(j, sh.Free)]
    root.position = (0.0, 0.0, 1.5, 0.0, 0.0, 0.0, 1.0)
    root.position = (0.0, 0.0, 1.5 - lowest(scene), 0.0, 0.0, 0.0, 1.0)
    return scene


def peer_of(scene: sh.Scene) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """The same robot, pose, servos and filters of contact in MuJoCo."""
    peer = mujoco.MjModel.from_xml_string(scene.to_mjcf())
    peer.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    data = mujoco.MjData(peer)
    mujoco.mj_resetDataKeyframe(peer, data, 0)
    mujoco.mj_forward(peer, data)
    return peer, data


def lowest(scene: sh.Scene) -> float:
    """m, from the ground to the robot."""
    peer, data = peer_of(scene)
    ground = peer.geom_type.tolist().index(int(mujoco.mjtGeom.mjGEOM_PLANE))
    others = [g for g in range(peer.ngeom) if g != ground]
    return min(mujoco.mj_geomDistance(peer, data, ground, g, 10.0, None) for g in others)


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
