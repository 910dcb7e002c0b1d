"""Robots from files move as MuJoCo, and for URDF Pinocchio, say: mass, poses, mass matrix, acceleration."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from numpy.typing import NDArray

import sharnir as sh
from sharnir import dynamics
from sharnir.benchmarks.robot_files import Outcome, mjcf_files, outcome, urdf_files

Array = NDArray[np.float64]
STATES = 20
TOLERANCE = 1e-8  # relative
OFF = int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT) | int(mujoco.mjtDisableBit.mjDSBL_ACTUATION)
FREE, BALL = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL)

URDF, MJCF = urdf_files(), mjcf_files()


def quaternions(peer: mujoco.MjModel) -> list[int]:
    """First position coordinate of every quaternion."""
    kinds = zip(peer.jnt_type, peer.jnt_qposadr, strict=True)
    return [int(q) + (3 if kind == FREE else 0) for kind, q in kinds if kind in (FREE, BALL)]


def ours(peer: mujoco.MjModel, qpos: Array) -> Array:
    """Positions with the scalar of quaternions last."""
    q = qpos.copy()
    for k in quaternions(peer):
        q[k : k + 4] = np.roll(qpos[k : k + 4], -1, axis=0)
    return q


def random_states(peer: mujoco.MjModel) -> tuple[Array, Array]:
    """MuJoCo's positions and velocities, [size, states]."""
    rng = np.random.default_rng(5)
    qpos, v = rng.uniform(-1.5, 1.5, (peer.nq, STATES)), rng.normal(size=(peer.nv, STATES))
    for k in quaternions(peer):
        qpos[k : k + 4] /= np.linalg.norm(qpos[k : k + 4], axis=0)
    return qpos, v


def near(a: Array, b: Array, tolerance: float = TOLERANCE) -> bool:
    return bool(np.abs(a - b).max(initial=0.0) <= tolerance * max(np.abs(b).max(initial=0.0), 1e-12))


def acceleration_tolerance(M: Array) -> float:
    """Solving with M loses as many digits as its condition has: both engines do."""
    return max(TOLERANCE, 100 * np.finfo(float).eps * float(np.linalg.cond(M)))


class Ours(NamedTuple):
    """What our dynamics say at the states [size, states]."""

    model: sh.Model
    q: Array
    v: Array
    position: Array
    rotation: Array
    center: Array
    M: Array
    passive: Array
    a: Array


def evaluated(model: sh.Model, q: Array, v: Array) -> Ours:
    passive = dynamics.passive_forces(model, q, v)
    a = dynamics.aba(model, q, v, passive, springs=True)
    center, M = dynamics.center_of_mass(model, q), dynamics.crba(model, q)
    return Ours(model, q, v, *dynamics.body_poses(model, q), center, M, passive, a)


def checked_against_mujoco(found: Outcome) -> Ours | None:
    """Masses, poses, mass matrix and acceleration at random states; None if nothing moves."""
    peer, model = found.parsed.model, sh.compile(found.scene)
    assert (model.nq, model.nv, model.nb) == (peer.nq, peer.nv, peer.nbody - 1)
    assert near(model.mass.sum(), peer.body_mass.sum())
    if peer.nv == 0:
        return None
    peer.opt.disableflags |= OFF
    data = mujoco.MjData(peer)
    M = np.zeros((peer.nv, peer.nv))
    qpos, v = random_states(peer)
    got = evaluated(model, ours(peer, qpos), v)
    for k in range(STATES):
        data.qpos[:], data.qvel[:] = qpos[:, k], v[:, k]
        mujoco.mj_forward(peer, data)
        mujoco.mj_fullM(peer, data, M)
        assert near(got.position[..., k], data.xpos[1:])
        assert near(got.rotation[..., k], data.xmat[1:].reshape(-1, 3, 3))
        assert near(got.center[..., k], peer.body_mass @ data.xipos / peer.body_mass.sum())
        assert near(got.M[..., k], M)
        assert near(got.a[..., k], data.qacc, acceleration_tolerance(M))
    return got


@pytest.mark.parametrize("robot", MJCF, ids=lambda r: r.name)
def test_a_model_in_mjcf_moves_as_in_mujoco(robot):
    found = outcome(robot)
    if not found.loaded:
        pytest.skip(found.reason)
    checked_against_mujoco(found)


class Pinocchio:
    """The same URDF read by Pinocchio, with the map v_pin = T v and v̇_pin = T v̇ + drift."""

    def __init__(self, path, model: sh.Model) -> None:
        self.model = pin.buildModelFromUrdf(str(path))
        self.data = self.model.createData()
        self.ours = model

    def set(self, q: Array, v: Array) -> None:
        nv = self.model.nv
        self.q, self.T, self.drift = pin.neutral(self.model), np.zeros((nv, self.ours.nv)), np.zeros(nv)
        for name in self.model.names[1:]:
            k, own = self.model.getJointId(name), self.ours.joint(name)
            joint = self.model.joints[k]
            i, at = joint.idx_v, self.ours.joint(name).q
            self.T[i : i + joint.nv, own.v] = np.eye(joint.nv)
            if joint.nq == 2:  # a hinge without limits
                self.q[joint.idx_q : joint.idx_q + 2] = np.cos(q[at])[0], np.sin(q[at])[0]
                continue
            self.q[joint.idx_q : joint.idx_q + joint.nq] = q[at]
            if joint.nv == 6:
                R, spin = pin.Quaternion(q[at][3:]).matrix(), pin.skew(v[own.v][3:])
                self.T[i : i + 3, own.v.start : own.v.start + 3] = R.T
                self.drift[i : i + 3] = -spin @ R.T @ v[own.v][:3]
        self.v = self.T @ v

    def center_of_mass(self) -> Array:
        """Of all links; Pinocchio leaves out those that are fixed to the world."""
        still, masses = self.model.inertias[0], [i.mass for i in self.model.inertias]
        moving = pin.centerOfMass(self.model, self.data, self.q)
        return (still.mass * still.lever + sum(masses[1:]) * moving) / sum(masses)


@pytest.mark.parametrize("robot", URDF, ids=lambda r: r.name)
def test_a_model_in_urdf_moves_as_in_mujoco_and_pinocchio(robot):
    found = outcome(robot)
    if not found.loaded:
        pytest.skip(found.reason)
    got = checked_against_mujoco(found)
    if got is None:
        return
    twin = Pinocchio(robot.path, got.model)
    assert twin.model.nv == got.model.nv
    assert near(got.model.mass.sum(), sum(i.mass for i in twin.model.inertias))
    for k in range(STATES):
        twin.set(got.q[:, k], got.v[:, k])
        M = pin.crba(twin.model, twin.data, twin.q)
        M = np.triu(M) + np.triu(M, 1).T
        assert near(got.M[..., k], twin.T.T @ M @ twin.T)
        assert near(got.center[..., k], twin.center_of_mass())
        a = pin.aba(twin.model, twin.data, twin.q, twin.v, twin.T @ got.passive[:, k])
        assert near(twin.T @ got.a[:, k] + twin.drift, a, acceleration_tolerance(M))
