"""Spoilt files of all formats: loaded, or refused by an error of ours; some in every run, 10,000 in slow ones."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path

import pytest

import sharnir as sh

TOOL = Path(__file__).parents[2] / "tools/mutate_files.py"
FEW, MANY = 300, 10_000


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("mutate_files", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_some_are_loaded_or_refused(tool, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seeds = tool.Seeds(tmp_path)
        found = {number: tool.outcome(seeds.load, number) for number in range(MANY, MANY + FEW)}
        seeds.worker.close()
    assert not {n: said for n, said in found.items() if said not in ("loaded", "refused")}
    ends = Counter((tool.KINDS[n % len(tool.KINDS)], said) for n, said in found.items())
    assert all(ends[kind, said] > 0 for kind in tool.KINDS for said in ("loaded", "refused"))


def test_a_file_is_a_matter_of_its_number(tool):
    chance = tool.random.Random
    text = b'a = 1.5\nb = "x"\nc = [1, 2]\n' * 9
    assert len({tool.spoilt_text(text, chance(5)) for _ in range(9)}) == 1
    assert len({tool.spoilt_text(text, chance(n)) for n in range(99)}) > 50


def test_errors_of_others_are_told_from_ours(tool):
    def load(number: int) -> None:
        if number:
            raise [sh.ModelError("a"), sh.ModelError("a\nb"), RecursionError("deep")][number - 1]

    found = [tool.outcome(load, n).split(" at ")[0] for n in range(4)]
    assert found == ["loaded", "refused", "foreign: several lines of ModelError", "foreign: RecursionError"]


@pytest.mark.parametrize(("end", "said"), [("os._exit(3)", "crash"), ("time.sleep(99)", "hang")])
def test_a_worker_that_dies_or_hangs_is_told(tool, monkeypatch, tmp_path, end, said):
    """The files after the one it dies of are done by the next one."""
    program = "import json, os, sys, time\nfor n in json.loads(input()):\n    if n % 3 == 1:\n        " + end
    program += "\n    print(json.dumps({'file': n, 'outcome': 'loaded'}), flush=True)\n"
    (tmp_path / "worker.py").write_text(program)
    monkeypatch.setattr(tool, "__file__", str(tmp_path / "worker.py"))
    monkeypatch.setattr(tool, "LONGEST", 2.0)
    found = {entry["file"]: entry["outcome"] for entry in tool.run(list(range(6)))}
    assert found == {n: said if n % 3 == 1 else "loaded" for n in range(6)}


def test_what_is_done_is_not_done_again(tool, tmp_path):
    """Results are kept file by file; a foreign error among them ends the command with status 1."""
    out = tmp_path / "mutated.jsonl"
    entries = [{"file": n, "kind": "toml", "outcome": "refused" if n else "foreign: KeyError"} for n in range(3)]
    out.write_text("".join(json.dumps(e) + "\n" for e in entries))
    words = [sys.executable, TOOL, "--count", "3", "--out", out]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "toml 0: foreign: KeyError" in done.stdout
    assert len(out.read_text().splitlines()) == 3


@pytest.mark.slow
def test_ten_thousand_are_loaded_or_refused(tmp_path):
    words = [sys.executable, TOOL, "--count", str(MANY), "--out", tmp_path / "mutated.jsonl"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
