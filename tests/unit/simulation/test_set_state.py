"""Setting a state: what follows is what a fresh simulation does there; what does not fit is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from measures import both
from refusal import refused

import sharnir as sh
from sharnir import scenes
from sharnir.dynamics import close_loops

ROUNDING = 1e-12 if sh.get_precision() == "double" else 1e-6


def started_at(model, q, v):
    """A model that starts there."""
    return replace(model, q0=np.array(q), v0=np.array(v), cache={})


def evolving(sim):
    """All that goes from step to step but ticks of the clock."""
    saved = sim.save().arrays
    return {name: values for name, values in saved.items() if name != "prev_step"}


def assert_alike(sim, other):
    """To the bit."""
    assert sim.save().arrays.keys() == other.save().arrays.keys()
    for name, values in evolving(sim).items():
        np.testing.assert_array_equal(values, evolving(other)[name], err_msg=name)


@both
@pytest.mark.parametrize("name", ["five_link_chain", "slider_crank", "peaucellier", "pile", "trailer", "gripper"])
def test_what_follows_is_what_a_fresh_simulation_does_there(name, solver):
    """To the bit: in a run, after it had contacts, warm starts and chords of its own."""
    model = sh.compile(scenes.make(name))
    donor, sim = (sh.Simulation(model, solver=solver, dt=0.002) for _ in range(2))
    donor.step(40)
    sim.step(15)
    before = sim.time
    sim.set_state(*donor.state(), close=model.loops > 0)
    q, v = sim.state()
    np.testing.assert_allclose(q, donor.state()[0], atol=1e-6)
    np.testing.assert_allclose(sim.energy, donor.energy, rtol=1e-4, atol=1e-9)
    sim.set_state(q, v)
    fresh = sh.Simulation(started_at(model, q, v), solver=solver, dt=0.002)
    np.testing.assert_array_equal(sim.q, fresh.q)
    np.testing.assert_array_equal(sim.v, fresh.v)
    sim.step(10)
    fresh.step(10)
    assert sim.time == pytest.approx(before + 0.02)
    assert_alike(sim, fresh)


@both
def test_what_is_not_given_stays(solver):
    sim = sh.Simulation(scenes.make("five_link_chain", n=2), solver=solver, dt=0.001)
    sim.step(300)
    q, v = sim.state()
    names = sim.model.joint_names
    sim.set_state(v={names[0]: 2.5})
    np.testing.assert_array_equal(sim.state()[0], q)
    np.testing.assert_allclose(sim.state()[1], [2.5, v[1]], atol=ROUNDING)
    sim.set_state({names[1]: 0.25})
    np.testing.assert_allclose(sim.state()[0], [q[0], 0.25], atol=ROUNDING)
    np.testing.assert_allclose(sim.state()[1], [2.5, v[1]], atol=ROUNDING)


@both
def test_worlds_that_are_not_set_go_on_to_the_bit(solver):
    model = sh.compile(scenes.make("pile"))
    sim, other = (sh.Simulation(model, solver=solver, dt=0.002, worlds=3) for _ in range(2))
    single = sh.Simulation(model, solver=solver, dt=0.002)
    for s in (sim, other, single):
        s.step(60)
    q, v = single.state()
    q = q + 0.0
    q[0] += 0.01
    sim.set_state(q, v, world=1)
    single.set_state(q, v)
    np.testing.assert_array_equal(sim.q[:, [0, 2]], other.q[:, [0, 2]])
    for s in (sim, other, single):
        s.step(20)
    for name, values in evolving(sim).items():
        np.testing.assert_array_equal(values[:, [0, 2]], evolving(other)[name][:, [0, 2]], err_msg=name)
        np.testing.assert_array_equal(values[:, 1], evolving(single)[name][:, 0], err_msg=name)
    both_worlds = np.stack([q, other.state(2)[0]], axis=1)
    sim.set_state(both_worlds, world=[2, 0])
    np.testing.assert_allclose(sim.state(2)[0], q, atol=ROUNDING)
    np.testing.assert_allclose(sim.state(0)[0], other.state(2)[0], atol=ROUNDING)


@both
def test_loops_are_closed_when_asked_and_refused_when_not(solver):
    model = sh.compile(scenes.make("four_bar"))
    sim = sh.Simulation(model, solver=solver, dt=0.001)
    crank = model.joint_names[0]
    at = sim.state()[0][model.joint(crank).q]
    before = evolving(sim)
    with refused("joint ", "stays open (set_state without close=True)", "a gap of 0.0", "m and "):
        sim.set_state({crank: at + 0.2})
    for name, values in evolving(sim).items():
        np.testing.assert_array_equal(values, before[name])
    sim.set_state({crank: at + 0.2}, {crank: 1.5}, close=True)
    q, v = sim.state()
    assert q[model.joint(crank).q] == pytest.approx(at + 0.2, abs=ROUNDING)
    assert v[model.joint(crank).v] == pytest.approx(1.5, abs=1e3 * ROUNDING)
    np.testing.assert_allclose(q, close_loops(model, q), atol=1e3 * ROUNDING)
    assert sim.step().position_error < 1e4 * ROUNDING
    with refused("opens at these velocities", "close=True"):
        sim.set_state(v={crank: 3.0})


@both
@pytest.mark.parametrize("name", ["peaucellier", "double_wishbone"])
def test_a_state_of_a_run_can_be_set_as_it_is(name, solver):
    sim = sh.Simulation(scenes.make(name), solver=solver, dt=0.001)
    for _ in range(4):
        sim.step(50)
        q, v = sim.state()
        sim.set_state(q, v)
        np.testing.assert_allclose(sim.state()[0], q, atol=ROUNDING)
        np.testing.assert_allclose(sim.state()[1], v, atol=1e3 * ROUNDING)


@both
def test_positions_alone_keep_velocities_that_loops_allow(solver):
    model = sh.compile(scenes.make("slider_crank"))
    sim = sh.Simulation(model, solver=solver, dt=0.001)
    sim.step(100)
    q, v = sim.state()
    sim.set_state(q)
    np.testing.assert_allclose(sim.state()[1], v, atol=1e-5)
    assert sim.step().position_error < 1e-6


@both
def test_turns_are_those_that_are_given(solver):
    """In maximal coordinates hinges are joints that close loops, whose angles are measured to a whole turn."""
    sim = sh.Simulation(scenes.make("five_link_chain", n=2), solver=solver, dt=0.001)
    hinge = sim.model.joint_names[0]
    for angle in (7.0, 0.2, -20.0):
        sim.set_state({hinge: angle})
        np.testing.assert_allclose(sim.joint(hinge).position, angle, atol=10 * ROUNDING)
        sim.set_state(v={hinge: 1.0})  # turns stay where positions do
        sim.step()
        np.testing.assert_allclose(sim.joint(hinge).position, angle, atol=0.1)


@both
def test_quaternions_of_any_length_become_unit(solver):
    sim = sh.Simulation(scenes.make("free_box"), solver=solver)
    q, v = sim.state()
    q[3:7] = np.array([0.0, 3.0, 0.0, 4.0]) * 1e200
    sim.set_state(q, v)
    np.testing.assert_allclose(sim.state()[0][3:7], [0, 0.6, 0, 0.8], atol=ROUNDING)
    q[3:7] = 0.0
    with refused("q[3:7] is a zero quaternion"):
        sim.set_state(q)


def test_inputs_time_and_samples():
    """Inputs and time stay, what actuators store and what sensors sampled does not."""
    scene = scenes.make("pendulum")
    joint = scene.joints[0].name
    scene.add(sh.Actuator(name="lagging", joints=[joint], response=0.5))
    scene.add(sh.Sensor(name="encoder", kind="joint_position", of=joint, rate=10.0, delay=0.05))
    sim = sh.Simulation(scene, dt=0.01)
    sim.actuator("lagging").input = 2.0
    restarted = []

    class Controller:
        def restart(self, s):
            restarted.append(s.time)

        def __call__(self, s):
            pass

    sim.add_controller(Controller(), rate=10)
    sim.step(33)
    assert sim.impulses.state.actuator_activation.numpy()[0, 0] > 0
    sim.set_state({joint: 0.7}, {joint: 0.0})
    assert sim.time == pytest.approx(0.33) and sim.actuator("lagging").input == 2.0 and restarted == [sim.time]
    assert sim.impulses.state.actuator_activation.numpy()[0, 0] == 0.0
    assert sim.sensor("encoder") == pytest.approx(0.7)


BAD = {
    "nothing": ({}, "has nothing to set"),
    "short": ({"q": [0.0]}, "q has the wrong shape: given [1]; allowed: [2]"),
    "long": ({"v": np.zeros(3)}, "v has the wrong shape"),
    "worlds": ({"q": np.zeros((2, 3))}, "q has the wrong shape: given [2, 3]"),
    "NaN": ({"q": [0.0, np.nan]}, "q[1] is not finite: given nan"),
    "text": ({"v": ["a", "b"]}, "v is not made of numbers"),
    "name": ({"q": {"elbo": 0.0}}, "unknown joint 'elbo'; did you mean 'elbow'?"),
    "values of a joint": ({"q": {"first": [0.0, 1.0]}}, "position has the wrong shape: given (0.0, 1.0)"),
    "NaN of a joint": ({"v": {"first": np.nan}}, "is not a finite number: given nan"),
    "world": ({"q": [0, 0], "world": 1}, "world is out of range: given 1; allowed: whole numbers from 0 to 0"),
    "negative world": ({"q": [0, 0], "world": -1}, "world is out of range"),
    "a world twice": ({"q": [0, 0], "world": [0, 0]}, "world is out of range"),
    "no world": ({"q": [0, 0], "world": []}, "world is out of range"),
    "True as a world": ({"q": [0, 0], "world": True}, "world is out of range"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_cannot_be_set_is_refused_in_a_sentence_and_changes_nothing(what):
    given, sentence = BAD[what]
    sim = sh.Simulation(scenes.make("double_pendulum"))
    first = sim.model.joint_names[0]
    given = {k: {first if n == "first" else n: x for n, x in v.items()} if isinstance(v, dict) else v
             for k, v in given.items()}  # fmt: skip
    sim.step(5)
    before = evolving(sim)
    with refused(sentence):
        sim.set_state(**given)
    for name, values in evolving(sim).items():
        np.testing.assert_array_equal(values, before[name])


def test_a_joint_that_closes_a_loop_is_not_set():
    sim = sh.Simulation(scenes.make("four_bar"))
    with refused("closes a loop, its coordinates follow from the others", "joints of the tree: "):
        sim.set_state({sim.model.joint_names[-1]: 0.1}, close=True)


def test_a_recording_goes_on_from_a_state_that_was_set(tmp_path):
    sim = sh.Simulation(scenes.make("double_pendulum"), dt=0.002)
    with sim.record(tmp_path / "run.mcap"):
        sim.step(50)
        sim.set_state([0.3, -0.2], [1.0, 0.0])
        sim.step(50)
    recording = sh.open_recording(tmp_path / "run.mcap")
    assert recording.verify() is None and recording.steps == 100
