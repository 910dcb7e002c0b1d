"""Room for a search for contacts: where shapes are, what is near, and the points found."""

from __future__ import annotations

import warp as wp

from sharnir.collision.broad_phase import BroadWork, broad_work_on
from sharnir.collision.convex.separating_axis_cache import slots_for
from sharnir.collision.shapes import Found
from sharnir.kernels.columns import ints2, world_columns
from sharnir.kernels.types import array2, real

SPARE = 16  # points that a pair needs room for while it chooses among them


@wp.struct
class Touch:
    """Points of every world that touch or may touch within a step, [item, world]."""

    capacity: int  # points there is room for
    count: ints2  # [2] points stored, points there are
    shape: ints2  # [2 point] the smaller index first
    feature: ints2  # [point] see `Found`
    normal: array2  # [3 point] from the first shape to the second, world axes
    point: array2  # [3 point] halfway between the surfaces, m
    gap: array2  # [point] m; negative: they overlap


@wp.struct
class Places:
    """Where shapes are while points are sought, in workspace columns."""

    found: Found
    shape: ints2  # [2 point]
    R: array2  # [9 shape] axes in the world
    x: array2  # [3 shape] origin in the world, m
    middle: array2  # [3 shape] of the box that holds it, world, m
    velocity: array2  # [3 shape] of its origin, m/s
    swing: array2  # [shape] bound on how fast its points move besides, m/s
    slots: int  # of `apart`
    apart: array2  # [3 slot] directions along which pairs were last seen apart, world; see `separating_axis_cache`
    broad: BroadWork


def touch_on(most: int, worlds: int, device: str) -> Touch:
    """Zeroed room for some points of every world."""
    out = Touch()
    out.capacity = most
    for name, rows in (("normal", 3), ("point", 3), ("gap", 1)):
        setattr(out, name, world_columns(rows * most, worlds, device))
    for name, size in (("count", 2), ("shape", 2 * most), ("feature", most)):
        setattr(out, name, world_columns(size, worlds, device, int))
    return out


def places_on(shapes: int, most: int, pairs: int, columns: int, device: str) -> Places:
    """Zeroed scratch for `most` points and `pairs` pairs of shapes near each other."""
    most += SPARE
    found = Found()
    found.most = most
    for name, rows in (("normal", 3), ("point", 3), ("gap", 1)):
        setattr(found, name, wp.zeros((rows * most, columns), dtype=real, device=device))
    found.feature = wp.zeros((most, columns), dtype=int, device=device)
    out = Places()
    out.found = found
    out.shape = wp.zeros((2 * most, columns), dtype=int, device=device)
    for name, rows in (("R", 9), ("x", 3), ("middle", 3), ("velocity", 3), ("swing", 1)):
        setattr(out, name, wp.zeros((rows * shapes, columns), dtype=real, device=device))
    out.slots = slots_for(shapes)
    out.apart = wp.zeros((3 * out.slots, columns), dtype=real, device=device)
    out.broad = broad_work_on(shapes, pairs, columns, device)
    return out
