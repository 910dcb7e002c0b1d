"""Directions along which pairs were last seen apart: most pairs near each other stay apart from step to step, and along
the same direction, which takes two points to see instead of a walk.

Nothing depends on what is remembered: a direction is only taken for what it shows now. So it need not be saved with a
state, and two pairs may share a slot.
"""

from __future__ import annotations

import warp as wp

from sharnir.collision.convex.support_mapping import core_radius, core_support
from sharnir.collision.shapes import Geometry, ShapePose
from sharnir.enums import BOX, CAPSULE, CYLINDER, HULL, SPHERE
from sharnir.kernels.types import DOUBLE, real, vec3

MAX_AXIS_CACHE_SLOTS = 4096  # at most
AXIS_CACHE_SAFETY = wp.constant(real(1.0 + (1.0e-9 if DOUBLE else 1.0e-4)))  # so that a walk would see it too


def axis_cache_size(shapes: int) -> int:
    """Room for every pair, or for as many as is reasonable."""
    return min(shapes * shapes, MAX_AXIS_CACHE_SLOTS)


@wp.func
def _is_convex(kind: int):
    return kind == SPHERE or kind == BOX or kind == CAPSULE or kind == CYLINDER or kind == HULL


@wp.func
def is_gjk_pair(a: int, b: int):
    """Whether the shortest way between shapes of these kinds may take a long walk."""
    is_polyhedral = a == HULL or b == HULL or a == CYLINDER or b == CYLINDER
    return is_polyhedral and _is_convex(a) and _is_convex(b)


@wp.func
def is_separated_along(geo: Geometry, A: ShapePose, B: ShapePose, d: vec3, margin: real):
    """Whether two shapes are farther apart than `margin` (m) along d, from A to B."""
    near = core_support(geo, A, d) - A.x
    far = core_support(geo, B, -d) - A.x
    along = wp.dot(d, far - near)
    reach = (margin + core_radius(A) + core_radius(B)) * AXIS_CACHE_SAFETY
    return along > real(0.0) and along * along > reach * reach * wp.length_sq(d)
