"""The simulation's end of a recording: copies every step into shared memory and never waits for a disk."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from sharnir.checks import number
from sharnir.child_process import NOWHERE, child_environment, module_command
from sharnir.errors import RecordingError, SharnirError, fail, one_line, shown
from sharnir.impulse.settings import MAX_STEPS_PER_LAUNCH
from sharnir.recording.write.captures import Capture
from sharnir.recording.write.messages import EVENT, HEAD, SNAPSHOT, STEP
from sharnir.recording.write.ring_buffer import CONTROL, WORD, Ring, shared_file
from sharnir.recording.write.task import task_of

if TYPE_CHECKING:
    from sharnir.simulation.simulation import Simulation

ROOM = 32 * 2**20  # bytes of steps that may wait for the disk
LEAST = 8  # steps there is room for at least, however large they are
LOOK = 64  # steps between two looks whether the writing process lives


class Recorder:
    """A recording in progress; close it, or use it in a `with` block.

    Where it cannot go on, because the disk is full or slower than the simulation for too long, the next step raises a
    RecordingError before it is taken. The file then ends with the last step there was room for; the simulation is
    whole and may go on, without a recording.
    """

    def __init__(self, sim: Simulation, path: str | Path, rate: float, seed: int | None) -> None:
        check(sim, rate, seed)
        self.path = Path(path)
        self._sim, self._capture = sim, Capture(sim)
        self._period = 1.0 / rate
        self.steps = 0
        self._known: tuple[Any, ...] = ()
        self._offset, self._due = 0.0, sim.time + self._period
        self._full: float | None = None  # s, when there was no room left
        self._told = self._closed = False  # whether an error was raised; whether it was closed
        self._start_writer(json.dumps(task_of(sim, self._capture.layout, os.path.abspath(path), rate, seed)))
        self._put_snapshot("start")
        self._await("started")

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        if isinstance(value, SharnirError) and self._sim.recorder is self:
            self._put_event("error", str(value))
        self.close(quietly=value is not None)

    @property
    def t(self) -> float:
        """s, on the clock of the recording: the simulation's, but it never goes back."""
        return self._sim.time + self._offset

    @property
    def block(self) -> int:
        """How many steps surely find room after `catch_up`."""
        room = self._ring.capacity // 2 // (HEAD.size + self._capture.most + 2 * WORD)
        return max(1, min(MAX_STEPS_PER_LAUNCH, room))

    def catch_up(self) -> None:
        """Wait until the disk has taken half of what may wait for it, if more does; for runs faster than it."""
        while self._ring.used > self._ring.capacity // 2 and not self._ring.trouble:
            try:
                self._process.wait(0.005)
                break
            except subprocess.TimeoutExpired:
                continue

    def close(self, quietly: bool = False) -> None:
        """Write the rest, and the end of the file. quietly: without an error, where there is another one already."""
        if self._closed:
            return
        self._closed = True
        self._leave()
        trouble = self._end()
        if quietly or self._told:
            return
        if trouble is not None:
            raise trouble
        if self._full is not None:
            raise self._overflow(self._full)

    # called by the simulation (simulation.observer.StepObserver)

    def before(self) -> None:
        """Before some steps: note what others than steps have changed since the last one."""
        if self._ring.trouble or (self.steps % LOOK == 0 and self._process.poll() is not None):
            self._told = self._closed = True
            self._leave()
            raise self._end() or self._trouble("the process that writes it has ended")
        reason = self._difference()
        if reason:
            self._put_snapshot(reason)
        if self._full is not None:
            self._told = True
            self._leave()
            raise self._overflow(self._full)

    def after(self) -> None:
        """After a step: copy it, while there is room."""
        if self._full is None:
            self._step()
        self._known = self._knows()

    # what is put in the queue

    def _step(self) -> None:
        sim, t = self._sim, self.t
        seen = t >= self._due - 1e-9
        if seen:
            sim.seen("v")
            self._due = max(self._due + self._period, t)
        self.steps += 1
        if not self._put(STEP, seen, t):
            self.steps, self._full = self.steps - 1, t - sim.dt

    def _put_snapshot(self, reason: str) -> None:
        """A snapshot of the state before the next step."""
        sim = self._sim
        if self._known:
            self._offset += self._known[0] - sim.time
        sim._changed()
        sim.seen("v")
        text = json.dumps([reason, json.dumps(asdict(sim.settings))]).encode()
        if not self._put(SNAPSHOT, True, self.t, text):
            self._full = self.t
        self._known = self._knows()

    def _put_event(self, kind: str, what: str) -> None:
        text = json.dumps([kind, one_line(what)]).encode()
        self._ring.put(HEAD.pack(EVENT, 0, 0, self.steps, 0.0, 0, 0.0, self.t), text)

    def _put(self, kind: int, seen: bool, t: float, text: bytes = b"") -> bool:
        """Put a capture into the queue; whether there was room."""
        sim, capture = self._sim, self._capture
        contacts = capture.contacts()
        steps = sim._steps - (kind == STEP)  # of a step: those before it
        head = HEAD.pack(kind, seen, contacts, self.steps, sim._since, steps, sim._dt, t)
        self._last = capture.state(contacts)
        return self._ring.put(head, capture.inputs(), self._last, capture.seen() if seen else b"", text)

    def _difference(self) -> str:
        """What differs from the end of the last step: "changed", "settings" or nothing."""
        state = self._capture.state(self._capture.contacts())
        if state != self._last or self._sim.time != self._known[0]:
            return "changed"
        return "settings" if self._sim.settings is not self._known[1] else ""

    def _knows(self) -> tuple[Any, ...]:
        return self._sim.time, self._sim.settings

    # the other process

    def _start_writer(self, task: str) -> None:
        capacity = max(ROOM, LEAST * (self._capture.most + 2**16))
        capacity -= capacity % WORD
        try:
            memory = shared_file(CONTROL + capacity)
        except OSError as error:
            raise self._trouble(f"no {capacity >> 20} MiB of shared memory: {error.strerror}") from None
        try:
            self._ring = Ring(memory, capacity)
            self._ring.touch()
            self._process = subprocess.Popen(
                module_command("sharnir.recording.write.process", memory, capacity),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[memory], cwd=NOWHERE,
                env=child_environment("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"),
            )  # fmt: skip
        finally:
            os.close(memory)
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(task.encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass
        self._await("ready")

    def _await(self, word: str) -> None:
        """Wait until the writing process says it."""
        words = self._words()
        if word not in words:
            self._leave()
            raise self._end(words) or self._trouble("the process that writes it has ended")

    def _leave(self) -> None:
        """Let the simulation go on without, and the writing process end when it has written all."""
        if self._sim.recorder is self:
            self._sim.recorder = None
        assert self._process.stdin is not None
        self._process.stdin.close()

    def _words(self) -> dict[str, Any]:
        """The next line of the writing process, nothing if it has ended."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        return json.loads(line) if line else {}

    def _overflow(self, at: float) -> RecordingError:
        return RecordingError(
            f"recording {self.path}: ends at t = {at:.6g} s, where {self._ring.capacity >> 20} MiB of steps waited for "
            "the disk; allowed: a faster disk, Simulation.run, or Recorder.catch_up between steps"
        )

    def _end(self, words: dict[str, Any] | None = None) -> RecordingError | None:
        """Wait for the end of the writing process; what was wrong, if anything. words: its last ones, if known."""
        failed = (words or self._words()).get("failed")
        status = self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        return self._trouble(failed or f"the process that writes it ended with status {status}") if status else None

    def _trouble(self, reason: str) -> RecordingError:
        until = f"ends at t = {self.t:.6g} s or before it" if self.steps else "cannot be written"
        return RecordingError(f"recording {self.path}: {until}: {reason}; allowed: a new file on a disk with room")


def check(sim: Simulation, rate: Any, seed: Any) -> None:
    """Whether a simulation can be recorded."""
    number("record", "rate", rate, above=0)
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or abs(seed) >= 2**64):
        raise fail("record", "seed is not a whole number", shown(seed), "a whole number of at most 64 bits, or None")
    if sim.recorder is not None:
        raise fail("record", "is recorded already", str(sim.recorder.path), "one recording at a time")
    if sim.worlds != 1 or sim.impulses.device != "cpu":
        raise fail("record", "holds one world", f"{sim.worlds} worlds on {sim.impulses.device}", "one on the CPU")
    if sim.model.scene is None:
        raise fail("record", "model has no scene to be recorded with", repr(sim.model.name), "what compile returns")
