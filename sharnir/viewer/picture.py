"""A picture of a scene as the page shows it, taken by a browser without a window."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sharnir import scenes
from sharnir.errors import ModelError, SimulationError
from sharnir.simulation import Simulation
from sharnir.viewer.loop import poses_of
from sharnir.viewer.page import Page

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 60.0  # s, for a browser to start and to draw
LIGHT = 2.0  # s, that viser's page takes to fade its light in


def screenshot(
    scene_name: str, path: str | Path, seconds: float = 0.0, *, solver: str = "simgc", dt: float = 0.01,
    size: tuple[int, int] = (960, 640),
) -> None:  # fmt: skip
    """Save a PNG of a named scene after some simulated time. size: pixels across and down."""
    simulation = Simulation(scenes.make(scene_name), solver=solver, dt=dt)
    if seconds > 0:
        simulation.run(seconds)
    page = Page(simulation.model, poses_of(simulation), 0)
    try:
        with browser(page.url, size):
            save(page, Path(path), size)
    finally:
        page.close()


def find_browser() -> str | None:
    """The browser that is taken, if there is one."""
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


@contextmanager
def browser(url: str, size: tuple[int, int]) -> Iterator[None]:
    """A browser without a window that looks at a page."""
    program = find_browser()
    if program is None:
        raise ModelError(f"screenshot: no browser found; allowed: one of {', '.join(BROWSERS)} in the PATH")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        words = ["--headless", "--enable-unsafe-swiftshader", f"--user-data-dir={profile}", "--remote-debugging-port=0"]
        words += [f"--window-size={size[0]},{size[1] + 200}"]
        words += ["--no-sandbox"] if os.geteuid() == 0 else []  # as root, a browser starts only without
        process = subprocess.Popen([program, *words, url], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield
        finally:
            process.terminate()
            process.wait()


def save(page: Page, path: Path, size: tuple[int, int]) -> None:
    """Ask the browser that looks at a page for what it sees."""
    from imageio.v3 import imwrite  # comes with viser

    deadline = time.monotonic() + PATIENCE
    seen: list[Any] = []
    while not seen:
        if time.monotonic() > deadline:
            raise SimulationError(f"screenshot: no browser came to {page.url} within {PATIENCE:g} s")
        time.sleep(0.1)
        seen = page.browsers()
    time.sleep(LIGHT)
    imwrite(path, seen[0].get_render(size[1], size[0], timeout=PATIENCE))
