"""The parent's end of the child process: starts it, waits no longer than it may, and survives its death."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import time
from types import TracebackType
from typing import Any

from sharnir.child_process import NOWHERE, child_environment, module_command
from sharnir.io.parsing.pipe import frame

START_LIMIT = 60.0  # seconds for the child to import MuJoCo
LARGEST_JSON = 4 * 2**20
CHUNK = 2**16


class ChildError(Exception):
    """The child gave no answer: `budget` names the one it ran out of, else it crashed."""

    def __init__(self, reason: str, budget: str = "") -> None:
        super().__init__(reason)
        self.budget = budget


class Worker:
    """A child process, started when needed and again after a crash or a time-out. One request at a time."""

    def __init__(self, lifetime: int = 500) -> None:
        self.lifetime = lifetime
        self.served = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._ready = False
        self._rest = b""

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def start(self) -> None:
        """Start the child without waiting until it is ready."""
        if self._process is not None:
            return
        self._process = subprocess.Popen(
            module_command("sharnir.io.parsing.parser_process"),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
            cwd=NOWHERE,
            env=child_environment("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MALLOC_ARENA_MAX"),
        )  # fmt: skip
        self._ready, self._rest, self.served = False, b"", 0

    def ask(
        self, request: dict[str, Any], blobs: list[bytes], memory: int, seconds: float
    ) -> tuple[dict[str, Any], list[bytes]]:
        """The child's answer, or ChildError. memory: bytes, also of the answer. seconds: of wall-clock time."""
        if self.served >= self.lifetime:
            self.close()
        self.start()
        try:
            if not self._ready:
                self._exchange([], CHUNK, time.monotonic() + START_LIMIT)
                self._ready = True
            self.served += 1
            message = frame({**request, "memory_limit": memory, "time_limit": seconds}, blobs)
            return self._exchange(message, memory, time.monotonic() + seconds)
        except BaseException:
            self.close()
            raise

    def _exchange(self, message: list[bytes], most: int, deadline: float) -> tuple[dict[str, Any], list[bytes]]:
        assert self._process is not None and self._process.stdin is not None and self._process.stdout is not None
        with selectors.DefaultSelector() as ready:
            os.set_blocking(self._process.stdin.fileno(), False)
            ready.register(self._process.stdout, selectors.EVENT_READ)
            pending = [memoryview(part) for part in message if part]
            if pending:
                ready.register(self._process.stdin, selectors.EVENT_WRITE)
            received = bytearray(self._rest)
            while (answer := self._complete(received, most)) is None:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise ChildError("took too long", "time")
                for key, _ in ready.select(left):
                    if key.fileobj is self._process.stdout:
                        data = os.read(key.fd, 2**20)
                        if not data:
                            raise self._death()
                        received += data
                    elif self._write(key.fd, pending):
                        ready.unregister(self._process.stdin)
        return answer

    def _write(self, descriptor: int, pending: list[memoryview]) -> bool:
        """Write what the pipe takes; whether all is written."""
        try:
            sent = os.write(descriptor, pending[0][: 2**20])
        except BlockingIOError:
            return False
        except BrokenPipeError:
            raise self._death() from None
        pending[0] = pending[0][sent:]
        if not pending[0]:
            pending.pop(0)
        return not pending

    def _complete(self, received: bytearray, most: int) -> tuple[dict[str, Any], list[bytes]] | None:
        """The message in the bytes received, None while it is not whole."""
        if len(received) < 8:
            return None
        size = int.from_bytes(received[:8], "little")
        if size > LARGEST_JSON:
            raise ChildError("answered nonsense")
        if len(received) < 8 + size:
            return None
        try:
            message = json.loads(bytes(received[8 : 8 + size]))
            sizes = [int(n) for n in message["blobs"]]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise ChildError("answered nonsense") from None
        if min(sizes, default=0) < 0 or sum(sizes) > most:
            raise ChildError("compiled model is too large", "memory")
        if len(received) < 8 + size + sum(sizes):
            return None
        blobs, at = [], 8 + size
        for n in sizes:
            blobs.append(bytes(received[at : at + n]))
            at += n
        self._rest = bytes(received[at:])
        return message, blobs

    def _death(self) -> ChildError:
        assert self._process is not None
        code = self._process.wait(5)
        if code == -signal.SIGXCPU:
            return ChildError("took too long", "time")
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return ChildError(f"crashed MuJoCo's reader ({name})")

    def close(self) -> None:
        """End the child."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()
