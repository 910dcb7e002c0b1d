"""The task to stand: the centre of mass over what the feet stand on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sharnir.checks import number, vector
from sharnir.control.tasks import CenterOfMassTask
from sharnir.model.model import Model, Reals
from sharnir.sensors.support_polygon import (
    center_of_mass,
    center_of_mass_velocity,
    centroid,
    distance_inside,
    move_inside,
    support_polygon,
)
from sharnir.spec.elements import plain

if TYPE_CHECKING:
    from sharnir.simulation.simulation import Simulation


class BalanceTask(CenterOfMassTask):
    """The centre of mass, seen from above, over the support polygon of the feet that touch something.

    feet: bodies by name. of: the body that carries all that counts; left out, all bodies of the model. margin: m, by
    which the target stays inside the polygon. wanted: [2] m, where in the world it should be, as far as that is within;
    None: over the polygon's middle. gains: pull (1/s) and damp (s) of the feedback of `follow`.

    `task.look(sim)` takes the polygon of the feet that touch something now; it is to be called where the robot begins
    to stand, and again where it steps, not while feet flicker. `task.follow(sim, dt)`, before every call of inverse
    kinematics, brings the centre of mass where it should be although joints sag, and damps its swaying.
    """

    def __init__(
        self, feet: Sequence[str], *, of: str | None = None, margin: float = 0.03, wanted: Any = None,
        gains: Any = (0.3, 0.2), weight: float = 1.0, priority: int = 0, rate: float | None = None,
    ) -> None:  # fmt: skip
        axes = (True, True, False)
        super().__init__((0.0, 0.0, 0.0), of=of, axes=axes, weight=weight, priority=priority, rate=rate)
        self.name = "balance"
        self.feet = tuple(feet)
        self.margin = number(self.name, "margin", margin, least=0)
        self.gains = vector(self.name, "gains", plain(gains), 2)
        self.wanted = wanted
        self.polygon = np.zeros((0, 2))  # m, that is stood on
        self._trim = np.zeros(2)  # m, that what sags needs
        self._shares: tuple[Model, Reals] | None = None

    def group(self, model: Model) -> Reals:
        if self._shares is None or self._shares[0] is not model:
            self._shares = model, super().group(model)
        return self._shares[1]

    @property
    def wanted(self) -> Reals | None:
        """[2] m, world."""
        return self._wanted

    @wanted.setter
    def wanted(self, value: Any) -> None:
        self._wanted = None if value is None else vector(self.name, "wanted", plain(value), 2)

    def look(self, sim: Simulation) -> float:
        """Aim over the polygon as it is now; m by which the centre of mass is inside it, negative outside. In the air
        the aim stays, and what is returned is −inf where none was taken before."""
        polygon = support_polygon(sim, self.feet)
        here = center_of_mass(sim, self.group(sim.model))
        if len(polygon):
            self.polygon, self._trim = polygon, np.zeros(2)
            self.target = (*self._aim(), here[2])
        return distance_inside(self.polygon, here)

    def follow(self, sim: Simulation, dt: float) -> float:
        """Aim beyond by the integral of pull (aim − measured) and short by damp times the measured velocity, but within
        the polygon; m by which the centre of mass is inside it. dt: s, since the last call."""
        if not len(self.polygon):
            self.look(sim)
        shares = self.group(sim.model)
        here, velocity = center_of_mass(sim, shares), center_of_mass_velocity(sim, shares)
        if len(self.polygon):
            aim, (pull, damp) = self._aim(), self.gains
            self._trim = move_inside(self.polygon, aim + self._trim + dt * pull * (aim - here[:2]), self.margin) - aim
            target = move_inside(self.polygon, aim + self._trim - damp * velocity[:2], self.margin)
            self.target = (*target, here[2])
        return distance_inside(self.polygon, here)

    def _aim(self) -> Reals:
        wanted = centroid(self.polygon) if self._wanted is None else self._wanted
        return move_inside(self.polygon, wanted, self.margin)
