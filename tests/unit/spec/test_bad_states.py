"""States, forces, points, worlds and devices that dynamics functions cannot take are refused by name."""

import numpy as np
import pytest
from bad_scenes import INF, NAN, make
from refusal import refused

import sharnir
from sharnir import Spherical, compile, dynamics


@pytest.fixture(scope="module")
def model():
    return compile(make(kind=Spherical))


STATE = {"q": [0.0, 0.0, 0.0, 1.0], "v": [0.0, 0.0, 0.0], "tau": [0.0, 0.0, 0.0]}


def wrong_states():
    """(id, argument, bad value, how the message shows it)"""
    for name, good in STATE.items():
        n = len(good)
        yield f"{name} short", name, good[1:], f"given [{n - 1}]"
        yield f"{name} long", name, [*good, 0.0], f"given [{n + 1}]"
        yield f"{name} number", name, 1.0, "given []"
        yield f"{name} row", name, [good], f"given [1, {n}]"
        yield f"{name} no worlds", name, np.zeros((n, 0)), f"given [{n}, 0]"
        yield f"{name} cube", name, np.zeros((n, 1, 1)), f"given [{n}, 1, 1]"
        yield f"{name} nan", name, [*good[:-1], NAN], f"{name}[{n - 1}] is not finite: given nan"
        yield f"{name} inf", name, [*good[:-1], INF], f"{name}[{n - 1}] is not finite: given inf"
        yield f"{name} text", name, "abc", "'abc'"
        yield f"{name} texts", name, ["abc"] * n, "abc"
        yield f"{name} None", name, None, "None"
        yield f"{name} ragged", name, [[0.0], [0.0, 1.0]], "[0.0, 1.0]"
        yield f"{name} complex", name, [1j] * n, "1j"
        yield f"{name} huge", name, [10**400] * n, "10000"
        yield f"{name} object", name, object(), "object"


@pytest.mark.parametrize(("name", "value", "shown"), [pytest.param(*c, id=i) for i, *c in wrong_states()])
def test_a_wrong_state_is_refused(model, name, value, shown):
    with refused("model 'test'", name, shown, "allowed"):
        dynamics.aba(model, **{**STATE, name: value})


def test_a_missing_state_never_falls_back_to_an_earlier_one(model):
    dynamics.aba(model, **{**STATE, "tau": [1.0, 2.0, 3.0]})
    with refused("model 'test'", "tau", "None", "allowed"):
        dynamics.aba(model, STATE["q"], STATE["v"], None)


def test_states_of_different_numbers_of_worlds_are_refused(model):
    q, v, tau = np.tile([[0.0], [0.0], [0.0], [1.0]], 2), np.zeros((3, 3)), np.zeros((3, 2))
    with refused("model 'test'", "q [4, 2], v [3, 3], tau [3, 2]", "allowed"):
        dynamics.aba(model, q, v, tau)


def test_a_zero_quaternion_in_q_is_refused(model):
    with refused("model 'test'", "q[0:4]", "zero", "allowed"):
        dynamics.aba(model, [0.0] * 4, STATE["v"], STATE["tau"])


@pytest.mark.parametrize(
    ("force", "shown"),
    [
        (np.zeros(6), "given [6]"), (np.zeros((2, 6)), "given [2, 6]"), (np.zeros((1, 3)), "given [1, 3]"),
        (np.full((1, 6), NAN), "nan"), ("abc", "'abc'"), ([[1.0], [1.0, 2.0]], "[1.0, 2.0]"),
    ],
    ids=["vector", "rows", "columns", "nan", "text", "ragged"],
)  # fmt: skip
def test_a_wrong_external_force_is_refused(model, force, shown):
    with refused("model 'test'", "f_ext", shown, "allowed"):
        dynamics.aba(model, **STATE, f_ext=force)


@pytest.mark.parametrize(
    "point", ["abc", None, 1.0, (1.0, 2.0), (NAN, 0, 0), [[1.0, 2.0, 3.0]], [[1], [2, 3]]], ids=str
)
def test_a_wrong_point_of_a_jacobian_is_refused(model, point):
    with refused("body 'bob'", "point", "given", "allowed"):
        dynamics.jacobian(model, STATE["q"], "bob", point)


def test_a_jacobian_of_an_unknown_body_is_refused_with_the_nearest_name(model):
    with refused("unknown body 'bobb'", "did you mean 'bob'?"):
        dynamics.jacobian(model, STATE["q"], "bobb")


@pytest.mark.parametrize("name", ["aba", "crba", "jacobian", "energy"])
def test_dynamics_of_a_scene_instead_of_a_model_is_refused(name):
    arguments = {"aba": [[], [], []], "crba": [[]], "jacobian": [[], "bob"], "energy": [[], []]}[name]
    with refused("not a model", "given Scene", "allowed"):
        getattr(dynamics, name)(make(), *arguments)


def test_an_evaluator_of_a_scene_instead_of_a_model_is_refused():
    with refused("not a model", "given Scene", "allowed"):
        dynamics.Dynamics(make())


@pytest.mark.parametrize("worlds", [0, -1, 1.5, "2", None, True], ids=repr)
def test_a_wrong_number_of_worlds_is_refused(model, worlds):
    with refused("worlds", f"given {worlds!r}", "allowed: a whole number ≥ 1"):
        dynamics.Dynamics(model, worlds)


@pytest.mark.parametrize("device", ["gpu", "cuda:77", 5, ""], ids=repr)
def test_an_unknown_device_is_refused(model, device):
    with refused("device", repr(device)):
        dynamics.aba(model, **STATE, device=device)


@pytest.mark.parametrize("name", ["tripel", None, 64, ""], ids=repr)
def test_an_unknown_precision_is_refused(name):
    with refused("precision", f"given {name!r}", "allowed: 'double' or 'single'"):
        sharnir.set_precision(name)
