"""What tests of the dynamics of random trees share: tolerances, central differences, sums over bodies."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from random_trees import TYPES, Array, State, moved

from sharnir import Fixed, Model, Scene, dynamics

TREES = 60
MOVING = tuple(t for t in TYPES if t is not Fixed)
EXACT = 1e-10  # identities in double precision: rounding times cond M; the worst measured is 6e-13
SLOPES = 1e-7  # central differences: truncation of the order h² and rounding ε/h; the worst measured is 7e-10
STEP = 1e-5  # m or rad


class Tree(NamedTuple):
    scene: Scene
    model: Model
    state: State


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
