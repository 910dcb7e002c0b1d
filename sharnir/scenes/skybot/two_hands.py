"""Tasks of both hands: a course of stages, and where hands go by it and by what the wrists feel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sharnir.scenes.skybot.course import Course
from sharnir.scenes.skybot.watch import Watch
from sharnir.scenes.skybot.whole_body import SIDES, WholeBody
from sharnir.scenes.skybot.wrists import Felt, Wrist

if TYPE_CHECKING:
    from sharnir.simulation.simulation import Simulation


class TwoHands:
    """Base of the robot's tasks. A task says where hands are to go (`_lead`) and notes what comes of it (`_note`).
    Wrists are read, and balance is watched, between plans, so that no call does both.

    clock: s, of the course. rest: poses of the hands at the beginning. felt: what hands felt since the last plan.
    """

    def __init__(self, sim: Simulation, course: Course, watch: Watch) -> None:
        self.course, self.watch, self.body = course, watch, WholeBody(sim)
        self.wrists = {side: Wrist(sim, side) for side in SIDES}
        self.rest = {side: task.target for side, task in self.body.hands.items()}
        self.clock, self.began, self.done = 0.0, sim.time, False  # s
        self.felt: dict[str, Felt] = {}

    def __call__(self, simulation: Simulation) -> None:
        sim = simulation
        plans = self.body.due(sim)
        if not plans or not self.felt:
            self.felt = {side: wrist.read(sim) for side, wrist in self.wrists.items()}
            self.watch(sim)
        if plans:
            self._lead(sim)
            self.felt = {}
            self._note(sim)
        self.body(sim)
        self.watch.note_motors(sim)
        self.done = self.body.fallen or self.clock >= self.course.duration

    def _lead(self, sim: Simulation) -> None:
        """Say where hands are to go, by the course and by what they feel."""
        raise NotImplementedError

    def _note(self, sim: Simulation) -> None:
        """Note what the goal is judged by."""
        raise NotImplementedError
