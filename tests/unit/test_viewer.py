"""The live view: what it draws, how it keeps pace, what its buttons do, and what it refuses."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from refusal import refused

import sharnir as sh
from sharnir import scenes, viewer
from sharnir.kinds import BOX, CAPSULE, CYLINDER, HALF_SPACE, SPHERE
from sharnir.simulation import Simulation
from sharnir.viewer.loop import poses_of
from sharnir.viewer.meshes import capsule_mesh
from sharnir.viewer.pace import FRAME, LATE, Pace
from sharnir.viewer.picture import find_browser
from sharnir.viewer.pieces import STILL_COLOR, extent, pieces, placed

COMMAND = Path(sys.executable).with_name("sharnir")


def test_every_shape_is_drawn_where_it_was_described():
    scene = sh.Scene(name="all")
    turn = (0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5))  # x → y
    shapes = (
        sh.Sphere(radius=0.1, position=(1, 0, 0)),
        sh.Box(size=(0.1, 0.2, 0.3), position=(2, 0, 0), orientation=turn),
        sh.Cylinder(radius=0.1, length=0.4, position=(3, 0, 0)),
        sh.Capsule(radius=0.1, length=0.5, position=(4, 0, 0)),
    )
    scene.add(sh.Body(name="body", shapes=shapes, position=(0, 0, 5), orientation=turn))
    scene.add(sh.Revolute(name="hinge", parent="world", child="body", anchor=(7, 8, 9), axis=(1, 0, 0)))
    scene.add(sh.HalfSpace(position=(0, 0, -1)))
    for solver in ("simgc", "simmc"):
        simulation = Simulation(scene, solver=solver)
        drawn = pieces(simulation.model)
        assert [p.kind for p in drawn] == [SPHERE, BOX, CYLINDER, CAPSULE, HALF_SPACE]
        assert [p.size.tolist() for p in drawn[1:3]] == [[0.1, 0.2, 0.3], [0.1, 0.4, 0.0]]
        for k, piece in enumerate(drawn[:4]):
            pose = placed(piece, poses_of(simulation))
            np.testing.assert_allclose(pose.x, (0, k + 1, 5), atol=1e-12)  # the body's x is the world's y
            np.testing.assert_allclose(pose.R[:, 0], (-1, 0, 0) if k == 1 else (0, 1, 0), atol=1e-12)
        np.testing.assert_array_equal(drawn[4].pose.x, (0, 0, -1))
        assert len({p.color for p in drawn[:4]}) == 1
        assert drawn[4].color == STILL_COLOR


def test_bodies_without_shapes_are_balls_with_rods_to_their_joints():
    simulation = Simulation(scenes.make("rods", n=3))
    poses = poses_of(simulation)
    drawn = pieces(simulation.model)
    kinds = [[p.kind for p in drawn if p.link == link] for link in range(3)]
    assert kinds == [[SPHERE, CYLINDER, CYLINDER]] * 2 + [[SPHERE, CYLINDER]]
    ends = []
    for piece in drawn:
        if piece.kind == CYLINDER:
            pose = placed(piece, poses)
            ends.append(pose.x + pose.R[:, 2] * piece.size[1] / 2)
    np.testing.assert_allclose(ends[0], 0.0, atol=1e-12)  # the first hinge is in the origin
    np.testing.assert_allclose(ends[1], ends[2], atol=1e-12)  # the rods of neighbours meet in their hinge
    assert len({p.color for p in drawn}) == 3


def test_extent_holds_what_has_an_end_and_is_never_nothing():
    simulation = Simulation(scenes.make("box_on_slope"))
    center, radius = extent(pieces(simulation.model), poses_of(simulation))
    np.testing.assert_allclose(center, poses_of(simulation).position[0])
    assert 0.1 * np.sqrt(3) <= radius < 1.0
    assert extent([], poses_of(simulation))[1] > 0


def test_capsules_are_closed_and_seen_from_outside():
    radius, length = 0.3, 0.8
    points, faces = capsule_mesh(radius, length, around=64, rings=32)
    core = np.clip(points[:, 2], -length / 2, length / 2)
    distance = np.linalg.norm(points - np.outer(core, (0, 0, 1)), axis=1)
    np.testing.assert_allclose(distance, radius, rtol=1e-12)
    a, b, c = points[faces].transpose(1, 0, 2)
    volume = (np.cross(a, b) * c).sum() / 6  # signed: positive when all triangles face outwards
    assert volume == pytest.approx(np.pi * radius**2 * (length + 4 / 3 * radius), rel=5e-3)


def test_pace_follows_the_wall_clock_and_does_not_catch_up_lost_time():
    pace = Pace(0.01, now=100.0, time=3.0)
    assert [pace.due(100.0, 3.0), pace.due(100.02, 3.0), pace.due(100.045, 3.02)] == [0, 2, 2]
    assert pace.due(105.0, 3.04) == round(FRAME / 0.01)  # far behind: a frame's worth
    assert pace.due(105.02, 3.06) == 2  # and in step again
    slow = Pace(2 * LATE, now=0.0, time=0.0)
    assert [slow.due(0.1, 0.0), slow.due(0.201, 0.0), slow.due(0.3, 0.2)] == [0, 1, 0]


def test_pace_measures_the_real_time_factor():
    pace = Pace(0.01, now=0.0, time=0.0)
    pace.due(0.1, 0.05)
    assert pace.factor is None
    pace.due(1.0, 0.5)
    assert pace.factor == pytest.approx(0.5)
    pace.start(2.0, 0.5)
    assert pace.factor is None


@pytest.fixture
def player():
    pytest.importorskip("viser")
    made = viewer.Player(Simulation(scenes.make("five_link_chain")), 0)
    yield made
    made.close()


def test_page_plays_pauses_and_resets(player):
    with urllib.request.urlopen(player.page.url, timeout=10) as answer:
        assert b"<html" in answer.read().lower()
    player.run(3)
    assert player.simulation.time == 0.0  # nobody has come to watch
    player.page._came(None)
    began = time.perf_counter()
    player.run(30)
    took = time.perf_counter() - began
    reached = player.simulation.time
    assert 0 < reached <= took + FRAME
    np.testing.assert_allclose(player.page._frames[4].position, player.simulation.body("link5").position, atol=1e-6)
    player.page.play(False)
    player.run(3)
    assert player.simulation.time == reached
    player.page._came(None)  # another browser does not undo the pause
    player.page.wants_reset = True
    player.run(1)
    assert player.simulation.time == 0.0
    assert "time 0.00 s" in player.page._words.content


def test_motion_that_cannot_go_on_is_paused_and_explained(player, monkeypatch):
    def diverge(steps):
        raise sh.SimulationError("t = 1 s: the motion is no longer finite")

    monkeypatch.setattr(player.simulation, "step", diverge)
    player.page.play(True)
    player.run(5)
    assert not player.page.playing
    assert "no longer finite" in player.page._words.content
    player.page.wants_reset = True
    player.run(1)
    assert "no longer finite" not in player.page._words.content


def test_port_that_is_taken_and_ports_that_do_not_exist_are_refused():
    pytest.importorskip("viser")
    simulation = Simulation(scenes.make("box_on_slope"))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with refused("view: port cannot be served", str(port), "0 for any"):
            viewer.view(simulation, port)
    with refused("port is out of range", "70000"):
        viewer.view(simulation, 70000)


def test_missing_viser_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with refused("viser is missing", "pip install 'sharnir[view]'"):
        viewer.view(Simulation(scenes.make("box_on_slope")), 0)


def test_missing_browser_is_one_sentence(monkeypatch, tmp_path):
    pytest.importorskip("viser")
    monkeypatch.setenv("PATH", str(tmp_path))
    with refused("no browser found", "chromium"):
        viewer.screenshot("box_on_slope", tmp_path / "x.png")


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (("boxonslope",), "did you mean 'box_on_slope'?"),
        (("box_on_slope", "--solver", "exact"), "Known: simgc, simmc"),
        (("box_on_slope", "--dt", "-1"), "dt is out of range: given -1.0"),
        (("box_on_slope", "--set", "n"), "allowed: NAME=NUMBER"),
    ],
)
def test_mistakes_get_one_sentence(words, answer, tmp_path):
    done = subprocess.run([COMMAND, "view", *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert answer in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_command_prints_the_address_and_ends_on_interrupt(tmp_path):
    pytest.importorskip("viser")
    words = [COMMAND, "view", "box_on_slope", "--port", "0"]
    process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    assert line.startswith("box_on_slope: http://127.0.0.1:"), line
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=30)
    assert (process.returncode, stdout) == (0, ""), stderr
    assert "Traceback" not in stderr


@pytest.mark.slow
@pytest.mark.skipif(find_browser() is None, reason="needs a browser")
def test_screenshot_shows_the_colours_of_the_bodies(tmp_path):
    imageio = pytest.importorskip("imageio.v3")
    viewer.screenshot("box_on_slope", tmp_path / "box.png", 0.1)
    image = imageio.imread(tmp_path / "box.png")[..., :3].astype(int)
    assert image.shape == (640, 960, 3)
    blue = image[..., 2] - image[..., 0] > 30
    assert 0.01 < blue.mean() < 0.5
