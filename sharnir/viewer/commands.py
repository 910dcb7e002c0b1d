"""What a viewer may ask of a simulation: a closed list, each with its range. Whatever else comes is refused.

Commands are judged where they are obeyed, in the simulation's process: nothing that a browser sends is trusted.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import NamedTuple

from sharnir.model.model import Model

FAR = 1e4  # m, from the origin: farther nobody pulls
SAVED = 8  # states that are kept
LONGEST = 1e6  # s
DT = (1e-5, 0.1)  # s
SPEED = (0.01, 4.0)  # simulated over real time
BUDGET = (1e-5, 1.0)  # s; or 0 for none


class Kind(IntEnum):
    """A command, and its arguments: index; values."""

    RUN = 1
    PAUSE = 2
    STEP = 3
    RESET = 4
    SPEED = 5  # ; simulated over real time
    SOLVER = 6  # number of the solver
    DT = 7  # ; s
    BUDGET = 8  # ; s, 0 for none
    MOTOR = 9  # motor; target, rad/s or m/s, or rad or m
    ACTUATOR = 10  # actuator; input
    TORQUE = 11  # coordinate that is read out; N or N m
    SAVE = 12  # place
    RESTORE = 13  # place
    GRAB = 14  # body; point of it and point to pull it to, m, world
    PULL = 15  # ; point to pull to, m, world
    LET_GO = 16
    STOP = 17  # emergency stop
    CLEAR = 18  # end it
    SEEK = 19  # ; s, of a recording


class Command(NamedTuple):
    """What is asked, of which of several things, and how much."""

    kind: Kind
    of: int = 0  # its index
    values: tuple[float, ...] = ()


class Bounds(NamedTuple):
    """What a command may hold. things: indices go from 0 to one less. ranges: of its values."""

    things: int
    ranges: tuple[tuple[float, float], ...] = ()


def bounds_of(model: Model, torques: list[float], solvers: int) -> dict[Kind, Bounds]:
    """The list. torques: the most on each coordinate that is read out, N or N m."""
    where = ((-FAR, FAR),) * 3
    plain = (Kind.RUN, Kind.PAUSE, Kind.STEP, Kind.RESET, Kind.LET_GO, Kind.STOP, Kind.CLEAR)
    most = max(torques, default=0.0)
    return {
        **dict.fromkeys(plain, Bounds(1)),
        Kind.SPEED: Bounds(1, (SPEED,)), Kind.SOLVER: Bounds(solvers), Kind.DT: Bounds(1, (DT,)),
        Kind.BUDGET: Bounds(1, ((0.0, BUDGET[1]),)), Kind.MOTOR: Bounds(len(model.motor_names), ((-FAR, FAR),)),
        Kind.ACTUATOR: Bounds(len(model.actuator_names), ((-FAR, FAR),)),
        Kind.TORQUE: Bounds(len(torques), ((-most, most),)), Kind.SAVE: Bounds(SAVED), Kind.RESTORE: Bounds(SAVED),
        Kind.GRAB: Bounds(model.nb, where * 2), Kind.PULL: Bounds(1, where), Kind.SEEK: Bounds(1, ((0.0, LONGEST),)),
    }  # fmt: skip


def judged(bounds: dict[Kind, Bounds], kind: int, index: int, values: tuple[float, ...]) -> Command | None:
    """A command that is on the list and within its range; None for any other."""
    try:
        known = Kind(kind)
        allowed = bounds[known]
    except (ValueError, KeyError):
        return None
    given = values[: len(allowed.ranges)]
    inside = all(math.isfinite(x) and low <= x <= high for x, (low, high) in zip(given, allowed.ranges, strict=True))
    return Command(known, index, given) if inside and 0 <= index < allowed.things else None
