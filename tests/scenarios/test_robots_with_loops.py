"""Closed loops of MJCF files, driven: they hold, limits on their joints too, and they move as in MuJoCo."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

import sharnir as sh
from sharnir.benchmarks.cassie import FOLLOWING, MOTORS, SIDES, cassie, posture

Array = NDArray[np.float64]
HELD = 1e-5  # m, that loops may open
SLACK = 1e-6  # rad, by which limits may be passed
DT = 0.001  # s


def load(tmp_path, text: str) -> tuple[sh.Scene, mujoco.MjModel]:
    """A scene from MJCF text, and MuJoCo's model with equalities and limits as firm as its step allows."""
    file = tmp_path / "robot.xml"
    file.write_text(text)
    peer = mujoco.MjModel.from_xml_string(text)
    peer.opt.timestep = DT / 4
    peer.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    peer.eq_solref[:], peer.jnt_solref[:] = (2 * peer.opt.timestep, 1.0), (2 * peer.opt.timestep, 1.0)
    peer.eq_solimp[:, :2] = peer.jnt_solimp[:, :2] = (0.99, 0.999)
    return sh.load(file), peer


def opening(sim: sh.Simulation, peer: mujoco.MjModel) -> float:
    """m, the largest distance between the two ends of a connection, by the poses of its bodies."""
    out = 0.0
    for e in np.flatnonzero(peer.eq_type == int(mujoco.mjtEq.mjEQ_CONNECT)):
        ends = []
        for body, anchor in ((peer.eq_obj1id[e], peer.eq_data[e, :3]), (peer.eq_obj2id[e], peer.eq_data[e, 3:6])):
            view = sim.body(peer.body(body).name)
            ends.append(view.position + view.rotation @ anchor)
        out = max(out, float(np.linalg.norm(ends[0] - ends[1])))
    return out


def beyond(sim: sh.Simulation, peer: mujoco.MjModel) -> float:
    """rad, the most by which a joint is outside its range."""
    names = [peer.joint(j).name for j in np.flatnonzero(peer.jnt_limited)]
    angles = np.array([sim.joint(name).position[0] for name in names])
    lower, upper = peer.jnt_range[peer.jnt_limited.astype(bool)].T
    return float(np.maximum(lower - angles, angles - upper).max())


def started(scene: sh.Scene, peer: mujoco.MjModel, q: Array) -> sh.Simulation:
    for joint in scene.joints:
        if joint.nv == 1:
            joint.position = float(q[peer.joint(joint.name).qposadr[0]])
    return sh.Simulation(scene, dt=DT)


# --- Cassie ----------------------------------------------------------------------------------------------------------


def cassie_target(name: str, t: float) -> float:
    """rad, of a servo: all of them sway; cranks, which turn the feet, go past the ends of their range."""
    sway = np.sin(2 * np.pi * t)
    if name.endswith("crank-joint"):
        return -1.5 + 1.3 * float(sway)
    return {"knee-op": -0.4, "pitch-op": 0.3}.get(name.split("-", 1)[1], 0.15) * float(sway)


def test_cassies_loops_hold_while_its_legs_are_driven(tmp_path) -> None:
    scene, peer = load(tmp_path, cassie())
    assert peer.neq == 4 and not scene.import_report.lost
    feet = [f"{side}-{name}" for side in SIDES for name in FOLLOWING]
    q = posture(peer)
    sim, data = started(scene, peer, q), mujoco.MjData(peer)
    data.qpos[:] = q
    names = [f"{side}-{motor}" for side in SIDES for motor in MOTORS]
    worst = past = off = 0.0
    pressed: set[str] = set()
    for k in range(2000):
        for name in names:
            sim.actuator(name).input = data.actuator(name).ctrl[0] = cassie_target(name, k * DT)
        sim.step()
        mujoco.mj_step(peer, data, 4)
        worst, past = max(worst, opening(sim, peer)), max(past, beyond(sim, peer))
        if k % 10 == 0:
            pressed |= {name for name in feet + names if sim.joint(name).limit_force[0] != 0}
            off = max(off, float(np.abs(sim.q - data.qpos).max()))
    assert {name.split("-", 1)[1] for name in pressed} == {"foot-op", "tarsus-crank-joint"}
    assert worst < HELD
    assert past < SLACK
    assert off < 0.02


# --- a gripper of two four-bar linkages ------------------------------------------------------------------------------

ARM, BASE, STIFFNESS, RANGE = 0.06, 0.03, 2.0, (-0.07, 0.4)  # m, m, N m/rad, rad


def finger(side: str, sign: int, drop: float) -> str:
    """A crank carries a pad, which a follower guides whose pivot is lower by `drop`: at 0, it keeps it from turning."""
    first, second, axis = sign * 0.02, sign * (0.02 + BASE), f"0 {sign} 0"
    rod = f'type="capsule" size="0.004" fromto="0 0 0 0 0 {ARM}" mass="0.05" contype="0" conaffinity="0"'
    pad = f'type="box" size="0.004 0.01 0.02" pos="{-sign * 0.008} 0 0.02" mass="0.03"'
    return f"""
      <body name="{side}_crank" pos="{first} 0 0">
        <joint name="{side}_crank" axis="{axis}" damping="0.02"/> <geom {rod}/>
        <body name="{side}_pad" pos="0 0 {ARM}"> <joint name="{side}_pad" axis="{axis}"/> <geom {pad}/> </body>
      </body>
      <body name="{side}_follower" pos="{second} 0 {-drop}">
        <joint name="{side}_follower" axis="{axis}" range="{RANGE[0]} {RANGE[1]}"/> <geom {rod}/>
      </body>"""


def gripper(drop: float) -> str:
    """Two fingers, one driven, the other its mirror."""
    return f"""
<mujoco model="gripper">
  <compiler angle="radian" autolimits="true"/>
  <option gravity="0 0 0"/>
  <worldbody> <body name="palm"> {finger("left", 1, drop)} {finger("right", -1, drop)} </body> </worldbody>
  <equality>
    <connect name="left_pin" body1="left_pad" body2="left_follower" anchor="{BASE} 0 0"/>
    <connect name="right_pin" body1="right_pad" body2="right_follower" anchor="{-BASE} 0 0"/>
    <joint name="mirror" joint1="right_crank" joint2="left_crank"/>
  </equality>
  <actuator> <position name="drive" joint="left_crank" kp="{STIFFNESS}"/> </actuator>
</mujoco>"""


def test_a_four_bar_gripper_holds_together_between_the_limits_of_its_followers(tmp_path) -> None:
    scene, peer = load(tmp_path, gripper(drop=0.02))
    assert not scene.import_report
    sim, data = sh.Simulation(scene, dt=DT), mujoco.MjData(peer)
    worst = past = off = 0.0
    ends = set()
    for k in range(1500):
        sim.actuator("drive").input = data.ctrl[0] = 0.8 * np.sin(2 * np.pi * k * DT)
        sim.step()
        mujoco.mj_step(peer, data, 4)
        worst, past = max(worst, opening(sim, peer)), max(past, beyond(sim, peer))
        off = max(off, float(np.abs(sim.q - data.qpos).max()))
        ends |= {np.sign(sim.joint(f"{side}_follower").limit_force[0]) for side in SIDES}
    assert ends == {-1, 0, 1}
    assert worst < HELD
    assert past < SLACK
    assert off < 0.02


def test_limits_of_followers_carry_what_the_drive_gives(tmp_path) -> None:
    scene, _ = load(tmp_path, gripper(drop=0.0))
    sim = sh.Simulation(scene, dt=DT)
    for target, end in ((0.8, RANGE[1]), (-0.8, RANGE[0])):
        sim.actuator("drive").input = target
        sim.run(2.0)
        angles = [sim.joint(f"{side}_{part}").position[0] for side in SIDES for part in ("crank", "follower")]
        assert np.abs(np.array(angles) - end).max() < SLACK
        held = sum(sim.joint(f"{side}_follower").limit_force[0] for side in SIDES)
        assert np.isclose(held, -STIFFNESS * (target - end), rtol=1e-5)
        assert max(np.abs(sim.body(f"{side}_pad").rotation - np.eye(3)).max() for side in SIDES) < SLACK
