"""Simulation: stepping, controllers, pacing, named access."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter

import numpy as np
import pytest
from measures import all_four, bits, both
from refusal import refused

import sharnir as sh
from sharnir.simulation.run_steps import deferred_interrupt

# --- stepping --------------------------------------------------------------------------------------------------------


@all_four
def test_n_steps_are_n_times_one(model, solver, bilateral):
    at_once, one_by_one = (sh.Simulation(model, solver=solver, bilateral=bilateral) for _ in range(2))
    report = at_once.step(600)  # more than a launch holds
    reports = [one_by_one.step() for _ in range(600)]
    assert bits(at_once) == bits(one_by_one)
    assert at_once.counts == one_by_one.counts and at_once.counts.steps == 600
    changed = {"seconds": 0, "time": 0, "warnings": ()}
    assert report._replace(**changed) == reports[-1]._replace(**changed)
    seen = Counter(w.kind for r in reports for w in r.warnings)
    assert {w.kind: w.steps for w in report.warnings} == seen
    assert at_once.time == pytest.approx(6.0, rel=1e-12) and one_by_one.time == pytest.approx(6.0, rel=1e-12)


@pytest.mark.parametrize(("duration", "steps"), [(1.0, 100), (0.004, 1), (0.026, 3), (3, 300)])
def test_run_rounds_to_whole_steps(sim, duration, steps):
    report = sim.run(duration)
    assert sim.counts.steps == steps and report.time == sim.time == pytest.approx(0.01 * steps)


def test_report(sim):
    report = sim.step()
    assert report.time == sim.time == 0.01
    assert report.iterations >= 1 and report.passes >= 0 and report.reason == "converged"
    assert report.residual >= 0 and report.position_error >= 0 and report.seconds > 0
    assert report.guarded is False and report.warnings == ()


def test_reset_forgets_the_speed_of_a_limited_joint():
    scene = sh.Scene()
    scene.add(sh.Body(name="a", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(0.5, 0, 0)))
    scene.add(sh.Revolute(name="hinge", parent="world", child="a", axis=(0, 1, 0), limits=(-50, 50)))
    sim = sh.Simulation(scene)
    first = sim.impulses.state.scalar_velocity.numpy().copy()
    sim.step(100)
    sim.reset()
    np.testing.assert_array_equal(sim.impulses.state.scalar_velocity.numpy(), first)


# --- controllers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("in_steps_of", [1, 7, 100])
@pytest.mark.parametrize("rate", [None, 100, 50, 30, 33.3, 300, 7, 1])
def test_controllers_are_called_when_due(sim, rate, in_steps_of):
    """At the first step whose time has reached k / rate; before every step without a rate, or with a faster one."""
    called = []
    sim.add_controller(lambda s: called.append(s.time), rate)
    for _ in range(100 // in_steps_of):
        sim.step(in_steps_of)
    steps = 100 // in_steps_of * in_steps_of
    if rate is None or rate >= 100:
        wanted = np.arange(steps)
    else:
        due = np.arange(0, steps * 0.01 - 1e-9, 1 / rate)
        wanted = np.ceil(due / 0.01 - 1e-6)
        wanted = wanted[wanted < steps]
    np.testing.assert_allclose(called, 0.01 * wanted, atol=1e-9)


def test_two_controllers_keep_their_own_rates_and_what_they_write_acts(sim):
    slow, fast = [], []
    sim.add_controller(lambda s: slow.append(s.time), 10)
    sim.add_controller(lambda s: fast.append(s.time), 25)

    def flip(s):
        s.motor("motor").target = 1.0 if s.time < 0.2 else -1.0

    sim.add_controller(flip)
    sim.step(40)
    np.testing.assert_allclose(slow, [0, 0.1, 0.2, 0.3], atol=1e-12)
    np.testing.assert_allclose(fast, 0.04 * np.arange(10), atol=1e-12)
    assert sim.joint("joint1").position[0] == pytest.approx(0.2 - 0.2, abs=1e-9)


def test_controllers_start_again_with_reset_and_restore(sim):
    called = []
    sim.add_controller(lambda s: called.append(round(s.time, 9)), 20)
    sim.step(10)
    saved = sim.save()
    sim.step(3)
    sim.restore(saved)
    called.clear()
    sim.step(10)
    assert called == [0.1, 0.15]
    sim.reset()
    called.clear()
    sim.step(10)
    assert called == [0.0, 0.05]


def test_controllers_are_told_of_reset_and_restore(sim):
    class Counting:
        def __init__(self) -> None:
            self.calls, self.restarts = 0, []

        def __call__(self, simulation) -> None:
            self.calls += 1

        def restart(self, simulation) -> None:
            self.restarts.append(round(simulation.time, 9))

    counting = Counting()
    sim.add_controller(counting)
    sim.step(10)
    saved = sim.save()
    sim.step(3)
    sim.restore(saved)
    sim.reset()
    assert counting.restarts == [0.1, 0.0]
    assert counting.calls == 13


def test_an_error_in_a_controller_reaches_the_caller(sim):
    def broken(s):
        raise KeyError("mine")

    sim.add_controller(broken)
    with pytest.raises(KeyError, match="mine"):
        sim.step()


# --- real time -------------------------------------------------------------------------------------------------------


class Clock:
    """A wall clock on which time passes where somebody sleeps, and nowhere else."""

    def __init__(self, monkeypatch) -> None:
        self.now, self.sleeps = 100.0, []
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)
        monkeypatch.setattr(time, "sleep", self.sleep)

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds


def test_real_time_takes_its_time(sim, monkeypatch):
    """A wait after each of 30 steps, on a clock on which steps take no time."""
    clock = Clock(monkeypatch)
    sim.run(0.3, realtime=True)
    assert clock.sleeps == pytest.approx([0.01] * 30)
    assert clock.now == pytest.approx(100.3) and sim.time == pytest.approx(0.3)
    assert sim.counts.late == 0


def test_waits_make_up_for_what_steps_take(sim, monkeypatch):
    """4 ms of each 10 ms are the controller's; a step late by less than a step is caught up."""
    clock = Clock(monkeypatch)
    pause = iter([0.004] * 10 + [0.015] + [0.004] * 19)
    sim.add_controller(lambda s: setattr(clock, "now", clock.now + next(pause)))
    sim.run(0.3, realtime=True)
    assert clock.sleeps == pytest.approx([0.006] * 10 + [0.001] + [0.006] * 18)
    assert clock.now == pytest.approx(100.3) and sim.counts.late == 0


def test_late_steps_are_counted_and_not_caught_up(sim, monkeypatch):
    """A controller that needs 25 ms of every fifth 10 ms step: six times late in 30 steps, each time lost for good."""
    clock, calls = Clock(monkeypatch), []

    def slow(s):
        calls.append(s.time)
        if len(calls) % 5 == 0:
            clock.now += 0.025

    sim.add_controller(slow)
    sim.run(0.3, realtime=True)
    assert sim.counts.late == 6
    assert clock.now == pytest.approx(100.3 + 6 * 0.015)


def test_without_real_time_nobody_waits(sim, monkeypatch):
    clock = Clock(monkeypatch)
    sim.run(0.3)
    assert clock.sleeps == []


@pytest.mark.parametrize("realtime", [False, True])
def test_ctrl_c_ends_a_run_after_a_step_and_what_called_it(sim, realtime):
    """The signal comes while a controller runs; the step it was called for is taken, the simulation can go on."""

    def interrupt(s):
        if len(taken) < 3 and round(s.time / s.dt) == 5:
            os.kill(os.getpid(), signal.SIGINT)
            taken.append(s.time)

    taken, other = [], sh.Simulation(sim.model)
    sim.add_controller(interrupt)
    with pytest.raises(KeyboardInterrupt):
        sim.run(1.0, realtime=realtime)
    assert len(taken) == 1 and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert sim.time == pytest.approx(0.06 if realtime else 1.0) and sim.counts.steps == round(sim.time / sim.dt)
    other.step(sim.counts.steps + 10)
    sim.step(10)
    assert bits(sim) == bits(other)


def test_a_second_ctrl_c_ends_a_controller_that_does_not_return(sim):
    def hang(s):
        for _ in range(3):
            os.kill(os.getpid(), signal.SIGINT)
        pytest.fail("still here")

    sim.add_controller(hang)
    with pytest.raises(KeyboardInterrupt):
        sim.run(1.0)
    assert sim.counts.steps == 0 and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_run_leaves_a_programs_own_handler_of_ctrl_c_alone(sim):
    came = []
    before = signal.signal(signal.SIGINT, lambda *_: came.append(sim.time))
    try:
        sim.add_controller(lambda s: os.kill(os.getpid(), signal.SIGINT) if s.time == 0 else None)
        sim.run(0.1)
    finally:
        signal.signal(signal.SIGINT, before)
    assert came == [0.0] and sim.time == pytest.approx(0.1)


def test_ctrl_c_after_the_last_look_is_raised_too():
    with pytest.raises(KeyboardInterrupt), deferred_interrupt() as interrupted:
        assert not interrupted()
        os.kill(os.getpid(), signal.SIGINT)


def test_a_recording_that_ctrl_c_ends_is_whole(sim, tmp_path):
    sim.add_controller(lambda s: os.kill(os.getpid(), signal.SIGINT) if s.counts.steps == 7 else None)
    with pytest.raises(KeyboardInterrupt), sim.record(tmp_path / "run.mcap"):
        sim.run(1.0, realtime=True)
    recording = sh.open_recording(tmp_path / "run.mcap")
    assert recording.complete and recording.steps == sim.counts.steps == 8


# --- named access ----------------------------------------------------------------------------------------------------


@both
def test_names_reach_what_they_name(model, solver):
    sim = sh.Simulation(model, solver=solver)
    sim.step(50)
    assert sim.joint("joint1").position == pytest.approx([0.5])
    assert sim.joint("joint1").velocity == pytest.approx([1.0], abs=1e-6)
    turn = sim.body("crank").rotation
    assert np.arctan2(turn[1, 0], turn[0, 0]) == pytest.approx(0.5)
    np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-14)
    middle = np.array([0.2 + 0.1 * np.cos(0.5), 0.1 * np.sin(0.5), 0.0])
    np.testing.assert_allclose(sim.body("crank").position, middle, atol=1e-7)
    np.testing.assert_allclose(sim.body("crank").velocity, [-0.1 * np.sin(0.5), 0.1 * np.cos(0.5), 0], atol=1e-6)
    np.testing.assert_allclose(sim.body("crank").angular_velocity, [0, 0, 1], atol=1e-6)
    assert sim.motor("motor").target == 1.0 and abs(sim.motor("motor").force) < 1.0


@both
def test_both_solvers_have_the_same_names(model, solver):
    sim = sh.Simulation(model, solver=solver, worlds=2)
    for name in model.joint_names:
        assert sim.joint(name).position.shape == sim.joint(name).velocity.shape == (1, 2)
        assert sim.joint(name).wrench.shape == (6, 2)
    for name in model.body_names:
        body = sim.body(name)
        assert body.position.shape == (3, 2) and body.rotation.shape == (3, 3, 2) and body.applied.shape == (6, 2)
    assert sim.motor("motor").target.shape == (2,)


@pytest.mark.parametrize("kind", ["joint", "body", "motor"])
def test_an_unknown_name_is_answered_with_those_there_are(sim, kind):
    known = {"joint": "joint1", "body": "crank", "motor": "motor"}[kind]
    with refused(f"unknown {kind}", f"did you mean '{known}", "Known: "):
        getattr(sim, kind)(known[:-1] + "x" + known[-1])
    for name in (None, 3, "", ["crank"], {"a": 1}):
        with refused(f"unknown {kind}", "Known: "):
            getattr(sim, kind)(name)
