"""Fields of the scratch that share memory: that they do, and that no function reads or writes both of a pair."""

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
from sharnir.impulse.allocate import ALIASES
from sharnir.impulse.data import Scratch
from sharnir.impulse.row_kinds import RowKind

ARRAYS = {name: var for name, var in Scratch.vars.items() if hasattr(var.type, "ndim")}


def scratch():
    """Scratch with room for contacts, scalar rows, islands and the Delassus matrix."""
    rows = Rows(np.random.default_rng(0), contacts=[(0, 1), (2, WORLD)], scalars=[((1,), RowKind.BOUND)])
    return rows.ctx.work


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_an_alias_is_the_memory_of_its_field(alias, name):
    work = scratch()
    one, other = getattr(work, alias), getattr(work, name)
    assert one.ptr == other.ptr and one.shape == other.shape and one.dtype == other.dtype
    assert other.ptr is not None and other.size > 0


def test_no_other_fields_share_memory():
    """Compared by address ranges; empty arrays have none."""
    work = scratch()
    spans = {}
    for name in ARRAYS:
        array = getattr(work, name)
        if name not in ALIASES and array is not None and array.size > 0:
            spans[name] = (array.ptr, array.ptr + array.capacity)
    assert len(spans) > 60
    for (a, (start_a, end_a)), (b, (start_b, end_b)) in combinations(spans.items(), 2):
        assert end_a <= start_b or end_b <= start_a, f"{a} and {b} overlap"


def test_aliases_have_a_name_of_their_own_and_name_a_field():
    assert set(ALIASES) <= set(ARRAYS) and set(ALIASES.values()) <= set(ARRAYS)
    assert not set(ALIASES) & set(ALIASES.values())  # no alias of an alias


def fields_by_function() -> dict[str, set[str]]:
    """Fields of `Scratch` that each function of the engine names."""
    out: dict[str, set[str]] = {}
    for module in pkgutil.walk_packages(sharnir.impulse.__path__, "sharnir.impulse."):
        if module.name == "sharnir.impulse.allocate":
            continue
        tree = ast.parse(inspect.getsource(import_module(module.name)))
        for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
            names = {
                node.attr
                for node in ast.walk(function)
                if isinstance(node, ast.Attribute) and ast.unparse(node.value).endswith("work")
            }
            out[f"{module.name}.{function.name}"] = names
    return out


def test_no_function_names_two_fields_of_the_same_memory():
    """Within one function both would be in use at once. Stages that run in turns are not looked at."""
    memory = {name: ALIASES.get(name, name) for name in ARRAYS}
    functions = fields_by_function()
    assert sum(len(names & set(ALIASES)) for names in functions.values()) > 30
    for function, names in functions.items():
        used = [memory[name] for name in names if name in memory]
        twice = {name for name in used if used.count(name) > 1}
        assert not twice, f"{function} uses two names of {', '.join(sorted(twice))}"
