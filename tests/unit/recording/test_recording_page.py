"""`sharnir replay`, and the page it writes, in a real browser without a network."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from recorded import driven, rewritten

import sharnir as sh
from sharnir import scenes
from sharnir.drawing.meshes import box_mesh, capsule_mesh
from sharnir.recording.read.page import triangles, write_page

COMMAND = Path(sys.executable).with_name("sharnir")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next((found for name in BROWSERS if (found := shutil.which(name))), None)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no browser on this machine")


def browse(page: Path, *words: str) -> str:
    """What a browser that reaches no other host makes of a page."""
    assert BROWSER is not None
    options = ["--headless", "--enable-unsafe-swiftshader", "--host-resolver-rules=MAP * ~NOTFOUND"]
    options += [f"--user-data-dir={page.parent / 'profile'}", "--window-size=900,600", "--virtual-time-budget=6000"]
    options += ["--no-sandbox"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [BROWSER, *options, *words, f"file://{page}"], capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    """Of a run with a name that wants to be more."""
    folder = tmp_path_factory.mktemp("page")
    scene = scenes.make("humanoid")
    scene.name = "</script><script>document.title = 'broken in'</script>"
    sim = sh.Simulation(scene, dt=0.005)
    with sim.record(folder / "run.mcap"):
        sim.run(1.0)
    write_page(sh.open_recording(folder / "run.mcap"), folder / "run.html")
    return folder / "run.html"


@needs_browser
def test_the_page_plays_and_shows_names_as_text(page):
    shown = browse(page, "--dump-dom")
    clock = re.search(r'id="clock">([\d.]+) / 1\.00 s<', shown)
    assert clock is not None and float(clock[1]) > 0.1
    assert "<title>&lt;/script&gt;&lt;script&gt;" in shown
    assert "contact (left_foot – world)" in shown and 'style="left: 0.5%' in shown


@needs_browser
def test_the_page_draws_all_bodies(page):
    """Each colour of the palette, on the ground, in front of the background."""
    from imageio.v3 import imread

    browse(page, f"--screenshot={page.parent / 'page.png'}")
    picture = imread(page.parent / "page.png")[:500, :, :3].astype(int)
    hues = {"blue": (2, 0), "orange": (0, 2), "green": (1, 0), "red": (0, 1)}
    for name, (more, less) in hues.items():
        assert (picture[..., more] > picture[..., less] + 50).sum() > 200, name
    grey = np.abs(picture - picture.mean(axis=2, keepdims=True)).max(axis=2) < 8
    assert grey.mean() > 0.5


def test_the_page_asks_nobody_for_anything(page):
    text = page.read_text(encoding="utf-8")
    assert "default-src 'none'" in text
    for word in ("http:", "https:", "src=", "import(", "fetch(", "XMLHttpRequest", "@import"):
        assert word not in text.replace("default-src", ""), word


def test_normals_look_outwards_and_are_smooth_where_the_surface_is():
    vertices, faces = capsule_mesh(1.0, 2.0)
    corners, normals = np.split(triangles(vertices, faces, flat=False), 2, axis=1)
    axis = np.clip(corners[:, 2], -1.0, 1.0)
    exact = corners - np.column_stack([0 * axis, 0 * axis, axis])
    there = normals.any(axis=1)  # triangles at the poles have no area
    assert (np.einsum("ij,ij->i", normals, exact)[there] > 0.95).all() and there.mean() > 0.9
    corners, normals = np.split(triangles(*box_mesh(), flat=True), 2, axis=1)
    assert (np.einsum("ij,ij->i", corners, normals) > 0).all() and (np.abs(normals).max(axis=1) == 1).all()


def sharnir(folder, *words) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": str(Path(sh.__file__).parents[1]), "COLUMNS": "200"}
    words = [str(w) for w in words]
    return subprocess.run([COMMAND, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_the_command_records_checks_and_goes_on(tmp_path):
    done = sharnir(tmp_path, "run", "four_bar", "--duration", 1, "--record", "run.mcap")
    assert done.returncode == 0 and "saved run.mcap" in done.stdout, done.stderr
    done = sharnir(tmp_path, "replay", "run.mcap", "--verify", "--csv", "--html", "run.html")
    assert done.returncode == 0 and "come out as recorded" in done.stdout, done.stderr
    assert (tmp_path / "run.html").stat().st_size > 10_000
    table = np.genfromtxt(tmp_path / "out" / "run.csv", delimiter=",", skip_header=1)
    assert table[-1, 0] == pytest.approx(1.0) and len(table) > 50
    done = sharnir(tmp_path, "replay", "run.mcap", "--resume", 0.6, "--duration", 0.2, "--record", "more.mcap")
    assert done.returncode == 0 and "to 0.8 s" in done.stdout, done.stderr
    assert sh.open_recording(tmp_path / "more.mcap").verify() is None
    done = sharnir(tmp_path, "run", "four_bar", "--record", "run.mcap")
    assert done.returncode == 1 and "exists" in done.stderr and "Traceback" not in done.stderr


def test_the_command_names_the_step_that_differs(tmp_path):
    sim = driven()
    with sim.record(tmp_path / "run.mcap"):
        sim.step(50)

    def flip(step):
        return replace(step, input=step.input + 1e-9) if step.step == 31 else step

    rewritten(tmp_path / "run.mcap", tmp_path / "bad.mcap", flip)
    done = sharnir(tmp_path, "replay", "bad.mcap", "--verify")
    assert done.returncode == 1 and "step 31 differs" in done.stdout, done.stdout + done.stderr
    done = sharnir(tmp_path, "replay", "missing.mcap")
    assert done.returncode == 1 and "No such file" in done.stderr
    done = sharnir(tmp_path, "replay", "run.mcap", "--resume", "99")
    assert done.returncode == 1 and "out of range" in done.stderr
