"""Fields of scratch and state that share memory: that they do, and that no function reads or writes both of a pair."""

from __future__ import annotations

import ast
import inspect
import pkgutil
from importlib import import_module
from itertools import combinations

import numpy as np
import pytest
from engine_parts import WORLD, Rows

import sharnir.impulse
from sharnir.enums import JointType
from sharnir.impulse.allocate import ALIASES, STATE_ALIASES
from sharnir.impulse.data import STATE_SAVED, Scratch, State
from sharnir.impulse.row_kinds import RowKind

STRUCTS = {"work": Scratch, "state": State}  # by the name of the field of the context
ALIASES_OF = {"work": ALIASES, "state": STATE_ALIASES}
ARRAYS = {
    part: {name for name, var in struct.vars.items() if hasattr(var.type, "ndim")} for part, struct in STRUCTS.items()
}
each_part = pytest.mark.parametrize("part", STRUCTS)


def context():
    """Scratch and state with room for contacts, loop joints, scalar rows, islands and the Delassus matrix."""
    rng = np.random.default_rng(0)
    return Rows(
        rng, joints=[((0, 1), JointType.REVOLUTE)], contacts=[(0, 1), (2, WORLD)], scalars=[((1,), RowKind.BOUND)]
    ).ctx


@pytest.mark.parametrize(
    ("part", "alias", "name"), [(part, *pair) for part, pairs in ALIASES_OF.items() for pair in pairs.items()]
)
def test_an_alias_is_the_memory_of_its_field(part, alias, name):
    struct = getattr(context(), part)
    one, other = getattr(struct, alias), getattr(struct, name)
    assert one.ptr == other.ptr and one.shape == other.shape and one.dtype == other.dtype
    assert other.ptr is not None and other.size > 0


@each_part
def test_no_other_fields_share_memory(part):
    """Compared by address ranges; empty arrays have none."""
    struct = getattr(context(), part)
    spans = {}
    for name in ARRAYS[part]:
        array = getattr(struct, name)
        if name not in ALIASES_OF[part] and array is not None and array.size > 0:
            spans[name] = (array.ptr, array.ptr + array.shape[0] * array.strides[0])
    assert len(spans) > {"work": 60, "state": 15}[part]
    for (a, (start_a, end_a)), (b, (start_b, end_b)) in combinations(spans.items(), 2):
        assert end_a <= start_b or end_b <= start_a, f"{a} and {b} overlap"


@each_part
def test_aliases_have_a_name_of_their_own_and_name_a_field(part):
    aliases = ALIASES_OF[part]
    assert set(aliases) <= ARRAYS[part] and set(aliases.values()) <= ARRAYS[part]
    assert not set(aliases) & set(aliases.values())  # no alias of an alias


def test_what_is_saved_has_one_name():
    assert not set(STATE_SAVED) & {*STATE_ALIASES, *STATE_ALIASES.values()}


def fields_by_function(part: str) -> dict[str, set[str]]:
    """Fields of a part of the context that each function of the engine names."""
    out: dict[str, set[str]] = {}
    for module in pkgutil.walk_packages(sharnir.impulse.__path__, "sharnir.impulse."):
        if module.name == "sharnir.impulse.allocate":
            continue
        tree = ast.parse(inspect.getsource(import_module(module.name)))
        for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
            names = {
                node.attr
                for node in ast.walk(function)
                if isinstance(node, ast.Attribute) and ast.unparse(node.value).endswith(part)
            }
            out[f"{module.name}.{function.name}"] = names
    return out


@pytest.mark.parametrize(("part", "least"), [("work", 30), ("state", 4)])
def test_no_function_names_two_fields_of_the_same_memory(part, least):
    """Within one function both would be in use at once. Stages that run in turns are not looked at. least: uses of
    aliases that there are at least."""
    aliases = ALIASES_OF[part]
    memory = {name: aliases.get(name, name) for name in ARRAYS[part]}
    functions = fields_by_function(part)
    assert sum(len(names & set(aliases)) for names in functions.values()) > least
    for function, names in functions.items():
        used = [memory[name] for name in names if name in memory]
        twice = {name for name in used if used.count(name) > 1}
        assert not twice, f"{function} uses two names of {', '.join(sorted(twice))}"
