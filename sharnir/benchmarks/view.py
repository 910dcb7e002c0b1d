"""What a viewer takes from the simulation it shows: of each frame, and of its steps, by what its clients do."""

from __future__ import annotations

import resource
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from sharnir import scenes
from sharnir.benchmarks.harness import row
from sharnir.child_process import child_environment, code_command
from sharnir.impulse.slots import ReportItem
from sharnir.impulse.ticks import ticks_per_second
from sharnir.simulation.simulation import Simulation
from sharnir.spec.elements import Body, Box
from sharnir.spec.joints import Free
from sharnir.spec.scene import WORLD, Scene
from sharnir.viewer import Address, Live, Player
from sharnir.viewer.commands import Command, Kind
from sharnir.viewer.source.pace import FRAME

STEPS = 8  # of a frame
HANGING = 10.0  # s, of sockets that hang
SPELL = 2.0  # s, of one kind of client before the next
TOKEN = "a-token-of-the-benchmark"
CLIENTS = ("nobody", "elsewhere", "connected", "stalled", "noise")
# A client: address, what it does. It reads all, reads nothing, or sends noise to every socket there is; "hanging" it
# holds a thousand sockets open without a whole request, and opens others where they are cut off; "elsewhere" it has
# nothing to do with the viewer and computes half of the time: what any other process costs on this machine.
CLIENT = """
import os, random, resource, socket, sys, time
import viser
from urllib.parse import urlsplit
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect
url, kind, spell = sys.argv[1], sys.argv[2], float(sys.argv[3])
port, token = urlsplit(url).port, url.split("token=")[1]
os.nice(19)
def opened(path):
    options = {"subprotocols": [f"viser-v{viser.__version__}"], "compression": None, "max_size": None}
    return connect(f"ws://127.0.0.1:{port}{path}?page={'0' * 16}&token={token}", **options)
def gone(connection):
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
end, count, rng = time.monotonic() + spell, 0, random.Random(0)
if kind == "elsewhere":
    while time.monotonic() < end:
        pause = time.monotonic() + 0.008
        while time.monotonic() < pause:
            sorted(rng.random() for _ in range(1000))
        time.sleep(0.008)
elif kind == "noise":
    while time.monotonic() < end:
        try:
            with opened(rng.choice(["/view", "/bridge"])) as connection:
                for _ in range(20):
                    connection.send(rng.randbytes(rng.randrange(1, 2000)))
            with socket.create_connection(("127.0.0.1", port), 5) as raw:
                raw.sendall(rng.randbytes(2000))
        except (OSError, WebSocketException):
            pass
elif kind == "hanging":
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(2000, hard) if hard > 0 else 2000, hard))
    held = []
    while time.monotonic() < end:
        try:
            for k in range(1000 - len(held)):
                held.append(socket.create_connection(("127.0.0.1", port), 5))
                held[-1].sendall((b"", b"G", b"GET / HTTP/1.1\\r\\nHost: 127.0.0.1")[k % 3])
                count += 1
        except OSError:
            pass
        if len(held) == 1000:
            print("all", flush=True)
        over = {s for s in held if gone(s)}
        held = [s for s in held if s not in over or s.close()]
        time.sleep(0.05)
else:
    with opened("/view") as connection:
        while time.monotonic() < end:
            if kind == "stalled":
                time.sleep(0.1)
            else:
                try:
                    connection.recv(0.1)
                    count += 1
                except TimeoutError:
                    pass
print(count)
"""


def floating(bodies: int) -> Scene:
    """Boxes that tumble side by side without weight and never touch."""
    scene, rng = Scene(name="floating", gravity=(0.0, 0.0, 0.0)), np.random.default_rng(0)
    edge = int(np.ceil(np.sqrt(bodies)))
    for k in range(bodies):
        place = (0.5 * (k % edge), 0.5 * (k // edge), 0.0)
        scene.add(Body(name=f"box{k}", shapes=(Box(size=(0.2, 0.15, 0.1), mask=0),), position=place))
        spin = (0.0, 0.0, 0.0, *rng.normal(size=3))
        scene.add(Free(name=f"free{k}", parent=WORLD, child=f"box{k}", velocity=spin))
    return scene


@contextmanager
def client(url: str, kind: str, spell: float) -> Iterator[subprocess.Popen[str] | None]:
    """A client of that kind while the context lasts."""
    if kind == "nobody":
        yield None
        return
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    process = subprocess.Popen(code_command(CLIENT, url, kind, spell), env=child_environment(), **quiet)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        process.wait()


class Watch:
    """A player whose frames are timed."""

    def __init__(self, scene: Scene) -> None:
        self.live = Live(Simulation(scene, dt=FRAME / STEPS))
        self.player = Player(self.live, Address(port=0, token=TOKEN))
        self.work: list[float] = []  # s of processor time, of the viewer in each frame
        self.steps: list[float] = []  # s of the wall clock
        self.waits = 0  # times that steps or the viewer's work gave the processor away

    def go(self, seconds: float) -> None:
        """Frames at 60 Hz from the start of the scene."""
        self.live.obey(Command(Kind.RESET))
        began = time.perf_counter()
        for k in range(round(seconds / FRAME)):
            time.sleep(max(0.0, began + k * FRAME - time.perf_counter()))
            before, t0 = waits(), time.thread_time()
            self.player.listen()
            t1 = time.thread_time()
            self.live._take(STEPS)
            t2 = time.thread_time()
            self.player.publish()
            self.work.append(t1 - t0 + time.thread_time() - t2)
            self.waits += waits() - before
            ticks = self.live.simulation.impulses.reports(STEPS)[:, ReportItem.STEP_TICKS, 0]
            self.steps += (ticks / ticks_per_second()).tolist()


def waits() -> int:
    """How often this thread has given the processor away of its own accord: to wait for something."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw


def run(quick: bool) -> list[dict[str, Any]]:
    rounds = 3 if quick else 20
    return [*page_rows(rounds), *frame_rows(rounds), *step_rows(rounds)]


def page_rows(rounds: int) -> list[dict[str, Any]]:
    """Until the page is there, while a thousand sockets hang, after nobody was there."""
    watch = Watch(floating(1))
    taken: dict[str, list[float]] = {"nobody": [], "hanging": []}
    try:
        for kind, times in taken.items():
            with client(watch.player.url, kind, HANGING) as hanging:
                if hanging is not None and hanging.stdout is not None:
                    hanging.stdout.readline()  # until all are there
                for _ in range(rounds):
                    began = time.perf_counter()
                    with urllib.request.urlopen(watch.player.url, timeout=60) as page:
                        page.read()
                    times.append(time.perf_counter() - began)
                    time.sleep(0.02)
    finally:
        watch.player.close()
    ours, alone = (np.array(taken[kind]) for kind in ("hanging", "nobody"))
    return [row("page, while 1,000 sockets hang", "s", ours, alone, "nobody")]


def step_rows(rounds: int) -> list[dict[str, Any]]:
    """Steps by what a client does meanwhile, taken in turns: medians and 99th percentiles of each spell."""
    watch = Watch(scenes.make("mixed"))
    taken: dict[str, list[np.ndarray]] = {kind: [] for kind in CLIENTS}
    waited = dict.fromkeys(CLIENTS, 0)
    try:
        watch.go(1.0)
        for turn in range(rounds):
            for k in range(len(CLIENTS)):
                kind = CLIENTS[(k + turn) % len(CLIENTS)]
                watch.steps.clear()
                watch.waits = 0
                with client(watch.player.url, kind, SPELL + 3.0):
                    time.sleep(2.0)  # until it has come
                    watch.go(SPELL)
                taken[kind].append(1e6 * np.percentile(watch.steps, [50, 99]))
                waited[kind] += watch.waits
    finally:
        watch.player.close()
    out, alone = [], np.array(taken["nobody"])
    for kind in CLIENTS[1:]:
        for k, what in enumerate(("median", "p99")):
            case = f"{what} of steps, 50 bodies that fall and lie, {kind}"
            out.append(row(case, "µs", np.array(taken[kind])[:, k], alone[:, k], "nobody"))
        frames = round(rounds * SPELL / FRAME)
        case = f"waits of the simulation in {frames} frames, {kind}"
        out.append(row(case, "", np.array([waited[kind]]), np.array([waited["nobody"]]), "nobody"))
    return out


def frame_rows(rounds: int) -> list[dict[str, Any]]:
    """Processor time of the viewer in the simulation's process while a client reads all, and what reaches that."""
    out = []
    cases = {"50 bodies that float": floating(50), "50 bodies that fall and lie": scenes.make("mixed")}
    for case, scene in {**cases, "1,000 bodies that float": floating(1000)}.items():
        watch = Watch(scene)
        try:
            with client(watch.player.url, "connected", rounds + 3.0) as reader:
                time.sleep(2.0)
                watch.work.clear()
                watch.go(float(rounds))
                out.append(row(f"frame of {case}", "ms", 1e3 * np.array(watch.work), None, None))
            assert reader is not None and reader.stdout is not None
            received = float(reader.stdout.read() or 0) / rounds  # nothing is sent while nothing moves
            out.append(row(f"messages to a client, {case}", "1/s", np.array([received]), None, None))
        finally:
            watch.player.close()
    return out
