"""Speed: what holds on any machine. Figures are those of `sharnir bench`; no test looks at a clock."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import warp as wp

import sharnir
from sharnir import dynamics, scenes


def test_repeated_evaluations_replay_a_graph(monkeypatch):
    """No plain launch after the first call: a launch from Python costs more than the work of a small mechanism."""
    model = sharnir.compile(scenes.make("n_four_bar"))
    inputs = model.q0, model.v0, np.zeros(model.nv)
    first = dynamics.aba(model, *inputs)
    sharnir.simulate(model, 0.01, times=[0.01])
    launches = []
    plain = wp.launch
    monkeypatch.setattr(wp, "launch", lambda *a, **k: (launches.append(1), plain(*a, **k))[1])
    np.testing.assert_array_equal(dynamics.aba(model, *inputs), first)
    assert not launches
    run = sharnir.simulate(model, 0.2, times=[0.2])
    assert run.evaluations > 30
    assert len(launches) <= 8  # one capture per kernel of a new system, none per step


def test_a_thousand_worlds_are_one_call():
    """As many calls of functions as for one world, and few: no loop in Python over worlds (1.1 µs each, measured)."""
    model = sharnir.compile(scenes.make("rods"))
    calls = []
    for worlds in (1, 1000):
        evaluator = dynamics.Dynamics(model, worlds)
        evaluator.aba()
        calls.append(calls_of(evaluator.aba))
    assert calls[0] == calls[1] < 50


def calls_of(function: Callable[[], object]) -> int:
    """Functions, Python's and others, that are called until it returns."""
    count = 0

    def note(_: object, event: str, __: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count
