"""Separating-axis cache: the direction along which a pair was last seen separated.

Most pairs that are near each other stay separated from step to step along the same direction, and to verify that takes
two support points instead of GJK. Results do not depend on the cache: a direction is only used for what it shows now.
So it is not part of the state, and two pairs may share a slot.
"""

from __future__ import annotations

import warp as wp

from sharnir.collision.convex.support_mapping import core_radius, core_support
from sharnir.collision.shapes import Geometry, ShapePose
from sharnir.enums import ShapeKind
from sharnir.kernels.types import DOUBLE, real, vec3

MAX_AXIS_CACHE_SLOTS = 4096  # slots of the cache, at most
# factor on the reach, so that GJK would see the separation too
AXIS_CACHE_SAFETY = wp.constant(real(1.0 + (1.0e-9 if DOUBLE else 1.0e-4)))


def axis_cache_size(shapes: int) -> int:
    """Slots of the cache: one for each pair of shapes, at most MAX_AXIS_CACHE_SLOTS."""
    return min(shapes * shapes, MAX_AXIS_CACHE_SLOTS)


@wp.func
def _is_convex(kind: int):
    """Whether a kind is convex and bounded."""
    return (
        kind == ShapeKind.SPHERE
        or kind == ShapeKind.BOX
        or kind == ShapeKind.CAPSULE
        or kind == ShapeKind.CYLINDER
        or kind == ShapeKind.HULL
    )


@wp.func
def is_gjk_pair(a: int, b: int):
    """Whether a pair of kinds is handled by GJK: convex, and a hull or cylinder among them."""
    is_polyhedral = a == ShapeKind.HULL or b == ShapeKind.HULL or a == ShapeKind.CYLINDER or b == ShapeKind.CYLINDER
    return is_polyhedral and _is_convex(a) and _is_convex(b)


@wp.func
def is_separated_along(geo: Geometry, A: ShapePose, B: ShapePose, d: vec3, margin: real):
    """Whether d (from A to B, any length) separates two shapes by more than `margin` (m)."""
    near = core_support(geo, A, d) - A.x
    far = core_support(geo, B, -d) - A.x
    along = wp.dot(d, far - near)
    reach = (margin + core_radius(A) + core_radius(B)) * AXIS_CACHE_SAFETY
    return along > real(0.0) and along * along > reach * reach * wp.length_sq(d)
