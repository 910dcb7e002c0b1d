"""Random trees, all joint types in both directions of description."""

from __future__ import annotations

import numpy as np
import pytest
from moving_trees import MOVING, TREES, Tree
from random_trees import random_scene, random_state

from sharnir import compile


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
