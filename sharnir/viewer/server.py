"""The viewer's process, seen from the simulation's: started, told what to show, asked whether it lives, ended."""

from __future__ import annotations

import json
import pickle
import select
import subprocess
from contextlib import suppress
from importlib.util import find_spec

from sharnir.child_process import child_environment, module_command
from sharnir.errors import ModelError, SimulationError
from sharnir.viewer.channel import Channel
from sharnir.viewer.page.gate import Address
from sharnir.viewer.setup import Setup

PATIENCE = 60.0  # s, for the process to serve
ENDING = 3.0  # s, for it to end


class Server:
    """A process that serves the page. It ends when its input does, so also when this process is killed."""

    def __init__(self, setup: Setup, address: Address, channel: Channel) -> None:
        require_viser()
        file = channel.file.fileno()
        self._process = subprocess.Popen(
            module_command("sharnir.viewer.page.process", file), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, pass_fds=[file], env=child_environment(),
        )  # fmt: skip
        try:
            self.url = self._started(pickle.dumps((setup, address)))
        except BaseException:
            self.close()
            raise

    def _started(self, told: bytes) -> str:
        """Tell it what to show; the address it answers with."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(len(told).to_bytes(8, "little") + told)
            self._process.stdin.flush()
        except BrokenPipeError:
            raise SimulationError("view: the viewer's process ended at its start") from None
        ready, _, _ = select.select([self._process.stdout], [], [], PATIENCE)
        line = self._process.stdout.readline() if ready else b""
        if not line:
            raise SimulationError(f"view: the viewer's process did not answer within {PATIENCE:g} s, or ended")
        answer = json.loads(line)
        if "error" in answer:
            raise ModelError(answer["error"])
        return str(answer["url"])

    def last_words(self) -> str:
        """Why it ended."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        return str(json.loads(line).get("error", "")) if line else "view: the viewer's process was ended"

    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(ENDING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


def require_viser() -> None:
    """A word about how to get viser, where it is missing."""
    try:
        found = find_spec("viser") is not None
    except ValueError:  # blocked
        found = False
    if not found:
        raise ModelError("view: viser is missing; allowed: pip install 'sharnir[view]'")
