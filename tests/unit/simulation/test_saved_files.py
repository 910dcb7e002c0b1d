"""Files of saved states that are spoilt or made to harm: one sentence, nothing large allocated, no pickle read."""

from __future__ import annotations

import io
import os
import pickle
import struct
import zipfile

import numpy as np
import pytest
from refusal import refused

import sharnir as sh
from sharnir import scenes


@pytest.fixture(scope="module")
def sim() -> sh.Simulation:
    """With contacts."""
    sim = sh.Simulation(scenes.make("pile", n=2), dt=0.005)
    sim.step(100)
    return sim


@pytest.fixture
def path(sim, tmp_path):
    sim.save().write(tmp_path / "state.npz")
    return tmp_path / "state.npz"


def arrays(path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def rewritten(path, members: dict[str, bytes], **options) -> None:
    with zipfile.ZipFile(path, "w", **options) as file:
        for name, data in members.items():
            file.writestr(name, data)


def npy(array, **options) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def header(text: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


class Harm:
    """A pickle that makes a folder when it is read."""

    def __reduce__(self):
        return os.mkdir, ("harmed",)


def test_what_was_written_is_read(sim, path):
    sim.restore(sh.Saved.read(path))


BAD_ARRAYS = {
    "pickle": npy(np.array([Harm()], dtype=object), allow_pickle=True),
    "bare pickle": pickle.dumps(Harm()),
    "huge": header("{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,), }"),
    "huge product": header(f"{{'descr': '<f8', 'fortran_order': False, 'shape': {(2**32,) * 9}, }}"),
    "negative": header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }"),
    "nested": header("(" * 60_000),
    "lists": header("[" * 9_000),
    "no dict": header("1"),
    "torn": header("{'descr': '<f8', 'fortran_order': False, 'shape': ("),
    "long integer": header("{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000000000000000000000L,), }"),
    "type": header("{'descr': '|O', 'fortran_order': False, 'shape': (), }") + bytes(8),
    "record": npy(np.zeros(2, [("a", "f8")])),
    "date": npy(np.zeros(2, "M8[s]")),
    "other end": npy(np.zeros(2, ">f8")),
    "version 9": b"\x93NUMPY\x09\x00" + bytes(100),
    "short": npy(np.zeros(9))[:-8],
    "long": npy(np.zeros(9)) + bytes(8),
    "nothing": b"",
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_ARRAYS)
@pytest.mark.parametrize("name", ["q.npy", "fact_dt.npy"])
def test_an_array_made_to_harm_is_refused(path, case, name, monkeypatch):
    monkeypatch.chdir(path.parent)
    rewritten(path, arrays(path) | {name: BAD_ARRAYS[case]})
    with refused("state.npz: not a saved state", "allowed: what Saved.write wrote"):
        sh.Saved.read(path)
    assert not (path.parent / "harmed").exists()


def test_archives_made_to_harm_are_refused(path):
    good, data = arrays(path), path.read_bytes()
    bomb = npy(np.zeros(2**22))
    rewritten(path, good | {"q.npy": bomb}, compression=zipfile.ZIP_DEFLATED)
    with refused("larger ones than it has room for"):
        sh.Saved.read(path)
    rewritten(path, good, compression=zipfile.ZIP_DEFLATED)
    with refused("not a saved state", "allowed"):
        sh.Saved.read(path)
    rewritten(path, {f"x{k}": b"" for k in range(10_001)})
    with refused("more than 10000 arrays"):
        sh.Saved.read(path)
    rewritten(path, {name: x for name, x in good.items() if name != "fact_steps.npy"})
    with refused("fact_steps"):
        sh.Saved.read(path)
    for content in (b"", b"PK", data[:-30], data[: len(data) // 2], bytes(1000), b"PK\x05\x06" + bytes(18)):
        path.write_bytes(content)
        with refused("not a saved state", "allowed"):
            sh.Saved.read(path)
    encrypted = bytearray(data)
    encrypted[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(encrypted)
    with refused("not a saved state"):
        sh.Saved.read(path)


@pytest.mark.parametrize(
    "change",
    [{"q": np.zeros(3)}, {"q": "x"}, {"prev_contact_keys": 2**31 - 1}, {"prev_contact_keys": -1}, {"dt": np.nan},
     {"dt": -1.0}, {"dt": "1"}, {"dt": True}, {"since": np.inf}, {"steps": -1}, {"steps": 1.5}, {"steps": 2**62},
     {"solver": 1}, {"model": b"x"}, {"format": 99}, {"format": "2"}, {"q": np.nan}, {"q": 1j}, {"q": True},
     {"extra": 1.0}],
    ids=str,
)  # fmt: skip
def test_values_made_to_harm_are_refused(sim, path, change):
    """By the file's reader or by whoever is to go on from it, before anything of the simulation has changed."""
    [(name, value)] = change.items()
    members = arrays(path)
    key = f"fact_{name}.npy" if f"fact_{name}.npy" in members else f"{name}.npy"
    if np.shape(value) == () and key in members and not key.startswith("fact"):
        array = np.load(io.BytesIO(members[key]))
        array = array.astype(type(value)) if isinstance(value, (str, complex, bool)) else array
        array.flat[0] = value
        value = array
    rewritten(path, members | {key: npy(np.array(value))})
    before = sim.save().arrays
    with refused("allowed"):
        sim.restore(sh.Saved.read(path))
    after = sim.save().arrays
    assert all(np.array_equal(before[k], after[k]) for k in before)


def test_pipes_and_names_with_zero_bytes_are_one_sentence(sim, tmp_path):
    os.mkfifo(tmp_path / "pipe.npz")
    for name in ("pipe.npz", "lost.npz", "a\0b.npz", ""):
        with refused("allowed"):
            sh.Saved.read(tmp_path / name)
    with refused("cannot be written"):
        sim.save().write(tmp_path / "a\0b.npz")
