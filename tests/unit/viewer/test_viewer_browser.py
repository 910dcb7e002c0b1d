"""The page in a real browser without a window: it loads, bodies move, and what a person does there is done."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from itertools import cycle
from types import SimpleNamespace

import numpy as np
import pytest
from watched import TOKEN, floating_box, need_browser, playing, shown, soon

import sharnir as sh
from sharnir import scenes
from sharnir.viewer import Address, Live, Player, Replay, read_mapping
from sharnir.viewer.browser import Browser
from sharnir.viewer.picture import TICK

DRAWN = "document.querySelector('canvas') !== null && document.querySelector('#sharnir-drive button') !== null"
IN_CONTROL = "document.querySelector('#sharnir-drive').textContent.includes('You are in control')"
SHIFT = 8
PAD = """
    window.pad = { connected: true, axes: [0, 0, 0, 0], buttons: Array.from({length: 17}, () => ({value: 0})) };
    navigator.getGamepads = () => [window.pad];
"""


@pytest.fixture(scope="module")
def browser():
    need_browser()
    with Browser() as made:
        made.before_pages(PAD)
        yield made


def press(browser: Browser, label: str) -> None:
    code = f"[...document.querySelectorAll('button')].find((b) => b.textContent.trim() === {label!r})"
    browser.until(f"{code} !== undefined")
    browser.js(f"{code}.click()")


def unfold(browser: Browser, label: str) -> None:
    """Open a folder of the panel."""
    found = f"[...document.querySelectorAll('*')].filter((e) => e.textContent === {label!r})"
    browser.until(f"{found}.length > 0")
    browser.js(f"{found}.at(-1).click()")


def picture(browser: Browser) -> np.ndarray:
    from imageio.v3 import imread

    return imread(io.BytesIO(browser.picture()))[60:600, 320:740, :3].astype(int)  # beside panel and box


def difference(a: np.ndarray, b: np.ndarray) -> float:
    """Share of pixels that differ visibly."""
    return float((np.abs(a - b).max(axis=2) > 20).mean())


def stands_still(browser: Browser) -> bool:
    """Whether pictures have stopped to change: those of three seconds, a second apart, differ in no pixel, not even by
    the light that fades in."""
    before = picture(browser)
    for _ in range(3):
        time.sleep(1)
        if np.abs(before - picture(browser)).max() > 2:
            return False
    return True


def wait(live: Live, seconds: float) -> None:
    """Until so much of simulated time has passed."""
    until = live.simulation.time + seconds
    assert soon(lambda: live.simulation.time > until)


def slide(browser: Browser, label: str, keys: int) -> None:
    """Move a slider of the panel by so many presses of a key."""
    found = f"""[...document.querySelectorAll('label')].find((l) => l.textContent.includes({label!r}))
        .closest('div[class*="Flex"], div').parentElement.querySelector('[role=slider]')"""
    browser.until(f"(() => {{ const s = {found}; if (!s) return false; s.focus(); return true; }})()")
    for _ in range(keys):
        browser.key("ArrowRight", True)
        browser.key("ArrowRight", False)


def slide_until(browser: Browser, label: str, keys: int, condition: Callable[[], object]) -> None:
    """Move a slider until that shows: a page that is starved may build its panel anew and lose the keys."""
    for _ in range(5):
        slide(browser, label, keys)
        if soon(condition, 20.0):
            return
    raise AssertionError(f"slider {label!r} moves nothing")


def test_page_loads_alone_and_bodies_move(browser):
    with shown(scenes.make("five_link_chain")) as (player, live):
        browser.events.clear()
        browser.open(player.url)
        browser.until(DRAWN)
        assert soon(lambda: live.simulation.time > 0.1)  # the first who comes starts the motion
        press(browser, "Pause")
        assert soon(lambda: not live.running)
        assert soon(lambda: stands_still(browser))
        still = picture(browser)
        press(browser, "Run")
        wait(live, 0.2)
        assert soon(lambda: difference(still, picture(browser)) > 0.002)
        asked = [e["params"]["request"]["url"] for e in browser.events if e["method"] == "Network.requestWillBeSent"]
        assert asked and all(url.startswith((player.url.split("?")[0], "data:", "blob:")) for url in asked), asked
        assert TOKEN not in browser.js("location.href")


def test_buttons_act_on_the_simulation(browser):
    with shown(scenes.make("five_link_chain")) as (player, live):
        browser.open(player.url)
        browser.until(DRAWN)
        assert soon(lambda: live.simulation.time > 0.1)
        press(browser, "Pause")
        assert soon(lambda: not live.running)
        at = live.simulation.time
        press(browser, "Step")
        assert soon(lambda: live.simulation.time > at)
        assert live.simulation.time == pytest.approx(at + live.simulation.dt)
        press(browser, "Reset")
        assert soon(lambda: live.simulation.time == 0.0)
        press(browser, "Run")
        assert soon(lambda: live.simulation.time > 0.1)


def test_held_keys_drive_and_what_is_let_go_stands(browser):
    scene = scenes.make("grasp_arm")
    mapping = read_mapping(scenes.drive_file("grasp_arm"), sh.compile(scene))
    with shown(scene, mapping) as (player, live):
        browser.open(player.url)
        browser.until(DRAWN)
        browser.until(IN_CONTROL)
        assert "waist" in browser.js("document.querySelector('#sharnir-drive').textContent")
        browser.key("KeyA", True)
        assert soon(lambda: live.simulation.joint("waist").position[0] > 0.3)
        browser.key("KeyA", False)
        assert soon(lambda: not live._axes.any())
        wait(live, 0.5)
        stands = live.simulation.joint("waist").position[0]
        wait(live, 0.5)
        assert abs(live.simulation.joint("waist").position[0] - stands) < 0.01
        browser.js("window.pad.axes[0] = 0.8")  # to the right: back
        assert soon(lambda: live.simulation.joint("waist").position[0] < stands - 0.2)
        browser.js("window.pad.axes[0] = 0.1")  # within the dead zone
        assert soon(lambda: not live._axes.any())


def test_sliders_and_emergency_stop(browser):
    scene = scenes.make("grasp_arm")
    with shown(scene) as (player, live):
        browser.open(player.url)
        browser.until(DRAWN)
        browser.until(IN_CONTROL)
        unfold(browser, "Robot column")
        before = float(live.simulation.motor("waist").target)
        slide_until(browser, "waist (position)", 20, lambda: live.simulation.motor("waist").target > before + 0.05)
        browser.key("Escape", True)
        browser.key("Escape", False)
        assert soon(lambda: live.stopped)
        browser.until("document.querySelector('#sharnir-drive').textContent.includes('EMERGENCY STOP')")
        press(browser, "Clear stop")
        assert soon(lambda: not live.stopped)


def test_mouse_pulls_a_body_by_a_force(browser):
    with shown(floating_box()) as (player, live):
        browser.open(player.url)
        browser.until(DRAWN)
        browser.until(IN_CONTROL)
        assert soon(lambda: stands_still(browser))  # the box is drawn, and can be hit
        browser.mouse("mouseMoved", 550, 350, SHIFT)
        browser.mouse("mousePressed", 550, 350, SHIFT)
        places = cycle(range(555, 700, 5))
        assert soon(lambda: browser.mouse("mouseMoved", next(places), 350, SHIFT) or live._pull is not None)
        browser.mouse("mouseMoved", 700, 350, SHIFT)
        assert soon(lambda: live.simulation.body("box").position[0] > 0.05)
        browser.mouse("mouseReleased", 700, 350, SHIFT)
        assert soon(lambda: live._pull is None)
        assert not live.simulation.body("box").applied.any()


def test_layers_are_switched(browser):
    with shown(scenes.make("grasp_arm")) as (player, live):
        browser.open(player.url)
        browser.until(DRAWN)
        assert soon(lambda: live.simulation.time > 0.2)
        press(browser, "Pause")
        assert soon(lambda: not live.running)
        assert soon(lambda: stands_still(browser))
        for name in ("Joints", "Collision shapes", "Contacts"):
            before = picture(browser)
            browser.js(TICK.format(name=name))
            assert soon(lambda: difference(before, picture(browser)) > 5e-4), name  # noqa: B023
            assert soon(lambda: stands_still(browser)), name


class Ramp:
    """A recording in which a box goes along x at 1 mm/s for 10 minutes."""

    def __init__(self) -> None:
        scene = floating_box()
        scene.add(sh.Prismatic(name="slide", parent="world", child="box", axis=(1, 0, 0)))
        self.model, self.start, self.end = sh.compile(scene), 0.0, 600.0
        self.events = [SimpleNamespace(t=7.0, kind="contact", what="<b>box</b>", begins=True)]

    def poses(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        return np.array([[1e-3 * t, 0.0, 0.0]]), np.eye(3)[None]


def test_a_recording_is_played_and_scrubbed(browser):
    replay = Replay(Ramp())
    with playing(Player(replay, Address(port=0, token=TOKEN), timeline=replay.timeline())) as player:
        browser.open(player.url)
        browser.until(DRAWN)
        assert soon(lambda: replay.running and replay.time > 0.2)
        press(browser, "Pause")
        assert soon(lambda: not replay.running)
        stood = replay.time
        slide_until(browser, "Time, s", 40, lambda: replay.time > stood + 0.02)
        assert "Solver" not in browser.js("document.body.textContent")


def test_names_are_text(browser):
    scene = sh.Scene(name="<img src=x onerror=window.hacked=1>")
    bad = "<img src=x onerror='window.hacked=1'>"
    scene.add(sh.Body(name=bad, shapes=[sh.Box(size=(0.2, 0.2, 0.2))]))
    scene.add(sh.Revolute(name=bad + "j{1+1}", parent="world", child=bad, axis=(0, 1, 0)))
    scene.add(sh.Motor(name=bad + "m", joint=bad + "j{1+1}", velocity=1.0))
    scene.add(sh.Camera(name=bad, body=bad))
    with shown(scene) as (player, _):
        browser.open(player.url)
        browser.until(DRAWN)
        browser.until(f"document.body.textContent.includes({bad!r})")
        unfold(browser, f"Robot {bad}")
        browser.until(f"document.body.textContent.includes({bad + 'j{1+1}'!r})")  # its sliders are there
        assert browser.js("window.hacked") is None
        assert browser.js("document.querySelectorAll('img[src=x]').length") == 0
