"""What is in the file: header, channels that other programs read, states and events as they were."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from measures import both
from recorded import driven, lively_scene

import sharnir as sh
from sharnir import scenes
from sharnir.rotations import quat_to_matrix
from sharnir.simulation.joint_map import joint_map, scene_state

BOTH_SOLVERS = ("simgc", "simmc")


@pytest.fixture(scope="module", params=BOTH_SOLVERS)
def run(request, tmp_path_factory):
    """A recorded run, its recording, and what was seen at its states."""
    path, sim, seen = tmp_path_factory.mktemp("run") / "run.mcap", driven(request.param), []
    joints = joint_map(sim.model, sim.inner)

    def look():
        names = sim.model.body_names
        poses = [(sim.body(n).position.copy(), sim.body(n).rotation.copy()) for n in names]
        seen.append((sim.time, scene_state(sim, joints), poses, sim.energy, sim.contacts()))

    with sim.record(path, rate=50.0, seed=3):
        look()
        for _ in range(60):
            sim.step(5)
            look()
    return sim, sh.open_recording(path), seen


def test_states_are_those_of_the_simulation(run):
    _, recording, seen = run
    assert len(recording.times) == len(seen) == 61
    for k, (t, (q, v, loop_q, loop_v), poses, energy, contacts) in enumerate(seen):
        state = recording.state(t + 1e-6)
        assert state.t == recording.times[k] == pytest.approx(t, abs=1e-12)
        for ours, theirs in ((state.q, q), (state.v, v), (state.loop_q, loop_q), (state.loop_v, loop_v)):
            np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-15)  # turned in another process
        assert (state.kinetic, state.potential) == energy
        position, rotation = recording.poses(t)
        np.testing.assert_array_equal(position, [x for x, _ in poses])
        np.testing.assert_allclose(rotation, [R for _, R in poses], atol=1e-14)
        if k:
            assert [tuple(pair) for pair in state.contact_shapes.reshape(-1, 2)] == [c.shapes for c in contacts]
            forces = state.contacts.reshape(-1, 13)[:, 7:10]
            np.testing.assert_allclose(forces, np.array([c.force for c in contacts]).reshape(-1, 3), rtol=1e-12)


def test_the_header_says_what_ran(run):
    sim, recording, _ = run
    h = recording.header
    assert h["model"] == sim.model.fingerprint == recording.model.fingerprint
    assert (h["solver"], float(h["dt"]), h["seed"], float(h["rate"])) == (sim.solver, sim.dt, "3", 50.0)
    assert json.loads(h["settings"])["erp"] == sim.settings.erp and h["sharnir"] == sh.__version__
    assert recording.scene == lively_scene().plain() and recording.elsewhere() == ""


def test_events_begin_and_end_in_turns(run):
    _, recording, _ = run
    kinds = {e.kind for e in recording.events}
    assert kinds == {"contact", "limit"}
    for kind, what in {(e.kind, e.what) for e in recording.events}:
        turns = [e.begins for e in recording.events if (e.kind, e.what) == (kind, what)]
        assert turns == [k % 2 == 0 for k in range(len(turns))]
    assert ("contact", "crate – world") in {(e.kind, e.what) for e in recording.events}


def test_a_ball_touches_when_it_must(tmp_path):
    """Dropped from 0.3 m above the ground: t = √(2 h/g), and the event comes within two steps of it."""
    scene = sh.Scene(name="drop")
    scene.add(sh.HalfSpace())
    scene.add(sh.Body(name="ball", shapes=[sh.Sphere(radius=0.1)], position=(0, 0, 0.4)))
    sim = sh.Simulation(scene, dt=0.001)
    with sim.record(tmp_path / "run.mcap"):
        sim.run(0.5)
    first, *_ = sh.open_recording(tmp_path / "run.mcap").events
    assert (first.kind, first.what, first.begins) == ("contact", "ball – world", True)
    assert first.t == pytest.approx(np.sqrt(2 * 0.3 / 9.81), abs=0.002)


def test_other_programs_read_the_channels(run):
    """Decoded by their schemas, by MCAP's own reader and its decoder of ROS 2 messages."""
    ros2 = pytest.importorskip("mcap_ros2.decoder")
    from mcap.reader import make_reader

    sim, recording, seen = run
    topics: dict[str, list] = {}
    with recording.path.open("rb") as stream:
        reader = make_reader(stream, validate_crcs=True, decoder_factories=[ros2.DecoderFactory()])
        for _, channel, message, decoded in reader.iter_decoded_messages():
            topics.setdefault(channel.topic, []).append((message.log_time, decoded))
    assert [len(topics[t]) for t in ("/tf", "/joint_states", "/sharnir/step")] == [61, 61, 300]
    names = list(sim.model.body_names)
    for k in (0, 20, 60):
        t, _, poses, _, _ = seen[k]
        at, message = topics["/tf"][k]
        assert at == round(1e9 * t) and [x.child_frame_id for x in message.transforms] == names
        for transform, (x, R) in zip(message.transforms, poses, strict=True):
            stamp, turn, place = transform.header.stamp, transform.transform.rotation, transform.transform.translation
            assert transform.header.frame_id == "world" and stamp.sec * 10**9 + stamp.nanosec == at
            np.testing.assert_array_equal([place.x, place.y, place.z], x)
            np.testing.assert_allclose(quat_to_matrix(np.array([turn.x, turn.y, turn.z, turn.w])), R, atol=1e-14)
        _, joints = topics["/joint_states"][k]
        assert joints.name == ["a", "b", "swing", "c", "d"] or set(joints.name) == {"a", "b", "c", "d", "swing"}
        q, v = (dict(zip(joints.name, x, strict=True)) for x in (joints.position, joints.velocity))
        state = recording.state(t + 1e-6)
        where = sim.model.joint("swing")
        assert (q["swing"], v["swing"]) == (state.q[where.q][0], state.v[where.v][0])


def test_numbers_go_to_a_table_as_those_of_a_run(tmp_path):
    """`sharnir.simulate` with and without a recording; the recorded states are those of its trajectory."""
    model = sh.compile(scenes.make("four_bar"))
    times = np.arange(0, 0.51, 0.1)
    options = {"solver": "simgc", "dt": 0.01, "times": times}
    plain = sh.simulate(model, 0.5, **options)
    ours = sh.simulate(model, 0.5, record=tmp_path / "run.mcap", rate=10.0, **options)
    again = sh.open_recording(tmp_path / "run.mcap").trajectory()
    for name in ("t", "q", "v", "loop_q", "loop_v", "kinetic", "potential", "control"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(ours, name))
        np.testing.assert_allclose(getattr(ours, name), getattr(again, name), rtol=0, atol=1e-12)


@both
def test_what_ended_a_run_is_an_event(tmp_path, solver):
    sim = sh.Simulation(scenes.make("pendulum") if solver == "simgc" else lively_scene(), solver=solver, dt=0.01)
    with pytest.raises(sh.SimulationError), sim.record(tmp_path / "run.mcap"):
        sim.step(5)
        sim.body(sim.model.body_names[0]).applied = [1e300, 0, 0, 0, 1e300, 0]
        sim.step(5)
    last = sh.open_recording(tmp_path / "run.mcap").events[-1]
    assert last.kind == "error" and "no longer finite" in last.what


def test_names_are_kept_as_they_are(tmp_path):
    scene, name = sh.Scene(name="</script><b>"), '<img onerror="x">/ы'
    scene.add(sh.Body(name=name, shapes=[sh.Sphere(radius=0.1)]))
    sim = sh.Simulation(scene)
    with sim.record(tmp_path / "run.mcap"):
        sim.step(3)
    recording = sh.open_recording(tmp_path / "run.mcap")
    assert recording.model.body_names == (name,) and recording.steps == 3


@pytest.mark.slow  # its kernels may have to be compiled
def test_single_precision_is_recorded_too(tmp_path):
    program = """
import sys, sharnir as sh
from recorded import driven
sim = driven()
with sim.record(sys.argv[1]):
    sim.step(60)
recording = sh.open_recording(sys.argv[1])
assert recording.verify() is None and recording.header["precision"] == "single"
"""
    places = os.pathsep.join([str(Path(sh.__file__).parents[1]), str(Path(__file__).parent)])
    environment = {**os.environ, "PYTHONPATH": places, "SHARNIR_PRECISION": "single"}
    path = tmp_path / "run.mcap"
    subprocess.run([sys.executable, "-c", program, path], env=environment, check=True)
    with pytest.raises(sh.ModelError, match="another precision"):
        sh.open_recording(path).verify()
