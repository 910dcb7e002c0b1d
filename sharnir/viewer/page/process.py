"""The viewer's process: serves the page and moves it by the frames it finds in shared memory.

Started by `sharnir.viewer.server`, which writes what to show to its input and reads the address from its output; ends
when the input does.
"""

from __future__ import annotations

import json
import logging
import os
import pickle
import resource
import signal
import socket
import sys
import threading
import time
import traceback
from typing import Any

from sharnir.errors import ModelError, fail
from sharnir.model.model import check_index
from sharnir.viewer.channel import Channel
from sharnir.viewer.commands import Command
from sharnir.viewer.page.cameras import Cameras
from sharnir.viewer.page.control import Control
from sharnir.viewer.page.gate import Address, Gate, guarded, page, tls_of
from sharnir.viewer.page.input_socket import Bridge, page_of
from sharnir.viewer.page.panel import Panel
from sharnir.viewer.page.scene_view import Page, poses
from sharnir.viewer.setup import Setup

FRAME = 1 / 60  # s
ALONE = 0.5  # s, between frames that nobody watches
FILES = 4096  # open ones, at most
NICE = 19  # the simulation comes first


class Viewer:
    """Page, panel and cameras of a server, moved by frames."""

    def __init__(self, setup: Setup, address: Address, channel: Channel) -> None:
        self._frames = channel.frames
        self._frame = channel.frames.read()
        self.control = Control(channel, setup.mapping)
        bridge = Bridge(self.control, setup.mapping, self._words)
        self.server = started(address, setup.title, bridge)
        self.page = Page(self.server, setup, self._send)
        self.panel = Panel(self.server, setup, self.page, self._send)
        self.cameras = Cameras(self.server, setup)
        self._shown = 0
        self.show()

    def _send(self, client: int | None, command: Command) -> bool:
        """A command of a browser, known by the page that its websocket named."""
        connection = self._connections().get(client)
        return connection is not None and self.control.send(page_of(connection.request.path), command)

    def _connections(self) -> dict[int | None, Any]:
        """Websockets of viser's clients, by their numbers."""
        return self.server._websock_server._live_connections

    def _words(self) -> dict[str, Any]:
        """What all pages are told."""
        frame = self._frame
        axes = [round(float(x), 3) for x in frame["axes"]]
        return {"running": bool(frame["running"]), "stopped": bool(frame["stopped"]), "axes": axes}

    def show(self) -> None:
        """Show the latest frame, where there is a new one."""
        number = self._frames.number()
        frame = self._frames.read() if number != self._shown else None
        if frame is None:
            return
        self._frame, self._shown = frame, number
        self.page.show(frame)
        self.cameras.show(*poses(frame))
        self.panel.show(frame)

    def run(self) -> None:
        """Go on for ever."""
        while True:
            began = time.perf_counter()
            self.show()
            pause = FRAME if self._connections() else ALONE
            time.sleep(max(0.0, began + pause - time.perf_counter()))


def started(address: Address, title: str, bridge: Bridge) -> Any:
    """viser's server behind our gate, on that port and no other: it would go on to the next one that is free."""
    import viser

    port = check_index("view", "port", address.port, 65536, "the ports")
    taken = fail("view", "port cannot be served", f"{address.host}:{port}", "one that is free, or 0 for any")
    with socket.socket(socket.AF_INET6 if ":" in address.host else socket.AF_INET) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((address.host, port))
        except OSError:
            raise taken from None
    tls = tls_of(address)
    gate = Gate(address.host, address.token or "", page(), tls is not None)
    with guarded(gate, bridge.serve, tls):
        server = viser.ViserServer(address.host, port, label=title, verbose=False)
    if not gate.serving or port not in (0, server.get_port()):  # not by our gate, or somebody took the port in between
        server.stop()
        raise taken
    return server


def url_of(address: Address, port: int) -> str:
    host = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(address.host, address.host)
    host = f"[{host}]" if ":" in host else host
    return f"{'http' if address.certificate is None else 'https'}://{host}:{port}/?token={address.token}"


def step_back() -> None:
    """Let the simulation go first: fewer turns on the processor, none at once when something has come."""
    os.nice(NICE)
    if hasattr(os, "sched_setscheduler"):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def take_files() -> None:
    """Allow this process as many open files as it may have: each connection is one."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard == resource.RLIM_INFINITY or hard > FILES:
        hard = FILES
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


def until_input_ends() -> None:
    """Wait for the end of the process that started this one, and end too."""
    while sys.stdin.buffer.read(1):
        pass
    os._exit(0)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the other process's: it closes our input
    answer, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: SIM115  viser greets
    logging.disable(logging.CRITICAL)  # who is refused, or sends what is no message, is no news
    size = int.from_bytes(sys.stdin.buffer.read(8), "little")
    setup, address = pickle.loads(sys.stdin.buffer.read(size))
    step_back()
    take_files()
    try:
        viewer = Viewer(setup, address, Channel(setup.sizes, int(sys.argv[1])))
        said = {"url": url_of(address, viewer.server.get_port())}
        print(json.dumps(said), file=answer, flush=True)
        threading.Thread(target=until_input_ends, daemon=True).start()
        viewer.run()
    except ModelError as error:
        said = {"error": str(error)}
    except Exception as error:  # whatever it is, the other process tells
        place = traceback.extract_tb(error.__traceback__)[-1]
        at = f"{os.path.basename(place.filename)}:{place.lineno}"
        said = {"error": f"view: {type(error).__name__} at {at}: {error}"}
    print(json.dumps(said), file=answer, flush=True)
    os._exit(1)


if __name__ == "__main__":
    main()
