"""Mechanisms for benchmarks: hinges with random axes and places, nothing aligned that would flatter anyone."""

from __future__ import annotations

from typing import Any

import numpy as np

from sharnir.spec.elements import Body, Frame
from sharnir.spec.joints import Free, Revolute
from sharnir.spec.scene import WORLD, Scene

LIMBS = (6, 6, 6, 6, 5)  # a free root with five limbs: 29 hinges


def random_body(rng: np.random.Generator, name: str) -> Body:
    """About 1 kg, some decimetres."""
    half = rng.normal(size=(3, 3)) * 0.1
    second_moment = half @ half.T + 1e-3 * np.eye(3)
    inertia = np.trace(second_moment) * np.eye(3) - second_moment
    return Body(name=name, mass=rng.uniform(0.5, 2.0), center_of_mass=rng.normal(size=3) * 0.1, inertia=inertia)


def hinge(rng: np.random.Generator, parent: str, child: str) -> Revolute:
    """A hinge somewhere on the parent, at the child's origin."""
    place = Frame(anchor=rng.normal(size=3) * 0.3, axis=rng.normal(size=3), x_axis=rng.normal(size=3))
    return Revolute(name=f"to_{child}", parent=parent, child=child, parent_frame=place, child_frame=Frame())


def chain(links: int, seed: int = 0) -> Scene:
    """A chain of hinges on the world."""
    rng = np.random.default_rng(seed)
    scene = Scene(name=f"chain of {links}")
    for k in range(links):
        scene.add(random_body(rng, f"link{k}"))
        scene.add(hinge(rng, f"link{k - 1}" if k else WORLD, f"link{k}"))
    return scene


def limbs(seed: int = 0) -> Scene:
    """A free root and 29 hinges in five limbs."""
    rng = np.random.default_rng(seed)
    scene = Scene(name="free root + 29 hinges")
    scene.add(random_body(rng, "root"))
    scene.add(Free(name="flight", parent=WORLD, child="root"))
    for limb, length in enumerate(LIMBS):
        parent = "root"
        for k in range(length):
            child = f"limb{limb}_{k}"
            scene.add(random_body(rng, child))
            scene.add(hinge(rng, parent, child))
            parent = child
    return scene


def states(model: Any, worlds: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random q, v, tau [·, worlds] with unit quaternions."""
    rng = np.random.default_rng(seed)
    q, v, tau = (rng.normal(size=(n, worlds)) for n in (model.nq, model.nv, model.nv))
    for k in model.quaternions:
        q[k : k + 4] /= np.linalg.norm(q[k : k + 4], axis=0)
    return q, v, tau
