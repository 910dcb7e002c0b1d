"""Dynamics of random trees against Pinocchio, whose models are built here from the scenes, not from our models."""

from __future__ import annotations

import numpy as np
import pytest
from random_trees import TYPES, Array, State, random_scene, random_state, relative

from sharnir import Body, Fixed, Frame, Free, Model, Planar, Scene, Spherical, Universal, compile, dynamics
from sharnir.spec.joints import Joint

pin = pytest.importorskip("pinocchio")

TREES = 200
MOST_BODIES = 40
# Required of two engines in double precision. The worst measured: accelerations 1.1e-11, of which 1.2e-12 or less
# is ours (against a solve refined in extended precision); all else 6e-14.
TOLERANCE = 1e-10


def pose(body: Body) -> pin.SE3:
    """Of a body in the world in the reference configuration."""
    return pin.SE3(pin.Quaternion(np.array(body.orientation)).normalized().matrix(), np.array(body.position))


def frame(anchor: tuple, axis: tuple, x_axis: tuple) -> pin.SE3:
    """A joint's frame: z along the axis, x as near to x_axis as can be."""
    z = np.array(axis) / np.linalg.norm(axis)
    y = np.cross(z, x_axis)
    y /= np.linalg.norm(y)
    return pin.SE3(np.column_stack([np.cross(y, z), y, z]), np.array(anchor))


def body_frame(f: Frame | None) -> pin.SE3:
    return pin.SE3.Identity() if f is None else frame(f.anchor, f.axis, f.x_axis)


def outward(scene: Scene, root: str = "world") -> list[Joint]:
    """Joints from the world to the tips, depth first: Pinocchio's mass matrix needs subtrees in one piece."""
    return [k for j in scene.joints if j.parent == root for k in (j, *outward(scene, j.child))]


def pinocchio_joint(joint: Joint, z: Array, x: Array) -> pin.JointModel:
    """Of the same motion, z and x the joint's axes in Pinocchio's joint frame."""
    match type(joint).__name__:
        case "Revolute":
            return pin.JointModelRevoluteUnaligned(z)
        case "Prismatic":
            return pin.JointModelPrismaticUnaligned(z)
        case "Helical":
            return pin.JointModelHelicalUnaligned(z, joint.pitch / (2 * np.pi))
        case "Universal":
            return pin.JointModelUniversal(z, x)
        case "Cylindrical":
            both = pin.JointModelComposite(pin.JointModelPrismaticUnaligned(z))
            return both.addJoint(pin.JointModelRevoluteUnaligned(z))
        case "Spherical":
            return pin.JointModelSpherical()
        case "Planar":
            return pin.JointModelPlanar()
        case "Free":
            return pin.JointModelFreeFlyer()
    raise AssertionError(joint)


class Twin:
    """A scene in Pinocchio, with the maps between its coordinates and ours.

    Pinocchio's planar and free velocities are in the child's frame: v_pin = T v, v̇_pin = T v̇ + drift, τ = Tᵀ τ_pin.
    """

    def __init__(self, scene: Scene, points: dict[str, Array]) -> None:
        self.model, self.joints = pin.Model(), scene.joints
        self.model.gravity = pin.Motion(np.array(scene.gravity), np.zeros(3))
        self.index = {"world": 0}  # of the joint that carries a body
        self.place = {"world": pin.SE3.Identity()}  # of a body in the frame of that joint
        self.bodies = {b.name: b for b in scene.bodies}
        reference = {"world": pin.SE3.Identity()}
        for joint in outward(scene):
            self.add(joint, reference)
        for name, body in self.bodies.items():
            inertia = pin.Inertia(body.mass, np.array(body.center_of_mass), np.array(body.inertia))
            self.model.appendBodyToJoint(self.index[name], inertia, self.place[name])
            spot = self.place[name] * pin.SE3(np.eye(3), points[name])
            self.model.addFrame(pin.Frame(name, self.index[name], spot, pin.FrameType.OP_FRAME))
        self.data = self.model.createData()

    def add(self, joint: Joint, reference: dict[str, pin.SE3]) -> None:
        """Add a joint whose parent is known."""
        near, body = joint.parent, self.bodies[joint.child]
        P, C = body_frame(joint.parent_frame), body_frame(joint.child_frame)
        if isinstance(joint, Free):
            reference[body.name] = pose(body)
            before, after, F = P, C.inverse(), pin.SE3.Identity()
        else:
            if joint.parent_frame is not None:
                F = reference[near] * P
                cross = np.eye(3)[:, [1, 2, 0]] if isinstance(joint, Universal) else np.eye(3)
                reference[body.name] = F * pin.SE3(cross, np.zeros(3)) * C.inverse()
            else:
                F = frame(joint.anchor, joint.axis, joint.axis2 if isinstance(joint, Universal) else joint.x_axis)
                reference[body.name] = pose(body)
            # other joints keep the world's axes, so that theirs are unaligned
            axes = F.rotation if isinstance(joint, (Spherical, Planar)) else np.eye(3)
            spot = pin.SE3(axes, F.translation)
            before, after = reference[near].inverse() * spot, spot.inverse() * reference[body.name]
        before = self.place[near] * before
        if isinstance(joint, Fixed):
            self.index[body.name], self.place[body.name] = self.index[near], before * after
            return
        motion = pinocchio_joint(joint, F.rotation[:, 2], F.rotation[:, 0])
        self.index[body.name] = k = self.model.addJoint(self.index[near], motion, before, joint.name)
        self.place[body.name] = after
        start = self.model.idx_vs[k]
        self.model.armature[start : start + joint.nv] = joint.armature

    def coordinates(self, ours: Model, state: State) -> None:
        """Set q, v, v̇, τ and external forces to those of our state."""
        nv = self.model.nv
        self.q, self.T, self.drift = pin.neutral(self.model), np.zeros((nv, nv)), np.zeros(nv)
        for joint in self.joints:
            if isinstance(joint, Fixed):
                continue
            own, k = ours.joint(joint.name), self.model.getJointId(joint.name)
            i, j = self.model.idx_vs[k], self.model.idx_qs[k]
            q, v = state.q[own.q], state.v[own.v]
            self.T[i : i + joint.nv, own.v] = np.eye(joint.nv)
            if isinstance(joint, Planar):
                c, s = np.cos(q[2]), np.sin(q[2])
                q = np.array([q[0], q[1], c, s])
                R, spin = np.array([[c, -s], [s, c]]), v[2] * np.array([[0, -1], [1, 0]])
            elif isinstance(joint, Free):
                R, spin = pin.Quaternion(q[3:]).matrix(), pin.skew(v[3:])
            if isinstance(joint, (Planar, Free)):
                n = len(R)
                self.T[i : i + n, own.v.start : own.v.start + n] = R.T
                self.drift[i : i + n] = -spin @ R.T @ v[:n]
            self.q[j : j + len(q)] = q
        self.v = self.T @ state.v
        self.a = self.T @ state.a + self.drift
        self.tau = np.linalg.solve(self.T.T, state.tau)
        self.forces = self.local_forces(ours, state.f_ext)

    def local_forces(self, ours: Model, f_ext: Array) -> pin.StdVec_Force:
        """Forces at centres of mass in world axes, as wrenches in joint frames."""
        forces = [pin.Force.Zero() for _ in range(self.model.njoints)]
        pin.forwardKinematics(self.model, self.data, self.q)
        for name, wrench in zip(ours.body_names, f_ext, strict=True):
            k = self.index[name]
            center = self.data.oMi[k] * (self.place[name] * np.array(self.bodies[name].center_of_mass))
            forces[k] += pin.SE3(self.data.oMi[k].rotation.T, np.zeros(3)) * pin.Force(
                wrench[:3], wrench[3:] + np.cross(center - self.data.oMi[k].translation, wrench[:3])
            )
        out = pin.StdVec_Force()
        out.extend(forces)
        return out


class Pair:
    """A random scene in both engines, in the same random state."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng([1, seed])
        movable = tuple(t for t in TYPES if t is not Fixed)  # Pinocchio forgets the mass of bodies fixed to the world
        scene = random_scene(rng, 1 + seed * MOST_BODIES // TREES, root_types=movable, armature=True)
        for joint in scene.joints:
            if isinstance(joint, (Planar, Free)):  # rotors along T's rotating axes are another mechanism
                joint.armature = (0.0,) * (joint.nv // 2 + joint.nv % 2) + joint.armature[-(joint.nv // 2) :]
        self.ours = compile(scene)
        self.state = random_state(rng, self.ours)
        self.points = {b.name: rng.normal(size=3) for b in scene.bodies}
        self.twin = Twin(scene, self.points)
        self.twin.coordinates(self.ours, self.state)


@pytest.fixture(scope="module", params=range(TREES))
def pair(request: pytest.FixtureRequest) -> Pair:
    return Pair(request.param)


def test_inverse_dynamics(pair: Pair) -> None:
    twin, (q, v, a, _, f_ext) = pair.twin, pair.state
    theirs = twin.T.T @ pin.rnea(twin.model, twin.data, twin.q, twin.v, twin.a, twin.forces)
    assert relative(dynamics.rnea(pair.ours, q, v, a, f_ext), theirs) < TOLERANCE


def test_forward_dynamics(pair: Pair) -> None:
    twin, (q, v, _, tau, f_ext) = pair.twin, pair.state
    theirs = pin.aba(twin.model, twin.data, twin.q, twin.v, twin.tau, twin.forces)
    theirs = np.linalg.solve(twin.T, theirs - twin.drift)
    assert relative(dynamics.aba(pair.ours, q, v, tau, f_ext), theirs) < TOLERANCE


def test_mass_matrix(pair: Pair) -> None:
    twin = pair.twin
    upper = np.triu(pin.crba(twin.model, twin.data, twin.q).reshape(twin.model.nv, -1))
    theirs = twin.T.T @ (upper + np.triu(upper, 1).T) @ twin.T
    assert relative(dynamics.crba(pair.ours, pair.state.q), theirs) < TOLERANCE


def test_point_jacobians(pair: Pair) -> None:
    twin = pair.twin
    pin.computeJointJacobians(twin.model, twin.data, twin.q)
    pin.updateFramePlacements(twin.model, twin.data)
    for name, point in pair.points.items():
        k = twin.model.getFrameId(name)
        theirs = pin.getFrameJacobian(twin.model, twin.data, k, pin.LOCAL_WORLD_ALIGNED).reshape(6, -1) @ twin.T
        assert relative(dynamics.jacobian(pair.ours, pair.state.q, name, point), theirs) < TOLERANCE


def test_energy(pair: Pair) -> None:
    twin, bare = pair.twin, pair.twin.model.copy()
    bare.armature = np.zeros(bare.nv)  # Pinocchio 4.1 counts rotors in the energy of some joint types only
    rotors = 0.5 * twin.model.armature @ twin.v**2
    kinetic, potential = dynamics.energy(pair.ours, pair.state.q, pair.state.v)
    assert relative(kinetic, rotors + pin.computeKineticEnergy(bare, twin.data, twin.q, twin.v)) < TOLERANCE
    assert relative(potential, pin.computePotentialEnergy(twin.model, twin.data, twin.q)) < TOLERANCE


def test_center_of_mass(pair: Pair) -> None:
    theirs = pin.centerOfMass(pair.twin.model, pair.twin.data, pair.twin.q)
    assert relative(dynamics.center_of_mass(pair.ours, pair.state.q), theirs) < TOLERANCE


def test_momentum(pair: Pair) -> None:
    twin = pair.twin
    theirs = pin.computeCentroidalMomentum(twin.model, twin.data, twin.q, twin.v)
    ours = np.concatenate(dynamics.momentum(pair.ours, pair.state.q, pair.state.v))
    assert relative(ours, theirs.vector) < TOLERANCE
