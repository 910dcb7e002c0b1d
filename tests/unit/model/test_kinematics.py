"""Kinematics of a compiled model in numpy, against the kernels of `sharnir.dynamics`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from random_trees import random_scene, random_state

import sharnir as sh
from sharnir import dynamics
from sharnir.model.kinematics import link_axes, link_poses, spatial_inertia

ROUNDING = 1e-12  # of sizes around one, along chains of up to ten links


@pytest.mark.parametrize("seed", range(5))
def test_poses_put_the_centre_of_mass_where_the_kernels_do(seed):
    rng = np.random.default_rng(seed)
    model = sh.compile(random_scene(rng, 10, reverse=0.3))
    for _ in range(3):
        q = random_state(rng, model).q
        centres = [pose.x + pose.R @ com for pose, com in zip(link_poses(model, q), model.com, strict=True)]
        weighted = np.average(centres, axis=0, weights=model.mass)
        np.testing.assert_allclose(weighted, dynamics.center_of_mass(model, q), atol=10 * ROUNDING)


@pytest.mark.parametrize("seed", range(5))
def test_axes_and_inertias_make_the_mass_matrix_of_the_composite_body_algorithm(seed):
    """M = Σ Jᵀ I J over links, J the axes of all their ancestors about the world's origin."""
    rng = np.random.default_rng(10 + seed)
    model = sh.compile(random_scene(rng, 10, reverse=0.3))
    model = replace(model, q0=random_state(rng, model).q)
    poses, M, origin = link_poses(model, model.q0), np.zeros((model.nv, model.nv)), np.zeros(3)
    axes = [link_axes(model, i, poses, origin) for i in range(model.nb)]
    for i in range(model.nb):
        J, link = np.zeros((6, model.nv)), i
        while link >= 0:
            for d, axis in axes[link].items():
                J[:, d] = axis
            link = int(model.parent[link])
        M += J.T @ spatial_inertia(model, i, poses[i], origin) @ J
    np.testing.assert_allclose(M, dynamics.crba(model, model.q0), atol=1e-11 * np.abs(M).max())
