"""What is noted while the robot works: its balance, its feet, its motors, and what its hands exert by contact."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sharnir.control.tasks import carried_by
from sharnir.model.model import Model, Reals
from sharnir.rotations import cross
from sharnir.scenes.goals import Figure
from sharnir.scenes.skybot.loads import FEET
from sharnir.scenes.skybot.motors import nameplate
from sharnir.sensors.support_polygon import center_of_mass, distance_inside, support_polygon
from sharnir.spec.scene import WORLD

if TYPE_CHECKING:
    from sharnir.simulation.simulation import Simulation

SLIP = 1e-3  # m, the most that feet may move
OFTEN = 0.05  # s, between records of contact
ROUNDING = 1e-6  # of a motor's largest torque


class Touch(NamedTuple):
    """What a hand exerts on a body by contact, about the origin of its frame."""

    time: float  # s
    side: str
    force: Reals  # [3] N
    torque: Reals  # [3] N m
    points: int


class Watch:
    """Notes from call to call; `figures` says what came of it. thing: body that hands hold. carried: whether its weight
    counts with the robot's where nothing but the robot touches it.

    touches: wrenches of the hands on it, every 0.05 s.
    """

    def __init__(self, model: Model, thing: str, carried: bool = False) -> None:
        self.thing, self.touches = thing, list[Touch]()
        self.margin, self.slip, self.load = np.inf, 0.0, 0.0
        self._shares = _shares(model, "pelvis"), _shares(model, "pelvis", *([thing] if carried else []))
        self.weight = float(model.mass[self._shares[0] > 0].sum() * np.linalg.norm(model.gravity))  # N, of the robot
        self._torque = np.array([nameplate(n).constant * nameplate(n).current for n in model.actuator_names])
        self._feet: Reals | None = None
        self._due = 0.0

    def __call__(self, sim: Simulation) -> None:
        feet = np.array([sim.body(foot).position for foot in FEET])
        self._feet = feet if self._feet is None else self._feet
        self.slip = max(self.slip, float(np.linalg.norm((feet - self._feet)[:, :2], axis=1).max()))
        if sim.time >= self._due - 1e-9 and sim.time > 0:
            self._due = sim.time + OFTEN
            self.margin = min(self.margin, self.balance(sim))
            self.touches += self.touched(sim)

    def note_motors(self, sim: Simulation) -> None:
        """How much of their torques motors gave in the last step."""
        given = np.abs(sim._column(sim.impulses.state.actuator_force)) / self._torque
        self.load = max(self.load, float(given.max()))

    def balance(self, sim: Simulation) -> float:
        """m, from the centre of mass to the nearest edge of the polygon that the feet touch; negative outside."""
        lies = bool(sim.contacts(self.thing, WORLD))
        center = center_of_mass(sim, self._shares[0 if lies else 1])
        return distance_inside(support_polygon(sim, FEET), center)

    def touched(self, sim: Simulation) -> list[Touch]:
        """What both hands exert on the thing now."""
        touches = {side: Touch(sim.time, side, np.zeros(3), np.zeros(3), 0) for side in ("left", "right")}
        origin = sim.body(self.thing).position
        for c in sim.contacts(self.thing):
            other = c.bodies[0] if c.bodies[1] == self.thing else c.bodies[1]
            side, push = other.split("_")[0], c.force if c.bodies[1] == self.thing else -c.force
            if side in touches:
                _, _, force, torque, points = touches[side]
                felt = force + push, torque + cross(c.point - origin, push), points + 1
                touches[side] = Touch(sim.time, side, *felt)
        return list(touches.values())

    def figures(self) -> list[Figure]:
        """Balance, feet and motors."""
        return [
            Figure("centre of mass inside the support by", self.margin, low=0.0, unit="m"),
            Figure("slip of the feet", self.slip, high=SLIP, unit="m"),
            Figure("torque of a motor by its largest", self.load, high=1.0 + ROUNDING),
        ]


def _shares(model: Model, *bodies: str) -> Reals:
    """[nb] of the mass of bodies and all that they carry."""
    mass = np.where(np.any([carried_by(model, body) for body in bodies], axis=0), model.mass, 0.0)
    return np.asarray(mass / mass.sum())
