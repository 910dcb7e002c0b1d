"""What was recorded comes out again to the bit: verified from its inputs, resumed at any moment."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from measures import both
from recorded import drive, driven, lively_scene, rewritten

import sharnir as sh
from sharnir import scenes
from sharnir.impulse.row_kinds import CONTACT_IMPULSES
from sharnir.impulse.slots import CONTACT_KEY_SIZE, ContactKey, PrevChord, PrevContact, PrevStep

# arrays of contacts: how many numbers there are before and for each
CONTACT_ARRAYS = {
    "prev_contact_keys": (1, CONTACT_KEY_SIZE),
    "prev_contact_impulse": (0, CONTACT_IMPULSES),
    "prev_contact_geometry": (0, PrevContact.SIZE),
    "prev_contact_chord": (0, PrevChord.SIZE),
}


def state_bytes(sim) -> dict[str, bytes]:
    """All that a simulation saves, but for ticks of the clock."""
    arrays = dict(sim.save().arrays)
    arrays["prev_step"] = np.delete(arrays["prev_step"], [PrevStep.TICKS_TAIL, PrevStep.TICKS_LEFT], axis=0)
    used = int(arrays["prev_contact_keys"][ContactKey.COUNT, 0])
    for name, (before, each) in CONTACT_ARRAYS.items():
        arrays[name] = arrays[name][: before + each * used]
    return {name: array.tobytes() for name, array in arrays.items()}


@both
def test_resumed_from_any_moment_it_goes_on_to_the_bit(tmp_path, solver):
    """20 random moments, with contact, a motor, actuators, a loop and inputs that change; time counts too."""
    sim, states = driven(solver), []
    with sim.record(tmp_path / "run.mcap"):
        for _ in range(400):
            sim.step()
            states.append(state_bytes(sim))
    recording = sh.open_recording(tmp_path / "run.mcap")
    assert recording.steps == 400 and recording.complete
    assert any(e.kind == "contact" for e in recording.events) and any(e.kind == "limit" for e in recording.events)
    for k in np.random.default_rng(3).integers(1, 350, size=20).tolist():
        resumed = recording.resume(k * sim.dt)
        assert resumed.time == k * sim.dt
        assert state_bytes(resumed) == states[k - 1]
        for step in recording.all_steps(k + 1):
            if step.step > k + 40:
                break
            resumed.motor("drive").target = step.target[0]
            resumed.actuator("slow").input, resumed.actuator("servo").input = step.input
            resumed.body("crate").applied = step.applied.reshape(-1, 6)[resumed.inner.body("crate")]
            resumed.joint("swing").control = step.control[resumed.inner.coordinate("swing")]
            resumed.step()
            assert state_bytes(resumed) == states[step.step - 1], step.step


@both
def test_every_way_to_change_a_run_is_replayed(tmp_path, solver):
    """Setters, arrays written in place, another step, other settings, saved states, a fresh start."""
    sim = driven(solver)
    with sim.record(tmp_path / "run.mcap", rate=30):
        sim.step(20)
        sim.joint("swing").control = 0.2
        sim.step(3)
        sim.impulses.host(sim.impulses.state.q)[0, 0] += 0.01
        sim.step(5)
        sim.dt = 0.002
        sim.step(5)
        sim.dt = 0.002
        saved = sim.save()
        sim.step(9)
        sim.configure(erp=0.1)
        sim.step(5)
        sim.restore(saved)
        sim.step(5)
        sim.configure(method="paper")
        sim.step(5)
        sim.configure(method="default", bilateral="sweep")
        sim.impulses.state.actuator_activation.numpy()[0] = 0.7
        sim.impulses.state.prev_contact_impulse.numpy()[:6] = 0.0
        sim.step(5)
        sim.reset()
        sim.step(20)
        sim.step(like=sim.step())
    recording = sh.open_recording(tmp_path / "run.mcap")
    assert recording.verify() is None
    assert [s.reason for s in recording.snapshots] == ["start"] + ["changed", "settings", "changed"] + ["changed"] * 3
    assert (np.diff(recording.times) >= 0).all()
    assert recording.end == pytest.approx(recording.step(1).t + sum(s.dt for s in recording.all_steps(2)))
    assert state_bytes(recording.resume(recording.end)) == state_bytes(sim)


@both
@pytest.mark.parametrize("settings", [{"method": "paper"}, {"bilateral": "sweep"}, {"bilateral": "direct"}], ids=str)
def test_steps_that_the_clock_ended_are_replayed(tmp_path, solver, settings):
    sim = sh.Simulation(scenes.make("peaucellier"), solver=solver, budget=2e-5, epsilon=1e-12, **settings)
    with sim.record(tmp_path / "run.mcap"):
        sim.step(60)
    recording = sh.open_recording(tmp_path / "run.mcap")
    assert recording.verify() is None
    if sim.counts.overruns:
        assert any(e.kind == "overrun" for e in recording.events)


INPUT_BITS = [("control", 0), ("applied", 3), ("target", 0), ("input", 0), ("input", 1)]


@pytest.mark.parametrize("name, place", INPUT_BITS)
@pytest.mark.parametrize("bit", [0, 40, 62])
def test_a_bit_flipped_in_an_input_is_found_in_its_step(tmp_path, name, place, bit):
    """The lowest bit of a zero too, which no state feels."""
    sim = driven()
    with sim.record(tmp_path / "run.mcap"):
        sim.step(120)
    wanted = 1 + int(np.random.default_rng(bit).integers(120))

    def flip(step):
        if step.step != wanted:
            return step
        values = getattr(step, name).copy()
        values.view(np.uint64)[place] ^= np.uint64(1 << bit)
        return replace(step, **{name: values})

    rewritten(tmp_path / "run.mcap", tmp_path / "same.mcap", lambda step: step)
    assert sh.open_recording(tmp_path / "same.mcap").verify() is None
    rewritten(tmp_path / "run.mcap", tmp_path / "flipped.mcap", flip)
    found = sh.open_recording(tmp_path / "flipped.mcap").verify()
    assert found is not None and found.step == wanted and found.t == pytest.approx(wanted * sim.dt)


def test_looking_and_the_rate_of_states_change_nothing(tmp_path):
    hashes = []
    for rate in (1.0, 60.0, 1000.0):
        sim = driven()
        with sim.record(tmp_path / f"{rate}.mcap", rate=rate):
            sim.step(100)
        recording = sh.open_recording(tmp_path / f"{rate}.mcap")
        hashes.append([step.hash for step in recording.all_steps()])
    plain = driven()
    plain.step(100)
    assert hashes[0] == hashes[1] == hashes[2] and len(set(hashes[0])) == 100
    assert state_bytes(plain) == state_bytes(sim)


def test_a_resumed_run_may_be_recorded_again(tmp_path):
    sim = driven()
    with sim.record(tmp_path / "run.mcap", seed=11):
        sim.step(60)
    resumed = sh.open_recording(tmp_path / "run.mcap").resume(30 * sim.dt)
    rng = np.random.default_rng(1)
    with resumed.record(tmp_path / "more.mcap"):
        for _ in range(20):
            drive(resumed, rng)
            resumed.step()
    recording = sh.open_recording(tmp_path / "more.mcap")
    assert (recording.start, recording.steps) == (30 * sim.dt, 20) and recording.verify() is None
    assert sh.open_recording(tmp_path / "run.mcap").header["seed"] == "11"


def test_time_goes_on_to_the_bit_from_a_saved_state():
    """A controller that looks at the clock sees the same one: sums of many steps round otherwise."""
    sim = sh.Simulation(lively_scene(), dt=0.007)
    sim.step(123)
    other = sh.Simulation(sim.model, dt=0.01)
    other.restore(sim.save())
    for _ in range(200):
        sim.step()
        other.step()
        assert sim.time == other.time
