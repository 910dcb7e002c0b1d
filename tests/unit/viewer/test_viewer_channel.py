"""Memory shared by two processes: frames are whole, commands bounded, and nobody waits."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from sharnir.viewer.channel import INPUT, RING, SLOTS, Channel, Sizes
from sharnir.viewer.commands import Command, Kind

SIZES = Sizes(bodies=300, coordinates=2, motors=1, actuators=1, contacts=4)
WRITER = """
import sys
from sharnir.viewer.channel import Channel, Sizes
channel = Channel(Sizes(300, 2, 1, 1, 4), int(sys.argv[1]))
n = 0
while not channel.commands.take():  # until the reader says so
    n += 1
    frame = channel.frames.begin()
    frame["time"] = n
    frame["position"][:] = n
    frame["rotation"][:] = n
    frame["text"] = str(n).encode()
    channel.frames.publish()
print(n)
"""


def test_frames_of_another_process_are_whole_and_never_go_back():
    channel = Channel(SIZES)
    assert channel.frames.read() is None
    file = channel.file.fileno()
    words = [sys.executable, "-c", WRITER, str(file)]
    writer = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, pass_fds=[file])
    last, newer = 0.0, 0
    try:
        while newer < 300 and writer.poll() is None:  # frames newer than the one before
            frame = channel.frames.read()
            if frame is None:
                continue
            n = float(frame["time"])
            assert n >= last
            assert (frame["position"] == n).all() and (frame["rotation"] == n).all()
            assert bytes(frame["text"]) == str(int(n)).encode()
            last, newer = n, newer + (n > last)
        assert channel.commands.put(Command(Kind.STOP))
        written = int(writer.communicate()[0])
    finally:
        writer.kill()
    assert newer == 300 <= written
    assert float(channel.frames.read()["time"]) == written


def test_a_frame_that_is_being_written_is_not_read():
    channel = Channel(SIZES)
    channel.frames.begin()["time"] = 1.0
    channel.frames.publish()
    for n in range(2, 2 + SLOTS):
        channel.frames.begin()["time"] = float(n)  # begun, not published
        assert float(channel.frames.read()["time"]) == n - 1
        channel.frames.publish()


def test_commands_arrive_in_order_and_a_full_ring_drops():
    channel = Channel(SIZES)
    for lap in range(3):
        sent = [Command(Kind.MOTOR, k, (float(lap),)) for k in range(RING)]
        assert all(channel.commands.put(c) for c in sent)
        assert not channel.commands.put(Command(Kind.STOP))
        taken = channel.commands.take()
        assert [(k, of) for k, of, _ in taken] == [(Kind.MOTOR, k) for k in range(RING)]
        assert {values[0] for _, _, values in taken} == {float(lap)}
        assert channel.commands.take() == []


def test_writing_a_frame_does_not_wait_for_readers(monkeypatch):
    """One who never reads, and one who read a frame long ago, hold nobody up: all is done by one thread, asleep at no
    time."""
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("a writer waits"))
    channel = Channel(SIZES)
    kept = []
    for n in range(1, 301):
        channel.frames.begin()["position"][:] = float(n)
        channel.frames.publish()
        if n == 1:
            kept.append(channel.frames.read())
    assert channel.frames.number() == 300
    assert (kept[0]["position"] == 1.0).all() and (channel.frames.read()["position"] == 300.0).all()


@pytest.mark.parametrize("kind", [INPUT])
def test_packets_fit_their_slots(kind):
    channel = Channel(SIZES)
    packet = channel.operator.begin()
    packet["stamp"], packet["axes"][:] = 2.0, 0.5
    channel.operator.publish()
    read = channel.operator.read()
    assert read.dtype == kind and read["stamp"] == 2.0 and (read["axes"] == 0.5).all()
