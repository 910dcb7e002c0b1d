"""Whole-body motion: hands go where a task says, feet stay, the centre of mass stays over them, by inverse kinematics.

Positions are planned, not read back: what inverse kinematics moves is the posture that the servos are to follow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sharnir.control.arguments import positions_of
from sharnir.control.inverse_kinematics import InverseKinematics
from sharnir.control.posture import PostureTask
from sharnir.control.tasks import CenterOfMassTask, OrientationTask, PoseTask
from sharnir.model.kinematics import link_poses
from sharnir.model.model import Model
from sharnir.rotations import matrix_to_quat
from sharnir.scenes.skybot.body import FOOT_MIDDLE
from sharnir.scenes.skybot.course import Pose
from sharnir.scenes.skybot.hand import hold_point
from sharnir.scenes.skybot.loads import FEET, Loads, Push
from sharnir.scenes.skybot.servos import Servos, encoders

if TYPE_CHECKING:
    from sharnir.simulation.simulation import Simulation

SIDES = ("left", "right")
PERIOD = 0.01  # s, of inverse kinematics
FIRM, NEAR = 10.0, 4.0  # 1/s, at which the centre of mass and the posture are sought
UPRIGHT = (0.0, 0.0, 0.0, 1.0)
LIMP = 2.0  # s
TILTED = 0.4  # cosine of the torso's tilt, from which on the robot counts as fallen
MARGIN, SPEED = 0.02, 3.0  # rad from the limits of joints, rad/s


class WholeBody:
    """Plans the robot's posture and drives it.

    hands: tasks of the point where a hand holds a bar, by side. center, trunk: tasks of the centre of mass and of the
    torso's axes. q: [nq] planned positions. pushes: forces to expect besides weight. fallen: whether its torso was
    tilted too far to go on.
    """

    def __init__(self, sim: Simulation) -> None:
        self.model = model = sim.model
        self.servos, self._loads = Servos(sim), Loads(model)
        self.q = positions_of(sim)
        self.hands = {side: self._held(f"{side}_hand", hold_point(side)) for side in SIDES}
        feet = [self._held(foot, (0.0, 0.0, 0.0), weight=10.0) for foot in FEET]
        self.center = CenterOfMassTask((FOOT_MIDDLE, 0.0, 0.0), of="pelvis", axes=(True, True, False), rate=FIRM)
        self.trunk = OrientationTask("torso", UPRIGHT, priority=1, rate=NEAR)
        moving = _moving(model)
        posture = PostureTask(joints=moving[1:], weight=0.05, rate=NEAR)
        tasks = [*feet, *self.hands.values(), self.center, self.trunk, posture]
        self._kinematics = InverseKinematics(model, tasks, joints=moving, margin=MARGIN, max_speed=SPEED)
        self._planned = np.array([not _of_finger(name) for name in self.servos.names])
        self.pushes: list[Push] = []
        self.fallen = False
        self._from, self._since = self.servos.target, -np.inf  # rad and s, of the plan in force

    def _held(self, body: str, point: tuple[float, float, float], weight: float = 1.0) -> PoseTask:
        """The task to keep a point of a body where it is."""
        return PoseTask(body, self.pose(body, point), point=point, weight=weight)

    def pose(self, body: str, point: tuple[float, float, float]) -> Pose:
        """Of a body in the planned posture, at a point of its frame (m)."""
        link = self.model.body(body)
        at = link_poses(self.model, self.q)[link]
        R = at.R @ self.model.body_rot[link]
        return at.x + at.R @ self.model.body_pos[link] + R @ np.array(point), matrix_to_quat(R)

    def due(self, sim: Simulation) -> bool:
        """Whether the next call plans: what a task wants of the hands counts then."""
        return sim.time >= self._since + PERIOD - 1e-9

    def __call__(self, sim: Simulation) -> None:
        """Plan on where it is time to, and drive all motors; after a fall, lie still."""
        if not self.fallen and self.due(sim) and sim.body("torso").rotation[2, 2] < TILTED:
            self.fallen, self._since = True, sim.time
        if self.fallen:
            self._lie(sim)
            return
        if self.due(sim):
            self._plan()
            self._since = sim.time
        target = self._from + (sim.time - self._since) * self.servos.rate
        self.servos.target = np.where(self._planned, target, self.servos.target)
        self.servos(sim)

    def _lie(self, sim: Simulation) -> None:
        """Limp in the fall, then stiff as it lies."""
        if sim.time < self._since + LIMP:
            self.servos.relax(sim)
            self.servos.hold()
        else:
            self.servos(sim)

    def _plan(self) -> None:
        v = self._kinematics.step(self.q, PERIOD)
        self._from = encoders(self.model, self.q, self.model.loop_q0)
        self.servos.rate = np.where(self._planned, v[self.model.actuator_coordinate], 0.0)
        self.servos.load = np.where(self._planned, self._loads.at(self.q, self.pushes), self.servos.load)
        self.q = self._kinematics.moved(self.q, v, PERIOD)


def _of_finger(name: str) -> bool:
    return "finger" in name or "thumb" in name


def _moving(model: Model) -> list[str]:
    """The robot's joints without its fingers, its root first."""
    driven = {model.joint_of(int(c)) for c in model.actuator_coordinate}
    return ["root", *(name for name in model.joint_names if name in driven and not _of_finger(name))]
