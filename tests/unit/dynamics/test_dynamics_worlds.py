"""Dynamics of many worlds, of forests, of single bodies and of none that move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from moving_trees import EXACT, MOVING, Tree
from random_trees import Array, random_body, random_scene, random_state, relative

from sharnir import Fixed, Free, Scene, Spherical, compile, dynamics
from sharnir.rotations import quat_to_matrix
from sharnir.spec.joints import Joint


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
