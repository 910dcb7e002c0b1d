"""Damaged files of real robots: a compiled model or the one typed error, within a gigabyte, and always an answer."""

from __future__ import annotations

import collections
import warnings
from pathlib import Path

import pytest
from mutations import damaged, sources

from sharnir.compiler import compile
from sharnir.errors import ModelFileError
from sharnir.io import scene_of
from sharnir.io.parsing.parse import parse
from sharnir.io.parsing.parser_client import Worker

BYTES = 2**30
SECONDS = 120.0  # no file here takes a second alone; on a machine that is busy none may run into the limit


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    return sources(tmp_path_factory.mktemp("models"))


def outcome(path: Path, roots: list[Path], worker: Worker) -> str:
    """What became of a file: `loaded` or the reason's first words. Any other exception fails the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            compile(scene_of(parse(path, roots, time_limit=SECONDS, memory_limit=BYTES, worker=worker)))
        except ModelFileError as error:
            assert "\n" not in str(error) and error.file and error.reason
            return " ".join(error.reason.split()[:3])
    return "loaded"


def test_originals_load(originals):
    with Worker() as worker:
        for path in originals:
            assert outcome(path, [folder_of(path)], worker) == "loaded", path


def folder_of(path: Path) -> Path:
    """The folder that holds the package of this name."""
    return next((p.parent for p in path.parents if p.name == "example-robot-data"), path.parent)


def run(originals: list[Path], seeds: range) -> collections.Counter[str]:
    counts: collections.Counter[str] = collections.Counter()
    with Worker() as worker:
        for seed in seeds:
            original = originals[seed % len(originals)]
            path = original.with_name(f"damaged_{original.name}")
            path.write_bytes(damaged(original, seed))
            counts[outcome(path, [folder_of(path)], worker)] += 1
    assert sum(counts.values()) == len(seeds)
    assert not [reason for reason in counts if reason.startswith("takes longer")], counts
    return counts


def test_two_hundred(originals):
    counts = run(originals, range(200))
    assert 20 < counts["loaded"] < 180


@pytest.mark.slow
def test_ten_thousand(originals):
    counts = run(originals, range(1000, 11_000))
    print(*(f"{n:6d} {reason}" for reason, n in counts.most_common()), sep="\n")
    assert 1000 < counts["loaded"] < 9000
