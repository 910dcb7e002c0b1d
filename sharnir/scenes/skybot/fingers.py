"""Fingers of a hand: open to given angles, or closed by torque until what they hold stops them."""

from __future__ import annotations

import numpy as np

from sharnir.model import Reals
from sharnir.scenes.skybot.hand import FINGER_JOINTS
from sharnir.scenes.skybot.servos import Servos

OPEN = {"finger": (0.1, 0.15), "thumb": (-0.3, 0.0)}  # rad, first and second hinge
SHARES = {"finger": (1.0, 0.6), "thumb": (1.0, 0.6)}  # of the torque


class Fingers:
    """All fingers of one side."""

    def __init__(self, servos: Servos, side: str) -> None:
        self._servos = servos
        names = [f"{side}_{finger}_{k}" for finger in FINGER_JOINTS for k in (1, 2)]
        self._motors = np.array([servos.number[name] for name in names])
        self._open = _by_kind(OPEN)
        self._shares = _by_kind(SHARES)

    def hold(self, torque: float) -> None:
        """Close with a torque of the first hinges, N m."""
        self._servos.forced[self._motors] = True
        self._servos.load[self._motors] = torque * self._shares

    def release(self, rate: float) -> None:
        """Go towards the open hand by a share of what is left, from where the targets are."""
        servos = self._servos
        if servos.forced[self._motors].any():
            servos.forced[self._motors] = False
            servos.target[self._motors] = servos.seen[self._motors]
        servos.load[self._motors] = 0.0
        servos.target[self._motors] += rate * (self._open - servos.target[self._motors])


def _by_kind(table: dict[str, tuple[float, float]]) -> Reals:
    return np.concatenate([table["thumb" if finger == "thumb" else "finger"] for finger in FINGER_JOINTS])
