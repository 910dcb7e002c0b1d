"""Room for a search for contacts: where shapes are, what is near, and the points found."""

from __future__ import annotations

import warp as wp

from sharnir.collision.broad_phase import BroadPhaseScratch, allocate_broad_phase_scratch
from sharnir.collision.convex.separating_axis_cache import axis_cache_size
from sharnir.collision.shapes import ContactList
from sharnir.kernels.columns import allocate_columns, ints2
from sharnir.kernels.types import array2, real

SPARE_CONTACTS = 16  # points that a pair needs room for while it chooses among them


@wp.struct
class Contacts:
    """Points of every world that touch or may touch within a step, [item, world]."""

    capacity: int  # points there is room for
    count: ints2  # [2] points stored, points there are
    shape: ints2  # [2 point] the smaller index first
    feature: ints2  # [point] see `Found`
    normal: array2  # [3 point] from the first shape to the second, world axes
    point: array2  # [3 point] halfway between the surfaces, m
    gap: array2  # [point] m; negative: they overlap


@wp.struct
class CollisionScratch:
    """Where shapes are while points are sought, in workspace columns."""

    contacts: ContactList
    contact_shape: ints2  # [2 point]
    R: array2  # [9 shape] axes in the world
    x: array2  # [3 shape] origin in the world, m
    box_center: array2  # [3 shape] of the box that holds it, world, m
    velocity: array2  # [3 shape] of its origin, m/s
    speed_bound: array2  # [shape] bound on how fast its points move besides, m/s
    axis_cache_slots: int  # of `apart`
    axis_cache: array2  # [3 slot] directions along which pairs were last seen apart, world; see `separating_axis_cache`
    broad_phase: BroadPhaseScratch


def allocate_contacts(capacity: int, worlds: int, device: str) -> Contacts:
    """Zeroed room for some points of every world."""
    out = Contacts()
    out.capacity = capacity
    for name, rows in (("normal", 3), ("point", 3), ("gap", 1)):
        setattr(out, name, allocate_columns(rows * capacity, worlds, device))
    for name, size in (("count", 2), ("contact_shape", 2 * capacity), ("feature", capacity)):
        setattr(out, name, allocate_columns(size, worlds, device, int))
    return out


def allocate_collision_scratch(shapes: int, capacity: int, pairs: int, columns: int, device: str) -> CollisionScratch:
    """Zeroed scratch for `most` points and `pairs` pairs of shapes near each other."""
    capacity += SPARE_CONTACTS
    contacts = ContactList()
    contacts.capacity = capacity
    for name, rows in (("normal", 3), ("point", 3), ("gap", 1)):
        setattr(contacts, name, wp.zeros((rows * capacity, columns), dtype=real, device=device))
    contacts.feature = wp.zeros((capacity, columns), dtype=int, device=device)
    out = CollisionScratch()
    out.contacts = contacts
    out.contact_shape = wp.zeros((2 * capacity, columns), dtype=int, device=device)
    for name, rows in (("R", 9), ("x", 3), ("box_center", 3), ("velocity", 3), ("speed_bound", 1)):
        setattr(out, name, wp.zeros((rows * shapes, columns), dtype=real, device=device))
    out.axis_cache_slots = axis_cache_size(shapes)
    out.axis_cache = wp.zeros((3 * out.axis_cache_slots, columns), dtype=real, device=device)
    out.broad_phase = allocate_broad_phase_scratch(shapes, pairs, columns, device)
    return out
