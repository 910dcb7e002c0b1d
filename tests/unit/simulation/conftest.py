"""The linkage that most tests of a simulation step."""

from __future__ import annotations

import pytest

import sharnir as sh
from sharnir import scenes


@pytest.fixture(scope="module")
def model():
    return sh.compile(scenes.make("peaucellier"))


@pytest.fixture
def sim(model):
    return sh.Simulation(model)
