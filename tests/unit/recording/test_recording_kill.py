"""kill −9 during a recording: the file is readable as it is; what was in it stays, and little is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from recorded import written

import sharnir as sh
from sharnir.recording.write.process import FLUSH

MOST_LOST = 1.0  # s, on a machine that does nothing else
PROGRAM = """
import sys, time
import numpy as np
from recorded import driven
sim = driven("simgc", dt=0.001)
began = np.memmap(sys.argv[2], dtype=float, mode="w+", shape=1_000_000)
sim.add_controller(lambda s: began.__setitem__(s.counts.steps, time.monotonic()))
with sim.record(sys.argv[1]):
    print("recording", flush=True)
    sim.run(999, realtime=True)
"""


def killed(folder: Path, whole_group: bool, steps: int = 0, delay: float = 0.0) -> tuple[sh.Recording, np.ndarray]:
    """What is left of a recording killed when its file had so many steps and some time (s) had passed, and when its
    steps began (s, by the wall clock)."""
    path, clock = folder / "run.mcap", folder / "clock"
    places = os.pathsep.join([str(Path(sh.__file__).parents[1]), str(Path(__file__).parent)])
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, path, clock], stdout=subprocess.PIPE, start_new_session=True,
        env={**os.environ, "PYTHONPATH": places},
    )  # fmt: skip
    try:
        assert process.stdout is not None and process.stdout.readline() == b"recording\n"
        written(path, steps)
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
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)
    raise AssertionError("the writing process outlives the simulation")


def lost(recording: sh.Recording, began: np.ndarray) -> float:
    """Seconds lost, by the wall clock. The last step may not have ended."""
    steps = recording.steps
    return float(began[-1] - began[steps]) if len(began) > steps else 0.0


def check(recording: sh.Recording, began: np.ndarray) -> None:
    """What there is, is whole."""
    steps = recording.steps
    assert steps <= len(began)
    assert steps == round(recording.end / 0.001) and (steps == 0 or recording.step(steps).step == steps)
    assert recording.state(recording.end).t <= recording.end + 1e-9


@pytest.mark.parametrize("steps", [0, 1, 100, 400, 1000])
def test_a_killed_recording_is_readable(tmp_path, steps):
    """What could be read from the file before is there; steps come into it while the recording goes on."""
    recording, began = killed(tmp_path, whole_group=True, steps=steps)
    check(recording, began)
    assert recording.steps >= steps and not recording.complete


def test_a_chunk_is_due_long_before_a_second_is_lost():
    """Whatever is in the queue is written when this time has passed: `test_a_hundred_kills` measures what is lost."""
    assert FLUSH <= MOST_LOST / 4


def test_where_only_the_simulation_is_killed_nothing_is_lost(tmp_path):
    recording, began = killed(tmp_path, whole_group=False, steps=500)
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
        recording, began = killed(folder, whole_group=True, delay=float(rng.uniform(0.0, 3.0)))
        check(recording, began)
        losses.append(lost(recording, began))
        assert losses[-1] <= MOST_LOST, losses
        if k % 10 == 0:
            assert recording.verify() is None
            assert recording.resume(recording.end).time == pytest.approx(recording.end)
        print(f"{k}: {recording.steps} of {len(began)} steps, lost {losses[-1]:.3f} s", flush=True)
    record_property("s lost: median, most", (float(np.median(losses)), max(losses)))
    assert len(losses) == 100
