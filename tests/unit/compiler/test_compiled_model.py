"""A compiled model is read-only, can be copied, and finds bodies and joints by name."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from blocks import LOOSE, block, four_bar, pitch_of
from random_trees import random_scene

from sharnir import (
    Actuator,
    Body,
    ContactPair,
    ConvexHull,
    Coupling,
    Free,
    HalfSpace,
    HeightField,
    Mesh,
    ModelError,
    Motor,
    Revolute,
    Scene,
    Sphere,
    Spring,
    compile,
)
from sharnir.spec.joints import JOINT_TYPES

# --- read-only arrays ------------------------------------------------------------------------------------------------


def rich_model():
    scene = random_scene(np.random.default_rng(3), 8, root_types=LOOSE)
    scene.add(Spring(name="spring", parent="world", child="b0", stiffness=1.0))
    scene.add(Free(name="loop", parent="b0", child="b1"))
    scene.add(block("floating"))
    scene.add(Motor(name="motor", joint="loop", velocity=1.0))
    scene.add(Coupling(name="gear", leader="loop", follower="loop", follower_coordinate=1))
    scene.add(Actuator(name="drive", joints=["loop"]))
    scene.add(Body(name="ball", shapes=[Sphere(radius=0.1)]))
    scene.add(ContactPair(first="ball", second="world", touch=False))
    scene.add(HalfSpace())
    scene.add(ConvexHull(points=[[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]))
    scene.add(HeightField(heights=[[0, 0], [0, 1]], size=(1, 1)))
    scene.add(Mesh(vertices=[[0, 0, 0], [1, 0, 0], [0, 1, 0]], faces=[[0, 1, 2]]))
    return compile(scene)


def test_every_array_of_a_model_is_read_only():
    model = rich_model()
    arrays = {f.name: getattr(model, f.name) for f in fields(model)}
    arrays = {n: a for n, a in arrays.items() if isinstance(a, np.ndarray)} | {"quaternions": model.quaternions}
    assert len(arrays) > 30
    for name, array in arrays.items():
        assert array.size, name
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_fields_of_a_model_cannot_be_replaced():
    with pytest.raises(FrozenInstanceError):
        rich_model().mass = np.zeros(1)


# --- lookups ---------------------------------------------------------------------------------------------------------


def test_bodies_and_joints_are_found_by_name():
    model = compile(four_bar())
    assert [model.body(n) for n in model.body_names] == list(range(model.nb))
    for i, name in enumerate(model.joint_names[: model.nb]):
        joint = model.joint(name)
        assert (joint.name, joint.type, joint.closes_loop) == (name, "revolute", False)
        assert (joint.q, joint.v) == (slice(i, i + 1), slice(i, i + 1))
    assert model.joint(model.joint_names[-1]).closes_loop


@pytest.mark.parametrize(("find", "wrong", "nearest"), [("body", "uprigt0", "upright0"), ("joint", "Left0", "left0")])
def test_an_unknown_name_is_answered_with_the_nearest(find, wrong, nearest):
    model = compile(four_bar())
    with pytest.raises(ModelError, match=rf"unknown {find} '{wrong}'.*did you mean '{nearest}'\?"):
        getattr(model, find)(wrong)


@pytest.mark.parametrize("find", ["body", "joint"])
@pytest.mark.parametrize("wrong", [None, 0, "", ["left0"], {}], ids=repr)
def test_a_lookup_of_what_is_no_name_is_refused(find, wrong):
    with pytest.raises(ModelError, match=f"unknown {find} .*Known: "):
        getattr(compile(four_bar()), find)(wrong)


@pytest.mark.parametrize("kind", JOINT_TYPES.values(), ids=JOINT_TYPES)
def test_a_joint_has_its_number_of_coordinates(kind):
    scene = Scene(bodies=[block("a"), block("b")])
    scene.add(Revolute(name="first", parent="world", child="a"))
    scene.add(kind(name="second", parent="a", child="b", **pitch_of(kind)))
    model = compile(scene)
    assert model.joint("second").q == slice(1, 1 + kind.nq)
    assert model.joint("second").v == slice(1, 1 + kind.nv)
    assert (model.nq, model.nv) == (1 + kind.nq, 1 + kind.nv)


def test_a_used_model_can_be_copied_and_sent_elsewhere():
    import copy
    import pickle

    from sharnir import dynamics

    model = compile(four_bar())
    before = dynamics.aba(model, model.q0, model.v0, np.zeros(model.nv))
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(dynamics.aba(other, other.q0, other.v0, np.zeros(other.nv)), before)
        assert not other.mass.flags.writeable


def test_a_pickle_with_old_names_of_fields_loads():
    """Pickles of earlier versions have `hand` and `gathers`."""
    model = compile(four_bar())
    state = model.__getstate__()
    state |= {"hand": state.pop("inertia_handoff"), "gathers": state.pop("has_branches")}
    old = object.__new__(type(model))
    old.__setstate__(state)
    assert old.fingerprint == model.fingerprint and not hasattr(old, "hand")
