"""Sliders and read-outs of what moves, by robot."""

from __future__ import annotations

import html
import time
from collections.abc import Callable
from typing import Any

from sharnir.viewer.commands import Command, Kind
from sharnir.viewer.readouts import Coordinate, Drive, Readouts, Robot
from sharnir.viewer.setup import Setup

REST = 1.0  # s after a person's touch until an input shows again what the simulation says
MOST = 300  # sliders, of all robots
ROBOTS = 20  # whose joints are shown
STEPS = 1000  # of a slider


class Dial:
    """An input that shows a value of the simulation and sends another one when a person sets it."""

    def __init__(
        self, handle: Any, command: Callable[[Any], Command], told: Callable[[Any], Any],
        send: Callable[[int | None, Command], bool],
    ) -> None:  # fmt: skip
        self._handle, self._told = handle, told
        self._touched = 0.0

        def changed(event: Any) -> None:
            if event.client_id is not None and send(event.client_id, command(event.target.value)):
                self._touched = time.monotonic()

        handle.on_update(changed)

    def follow(self, frame: Any, now: float) -> None:
        """Show what the simulation says, unless a person is just setting it."""
        value = self._told(frame)
        if now - self._touched > REST and value != self._handle.value:
            self._handle.value = value


class Sliders:
    """A folder for each robot."""

    def __init__(self, gui: Any, setup: Setup, send: Callable[[int | None, Command], bool]) -> None:
        self.dials: list[Dial] = []
        self._send, self._gui, self._shown = send, gui, setup.readouts
        self._tables: list[tuple[Robot, Any]] = []
        self._drives = Kind.MOTOR in setup.bounds
        for robot in setup.readouts.robots[:ROBOTS]:
            with gui.add_folder(f"Robot {robot.name}", order=6, expand_by_default=False):
                self._add_robot(robot)

    def _add_robot(self, robot: Robot) -> None:
        shown, gui = self._shown, self._gui
        if self._drives:
            for kind, name, numbers, drives in (
                (Kind.MOTOR, "target", robot.motors, shown.motors),
                (Kind.ACTUATOR, "input", robot.actuators, shown.actuators),
            ):
                for number in numbers:
                    self._add_drive(kind, name, number, drives[number])
            with gui.add_folder("Forces", expand_by_default=False):
                for number in robot.coordinates:
                    self._add_force(number, shown.coordinates[number])
        self._tables.append((robot, gui.add_html("")))

    def _add_drive(self, kind: Kind, name: str, number: int, drive: Drive) -> None:
        label = f"{drive.name} ({drive.unit})"
        self._add(label, drive.force_low, drive.force_high, drive.start, kind, number, lambda f: float(f[name][number]))

    def _add_force(self, number: int, c: Coordinate) -> None:
        label = f"{c.label} ({'N' if c.unit == 'm' else 'N m'})"
        self._add(label, -c.most, c.most, 0.0, Kind.TORQUE, number, lambda f: float(f["control"][number]))

    def _add(
        self, label: str, low: float, high: float, start: float, kind: Kind, number: int, told: Callable[[Any], float]
    ) -> None:
        if len(self.dials) >= MOST or not low < high:
            return
        step = (high - low) / STEPS
        slider = self._gui.add_slider(label, low, high, step, start)
        command = lambda x: Command(kind, number, (float(x),))  # noqa: E731
        self.dials.append(Dial(slider, command, lambda f: min(max(told(f), low), high), self._send))

    def show(self, frame: Any) -> None:
        """Bring the read-outs up to date."""
        for robot, table in self._tables:
            table.content = robot_table(robot, self._shown, frame)


def robot_table(robot: Robot, shown: Readouts, frame: Any) -> str:
    """Positions, rates and forces of a robot, as HTML; names are escaped."""
    rows = [("joint", "position", "rate", "force")]
    for n in robot.coordinates[:MOST]:
        c = shown.coordinates[n]
        rows.append((c.label, f"{frame['q'][n]:.3f} {c.unit}", f"{frame['v'][n]:.3f}", f"{frame['control'][n]:.2f}"))
    rows += [(shown.motors[n].name, "", "", f"{frame['motor_force'][n]:.2f}") for n in robot.motors]
    rows += [(shown.actuators[n].name, "", "", f"{frame['actuator_force'][n]:.2f}") for n in robot.actuators]
    cells = ("".join(f"<td style='padding-right:6px'>{html.escape(x)}</td>" for x in row) for row in rows)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    return f"<table style='font-size:11px;margin:4px 12px'>{body}</table>"
