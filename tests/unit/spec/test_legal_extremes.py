"""What is unusual but legal is accepted without a warning: points, rods, stars, arrays, scenes without anything."""

import sys

import numpy as np
import pytest
from bad_scenes import BOX, accepted, kind_of, make, two_links

import sharnir
from sharnir import Fixed, Free, Helical, Prismatic, Scene, Sphere, dynamics, scenes

THIN = (1.0, 1.0, 0.0)
LEGAL = {
    "point mass on a hinge": make({"inertia": None}),
    "point mass on a slide": make({"inertia": None}, kind=Prismatic),
    "thin rod across a hinge": make({"inertia": (0.0, 1.0, 1.0)}),
    "thin rod on two hinges": two_links((0, 0, 1), (0, 1, 0), inertia=(0.0, 1.0, 1.0)),
    "thin rod along an offset hinge": make({"inertia": THIN}),
    "massless link before a massive one": two_links((0, 0, 1), (0, 1, 0)),
    "point mass on a screw along its axis": make({"inertia": None, "position": (0, 0, 0)}, kind=Helical),
    "massless body with a rotor": make({"mass": 0.0, "inertia": None}, {"armature": 1e-6}),
    "free point mass with rotors": make({"inertia": None}, {"armature": (0, 0, 0, 1e-6, 1e-6, 1e-6)}, kind=Free),
    "flat plate": make({"inertia": (1.0, 2.0, 3.0)}),
    "mass of a feather": make({"mass": 1e-30, "inertia": None}),
    "mass of a star": make({"mass": 2e30, "inertia": (1e46, 1e46, 1e46)}),
    "zero gravity": make(gravity=(0, 0, 0)),
    "integers": make({"mass": 1, "inertia": (1, 1, 1), "position": (1, 0, 0)}, {"axis": (0, 1, 0), "damping": 1}),
    "large integers": make({"mass": 10**25}),
    "numpy numbers": make({"mass": np.float32(1), "position": np.arange(3)}, {"position": np.array(0.5)}),
    "a mass of zero beside shapes": make({"mass": 0, "inertia": BOX, "shapes": [Sphere(radius=1.0)]}),
    "the same name for a body and a joint": make(joint={"name": "bob"}),
    "a spring of no length at rest": make(spring={"child_anchor": (-1.0, 0.0, 0.0), "stiffness": 1.0}),
}


@pytest.mark.parametrize("case", LEGAL)
def test_a_legal_extreme_is_accepted(case):
    model = accepted(LEGAL[case])
    qdd = dynamics.aba(model, model.q0, model.v0, np.zeros(model.nv), springs=True)
    assert np.isfinite(qdd).all()


def set_after_building(target, field, value):
    scene = make()
    setattr(getattr(scene, target)[0] if target else scene, field, value)
    return scene


@pytest.mark.parametrize(
    ("target", "field", "value"),
    [
        ("bodies", "position", np.array([1.0, 0.0, 0.0])),
        ("bodies", "position", [1.0, 0.0, 0.0]),
        ("bodies", "mass", np.float32(1.0)),
        ("bodies", "mass", np.int64(1)),
        ("bodies", "inertia", np.diag(BOX)),
        ("bodies", "shapes", [Sphere(radius=1.0)]),
        ("joints", "position", np.array(0.5)),
        ("springs", "child_anchor", np.zeros(3)),
        ("", "gravity", np.zeros(3)),
    ],
    ids=kind_of,
)
def test_values_set_after_building_may_be_arrays_and_lists_too(target, field, value):
    accepted(set_after_building(target, field, value))


def test_work_to_compile_a_chain_grows_with_its_length():
    """Counted in calls of functions: twice the links take at most 2.2 times as many."""
    calls = []
    for n in (500, 1000):
        scene, count = scenes.make("rods", n=n), 0

        def note(_: object, event: str, __: object) -> None:
            nonlocal count
            count += event in ("call", "c_call")

        sys.setprofile(note)
        try:
            model = sharnir.compile(scene)
        finally:
            sys.setprofile(None)
        assert model.nv == n
        calls.append(count)
    assert calls[1] < 2.2 * calls[0], calls


def test_an_empty_scene_is_an_empty_model():
    model = accepted(Scene())
    assert (model.nb, model.nq, model.nv, model.loops, model.trees) == (0, 0, 0, 0, 0)
    assert sharnir.simulate(model, 1.0).finished
    assert dynamics.aba(model, [], [], []).shape == (0,)
    assert dynamics.crba(model, []).shape == (0, 0)
    assert dynamics.body_poses(model, [])[0].shape == (0, 3)


def test_a_scene_without_freedom_has_dynamics():
    model = accepted(make(kind=Fixed))
    assert model.nv == 0
    assert sharnir.simulate(model, 1.0).finished
    assert dynamics.aba(model, [], [], []).shape == (0,)
    np.testing.assert_allclose(dynamics.joint_wrenches(model, [], [], [])[0], [0, 0, 9.81, 0, -9.81, 0], atol=1e-12)
