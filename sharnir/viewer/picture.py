"""A picture of a scene as the page shows it, taken by a browser without a window."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from sharnir import scenes
from sharnir.scenes import demonstrators
from sharnir.simulation.simulation import Simulation
from sharnir.viewer.browser import PATIENCE, Browser
from sharnir.viewer.input_mapping import read_mapping
from sharnir.viewer.loop import Player
from sharnir.viewer.page.gate import Address
from sharnir.viewer.source.live import Live

ASIDE = 340  # pixels that the panel takes
LIGHT = 5.0  # s, that viser's page fades its light in
READY = "document.querySelector('canvas') !== null && document.querySelector('#sharnir-drive button') !== null"
LABEL = "[...document.querySelectorAll('label')].find((l) => l.textContent === {name!r})"
TICK = "document.getElementById(" + LABEL + ".htmlFor).click()"
CLOSE = "[...document.querySelectorAll('[class*=otification] button')].forEach((b) => b.click())"
VIEWS = "[...document.querySelectorAll('input')].find((i) => i.value === 'free').click()"
VIEW = "[...document.querySelectorAll('[role=option]')].find((o) => o.textContent === {name!r})"
BARE = "document.querySelector('#sharnir-drive').style.display = 'none'"


def screenshot(
    scene_name: str, path: str | Path, seconds: float = 0.0, *, solver: str = "simgc", dt: float = 0.01,
    size: tuple[int, int] = (960, 640), show: Sequence[str] = (), panel: bool = True, view: str | None = None,
) -> None:  # fmt: skip
    """Save a PNG of a named scene after some simulated time; a demonstrator performs its task.

    size: pixels across and down. show: names of what is switched on in the panel. panel: whether the panel and
    the box of the operator are in the picture. view: as in the list of views; left out, from where all is seen.
    """
    across = size[0] if panel else size[0] + 2 * ASIDE
    with Browser((across, size[1])) as browser:
        simulation = Simulation(scenes.make(scene_name), solver=solver, dt=dt)
        if scene_name in demonstrators.names():
            demonstrators.Performer(scene_name, simulation)
        if seconds > 0:
            simulation.run(seconds)
        file = scenes.drive_file(scene_name)
        mapping = None if file is None else read_mapping(file, simulation.model)
        player = Player(Live(simulation, mapping), Address(port=0), mapping)
        try:
            browser.open(player.url)
            browser.until(READY)
            time.sleep(LIGHT)  # what is ticked before viser has told the page everything is forgotten
            for name in show:
                browser.until(LABEL.format(name=name) + " !== undefined")
                browser.js(TICK.format(name=name))
            if view is not None:
                browser.js(VIEWS)
                browser.until(VIEW.format(name=view) + " !== undefined")
                browser.js(VIEW.format(name=view) + ".click()")
            browser.js(CLOSE if panel else f"{CLOSE}; {BARE}")
            Path(path).write_bytes(settled(browser, player, None if panel else (ASIDE, 0, *size)))
        finally:
            player.close()


def settled(browser: Browser, player: Player, part: tuple[int, int, int, int] | None) -> bytes:
    """A picture that has become what it stays: light fades in, and browsers without a GPU take their time."""
    deadline, seen = time.monotonic() + PATIENCE, b""
    while time.monotonic() < deadline:
        until = time.monotonic() + LIGHT / 2
        while time.monotonic() < until:
            player.publish()
            time.sleep(0.1)
        browser.js(CLOSE)
        seen, before = browser.picture(part), seen
        if seen == before:
            break
    return seen
