"""Named access to joints, bodies, motors and actuators of a simulation: numpy views on the CPU, copies from a GPU.

Arrays are [items] for one world and [items, worlds] for more, and only read: what may be written is written with
`view.name = values`.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from sharnir.checks import real_array
from sharnir.enums import ScalarSource
from sharnir.errors import fail, nearest, shown
from sharnir.impulse.row_kinds import SCALAR_IMPULSES, ScalarImpulse
from sharnir.impulse.slots import PrevStep
from sharnir.model.model import Reals
from sharnir.rotations import cross

if TYPE_CHECKING:
    from sharnir.simulation.simulation import Simulation


def write_input(simulation: Simulation, array: Any, rows: Any, what: str, values: Any) -> None:
    """Write finite numbers, one for all or one for each, to rows of an input array; what: name for the message."""
    if values.__class__ is float and isfinite(values):  # one number for all, as in a control loop
        simulation.impulses.put(array, rows, values)
        simulation._pushed()
        return
    present = simulation._column(array)[rows]
    shape = np.shape(present)
    try:
        given = real_array(values)
        given = given if given.shape == shape else np.broadcast_to(given, shape)
    except (TypeError, ValueError):
        allowed = f"a number or {list(shape)}" if shape else "a number"
        raise fail(what, "has the wrong shape", shown(values), allowed) from None
    if not np.isfinite(given).all():
        raise fail(what, "is not finite", shown(values), "finite numbers")
    simulation.impulses.put(array, rows, given if simulation.worlds > 1 else given[..., None])
    simulation._pushed()


def opposite_wrench(wrench: Reals, arm: Reals) -> Reals:
    """The opposite wrench, about a point at `arm` (m) from the one the wrench is about."""
    force, torque = wrench[:3], wrench[3:]
    return np.concatenate([-force, cross(arm, force) - torque])


class View:
    """What a simulation shows of one of its elements, and takes. Assigning anything it does not take is an error."""

    __slots__ = ("_simulation", "name")
    _simulation: Simulation
    name: str

    def __init__(self, simulation: Simulation, name: str) -> None:
        object.__setattr__(self, "_simulation", simulation)
        object.__setattr__(self, "name", name)

    def __setattr__(self, name: str, value: Any) -> None:
        known = getattr(type(self), name, None)
        if known is None or (known.fset is None if isinstance(known, property) else name[0] != "_"):
            raise refused_attribute(self, name)
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.name!r}>"


def refused_attribute(view: View, name: str) -> AttributeError:
    """The error of assigning to what a view has not, or only shows."""
    properties = {n: p for n in dir(type(view)) if isinstance(p := getattr(type(view), n), property)}
    element = f"{type(view).__name__} of {view.name!r}"
    taken = ", ".join(n for n, p in properties.items() if p.fset is not None) or "nothing"
    if name in properties or name == "name":
        what = " by Simulation.set_state" if name in ("position", "velocity") else ""
        return AttributeError(f"{element}: {name} is only read; allowed: {f'set it{what}, or ' if what else ''}{taken}")
    return AttributeError(f"{element}: has no attribute {name!r}{nearest(name, properties)} Taken: {taken}")


class JointView(View):
    """A joint of a simulation, in the tree or closing a loop."""

    __slots__ = ("_coordinates", "_joint")

    def __init__(self, simulation: Simulation, name: str) -> None:
        super().__init__(simulation, name)
        self._joint = simulation.inner.joint(name)
        model = simulation.inner
        first = self._joint.v.start + (model.nv if self._joint.closes_loop else 0)
        self._coordinates = slice(first, first + self._joint.v.stop - self._joint.v.start)

    @property
    def position(self) -> Reals:
        """Coordinates q of the joint (sharnir.spec.joints), angles counted over turns."""
        state = self._simulation.impulses.state
        return self._simulation._column(state.loop_q if self._joint.closes_loop else state.q)[self._joint.q]

    @property
    def velocity(self) -> Reals:
        """Rates v of the joint at the time of its position."""
        return self._simulation.seen("loop_v" if self._joint.closes_loop else "v")[self._joint.v]

    @property
    def control(self) -> Reals:
        """Forces on its coordinates besides those of drives, N or N m, held until changed."""
        return self._simulation._column(self._simulation.applied_control)[self._coordinates]

    @control.setter
    def control(self, values: Any) -> None:
        array = self._simulation.applied_control
        write_input(self._simulation, array, self._coordinates, f"control of joint {self.name!r}", values)

    @property
    def wrench(self) -> Reals:
        """[6] force (N) and torque (N m, about the joint's frame) the joint exerts on its child, world axes; drives,
        limits and friction included."""
        model, k = self._simulation.inner, self._simulation.inner.joint_names.index(self.name)
        if self._joint.closes_loop:
            k -= model.nb
            return self._simulation.seen("loop_wrench")[6 * k : 6 * k + 6]
        on_link = self._simulation.seen("wrench")[6 * k : 6 * k + 6]
        if model.joint_link[k, 1] == k:
            return on_link
        # the joint is crossed from child to parent
        return opposite_wrench(on_link, self._joint_origin(k, 1) - self._link_origin(k))

    def _link_origin(self, link: int) -> Reals:
        """Origin of a link's frame in the world, [3] or [3, worlds]."""
        model, sim = self._simulation.inner, self._simulation
        position = sim.seen("position")[3 * link : 3 * link + 3]
        return position - np.tensordot(self._link_axes(link), model.body_pos[link], axes=([1], [0]))

    def _link_axes(self, link: int) -> Reals:
        """[3, 3] or [3, 3, worlds] axes of a link's frame in the world."""
        rows = self._simulation.seen("rotation")[9 * link : 9 * link + 9]
        body = rows.reshape(3, 3, *rows.shape[1:])
        return np.einsum("ij...,kj->ik...", body, self._simulation.inner.body_rot[link])

    def _joint_origin(self, k: int, side: int) -> Reals:
        """Origin of joint k's frame on its parent (0) or child (1) in the world."""
        model = self._simulation.inner
        link, anchor = int(model.joint_link[k, side]), model.joint_pos[k, side]
        if link < 0:
            shape = (3,) if self._simulation.worlds == 1 else (3, self._simulation.worlds)
            return np.broadcast_to(anchor if len(shape) == 1 else anchor[:, None], shape)
        return self._link_origin(link) + np.tensordot(self._link_axes(link), anchor, axes=([1], [0]))

    @property
    def limit_force(self) -> Reals:
        """Forces of its limits in the last step, by coordinate, N or N m."""
        return self._row_forces(ScalarImpulse.BOUND)

    @property
    def friction_force(self) -> Reals:
        """Forces of dry friction in the last step, by coordinate, N or N m."""
        return self._row_forces(ScalarImpulse.FRICTION)

    def _row_forces(self, row_kind: int) -> Reals:
        """Forces of one row kind in the last step, by coordinate. row_kind: …_ROW of impulse.row_kinds."""
        coordinates = range(self._coordinates.start, self._coordinates.stop)
        return np.array([scalar_force(self._simulation, self._scalar_row(c, row_kind), row_kind) for c in coordinates])

    def _scalar_row(self, c: int, row_kind: int) -> int | None:
        """Number of the scalar row on which a row kind acts on coordinate c; limits of a ball joint act on rows of its
        angles."""
        scalars = self._simulation.impulses.scalars
        if row_kind == ScalarImpulse.BOUND and self._simulation.inner.coordinate_positions[c] < 0:
            for l, row in enumerate(scalars.rows):
                first, angle = row.source  # first coordinate of the ball; 3 · limit kind + axis
                if row.source_kind == ScalarSource.BALL_ANGLE and first <= c == first + angle % 3:
                    return l
            return None
        return scalars.scalar_of_coordinate.get(c)


def scalar_force(simulation: Simulation, scalar: int | None, row_kind: int) -> Any:
    """Mean force (N or N m) of one row kind of a scalar constraint in the last step; 0 without a constraint. scalar:
    its number; row_kind: …_ROW of impulse.row_kinds."""
    impulses = simulation.impulses
    duration = simulation._column(impulses.state.prev_step)[PrevStep.FORCE_TIME]
    if scalar is None:
        return np.zeros_like(duration)
    p = simulation._column(impulses.state.p)[impulses.layout.scalar_p_start + SCALAR_IMPULSES * scalar + row_kind]
    return np.divide(p, duration, out=np.zeros_like(p), where=duration > 0)


class MotorView(View):
    """A motor of a simulation."""

    __slots__ = ("_number",)

    def __init__(self, simulation: Simulation, name: str) -> None:
        super().__init__(simulation, name)
        self._number = simulation.inner.motor(name)

    @property
    def target(self) -> Any:
        """What it seeks: rad/s or m/s, or rad or m."""
        return self._simulation._column(self._simulation.impulses.state.motor_target)[self._number]

    @target.setter
    def target(self, value: Any) -> None:
        state = self._simulation.impulses.state
        write_input(self._simulation, state.motor_target, self._number, f"target of motor {self.name!r}", value)

    @property
    def force(self) -> Any:
        """What it gave in the last step, N or N m."""
        c = int(self._simulation.inner.motor_coordinate[self._number])
        return scalar_force(
            self._simulation, self._simulation.impulses.scalars.scalar_of_coordinate.get(c), ScalarImpulse.MOTOR
        )


class ActuatorView(View):
    """An actuator of a simulation."""

    __slots__ = ("_number",)

    def __init__(self, simulation: Simulation, name: str) -> None:
        super().__init__(simulation, name)
        self._number = simulation.inner.actuator(name)

    @property
    def input(self) -> Any:
        """What it is given, held until changed."""
        return self._simulation._column(self._simulation.impulses.state.actuator_input)[self._number]

    @input.setter  # noqa: A003
    def input(self, value: Any) -> None:
        array = self._simulation.impulses.state.actuator_input
        write_input(self._simulation, array, self._number, f"input of actuator {self.name!r}", value)

    @property
    def force(self) -> Any:
        """What it gave in the last step along its path, N or N m."""
        return self._simulation._column(self._simulation.impulses.state.actuator_force)[self._number]


class BodyView(View):
    """A body of a simulation."""

    __slots__ = ("_link",)

    def __init__(self, simulation: Simulation, name: str) -> None:
        super().__init__(simulation, name)
        self._link = simulation.inner.body(name)

    @property
    def position(self) -> Reals:
        """[3] m, origin of the body frame in the world."""
        return self._simulation.seen("position")[3 * self._link : 3 * self._link + 3]

    @property
    def rotation(self) -> Reals:
        """[3, 3] axes of the body frame in the world, as columns."""
        rows = self._simulation.seen("rotation")[9 * self._link : 9 * self._link + 9]
        return rows.reshape(3, 3, *rows.shape[1:])

    @property
    def velocity(self) -> Reals:
        """[3] m/s, of the origin of the body frame."""
        return self._simulation.seen("velocity")[6 * self._link : 6 * self._link + 3]

    @property
    def angular_velocity(self) -> Reals:
        """[3] rad/s, world axes."""
        return self._simulation.seen("velocity")[6 * self._link + 3 : 6 * self._link + 6]

    @property
    def applied(self) -> Reals:
        """[6] force (N) and torque about the centre of mass (N m) applied to it, world axes, held until changed."""
        return self._simulation._column(self._simulation.impulses.state.f_ext)[self._rows]

    @applied.setter
    def applied(self, values: Any) -> None:
        state = self._simulation.impulses.state
        write_input(self._simulation, state.f_ext, self._rows, f"wrench applied to body {self.name!r}", values)

    @property
    def _rows(self) -> slice:
        return slice(6 * self._link, 6 * self._link + 6)
