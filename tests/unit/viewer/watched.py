"""A source that is shown while a test looks at it through sockets or a browser."""

from __future__ import annotations

import os
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

import sharnir as sh
from sharnir.simulation.simulation import Simulation
from sharnir.viewer import Address, Live, Player
from sharnir.viewer.browser import find_browser
from sharnir.viewer.input_mapping import Mapping

TOKEN = "a-token-of-the-tests"
NEEDED = os.environ.get("SHARNIR_NEED_BROWSER") == "1"


def need_browser() -> None:
    """Skip a test with a plain word where there is no browser; where there must be one, let it fail."""
    if find_browser() is None and not NEEDED:
        pytest.skip("no browser here: the page is not tried out (Debian: apt-get install chromium)")


def floating_box() -> sh.Scene:
    """A box without weight in the origin."""
    scene = sh.Scene(name="floating", gravity=(0, 0, 0))
    scene.add(sh.Body(name="box", shapes=[sh.Box(size=(0.4, 0.4, 0.4))]))
    return scene


@contextmanager
def playing(player: Player) -> Iterator[Player]:
    """A player that goes on in a thread of its own."""
    ended = threading.Event()

    def go() -> None:
        while not ended.is_set():
            player.run(6)

    thread = threading.Thread(target=go)
    thread.start()
    try:
        yield player
    finally:
        ended.set()
        thread.join()
        player.close()


@contextmanager
def shown(scene: sh.Scene, mapping: Mapping | None = None, dt: float = 0.005) -> Iterator[tuple[Player, Live]]:
    """A player of a scene, and what it shows."""
    live = Live(Simulation(scene, dt=dt), mapping)
    with playing(Player(live, Address(port=0, token=TOKEN), mapping)) as player:
        yield player, live


def soon(condition: Callable[[], object], seconds: float = 120.0) -> bool:
    """Whether something comes true; so many seconds are only there to end a test that would hang."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


def get(port: int, path: str = "/", **headers: str) -> tuple[int, dict[str, str], bytes]:
    asked = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    try:
        with urllib.request.urlopen(asked, timeout=120) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read()


def upgrade(port: int, path: str, **headers: str) -> int:
    """The status a websocket's request is answered with; 101 where it is opened."""
    asked = {"Host": f"127.0.0.1:{port}", "Upgrade": "websocket", "Connection": "Upgrade"}
    asked |= {"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", **headers}
    lines = "".join(f"{k}: {v}\r\n" for k, v in asked.items())
    with socket.create_connection(("127.0.0.1", port), 120) as raw:
        raw.sendall(f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode())
        return int(raw.recv(100).split()[1])
