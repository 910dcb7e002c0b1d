"""Dynamics of random trees, all joint types in both directions of description: identities and finite differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from random_trees import (
    TYPES,
    Array,
    State,
    moved,
    random_body,
    random_scene,
    random_state,
    relative,
    shuffled,
)  # fmt: skip

from sharnir import (
    Body,
    Fixed,
    Frame,
    Free,
    Model,
    Planar,
    Prismatic,
    Revolute,
    Scene,
    Spherical,
    Spring,
    Universal,
    compile,
    dynamics,
)
from sharnir.rotations import quat_to_matrix
from sharnir.spec.joints import Joint

TREES = 60
MOVING = tuple(t for t in TYPES if t is not Fixed)
EXACT = 1e-10  # identities in double precision: rounding times cond M; the worst measured is 6e-13
SLOPES = 1e-7  # central differences: truncation of the order h² and rounding ε/h; the worst measured is 7e-10
STEP = 1e-5  # m or rad


class Tree(NamedTuple):
    scene: Scene
    model: Model
    state: State


@pytest.fixture(scope="module", params=range(TREES))
def tree(request: pytest.FixtureRequest) -> Tree:
    """First trees of one joint type each, described outward and then inward; then any mixture."""
    seed = request.param
    rng = np.random.default_rng([2, seed])
    if seed < 2 * len(MOVING):
        scene = random_scene(rng, 8, (MOVING[seed // 2],), reverse=seed % 2, armature=True)
    else:
        scene = random_scene(rng, rng.integers(2, 25), root_types=MOVING, reverse=0.4, armature=True)
    model = compile(scene)
    return Tree(scene, model, random_state(rng, model))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def slopes(function: Callable[[Array], Array], model: Model, q: Array) -> Array:
    """Central differences along every velocity coordinate of a function of many worlds' q: [..., nv]."""
    here, unit = np.repeat(q[:, None], model.nv, axis=1), np.eye(model.nv)
    ahead, behind = (function(moved(model, here, unit, h)) for h in (STEP, -STEP))
    return (ahead - behind) / (2 * STEP)


def rate(function: Callable[[Array, Array], Array], model: Model, q: Array, v: Array, a: Array) -> Array:
    """Central difference in time of a function of q and v; the shift h²a/2 of both ends drops out."""
    ahead, behind = (function(moved(model, q, v, h), v + h * a) for h in (STEP, -STEP))
    return (ahead - behind) / (2 * STEP)


def potential(model: Model, q: Array) -> Array:
    return dynamics.energy(model, q, np.zeros((model.nv, *q.shape[1:])))[1]


def holding_forces(model: Model, q: Array, springs: bool = False) -> Array:
    """Joint forces in which the tree rests."""
    return dynamics.rnea(model, q, np.zeros(model.nv), np.zeros(model.nv), springs=springs)


def centers(tree: Tree) -> tuple[Array, Array]:
    """Positions [nb, 3] of the bodies' centres of mass and their velocities with the angular ones [nb, 6]."""
    x, R = dynamics.body_poses(tree.model, tree.state.q)
    bodies = {b.name: b for b in tree.scene.bodies}
    arm = np.array([R[i] @ bodies[n].center_of_mass for i, n in enumerate(tree.model.body_names)])
    V = dynamics.body_velocities(tree.model, tree.state.q, tree.state.v)
    V[:, :3] += np.cross(V[:, 3:], arm)
    return x + arm, V


def places(model: Model, other: Model) -> tuple[Array, Array, Array]:
    """Where the entries of q, v and the bodies of `other` are in `model`, by name."""
    joints = [model.joint(n) for n in other.joint_names]
    q = np.concatenate([np.arange(model.nq)[j.q] for j in joints])
    v = np.concatenate([np.arange(model.nv)[j.v] for j in joints])
    return q, v, np.array([model.body(n) for n in other.body_names])


# Identities between the algorithms


def test_forward_dynamics_is_mass_matrix_solve(tree: Tree) -> None:
    model, (q, v, a, tau, f_ext) = tree.model, tree.state
    bias = dynamics.rnea(model, q, v, 0 * a, f_ext)
    assert relative(dynamics.aba(model, q, v, tau, f_ext), np.linalg.solve(dynamics.crba(model, q), tau - bias)) < EXACT


def test_inverse_dynamics_undoes_forward_dynamics(tree: Tree) -> None:
    model, (q, v, _, tau, f_ext) = tree.model, tree.state
    a = dynamics.aba(model, q, v, tau, f_ext)
    assert relative(dynamics.rnea(model, q, v, a, f_ext), tau) < EXACT


def test_whitened_is_root_of_inverse_mass_matrix(tree: Tree) -> None:
    W = dynamics.whitened(tree.model, tree.state.q)
    assert relative(W @ W.T, np.linalg.inv(dynamics.crba(tree.model, tree.state.q))) < EXACT


def test_kinetic_energy_is_quadratic_form_of_mass_matrix(tree: Tree) -> None:
    model, (q, v, *_) = tree.model, tree.state
    assert relative(dynamics.energy(model, q, v)[0], 0.5 * v @ dynamics.crba(model, q) @ v) < EXACT


def test_body_velocities_follow_from_jacobians(tree: Tree) -> None:
    model, (q, v, *_) = tree.model, tree.state
    expected = [dynamics.jacobian(model, q, name) @ v for name in model.body_names]
    assert relative(dynamics.body_velocities(model, q, v), expected) < EXACT


def test_momentum_and_center_of_mass_are_sums_over_bodies(tree: Tree) -> None:
    model, (q, v, *_) = tree.model, tree.state
    x, V = centers(tree)
    _, R = dynamics.body_poses(model, q)
    bodies = {b.name: b for b in tree.scene.bodies}
    m = np.array([bodies[n].mass for n in model.body_names])
    middle = m @ x / m.sum()
    spins = [R[i] @ np.array(bodies[n].inertia) @ R[i].T @ V[i, 3:] for i, n in enumerate(model.body_names)]
    linear = m @ V[:, :3]
    angular = (np.cross(x - middle, m[:, None] * V[:, :3]) + spins).sum(axis=0)
    assert relative(dynamics.center_of_mass(model, q), middle) < EXACT
    assert relative(np.concatenate(dynamics.momentum(model, q, v)), np.concatenate([linear, angular])) < EXACT


# Finite differences


def test_jacobians_are_slopes_of_poses(tree: Tree, rng: np.random.Generator) -> None:
    model, q = tree.model, tree.state.q
    points = rng.normal(size=(model.nb, 3))

    def places(q: Array) -> Array:
        x, R = dynamics.body_poses(model, q)
        return x + np.einsum("bijw,bj->biw", R, points)

    R = dynamics.body_poses(model, q)[1]
    linear = slopes(places, model, q)
    turning = np.einsum("bijd,bkj->bikd", slopes(lambda q: dynamics.body_poses(model, q)[1], model, q), R)
    for i, name in enumerate(model.body_names):
        expected = [*linear[i], turning[i, 2, 1], turning[i, 0, 2], turning[i, 1, 0]]
        assert relative(dynamics.jacobian(model, q, name, points[i]), expected) < SLOPES


def test_gravity_is_slope_of_potential_energy(tree: Tree) -> None:
    model, q = tree.model, tree.state.q
    expected = slopes(lambda q: potential(model, q), model, q)
    assert relative(holding_forces(model, q), expected) < SLOPES


def test_energy_changes_by_power_of_forces(tree: Tree) -> None:
    model, (q, v, _, tau, f_ext) = tree.model, tree.state
    a = dynamics.aba(model, q, v, tau, f_ext)
    power = tau @ v + (f_ext * centers(tree)[1]).sum()
    change = rate(lambda q, v: sum(dynamics.energy(model, q, v)), model, q, v, a)
    parts = np.append(tau * v, f_ext * centers(tree)[1])  # of both signs, so the sum may be small
    assert abs(change - power) < SLOPES * np.abs(parts).sum()


def test_momentum_of_floating_trees_changes_by_external_forces(rng: np.random.Generator) -> None:
    scene = random_scene(rng, 12, reverse=0.4)
    scene.joints = [j for j in scene.joints if "world" not in (j.parent, j.child)]
    model = compile(scene)
    q, v, _, tau, f_ext = state = random_state(rng, model)
    for name, kind in zip(model.joint_names, model.joint_types, strict=True):
        if kind == "free" and name.endswith("_free"):
            tau[model.joint(name).v] = 0.0  # joints to the world, not described
    a = dynamics.aba(model, q, v, tau, f_ext)
    x, _ = centers(Tree(scene, model, state))
    force = f_ext[:, :3].sum(axis=0) + model.mass.sum() * model.gravity
    arm = x - dynamics.center_of_mass(model, q)
    torque = (f_ext[:, 3:] + np.cross(arm, f_ext[:, :3])).sum(axis=0)
    change = rate(lambda q, v: np.concatenate(dynamics.momentum(model, q, v)), model, q, v, a)
    assert relative(change, np.concatenate([force, torque])) < SLOPES


# How a scene is described


def test_links_are_numbered_from_parent_to_child(tree: Tree) -> None:
    model = tree.model
    assert (model.parent < np.arange(model.nb)).all()
    names = ("world", *model.body_names)
    joints = {j.name: j for j in tree.scene.joints}
    for i, name in enumerate(model.joint_names):
        assert {joints[name].parent, joints[name].child} == {names[i + 1], names[model.parent[i] + 1]}


def test_order_of_description_does_not_matter(tree: Tree, rng: np.random.Generator) -> None:
    model, (q, v, a, tau, f_ext) = tree.model, tree.state
    other = compile(shuffled(rng, tree.scene))
    iq, iv, ib = places(model, other)
    pairs = [
        (dynamics.aba(other, q[iq], v[iv], tau[iv], f_ext[ib]), dynamics.aba(model, q, v, tau, f_ext)[iv]),
        (dynamics.rnea(other, q[iq], v[iv], a[iv], f_ext[ib]), dynamics.rnea(model, q, v, a, f_ext)[iv]),
        (dynamics.crba(other, q[iq]), dynamics.crba(model, q)[np.ix_(iv, iv)]),
        (dynamics.body_poses(other, q[iq])[0], dynamics.body_poses(model, q)[0][ib]),
        (dynamics.body_velocities(other, q[iq], v[iv]), dynamics.body_velocities(model, q, v)[ib]),
        (dynamics.energy(other, q[iq], v[iv]), dynamics.energy(model, q, v)),
    ]
    for here, there in pairs:
        assert relative(here, there) < EXACT


def swapped(joint: Joint) -> Joint:
    """The same joint, described from its child to its parent."""
    P, C = joint.parent_frame, joint.child_frame
    ends = {"parent": joint.child, "child": joint.parent, "parent_frame": C, "child_frame": P}
    if isinstance(joint, Universal):
        ends |= {"axis": joint.axis2, "axis2": joint.axis}
        if P is not None:  # x of the new parent's frame is the new second axis, x of the new child's across both
            ends["parent_frame"] = Frame(anchor=C.anchor, axis=C.axis, x_axis=np.cross(C.axis, C.x_axis))
            ends["child_frame"] = Frame(anchor=P.anchor, axis=P.axis, x_axis=-np.cross(P.axis, P.x_axis))
    return replace(joint, **ends)


def swapped_motion(joint: Joint, q: Array, v: Array, a: Array) -> tuple[Array, Array, Array]:
    """Coordinates of the same relative motion of the two bodies for `swapped(joint)`."""
    if isinstance(joint, Universal):
        return -q[::-1], -v[::-1], -a[::-1]
    if isinstance(joint, Spherical):
        R = quat_to_matrix(q)
        return q * [-1, -1, -1, 1], -R @ v, -R @ a
    if isinstance(joint, Planar):
        turn = np.array([0, 0, np.sin(q[2] / 2), np.cos(q[2] / 2)])
        flat = [np.array([c[0], c[1], 0]) for c in (q, v, a)]
        shifts = swapped_shift(quat_to_matrix(turn), *flat, np.array([0, 0, v[2]]), np.array([0, 0, a[2]]))
        return tuple(np.append(s[:2], -c[2]) for s, c in zip(shifts, (q, v, a), strict=True))
    if isinstance(joint, Free):
        R = quat_to_matrix(q[3:])
        shifts = swapped_shift(R, q[:3], v[:3], a[:3], v[3:], a[3:])
        turns = q[3:] * [-1, -1, -1, 1], -R @ v[3:], -R @ a[3:]
        return tuple(np.concatenate(pair) for pair in zip(shifts, turns, strict=True))
    return -q, -v, -a


def swapped_shift(R: Array, x: Array, v: Array, a: Array, w: Array, dw: Array) -> tuple[Array, Array, Array]:
    """−Rᵀx and its two rates, w the angular velocity of R in its own axes."""
    x, v, a = R.T @ x, R.T @ v, R.T @ a
    wx = np.cross(w, x)
    return -x, wx - v, np.cross(dw, x) + 2 * np.cross(w, v) - np.cross(w, wx) - a


@pytest.mark.parametrize("types", [*((t,) for t in MOVING), TYPES], ids=[*(t.__name__ for t in MOVING), "mixed"])
@pytest.mark.parametrize("seed", range(4))
def test_direction_of_description_does_not_matter(types: tuple[type[Joint], ...], seed: int) -> None:
    rng = np.random.default_rng([4, seed])
    scene = random_scene(rng, 10, types, root_types=MOVING if types is TYPES else types)
    model, other = compile(scene), compile(replace(scene, joints=[swapped(j) for j in scene.joints]))
    q, v, _, tau, f_ext = random_state(rng, model)
    a = dynamics.aba(model, q, v, tau, f_ext)
    q2, v2, a2, tau2 = (np.zeros_like(x) for x in (q, v, a, tau))
    for joint in scene.joints:
        here, there = model.joint(joint.name), other.joint(joint.name)
        q2[there.q], v2[there.v], a2[there.v] = swapped_motion(joint, q[here.q], v[here.v], a[here.v])
        if joint.nv:  # v2 = T v, so τ = Tᵀ τ2
            transposed = [swapped_motion(joint, q[here.q], e, 0 * e)[1] for e in np.eye(joint.nv)]
            tau2[there.v] = np.linalg.solve(transposed, tau[here.v])
    ib = places(model, other)[2]
    for x, x2 in zip(dynamics.body_poses(model, q), dynamics.body_poses(other, q2), strict=True):
        assert relative(x2, x[ib]) < EXACT
    assert relative(dynamics.body_velocities(other, q2, v2), dynamics.body_velocities(model, q, v)[ib]) < EXACT
    assert relative(dynamics.aba(other, q2, v2, tau2, f_ext[ib]), a2) < EXACT


# Worlds, trees and small models


def test_many_worlds_are_single_worlds_bit_for_bit(tree: Tree, rng: np.random.Generator) -> None:
    model = tree.model
    q, v, a, tau, f_ext = random_state(rng, model, worlds=3)
    body = model.body_names[-1]
    calls: list[Callable[..., Array]] = [
        lambda w: dynamics.aba(model, q[..., w], v[..., w], tau[..., w], f_ext[..., w]),
        lambda w: dynamics.rnea(model, q[..., w], v[..., w], a[..., w], f_ext[..., w]),
        lambda w: dynamics.joint_wrenches(model, q[..., w], v[..., w], a[..., w], f_ext[..., w]),
        lambda w: dynamics.crba(model, q[..., w]),
        lambda w: dynamics.whitened(model, q[..., w]),
        lambda w: dynamics.jacobian(model, q[..., w], body, (0.1, 0.2, 0.3)),
        lambda w: dynamics.passive_forces(model, q[..., w], v[..., w]),
        lambda w: dynamics.body_poses(model, q[..., w])[1],
        lambda w: dynamics.body_velocities(model, q[..., w], v[..., w]),
        lambda w: dynamics.center_of_mass(model, q[..., w]),
        lambda w: np.stack(dynamics.energy(model, q[..., w], v[..., w])),
        lambda w: np.stack(dynamics.momentum(model, q[..., w], v[..., w])),
    ]
    for call in calls:
        np.testing.assert_array_equal(call(slice(None)), np.stack([call(w) for w in range(3)], axis=-1))


def test_length_of_quaternions_does_not_matter(rng: np.random.Generator) -> None:
    model = compile(random_scene(rng, 6, (Spherical, Free), reverse=0.5))
    q, v, _, tau, f_ext = random_state(rng, model)
    longer = q.copy()
    for k in model.quaternions:
        longer[k : k + 4] *= 3.0
    assert relative(dynamics.aba(model, longer, v, tau, f_ext), dynamics.aba(model, q, v, tau, f_ext)) < EXACT


def test_trees_of_a_forest_do_not_feel_each_other(rng: np.random.Generator) -> None:
    scenes = [random_scene(rng, 6, root_types=MOVING, reverse=0.4) for _ in range(3)]
    forest = Scene()
    for k, scene in enumerate(scenes):
        scene.gravity = forest.gravity
        name = {"world": "world", **{b.name: f"{k}{b.name}" for b in scene.bodies}}
        forest.bodies += [replace(b, name=name[b.name]) for b in scene.bodies]
        forest.joints += [
            replace(j, name=f"{k}{j.name}", parent=name[j.parent], child=name[j.child]) for j in scene.joints
        ]
    whole, models = compile(forest), [compile(s) for s in scenes]
    q, v, _, tau, f_ext = random_state(rng, whole)
    a, M = dynamics.aba(whole, q, v, tau, f_ext), dynamics.crba(whole, q)
    assert whole.trees == sum(m.trees for m in models) >= 3
    for k, model in enumerate(models):
        iq, iv = (np.r_[tuple(getattr(whole.joint(f"{k}{n}"), c) for n in model.joint_names)] for c in "qv")
        ib = [whole.body(f"{k}{n}") for n in model.body_names]
        assert relative(a[iv], dynamics.aba(model, q[iq], v[iv], tau[iv], f_ext[ib])) < EXACT
        assert relative(M[np.ix_(iv, iv)], dynamics.crba(model, q[iq])) < EXACT
        assert not M[np.ix_(iv, np.setdiff1d(np.arange(whole.nv), iv))].any()


def test_bodies_without_joints_fly_freely(rng: np.random.Generator) -> None:
    """Newton's and Euler's equations of a single body, written out."""
    body = random_body(rng, "stone")
    model = compile(Scene(bodies=[body]))
    assert model.joint_types == ("free",)
    q, v, _, _, f_ext = random_state(rng, model)
    a = dynamics.aba(model, q, v, np.zeros(6), f_ext)
    R, w, c, I = quat_to_matrix(q[3:]), v[3:], np.array(body.center_of_mass), np.array(body.inertia)
    dw = np.linalg.solve(I, R.T @ f_ext[0, 3:] - np.cross(w, I @ w))
    center = f_ext[0, :3] / body.mass + model.gravity
    expected = np.concatenate([center - R @ (np.cross(dw, c) + np.cross(w, np.cross(w, c))), dw])
    assert relative(a, expected) < EXACT


@pytest.mark.parametrize("kind", MOVING, ids=lambda t: t.__name__)
def test_one_body(kind: type[Joint], rng: np.random.Generator) -> None:
    model = compile(random_scene(rng, 1, (kind,)))
    q, v, a, _, f_ext = random_state(rng, model)
    assert relative(dynamics.aba(model, q, v, dynamics.rnea(model, q, v, a, f_ext), f_ext), a) < EXACT


@pytest.mark.parametrize("worlds", [None, 3])
def test_model_without_degrees_of_freedom(worlds: int | None, rng: np.random.Generator) -> None:
    scene = random_scene(rng, 4, (Fixed,), reverse=0.5)
    model = compile(scene)
    q, v, a, tau, f_ext = random_state(rng, model, worlds)
    tail = () if worlds is None else (worlds,)
    assert model.nq == model.nv == 0
    assert dynamics.aba(model, q, v, tau, f_ext).shape == (0, *tail)
    assert dynamics.rnea(model, q, v, a, f_ext).shape == (0, *tail)
    assert dynamics.crba(model, q).shape == dynamics.whitened(model, q).shape == (0, 0, *tail)
    assert dynamics.jacobian(model, q, "b0").shape == (6, 0, *tail)
    assert dynamics.passive_forces(model, q, v).shape == (0, *tail)
    assert not np.any(dynamics.body_velocities(model, q, v))
    assert not np.any(dynamics.momentum(model, q, v))
    kinetic, fallen = dynamics.energy(model, q, v)
    weighed = -model.mass.sum() * np.tensordot(model.gravity, dynamics.center_of_mass(model, q), 1)
    assert not np.any(kinetic)
    assert relative(fallen, weighed) < EXACT


def test_wrenches_of_joints_hold_what_is_beyond_them(tree: Tree) -> None:
    """At rest each joint carries weights and external forces of its subtree."""
    model, f_ext = tree.model, tree.state.f_ext
    q, v = tree.state.q, np.zeros(model.nv)
    x, R = dynamics.body_poses(model, q)
    origins = x - np.einsum("bij,bkj,bk->bi", R, model.body_rot, model.body_pos)
    y, _ = centers(tree)
    force = f_ext[:, :3] + model.mass[:, None] * model.gravity
    expected = np.zeros((model.nb, 6))
    for j in range(model.nb):
        i = j
        while i >= 0:  # every joint between body j and the world
            expected[i] -= np.concatenate([force[j], f_ext[j, 3:] + np.cross(y[j] - origins[i], force[j])])
            i = model.parent[i]
    assert relative(dynamics.joint_wrenches(model, q, v, v, f_ext), expected) < EXACT


# Known forces


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
