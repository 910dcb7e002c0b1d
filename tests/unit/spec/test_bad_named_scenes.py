"""Unknown named scenes and their wrong parameters are refused by name."""

import pytest
from bad_scenes import NAN
from refusal import refused

from sharnir import compile, scenes


def test_an_unknown_named_scene_is_refused_with_the_nearest_name():
    with refused("unknown scene 'pendulm'", "did you mean 'pendulum'?"):
        scenes.make("pendulm")


def test_an_unknown_parameter_of_a_named_scene_is_refused():
    with refused("scene 'rods'", "unknown parameter 'm'", "Known: n, angle"):
        scenes.make("rods", m=3)


@pytest.mark.parametrize("scene", ["rods", "n_four_bar"])
@pytest.mark.parametrize("n", [0, -1, 1.5, "2", None, True, NAN], ids=repr)
def test_a_wrong_count_in_a_named_scene_is_refused(scene, n):
    with refused(f"scene {scene!r}", f"given {n!r}", "allowed: a whole number ≥ 1"):
        scenes.make(scene, n=n)


PARAMETERS = {
    "pendulum": ("length", "angle"), "double_pendulum": ("angle1", "angle2"), "rods": ("angle",),
    "spherical_pendulum": ("length", "tilt", "swirl"), "free_box": ("velocity", "spin", "gravity"),
}  # fmt: skip


@pytest.mark.parametrize(("scene", "parameter"), [(s, p) for s, names in PARAMETERS.items() for p in names])
@pytest.mark.parametrize("value", [NAN, "abc", [1.0, 2.0]], ids=repr)
def test_a_wrong_parameter_of_a_named_scene_is_refused(scene, parameter, value):
    with refused("given", "allowed"):
        compile(scenes.make(scene, **{parameter: value}))
