"""What drives and couples the coordinates of joints. Plain data, SI units; judged by `sharnir.compile`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from sharnir.spec.elements import Element, Vector


@dataclass(kw_only=True)
class Motor(Element):
    """Drives one velocity coordinate of a joint to a velocity or a position, with a force no larger than it has.

    joint: its name. coordinate: index of the velocity coordinate, counted from the joint's first.
    velocity: target rate, rad/s or m/s; any coordinate. position: target, rad or m; not for rotations given by a
    quaternion. Exactly one of the two is given.
    max_force: N or N m, inf for any. max_speed: rad/s or m/s, of the approach to a position, inf for any.
    response: s, time constant of that approach; 0 for at once.
    """

    name: str
    joint: str
    coordinate: int = 0
    velocity: float | None = None
    position: float | None = None
    max_force: float = inf
    max_speed: float = inf
    response: float = 0.05


@dataclass(kw_only=True)
class Actuator(Element):
    """A force on joint coordinates that follows an input: f = (g₀ + g₁ s + g₂ ṡ) u + b₀ + b₁ s + b₂ ṡ.

    It acts on s = Σ gearₖ qₖ, the path it works along: coordinate k gets gearₖ f. Gain (1, 0, 0) is a plain force;
    gain (kp, 0, 0) and bias (0, −kp, −kv) a servo that seeks the position u. What resists motion in it is implicit:
    stable for any gains and steps, and of second order (M-70). The exact solver knows the plain law.

    joints: names, one or several. coordinates: index of the velocity coordinate in each, counted from the joint's
    first; left out, 0. gears: N by N, N m by N, …; left out, 1. gain: g₀, g₁, g₂. bias: b₀, b₁, b₂. Of rotations given
    by a quaternion, q counts as 0.
    input: what it is given at the start. input_limits, force_limits: (lower, upper) to which the input and f are
    clamped, f of a whole step (M-71). response: s, time constant by which u follows the input; 0 for at once.
    integrates: u is the integral of the input, starting at 0, kept within input_sum_limits.
    """

    name: str
    joints: Sequence[str]
    coordinates: Sequence[int] | None = None
    gears: Vector | None = None
    gain: Vector = (1.0, 0.0, 0.0)
    bias: Vector = (0.0, 0.0, 0.0)
    input: float = 0.0
    input_limits: Vector = (-inf, inf)
    force_limits: Vector = (-inf, inf)
    response: float = 0.0
    integrates: bool = False
    input_sum_limits: Vector = (-inf, inf)


@dataclass(kw_only=True)
class Coupling(Element):
    """Ties a coordinate of one joint to one of another: q_follower = ratio · q_leader + offset.

    Both are displacements or angles, not rotations given by a quaternion. Two hinges: a pair of gears, whose ratio is
    minus that of the radii, leader's by follower's (plus for internal gears, belts and chains). A hinge and a slide:
    rack and pinion, ratio in m/rad. Equal joints and ratio 1: a joint that mimics another, or a repeater.

    leader, follower: names of the joints. ratio: rad/rad, m/m, m/rad or rad/m, not 0. offset: rad or m.
    leader_coordinate, follower_coordinate: indices of the velocity coordinates, counted from the joint's first.
    """

    name: str
    leader: str
    follower: str
    ratio: float = 1.0
    offset: float = 0.0
    leader_coordinate: int = 0
    follower_coordinate: int = 0
