"""Fingers of a hand: open to given angles, or closed by torque until what they hold stops them."""

from __future__ import annotations

import numpy as np

from sharnir.scenes.skybot.hand import FINGER_JOINTS
from sharnir.scenes.skybot.servos import Servos

Angles = dict[str, tuple[float, float]]  # rad of the first and second hinges, of fingers and thumb
OPEN: Angles = {"finger": (0.1, 0.15), "thumb": (-0.3, 0.0)}
FLAT: Angles = {"finger": (0.0, 0.0), "thumb": (-1.5, 0.0)}  # nothing stands out of the palm's plane
SHARES = (1.0, 0.6)  # of the torque


class Fingers:
    """All fingers of one side. rest: where they are when they hold nothing. thumb: whether it takes part in holding."""

    def __init__(self, servos: Servos, side: str, rest: Angles = OPEN, thumb: bool = True) -> None:
        self._servos = servos
        names = [f"{side}_{finger}_{k}" for finger in FINGER_JOINTS for k in (1, 2)]
        self._all = np.array([servos.number[name] for name in names])
        self._holding = self._all if thumb else self._all[:-2]
        self._rest = np.concatenate([rest["thumb" if finger == "thumb" else "finger"] for finger in FINGER_JOINTS])
        self._shares = np.tile(SHARES, len(self._holding) // 2)

    def hold(self, torque: float) -> None:
        """Close with a torque of the first hinges, N m."""
        self._servos.forced[self._holding] = True
        self._servos.load[self._holding] = torque * self._shares

    def release(self, share: float) -> None:
        """Go some share of what is left of the way to rest, from where the targets are."""
        servos = self._servos
        if servos.forced[self._holding].any():
            servos.forced[self._holding] = False
            servos.target[self._holding] = servos.seen[self._holding]
        servos.load[self._holding] = 0.0
        servos.target[self._all] += share * (self._rest - servos.target[self._all])
