"""The command line as a person uses it."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sharnir
from sharnir import scenes

COMMAND = Path(sys.executable).with_name("sharnir")


def sharnir_command(*words: str, cwd: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([COMMAND, *words], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == code, (done.stdout, done.stderr)
    return done


def test_list_shows_every_scene(tmp_path):
    out = sharnir_command("list", cwd=tmp_path).stdout
    assert all(name in out for name in scenes.names())


def test_run_saves_a_plot_and_a_table_of_numbers(tmp_path):
    out = sharnir_command("run", "spherical_pendulum", "--duration", "0.5", "--plot", "--csv", cwd=tmp_path).stdout
    assert "spherical_pendulum" in out
    assert (tmp_path / "out" / "spherical_pendulum.png").read_bytes().startswith(b"\x89PNG")
    with (tmp_path / "out" / "spherical_pendulum.csv").open() as file:
        header, *lines = list(csv.reader(file))
    assert header[:3] == ["t [s]", "q:ball.qx", "q:ball.qy"]
    run = sharnir.simulate(scenes.make("spherical_pendulum"), 0.5, solver="simgc")
    assert float(lines[-1][0]) == 0.5
    np.testing.assert_array_equal([float(x) for x in lines[-1][1:5]], run.q[-1])


def test_run_takes_methods_parameters_and_files(tmp_path):
    scenes.make("rods", n=3).save(tmp_path / "mine.toml")
    words = ("--duration", "0.1", "--dt", "0.01")
    out = sharnir_command("run", "mine.toml", *words, cwd=tmp_path).stdout
    assert "rods" in out
    assert "solver simgc" in out
    assert "method rk4" in sharnir_command("run", "mine.toml", *words, "--solver", "exact", cwd=tmp_path).stdout
    assert "solver exact" in sharnir_command("run", "mine.toml", *words, "--method", "rk4", cwd=tmp_path).stdout
    assert "rods" in sharnir_command("run", "rods", "--set", "n=3", *words, cwd=tmp_path).stdout


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (("run", "pendulm"), "did you mean 'pendulum'?"),
        (("run", "pendulum", "--solver", "exakt"), "did you mean 'exact'?"),
        (("run", "pendulum", "--method", "rk5"), "did you mean 'rk4'?"),
        (("run", "pendulum", "--dt", "-1", "--method", "rk4"), "dt is out of range: given -1.0"),
        (("run", "pendulum", "--dt", "0.1", "--method", "radau"), "chooses its own step"),
        (("run", "pendulum", "--duration", "nan"), "duration is not a finite number: given nan"),
        (("run", "pendulum", "--duration", "0"), "duration is out of range: given 0.0"),
        (("run", "rods", "--set", "m=2"), "unknown parameter 'm'"),
        (("run", "rods", "--set", "n"), "allowed: NAME=NUMBER"),
        (("run", "missing.toml"), "cannot be read"),
        (("run", "pendulum", "--csv", "--out", "/dev/null/x"), "cannot be written to"),
        (("bench", "abba"), "did you mean 'aba'?"),
        (("run", "humanoid_valve", "--set", "seed=-1"), "seed is out of range: given -1"),
        (("run", "manipulator_grasp", "--set", "seed=1.5"), "seed is out of range: given 1.5"),
        (("run", "manipulator_grasp", "--set", "linkage=7"), "linkage is out of range: given 7"),
        (("run", "manipulator_grasp", "--dt", "0"), "dt is out of range: given 0"),
        (("run", "trailer_robot", "--method", "paper", "--csv"), "given --method, --csv; allowed: --solver"),
        (("view", "pendulum", "--auto"), "--auto: has no task of its own"),
    ],
)
def test_mistakes_get_one_sentence(words, answer, tmp_path):
    done = sharnir_command(*words, cwd=tmp_path, code=1)
    assert answer in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_precision_that_does_not_exist_gets_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("SHARNIR_PRECISION", "half")
    done = sharnir_command("run", "pendulum", cwd=tmp_path, code=1)
    assert "unknown precision: given 'half'" in done.stderr
    assert "Traceback" not in done.stderr


def test_scene_names_do_not_lead_out_of_the_folder(tmp_path):
    scene = scenes.make("pendulum")
    scene.name = "../../escaped name"
    scene.save(tmp_path / "x.toml")
    sharnir_command("run", "x.toml", "--csv", "--out", "a/b", "--duration", "0.1", cwd=tmp_path)
    assert [p.name for p in (tmp_path / "a" / "b").iterdir()] == ["_.._escaped_name.csv"]
    assert not list(tmp_path.glob("*.csv"))


INTERRUPTED = """
import os, signal, sys
from sharnir.cli import main
from sharnir.simulation import Simulation

plain = Simulation.step

def step(simulation, *words, **options):
    if simulation.time > 0.5:
        os.kill(os.getpid(), signal.SIGINT)  # as Ctrl-C does
    return plain(simulation, *words, **options)

Simulation.step = step
sys.argv = ["sharnir", "run", "rods", "--duration", "100", "--csv"]
main()
"""


def test_interrupted_run_keeps_its_results(tmp_path):
    """Ctrl-C in the middle: from within, so that no clock decides how far the run is."""
    words = [sys.executable, "-c", INTERRUPTED]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 130, done.stderr
    assert "interrupted at t =" in done.stdout
    assert len((tmp_path / "out" / "rods.csv").read_text().splitlines()) >= 2


RESUMED = INTERRUPTED.replace(
    '["sharnir", "run", "rods", "--duration", "100", "--csv"]',
    '["sharnir", "replay", "run.mcap", "--resume", "0.3", "--duration", "100", "--record", "on.mcap"]',
)


def test_a_recording_that_goes_on_is_whole_where_it_is_interrupted(tmp_path):
    with sharnir.Simulation(scenes.make("pendulum"), dt=0.01).record(tmp_path / "run.mcap") as recorder:
        recorder._sim.step(40)
    words = [sys.executable, "-c", RESUMED]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 130, done.stderr
    assert "interrupted: went on from t = 0.3 s to " in done.stdout and "Traceback" not in done.stderr
    recording = sharnir.open_recording(tmp_path / "on.mcap")
    assert recording.complete and 0 < recording.steps < 10_000


def test_version(tmp_path):
    assert sharnir_command("--version", cwd=tmp_path).stdout.strip() == sharnir.__version__


def test_doctor_reports_on_the_machine(tmp_path):
    out = sharnir_command("doctor", cwd=tmp_path).stdout
    for word in ("sharnir", "warp-lang", "precision", "double", "device cpu", "kernel cache"):
        assert word in out


def test_bench_prints_one_json_object_and_nothing_else(tmp_path):
    pytest.importorskip("pinocchio")
    result = json.loads(sharnir_command("bench", "aba", "--json", "--quick", cwd=tmp_path).stdout)
    assert result["bench"] == "aba"
    rows = {row["case"]: row for row in result["rows"]}
    assert {"chain of 5", "free root + 29 hinges", "chain of 10", "chain of 100", "chain of 1000"} == set(rows)
    for name in ("chain of 5", "free root + 29 hinges"):
        row = rows[name]
        assert row["ratio"] == pytest.approx(row["ours"] / row["peer"])
        assert "pinocchio" in row["peer_name"]
        assert row["unit"] == "us/evaluation"
        assert row["difference"] < 1e-10  # the peer computes the same accelerations
        assert row["ours_spread"]["p25"] <= row["ours"] <= row["ours_spread"]["p75"]


def test_bench_contact_measures_all_cases_against_mujoco(tmp_path):
    pytest.importorskip("mujoco")
    result = json.loads(sharnir_command("bench", "contact", "--json", "--quick", cwd=tmp_path).stdout)
    rows = {row["case"]: row for row in result["rows"]}
    for name in ("pile of 8 boxes", "27 balls in a tray", "10 mixed bodies", "40 mixed bodies"):
        assert {name, f"{name}, settling"} <= set(rows)
    for doing in ("standing", "falling", "lying"):
        assert {f"humanoid {doing}, simgc", f"humanoid {doing}, simmc"} <= set(rows)
    standing = rows["humanoid standing, simgc"]
    assert standing["ratio"] == pytest.approx(standing["ours"] / standing["peer"])
    assert standing["contacts_ours"] == standing["contacts_peer"] == 8  # four points of each foot
    assert 0.0 <= standing["sunk_ours"] < 1e-4
    assert standing["ours_spread"]["p25"] <= standing["ours_median"] <= standing["ours_spread"]["p75"]
    assert rows["growth from 10 mixed bodies to 40 mixed bodies"]["ours"] > 1.0


def test_bench_robots_measures_files_against_mujoco(tmp_path):
    result = json.loads(sharnir_command("bench", "robots", "--json", "--quick", cwd=tmp_path).stdout)
    rows = {row["case"].split()[0]: row for row in result["rows"]}
    assert {"humanoid", "Panda", "UR5", "solo12", "ANYmal", "Talos"} <= set(rows)
    for row in rows.values():
        assert row["ratio"] == pytest.approx(row["ours"] / row["peer"])
        assert "mujoco 4" in row["peer_name"] and row["step_p99.9"] > 0
    assert "27 degrees of freedom, 5 ms, EULER" in rows["humanoid"]["case"]
    assert list(tmp_path.iterdir()) == []  # no MUJOCO_LOG.TXT
