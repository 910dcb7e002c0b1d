"""Mappings of keys and gamepads: what is read, what is refused, and what comes of a held stick."""

from __future__ import annotations

import pytest
from refusal import refused

import sharnir as sh
from sharnir import scenes
from sharnir.viewer.input_mapping import Axis, Output, read_mapping

HEAD = '[[axis]]\nname = "a"\nkeys = ["KeyW", "KeyS"]\n'
TAIL = '[[output]]\nmotor = "waist"\nmix = { a = 1.0 }\n'


@pytest.fixture(scope="module")
def model():
    return sh.compile(scenes.make("grasp_arm"))


@pytest.mark.parametrize("name", [n for n in scenes.names() if scenes.drive_file(n) is not None])
def test_mappings_of_named_scenes_fit_them(name):
    mapping = read_mapping(scenes.drive_file(name), sh.compile(scenes.make(name)))
    assert mapping.title and mapping.axes and mapping.outputs
    assert all(axis.words() for axis in mapping.axes)


def test_dead_zone_and_curve():
    axis = Axis("x", gamepad=1, dead_zone=0.2, curve=2.0, invert=True)
    values = [axis.value(set(), [0.0, x], []) for x in (0.0, 0.2, -0.2, -0.6, 0.6, -1.0, 1.0)]
    assert values == pytest.approx([0, 0, 0, 0.25, -0.25, 1, -1])
    assert axis.value(set(), [], []) == 0.0


def test_keys_and_buttons_and_which_of_them_counts():
    axis = Axis("x", keys=("KeyW", "KeyS"), gamepad=0, buttons=(7, 6), dead_zone=0.0)
    assert axis.value({"KeyW"}, [], []) == 1.0
    assert axis.value({"KeyS", "KeyQ"}, [], []) == -1.0
    assert axis.value({"KeyW", "KeyS"}, [0.25], []) == 0.25
    assert axis.value(set(), [0.25], [0.0] * 6 + [0.75, 0.0]) == -0.75


def test_outputs_are_set_or_moved_within_their_limits():
    fixed = Output(0, None, "set", ((0, 2.0), (1, -1.0)), -1.5, 1.5)
    assert [fixed.moved(9.0, a, 0.1) for a in ((0.5, 0.0), (1.0, -1.0), (0.0, 1.0))] == [1.0, 1.5, -1.0]
    rate = Output(0, None, "rate", ((0, 2.0),), -1.0, 1.0)
    assert rate.moved(0.5, (0.5,), 0.1) == pytest.approx(0.6)
    assert rate.moved(0.95, (1.0,), 0.1) == 1.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("axis = 3", "axis is something else"),
        ("[[axes]]", "unknown field 'axes'; did you mean 'axis'?"),
        ("[[axis]]\n", "name is not text"),
        (HEAD + "keyz = 1\n", "unknown field 'keyz'"),
        ('[[axis]]\nname = "a"\nkeys = "KeyW"\n', "two names"),
        (HEAD + "gamepad = 8\n", "an axis from 0 to 7"),
        (HEAD + "buttons = [1]\n", "two numbers from 0 to 31"),
        (HEAD + "dead_zone = 1.0\n", "dead_zone is out of range"),
        (HEAD + "curve = 0\n", "curve is out of range"),
        (HEAD + HEAD, "a name of its own"),
        (HEAD + TAIL.replace("waist", "waste"), "unknown motor 'waste'; did you mean 'waist'?"),
        (HEAD + TAIL.replace("a =", "b ="), "unknown axis 'b'"),
        (HEAD + TAIL + 'actuator = "x"\n', "moves not one thing"),
        (HEAD + TAIL + 'mode = "jump"\n', "unknown mode 'jump'"),
        (HEAD + TAIL + "limits = 3\n", "two numbers"),
        ("= 3", "not TOML"),
    ],
)
def test_mistakes_are_one_sentence(model, tmp_path, text, message):
    file = tmp_path / "drive.toml"
    file.write_text(text)
    with refused(message):
        read_mapping(file, model)


def test_a_file_that_is_not_there_is_one_sentence(model, tmp_path):
    with refused("cannot be read"):
        read_mapping(tmp_path / "none.toml", model)
