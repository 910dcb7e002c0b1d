"""Two seconds of smooth random torques: robots from files move as in MuJoCo, without contact, limits and friction."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import sharnir as sh
from sharnir.benchmarks.robot_files import Outcome, Robot, mjcf_files, outcome, urdf_files

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


class Way(NamedTuple):
    """How a robot is run. dt: s, MuJoCo's step. method, rtol: ours. damping: 1/s, added to all joints of both, times
    the inertia each meets. armature: kg m² or kg, added to all joints of both."""

    dt: float = 1e-4
    method: str = "dop853"
    rtol: float = 1e-11
    damping: float = 0.0
    armature: float = 0.0


# where MuJoCo's error at 0.1 ms is above 1e-5: it falls 16 times where the step is halved
FINE = {"anymal-kinova.urdf": Way(dt=2.5e-5), "so100.urdf": Way(dt=5e-5), "so101.urdf": Way(dt=1.25e-5, rtol=1e-12)}
# links of grams on dampers: what decays at 2e5 to 2e6 a second makes RK4 explode at steps of more than 1 to 10 µs, so
# MuJoCo's accelerations are integrated by an implicit method
STIFF = {
    name: Way(method="radau")
    for name in ("allegro_left_hand.urdf", "allegro_right_hand.urdf", "tiago_no_hand.urdf", "manipulator.xml",
                 "stacker.xml")
}  # fmt: skip
# chaos: undamped limbs whirl at 60 to 750 rad/s, and what rounds off at the start is metres after two seconds
CHAOTIC = {
    "g1_29dof_rev_1_0.urdf": Way(damping=3.0), "g1_29dof_with_hand_rev_1_0.urdf": Way(damping=3.0),
    "human.urdf": Way(damping=1.0, armature=0.01),  # and shoulders of hinges without mass between, which lock
    "drosophila_fused.xml": Way(damping=3.0, armature=0.01),  # 1,550 kg on legs that turn with 8e-5 kg m²
}  # fmt: skip
# links of the head without inertia: the mass matrix is singular to rounding, and no engine has an acceleration
SINGULAR = {"icub.urdf": Way(armature=1e-3)}
WAYS = FINE | STIFF | CHAOTIC | SINGULAR


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


def run_mujoco(peer: mujoco.MjModel, torques: Torques, dt: float, *, may_fail: bool = False) -> mujoco.MjData:
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
    assert may_fail or not any(w.number for w in data.warning), "MuJoCo's own run is unstable"
    return data


def run_implicitly(peer: mujoco.MjModel, torques: Torques) -> mujoco.MjData:
    """MuJoCo's accelerations, integrated by SciPy; of models without quaternions."""
    peer.opt.disableflags |= int(OFF.mjDSBL_CONSTRAINT) | int(OFF.mjDSBL_ACTUATION)
    assert peer.nq == peer.nv
    data, n, small = mujoco.MjData(peer), peer.nv, 1e-6

    def rates(t: float, y: Array) -> Array:
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = y[:n], y[n:], torques(t)
        mujoco.mj_forward(peer, data)
        return np.concatenate([y[n:], data.qacc])

    def slopes(t: float, y: Array) -> Array:
        return np.column_stack([(rates(t, y + e) - rates(t, y - e)) / (2 * small) for e in small * np.eye(2 * n)])

    start = np.concatenate([peer.qpos0, np.zeros(n)])
    run = solve_ivp(rates, (0.0, DURATION), start, method="Radau", jac=slopes, rtol=1e-10, atol=1e-12)
    assert run.success, run.message
    rates(DURATION, run.y[:, -1])
    return data


def own_inertia(peer: mujoco.MjModel) -> Array:
    """[nv] that a force on each coordinate alone meets at the start."""
    data, M = mujoco.MjData(peer), np.zeros((peer.nv, peer.nv))
    mujoco.mj_forward(peer, data)
    mujoco.mj_fullM(peer, data, M)
    return 1.0 / np.diag(np.linalg.inv(M))


def ease(found: Outcome, way: Way) -> None:
    """Add a way's rotors and dampers to the joints of both."""
    peer = found.parsed.model
    peer.dof_armature[:] += way.armature
    more = way.damping * own_inertia(peer)
    peer.dof_damping[:] += more
    first = 0
    for joint in found.scene.joints:
        own = slice(first, first + joint.nv)
        joint.armature = np.asarray(joint.armature) + np.full(joint.nv, way.armature)
        joint.damping = np.asarray(joint.damping) + more[own]
        first = own.stop


def check_motion(robot: Robot, way: Way) -> None:
    """Where bodies are after two seconds: ours against MuJoCo's, relative to the size of the robot or a metre."""
    found = outcome(robot)
    assert found.loaded, found.reason
    peer, scene = found.parsed.model, smooth_only(found.scene)
    if way.damping or way.armature:
        ease(found, way)
    model, torques = sh.compile(scene), Torques(own_inertia(peer))
    accuracy = {"method": way.method, "rtol": way.rtol, "atol": 0.01 * way.rtol}
    run = sh.simulate(model, DURATION, times=[DURATION], control=lambda t, q, v: torques(t), **accuracy)
    position, _ = sh.dynamics.body_poses(model, run.q[-1])
    stiff = way.method == "radau"
    theirs = (run_implicitly(peer, torques) if stiff else run_mujoco(peer, torques, way.dt)).xpos[1:]
    assert np.abs(run.v[-1]).max() > 0.01
    assert np.abs(position - theirs).max() < TOLERANCE * max(1.0, np.abs(theirs).max())


@pytest.mark.parametrize("name", SOME)
def test_a_robot_moves_as_in_mujoco(name):
    check_motion(ALL[name], Way(dt=2e-4))


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_every_robot_moves_as_in_mujoco(name):
    found = outcome(ALL[name])
    if not found.loaded or found.parsed.model.nv == 0:
        pytest.skip(found.reason or "nothing moves")
    check_motion(ALL[name], WAYS.get(name.rpartition("/")[2], Way()))


@pytest.mark.slow
@pytest.mark.parametrize("name", CHAOTIC)
def test_what_is_chaotic_is_so_for_mujoco_too(name):
    """Half the step changes all, where others converge as its fourth power."""
    robot = next(robot for robot in ALL.values() if robot.name.endswith(f"/{name}"))
    peer = outcome(robot).parsed.model
    torques = Torques(own_inertia(peer))
    once, twice = (run_mujoco(peer, torques, dt, may_fail=True).xpos for dt in (1e-4, 5e-5))
    assert np.abs(once - twice).max() > 0.1


def test_a_mass_matrix_without_digits_is_why_a_robot_is_eased():
    peer = outcome(next(robot for robot in ALL.values() if robot.name.endswith("/icub.urdf"))).parsed.model
    data, M = mujoco.MjData(peer), np.zeros((peer.nv, peer.nv))
    mujoco.mj_forward(peer, data)
    mujoco.mj_fullM(peer, data, M)
    assert np.linalg.cond(M) * np.finfo(float).eps > 1
