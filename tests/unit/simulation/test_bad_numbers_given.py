"""Numbers that are none, at every place where a program or the command line gives them: one sentence, nothing changed.

Of elements of scenes: tests/unit/spec/test_bad_numbers.py. Of files: test_bad_scene_files.py there.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from refusal import refused

import sharnir as sh
from sharnir import scenes
from sharnir.benchmarks.view import floating
from sharnir.viewer import Address
from sharnir.viewer.page.process import started

COMMAND = Path(sys.executable).with_name("sharnir")
BAD = {
    "huge": 10**400, "flag": True, "numpy's flag": np.True_, "text": "1", "bytes": b"1", "nan": float("nan"),
    "infinite": float("inf"), "complex": 1j, "table": {}, "thing": object(),
}  # fmt: skip
MODEL = sh.compile(floating(1))
SIM = sh.Simulation(MODEL, dt=0.005)


def motors() -> sh.Simulation:
    scene = scenes.make("pendulum")
    scene.add(sh.Motor(name="drive", joint="pivot", velocity=1.0, max_force=1.0))
    scene.add(sh.Actuator(name="act", joints=["pivot"]))
    return sh.Simulation(scene)


DRIVEN = motors()
PLACES = {
    "dt": lambda x: sh.Simulation(MODEL, dt=x),
    "worlds": lambda x: sh.Simulation(MODEL, worlds=x),
    "contacts": lambda x: sh.Simulation(MODEL, contacts=x),
    "pairs": lambda x: sh.Simulation(MODEL, pairs=x),
    "dt later": lambda x: setattr(SIM, "dt", x),
    "steps": SIM.step,
    "duration": SIM.run,
    "epsilon": lambda x: SIM.configure(epsilon=x),
    "max_sweeps": lambda x: SIM.configure(max_sweeps=x),
    "budget": lambda x: sh.Settings(budget=x),
    "erp": lambda x: sh.Settings(erp=x),
    "passes": lambda x: sh.Settings(passes=x),
    "rate of a controller": lambda x: SIM.add_controller(print, rate=x),
    "rate of a recording": lambda x: SIM.record("never.mcap", rate=x),
    "seed of a recording": lambda x: SIM.record("never.mcap", seed=x),
    "world": lambda x: SIM.contacts(world=x),
    "control": lambda x: setattr(DRIVEN.joint("pivot"), "control", x),
    "control in a list": lambda x: setattr(DRIVEN.joint("pivot"), "control", [x]),
    "target": lambda x: setattr(DRIVEN.motor("drive"), "target", x),
    "input": lambda x: setattr(DRIVEN.actuator("act"), "input", x),
    "wrench": lambda x: setattr(SIM.body("box0"), "applied", [0.5, x, 0, 0, 0, 0]),
    "duration of simulate": lambda x: sh.simulate(scenes.make("pendulum"), x, solver="simgc"),
    "dt of simulate": lambda x: sh.simulate(scenes.make("pendulum"), 0.1, solver="simgc", dt=x),
    "rtol of simulate": lambda x: sh.simulate(scenes.make("pendulum"), 0.1, solver="exact", rtol=x),
    "parameter": lambda x: scenes.make("rods", n=x),
    "position": lambda x: sh.ray_cast(MODEL, [0.0, x, 0, 0, 0, 0, 1], [[0, 0, 1]], [[0, 0, -1]]),
    "origin": lambda x: sh.ray_cast(MODEL, MODEL.q0, [[0.5, x, 1]], [[0, 0, -1]]),
    "distance": lambda x: sh.ray_cast(MODEL, MODEL.q0, [[0, 0, 1]], [[0, 0, -1]], x),
    "points of a path": lambda x: sh.Spline([0.0, 1.0], [0.5, x]),
    "times of a path": lambda x: sh.Spline([0.0, x], [0.0, 1.0]),
    "duration of a path": lambda x: sh.MinimumJerk(0.0, 1.0, x),
    "gains": lambda x: sh.Servo(["act"], "position", gains=(x, 0.5, 0.5)),
    "port": lambda x: started(Address(port=x), "", None),
    "decompose": lambda x: sh.load("none.urdf", decompose=x),
    "timestep": lambda x: sh.Simulation(sh.Scene(timestep=x, bodies=[sh.Body(name="a", mass=x)])),
}  # fmt: skip
ALLOWED = {("distance", "infinite")}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("place", PLACES)
def test_what_is_no_number_is_refused(place, kind):
    if (place, kind) in ALLOWED:
        PLACES[place](BAD[kind])
        return
    with refused("allowed") as caught:
        PLACES[place](BAD[kind])
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("count", [2**31, 2**70, 0, -1, 1.5])
def test_counts_that_no_array_has_are_refused(count):
    for place in ("worlds", "contacts", "pairs", "steps"):
        with refused("allowed"):
            PLACES[place](count)


def test_what_does_not_fit_into_memory_is_one_sentence():
    scene = sh.compile(scenes.make("pile", n=1))
    with refused("does not fit into memory", f"{2**31 - 1} contacts", "fewer"):
        sh.Simulation(scene, contacts=2**31 - 1)


SET = ["1e400", "nan", "inf", "-1", "0", "1e300", "True", "x", "", "1" * 5000, "1.5", "٣" * 50]


def test_parameters_of_the_command_line_are_refused_in_a_sentence(tmp_path, capsys, monkeypatch):
    """In this process, as `sharnir` does it; what a shell makes of it is the same."""
    from sharnir.cli.main import main

    monkeypatch.chdir(tmp_path)
    for value in SET:
        monkeypatch.setattr(sys, "argv", ["sharnir", "run", "rods", "--set", f"n={value}"])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr().err.strip().splitlines()
        assert end.value.code == 1 and len(said) == 1 and "allowed" in said[0], (value[:20], said)
    for more in (["--dt", "nan"], ["--duration", "1e400"], ["--dt", "True"], ["--contacts", "1e3"]):
        done = subprocess.run(
            [COMMAND, "run", "rods", *more], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode in (1, 2) and "Traceback" not in done.stderr
