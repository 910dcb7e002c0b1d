"""Contact buffers and scratch of collision detection."""

from __future__ import annotations

from enum import IntEnum

import warp as wp

from sharnir.collision.broad_phase import BroadPhaseScratch, allocate_broad_phase_scratch
from sharnir.collision.convex.separating_axis_cache import axis_cache_size
from sharnir.collision.shapes import ContactList
from sharnir.kernels.columns import allocate_columns, ints2
from sharnir.kernels.types import array2, real

SPARE_CONTACTS = 16  # contacts of extra room that a pair needs while it is reduced


class ContactCount(IntEnum):
    """Slots of `Contacts.count`."""

    STORED = 0
    FOUND = 1  # more than stored where there is no room


@wp.struct
class Contacts:
    """Contacts of every world that touch or may touch within a step, [item, world]."""

    capacity: int  # contacts there is room for
    count: ints2  # [2] `ContactCount`
    shape: ints2  # [2 point] the smaller index first
    feature: ints2  # [point] see `ContactList`
    normal: array2  # [3 point] from the first shape to the second, world axes
    point: array2  # [3 point] halfway between the surfaces, m
    gap: array2  # [point] m; negative: they overlap
    drawn_share: array2  # [point] how far friction acts from there toward the centre of pressure, of the way (M-109)


@wp.struct
class CollisionScratch:
    """Scratch of collision detection in workspace columns: poses, motion bounds, pairs, contacts."""

    contacts: ContactList
    contact_shape: ints2  # [2 point] shapes of a contact, the smaller index first
    R: array2  # [9 shape] axes in the world
    x: array2  # [3 shape] origin in the world, m
    box_center: array2  # [3 shape] center of its bounding box, world, m
    velocity: array2  # [3 shape] of its origin, m/s
    speed_bound: array2  # [shape] bound on the velocity of its points relative to its origin, m/s
    # [shape] where materials bounce: largest relative speed of an impact that may reach it in the step, m/s
    impact_speed_bound: array2
    axis_cache_slots: int  # of `axis_cache`
    axis_cache: array2  # [3 slot] directions along which pairs were last seen separated, world
    broad_phase: BroadPhaseScratch


def allocate_contacts(capacity: int, worlds: int, device: str) -> Contacts:
    """Allocate zeroed contacts of all worlds."""
    out = Contacts()
    out.capacity = capacity
    for name, rows in (("normal", 3), ("point", 3), ("gap", 1), ("drawn_share", 1)):
        setattr(out, name, allocate_columns(rows * capacity, worlds, device))
    for name, size in (("count", 2), ("shape", 2 * capacity), ("feature", capacity)):
        setattr(out, name, allocate_columns(size, worlds, device, int))
    return out


def allocate_collision_scratch(shapes: int, capacity: int, pairs: int, columns: int, device: str) -> CollisionScratch:
    """Allocate zeroed scratch for `capacity` contacts and `pairs` pairs of the broad phase."""
    capacity += SPARE_CONTACTS
    contacts = ContactList()
    contacts.capacity = capacity
    for name, rows in (("normal", 3), ("point", 3), ("gap", 1)):
        setattr(contacts, name, wp.zeros((rows * capacity, columns), dtype=real, device=device))
    contacts.feature = wp.zeros((capacity, columns), dtype=int, device=device)
    out = CollisionScratch()
    out.contacts = contacts
    out.contact_shape = wp.zeros((2 * capacity, columns), dtype=int, device=device)
    for name, rows in (
        ("R", 9),
        ("x", 3),
        ("box_center", 3),
        ("velocity", 3),
        ("speed_bound", 1),
        ("impact_speed_bound", 1),
    ):
        setattr(out, name, wp.zeros((rows * shapes, columns), dtype=real, device=device))
    out.axis_cache_slots = axis_cache_size(shapes)
    out.axis_cache = wp.zeros((3 * out.axis_cache_slots, columns), dtype=real, device=device)
    out.broad_phase = allocate_broad_phase_scratch(shapes, pairs, columns, device)
    return out
