"""The driver of `trailer_robot`: follows the course by the voltages of the drives, and notes what the hitch does."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sharnir.rotations import Array
from sharnir.scenes.goals import Curve, Figure
from sharnir.scenes.tracked_robot import DRIVE, RADIUS, SIDES, TOP_SPEED
from sharnir.scenes.trailer_robot import LIMITS, WAY
from sharnir.spec.elements import Vector

if TYPE_CHECKING:
    from sharnir.simulation.simulation import Simulation

SPEED = 0.5  # m/s
LOOK_AHEAD = 0.9  # m, along the way
TURNING, TURN_RATE = 1.5, 0.45  # 1/s: rate of turn for an error of heading; rad/s: the most
SKID_TREAD = 0.8  # m, of the belts' speeds for a rate of turn: the tread and what slips
INSIST = 1.0  # shares by which a turn that is not followed is asked for more
GAIN = 2.0  # shares of full voltage for an error of speed of 1 m/s
ARRIVED = 0.3  # m
WITHIN = 0.5  # °, of the limits


class TowTask:
    """Drives along WAY, by what an operator sees and encoders of the sprockets."""

    def __init__(self, simulation: Simulation) -> None:
        self.done = False
        self._leg = 0
        self._look_at(simulation)
        self._times: list[float] = []
        self._angles: list[Array] = []  # rad, of the hitch
        self._torques: list[list[float]] = []  # N m, of the drives
        self._astray = 0.0
        self._upright = 1.0

    def _look_at(self, simulation: Simulation) -> None:
        """See and drive this one: with another solver it is another."""
        self._simulation = simulation
        self._robot = simulation.body("chassis")
        self._drives = [simulation.dc_motor(name) for name, _ in SIDES]
        self._sprockets = [simulation.joint(f"{name}_sprocket") for name, _ in SIDES]
        self._hitch = simulation.joint("hitch")

    def __call__(self, simulation: Simulation) -> None:
        if simulation is not self._simulation:
            self._look_at(simulation)
        self._note(simulation.time)
        position, rotation = self._robot.position, self._robot.rotation
        self.done = bool(np.hypot(*(position[:2] - WAY[-1])) < ARRIVED)
        speed, turn = (0.0, 0.0) if self.done else self._steer(position[:2], rotation)
        turn += INSIST * (turn - float(self._robot.angular_velocity[2]))
        for (_, side), drive, sprocket in zip(SIDES, self._drives, self._sprockets, strict=True):
            wanted = speed - side * turn * SKID_TREAD / 2
            error = wanted - RADIUS * float(sprocket.velocity[0])
            drive.input = float(np.clip(wanted / TOP_SPEED + GAIN * error, -1.0, 1.0))

    def _steer(self, place: Array, rotation: Array) -> tuple[float, float]:
        """m/s and rad/s wanted: towards a point of the way some distance ahead, slower where it turns."""
        start, end = np.array(WAY[self._leg]), np.array(WAY[self._leg + 1])
        along = (end - start) / np.hypot(*(end - start))
        left = float((end - place) @ along)  # m, to the end of the leg
        if left < LOOK_AHEAD and self._leg + 2 < len(WAY):
            self._leg += 1
            return self._steer(place, rotation)
        aim = place + along * LOOK_AHEAD + (start - place) - along * float((start - place) @ along)
        heading = math.atan2(rotation[1, 0], rotation[0, 0])
        wanted = math.atan2(*(aim - place)[::-1])
        error = math.remainder(wanted - heading, math.tau)
        turn = float(np.clip(TURNING * error, -TURN_RATE, TURN_RATE))
        return SPEED * max(0.3, 1.0 - 1.5 * abs(error)), turn

    def _note(self, time: float) -> None:
        """What figures are made of."""
        self._times.append(time)
        self._angles.append(euler_xyz(self._hitch.position))
        self._torques.append([float(drive.torque) for drive in self._drives])
        legs = [_distance(self._robot.position[:2], *ends) for ends in pairwise(WAY)]
        self._astray = max(self._astray, min(legs))
        self._upright = min(self._upright, float(self._robot.rotation[2, 2]))

    def figures(self) -> list[Figure]:
        """Whether it arrived, and whether the trailer reached its limits and kept them."""
        position = self._robot.position[:2]
        reached = np.degrees(np.abs(self._angles).max(axis=0, initial=0.0))
        share = np.abs(self._torques).max(initial=0.0) / DRIVE["stall_torque"]
        return [
            Figure("left of the way", float(np.hypot(*(position - WAY[-1]))), high=ARRIVED, unit="m"),
            *(
                Figure(f"trailer about {axis}", angle, most - WITHIN, most + WITHIN, "°")
                for axis, angle, most in zip("XYZ", reached, np.degrees(LIMITS), strict=True)
            ),
            Figure("off the way", self._astray, high=0.5, unit="m"),
            Figure("upright", self._upright, low=math.cos(math.radians(35.0))),
            Figure("torque of the drives by stall torque", float(share), high=1.0),
        ]

    def curves(self) -> list[Curve]:
        """Angles of the hitch between their limits, and torques of the drives."""
        angles, torques = np.degrees(self._angles).reshape(-1, 3), np.reshape(self._torques, (-1, 2))
        stall = DRIVE["stall_torque"]
        return [
            *(
                Curve(f"trailer about {axis}", "°", self._times, angles[:, k].tolist(), -most, most)
                for k, (axis, most) in enumerate(zip("XYZ", np.degrees(LIMITS).tolist(), strict=True))
            ),
            *(
                Curve(f"torque of the {name} drive", "N m", self._times, torques[:, k].tolist(), -stall, stall)
                for k, (name, _) in enumerate(SIDES)
            ),
        ]


def euler_xyz(quaternion: Array) -> Array:
    """Angles of R = Rx(a) Ry(b) Rz(c), rad."""
    x, y, z, w = quaternion
    a = math.atan2(2 * (x * w - y * z), 1 - 2 * (x * x + y * y))
    b = math.asin(max(-1.0, min(1.0, 2 * (x * z + y * w))))
    c = math.atan2(2 * (z * w - x * y), 1 - 2 * (y * y + z * z))
    return np.array([a, b, c])


def _distance(point: Array, start: Vector, end: Vector) -> float:
    """m, of a point from a line between two."""
    way = np.subtract(end, start)
    share = float(np.clip((point - start) @ way / (way @ way), 0.0, 1.0))
    return float(np.hypot(*(point - start - share * way)))
