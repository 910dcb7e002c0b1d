"""Centres of mass of parts of the robot, as a simulation has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sharnir.model import Model, Reals

if TYPE_CHECKING:
    from sharnir.simulation import Simulation


class Center:
    """Of a body and all that it carries. mass: kg."""

    def __init__(self, model: Model, body: str) -> None:
        self._links = carried(model, body)
        self.mass = float(model.mass[self._links].sum())
        self._share = model.mass[self._links] / self.mass
        place = (model.com - model.body_pos)[self._links]
        self._place = np.einsum("nji,nj->ni", model.body_rot[self._links], place)  # m, in the bodies' frames

    def at(self, sim: Simulation) -> Reals:
        """[3] m, world."""
        x = sim.seen("position").reshape(-1, 3)[self._links]
        R = sim.seen("rotation").reshape(-1, 3, 3)[self._links]
        return np.asarray(self._share @ (x + np.einsum("nij,nj->ni", R, self._place)))


def carried(model: Model, body: str) -> list[int]:
    """Links of a body and all that it carries."""
    links = {model.body(body)}
    for link in range(model.nb):
        if int(model.parent[link]) in links:
            links.add(link)
    return sorted(links)
