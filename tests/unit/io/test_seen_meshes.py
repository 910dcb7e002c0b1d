"""Meshes that are only seen: under the same roots and limits as those that touch, and by the same child."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from pathlib import Path

import bad_assets
import bad_models
import pytest

import sharnir as sh
from sharnir.drawing.visuals import seen_pieces
from sharnir.io import seen_meshes
from sharnir.io.parsing.parser_client import Worker

COMMAND = Path(sys.executable).with_name("sharnir")


@pytest.fixture
def folder(tmp_path) -> Path:
    """A model's folder, and what lies beside it."""
    here = tmp_path / "robot"
    here.mkdir()
    for kind in ("stl", "glb", "dae"):
        (here / f"part.{kind}").write_bytes(bad_models.tetrahedron(kind))
    (tmp_path / "secret.stl").write_bytes(bad_models.tetrahedron())
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack/part.stl").write_bytes(bad_models.tetrahedron())
    return here


def seen(scene: sh.Scene) -> tuple[int, list[str]]:
    """How many surfaces are shown, and what is said of the others."""
    pieces, notes = seen_pieces(sh.compile(scene))
    return sum(piece.surface is not None for piece in pieces), notes


def urdf(folder: Path, name: str) -> Path:
    (folder / "robot.urdf").write_text(bad_models.robot(name))
    return folder / "robot.urdf"


def toml(folder: Path, name: str) -> Path:
    scene = sh.Scene(name="seen", visuals=[sh.Visual(file=name)])
    scene.add(sh.Body(name="ball", shapes=[sh.Sphere(radius=0.1)]))
    scene.save(folder / "scene.toml")
    return folder / "scene.toml"


@pytest.mark.parametrize("name", ["part.stl", "part.glb", "part.dae", "./part.stl", "../robot/part.stl"])
def test_what_lies_in_the_folder_is_shown(folder, name):
    assert seen(sh.load(urdf(folder, name))) == (1, [])
    assert seen(sh.Scene.load(toml(folder, name))) == (1, [])
    assert seen(sh.Scene.load(toml(folder, str(folder / name)))) == (1, [])


OUTSIDE = {
    "dots": "../secret.stl", "absolute": "{up}/secret.stl", "link": "link.stl", "package": "package://pack/part.stl",
    "scheme": "file://{up}/secret.stl", "package dots": "package://robot/../secret.stl",
}  # fmt: skip


@pytest.mark.parametrize("case", OUTSIDE)
def test_what_lies_elsewhere_is_not(folder, case):
    """Refused by `load`, as for a mesh that touches, or, where a visual is merely missing, not shown."""
    name = OUTSIDE[case].format(up=folder.parent)
    (folder / "link.stl").symlink_to(folder.parent / "secret.stl")
    count, [note] = seen(sh.Scene.load(toml(folder, name)))
    assert count == 0 and "is not shown" in note and "allowed" in note
    try:
        assert seen(sh.load(urdf(folder, name)))[0] == 0
        assert case == "package"
    except sh.ModelFileError as error:
        assert "leads out of the declared roots" in str(error) or "not taken from" in str(error)
    touching = urdf(folder, "part.glb")
    touching.write_text(touching.read_text().replace("part.stl", name))
    with pytest.raises(sh.ModelFileError):
        sh.load(touching)


@pytest.mark.parametrize("case", [case for case in OUTSIDE if case != "scheme"])
def test_a_declared_root_lets_it_be_seen(folder, case):
    name = OUTSIDE[case].format(up=folder.parent)
    (folder / "link.stl").symlink_to(folder.parent / "secret.stl")
    assert seen(sh.load(urdf(folder, name), roots=[folder.parent])) == (1, [])
    assert seen(sh.Scene.load(toml(folder, name), roots=[folder.parent])) == (1, [])
    with pytest.raises(sh.ModelError, match="is not a folder"):
        sh.Scene.load(toml(folder, name), roots=[folder / "none"])


def test_a_file_that_becomes_a_link_after_loading_is_not_followed(folder):
    scene = sh.load(urdf(folder, "part.glb"))
    (folder / "part.glb").unlink()
    (folder / "part.glb").symlink_to(folder.parent / "secret.stl")
    assert "leads out of the declared roots" in seen(scene)[1][0]


def test_a_programs_own_scene_may_show_what_it_likes(folder):
    scene = sh.Scene(visuals=[sh.Visual(file=str(folder.parent / "secret.stl"))])
    scene.add(sh.Body(name="ball", shapes=[sh.Sphere(radius=0.1)]))
    assert seen(scene) == (1, [])


def test_a_recording_shows_what_lies_beside_it(folder, tmp_path):
    """What it names elsewhere is left out of the page, and said to be; unless its folder is declared."""
    with sh.Simulation(sh.load(urdf(folder, "part.glb"))).record(tmp_path / "run.mcap"):
        pass
    options = {"cwd": tmp_path, "capture_output": True, "text": True}
    done = subprocess.run([COMMAND, "replay", "run.mcap", "--html", "a.html", "--root", "robot"], check=True, **options)
    assert "not shown" not in done.stdout
    os.rename(tmp_path / "run.mcap", tmp_path / "pack/run.mcap")
    done = subprocess.run([COMMAND, "replay", "pack/run.mcap", "--html", "b.html"], check=True, **options)
    assert "leads out of the declared roots" in " ".join(done.stdout.split())
    assert (tmp_path / "b.html").read_bytes() != (tmp_path / "a.html").read_bytes()


def test_special_files_are_neither_read_nor_waited_for(folder):
    os.mkfifo(folder / "pipe.stl")
    (folder / "device.stl").symlink_to("/dev/zero")
    (folder / "folder.stl").mkdir()
    for name in ("pipe.stl", "device.stl", "folder.stl", "lost.stl", "a\0b.stl", "x.exe", "", "x" * 5000 + ".stl"):
        for roots in (None, (str(folder),)):
            scene = sh.Scene(visuals=[sh.Visual(file=str(folder / name) if name else name)], roots=roots)
            count, [note] = seen(scene)
            assert count == 0 and "is not shown" in note and "\n" not in note and len(note) < 2000, note


def test_files_of_the_wrong_size_or_content_are_one_sentence(folder, monkeypatch):
    bad = {case: (name, data) for case, (name, data, _) in bad_assets.CASES.items()}
    del bad["stl_huge_numbers"]  # those MuJoCo minds, and nobody who only looks
    bad |= {"noise": ("noise.glb", zlib.compress(b"x" * 999)), "lists": ("a.glb", json.dumps([[]] * 99).encode())}
    for case, (name, data) in bad.items():
        (folder / name).write_bytes(data)
        count, [note] = seen(sh.Scene.load(toml(folder, name)))
        assert count == 0 and f"{name} is not shown" in note and "Traceback" not in note, (case, note)
    monkeypatch.setattr(seen_meshes, "MAX_ASSET_BYTES", 100)
    assert "at most 100 bytes" in seen(sh.Scene.load(toml(folder, "part.stl")))[1][0]


def test_they_are_parsed_by_the_child_and_by_nobody_else(folder, monkeypatch):
    """Our process reads no mesh format: it is given triangles, and a child that dies or takes long is a sentence."""
    monkeypatch.setattr(seen_meshes, "_known", {})
    monkeypatch.setitem(sys.modules, "trimesh", None)
    assert seen(sh.Scene.load(toml(folder, "part.glb"))) == (1, [])
    monkeypatch.setattr(seen_meshes, "_known", {})
    monkeypatch.setattr(seen_meshes, "TIME_LIMIT", 1e-9)
    assert "took too long" in seen(sh.Scene.load(toml(folder, "part.glb")))[1][0]
    monkeypatch.setattr(seen_meshes, "TIME_LIMIT", 60.0)
    monkeypatch.setattr(Worker, "ask", lambda *words: ({"failed": 7, "reason": "a\nb\x1b[0m"}, []))
    [note] = seen(sh.Scene.load(toml(folder, "part.glb")))[1]
    assert "a b [0m" in note
    monkeypatch.setattr(Worker, "ask", lambda *words: ({}, [b"\xff" * 40]))
    assert "is not shown" in seen(sh.Scene.load(toml(folder, "part.glb")))[1][0]


def test_a_scene_without_files_starts_no_child(monkeypatch):
    monkeypatch.setattr(Worker, "start", lambda self: pytest.fail("a child was started"))
    scene = sh.Scene(visuals=[sh.Visual(shape=sh.Sphere(radius=1.0))])
    scene.add(sh.Body(name="ball", shapes=[sh.Sphere(radius=0.1)]))
    assert len(seen_pieces(sh.compile(scene))[0]) == 1
