"""Speed: what holds on any machine, and, marked slow, the figures the project promises."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import pytest
import warp as wp

import sharnir
from sharnir import benchmarks, dynamics, scenes
from sharnir.benchmarks.startup import OURS


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


@pytest.mark.slow
def test_articulated_body_algorithm_takes_at_most_half_of_pinocchios_time():
    pytest.importorskip("pinocchio")
    rows = {row["case"]: row for row in benchmarks.run("aba")["rows"]}
    assert rows["chain of 5"]["ratio"] <= 0.5
    assert rows["free root + 29 hinges"]["ratio"] <= 0.5
    per_link = [rows[f"chain of {n}"]["ns_per_link"] for n in (10, 100, 1000)]
    assert max(per_link) <= 1.25 * min(per_link)


@pytest.mark.slow
def test_start_up_from_a_warm_cache():
    subprocess.run([sys.executable, "-c", OURS], check=True)
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", OURS], check=True)
    assert time.perf_counter() - start < 1.5
