"""The anthropomorphic robot opens a valve by a quarter turn and closes it again, standing free on its feet.

Both hands take the rim, turn it, and let go. Sensors in the wrists show what the valve does to the hands: they give way
to forces across the rim, fingers press as the rim resists along it, and turning slows down where it resists too much.
Everything that turns the valve is contact.
"""

from __future__ import annotations

from math import pi
from typing import TYPE_CHECKING

import numpy as np

from sharnir.control.compliance import Admittance
from sharnir.model.model import Reals
from sharnir.rotations import cross, matrix_to_quat
from sharnir.scenes.goals import Curve, Figure
from sharnir.scenes.room import VALVE, WHEEL_RADIUS
from sharnir.scenes.skybot.course import Course, Pose, Stage, between
from sharnir.scenes.skybot.fingers import Fingers
from sharnir.scenes.skybot.two_hands import TwoHands
from sharnir.scenes.skybot.watch import Watch
from sharnir.scenes.skybot.whole_body import SIDES
from sharnir.scenes.skybot.wrists import Felt

if TYPE_CHECKING:
    from sharnir.simulation.simulation import Simulation

QUARTER = pi / 2
PLACES = {"left": -pi / 4, "right": 3 * pi / 4}  # rad on the rim, from y to z, where hands take the closed valve
START = {"reach": 0.0, "out": 0.08, "angle": 0.0, "grip": 0.0}
STAGES = [
    Stage("stand", 0.5, {}), Stage("reach", 2.5, {"reach": 1.0}), Stage("close in", 1.2, {"out": 0.0}),
    Stage("grasp", 1.5, {"grip": 1.0}), Stage("open", 4.0, {"angle": QUARTER}), Stage("hold", 0.6, {}),
    Stage("close", 4.0, {"angle": 0.0}), Stage("end", 0.6, {}), Stage("release", 0.5, {"grip": 0.0}),
    Stage("let go", 1.0, {}), Stage("back off", 1.2, {"out": 0.08}), Stage("return", 2.5, {"reach": 0.0}),
]  # fmt: skip
GRASPED = 0.01  # of the grip, from which fingers are driven by torque
SQUEEZE, MORE = 0.45, 0.008  # N m of a finger's first hinge, and by N along the rim
DAMPING, STIFFNESS = 500.0, 100.0  # N s/m, N/m: how hands give way across the rim
SLOW, STOP = 50.0, 90.0  # N along the rim, where turning slows down and where it stops
SEEKING = 2.0  # 1/s, at which the angle that hands show is brought to that of the course
OPENED, CLOSED = 2.0, 2.0  # degrees by which the angle may miss


class TurnValve(TwoHands):
    """The task: a course of stages whose clock waits where the valve resists."""

    def __init__(self, sim: Simulation) -> None:
        super().__init__(sim, Course(START, STAGES), Watch(sim.model, "valve"))
        self.fingers = {side: Fingers(self.body.servos, side) for side in SIDES}
        self.yielding = {side: Admittance(mass=0.0, damping=DAMPING, stiffness=STIFFNESS) for side in SIDES}
        self.ahead, self._time = 0.0, sim.time  # rad, s
        self.angles: list[tuple[float, float]] = []  # s, rad of the valve
        self._friction = float(sim.model.friction[sim.model.joint("valve").v][0])  # N m, of the stem

    def _note(self, sim: Simulation) -> None:
        self.angles.append((sim.time, float(sim.joint("valve").position[0])))

    def _lead(self, sim: Simulation) -> None:
        elapsed, self._time = sim.time - self._time, sim.time
        values = self.course.at(self.clock)
        felt, along = self.felt, {side: _along_rim(self.felt[side]) for side in SIDES}
        self._turn(sim, values, elapsed)
        for side in SIDES:
            given = self._give_way(side, felt[side].force, values, elapsed)
            self._close(side, values["grip"], along[side], elapsed)
            place = self.holding(side, values["angle"] + self.ahead, values["out"])
            place = (place[0] + given, place[1])
            self.body.hands[side].target = between(self.rest[side], place, values["reach"])
        resists = max(along.values())
        self.clock += elapsed * float(np.clip((STOP - resists) / (STOP - SLOW), 0.0, 1.0))

    def holding(self, side: str, angle: float, out: float) -> Pose:
        """Pose of a hand that holds the rim of the valve turned by an angle (rad), or is `out` of it (m)."""
        r = _radius(PLACES[side] + angle)
        y = r if side == "left" else -r
        z = np.array([-1.0, 0.0, 0.0])
        axes = np.array([cross(y, z), y, z]).T
        return np.array(VALVE) + (WHEEL_RADIUS + out) * r, matrix_to_quat(axes)

    def _turn(self, sim: Simulation, values: dict[str, float], elapsed: float) -> None:
        """Lead the hands by what they stay behind, as their own places show."""
        if values["grip"] < 1.0:
            self.ahead *= 1.0 - min(1.0, 2.0 * elapsed)
            return
        turned = []
        for side in SIDES:
            hand, task = sim.body(f"{side}_hand"), self.body.hands[side]
            arm = hand.position + hand.rotation @ task.point - np.array(VALVE)
            off = np.arctan2(arm[2], arm[1]) - PLACES[side] - values["angle"]
            turned.append((off + pi) % (2 * pi) - pi)
        self.ahead -= SEEKING * elapsed * float(np.mean(turned))

    def _give_way(self, side: str, force: Reals, values: dict[str, float], elapsed: float) -> Reals:
        """[3] m, by which a hand moves with what pushes it across the rim."""
        if elapsed == 0.0:
            return np.zeros(3)
        axes = np.array([[1.0, 0.0, 0.0], _radius(PLACES[side] + values["angle"])])
        across = axes @ force if values["grip"] >= GRASPED else np.zeros(2)
        return np.asarray(self.yielding[side].step((*across, 0.0), elapsed).offset[:2] @ axes)

    def _close(self, side: str, grip: float, along: float, elapsed: float) -> None:
        if grip < GRASPED:
            self.fingers[side].release(min(1.0, 5.0 * elapsed))
        else:
            self.fingers[side].hold(grip * (SQUEEZE + MORE * along))

    def turning(self) -> float:
        """N m, the most that both hands together exerted about the stem, of all records of contact."""
        left, right = ([t.torque[0] for t in self.watch.touches if t.side == side] for side in SIDES)
        return float(np.abs(np.add(left, right)).max(initial=0.0))

    def figures(self) -> list[Figure]:
        """How far the valve was turned, and what the robot's body did meanwhile."""
        most, last = max(a for _, a in self.angles), self.angles[-1][1]
        return [
            Figure("valve opened to", np.degrees(most), low=90.0 - OPENED, high=90.0 + OPENED, unit="°"),
            Figure("valve closed to", np.degrees(last), low=-CLOSED, high=CLOSED, unit="°"),
            Figure("torque of the hands by contact", self.turning(), low=self._friction, unit="N m"),
            Figure("course left", float(self.course.duration - self.clock), high=0.02, unit="s"),
            *self.watch.figures(),
        ]

    def curves(self) -> list[Curve]:
        """How the valve turns, and what turns it."""
        times, angles = [t for t, _ in self.angles], [float(np.degrees(a)) for _, a in self.angles]
        torque = [t.torque[0] for t in self.watch.touches]
        both = [float(left + right) for left, right in zip(torque[::2], torque[1::2], strict=True)]
        return [
            Curve("angle of the valve", "°", times, angles, 0.0, 90.0),
            Curve("torque of the hands by contact", "N m", [t.time for t in self.watch.touches[::2]], both),
        ]


def _radius(angle: float) -> Reals:
    """Unit vector in the wheel's plane."""
    return np.array([0.0, np.cos(angle), np.sin(angle)])


def _along_rim(felt: Felt) -> float:
    """N along the rim by which the valve resists a hand."""
    return abs(float(felt.about(np.array(VALVE))[0])) / WHEEL_RADIUS
