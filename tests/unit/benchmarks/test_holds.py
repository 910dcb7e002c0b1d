"""`sharnir bench holds`: what it measures, and that its scenes are what they say."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sharnir import benchmarks
from sharnir.benchmarks.holds import judge, lift_energy, random_rows, row_of, summaries
from sharnir.benchmarks.holds.cases import cases, rectangle_mean_radius
from sharnir.benchmarks.holds.measure import Watched, watch, watch_peer
from sharnir.benchmarks.holds.random_scenes import random_scene
from sharnir.benchmarks.holds.scenes import loaded_chain, overlapping_slide, three_balls
from sharnir.compiler import compile
from sharnir.errors import ModelError


def watched(energy: list[float], **more: float) -> Watched:
    t = np.linspace(0.0, 20.0, len(energy))
    return Watched(0.0, t, np.array(energy), np.zeros(len(energy)), steps=1000, **more)  # type: ignore[arg-type]


def test_a_gain_is_of_the_largest_kinetic_energy_and_the_range_of_the_potential_energy() -> None:
    seen = Watched(10.0, np.arange(3.0), np.array([0.0, 3.0, 1.0]), np.array([2.0, 0.0, 2.5]))
    assert seen.scale == pytest.approx(5.5)
    assert seen.gain == pytest.approx(1.5 / 5.5)
    assert seen.loss == pytest.approx(-1.5 / 5.5)


def test_bodies_at_rest_are_measured_by_their_weight() -> None:
    seen = Watched(10.0, np.arange(2.0), np.zeros(2), np.array([1.0, 1.0 + 1e-9]))
    assert seen.scale == pytest.approx(1e-2)


@pytest.mark.parametrize(
    ("seen", "verdict"),
    [
        (watched([1.0] * 200), "holds"),
        (watched([1.0, *[1.01] * 199]), "gains"),
        (watched([1.0, *[2.0] * 199]), "explodes"),
        (watched((1.0 - 0.01 * np.exp(-np.linspace(0, 4, 200))).tolist()), "gains, grows"),
        (watched([1.0] * 200, guarded=11), "guarded in silence"),
        (watched([1.0] * 200, guarded=9), "holds"),
        (watched([1.0] * 200, impulse_work=1e-6), "impulses add energy"),
        (watched([1.0] * 200, position_error=4.1, size=2.0), "is torn"),
        (watched([1.0] * 200, position_error=0.3, size=2.0), "holds"),
    ],
)
def test_verdicts(seen: Watched, verdict: str) -> None:
    assert judge(seen, False, 0.0, False, None) == verdict


def test_a_check_that_fails_is_named_with_what_is_allowed() -> None:
    assert judge(watched([1.0] * 9), False, 0.0, False, (0.5, 0.1, "m off")) == "0.5 m off, 0.1 allowed"
    assert "nan" in judge(watched([1.0] * 9), False, 0.0, False, (math.nan, 0.1, "m off"))


def test_all_cases_compile() -> None:
    names = []
    for case in cases(False):
        compile(case.build())
        names.append(case.name)
    assert len(set(names)) == len(names)


def test_random_scenes_are_those_of_their_seed_and_compile() -> None:
    for seed in range(25):
        assert compile(random_scene(seed)).fingerprint == compile(random_scene(seed)).fingerprint


def test_overlaps_at_the_start_have_an_energy_of_lifting() -> None:
    scene = overlapping_slide(0.0)
    scene.gravity = (0.0, 0.0, -9.81)
    assert lift_energy(compile(scene)) == pytest.approx(4 * 0.01 * 9.81 * 1.0, rel=1e-3)
    assert lift_energy(compile(three_balls(0.2))) == 0.0


def test_runs_are_watched_and_refusals_are_rows() -> None:
    model = compile(loaded_chain(2, 0.1, 0.1, 0.1))
    seen = watch(model, solver="simgc", dt=0.001, duration=0.1)
    peer = watch_peer(model, dt=0.001, duration=0.1)
    assert seen.steps == 100 and len(seen.t) == 101
    assert peer is not None and peer.scale == pytest.approx(seen.scale, rel=0.05)
    row = row_of("chain", "simgc", 0.001, seen, peer, "holds")
    assert row["step"] == "1 ms" and row["ours"] < 1e-3
    rows = list(random_rows(0, "cpu"))
    assert [r["case"] for r in summaries(rows)] == ["1 random loaded_chains"] * 2


def test_mean_distance_from_the_middle_of_a_rectangle() -> None:
    x, y = np.meshgrid((np.arange(400) + 0.5) / 400 - 0.5, (np.arange(400) + 0.5) / 400 - 0.5)
    assert rectangle_mean_radius(0.2, 0.1) == pytest.approx(np.hypot(0.2 * x, 0.1 * y).mean(), rel=1e-4)


def test_an_unknown_device_is_refused_at_once() -> None:
    with pytest.raises(ModelError, match="unknown device 'cuda:77'"):
        benchmarks.run("holds", device="cuda:77")


def test_other_benchmarks_refuse_a_device() -> None:
    with pytest.raises(ModelError, match=r"aba.*cuda:0.*holds"):
        benchmarks.run("aba", device="cuda:0")
