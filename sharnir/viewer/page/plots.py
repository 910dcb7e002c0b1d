"""Plots of the last seconds: what steps take, and energy."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

SPAN = 400  # moments that are kept
APART = 0.025  # s, between them
RENEW = 0.25  # s, between changes of a plot
HEIGHT = 130  # pixels
COLORS = ("#1f77b4", "#ff7f0e", "#2ca02c")


class Plots:
    """Collects a line of values from frames and shows them now and then."""

    def __init__(self, gui: Any) -> None:
        self._rows: deque[tuple[float, ...]] = deque(maxlen=SPAN)
        self._renewed = 0.0
        with gui.add_folder("Plots", order=5, expand_by_default=False):
            self._effort = self._add(gui, "step, ms, and iterations", ("step, ms", "iterations"))
            self._energy = self._add(gui, "energy, J", ("kinetic", "potential", "total"))

    def _add(self, gui: Any, title: str, names: tuple[str, ...]) -> Any:
        lines = [{"label": n, "stroke": c, "width": 1} for n, c in zip(names, COLORS, strict=False)]
        data = tuple(np.zeros(2) for _ in range(len(names) + 1))
        scales = {"x": {"time": False}}
        return gui.add_uplot(data, ({"label": "t, s"}, *lines), title=title, scales=scales, height=HEIGHT)

    def note(self, frame: Any) -> None:
        """Remember a moment; time that went back starts anew."""
        t = float(frame["time"])
        if self._rows and t < self._rows[-1][0]:
            self._rows.clear()
        if not self._rows or t >= self._rows[-1][0] + APART:
            kinetic, potential = float(frame["kinetic"]), float(frame["potential"])
            effort = (1e3 * float(frame["seconds"]), float(frame["iterations"]))
            self._rows.append((t, *effort, kinetic, potential, kinetic + potential))

    def show(self, now: float) -> None:
        """Renew the plots."""
        if now - self._renewed < RENEW or len(self._rows) < 2:
            return
        self._renewed = now
        t, *values = np.array(self._rows).T
        self._effort.data = (t, *values[:2])
        self._energy.data = (t, *values[2:])
