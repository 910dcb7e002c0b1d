"""kill −9 during a recording: the file is readable as it is, and at most a second is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import sharnir as sh

MOST_LOST = 1.0  # s
PROGRAM = """
import sys, time
import numpy as np
from recorded import driven
sim = driven("simgc", dt=0.001)
began = np.memmap(sys.argv[2], dtype=float, mode="w+", shape=20_000)
sim.add_controller(lambda s: began.__setitem__(s.counts.steps, time.monotonic()))
with sim.record(sys.argv[1]):
    print("recording", flush=True)
    sim.run(19, realtime=True)
"""


def killed(folder: Path, delay: float, whole_group: bool) -> tuple[sh.Recording, np.ndarray]:
    """What is left of a recording killed after some time, and when its steps began (s, by the wall clock)."""
    path, clock = folder / "run.mcap", folder / "clock"
    places = os.pathsep.join([str(Path(sh.__file__).parents[1]), str(Path(__file__).parent)])
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, path, clock], stdout=subprocess.PIPE, start_new_session=True,
        env={**os.environ, "PYTHONPATH": places},
    )  # fmt: skip
    try:
        assert process.stdout is not None and process.stdout.readline() == b"recording\n"
        time.sleep(delay)
    finally:
        (os.killpg if whole_group else os.kill)(process.pid, signal.SIGKILL)
        process.wait()
    if not whole_group:
        wait_for_the_writer(process.pid)
    began = np.fromfile(clock)
    return sh.open_recording(path), began[began > 0]


def wait_for_the_writer(group: int) -> None:
    """It ends by itself when all is written."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)
    raise AssertionError("the writing process outlives the simulation")


def check(recording: sh.Recording, began: np.ndarray) -> float:
    """Seconds lost, by the wall clock, and that the rest is whole. The last step may not have ended."""
    steps = recording.steps
    lost = float(began[-1] - began[steps]) if len(began) > steps else 0.0
    assert lost <= MOST_LOST, lost
    assert steps == round(recording.end / 0.001) and (steps == 0 or recording.step(steps).step == steps)
    assert recording.state(recording.end).t <= recording.end + 1e-9
    return lost


@pytest.mark.parametrize("number", range(5))
def test_a_killed_recording_is_readable(tmp_path, number):
    delay = float(np.random.default_rng(number).uniform(0.0, 1.5))
    recording, began = killed(tmp_path, delay, whole_group=True)
    check(recording, began)
    assert not recording.complete


def test_where_only_the_simulation_is_killed_nothing_is_lost(tmp_path):
    recording, began = killed(tmp_path, 0.7, whole_group=False)
    check(recording, began)
    assert recording.steps >= len(began) - 1 and recording.complete
    assert recording.verify() is None


@pytest.mark.slow
def test_a_hundred_kills(tmp_path, record_property):
    """At random moments from the first one on; one in ten is verified and resumed."""
    rng, losses = np.random.default_rng(100), []
    for k in range(100):
        folder = tmp_path / str(k)
        folder.mkdir()
        recording, began = killed(folder, float(rng.uniform(0.0, 3.0)), whole_group=True)
        losses.append(check(recording, began))
        if k % 10 == 0:
            assert recording.verify() is None
            assert recording.resume(recording.end).time == pytest.approx(recording.end)
        print(f"{k}: {recording.steps} of {len(began)} steps, lost {losses[-1]:.3f} s", flush=True)
    record_property("s lost: median, most", (float(np.median(losses)), max(losses)))
    assert len(losses) == 100
