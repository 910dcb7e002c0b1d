"""How an operator's keys and gamepad move a scene: a mapping, from a TOML file beside the scene.

An axis of the operator is a number from −1 to 1, made of keys and of an axis or two buttons of a gamepad. An output is
a motor's target or an actuator's input: `set` to a sum of axes, or moved at a rate that is one.

    title = "arm"
    [[axis]]
    name = "turn"
    keys = ["KeyA", "KeyD"]         # positive, negative; names as browsers give them (KeyboardEvent.code)
    gamepad = 0                     # an axis of the standard gamepad; or buttons = [7, 6]
    invert = true                   # pushed forward, a stick shows −1
    dead_zone = 0.1                 # below it, 0
    curve = 2.0                     # exponent: finer about the middle
    [[output]]
    motor = "waist"                 # or actuator = "…"
    mode = "rate"                   # or "set"
    mix = { turn = 0.8 }            # rad/s or m/s at a full axis; for "set", the target
    limits = [-2.0, 2.0]
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

from sharnir.checks import number
from sharnir.errors import ModelError, fail, shown, unknown
from sharnir.model.model import Model
from sharnir.regular_files import name_of
from sharnir.spec.toml_text import read_toml
from sharnir.viewer.channel import AXES

STICKS, BUTTONS = 8, 32  # of a gamepad
MODES = ("set", "rate")
AXIS_KEYS = {"name", "keys", "gamepad", "buttons", "invert", "dead_zone", "curve"}
OUTPUT_KEYS = {"motor", "actuator", "mode", "mix", "limits"}


class Axis(NamedTuple):
    """Something to steer, from −1 to 1."""

    name: str
    keys: tuple[str, str] | None = None
    gamepad: int | None = None
    buttons: tuple[int, int] | None = None
    invert: bool = False
    dead_zone: float = 0.1
    curve: float = 1.0

    def value(self, keys: set[str], sticks: list[float], buttons: list[float]) -> float:
        """From what is held: of keys and gamepad, what asks for more."""
        asked = [0.0]
        if self.keys is not None:
            asked.append(float(self.keys[0] in keys) - float(self.keys[1] in keys))
        if self.gamepad is not None and self.gamepad < len(sticks):
            stick = -sticks[self.gamepad] if self.invert else sticks[self.gamepad]
            asked.append(self.shaped(stick))
        if self.buttons is not None:
            more, less = (buttons[b] if b < len(buttons) else 0.0 for b in self.buttons)
            asked.append(self.shaped(more - less))
        return max(asked, key=abs)

    def shaped(self, x: float) -> float:
        """Without the dead zone, along the curve."""
        x = max(-1.0, min(1.0, x))
        beyond = (abs(x) - self.dead_zone) / (1.0 - self.dead_zone)
        return math.copysign(beyond**self.curve, x) if beyond > 0 else 0.0

    def words(self) -> str:
        """How to use it."""
        keys = [] if self.keys is None else [" / ".join(key_name(k) for k in self.keys)]
        stick = [] if self.gamepad is None else [f"stick {self.gamepad}"]
        buttons = [] if self.buttons is None else [f"buttons {self.buttons[0]} / {self.buttons[1]}"]
        return ", ".join([*keys, *stick, *buttons])


class Output(NamedTuple):
    """What axes move. motor, actuator: one of the two, its number."""

    motor: int | None
    actuator: int | None
    mode: str
    mix: tuple[tuple[int, float], ...]  # number of an axis, and its share
    low: float = -math.inf
    high: float = math.inf

    def moved(self, present: float, axes: Any, dt: float) -> float:
        """The target after dt (s) with these axes."""
        asked = sum(share * float(axes[k]) for k, share in self.mix)
        wanted = asked if self.mode == "set" else present + dt * asked
        return min(max(wanted, self.low), self.high)


class Mapping(NamedTuple):
    title: str
    axes: tuple[Axis, ...]
    outputs: tuple[Output, ...]


def key_name(code: str) -> str:
    """A key as people call it."""
    arrows = {"ArrowUp": "↑", "ArrowDown": "↓", "ArrowLeft": "←", "ArrowRight": "→"}
    return arrows.get(code, code.removeprefix("Key").removeprefix("Digit"))


def read_mapping(path: str | Path, model: Model) -> Mapping:
    """The mapping in a file, for a model that has what it moves."""
    where = f"mapping {name_of(path)}"
    document = read_toml(Path(path), "mapping", "a TOML file of [[axis]] and [[output]] tables")
    only(where, document, {"title", "axis", "output"})
    axes = tuple(axis(f"{where}, axis {n}", t) for n, t in enumerate(tables(where, document, "axis")))
    if len(axes) > AXES or len({a.name for a in axes}) < len(axes):
        raise fail(where, "axes", shown([a.name for a in axes]), f"at most {AXES}, each with a name of its own")
    names = [a.name for a in axes]
    outputs = [output(f"{where}, output {n}", t, names, model) for n, t in enumerate(tables(where, document, "output"))]
    title = document.get("title", "")
    if not isinstance(title, str):
        raise fail(where, "title is not text", shown(title), "text")
    return Mapping(title, axes, tuple(outputs))


def tables(where: str, document: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found = document.get(name, [])
    if not isinstance(found, list) or not all(isinstance(t, dict) for t in found):
        raise fail(where, f"{name} is something else", shown(found), f"[[{name}]] tables")
    return found


def only(where: str, table: dict[str, Any], known: set[str]) -> None:
    for key in table:
        if key not in known:
            raise ModelError(f"{where}: {unknown('field', key, sorted(known))}")


def axis(where: str, table: dict[str, Any]) -> Axis:
    only(where, table, AXIS_KEYS)
    if not isinstance(table.get("name"), str):
        raise fail(where, "name is not text", shown(table.get("name")), "text")
    keys, stick, buttons = table.get("keys"), table.get("gamepad"), table.get("buttons")
    if keys is not None and not pair(keys, str):
        raise fail(where, "keys", shown(keys), "two names: what counts as +1, and as −1")
    if stick is not None and not whole(stick, STICKS):
        raise fail(where, "gamepad", shown(stick), f"an axis from 0 to {STICKS - 1}")
    if buttons is not None and not (pair(buttons, int) and all(whole(b, BUTTONS) for b in buttons)):
        raise fail(where, "buttons", shown(buttons), f"two numbers from 0 to {BUTTONS - 1}: +1, and −1")
    if not isinstance(table.get("invert", False), bool):
        raise fail(where, "invert", shown(table["invert"]), "true or false")
    zone = number(where, "dead_zone", table.get("dead_zone", 0.1), least=0, most=0.9)
    curve = number(where, "curve", table.get("curve", 1.0), above=0, most=10)
    two = None if keys is None else (keys[0], keys[1])
    pushed = None if buttons is None else (buttons[0], buttons[1])
    return Axis(table["name"], two, stick, pushed, table.get("invert", False), zone, curve)


def pair(value: Any, kind: type) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(v, kind) for v in value)


def whole(value: Any, count: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < count


def output(where: str, table: dict[str, Any], axes: list[str], model: Model) -> Output:
    only(where, table, OUTPUT_KEYS)
    motor, actuator = table.get("motor"), table.get("actuator")
    if (motor is None) == (actuator is None):
        raise fail(where, "moves not one thing", f"motor {motor!r}, actuator {actuator!r}", "one of the two")
    mode = table.get("mode", "set")
    if mode not in MODES:
        raise ModelError(f"{where}: {unknown('mode', mode, MODES)}")
    mix = table.get("mix", {})
    if not isinstance(mix, dict) or not mix:
        raise fail(where, "mix", shown(mix), "a table of axes and their shares")
    for name in mix:
        if name not in axes:
            raise ModelError(f"{where}: {unknown('axis', name, axes)}")
    shares = tuple((axes.index(name), number(where, f"mix of {name}", share)) for name, share in mix.items())
    low, high = -math.inf, math.inf
    if "limits" in table:
        limits = table["limits"]
        if not isinstance(limits, list) or len(limits) != 2:
            raise fail(where, "limits", shown(limits), "two numbers")
        low, high = (number(where, "limit", x) for x in limits)
    return Output(
        None if motor is None else model.motor(motor), None if actuator is None else model.actuator(actuator),
        mode, shares, low, high,
    )  # fmt: skip
