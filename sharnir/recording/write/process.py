"""The process that writes a recording: takes steps from shared memory, hashes them, makes messages, compresses, writes.

Run as `python -m sharnir.recording.write.process DESCRIPTOR CAPACITY`; `recorder.py` is the other end. It is told what
to write by one line of JSON on stdin and answers with lines of JSON; it ends when stdin does, after the last record,
also when the simulation's process was killed.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from typing import Any

from sharnir.recording.write.messages import Messages
from sharnir.recording.write.ring_buffer import Ring
from sharnir.regular_files import why

PAUSE = 0.01  # s, between two looks at the queue
START = 0.001  # s, the same while the first record is awaited
FLUSH = 0.25  # s, after which a chunk is written however small it is
CHUNK = 2**20  # bytes


class Out:
    """A new file to which whole records are written: where one does not fit, those before it stay."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        self._at = 0

    def write(self, data: bytes) -> int:
        """Write all of it, or nothing and raise an OSError."""
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError:
            os.ftruncate(self._file, self._at)
            raise
        self._at += len(data)
        return len(data)

    def tell(self) -> int:
        """Bytes written."""
        return self._at

    def flush(self) -> None:
        """Nothing waits here."""

    def close(self) -> None:
        """End."""
        os.close(self._file)


def say(**message: Any) -> None:
    """Tell the simulation's process, which may be gone."""
    try:
        print(json.dumps(message), flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def has_ended(seconds: float) -> bool:
    """Wait; whether the simulation's process has closed stdin, or is gone."""
    ready, _, _ = select.select([0], [], [], seconds)
    return bool(ready) and not os.read(0, 4096)


def main() -> None:
    """Write one recording."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    ring = Ring(int(sys.argv[1]), int(sys.argv[2]))
    task = json.loads(read_line())
    try:
        out = Out(task["path"])
        messages = Messages(task, out, CHUNK)
        say(ready=True)
        start(ring, messages)
        follow(ring, messages)
        out.close()
    except (OSError, ValueError) as error:  # ValueError: a path that no file can have
        ring.give_up()
        say(failed=why(error))
        sys.exit(1)


def read_line() -> bytes:
    """The first line of stdin, without what follows it."""
    parts = []
    while (part := os.read(0, 2**16)) and not part.endswith(b"\n"):
        parts.append(part)
    return b"".join([*parts, part])


def start(ring: Ring, messages: Messages) -> None:
    """Write the first record, without which the others mean nothing, and say so."""
    started = False
    while not started and not has_ended(START):
        for record in ring.taken():
            messages.add(record)
            started = True
    messages.flush()
    say(started=started)


def follow(ring: Ring, messages: Messages) -> None:
    """Write records as they come, until the end."""
    flushed, ended = time.monotonic(), False
    while not ended:
        ended = has_ended(PAUSE)
        for record in ring.taken():
            messages.add(record)
            if time.monotonic() - flushed > FLUSH:
                messages.flush()
                flushed = time.monotonic()
        if time.monotonic() - flushed > FLUSH:
            messages.flush()
            flushed = time.monotonic()
    messages.finish()


if __name__ == "__main__":
    main()
