"""Contacts of the last step as a user reads them, and errors where there are more than the buffers hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sharnir.errors import SimulationError, fail, shown, unknown
from sharnir.impulse.row_kinds import CONTACT_IMPULSES
from sharnir.impulse.slots import CONTACT_KEY_SIZE, ContactKey, PrevContact, PrevStep
from sharnir.spec.scene import WORLD

if TYPE_CHECKING:
    from sharnir.model.model import Reals
    from sharnir.simulation.simulation import Simulation


class Contact(NamedTuple):
    """A point where two shapes touched, or could have, at the start of the last step."""

    bodies: tuple[str, str]  # "world" for what is fixed
    shapes: tuple[int, int]  # in the order of the model's shapes
    point: Reals  # [3] m, halfway between the surfaces
    normal: Reals  # [3] from the first body to the second
    gap: float  # m; negative: they overlap
    force: Reals  # [3] N, on the second body, mean of the step
    torque: Reals  # [3] N m, against rolling and spinning


def read_contacts(sim: Simulation, body: str | None, other: str | None, world: int) -> list[Contact]:
    """Contacts of one world in the last step: all, those of a body, or those of a pair of bodies."""
    names = [*sim.inner.body_names, WORLD]  # link −1 is the world
    for name in (body, other):
        if name is not None and name not in names:
            raise unknown("body", name, names)
    if isinstance(world, bool) or not isinstance(world, int) or not 0 <= world < sim.worlds:
        raise fail("contacts", "world is out of range", shown(world), f"a whole number from 0 to {sim.worlds - 1}")
    state, shapes, host = sim.impulses.state, len(sim.inner.shape_kind), sim.impulses.host
    contact_keys = host(state.prev_contact_keys)[:, world]
    count, h = int(contact_keys[ContactKey.COUNT]), float(host(state.prev_step)[PrevStep.FORCE_TIME, world])
    links, out = sim.inner.shape_link.tolist(), []
    for c, code in enumerate(contact_keys[ContactKey.PAIR :: CONTACT_KEY_SIZE][:count].tolist()):
        first, second = divmod(code, shapes)
        pair = (names[links[first]], names[links[second]])
        if (body is None or body in pair) and (other is None or other in pair):
            x = host(state.prev_contact_geometry)[contact_slice(c, PrevContact.SIZE), world].astype(float)
            wrench = host(state.prev_contact_impulse)[contact_slice(c, CONTACT_IMPULSES), world] / h
            point, normal = x[PrevContact.POINT : PrevContact.NORMAL], x[PrevContact.NORMAL : PrevContact.GAP]
            gap = float(x[PrevContact.GAP])
            out.append(Contact(pair, (first, second), point, normal, gap, wrench[:3], wrench[3:]))
    return out


def contact_slice(c: int, size: int) -> slice:
    """Slots of contact c in an array that has so many for each."""
    return slice(size * c, size * c + size)


def check_capacity(sim: Simulation, points: int, pairs: int) -> None:
    """Raise a SimulationError if contact points or near pairs exceeded the capacity. points: the most of any world;
    pairs: the most of any world where those were too many."""
    max_points, shapes = sim.impulses.layout.max_contacts, len(sim.inner.shape_kind)
    if pairs > 0:
        raise SimulationError(
            f"t = {sim.time:.6g} s: {pairs} pairs of shapes near each other: there is room for {sim.impulses.pairs}; "
            f"allowed: Simulation(..., pairs={min(2 * pairs, shapes * (shapes - 1) // 2)})"
        )
    if points > max_points:
        raise SimulationError(
            f"t = {sim.time:.6g} s: {points} points of contact: there is room for {max_points}; "
            f"allowed: Simulation(..., contacts={2 * points})"
        )
