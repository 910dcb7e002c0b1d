"""Simulation: stepping, controllers, pacing, named access, and bad input answered in one sentence."""

from __future__ import annotations

import time

import numpy as np
import pytest
from measures import all_four, bits, both
from refusal import refused

import sharnir as sh
from sharnir import scenes

NAN, INF = float("nan"), float("inf")
NOT_NUMBERS = [NAN, INF, -INF, "1", None, True, [1.0], {}, 1j]


@pytest.fixture(scope="module")
def model():
    return sh.compile(scenes.make("peaucellier"))


@pytest.fixture
def sim(model):
    return sh.Simulation(model)


# --- stepping --------------------------------------------------------------------------------------------------------


@all_four
def test_n_steps_are_n_times_one(model, solver, bilateral):
    at_once, one_by_one = (sh.Simulation(model, solver=solver, bilateral=bilateral) for _ in range(2))
    report = at_once.step(600)  # more than a launch holds
    for _ in range(600):
        last = one_by_one.step()
    assert bits(at_once) == bits(one_by_one)
    assert at_once.counts == one_by_one.counts and at_once.counts.steps == 600
    assert report._replace(seconds=0, time=0) == last._replace(seconds=0, time=0)
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
    assert report.guarded is False and report.warning is None


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


@pytest.mark.parametrize("rate", [0, -1.0, *(x for x in NOT_NUMBERS if x is not None)], ids=repr)
def test_a_bad_rate_is_refused(sim, rate):
    with refused("add_controller", "rate", "allowed"):
        sim.add_controller(print, rate)


def test_a_controller_that_cannot_be_called_is_refused(sim):
    with refused("add_controller", "given 3", "a function"):
        sim.add_controller(3)


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


def test_ctrl_c_ends_a_run_after_a_step(sim):
    def interrupt(s):
        if s.time > 0.05:
            raise KeyboardInterrupt

    sim.add_controller(interrupt)
    report = sim.run(1.0, realtime=True)
    assert report.time == sim.time == pytest.approx(0.06)


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


# --- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dt", [0, 0.0, -0.01, 2.0, 10**400, *NOT_NUMBERS], ids=repr)
def test_a_bad_step_is_refused(model, sim, dt):
    with refused("dt", "allowed: a finite number > 0"):
        sh.Simulation(model, dt=dt)
    with refused("dt", "allowed: a finite number > 0"):
        sim.dt = dt
    assert sim.dt == 0.01 and sim.step().time == 0.01


@pytest.mark.parametrize("value", [0, -1, 1.5, "2", None, True, [2]], ids=repr)
def test_a_bad_number_of_worlds_or_steps_is_refused(model, sim, value):
    if value is not True:
        with refused("worlds"):
            sh.Simulation(model, worlds=value)
    with refused("steps"):
        sim.step(value)


@pytest.mark.parametrize("solver", ["simgx", "exact", None, 3, "", ["simgc"]], ids=repr)
def test_an_unknown_solver_is_refused(model, solver):
    with refused("unknown solver", "simgc, simmc"):
        sh.Simulation(model, solver=solver)


@pytest.mark.parametrize("device", ["cuda:7", "gpu", None, 3], ids=repr)
def test_an_unknown_device_is_refused(model, device):
    with refused("device"):
        sh.Simulation(model, device=device)


@pytest.mark.parametrize("scene", [None, 3, "pendulum", sh.Body(name="a", mass=1.0)], ids=repr)
def test_something_that_is_no_scene_is_refused(scene):
    with refused():
        sh.Simulation(scene)


BAD_SETTINGS = {
    "method": ["papers", None, 1, ""],
    "bilateral": ["swept", None, True],
    "epsilon": [-1e-9, *(x for x in NOT_NUMBERS if x is not None)],
    "budget": [0, -1.0, *(x for x in NOT_NUMBERS if x is not None)],
    "erp": [0, -0.1, 1.1, *NOT_NUMBERS],
    "max_sweeps": [0, -1, 1.5, 10**12, *NOT_NUMBERS],
    "passes": [-1, 11, 2.0, *NOT_NUMBERS],
    "accelerate": [1, 0, "yes", None],
    "warm_start": [1, 0, "yes", None],
}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in BAD_SETTINGS.items() for v in values], ids=repr)
def test_a_bad_setting_is_refused(model, sim, name, value):
    for change in (lambda: sh.Simulation(model, **{name: value}), lambda: sim.configure(**{name: value})):
        with refused():
            change()
    assert sim.settings == sh.Settings()


def test_an_unknown_setting_is_refused(model, sim):
    for change in (lambda: sh.Simulation(model, epsilom=1e-6), lambda: sim.configure(epsilom=1e-6)):
        with refused("unknown setting 'epsilom'", "did you mean 'epsilon'"):
            change()


@pytest.mark.parametrize("value", [NAN, INF, [1.0, NAN], "fast", None, [1, 2, 3], [[1.0], [2.0]], {}, 1j], ids=repr)
def test_bad_control_targets_and_wrenches_are_refused(sim, value):
    with refused("control of joint 'joint1'", "allowed"):
        sim.joint("joint1").control = value
    with refused("target of motor 'motor'", "allowed"):
        sim.motor("motor").target = value
    with refused("wrench applied to body 'crank'", "allowed"):
        sim.body("crank").applied = value
    assert bits_of_inputs(sim) == bits_of_inputs(sh.Simulation(sim.model))


def bits_of_inputs(sim):
    return [getattr(sim.impulses.state, name).numpy().tobytes() for name in ("control", "f_ext", "motor_target")]


def test_inputs_of_several_worlds_have_their_shape(model):
    sim = sh.Simulation(model, worlds=3)
    sim.joint("joint1").control = [[1.0, 2.0, 3.0]]
    sim.motor("motor").target = [1.0, 2.0, 3.0]
    np.testing.assert_array_equal(sim.joint("joint1").control, [[1, 2, 3]])
    np.testing.assert_array_equal(sim.motor("motor").target, [1, 2, 3])
    for value in ([1.0, 2.0], np.ones((2, 3)), np.ones((3, 1))):
        with refused("control of joint 'joint1'", "wrong shape", "allowed"):
            sim.joint("joint1").control = value
        with refused("target of motor 'motor'", "allowed"):
            sim.motor("motor").target = value


@pytest.mark.parametrize("duration", [0, -1.0, *NOT_NUMBERS], ids=repr)
def test_a_bad_duration_is_refused(sim, duration):
    with refused("run", "duration", "allowed"):
        sim.run(duration)


def test_a_state_of_something_else_is_refused(sim, tmp_path):
    other = sh.Simulation(scenes.make("four_bar"))
    with refused("saved state", "another model"):
        sim.restore(other.save())
    with refused("another solver"):
        sim.restore(sh.Simulation(sim.model, solver="simmc").save())
    with refused("wrong shape"):
        sim.restore(sh.Simulation(sim.model, worlds=2).save())
    for nonsense in (None, 3, {"q": 1}):
        with refused("restore", "not a saved state"):
            sim.restore(nonsense)
    saved = sim.save()
    saved.arrays["q"][0] = NAN
    with refused("q is not finite"):
        sim.restore(saved)
    path = tmp_path / "broken.npz"
    for content in (b"", b"not a zip", b"PK\x03\x04 cut"):
        path.write_bytes(content)
        with refused("broken.npz", "not a saved state"):
            sh.Saved.read(path)
    with refused("missing.npz"):
        sh.Saved.read(tmp_path / "missing.npz")
    with refused("cannot be written"):
        sim.save().write(tmp_path / "no" / "folder.npz")


def test_a_state_that_lacks_an_array_is_refused(sim):
    saved = sim.save()
    del saved.arrays["P"]
    with refused("saved state"):
        sim.restore(saved)


@both
def test_a_refused_state_changes_nothing(model, solver):
    sim, other = (sh.Simulation(model, solver=solver) for _ in range(2))
    saved = sim.save()
    saved.arrays["prev_step"] = np.zeros(3)
    saved.arrays["q"] = saved.arrays["q"] + 1
    with refused("prev_step"):
        sim.restore(saved)
    sim.step(5)
    other.step(5)
    assert bits(sim) == bits(other)


@both
def test_a_run_that_diverged_can_be_reset(solver):
    sim, fresh = (sh.Simulation(scenes.make("four_bar"), solver=solver) for _ in range(2))
    try:
        sim.joint("joint1").control = 1e300
        sim.step(5)
    except sh.SharnirError:
        pass
    sim.reset()
    sim.step(5)
    fresh.step(5)
    np.testing.assert_array_equal(sim.q, fresh.q)


def test_reset_forgets_the_speed_of_a_limited_joint():
    scene = sh.Scene()
    scene.add(sh.Body(name="a", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(0.5, 0, 0)))
    scene.add(sh.Revolute(name="hinge", parent="world", child="a", axis=(0, 1, 0), limits=(-50, 50)))
    sim = sh.Simulation(scene)
    first = sim.impulses.state.scalar_velocity.numpy().copy()
    sim.step(100)
    sim.reset()
    np.testing.assert_array_equal(sim.impulses.state.scalar_velocity.numpy(), first)


# --- runs that cannot go on ------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("method", ["default", "paper"])
@pytest.mark.parametrize("scene", ["four_bar", "five_link_chain", "free_box"])
def test_a_force_out_of_range_ends_the_run_with_a_sentence(scene, solver, method):
    """Squares of 1e300 overflow: there is no motion. Refused as input, or reported by time and body."""
    sim = sh.Simulation(scenes.make(scene), solver=solver, method=method)
    name = sim.model.joint_names[0]
    bodies = [f"'{body}'" for body in sim.model.body_names]
    with refused(error=sh.SharnirError):
        try:
            sim.joint(name).control = 1e300
            for _ in range(50):
                sim.step()
        except sh.SimulationError as error:
            assert "t = 0." in str(error)
            assert any(body in str(error) for body in bodies), error
            raise


@both
def test_motion_that_is_no_longer_finite_is_noticed_at_once(solver):
    """Whatever made it so."""
    sim = sh.Simulation(scenes.make("four_bar"), solver=solver)
    sim.step(3)
    sim.impulses.state.P.fill_(NAN)
    with refused("t = 0.04", error=sh.SimulationError):
        sim.step()


def test_one_bad_world_of_many_is_noticed(model):
    sim = sh.Simulation(model, worlds=3)
    P = sim.impulses.state.P.numpy().copy()
    P[:, 1] = NAN
    sim.impulses.state.P.assign(P)
    with refused("t = 0.01", error=sh.SimulationError):
        sim.step()


@both
def test_what_was_written_into_the_arrays_and_is_not_finite_is_named(solver):
    sim = sh.Simulation(scenes.make("four_bar"), solver=solver)
    control = sim.applied_control.numpy().copy()
    for row in (0, len(control) - 1):
        name = next(n for n in sim.inner.joint_names if row in np.arange(len(control))[sim.joint(n)._coordinates])
        sim.reset()
        control[:] = 0.0
        control[row] = NAN
        sim.applied_control.assign(control)
        with refused(f"control of joint '{name}' is not finite", error=sh.SimulationError):
            sim.step()
    sim.reset()
    wrench = sim.impulses.state.f_ext.numpy().copy()
    wrench[7] = NAN
    sim.impulses.state.f_ext.assign(wrench)
    with refused(f"wrench applied to body '{sim.inner.body_names[1]}' is not finite", error=sh.SimulationError):
        sim.step()
