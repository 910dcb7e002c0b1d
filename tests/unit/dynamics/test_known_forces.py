"""Springs, dampers and efforts of joints and between points, against their energy and power."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from moving_trees import EXACT, MOVING, SLOPES, Tree, holding_forces, potential, rate, slopes
from random_trees import Array, random_scene, random_state, relative

from sharnir import Body, Free, Model, Prismatic, Revolute, Scene, Spherical, Spring, compile, dynamics


@pytest.fixture(scope="module", params=range(12))
def sprung(request: pytest.FixtureRequest) -> Tree:
    """Joint springs on every coordinate, no gravity: the potential is theirs alone."""
    rng = np.random.default_rng([5, request.param])
    scene = random_scene(rng, 10, root_types=MOVING, reverse=0.4)
    scene.gravity = (0.0, 0.0, 0.0)
    for joint in scene.joints:
        stiffness = rng.uniform(1.0, 5.0, joint.nv)
        if isinstance(joint, (Spherical, Free)):
            stiffness[-3:] = stiffness[-1]
        joint.stiffness, joint.rest = tuple(stiffness), tuple(rng.normal(size=joint.nq))
    model = compile(scene)
    return Tree(scene, model, random_state(rng, model))


def test_joint_springs_pull_down_their_energy(sprung: Tree) -> None:
    model, q = sprung.model, sprung.state.q
    expected = -slopes(lambda q: potential(model, q), model, q)
    assert relative(dynamics.passive_forces(model, q, np.zeros(model.nv)), expected) < SLOPES


def test_joint_springs_vanish_at_rest(sprung: Tree) -> None:
    model = sprung.model
    assert np.abs(dynamics.passive_forces(model, model.rest, np.zeros(model.nv))).max() < 1e-14  # 5 N/m · ε · 10 m


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-7, 1e-5, 1.0, np.pi - 1e-7])
def test_quaternion_spring_torque_is_stiffness_times_angle(angle: float) -> None:
    body = Body(name="ball", mass=1.0, inertia=(1.0, 1.0, 1.0))
    joint = Spherical(name="socket", parent="world", child="ball", stiffness=7.0)
    model = compile(Scene(bodies=[body], joints=[joint]))
    axis = np.array([2.0, -1.0, 2.0]) / 3
    q = np.append(np.sin(angle / 2) * axis, np.cos(angle / 2))
    for sign in (1, -1):  # both quaternions of one rotation
        torque = dynamics.passive_forces(model, sign * q, np.zeros(3))
        assert np.abs(torque + 7.0 * angle * axis).max() <= 1e-14 * 7.0 * angle


def test_dampers_and_efforts_act_on_their_coordinates(sprung: Tree, rng: np.random.Generator) -> None:
    bare, (q, v, *_) = sprung.model, sprung.state
    effort, damping = np.zeros(bare.nv), np.zeros(bare.nv)
    joints = []
    for joint in sprung.scene.joints:
        where = bare.joint(joint.name).v
        effort[where], damping[where] = rng.normal(size=joint.nv), rng.uniform(1.0, 2.0, joint.nv)
        joints.append(replace(joint, effort=effort[where], damping=damping[where]))
    model = compile(replace(sprung.scene, joints=joints))
    added = dynamics.passive_forces(model, q, v) - dynamics.passive_forces(bare, q, v)
    assert relative(added, effort - damping * v) < EXACT


def point_springs(rng: np.random.Generator, scene: Scene) -> None:
    """Add springs between bodies and to the world."""
    names = ["world", *(b.name for b in scene.bodies)]
    for k in range(6):
        parent, child = rng.choice(names, 2, replace=False)
        ends = {"parent_anchor": rng.normal(size=3), "child_anchor": rng.normal(size=3)}
        scene.springs.append(
            Spring(name=f"s{k}", parent=str(parent), child=str(child), **ends, stiffness=rng.uniform(1, 5), length=0.3)
        )


@pytest.fixture(scope="module", params=range(12))
def tied(request: pytest.FixtureRequest) -> Tree:
    """Springs between points, no gravity."""
    rng = np.random.default_rng([6, request.param])
    scene = random_scene(rng, 10, root_types=MOVING, reverse=0.4)
    scene.gravity = (0.0, 0.0, 0.0)
    point_springs(rng, scene)
    model = compile(scene)
    return Tree(scene, model, random_state(rng, model))


def damped(scene: Scene, damping: float) -> Model:
    return compile(replace(scene, springs=[replace(s, damping=damping) for s in scene.springs]))


def test_point_springs_pull_down_their_energy(tied: Tree) -> None:
    model, q = tied.model, tied.state.q
    expected = slopes(lambda q: potential(model, q), model, q)
    assert relative(holding_forces(model, q, springs=True), expected) < SLOPES


def test_point_dampers_take_power_of_lengthening(tied: Tree) -> None:
    damping = 1.7
    free, model, (q, v, a, *_) = tied.model, damped(tied.scene, damping), tied.state

    def lengths(q: Array, _: Array) -> Array:
        x, R = dynamics.body_poses(free, q)
        pose = {"world": (np.zeros(3), np.eye(3)), **{n: (x[i], R[i]) for i, n in enumerate(free.body_names)}}
        ends = [(pose[s.parent], pose[s.child], s) for s in tied.scene.springs]
        gaps = [c[0] + c[1] @ s.child_anchor - p[0] - p[1] @ s.parent_anchor for p, c, s in ends]
        return np.linalg.norm(gaps, axis=1)

    held = dynamics.rnea(model, q, v, a, springs=True) - dynamics.rnea(free, q, v, a, springs=True)
    lost = damping * (rate(lengths, free, q, v, 0 * v) ** 2).sum()
    assert lost > 0
    assert relative(held @ v, lost) < SLOPES


def test_forward_and_inverse_dynamics_agree_on_springs(tied: Tree) -> None:
    model, (q, v, _, tau, f_ext) = damped(tied.scene, 1.7), tied.state
    for forces in (None, f_ext):
        a = dynamics.aba(model, q, v, tau, forces, springs=True)
        assert relative(dynamics.rnea(model, q, v, a, forces, springs=True), tau) < EXACT


def test_springs_act_only_where_asked_for(tied: Tree) -> None:
    model, (q, v, a, tau, f_ext) = tied.model, tied.state
    bare = compile(replace(tied.scene, springs=[]))
    for forces in (None, f_ext):
        assert relative(dynamics.aba(model, q, v, tau, forces), dynamics.aba(bare, q, v, tau, forces)) < EXACT
        assert relative(dynamics.rnea(model, q, v, a, forces), dynamics.rnea(bare, q, v, a, forces)) < EXACT


def test_spring_of_no_length_exerts_nothing() -> None:
    body = Body(name="bob", mass=2.0)
    joint = Prismatic(name="rail", parent="world", child="bob")
    spring = Spring(name="tie", parent="world", child="bob", stiffness=3.0, length=0.5)
    model = compile(Scene(bodies=[body], joints=[joint], springs=[spring]))
    a = dynamics.aba(model, np.zeros(1), np.zeros(1), np.zeros(1), springs=True)
    assert a == pytest.approx(model.gravity[2:], rel=1e-14)


def test_pendulum_swings_as_in_a_book() -> None:
    """φ̈ = −m g l sin φ / (J + m l² + rotor), for a bob below a hinge along y."""
    body = Body(name="bob", mass=2.0, inertia=(0.1, 0.2, 0.15), center_of_mass=(0.0, 0.0, -0.5))
    joint = Revolute(name="hinge", parent="world", child="bob", axis=(0.0, 1.0, 0.0), armature=0.3)
    model = compile(Scene(bodies=[body], joints=[joint]))
    a = dynamics.aba(model, [0.7], [2.0], [0.0])
    assert a == pytest.approx([-2.0 * 9.81 * 0.5 * np.sin(0.7) / (0.2 + 2.0 * 0.25 + 0.3)], rel=1e-14)
