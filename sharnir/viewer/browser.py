"""A browser without a window, steered through its debugging port: for pictures of the page, and for its tests."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any

from sharnir.errors import ModelError, SimulationError

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 60.0  # s, for a browser to start and to draw
FLAGS = (
    "--headless", "--enable-unsafe-swiftshader", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-default-apps", "--remote-debugging-port=0",
    "--disable-dev-shm-usage", "--disable-features=Translate",
)  # fmt: skip


def find_browser() -> str | None:
    """The browser that is taken, if there is one."""
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


class Browser:
    """A browser with one page. size: pixels across and down. offline: no name but this machine's can be resolved."""

    def __init__(self, size: tuple[int, int] = (1100, 700), offline: bool = True) -> None:
        program = find_browser()
        if program is None:
            raise ModelError(f"screenshot: no browser found; allowed: one of {', '.join(BROWSERS)} in the PATH")
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        words = [*FLAGS, f"--user-data-dir={self._profile.name}", f"--window-size={size[0]},{size[1]}"]
        words += ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"] if offline else []
        words += ["--no-sandbox"] if os.geteuid() == 0 else []  # as root, a browser starts only without
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen([program, *words, "about:blank"], **quiet)  # type: ignore[call-overload]
        try:
            self._socket = self._connected()
            self._calls = 0
            self.events: list[dict[str, Any]] = []
            for domain in ("Page", "Runtime", "Network", "Log"):
                self.call(f"{domain}.enable")
            metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
            self.call("Emulation.setDeviceMetricsOverride", **metrics)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _connected(self) -> Any:
        from websockets.sync.client import connect

        port = Path(self._profile.name) / "DevToolsActivePort"
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                where = f"http://127.0.0.1:{port.read_text().split()[0]}/json"
                with urllib.request.urlopen(where, timeout=5) as answer:
                    pages = [x for x in json.load(answer) if x["type"] == "page"]
                return connect(pages[0]["webSocketDebuggerUrl"], max_size=None, ping_interval=None)
            except (OSError, IndexError):
                time.sleep(0.1)
        raise SimulationError(f"screenshot: the browser did not start within {PATIENCE:g} s")

    def call(self, method: str, **parameters: Any) -> Any:
        """Call a method of the browser's protocol."""
        self._calls += 1
        self._socket.send(json.dumps({"id": self._calls, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._socket.recv(PATIENCE))
            if answer.get("id") == self._calls:
                return answer.get("result", answer)
            self.events.append(answer)

    def before_pages(self, script: str) -> None:
        """Run a script on every page before its own."""
        self.call("Page.addScriptToEvaluateOnNewDocument", source=script)

    def open(self, url: str) -> None:
        """Go to a page."""
        self.call("Page.navigate", url=url)

    def js(self, code: str) -> Any:
        """The value of an expression on the page."""
        answer = self.call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        return answer.get("result", {}).get("value")

    def until(self, code: str, patience: float = PATIENCE) -> Any:
        """Wait until an expression is true; its value."""
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            value = self.js(code)
            if value:
                return value
            time.sleep(0.1)
        raise SimulationError(f"the page did not come to {code} within {patience:g} s")

    def picture(self, part: tuple[int, int, int, int] | None = None) -> bytes:
        """What the page looks like, as PNG. part: pixels from the left and the top, across and down; None for all."""
        clip: dict[str, Any] = {}
        if part is not None:
            x, y, width, height = part
            clip["clip"] = {"x": x, "y": y, "width": width, "height": height, "scale": 1}
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", **clip)["data"])

    def key(self, code: str, down: bool) -> None:
        """Press or release a key, by its code."""
        name = code.removeprefix("Key").lower() if code.startswith("Key") else code
        kind = "keyDown" if down else "keyUp"
        self.call("Input.dispatchKeyEvent", type=kind, code=code, key=name)

    def mouse(self, kind: str, x: float, y: float, modifiers: int = 0) -> None:
        """mousePressed, mouseMoved or mouseReleased, by the left button. modifiers: 8 for Shift."""
        held = 0 if kind == "mouseReleased" else 1
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=held, clickCount=1,
                  modifiers=modifiers)  # fmt: skip

    def close(self) -> None:
        """End the browser."""
        if hasattr(self, "_socket"):
            self._socket.close()
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._profile.cleanup()
