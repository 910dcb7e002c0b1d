"""The panel: buttons, switches, sliders, read-outs and plots. It shows what frames say and sends commands."""

from __future__ import annotations

import html
import time
from collections.abc import Callable
from typing import Any

from sharnir.simulation.simulation import SOLVERS
from sharnir.simulation.step_warnings import KINDS
from sharnir.viewer.commands import BUDGET, DT, SAVED, Command, Kind
from sharnir.viewer.page.plots import Plots
from sharnir.viewer.page.scene_view import Page, Send
from sharnir.viewer.page.sliders import Dial, Sliders
from sharnir.viewer.setup import Setup

SPEEDS = {"real time": 1.0, "1/2": 0.5, "1/5": 0.2, "1/10": 0.1, "1/50": 0.02, "twice as fast": 2.0}
STATUS = 0.1  # s, between changes of what is read out


class Panel:
    """What a person sees beside the scene. send: passes a browser's command on."""

    def __init__(self, server: Any, setup: Setup, page: Page, send: Send) -> None:
        self._gui, self._setup, self._page, self._send = server.gui, setup, page, send
        self._told = 0.0
        self._dials: list[Dial] = []
        server.gui.configure_theme(control_layout="floating", control_width="medium", show_logo=False,
                                   show_share_button=False)  # fmt: skip
        server.gui.set_panel_label(setup.title)
        self._status = server.gui.add_html("", order=0.1)
        if setup.timeline is None:
            self._add_running()
        else:
            self._add_timeline()
        self._add_layers()
        self.plots = Plots(server.gui)
        self._sliders = Sliders(server.gui, setup, send)
        self._dials += self._sliders.dials

    def show(self, frame: Any) -> None:
        """Bring the panel up to date; more often than people read, nothing happens."""
        self.plots.note(frame)
        now = time.monotonic()
        if now - self._told < STATUS:
            return
        self._told = now
        self._status.content = status(frame, self._setup.drawing.notes)
        for dial in self._dials:
            dial.follow(frame, now)
        self._sliders.show(frame)
        self.plots.show(now)

    def _button(self, label: str, kind: Kind, **more: Any) -> None:
        if kind in self._setup.bounds:
            button = self._gui.add_button(label, **more)
            button.on_click(lambda event: self._send(event.client_id, Command(kind)))

    def _dial(self, handle: Any, command: Callable[[Any], Command], told: Callable[[Any], Any]) -> None:
        self._dials.append(Dial(handle, command, told, self._send))

    def _add_running(self) -> None:
        with self._gui.add_folder("Run", order=1):
            self._button("Run", Kind.RUN, color="green")
            self._button("Pause", Kind.PAUSE)
            self._button("Step", Kind.STEP)
            self._button("Reset", Kind.RESET)
            self._add_speed()
        with self._gui.add_folder("Solver", order=2, expand_by_default=False):
            if Kind.SOLVER in self._setup.bounds:
                solver = self._gui.add_dropdown("Solver", SOLVERS)
                self._dial(solver, lambda x: Command(Kind.SOLVER, SOLVERS.index(x)), lambda f: SOLVERS[f["solver"]])
            dt = self._gui.add_number("Step, ms", 10.0, min=1e3 * DT[0], max=1e3 * DT[1], step=0.01)
            self._dial(dt, lambda x: Command(Kind.DT, 0, (1e-3 * x,)), lambda f: round(1e3 * float(f["dt"]), 4))
            budget = self._gui.add_number("Budget, ms", 0.0, min=0.0, max=1e3 * BUDGET[1], step=0.01, hint="0: none")
            self._dial(budget, lambda x: Command(Kind.BUDGET, 0, (1e-3 * x,)), lambda f: round(1e3 * f["budget"], 4))
        self._add_states()

    def _add_speed(self) -> None:
        speed = self._gui.add_dropdown("Speed", tuple(SPEEDS), initial_value="real time")
        names = {v: k for k, v in SPEEDS.items()}
        self._dial(
            speed, lambda x: Command(Kind.SPEED, 0, (SPEEDS[x],)), lambda f: names.get(float(f["speed"]), "real time")
        )

    def _add_states(self) -> None:
        with self._gui.add_folder("States", order=3, expand_by_default=False):
            place = self._gui.add_dropdown("Place", tuple(str(k + 1) for k in range(SAVED)))
            for label, kind in (("Save", Kind.SAVE), ("Restore", Kind.RESTORE)):
                button = self._gui.add_button(label)
                button.on_click(self._at_place(kind, place))

    def _at_place(self, kind: Kind, place: Any) -> Callable[[Any], None]:
        return lambda event: (self._send(event.client_id, Command(kind, int(place.value) - 1)), None)[1]

    def _add_timeline(self) -> None:
        line = self._setup.timeline
        assert line is not None
        with self._gui.add_folder("Play", order=1):
            self._button("Run", Kind.RUN, color="green")
            self._button("Pause", Kind.PAUSE)
            step = max((line.end - line.start) / 10_000, 1e-3)
            slider = self._gui.add_slider("Time, s", line.start, max(line.end, line.start + step), step, line.start)
            self._dial(slider, lambda x: Command(Kind.SEEK, 0, (float(x),)), lambda f: float(f["time"]))
            if line.marks:
                names = {f"{t:.3f} s: {text}": t for t, text in line.marks}
                marks = self._gui.add_dropdown("Events", ("–", *names))
                self._dial(
                    marks, lambda x: Command(Kind.SEEK, 0, (names.get(x, line.start),)), lambda f: marks.value
                )  # it jumps there and stays as chosen
            self._add_speed()

    def _add_layers(self) -> None:
        """What is drawn on demand: the same for all who watch."""
        with self._gui.add_folder("Show", order=4):
            for label, name in (("Contacts", "contacts"), ("Joints", "joints"), ("Balance", "balance")):
                box = self._gui.add_checkbox(label, False)
                box.on_update(self._switch(name))
            box = self._gui.add_checkbox("Collision shapes", False)
            box.on_update(lambda event: self._page.show_solid(event.target.value))

    def _switch(self, name: str) -> Callable[[Any], None]:
        def switched(event: Any) -> None:
            setattr(self._page.layers, name, event.target.value)
            self._page.see_through()

        return switched


def status(frame: Any, notes: list[str]) -> str:
    """How things stand, as HTML; all text is escaped."""
    factor = f"{float(frame['factor']):.2f}" if frame["running"] and frame["factor"] > 0 else "–"
    rows = {
        "time": f"{float(frame['time']):.2f} s", "real-time factor": factor,
        "step": f"{1e3 * float(frame['seconds']):.3f} ms, {int(frame['iterations'])} iterations",
        "energy": f"{float(frame['kinetic'] + frame['potential']):.4g} J", "contacts": str(int(frame["contacts"])),
    }  # fmt: skip
    if frame["overruns"]:
        rows["overruns"] = str(int(frame["overruns"]))
    if frame["warnings"]:
        told = (kind.words for k, kind in enumerate(KINDS.values()) if int(frame["warnings"]) >> k & 1)
        rows["steps not right"] = "; ".join(told)
    cells = "".join(f"<tr><td>{k}</td><td style='text-align:right'>{v}</td></tr>" for k, v in rows.items())
    trouble = bytes(frame["text"]).decode(errors="replace")
    words = [trouble] if trouble else []
    if frame["stopped"]:
        words.insert(0, "EMERGENCY STOP: nothing is driven until it is cleared")
    said = "".join(f"<p style='color:#c00;margin:4px 0'>{html.escape(w)}</p>" for w in words)
    aside = "".join(f"<p style='color:#777;margin:4px 0'>{html.escape(n)}</p>" for n in notes[:3])
    return f"<div style='font-size:13px;padding:4px 12px'><table style='width:100%'>{cells}</table>{said}{aside}</div>"
