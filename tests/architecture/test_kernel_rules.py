"""Rules of kernel code: bare integers in indices are found, no slot has two names."""

from __future__ import annotations

import ast
import sys
from enum import IntEnum
from pathlib import Path

import pytest

from sharnir.collision import buffers
from sharnir.impulse import row_kinds, slots
from sharnir.impulse.layout import actuators
from sharnir.kernels import lanes

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import check_kernels

ENUMS = [
    value
    for module in (slots, row_kinds, actuators, buffers, lanes)
    for value in vars(module).values()
    if isinstance(value, type) and issubclass(value, IntEnum) and value.__module__ == module.__name__
]
BODIES = {
    "get(a, 6 * c, w)": [6],
    "a[3 * c + 1]": [3],
    "at = 6 * c + 4 * side; get(a, at + 1, w)": [6, 4],
    "at = 6 * c; to = at + 1; put(a, to, w, x)": [6],
    "at += 3; get(a, at, w)": [3],
    "at = wp.where(side < 5, 7, 0); get(a, at, w)": [7],
    "k = (axis + 1) % 3; a[k]": [],
    "n = 6 * c; x = y * real(n)": [],
    "at = SIZE * c; get(a, at + 2, w)": [],
    "i = a[k]; b[i]": [],
}


@pytest.mark.parametrize("enum", ENUMS, ids=lambda e: e.__name__)
def test_no_slot_has_two_names(enum: type[IntEnum]) -> None:
    assert len(enum) == len(enum.__members__)


@pytest.mark.parametrize("body", BODIES)
def test_bare_integers_are_found_behind_local_variables(body: str) -> None:
    tree = ast.parse(f"@wp.func\ndef f(c, w):\n    {body}\n")
    found = [int(text.split()[0]) for _, _, text in check_kernels.check_indices(Path("f.py"), tree)]
    assert sorted(found) == sorted(BODIES[body])
