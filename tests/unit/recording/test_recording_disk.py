"""Disks that are full, slow or closed to writing: a clear stop, and what was written stays readable."""

from __future__ import annotations

import errno
import os
import resource
import signal
import time

import pytest
from recorded import driven, written
from refusal import refused

import sharnir as sh
from sharnir.recording.write import recorder as recorder_module

LIMIT = 300_000  # bytes, of a file on a disk that is soon full


def fill_the_disk(recorder, limit: int = LIMIT) -> None:
    """Its file cannot grow beyond so many bytes from here on."""
    resource.prlimit(recorder._process.pid, resource.RLIMIT_FSIZE, (limit, limit))


def test_a_full_disk_ends_the_recording_not_the_simulation(tmp_path):
    sim, path = driven(), tmp_path / "run.mcap"
    with refused("run.mcap", "ends at t", os.strerror(errno.EFBIG), error=sh.RecordingError):  # noqa: SIM117
        with sim.record(path) as recorder:
            fill_the_disk(recorder)
            for _ in range(20_000):
                sim.step()
    taken, at = sim.counts.steps, sim.time
    sim.step()
    assert sim.counts.steps == taken + 1 and sim.time == pytest.approx(at + sim.dt)
    recording = sh.open_recording(path)
    assert not recording.complete and 100 < recording.steps < taken and path.stat().st_size <= LIMIT
    assert recording.verify() is None


def test_a_full_disk_is_told_at_the_end_where_no_step_follows(tmp_path):
    sim, path = driven(), tmp_path / "run.mcap"
    recorder = sim.record(path)
    fill_the_disk(recorder, path.stat().st_size + 100)
    sim.step(10)
    with refused("run.mcap", "ends at t", error=sh.RecordingError):
        recorder.close()
    recording = sh.open_recording(path)
    assert sim.recorder is None and (recording.steps, len(recording.times)) == (0, 1)


def test_a_folder_that_cannot_be_written_to_is_told_at_once(tmp_path):
    if os.geteuid() == 0:
        folder = "/proc/sharnir"
    else:
        tmp_path.chmod(0o500)
        folder = tmp_path
    sim = driven()
    with refused("cannot be written", error=sh.RecordingError):
        sim.record(f"{folder}/run.mcap")
    assert sim.recorder is None and sim.step()
    with refused("No such file", error=sh.RecordingError):
        sim.record(tmp_path / "no" / "run.mcap")


def test_a_file_that_is_there_is_not_overwritten(tmp_path):
    path = tmp_path / "run.mcap"
    path.write_text("dear")
    with refused("run.mcap", "exists", error=sh.RecordingError):
        driven().record(path)
    assert path.read_text() == "dear"


def test_no_step_waits_for_a_disk_that_stands_still(tmp_path, monkeypatch):
    """The writing process is stopped, and will not go on before all is over: who waits for it hangs. Steps go on until
    the queue is full, then an error says so."""
    monkeypatch.setattr(recorder_module, "ROOM", 2**21)
    sim, path = driven(), tmp_path / "run.mcap"
    recorder = sim.record(path)
    sim.step(50)
    os.kill(recorder._process.pid, signal.SIGSTOP)
    waits = pytest.MonkeyPatch()
    waits.setattr(time, "sleep", lambda _: pytest.fail("a step sleeps"))
    waits.setattr(recorder._process, "wait", lambda *_: pytest.fail("a step waits for the writing process"))
    try:
        with refused("waited for the disk", "catch_up", error=sh.RecordingError):
            for _ in range(20_000):
                sim.step()
        assert sim.recorder is None
        sim.step(5)
    finally:
        waits.undo()
        os.kill(recorder._process.pid, signal.SIGCONT)
    recorder.close()
    recording = sh.open_recording(path)
    assert recording.complete and recording.steps == recorder.steps < sim.counts.steps
    assert recording.verify() is None


def test_a_run_that_no_clock_hurries_lets_the_disk_catch_up(tmp_path, monkeypatch):
    monkeypatch.setattr(recorder_module, "ROOM", 2**20)
    sim = driven()
    with sim.record(tmp_path / "run.mcap"):
        sim.run(8.0)
    assert sh.open_recording(tmp_path / "run.mcap").steps == 2000


def test_a_writing_process_that_is_gone_is_told(tmp_path):
    sim = driven()
    with refused("ended with status -9", error=sh.RecordingError), sim.record(tmp_path / "run.mcap") as recorder:
        sim.step(50)
        written(tmp_path / "run.mcap", 50)
        os.kill(recorder._process.pid, signal.SIGKILL)
        recorder._process.wait()
        sim.step(100)
        sim.step()
    assert sh.open_recording(tmp_path / "run.mcap").steps >= 50


@pytest.mark.parametrize(
    "options, words",
    [({"rate": 0}, "rate"), ({"rate": "x"}, "rate"), ({"seed": 1.5}, "seed"), ({"seed": True}, "seed")],
)
def test_bad_options_are_refused(tmp_path, options, words):
    with refused("record", words):
        driven().record(tmp_path / "run.mcap", **options)


def test_what_cannot_be_recorded_is_refused(tmp_path):
    sim = driven()
    with sim.record(tmp_path / "run.mcap"), refused("recorded already"):
        sim.record(tmp_path / "other.mcap")
    with refused("one world", "3 worlds"):
        sh.Simulation(sim.model, worlds=3).record(tmp_path / "other.mcap")
    from dataclasses import replace

    with refused("no scene"):
        sh.Simulation(replace(sim.model, scene=None, cache={})).record(tmp_path / "other.mcap")
