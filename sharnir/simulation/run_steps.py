"""A run of many steps: blocks of them, pace with the wall clock, and an end by Ctrl-C between two steps."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from sharnir.impulse.settings import MAX_STEPS_PER_LAUNCH
from sharnir.progress import bar
from sharnir.simulation.step_warnings import ReportWarning, with_warnings

if TYPE_CHECKING:
    from sharnir.simulation.simulation import Simulation
    from sharnir.simulation.step_report import Report


def run_steps(sim: Simulation, steps: int, realtime: bool, progress: bool) -> Report:
    """Take steps; the report of the last, with warnings of all. A KeyboardInterrupt comes between two steps."""
    report: Report | None = None
    found: tuple[ReportWarning, ...] = ()
    began, late, done = time.perf_counter(), 0.0, 0
    with bar(sim.model.name, sim.time + steps * sim.dt, progress) as advance, deferred_interrupt() as interrupted:
        while done < steps:
            block = MAX_STEPS_PER_LAUNCH if sim.recorder is None else sim.recorder.block
            chunk = 1 if realtime else min(steps - done, block)
            report = sim.step(chunk)
            found += report.warnings
            done += chunk
            advance(sim.time)
            if sim.recorder is not None and not realtime:
                sim.recorder.catch_up()
            if interrupted():
                raise KeyboardInterrupt
            if realtime:
                late += pace(sim, began + late + done * sim.dt)
    assert report is not None
    return with_warnings(report, found, steps)


def pace(sim: Simulation, due: float) -> float:
    """Wait until the wall clock shows `due`; s that are lost where it is past that by more than a step."""
    ahead = due - time.perf_counter()
    if ahead > 0:
        time.sleep(ahead)
    elif -ahead > sim.dt:
        sim.counts.late += 1
        return -ahead
    return 0.0


@contextmanager
def deferred_interrupt() -> Iterator[Callable[[], bool]]:
    """Note Ctrl-C instead of raising a KeyboardInterrupt wherever the program is; what is given says whether it came.
    The second raises at once, for controllers that do not return, and so do all where a program handles the signal
    itself, or in another thread than the main one, which gets no signals."""
    came = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal came
        if came:
            raise KeyboardInterrupt
        came = True

    usual = threading.current_thread() is threading.main_thread() and (
        signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if not usual:
        yield lambda: False
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: came
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if came:  # after the last look
        raise KeyboardInterrupt
