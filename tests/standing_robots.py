"""Robots of others that tests let stand: files, postures, servos, and the same in MuJoCo."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

import sharnir as sh
from sharnir.benchmarks.robot_files import mjcf_files, urdf_files

PATHS = {robot.name: robot for robot in (*urdf_files(), *mjcf_files())}


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
