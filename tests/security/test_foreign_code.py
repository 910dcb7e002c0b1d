"""What lies in the current folder is data: none of our commands, and none of the processes they start, runs it."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import bad_models
import hostile_folder
import pytest

from sharnir import child_process, scenes

COMMAND = Path(sys.executable).with_name("sharnir")
PACKAGE = Path(child_process.__file__).parent


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Iterator[Path]:
    """A robot, a scene and a recording in a folder of somebody who means harm."""
    folder = tmp_path_factory.mktemp("hostile")
    hostile_folder.fill(folder)
    (folder / "robot.urdf").write_text(bad_models.ROBOT)
    (folder / "part.stl").write_bytes(bad_models.tetrahedron())
    (folder / "part.glb").write_bytes(bad_models.tetrahedron("glb"))
    (folder / "matplotlibrc").write_text("backend: module://json\ntext.usetex: True\n")
    scenes.make("rods", n=2).save(folder / "scene.toml")
    yield folder


def environment() -> dict[str, str]:
    """Of a person who has put nothing but this checkout on Python's path, and an empty entry, which is what is left of
    `PYTHONPATH=$PYTHONPATH:…` where there was none."""
    return {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}


def command(folder: Path, words: str) -> str:
    options = {"cwd": folder, "env": environment(), "capture_output": True, "text": True}
    done = subprocess.run([COMMAND, *words.split()], check=False, **options)
    assert hostile_folder.ran(folder) == [], words
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout


def test_the_folder_does_harm_where_it_can(folder):
    """Python itself, started in it by `-c`, runs its modules; so the other tests can fail."""
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    words = [sys.executable, "-c", "import json"]
    done = subprocess.run(words, cwd=folder, env=usual, capture_output=True, check=False)
    assert done.returncode != 0 and hostile_folder.ran(folder)[-1] == "json"
    (folder / hostile_folder.RAN).unlink()
    subprocess.run([sys.executable, "-P", "-c", "import json"], cwd=folder, capture_output=True, check=True)
    assert hostile_folder.ran(folder) == []


@pytest.mark.parametrize("words", ["list", "doctor", "info robot.urdf", "info scene.toml"])
def test_commands_that_look(folder, words):
    command(folder, words)


def test_commands_that_run_record_and_replay(folder):
    """With a plot, a table, a writing process, a page and a second run of what was recorded."""
    command(folder, "run robot.urdf --duration 0.05 --record run.mcap --plot --csv")
    command(folder, "replay run.mcap --html page.html --csv")
    command(folder, "replay run.mcap --verify")
    assert (folder / "page.html").stat().st_size > 1000


@pytest.mark.parametrize("words", ["view robot.urdf --record seen.mcap", "view scene.toml"])
def test_view(folder, words):
    """The page is served, which takes all that the viewer's process imports."""
    pytest.importorskip("viser")
    process = subprocess.Popen(
        [COMMAND, *words.split(), "--port", "0"], cwd=folder, env=environment(),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        line = process.stdout.readline()
        assert "token=" in line, (line, process.stderr.read() if process.poll() is not None else "")
        with urllib.request.urlopen(line.split()[1], timeout=120) as page:
            assert page.status == 200
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 0, errors
    assert hostile_folder.ran(folder) == []


CHILDREN = """
import sys
folder = sys.argv[1]
import os
import sharnir
from sharnir.io import convex_decomposition
from sharnir.simulation.simulation import Simulation
from sharnir.viewer import Address, Live, Player

def go(name):
    sim = Simulation(sharnir.load(folder + "/robot.urdf", decompose=0.5))
    with sim.record(folder + name):
        sim.step()
    Player(Live(sim), Address(port=0)).close()

convex_decomposition.cache_folder = lambda: convex_decomposition.Path(folder) / "none" / str(len(os.getcwd()))
os.chdir("/")
go("/first.mcap")  # what this process itself imports, it has imported now
os.chdir(folder)
sys.path.insert(0, "")  # as `python -c` and `python -m` have it
go("/second.mcap")
"""


def test_children_of_a_program_that_runs_in_the_folder(folder):
    """`python -c` has the current folder on its path, which is the caller's affair; its children have not."""
    words = [sys.executable, "-P", "-c", CHILDREN, str(folder)]
    done = subprocess.run(words, env=environment(), cwd="/", capture_output=True, text=True, check=False)
    assert hostile_folder.ran(folder) == []
    assert done.returncode == 0, done.stderr


def test_relative_entries_of_the_path_are_not_passed_on(monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", ".", "here", str(tmp_path), ""]))
    given = child_process.child_environment("OMP_NUM_THREADS")
    assert given["PYTHONPATH"].split(os.pathsep) == [str(PACKAGE.parent), str(tmp_path)]
    assert (given["PYTHONSAFEPATH"], given["OMP_NUM_THREADS"]) == ("1", "1")


def test_interpreters_are_started_in_one_place_only():
    """All others would have to remember `-P`; and nobody uses multiprocessing."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr == "executable":
                assert path.name == "child_process.py", f"{path}:{node.lineno}"
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
                assert not {n.split(".")[0] for n in names} & {"multiprocessing", "runpy", "pty"}, f"{path}"
