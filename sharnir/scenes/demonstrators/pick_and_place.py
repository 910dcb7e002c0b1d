"""The task of `manipulator_grasp`: by inverse kinematics the hand is led over the object, down, up and to the shelf.

Where the object lies is looked up once, as by a camera, before the arm moves. Servo loops on the hinges follow; the
gripper gets a voltage and holds by the torque that its motor then has.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sharnir.control.arguments import positions_of
from sharnir.control.inverse_kinematics import InverseKinematics
from sharnir.control.paths import MinimumJerk, Slerp
from sharnir.control.servo import Servo
from sharnir.control.tasks import PoseTask
from sharnir.model.model import Reals
from sharnir.rotations import matrix_to_quat
from sharnir.scenes.goals import Curve, Figure
from sharnir.scenes.manipulator import ARM, OBJECT_SIZE, PLATES, SHELF, SHELF_AT, TABLE
from sharnir.scenes.mechanisms.gripper import BASE_SIZE, FINGER_SIZE
from sharnir.scenes.mechanisms.linkage_gripper import CRANK
from sharnir.scenes.parts import about
from sharnir.simulation.simulation import Simulation

RATE = 200.0  # 1/s, of the servo loops
GAINS = (15.0, 45.0, 0.3)  # of full voltage by rad, rad s, rad/s
LETTING, GRASPING = 0.25, -0.5  # of full voltage of the gripper's motor
TIPS = 0.015  # m, of the finger tips over what the object stands on while they grasp it
OVER = 0.15  # m, by which the object is lifted
TURNED = 0.6  # rad, of the object on the shelf
HOLDING = 0.4  # rad, of cranks while fingers on parallelograms hold
PLACED, SLIPPED, LIFTED = 0.01, 5e-4, 0.1  # m: what counts as reached


class Stage(NamedTuple):
    """A part of the task, and what it ends with."""

    name: str
    takes: float  # s
    place: Reals  # [3] m, of the finger tips
    turn: Reals  # [4] quaternion (x, y, z, w) of the hand
    grip: float  # of full voltage


class PickAndPlace:
    """Drives one simulation of `manipulator_grasp`."""

    def __init__(self, sim: Simulation) -> None:
        self.done = False
        self._q, self._since, self._stage = positions_of(sim), sim.time, 0
        depth = BASE_SIZE[2] / 2 + FINGER_SIZE[2] + ("inner1" in sim.model.body_names) * CRANK * np.cos(HOLDING)
        self._hand = PoseTask("hand", ((0, 0, 0), (0, 0, 0, 1)), point=(0.0, 0.0, -depth))
        self._ik = InverseKinematics(sim.model, [self._hand], joints=ARM, margin=0.05)
        rate_gain = [PLATES[n].ratio / PLATES[n].idle_speed for n in ARM]
        self._servo = Servo(ARM, "position", gains=GAINS, rate_gain=rate_gain)
        self._grip = LETTING
        hand = sim.body("hand")
        tips = hand.position + hand.rotation @ self._hand.point
        self._stages = stages(sim, tips, matrix_to_quat(hand.rotation))
        self._paths = [
            (MinimumJerk(a.place, b.place, b.takes), Slerp((0.0, b.takes), (a.turn, b.turn)))
            for a, b in pairwise(self._stages)
        ]
        where = [sim.model.joint(n) for n in ARM]
        self._arm_q, self._arm_v = [w.q.start for w in where], [w.v.start for w in where]
        self._motors = [sim.model.actuator(n) for n in PLATES]
        self._stall = np.array([plate.stall_torque for plate in PLATES.values()])  # N m
        self._slip = self._load = self._highest = 0.0
        self._held: Reals | None = None
        self._times, self._heights, self._grips = list[float](), list[float](), list[float]()
        self.grips: list[tuple[float, Reals]] = []  # s and N: what the fingers exert on the object

    def __call__(self, simulation: Simulation) -> None:
        self._lead(simulation.time)
        self._servo(simulation)
        simulation.dc_motor("grip").input = self._grip
        self._note(simulation)

    def _lead(self, time: float) -> None:
        """Move the targets of all loops on by one period."""
        stage, (way, turn) = self._stages[self._stage + 1], self._paths[self._stage]
        ahead = time - self._since + 1 / RATE
        self._hand.target = way(ahead).position, turn(ahead).position
        v = self._ik.step(self._q, 1 / RATE)
        self._q = self._ik.moved(self._q, v, 1 / RATE)
        self._servo.target, self._servo.target_rate = self._q[self._arm_q], v[self._arm_v]
        self._grip = stage.grip
        if time >= self._since + stage.takes - 1e-9:
            if self._stage + 2 < len(self._stages):
                self._stage, self._since = self._stage + 1, time
            else:
                self.done = True

    def _note(self, simulation: Simulation) -> None:
        thing, hand = simulation.body("object"), simulation.body("hand")
        torques = np.abs(simulation._column(simulation.impulses.state.actuator_force)[self._motors])
        self._load = max(self._load, float((torques / self._stall).max()))
        self._highest = max(self._highest, float(thing.position[2]) - TABLE - OBJECT_SIZE[2] / 2)
        if self._stages[self._stage + 1].name == "carry":
            here = hand.rotation.T @ (thing.position - hand.position)
            self._held = here if self._held is None else self._held
            self._slip = max(self._slip, float(np.linalg.norm(here - self._held)))
            self.grips.append((simulation.time, fingers_force(simulation)))
        self._thing = np.array(thing.position)
        self._upright = float(thing.rotation[2, 2])
        self._times.append(simulation.time)
        self._heights.append(float(thing.position[2]))
        self._grips.append(float(torques[-1]))

    def figures(self) -> list[Figure]:
        """Where the object is, how it got there, and what the motors gave."""
        wanted = np.array([*SHELF_AT, SHELF + OBJECT_SIZE[2] / 2])
        forces = np.array([np.linalg.norm(force, axis=1).min() for _, force in self.grips] or [0.0])
        return [
            Figure("object from its place on the shelf", float(np.linalg.norm(self._thing - wanted)), 0, PLACED, "m"),
            Figure("object upright, cosine", self._upright, low=0.999),
            Figure("object lifted by", self._highest, low=LIFTED, unit="m"),
            Figure("slip in the fingers while carried", self._slip, high=SLIPPED, unit="m"),
            Figure("least force of a finger while carried", float(forces.min()), low=1.0, unit="N"),
            Figure("torque of a motor by that at stall", self._load, high=1.0),
        ]

    def curves(self) -> list[Curve]:
        """How the object is lifted, and what the gripper's motor gives."""
        return [
            Curve("height of the object", "m", self._times, self._heights),
            Curve("torque of the gripper's motor", "N m", self._times, self._grips, 0.0, PLATES["grip"].stall_torque),
        ]


def stages(sim: Simulation, tips: Reals, turn: Reals) -> list[Stage]:
    """What the hand does. tips: [3] m, where the finger tips start; turn: [4] quaternion of the hand there."""
    thing = sim.body("object")
    turned = float(np.arctan2(thing.rotation[1, 0], thing.rotation[0, 0]))
    taken, put = np.array([*thing.position[:2], TABLE + TIPS]), np.array([*SHELF_AT, SHELF + TIPS])
    along, across = (np.array(about((0.0, 0.0, 1.0), angle)) for angle in (turned, TURNED))
    up = np.array([0.0, 0.0, OVER])
    return [
        Stage("start", 0.0, tips, turn, LETTING),
        Stage("over it", 2.0, taken + up, along, LETTING),
        Stage("down", 1.5, taken, along, LETTING),
        Stage("close", 1.2, taken, along, GRASPING),
        Stage("lift", 1.5, taken + up, along, GRASPING),
        Stage("carry", 2.5, put + up, across, GRASPING),
        Stage("put down", 1.8, put, across, GRASPING),
        Stage("release", 0.8, put, across, LETTING),
        Stage("leave", 1.2, put + up, across, LETTING),
    ]


def fingers_force(sim: Simulation) -> Reals:
    """[2, 3] N that the fingers exert on the object by contact."""
    out = np.zeros((2, 3))
    for contact in sim.contacts("object"):
        other = contact.bodies[0] if contact.bodies[1] == "object" else contact.bodies[1]
        if other in ("finger1", "finger2"):
            out[int(other[-1]) - 1] += contact.force if contact.bodies[1] == "object" else -contact.force
    return out
