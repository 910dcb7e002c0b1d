"""Recording from the view, and going on live from a moment of a recording, with a real browser as the operator."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from watched import need_browser, soon

from sharnir.recording.read.recording import open_recording
from sharnir.viewer.browser import Browser

COMMAND = Path(sys.executable).with_name("sharnir")
MOVING = "document.querySelector('#sharnir-drive button') !== null"
STEPS = 100  # that are recorded


@contextmanager
def served(words: list[str], folder: Path) -> Iterator[str]:
    """The address that a command prints; ended by Ctrl-C."""
    process = subprocess.Popen(
        [COMMAND, *words, "--port", "0"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().split(": ", 1)[1].split()[0]
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0 and "Traceback" not in errors, errors
    finally:
        process.kill()


def test_what_is_seen_live_is_recorded_and_goes_on_from_any_moment(tmp_path):
    need_browser()
    with Browser() as browser:
        with served(["view", "five_link_chain", "--record", "first.mcap"], tmp_path) as address:
            browser.open(address)
            browser.until(MOVING)
            assert soon(lambda: open_recording(tmp_path / "first.mcap").steps > STEPS)
        first = open_recording(tmp_path / "first.mcap")
        assert first.complete and first.steps > STEPS
        assert first.verify() is None
        middle = round(0.5 * first.end, 2)
        words = ["replay", "first.mcap", "--resume", str(middle), "--record", "second.mcap"]
        with served(words, tmp_path) as address:
            browser.open(address)
            browser.until(MOVING)
            assert soon(lambda: open_recording(tmp_path / "second.mcap").steps > STEPS)
    second = open_recording(tmp_path / "second.mcap")
    assert abs(second.start - middle) < 1e-9 and second.steps > STEPS  # time is a sum of steps
    assert second.verify() is None
