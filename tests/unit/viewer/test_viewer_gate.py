"""Who is let in, and what comes of those who send what they should not: judged on the open port."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from refusal import refused
from watched import TOKEN, floating_box, get, shown, soon, upgrade

from sharnir import scenes, viewer
from sharnir.simulation.simulation import Simulation
from sharnir.viewer import Address, Live, Player
from sharnir.viewer.page.gate import LARGEST, checked_token

pytest.importorskip("viser")
sockets = pytest.importorskip("websockets.sync.client")
COMMAND = Path(sys.executable).with_name("sharnir")
PAGE = "0123456789abcdef"


@pytest.fixture(scope="module")
def served():
    with shown(floating_box()) as (player, live):
        yield urlsplit(player.url).port, live


def test_page_needs_the_token_and_leaves_it_in_a_cookie(served):
    port, _ = served
    assert get(port)[0] == 403
    assert get(port, "/?token=wrong")[0] == 403
    assert get(port, "/?token=")[0] == 403
    status, headers, body = get(port, f"/?token={TOKEN}")
    assert status == 200 and b"sharnir-drive" in body
    kept = headers["Set-Cookie"]
    assert "HttpOnly" in kept and "SameSite=Strict" in kept
    assert "connect-src 'self' ws://127.0.0.1" in headers["Content-Security-Policy"]
    assert get(port, Cookie=kept.split(";")[0])[0] == 200
    assert get(port, Cookie=f"sharnir_{port}=wrong")[0] == 403
    assert get(port, "/../../etc/passwd", Cookie=kept.split(";")[0])[0] == 404


def test_nothing_but_the_whole_token_lets_in(served):
    """Prefixes, the token with more behind or in front of it, and other case, in the address and in the cookie."""
    port, _ = served
    others = [TOKEN[:n] for n in range(len(TOKEN))]
    others += [TOKEN[1:], f"{TOKEN}0", f"0{TOKEN}", 2 * TOKEN, TOKEN.swapcase()]
    assert TOKEN not in others
    for other in others:
        assert get(port, f"/?token={other}")[0] == 403, other
        assert get(port, Cookie=f"sharnir_{port}={other}")[0] == 403, other
        assert upgrade(port, f"/view?token={other}") == 403, other
    assert get(port, f"/?token={TOKEN}")[0] == get(port, Cookie=f"sharnir_{port}={TOKEN}")[0] == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "127.0.0.1:1", "localhost", "user@127.0.0.1:{port}",
     "127.0.0.1:{port}.evil.example", "10.0.0.1:{port}", ""],
)  # fmt: skip
def test_other_hosts_are_refused_with_the_token_too(served, host):
    port, _ = served
    named = host.format(port=port)
    assert get(port, f"/?token={TOKEN}", Host=named)[0] in (400, 403)
    assert upgrade(port, f"/view?token={TOKEN}", Host=named) in (400, 403)
    assert upgrade(port, f"/bridge?page={PAGE}&token={TOKEN}", Host=named) in (400, 403)


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "https://127.0.0.1:{port}", "null", "http://127.0.0.1:1", "file://"]
)
def test_other_origins_are_refused_before_the_upgrade(served, origin):
    port, _ = served
    for path in ("/view", f"/bridge?page={PAGE}"):
        mark = "&" if "?" in path else "?"
        named = origin.format(port=port)
        assert upgrade(port, f"{path}{mark}token={TOKEN}", Origin=named) == 403
        assert upgrade(port, path, Origin=f"http://127.0.0.1:{port}") == 403  # ours, without the token
        assert upgrade(port, f"{path}{mark}token={TOKEN}", Origin=f"http://127.0.0.1:{port}") == 101
    assert get(port, f"/?token={TOKEN}", Origin=origin.format(port=port))[0] == 403
    assert upgrade(port, f"/other?token={TOKEN}") == 404


def test_no_other_port_is_open(served):
    """The viewer's process listens on the one port it printed."""
    port, _ = served
    tables = [Path(f"/proc/net/{file}").read_text().splitlines()[1:] for file in ("tcp", "tcp6")]
    lines = [line.split() for table in tables for line in table]
    listening = {line[9]: int(line[1].split(":")[1], 16) for line in lines if line[3] == "0A"}
    ours = set()
    for process in children():
        for link in Path(f"/proc/{process}/fd").iterdir():
            try:
                name = os.readlink(link)
            except OSError:
                continue
            if name.startswith("socket:[") and name[8:-1] in listening:
                ours.add(listening[name[8:-1]])
    assert ours == {port}


def children() -> list[int]:
    out = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rsplit(")", 1)[1].split()
            name = (stat.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if int(words[1]) == os.getpid() and b"sharnir.viewer.page.process" in name:
            out.append(int(stat.parent.name))
    return out


def bridge(port: int, page: str = PAGE):
    where = f"ws://127.0.0.1:{port}/bridge?page={page}&token={TOKEN}"
    return sockets.connect(where, origin=f"http://127.0.0.1:{port}", max_size=None)


def told(connection, **wanted) -> bool:
    """Whether a page is told this within a while."""
    for _ in range(60):
        message = json.loads(connection.recv(120))
        if all(message.get(k) == v for k, v in wanted.items()):
            return True
    return False


def test_one_drives_and_others_watch(served):
    port, live = served
    with bridge(port) as first, bridge(port, "f" * 16) as second:
        assert told(first, control="you") and told(second, control="other")
        second.send(json.dumps({"type": "take"}))
        assert told(second, control="other")
        second.send(json.dumps({"type": "stop"}))  # whoever sees danger may stop
        assert soon(lambda: live.stopped)
        second.send(json.dumps({"type": "clear"}))
        assert told(second, stopped=True)
        first.send(json.dumps({"type": "clear"}))
        assert soon(lambda: not live.stopped)
        first.send(json.dumps({"type": "release"}))
        assert told(second, control="free")
        second.send(json.dumps({"type": "take"}))
        assert told(second, control="you") and told(first, control="other")
        second.close()
        assert told(first, control="free")


@pytest.mark.parametrize(
    "message",
    ["", "{", "[]", "null", "1e999", '{"type": "held", "keys": ["<img>"]}', '{"type": "held", "sticks": [NaN]}',
     '{"type": "held", "sticks": [2]}', '{"type": "held", "keys": 3}', '{"type": "run"}', '{"type": ["held"]}',
     '{"type": "held", "buttons": [true]}', "[" * 3000, "x" * 5000, b"{}"],
)  # fmt: skip
def test_what_no_page_says_ends_the_connection(served, message):
    from websockets.exceptions import ConnectionClosed

    port, _ = served
    with bridge(port) as connection:
        connection.send(message)
        with pytest.raises(ConnectionClosed):
            for _ in range(100):
                connection.recv(120)
        assert connection.close_code == 1008


def test_large_messages_are_refused(served):
    from websockets.exceptions import ConnectionClosed

    port, _ = served
    with bridge(port) as connection:
        connection.send("x" * (LARGEST + 1))
        with pytest.raises(ConnectionClosed):
            for _ in range(100):
                connection.recv(120)
        assert connection.close_code == 1009


def test_noise_on_all_sockets_changes_nothing(served):
    port, live = served
    rng = random.Random(0)
    assert soon(lambda: live.simulation.time > 0)
    where = f"ws://127.0.0.1:{port}/view?page={PAGE}&token={TOKEN}"
    import viser

    for _ in range(30):
        with sockets.connect(where, subprotocols=[f"viser-v{viser.__version__}"], compression=None) as connection:
            connection.send(rng.randbytes(rng.randrange(1, 3000)))
        with socket.create_connection(("127.0.0.1", port), 120) as raw:
            raw.sendall(rng.randbytes(rng.randrange(1, 3000)))
    at = live.simulation.time
    assert soon(lambda: live.simulation.time > at + 0.2)
    assert get(port, f"/?token={TOKEN}")[0] == 200
    assert live.trouble == "" and not live.simulation.body("box").applied.any()


def test_other_addresses_need_a_token_and_certificates_their_key():
    with refused("others could come in", "0.0.0.0", "--token"):
        checked_token(Address(host="0.0.0.0"))
    with refused("token cannot be used", "short", "at least 16"):
        checked_token(Address(host="0.0.0.0", token="short"))
    with refused("token cannot be used", "letters, digits"):
        checked_token(Address(token="a b; c"))
    assert checked_token(Address()) != checked_token(Address())
    with refused("certificate and key belong together"):
        Player(Live(Simulation(floating_box())), Address(port=0, certificate="a.pem"))
    with refused("certificate cannot be used"):
        Player(Live(Simulation(floating_box())), Address(port=0, certificate="a.pem", key="b.pem"))


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
def test_page_is_served_by_tls_where_there_is_a_certificate(tmp_path):
    words = "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=127.0.0.1"
    subprocess.run(words.split(), cwd=tmp_path, check=True, capture_output=True)
    files = [str(tmp_path / name) for name in ("cert.pem", "key.pem")]
    player = Player(Live(Simulation(floating_box())), Address("127.0.0.1", 0, TOKEN, *files))
    try:
        assert player.url.startswith("https://")
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with urllib.request.urlopen(player.url, timeout=120, context=context) as answer:
            assert "Secure" in answer.headers["Set-Cookie"]
        with pytest.raises(OSError):
            urllib.request.urlopen(player.url.replace("https", "http"), timeout=120)
    finally:
        player.close()


def test_other_addresses_are_announced_with_a_warning(monkeypatch):
    said = []
    address = Address("0.0.0.0", 0, TOKEN)
    plain = Player.run

    def interrupted(player: Player, frames: int | None = None) -> None:
        if frames is None:
            raise KeyboardInterrupt
        plain(player, frames)  # of other tests, in threads of their own

    monkeypatch.setattr(Player, "run", interrupted)
    viewer.view(Simulation(floating_box()), address, announce=said.append)
    assert said[0].startswith("warning: without TLS") and "token=" in said[1]


def test_port_that_is_taken_and_ports_that_do_not_exist_are_refused():
    simulation = Simulation(scenes.make("box_on_slope"))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with refused("view: port cannot be served", str(port), "0 for any"):
            viewer.view(simulation, Address(port=port))
    with refused("port is out of range", "70000"):
        viewer.view(simulation, Address(port=70000))


def test_missing_viser_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with refused("viser is missing", "pip install 'sharnir[view]'"):
        viewer.view(Simulation(scenes.make("box_on_slope")), Address(port=0))


def test_missing_browser_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with refused("no browser found", "chromium"):
        viewer.screenshot("box_on_slope", tmp_path / "x.png")


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (("boxonslope",), "did you mean 'box_on_slope'?"),
        (("box_on_slope", "--solver", "exact"), "Known: simgc, simmc"),
        (("box_on_slope", "--dt", "-1"), "dt is out of range: given -1.0"),
        (("box_on_slope", "--set", "n"), "allowed: NAME=NUMBER"),
        (("box_on_slope", "--host", "0.0.0.0"), "allowed: --token TEXT with it"),
        (("box_on_slope", "--drive", "nowhere.toml"), "cannot be read"),
    ],
)
def test_mistakes_get_one_sentence(words, answer, tmp_path):
    done = subprocess.run([COMMAND, "view", *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert answer in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_command_prints_the_address_and_leaves_nothing_behind(tmp_path, end):
    words = [COMMAND, "view", "box_on_slope", "--port", "0"]
    process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        assert line.startswith("box_on_slope: http://127.0.0.1:") and "token=" in line, line
        port = urlsplit(line.split()[1]).port
        assert get(port, f"/?{urlsplit(line.split()[1]).query}")[0] == 200  # it is served
        process.send_signal(end)
        stdout, stderr = process.communicate(timeout=120)
    finally:
        process.kill()
    if end == signal.SIGINT:
        assert (process.returncode, stdout) == (0, ""), stderr
    assert "Traceback" not in stderr

    def closed() -> bool:
        with socket.socket() as trial:
            return trial.connect_ex(("127.0.0.1", port)) != 0

    assert soon(closed)


def test_simulation_hears_of_a_viewer_that_ends():
    live = Live(Simulation(floating_box()))
    player = Player(live, Address(port=0))
    player._server._process.kill()
    player.run()
    assert "viewer's process was ended" in player.last_words()
    player.close()
