"""Courses of a task: stages one after another, each with the values that it ends at, passed smoothly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sharnir.control.paths import eased, turn_quaternion
from sharnir.model.model import Reals
from sharnir.rotations import quat_multiply, turn_between

Pose = tuple[Reals, Reals]  # m and quaternion (x, y, z, w)


class Stage(NamedTuple):
    """seconds: it takes. values: some of the course's, at its end; others stay."""

    name: str
    seconds: float
    values: Mapping[str, float]


class Course:
    """Values that go from stage to stage, at rest in between, with least jerk. start: all values at the beginning."""

    def __init__(self, start: Mapping[str, float], stages: Sequence[Stage]) -> None:
        self.stages = list(stages)
        self._values = [dict(start)]
        for stage in self.stages:
            self._values.append({**self._values[-1], **stage.values})
        self._ends = np.cumsum([stage.seconds for stage in self.stages])

    @property
    def duration(self) -> float:
        """s, of all stages."""
        return float(self._ends[-1])

    def stage(self, time: float) -> str:
        """Name of the stage at a time, s."""
        return self.stages[self._number(time)].name

    def at(self, time: float) -> dict[str, float]:
        """All values at a time, s."""
        k = self._number(time)
        share = eased(1.0 - (self._ends[k] - time) / self.stages[k].seconds)[0]
        before, after = self._values[k : k + 2]
        return {name: (1.0 - share) * before[name] + share * after[name] for name in before}

    def _number(self, time: float) -> int:
        return min(int(np.searchsorted(self._ends, time, side="right")), len(self.stages) - 1)


def between(start: Pose, end: Pose, share: float) -> Pose:
    """A pose some share of the way from one to another, straight and with one turn."""
    turned = quat_multiply(start[1], turn_quaternion(share * turn_between(start[1], end[1])))
    return (1.0 - share) * start[0] + share * end[0], turned
