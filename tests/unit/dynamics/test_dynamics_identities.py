"""Dynamics of random trees: identities between the algorithms and finite differences."""

from __future__ import annotations

import numpy as np
from moving_trees import EXACT, SLOPES, Tree, centers, holding_forces, potential, rate, slopes
from random_trees import Array, random_scene, random_state, relative

from sharnir import compile, dynamics

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
