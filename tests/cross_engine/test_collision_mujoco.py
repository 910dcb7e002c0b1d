"""The search for contacts of angular shapes finds every pair that MuJoCo finds overlapping, and no other."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import sharnir as sh

DEEP = 1e-6  # m: less is a matter of rounding


def crowd(seed: int, count: int = 24) -> sh.Scene:
    """Long and flat bodies at random places, many of which overlap."""
    rng = np.random.default_rng(seed)
    scene = sh.Scene(name="crowd", gravity=(0.0, 0.0, 0.0))
    for k in range(count):
        long, wide, flat = rng.uniform((0.4, 0.1, 0.02), (0.8, 0.3, 0.06))
        points = rng.normal(size=(60, 3)) @ np.diag((long, wide, flat)) / 3
        shape = [
            sh.Box(size=(long, wide, flat)), sh.Cylinder(radius=wide / 2, length=long), sh.ConvexHull(points=points),
            sh.Capsule(radius=flat, length=long),
        ][k % 4]  # fmt: skip
        turn = rng.normal(size=4)
        body = sh.Body(name=f"body{k}", shapes=[shape], position=rng.uniform(-0.6, 0.6, 3), orientation=turn)
        scene.add(body)
        scene.add(sh.Free(name=f"free{k}", parent="world", child=f"body{k}"))
    return scene


@pytest.mark.parametrize("seed", range(4))
def test_all_overlapping_pairs_are_found(seed):
    scene = crowd(seed)
    model = mujoco.MjModel.from_xml_string(scene.to_mjcf())
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    names = [model.body(int(b)).name for b in model.geom_bodyid]
    theirs = {frozenset(names[g] for g in c.geom) for c in data.contact if c.dist < -DEEP}
    sim = sh.Simulation(scene, dt=1e-9)
    sim.step(1)
    ours = {frozenset(c.bodies) for c in sim.contacts() if c.gap < -DEEP}
    assert ours == theirs and len(theirs) > 10
