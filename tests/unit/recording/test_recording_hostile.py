"""Files that are cut, spoilt or made to harm: one clear error, soon, or a recording as far as it goes."""

from __future__ import annotations

import json
import os
import struct
import time
import zlib
from dataclasses import replace

import numpy as np
import pytest
import zstandard
from mcap.opcode import Opcode
from recorded import driven, written
from refusal import refused

import sharnir as sh
from sharnir.impulse import engine
from sharnir.recording import header
from sharnir.recording.layout import layout_of_file
from sharnir.recording.read.mcap_file import McapFile
from sharnir.recording.read.replay import Replay
from sharnir.recording.write.captures import Capture

PATIENCE = 120.0  # s of processor time: only files made to harm could take that long


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> bytes:
    """A recording of several chunks."""
    path, sim = tmp_path_factory.mktemp("good") / "run.mcap", driven()
    with sim.record(path):
        for k in range(3):
            sim.step(40)
            written(path, 40 * (k + 1))
    return path.read_bytes()


def opened(tmp_path, content: bytes) -> sh.Recording | None:
    """A file with such content, looked at in all ways that need no simulation; None where it is refused."""
    path = tmp_path / "bad.mcap"
    path.write_bytes(content)
    began = time.process_time()
    try:
        recording = sh.open_recording(path)
        _ = recording.model, recording.times, recording.events, recording.end, recording.body_poses
        for number in range(1, recording.steps + 1):
            recording.step(number)
        return recording
    except sh.RecordingError as error:
        assert "\n" not in str(error) and "bad.mcap" in str(error) and "allowed" in str(error)
        return None
    finally:
        if time.process_time() - began > PATIENCE:
            raise TimeoutError("the file was not read or refused in a time that only a file made to harm could take")


def records(data: bytes) -> list[tuple[int, int, int]]:
    """Kind, first byte and end of the records of a file."""
    out, at = [], 8
    while at + 9 <= len(data) - 8:
        opcode, length = struct.unpack_from("<BQ", data, at)
        out.append((opcode, at, at + 9 + length))
        at += 9 + length
    return out


def test_a_file_cut_anywhere_is_read_as_far_as_it_goes(tmp_path, data):
    """After any byte: refused before its first state is whole, else readable, and never with fewer steps later on."""
    whole = opened(tmp_path, data)
    assert whole is not None and whole.complete and whole.steps == 120
    cuts = np.random.default_rng(5).integers(0, len(data), size=120).tolist()
    cuts += [edge + d for _, _, edge in records(data) for d in (-1, 0, 1)]
    steps, seen = 0, False
    for cut in sorted({c for c in cuts if 0 <= c <= len(data)}):
        recording = opened(tmp_path, data[:cut])
        assert recording is not None or not seen, cut
        if recording is not None:
            seen = True
            assert recording.steps >= steps
            steps = recording.steps
    assert steps == 120


def test_a_bit_flipped_anywhere_is_found_or_does_no_harm(tmp_path, data):
    """Data has checksums; the index at the end, which nobody needs, may be anything."""
    rng, ends = np.random.default_rng(9), records(data)
    data_end = next(at for opcode, at, _ in ends if opcode == Opcode.DATA_END)
    accepted = 0
    for _ in range(300):
        spoilt = bytearray(data)
        at = int(rng.integers(data_end))
        spoilt[at] ^= 1 << int(rng.integers(8))
        recording = opened(tmp_path, bytes(spoilt))
        if recording is not None:
            accepted += 1
            assert recording.steps <= 120
            kind = next(k for k, first, end in ends if first <= at < end)
            assert kind in (Opcode.HEADER, Opcode.MESSAGE_INDEX, Opcode.CHUNK), kind
    assert accepted < 100


def spoilt_length(data: bytes, kind: int, length: int) -> bytes:
    at = next(at for opcode, at, _ in records(data) if opcode == kind)
    return data[: at + 1] + struct.pack("<Q", length) + data[at + 9 :]


@pytest.mark.parametrize(
    "kind", [Opcode.HEADER, Opcode.METADATA, Opcode.ATTACHMENT, Opcode.CHUNK, Opcode.MESSAGE_INDEX]
)
@pytest.mark.parametrize("length", [0, 1, 2**31, 2**62, 2**64 - 1])
def test_lengths_are_not_believed(tmp_path, data, kind, length):
    recording = opened(tmp_path, spoilt_length(data, kind, length))
    assert recording is None or kind in (Opcode.HEADER, Opcode.MESSAGE_INDEX)


def with_chunk(data: bytes, unpacked: bytes, size: int | None = None, packed: bytes | None = None) -> bytes:
    """The file's head and a chunk of one's own."""
    first = next(at for opcode, at, _ in records(data) if opcode == Opcode.CHUNK)
    packed = zstandard.compress(unpacked) if packed is None else packed
    size = len(unpacked) if size is None else size
    body = (
        struct.pack("<QQQII", 0, 0, size, zlib.crc32(unpacked), 4) + b"zstd" + struct.pack("<Q", len(packed)) + packed
    )
    return data[:first] + struct.pack("<BQ", Opcode.CHUNK, len(body)) + body


def test_chunks_made_to_harm_are_refused(tmp_path, data):
    bomb = zstandard.compress(bytes(2**26))
    assert opened(tmp_path, with_chunk(data, b"", 2**62)) is None
    assert opened(tmp_path, with_chunk(data, b"", 100, bomb)) is None
    assert opened(tmp_path, with_chunk(data, b"", 2**27, bomb)) is None
    message = struct.pack("<BQ", Opcode.MESSAGE, 2**60) + bytes(40)
    assert opened(tmp_path, with_chunk(data, message)) is None
    message = struct.pack("<BQ", Opcode.MESSAGE, 30) + bytes(30)
    assert opened(tmp_path, with_chunk(data, message)) is None
    channel = struct.pack("<BQHHI", Opcode.CHANNEL, 8, 1, 1, 2**31)
    assert opened(tmp_path, with_chunk(data, channel)) is None


def test_messages_made_to_harm_are_refused(tmp_path, data):
    """Right checksums, wrong content."""
    path = tmp_path / "good.mcap"
    path.write_bytes(data)
    rng = np.random.default_rng(2)
    first, last = next((at, end) for opcode, at, end in records(data) if opcode == Opcode.CHUNK)
    size, _, name = struct.unpack_from("<QII", data, first + 9 + 16)
    unpacked = zstandard.decompress(data[first + 9 + 32 + name + 8 : last], max_output_size=size)
    accepted = 0
    for _ in range(200):
        content = bytearray(unpacked)
        content[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
        recording = opened(tmp_path, with_chunk(data, bytes(content)))
        if recording is not None and accepted < 10:
            accepted += 1
            try:
                recording.verify()
                recording.resume(recording.start)
            except (sh.RecordingError, sh.ModelError, sh.SimulationError) as error:
                assert "\n" not in str(error)


@pytest.mark.parametrize(
    "content", [b"", b"x", b"\x89MCAP0\r\n", b"\x89MCAP0\r\n" * 3, bytes(1000), b"PK\x03\x04", "ы".encode() * 99]
)
def test_other_files_are_refused(tmp_path, content):
    assert opened(tmp_path, content) is None


def test_no_file_is_refused(tmp_path):
    with refused("missing.mcap", "No such file", error=sh.RecordingError):
        sh.open_recording(tmp_path / "missing.mcap")
    with refused("is a folder", error=sh.RecordingError):
        sh.open_recording(tmp_path)
    with refused("not a path"):
        sh.open_recording(7)


def test_an_mcap_file_of_others_is_refused(tmp_path):
    from mcap.writer import Writer

    with open(tmp_path / "other.mcap", "wb") as stream:
        writer = Writer(stream)
        writer.start()
        writer.finish()
    with refused("holds no scene", error=sh.RecordingError):
        sh.open_recording(tmp_path / "other.mcap")


@pytest.mark.parametrize(
    "facts",
    [{"settings": "[" * 100_000}, {"dt": "9" * 5000}, {"contacts": "9" * 5000},
     {"dt": "x"}, {"dt": "-1"}, {"rate": "inf"}, {"contacts": "1e3"}, {"contacts": "99999999999"}, {"pairs": "-1"},
     {"settings": "{"}, {"settings": "[]"}, {"format": "3"}, {"seed": None}, {"layout": None}],
    ids=str,
)  # fmt: skip
def test_headers_made_to_harm_are_refused(facts):
    """With a right checksum."""
    good = dict.fromkeys(header.NEEDED, "") | {"format": header.FORMAT, "dt": "0.01", "rate": "60", "contacts": "1"}
    good |= {"pairs": "1", "layout": "[]", "settings": '{"method": "default"}'}
    assert header.opened(header.sealed(good)) == good
    bad = {name: value for name, value in (good | facts).items() if value is not None}
    with pytest.raises(ValueError, match=r"\w"):
        header.opened(header.sealed(bad))


def test_times_outside_are_refused(tmp_path, data):
    (tmp_path / "run.mcap").write_bytes(data)
    recording = sh.open_recording(tmp_path / "run.mcap")
    for number in (0, 121, -1):
        with refused("no such step"):
            recording.step(number)
    for t in (-1.0, 1e9, float("nan"), "soon"):
        with refused("resume"):
            recording.resume(t)


@pytest.mark.parametrize(
    "change",
    [lambda a, c: {}, lambda a, c: [a], lambda a, c: [a, 7], lambda a, c: [a, c, []], lambda a, c: [a[:-3], c],
     lambda a, c: [a, c[::-1]], lambda a, c: [[*a, a[-1]], c], lambda a, c: [[*a, ["q", "<f8", 2**60]], c],
     lambda a, c: [[*a, ["before q", "<f8", 8]], c], lambda a, c: [[*a, ["before q", "<f8", -1]], c],
     lambda a, c: [[*a, ["q", "|O", 1]], c], lambda a, c: [[*a, ["q", "<f8", True]], c],
     lambda a, c: [[*a, ["x", "<f8", 1]], c]],
)  # fmt: skip
def test_layouts_made_to_harm_are_refused(change):
    """Files say which arrays they have, and where; only those of the simulation are taken, in any order."""
    layout = Capture(driven()).layout
    fixed, contacts = json.loads(layout.text())
    facts = {"format": header.FORMAT, "layout": json.dumps(change(fixed, contacts))}
    with pytest.raises(ValueError, match=r"\w"):
        layout_of_file(facts, layout)
    facts["layout"] = json.dumps([fixed[::-1], contacts])
    assert layout_of_file(facts, layout).size(3) == layout.size(3)


def with_header(data: bytes, tmp_path, **facts: str) -> bytes:
    """The recording with other entries in its header, and a right checksum."""
    from mcap.writer import Writer

    (tmp_path / "good.mcap").write_bytes(data)
    file = McapFile(tmp_path / "good.mcap")
    old = file.metadata["sharnir"]
    new = header.sealed({k: v for k, v in (old | facts).items() if k != "checksum"})
    with open(tmp_path / "head.mcap", "wb") as stream:
        writer = Writer(stream)
        writer.start()
        writer.add_metadata("sharnir", new)
        writer.finish()
    made = (tmp_path / "head.mcap").read_bytes()
    (at, end), (start, stop) = (next((a, e) for k, a, e in records(d) if k == Opcode.METADATA) for d in (data, made))
    return data[:at] + made[start:stop] + data[end:]


@pytest.mark.parametrize("facts", [{"contacts": str(2**22)}, {"pairs": str(2**22)}, {"contacts": "20000"}], ids=str)
def test_room_that_the_scene_cannot_need_is_not_allocated(tmp_path, data, monkeypatch, facts):
    """Four million contacts would be gigabytes."""
    path = tmp_path / "bad.mcap"
    path.write_bytes(with_header(data, tmp_path))
    assert sh.open_recording(path).verify() is None
    path.write_bytes(with_header(data, tmp_path, **facts))
    monkeypatch.setattr(engine, "allocate_state", lambda *words: pytest.fail("it was allocated"))
    recording = sh.open_recording(path)
    for use in (recording.verify, lambda: recording.resume(recording.start)):
        with refused("its room for", "are usual", error=sh.RecordingError):
            use()


def test_settings_nested_without_end_are_refused(tmp_path, data):
    path = tmp_path / "good.mcap"
    path.write_bytes(data)
    recording = sh.open_recording(path)
    replay = Replay(recording)
    for settings in ("[" * 100_000, '{"a":' * 50_000, "9" * 5000, "[]", "null", '{"dt": 1}', '{"max_sweeps": 1e999}'):
        with refused("the snapshot at t = 0 s", error=sh.RecordingError):
            replay.restore(replace(recording.snapshots[0], settings=settings))


def test_contacts_that_are_not_there_are_not_read(tmp_path, data):
    """Their number in a snapshot is where kernels read on."""
    path = tmp_path / "good.mcap"
    path.write_bytes(data)
    recording = sh.open_recording(path)
    replay = Replay(recording)
    snapshot = recording.snapshots[-1]
    place = replay._layout.head
    for count in (-1, 2**31 - 1, replay.sim.impulses.layout.max_contacts + 1):
        spoilt = bytearray(snapshot.data)
        spoilt[place : place + 4] = struct.pack("<i", count)
        with refused("contacts without room", error=sh.RecordingError):
            replay.restore(replace(snapshot, data=bytes(spoilt)))


def test_chunks_that_unpack_to_much_more_than_the_file_are_refused(tmp_path, data):
    """Each of them is small enough."""
    message = struct.pack("<BQHIQQ", Opcode.MESSAGE, 22, 1, 0, 0, 0)
    spoilt, more = data, message * (2**20 // len(message))
    body = with_chunk(data, more)[next(a for k, a, _ in records(data) if k == Opcode.CHUNK) :]
    first = next(e for k, a, e in records(data) if k == Opcode.CHUNK)
    spoilt = data[:first] + body * 200
    with refused("times the file's", error=sh.RecordingError):
        path = tmp_path / "bad.mcap"
        path.write_bytes(spoilt)
        sh.open_recording(path)
    path.write_bytes(data[:first] + body * 3)
    assert sh.open_recording(path).steps > 0


def test_pipes_and_devices_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.mcap")
    for path in (tmp_path / "pipe.mcap", "/dev/zero", "/dev/null"):
        with refused("regular file", error=sh.RecordingError):
            sh.open_recording(path)
