"""The anthropomorphic robot bends down to a stone on a table, takes it between its hands, lifts it and puts it back.

Where the stone lies is looked up once, as by a camera. Sensors in the wrists show how hard hands press: that is held
while the stone is carried, and the weight they feel moves the robot's centre of mass back. Only contact holds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sharnir.control.compliance import Admittance
from sharnir.model.kinematics import link_poses
from sharnir.model.model import Model, Reals
from sharnir.rotations import cross, matrix_to_quat
from sharnir.scenes.goals import Curve, Figure
from sharnir.scenes.parts import about
from sharnir.scenes.room import STONE_SIZE
from sharnir.scenes.skybot.body import FOOT_MIDDLE
from sharnir.scenes.skybot.course import Course, Pose, Stage, between
from sharnir.scenes.skybot.fingers import FLAT, Fingers
from sharnir.scenes.skybot.hand import HOLD_OUT, PALM_SIZE
from sharnir.scenes.skybot.loads import Push
from sharnir.scenes.skybot.two_hands import TwoHands
from sharnir.scenes.skybot.watch import Watch
from sharnir.scenes.skybot.whole_body import SIDES
from sharnir.scenes.skybot.wrists import Felt

if TYPE_CHECKING:
    from sharnir.simulation.simulation import Simulation

ABOVE = 0.006  # m, over the table, where the stone is let go
START = {"reach": 0.0, "apart": 0.10, "bend": 0.0, "press": 0.0, "lift": 0.0}
STAGES = [
    Stage("stand", 0.5, {}), Stage("bend", 3.0, {"reach": 1.0, "bend": 0.7}), Stage("close in", 1.2, {"apart": 0.02}),
    Stage("press", 1.5, {"press": 1.0}), Stage("lift", 3.0, {"lift": 0.25, "bend": 0.2}), Stage("hold", 2.0, {}),
    Stage("lower", 3.0, {"lift": ABOVE, "bend": 0.7}), Stage("release", 0.6, {"press": 0.0}),
    Stage("part", 1.2, {"apart": 0.10}), Stage("return", 3.0, {"reach": 0.0, "bend": 0.0}),
]  # fmt: skip
DOWN = 0.2  # rad, by which hands point below the level
AHEAD = 0.03  # m, of where a bar would be held before the middle of the stone: palms press on that
FORCE, CURL = 80.0, 0.1  # N of each hand, N m of the fingers' first hinges
PRESSED = 0.01  # of the pressure, from which hands are led by force
DAMPING = 2000.0  # N s/m, by which hands follow the force
LIFTED, SLIPPED = 0.22, 2e-3  # m: the stone must rise by, and may move in the hands while it is held
UNEVEN = 0.02  # by which the mean of the forces on it may differ from its weight
HELD = 5  # number of the stage in which it is held still
SETTLED = 0.05  # m, from which on it counts as held in the air


class LiftStone(TwoHands):
    """The task: a course of stages, with hands led by force where they press."""

    def __init__(self, sim: Simulation) -> None:
        super().__init__(sim, Course(START, STAGES), Watch(sim.model, "stone", carried=True))
        self.fingers = {side: Fingers(self.body.servos, side, FLAT, thumb=False) for side in SIDES}
        self.stone = _seen(sim.model)
        self.pressing = {side: Admittance(mass=0.0, damping=DAMPING) for side in SIDES}  # along the stone's axes
        self.inward = dict.fromkeys(SIDES, 0.0)  # m, by which force leads hands
        self.rise, self.slip = 0.0, 0.0  # m
        self.heights: list[tuple[float, float]] = []  # s, m of the stone over the table
        self._held: Reals | None = None
        self._weight = float(sim.model.mass[sim.model.body("stone")] * np.linalg.norm(sim.model.gravity))  # N

    def _lead(self, sim: Simulation) -> None:
        now = sim.time - self.began
        elapsed, self.clock = now - self.clock, now
        values = self.course.at(self.clock)
        felt = self.felt
        for side in SIDES:
            self._press(side, felt[side], values["press"], elapsed)
            place = self.holding(side, values["apart"] - self.inward[side], values["lift"])
            self.body.hands[side].target = between(self.rest[side], place, values["reach"])
        self.body.pushes = [self._push(side, values["press"]) for side in SIDES]
        self.body.trunk.target = about((0.0, 1.0, 0.0), values["bend"])
        self._balance(felt)

    def holding(self, side: str, apart: float, lift: float) -> Pose:
        """Pose of a hand whose palm is beside the stone, apart from it and lifted (m)."""
        place, axes = self.stone
        sign = 1.0 if side == "left" else -1.0
        aside = STONE_SIZE[1] / 2 + apart + PALM_SIZE[1] / 2 - HOLD_OUT
        y, z = axes[:, 1], np.sin(DOWN) * axes[:, 2] - np.cos(DOWN) * axes[:, 0]
        turn = np.array([cross(y, z), y, z]).T
        return place + sign * aside * y - AHEAD * z + np.array([0.0, 0.0, lift]), matrix_to_quat(turn)

    def _press(self, side: str, felt: Felt, press: float, elapsed: float) -> None:
        """Lead a hand inward until it presses as hard as it should; fingers bend about the stone meanwhile."""
        if press < PRESSED:
            self.fingers[side].release(min(1.0, 5.0 * elapsed))
            return
        sign, along = (1.0 if side == "left" else -1.0), float(felt.force @ self.stone[1][:, 1])
        self.pressing[side].wanted = (0.0, press * FORCE, 0.0)
        self.inward[side] = float(self.pressing[side].step((0.0, -sign * along, 0.0), elapsed).offset[1])
        self.fingers[side].hold(press * CURL)

    def _push(self, side: str, press: float) -> Push:
        """What the stone is to do to a hand."""
        outward = self.stone[1][:, 1] * (1.0 if side == "left" else -1.0)
        return Push(f"{side}_hand", (0.0, 0.0, -PALM_SIZE[2] / 2), press * FORCE * outward)

    def _balance(self, felt: dict[str, Felt]) -> None:
        """The centre of mass of the robot and what its hands carry over the middle of the feet."""
        tipping = sum(-f.force[2] * (f.wrist[0] - FOOT_MIDDLE) for f in felt.values())  # N m, about the feet's middle
        self.body.center.target = (FOOT_MIDDLE - tipping / self.watch.weight, 0.0, 0.0)

    def _note(self, sim: Simulation) -> None:
        """How far the stone rose, and moved in the hands once it hung in them."""
        stone = sim.body("stone")
        self.heights.append((sim.time, float(stone.position[2] - self.stone[0][2])))
        self.rise = max(self.rise, self.heights[-1][1])
        if self.course.stage(self.clock) not in ("lift", "hold") or stone.position[2] < self.stone[0][2] + SETTLED:
            return
        hands = [sim.body(f"{side}_hand") for side in SIDES]
        now = np.array([hand.rotation.T @ (stone.position - hand.position) for hand in hands])
        self._held = now if self._held is None else self._held
        self.slip = max(self.slip, float(np.linalg.norm(now - self._held, axis=1).max()))

    def figures(self) -> list[Figure]:
        """How far the stone was lifted, how firmly it was held, and what the robot's body did meanwhile."""
        return [
            Figure("stone lifted by", self.rise, low=LIFTED, unit="m"),
            Figure("stone moved in the hands", self.slip, high=SLIPPED, unit="m"),
            Figure("weight carried by contact", self.borne(), low=1.0 - UNEVEN, high=1.0 + UNEVEN),
            Figure("course left", self.course.duration - self.clock, high=0.02, unit="s"),
            *self.watch.figures(),
        ]

    def curves(self) -> list[Curve]:
        """How high the stone is, and how hard each hand presses."""
        times, heights = [t for t, _ in self.heights], [h for _, h in self.heights]
        y = self.stone[1][:, 1]
        pressing = [t for t in self.watch.touches if t.side == "left"]
        force = [-float(t.force @ y) for t in pressing]
        return [
            Curve("height of the stone", "m", times, heights, low=0.0),
            Curve("force of the left hand by contact", "N", [t.time for t in pressing], force),
        ]

    def borne(self) -> float:
        """What both hands exerted upward on the stone by contact while it was held, by its weight."""
        begin, end = (sum(s.seconds for s in STAGES[:k]) for k in (HELD, HELD + 1))
        up = [t.force[2] for t in self.watch.touches if begin < t.time - self.began < end]
        return 2.0 * float(np.mean(up)) / self._weight if up else 0.0


def _seen(model: Model) -> tuple[Reals, Reals]:
    """Where the stone lies before anything moves: place (m) and axes of its body."""
    link = model.body("stone")
    at = link_poses(model, model.q0)[link]
    return at.x + at.R @ model.body_pos[link], at.R @ model.body_rot[link]
