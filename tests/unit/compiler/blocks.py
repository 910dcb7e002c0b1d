"""Bodies, scenes and a check of the tree that tests of the compiler share."""

from __future__ import annotations

import numpy as np
from random_trees import TYPES

from sharnir import Body, Fixed, Helical, scenes

MOMENTS = (0.4, 0.5, 0.6)
LOOSE = tuple(t for t in TYPES if t is not Fixed)


def block(name, **changes):
    """A body that is regular on any joint."""
    return Body(**{"name": name, "mass": 1.0, "inertia": MOMENTS, **changes})


def pitch_of(kind):
    return {"pitch": 0.3} if kind is Helical else {}


def check_tree(scene, model):
    """λ(i) < i, and every body and joint of the scene appears once, joints where they connect the right bodies."""
    assert (model.parent < np.arange(model.nb)).all()
    assert sorted(model.body_names) == sorted(b.name for b in scene.bodies)
    implicit = set(model.joint_names) - {j.name for j in scene.joints}
    assert len(model.joint_names) == len(scene.joints) + len(implicit) == model.nb + model.loops
    names = ("world", *model.body_names)
    joints = {j.name: j for j in scene.joints}
    for i, joint in enumerate(model.joint_names):
        if i < model.nb:
            ends = names[model.parent[i] + 1], names[i + 1]
        else:
            ends = tuple(names[k + 1] for k in model.loop_link[i - model.nb])
        if joint in joints:
            assert set(ends) == {joints[joint].parent, joints[joint].child}
        else:
            assert ends[0] == "world"
    return implicit


def four_bar():
    return scenes.make("n_four_bar", n=1)
