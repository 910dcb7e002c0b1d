"""What a demonstrator shows: a task that drives a simulation, and figures that say whether its goal was reached."""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

from sharnir.simulation.simulation import Simulation


class Figure(NamedTuple):
    """One number of a goal, with the range in which the goal counts as reached."""

    name: str
    value: float
    low: float = -math.inf
    high: float = math.inf
    unit: str = ""

    @property
    def met(self) -> bool:
        """Whether the value lies in its range."""
        return self.low <= self.value <= self.high

    @property
    def range(self) -> str:
        """Bounds of the range."""
        return ", ".join(f"{word} {x:g}" for word, x in (("≥", self.low), ("≤", self.high)) if math.isfinite(x))

    def __str__(self) -> str:
        return f"{self.name} {self.value:.5g}{' ' + self.unit if self.unit else ''} ({self.range})"


class Curve(NamedTuple):
    """What a plot of a task shows: a quantity over time, and bounds it must keep to."""

    name: str
    unit: str
    times: list[float]  # s
    values: list[float]
    low: float = -math.inf
    high: float = math.inf


class Task(Protocol):
    """Drives one simulation through a demonstrator's course, made for it: `task = make_task(simulation)`.

    A controller: called before steps, it writes inputs of drives and nothing else, and notes what figures need.
    """

    done: bool  # nothing is left to do

    def __call__(self, simulation: Simulation) -> None:
        """Drive on, and note what happens."""

    def figures(self) -> list[Figure]:
        """What was reached so far."""

    def curves(self) -> list[Curve]:
        """What is worth a plot."""
