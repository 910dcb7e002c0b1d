"""Those who connect and hang: they cost the others neither the page nor their place."""

from __future__ import annotations

import resource
import socket
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from watched import TOKEN, floating_box, get, shown, soon, upgrade

from sharnir.simulation.simulation import Simulation
from sharnir.viewer import Address, Live, Player
from sharnir.viewer.page import gate
from sharnir.viewer.page.gate import STRANGERS, WHILE

pytest.importorskip("viser")
PAGE = "0123456789abcdef"


def holding(port: int, held: list[socket.socket], count: int) -> None:
    """Open sockets on this machine that say nothing, or half of a request, and keep them."""
    for k in range(count):
        held.append(socket.create_connection(("127.0.0.1", port), 120))
        held[-1].sendall((b"", b"G", b"GET / HTTP/1.1\r\nHost: 127.0.0.1")[k % 3])


def cut_off(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


@pytest.fixture
def few_files() -> Iterator[None]:
    """Processes that start meanwhile begin with few open files, as on other systems, unless they ask for more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def held() -> Iterator[list[socket.socket]]:
    sockets: list[socket.socket] = []
    yield sockets
    for connection in sockets:
        connection.close()


@pytest.mark.skipif(0 <= resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 2500, reason="needs 2,500 open files")
def test_the_page_is_served_while_a_thousand_sockets_hang(few_files, held):
    """Who hangs makes room: the oldest are cut off when others come, and all of them after a while."""
    player = Player(Live(Simulation(floating_box())), Address(port=0, token=TOKEN))
    port = urlsplit(player.url).port
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (2500, hard))
    try:
        holding(port, held, 1000)
        assert get(port, f"/?token={TOKEN}")[0] == 200
        time.sleep(1.5 * WHILE)
        assert upgrade(port, f"/view?token={TOKEN}") == 101
        assert soon(lambda: sum(map(cut_off, held)) >= 1000 - STRANGERS)
        assert soon(lambda: all(map(cut_off, held)))
        assert get(port, f"/?token={TOKEN}")[0] == 200
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        player.close()


class Guest:
    """A connection as the gate sees it."""

    def __init__(self) -> None:
        self.transport = self
        self.aborted = False

    def abort(self) -> None:
        self.aborted = True


def test_the_oldest_strangers_are_cut_off_and_nobody_who_was_let_in(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(gate.time, "monotonic", lambda: now[0])
    door = gate.Gate("127.0.0.1", TOKEN, b"")
    guests = [Guest() for _ in range(gate.CROWD + 10)]
    for guest in guests[:STRANGERS]:
        door.came(guest)
    known = guests[3]
    door._strangers.pop(known)  # showed the token
    door.came(guests[STRANGERS])
    now[0] = WHILE
    assert not any(guest.aborted for guest in guests)
    door.came(guests[STRANGERS + 1])
    assert [guest.aborted for guest in guests].count(True) == 1 and guests[0].aborted
    now[0] += 0.5 * WHILE  # none of those who come now has had a while
    for guest in guests[STRANGERS + 2 :]:
        door.came(guest)
    assert len(door._strangers) <= door._crowd and not known.aborted and not guests[-1].aborted
    assert sum(guest.aborted for guest in guests) == len(guests) - 1 - len(door._strangers)
    door.left(guests[-1])
    assert guests[-1] not in door._strangers


def test_websockets_are_counted(held):
    """Of those who have the token; a page that leaves makes room."""
    with shown(floating_box()) as (player, _):
        count_websockets(urlsplit(player.url).port, held)


def count_websockets(port: int, held: list[socket.socket]) -> None:
    asked = f"GET /bridge?page={PAGE}&token={TOKEN} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
    asked += "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    answers = []
    for _ in range(gate.PAGES + 4):
        held.append(socket.create_connection(("127.0.0.1", port), 120))
        held[-1].sendall(asked.encode())
        answers.append(int(held[-1].recv(100).split()[1]))
    assert answers[-1] == 503 and 101 in answers and set(answers) == {101, 503}
    assert get(port, f"/?token={TOKEN}")[0] == 200
    for connection in held:
        connection.close()
    assert soon(lambda: upgrade(port, f"/bridge?page={PAGE}&token={TOKEN}") == 101)
