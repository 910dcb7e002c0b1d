"""The joints of a scene. Coordinates q describe the child relative to the parent; all are zero in the reference
configuration (quaternions are then (0, 0, 0, 1)), except for `Free`, whose q is the pose of the child's body
frame in the parent's.

| joint       | q                       | v                                                             |
|-------------|-------------------------|---------------------------------------------------------------|
| Fixed       | –                       | –                                                             |
| Revolute    | angle about z, rad      | its rate                                                      |
| Prismatic   | displacement along z, m | its rate                                                      |
| Helical     | angle, rad              | its rate; the child advances pitch/2π per radian              |
| Cylindrical | displacement, angle     | their rates                                                   |
| Universal   | angles about axis, axis2| their rates                                                   |
| Planar      | x, y, angle about z     | their rates                                                   |
| Spherical   | quaternion (x, y, z, w) | angular velocity in the child's joint frame, rad/s            |
| Free        | x, y, z, quaternion     | linear velocity in the parent's frame, angular in the child's |
| Compound    | one of each of its steps| their rates                                                   |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sharnir.spec.elements import Element, Frame, Vector

Numbers = float | Vector


@dataclass(kw_only=True)
class Joint(Element):
    """Base of all joints.

    parent, child: body names or "world".
    Placed in the world, in the reference configuration: anchor (m, default the origin), axis (the joint's z, default
    the world's z), x_axis (optional; where
    q is measured from, made perpendicular to the axis). Or in body frames: parent_frame and child_frame, which
    coincide at q = 0.
    position, velocity: initial coordinates; positions left out are zero, or follow for the joint that closes a loop,
    which is one without a stated position where there is any; velocities left out are zero or, in a loop,
    follow from those given. damping (N s/m, N m s/rad), stiffness (N/m, N m/rad), armature
    (rotor inertia, kg or kg m²) and effort (constant drive, N or N m): one number or one per coordinate of v; the
    three of a rotation given by a quaternion have one common stiffness. rest: q where the spring is at rest.
    friction: dry friction, N or N m, one number or one per coordinate of v.
    limits: (lower, upper), m or rad, one pair per coordinate of v; a bare pair will do where there is one; -inf and inf
    mean no bound. limit_angles: what the three rotation pairs of Spherical and Free joints mean, for the quaternion
    (x, y, z, w) of the child in the parent:
      "twist": angles 2 atan2(x, w), 2 atan2(y, w), 2 atan2(z, w) about each axis, bounds within ±π;
      "euler": angles a, b, c of R = Rx(a) Ry(b) Rz(c), bounds within ±π and those of b within ±π/2;
      "cone": pairs x and y are (-s, s) with 0 < s < π, half-angles of an elliptic cone in which the child's z axis
        swings; pair z is the range of the twist about that axis, bounds within ±π;
      "angle": all three pairs are (-s, s) with one s, 0 < s < π, the most it may turn about any axis.
    max_force, max_speed: what drives of the joint can do, N or N m and m/s or rad/s, one number or one per coordinate
    of v: motors have no more of either, actuators no more force together.
    """

    name: str
    parent: str
    child: str
    anchor: Vector | None = None
    axis: Vector | None = None
    x_axis: Vector | None = None
    parent_frame: Frame | None = None
    child_frame: Frame | None = None
    position: Numbers | None = None
    velocity: Numbers | None = None
    damping: Numbers = 0.0
    stiffness: Numbers = 0.0
    rest: Numbers | None = None
    armature: Numbers = 0.0
    effort: Numbers = 0.0
    friction: Numbers = 0.0
    limits: Sequence[Any] | NDArray[np.float64] | None = None
    limit_angles: str = "twist"
    max_force: Numbers = inf
    max_speed: Numbers = inf

    nq: ClassVar[int] = 0
    nv: ClassVar[int] = 0


@dataclass(kw_only=True)
class Fixed(Joint):
    """Holds the child to the parent."""


@dataclass(kw_only=True)
class Revolute(Joint):
    """A hinge about the joint's z axis."""

    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1


@dataclass(kw_only=True)
class Prismatic(Joint):
    """A slide along the joint's z axis."""

    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1


@dataclass(kw_only=True)
class Helical(Joint):
    """A screw about the joint's z axis. pitch: m advanced per turn."""

    pitch: float

    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1


@dataclass(kw_only=True)
class Cylindrical(Joint):
    """Slides along and turns about the joint's z axis."""

    nq: ClassVar[int] = 2
    nv: ClassVar[int] = 2


@dataclass(kw_only=True)
class Universal(Joint):
    """A cross of two perpendicular hinges: `axis` fixed in the parent, `axis2` in the child.

    In body frames: z of parent_frame is the first axis, z of child_frame the second; at q = 0 the child's z lies
    along the parent's x, and the child's x along the parent's y.
    """

    axis2: Vector | None = None

    nq: ClassVar[int] = 2
    nv: ClassVar[int] = 2


@dataclass(kw_only=True)
class Spherical(Joint):
    """A ball joint, one quaternion, no singular configuration."""

    nq: ClassVar[int] = 4
    nv: ClassVar[int] = 3


@dataclass(kw_only=True)
class Planar(Joint):
    """Slides in the plane of the joint's x and y axes and turns about its z axis."""

    nq: ClassVar[int] = 3
    nv: ClassVar[int] = 3


@dataclass(kw_only=True)
class Free(Joint):
    """Six degrees of freedom. `position` defaults to the pose the bodies have in the reference configuration."""

    nq: ClassVar[int] = 7
    nv: ClassVar[int] = 6


@dataclass(kw_only=True)
class Step(Element):
    """One motion of a Compound joint, as it lies in the world in the reference configuration.

    kind: "hinge" (turns about `axis` through `anchor`) or "slide" (moves along `axis`). anchor: m. name: by which its
    coordinate may be found, besides its place among the steps; left out, it has none.
    """

    kind: str = "hinge"
    anchor: Vector = (0.0, 0.0, 0.0)
    axis: Vector = (0.0, 0.0, 1.0)
    name: str | None = None


@dataclass(kw_only=True)
class Compound(Joint):
    """Hinges and slides one after another, from the parent to the child, with nothing between them.

    steps: its motions, the parent's first, each placed in the world. Every step moves those that follow. Only in the
    tree: such a joint closes no loop, and needs generalised coordinates.
    """

    steps: Sequence[Step]

    @property
    def nq(self) -> int:  # type: ignore[override]
        """Number of position coordinates."""
        return len(self.steps)

    @property
    def nv(self) -> int:  # type: ignore[override]
        """Number of velocity coordinates."""
        return len(self.steps)


JOINT_TYPES: dict[str, type[Joint]] = {
    t.__name__.lower(): t
    for t in (Fixed, Revolute, Prismatic, Helical, Cylindrical, Universal, Spherical, Planar, Free)
}
ALL_JOINT_TYPES: dict[str, type[Joint]] = {**JOINT_TYPES, "compound": Compound}  # also those that close no loops
