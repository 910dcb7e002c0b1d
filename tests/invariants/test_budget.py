"""A wall-clock budget: what is left undone is harmless, a recorded run can be replayed; and, marked slow, steps end in
time."""

from __future__ import annotations

import resource
from typing import NamedTuple

import numpy as np
import pytest
from measures import bits, both, gaps

import sharnir as sh
from sharnir import scenes

ATTEMPTS = 4  # other processes share this machine
SETTLING = 10  # first steps, in which the time after the last sweep is learnt
STEPS = 100
# Sweeps dominate these: without them a step takes less than a tenth of the time.
CASES = {
    "linkage, published": ("peaucellier", {}, {"solver": "simmc", "method": "paper", "epsilon": 1e-9}),
    "linkage, swept": (
        "peaucellier",
        {},
        {"solver": "simmc", "bilateral": "sweep", "accelerate": False, "epsilon": 1e-12},
    ),
    "chain, published": ("five_link_chain", {}, {"solver": "simmc", "method": "paper", "epsilon": 1e-9}),
    "long chain, swept": (
        "five_link_chain",
        {"n": 20},
        {"solver": "simgc", "bilateral": "sweep", "accelerate": False, "epsilon": 1e-12},
    ),
}


class Run(NamedTuple):
    sim: sh.Simulation
    seconds: np.ndarray  # of steps during which this process was not interrupted
    worst: float  # s, of all
    apart: float  # m
    gained: float  # J


def switches() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def run(case: str, **settings) -> Run:
    scene, options, own = CASES[case]
    sim = sh.Simulation(scenes.make(scene, **options), max_sweeps=5000, **own, **settings)
    start, apart, gained, seconds, worst = sum(sim.energy), 0.0, -np.inf, [], 0.0
    for k in range(STEPS):
        before = switches()
        report = sim.step()
        if k >= SETTLING:
            worst = max(worst, report.seconds)
            if switches() == before:
                seconds.append(report.seconds)
        apart = max(apart, gaps(sim).apart)
        gained = max(gained, sum(sim.energy) - start)
    uninterrupted = np.array(seconds if len(seconds) >= STEPS // 5 else [worst])
    return Run(sim, uninterrupted, worst, apart, gained)


LEFT_OPEN = {
    "linkage, published": 0.02,
    "linkage, swept": 0.5,
    "chain, published": 0.05,
    "long chain, swept": 1e-9,
}  # m


@pytest.mark.parametrize("case", CASES)
def test_steps_that_have_no_time_at_all_are_harmless(case):
    """A nanosecond is over before the first sweep is, on any machine: every step ends after one, and so alike in every
    run. Joints open by no more than twice what they do today, and chains gain nothing (the linkage has a motor)."""
    ran = run(case, budget=1e-9)
    counts = ran.sim.counts
    assert counts.out_of_time == counts.overruns == counts.steps == STEPS
    assert np.isfinite(ran.sim.q).all() and ran.apart < LEFT_OPEN[case]
    assert ran.gained <= 0.0 or "linkage" in case
    again = run(case, budget=1e-9)
    assert bits(again.sim) == bits(ran.sim)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_steps_end_within_a_tenth_of_the_time_they_would_take(case, record_property):
    """Nine of ten within 1.1 T, linkages closed, nothing gained; in one of some attempts: on a shared machine one step
    in a hundred takes 1.7 times its time even if its work is fixed (measured), and a step cannot know it was stopped.
    """
    T = 0.1 * float(np.median(run(case).seconds))
    found: list[bool] = []
    for _ in range(ATTEMPTS):
        ran = run(case, budget=T)
        assert ran.sim.counts.out_of_time > 0.5 * STEPS
        late = float(np.percentile(ran.seconds, 90)) / T
        harmless = ran.gained <= 0.0 if "chain" in case else ran.apart < 5e-3  # the linkage has a motor
        found.append(late <= 1.1 and harmless)
        record_property("90th percentile and worst, of T; gap, gain", (late, ran.worst / T, ran.apart, ran.gained))
        if found[-1]:
            break
    assert any(found)


@both
@pytest.mark.parametrize("scene", ["peaucellier", "five_link_chain", "four_bar"])
@pytest.mark.parametrize("settings", [{"method": "paper"}, {"bilateral": "sweep"}, {"bilateral": "direct"}], ids=str)
def test_a_recorded_run_replays_to_the_bit(scene, solver, settings):
    """Under a budget that ends sweeps, passes and corrections wherever the clock says."""
    settings = {"solver": solver, "epsilon": 1e-12, **settings}
    first = sh.Simulation(scenes.make(scene), budget=2e-5, **settings)
    reports, states = [], []
    for _ in range(60):
        reports.append(first.step())
        states.append(bits(first))
    for budget in (2e-5, None, 1e-7):
        again = sh.Simulation(scenes.make(scene), budget=budget, **settings)
        for k, (report, state) in enumerate(zip(reports, states, strict=True)):
            replayed = again.step(like=report)
            assert bits(again) == state, k
            assert replayed.counts == report.counts
            assert (replayed.residual, replayed.position_error) == (report.residual, report.position_error)


def test_a_replay_does_not_change_what_follows():
    """Steps after a replayed one have their own ends again."""
    sim, other = (sh.Simulation(scenes.make("peaucellier"), solver="simmc", method="paper") for _ in range(2))
    sim.step(like=other.step())
    assert sim.step(20).counts == other.step(20).counts and bits(sim) == bits(other)


def test_without_a_budget_nothing_runs_out_of_time():
    sim = sh.Simulation(scenes.make("peaucellier"), solver="simmc", method="paper")
    sim.step(50)
    assert sim.counts.out_of_time == sim.counts.overruns == 0


def test_overruns_are_counted():
    sim = sh.Simulation(scenes.make("peaucellier"), solver="simmc", method="paper", budget=1e-9)
    reports = [sim.step() for _ in range(20)]
    assert sim.counts.overruns == sum(report.seconds > 1e-9 for report in reports) == 20
    assert all(report.reason == "time" for report in reports)
