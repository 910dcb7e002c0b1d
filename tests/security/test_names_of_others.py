"""Paths and names that are made to confuse: zero bytes, brackets, control characters; one sentence, no traceback."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from refusal import refused

import sharnir as sh
from sharnir import scenes, viewer
from sharnir.simulation.export import write_csv
from sharnir.viewer.page.gate import Address, tls_of

NUL = "a\0b"
SIM = sh.Simulation(scenes.make("pendulum"))
CALLS = {
    "load": sh.load,
    "root of load": lambda p: sh.load("x.urdf", roots=[p]),
    "Scene.load": sh.Scene.load,
    "root of Scene.load": lambda p: sh.Scene.load(scene_file(), roots=[p]),
    "Scene.save": lambda p: scenes.make("pendulum").save(p),
    "open_recording": sh.open_recording,
    "record": lambda p: sh.Simulation(SIM.model).record(p),
    "Saved.read": sh.Saved.read,
    "Saved.write": lambda p: SIM.save().write(p),
    "read_mapping": lambda p: viewer.read_mapping(p, SIM.model),
    "certificate": lambda p: tls_of(Address(certificate=str(p), key=str(p))),
    "simulate": lambda p: sh.simulate(scenes.make("pendulum"), 0.1, solver="simgc", record=p),
    "csv": lambda p: write_csv(sh.simulate(scenes.make("pendulum"), 0.1, solver="simgc"), Path(p)),
}  # fmt: skip


def scene_file() -> str:
    return str(Path(scenes.__file__).with_name("drive") / "grasp_arm.toml")


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", [NUL, NUL + ".urdf", "\ud800", "x" * 5000], ids=repr)
def test_functions_that_take_a_path(call, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for kind in (str, Path):
        with refused("allowed", error=sh.SharnirError) as caught:
            CALLS[call](kind(name))
        assert len(str(caught.value)) < 2500


WORDS = [
    "run {} --duration 0.1", "run {}.toml", "run {}.urdf", "run {}.xml", "info {}", "info {}.toml", "info {}.urdf",
    "view {}", "view {}.toml", "view {}.urdf", "replay {}", "run pendulum --duration 0.1 --csv --out {}",
    "run pendulum --duration 0.1 --record {}", "view pendulum --drive {}", "view pendulum --certificate {} --key {}",
    "info r.urdf --root {}", "bench {}", "report --out {}", "view pendulum --record {}", "view pendulum --host {}",
    "replay r.mcap --html {}",
]  # fmt: skip


@pytest.mark.parametrize("words", WORDS)
def test_commands_that_take_a_path(words, tmp_path, monkeypatch, capsys):
    """In this process: no shell hands a zero byte on, but other callers of `main` may."""
    from sharnir.cli.main import main

    monkeypatch.chdir(tmp_path)
    with SIM.record(tmp_path / "r.mcap"):
        SIM.step()
    for name in (NUL, "[/red]", "[bold", "\x1b[31m\x07"):
        if name != NUL and ("--record" in words or "--out" in words or "--html" in words):
            continue
        monkeypatch.setattr(sys, "argv", ["sharnir", *(w.format(name) for w in words.split(" "))])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr().err
        assert end.value.code in (1, 2) and "Traceback" not in said, said
        assert "\0" not in said and "\x1b[31m\x07" not in said, said


@pytest.mark.parametrize("name", ["[/red] [bold] :smile:", "\x1b]0;title\x07\x1b[2J", "a\nb", "💥" * 300])
def test_names_in_files_are_text(name, tmp_path, monkeypatch, capsys):
    """Of scenes, bodies and joints: shown as they are, but for what a terminal would obey."""
    from sharnir.cli.main import main

    scene = sh.Scene(name=name)
    scene.add(sh.Body(name=name, mass=1.0, inertia=(1, 1, 1)))
    scene.add(sh.Keyframe(name=name, joints=(), positions=(), velocities=()))
    scene.add(sh.Revolute(name=name, parent="world", child=name))
    scene.save(tmp_path / "scene.toml")
    monkeypatch.chdir(tmp_path)
    commands = ("info scene.toml", "run scene.toml --duration 0.1 --record r.mcap", "replay r.mcap --verify")
    for words in commands:
        monkeypatch.setattr(sys, "argv", ["sharnir", *words.split()])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        assert end.value.code == 0, said.err
        assert not {"\x07", "\x1b]"} & set(said.out + said.err) and "\x1b]0" not in said.out + said.err
        assert "\x1b[2J" not in said.out
