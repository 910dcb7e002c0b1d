"""Spoil files and load them: URDF, MJCF, TOML, MCAP and NPZ in turns, from files of others and of our own.

    python tools/mutate_files.py --count 10000 --out mutated.jsonl

Each file is a matter of its number alone, so a run can be repeated, and go on where one was interrupted: what is in the
file of results is not done again. A file must be loaded or refused by one of sharnir's own errors. A worker process
loads them; if it dies that is a crash, and if it says nothing for LONGEST seconds a hang. Ends with status 1 where one
of these came about, or an error that is none of ours.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import re
import select
import struct
import subprocess
import sys
import tempfile
import traceback
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/unit/io"), str(ROOT / "tests/unit/recording"), str(ROOT)]

import mutations  # noqa: E402
import numpy as np  # noqa: E402
from recorded import lively_scene  # noqa: E402

import sharnir as sh  # noqa: E402
from sharnir import scenes  # noqa: E402
from sharnir.child_process import child_environment  # noqa: E402
from sharnir.io import scene_of  # noqa: E402
from sharnir.io.parsing.parse import parse  # noqa: E402
from sharnir.io.parsing.parser_client import Worker  # noqa: E402
from sharnir.progress import bar  # noqa: E402
from sharnir.recording import header  # noqa: E402

KINDS = ("urdf", "mjcf", "toml", "mcap", "npz")
LONGEST = 120.0  # s without a word of the worker
MEMORY = 2**30  # bytes, of the process that parses models
FIELDS = re.compile(rb"[-+]?\d+\.?\d*(?:e[-+]?\d+)?|\"[^\"\n]*\"|true|false")
WORDS = [
    b"1e400", b"-1e308", b"nan", b"inf", b"0", b"-1", b"1e-320", b"9" * 400, b"9" * 5000, b"true", b'"1"', b'""', b"[]",
    b"{}", b"[[[[[1]]]]]", b"[" * 500 + b"]" * 500, b"2024-01-01", b'"world"', b'"../x.stl"', b'"/dev/zero"',
    b'"a\\u0000b"', b"0x10", b"[1, true]", b"{a = {a = 1}}", b"2147483648",
    b'"\xf0\x9f\x92\xa5"', b"1_000", b"''",
]  # fmt: skip
NUMBERS = (0.0, -1.0, 1e300, -1e300, np.nan, np.inf, 1e-320, 2.0**31, -(2.0**31), 2.0**62)


class Seeds:
    """Files that are spoilt, made or copied into a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        models = mutations.sources(folder / "models")
        self.models = {
            "urdf": [p for p in models if p.suffix == ".urdf"], "mjcf": [p for p in models if p.suffix == ".xml"]
        }  # fmt: skip
        self.scenes = [p.read_bytes() for p in sorted((ROOT / "sharnir/scenes/drive").glob("*_arm.toml"))]
        for scene in (lively_scene(), *(scenes.make(n) for n in ("pile", "trailer_robot", "rods", "peaucellier"))):
            scene.save(folder / "seed.toml")
            self.scenes.append((folder / "seed.toml").read_bytes())
        self.sims = [sh.Simulation(lively_scene(), dt=0.004), sh.Simulation(scenes.make("pile", n=1), dt=0.005)]
        self.recordings = [p.read_bytes() for p in sorted((ROOT / "tests/data/recordings").glob("*.mcap"))]
        self.states = [(self.sims[0], (ROOT / "tests/data/recordings/linkage_saved.npz").read_bytes())]
        for sim in self.sims:
            (folder / "seed.mcap").unlink(missing_ok=True)
            with sim.record(folder / "seed.mcap"):
                sim.step(60)
            self.recordings.append((folder / "seed.mcap").read_bytes())
            sim.save().write(folder / "seed.npz")
            self.states.append((sim, (folder / "seed.npz").read_bytes()))
        self.worker = Worker()

    def load(self, number: int) -> None:
        """Spoil and load the file of a number."""
        chance = random.Random(number)
        getattr(self, f"_{KINDS[number % len(KINDS)]}")(number // len(KINDS), chance)

    def _model(self, kind: str, number: int) -> None:
        original = self.models[kind][number % len(self.models[kind])]
        path = original.with_name(f"damaged_{original.name}")
        path.write_bytes(mutations.damaged(original, number))
        roots = [next((p.parent for p in path.parents if p.name == "example-robot-data"), path.parent)]
        sh.compile(scene_of(parse(path, roots, LONGEST / 2, MEMORY, self.worker)))

    def _urdf(self, number: int, _: random.Random) -> None:
        self._model("urdf", number)

    def _mjcf(self, number: int, _: random.Random) -> None:
        self._model("mjcf", number)

    def _toml(self, number: int, chance: random.Random) -> None:
        path = self.folder / "scene.toml"
        path.write_bytes(spoilt_text(self.scenes[number % len(self.scenes)], chance))
        sh.compile(sh.Scene.load(path))

    def _mcap(self, number: int, chance: random.Random) -> None:
        path = self.folder / "run.mcap"
        path.write_bytes(spoilt_recording(self.recordings[number % len(self.recordings)], chance))
        recording = sh.open_recording(path)
        _ = recording.model, recording.times, recording.events, recording.end, recording.body_poses
        for k in range(1, recording.steps + 1):
            recording.step(k)
        recording.trajectory()
        recording.verify()
        recording.resume(recording.start)

    def _npz(self, number: int, chance: random.Random) -> None:
        sim, data = self.states[number % len(self.states)]
        path = self.folder / "state.npz"
        path.write_bytes(spoilt_state(data, chance))
        sim.reset()
        sim.restore(sh.Saved.read(path))
        sim.step(2)


def spoilt_text(data: bytes, chance: random.Random) -> bytes:
    """TOML after a blow or two: values, lines, bytes."""
    for _ in range(chance.randint(1, 2)):
        lines, blow = data.split(b"\n"), chance.random()
        if blow < 0.6:
            if found := list(FIELDS.finditer(data)):
                field = chance.choice(found)
                word = chance.choice(WORDS) if chance.random() < 0.4 else chance.choice(found)[0]
                data = data[: field.start()] + word + data[field.end() :]
        elif blow < 0.9:
            at = chance.randrange(len(lines))
            kept = lines[at : at + chance.randint(1, 9)]
            other = chance.randrange(len(lines))
            data = b"\n".join([*lines[:other], *kept, *lines[other:]] if blow < 0.75 else lines[:at] + lines[at + 1 :])
        else:
            data = mutations._bytes(data, chance) if data else data
    return data


def records(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Kind, first byte and end of the records of a file of MCAP."""
    at = 8
    while at + 9 <= len(data) - 8:
        opcode, length = struct.unpack_from("<BQ", data, at)
        yield opcode, at, at + 9 + length
        at += 9 + length


def spoilt_recording(data: bytes, chance: random.Random) -> bytes:
    """A recording with other bytes; or with other contents of a chunk, or another header, and right checksums."""
    blow = chance.random()
    if blow < 0.3:
        return mutations._bytes(data, chance)
    if blow < 0.5:
        return with_facts(data, chance)
    import zstandard

    chunks = [(at, end) for opcode, at, end in records(data) if opcode == 6]
    at, end = chance.choice(chunks)
    size, _, name = struct.unpack_from("<QII", data, at + 25)
    content = bytearray(zstandard.decompress(data[at + 49 + name : end], max_output_size=size))
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(content) - 8)
        if chance.random() < 0.5:
            content[place] ^= 1 << chance.randrange(8)
        else:
            content[place : place + 8] = struct.pack("<d", chance.choice(NUMBERS))
    if chance.random() < 0.2:
        content = bytearray(mutations._bytes(bytes(content), chance))
    packed = zstandard.compress(bytes(content))
    body = struct.pack("<QQQII", 0, 0, len(content), zlib.crc32(content), 4) + b"zstd"
    body += struct.pack("<Q", len(packed)) + packed
    return data[:at] + struct.pack("<BQ", 6, len(body)) + body + data[end:]


def with_facts(data: bytes, chance: random.Random) -> bytes:
    """With other entries in its header, and their checksum."""
    at, end = next((at, end) for opcode, at, end in records(data) if opcode == 12)
    texts, place = [], at + 9
    (length,) = struct.unpack_from("<I", data, place)
    start = place + 4 + length
    place, stop = start + 4, start + 4 + struct.unpack_from("<I", data, start)[0]
    while place < stop:
        (size,) = struct.unpack_from("<I", data, place)
        texts.append(data[place + 4 : place + 4 + size].decode())
        place += 4 + size
    facts = dict(zip(texts[::2], texts[1::2], strict=True))
    facts.pop("checksum", None)
    name = chance.choice(list(facts))
    facts[name] = chance.choice(
        ["", "1e400", "nan", "-1", "0", "9" * 400, "[" * 9000, "[]", "{}", "4194304", "true", "default", "3",
         spoilt_text(facts[name].encode(), chance).decode(errors="replace")]
    )  # fmt: skip
    pairs = [x.encode() for pair in header.sealed(facts).items() for x in pair]
    table = b"".join(struct.pack("<I", len(x)) + x for x in pairs)
    body = data[at + 9 : start] + struct.pack("<I", len(table)) + table
    return data[:at] + struct.pack("<BQ", 12, len(body)) + body + data[end:]


def spoilt_state(data: bytes, chance: random.Random) -> bytes:
    """A saved state with other bytes; or with other members or numbers, and right checksums."""
    if chance.random() < 0.3:
        return mutations._bytes(data, chance)
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        members = {name: file.read(name) for name in file.namelist()}
    for _ in range(chance.randint(1, 2)):
        name, blow = chance.choice(list(members)), chance.random()
        if blow < 0.5 and len(members[name]) > 136:
            content = bytearray(members[name])
            place = 128 + 4 * chance.randrange((len(content) - 128) // 4)
            number = chance.choice(NUMBERS)
            count = struct.pack("<i", chance.choice((-1, 2**31 - 1, -(2**31), chance.randrange(100))))
            new = struct.pack("<d", number) if "keys" not in name and place + 8 <= len(content) else count
            content[place : place + len(new)] = new
            members[name] = bytes(content)
        elif blow < 0.8:
            members[name] = mutations._bytes(members[name] or b"x", chance)
        elif blow < 0.9:
            members[name] = members[chance.choice(list(members))]
        elif len(members) > 1:
            del members[name]
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", chance.choice((zipfile.ZIP_STORED,) * 9 + (zipfile.ZIP_DEFLATED,))) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return stream.getvalue()


def outcome(load: Callable[[int], Any], number: int) -> str:
    """What became of a file: "loaded", "refused" by an error of ours, or "foreign" and whose error it was."""
    try:
        load(number)
    except sh.SharnirError as error:
        return "refused" if "\n" not in str(error) else f"foreign: several lines of {type(error).__name__}"
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"foreign: {type(error).__name__} at {Path(place.filename).name}:{place.lineno}: {str(error)[:100]}"
    return "loaded"


def work(numbers: list[int]) -> None:
    """In the worker: a line of JSON for each file."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        seeds = Seeds(Path(folder))
        for number in numbers:
            said = outcome(seeds.load, number)
            print(json.dumps({"file": number, "kind": KINDS[number % len(KINDS)], "outcome": said}), flush=True)
        seeds.worker.close()


def run(numbers: list[int]) -> Iterator[dict[str, Any]]:
    """Outcomes of files, whatever becomes of the worker."""
    while numbers:
        command = [sys.executable, "-P", str(Path(__file__).resolve()), "--work"]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(command, env=child_environment(), bufsize=0, **pipes) as worker:
            try:
                worker.stdin.write(json.dumps(numbers).encode() + b"\n")
                worker.stdin.close()
                for line in lines_of(worker.stdout):
                    failed = {"file": numbers[0], "kind": KINDS[numbers[0] % len(KINDS)], "outcome": line}
                    yield failed if isinstance(line, str) else json.loads(line)
                    numbers = numbers[1:]
                    if not numbers:
                        break
            finally:
                worker.kill()


def lines_of(pipe: Any) -> Iterator[bytes | str]:
    """What a worker says, line by line, and last "crash" or "hang"."""
    rest = b""
    while True:
        *whole, rest = rest.split(b"\n")
        yield from whole
        if not select.select([pipe], [], [], LONGEST)[0]:
            yield "hang"
            return
        more = os.read(pipe.fileno(), 2**16)
        if not more:
            yield "crash"
            return
        rest += more


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    asked.add_argument("--first", type=int, default=0, help="number of the first file")
    asked.add_argument("--count", type=int, default=500, help="how many files")
    asked.add_argument("--out", type=Path, default=Path("mutated.jsonl"), help="where results are, and more are added")
    asked.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    given = asked.parse_args()
    if given.work:
        os.nice(5)
        work(json.loads(sys.stdin.readline()))
        return 0
    lines = given.out.read_text().splitlines() if given.out.exists() else []
    done = {entry["file"]: entry for entry in map(json.loads, lines)}
    wanted = range(given.first, given.first + given.count)
    try:
        with given.out.open("a") as file, bar("mutated files", given.count, True) as advance:
            advance(sum(n in done for n in wanted))
            for entry in run([n for n in wanted if n not in done]):
                done[entry["file"]] = entry
                print(json.dumps(entry), file=file, flush=True)
                advance(sum(n in done for n in wanted) if len(done) < 100 else len(done))
    except KeyboardInterrupt:
        print("interrupted: the same command goes on from here")
    return summary([done[n] for n in wanted if n in done])


def summary(entries: list[dict[str, Any]]) -> int:
    """Print how many of each kind came to what end, and all that must not be; the status to end with."""
    counts = Counter((e["kind"], e["outcome"].split(":")[0]) for e in entries)
    ends = ("loaded", "refused", "foreign", "crash", "hang")
    print(f"{'':6}" + "".join(f"{end:>9}" for end in ends))
    for kind in KINDS:
        print(f"{kind:6}" + "".join(f"{counts[kind, end]:9}" for end in ends))
    bad = [e for e in entries if e["outcome"] not in ("loaded", "refused")]
    for entry in bad[:50]:
        print(f"{entry['kind']} {entry['file']}: {entry['outcome']}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
