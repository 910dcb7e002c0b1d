"""A picture of a scene as the page shows it, taken by a browser without a window."""

from __future__ import annotations

import time
from pathlib import Path

from sharnir import scenes
from sharnir.simulation import Simulation
from sharnir.viewer.browser import Browser
from sharnir.viewer.gate import Address
from sharnir.viewer.live import Live
from sharnir.viewer.loop import Player

LIGHT = 9.0  # s, until viser's page has drawn and faded its light in, by software too
BARE = """(() => { for (const e of document.querySelectorAll(
    '#sharnir-drive, .mantine-Notifications-root, [class*="Notification"]')) e.style.display = 'none'; })()"""


def screenshot(
    scene_name: str, path: str | Path, seconds: float = 0.0, *, solver: str = "simgc", dt: float = 0.01,
    size: tuple[int, int] = (960, 640),
) -> None:  # fmt: skip
    """Save a PNG of a named scene after some simulated time. size: pixels across and down."""
    with Browser(size) as browser:
        simulation = Simulation(scenes.make(scene_name), solver=solver, dt=dt)
        if seconds > 0:
            simulation.run(seconds)
        player = Player(Live(simulation), Address(port=0))
        try:
            browser.open(player.url)
            browser.until("document.querySelector('canvas') !== null")
            time.sleep(LIGHT)
            browser.js(BARE)
            Path(path).write_bytes(browser.picture())
        finally:
            player.close()
