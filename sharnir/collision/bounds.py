"""Boxes that hold shapes: how far they reach, and whether two of them meet."""

from __future__ import annotations

import warp as wp

from sharnir.collision.shapes import Geometry
from sharnir.enums import BOX, CAPSULE, CYLINDER, HALF_SPACE, HULL
from sharnir.kernels.types import column, mat33, real, vec3


@wp.func
def reach_along(box: vec3, x: real, y: real, z: real):
    """How far a box of these half-extents reaches from its middle along (x, y, z) in its axes, m."""
    return wp.abs(x) * box[0] + wp.abs(y) * box[1] + wp.abs(z) * box[2]


@wp.func
def half_extents(geo: Geometry, s: int, R: mat33, rounds_only: bool):
    """Half the edges of the box along the world's axes that holds a shape; infinite for a half-space, m. rounds_only:
    all shapes are balls, capsules and half-spaces."""
    kind = geo.kind[s]
    size = geo.size[s]
    out = vec3(geo.radius[s], geo.radius[s], geo.radius[s])
    if not rounds_only and (kind == BOX or kind == CYLINDER or kind == HULL):
        k = int(0)
        while k < 3:
            out[k] = reach_along(geo.box[s], R[k, 0], R[k, 1], R[k, 2])
            k += 1
    elif kind == CAPSULE:
        z = column(R, 2) * size[1]
        out = vec3(wp.abs(z[0]), wp.abs(z[1]), wp.abs(z[2])) + vec3(size[0], size[0], size[0])
    elif kind == HALF_SPACE:
        out = vec3(real(wp.inf), real(wp.inf), real(wp.inf))
    return out


@wp.func
def is_angular(kind: int):
    return kind == BOX or kind == CYLINDER or kind == HULL


@wp.func
def boxes_meet(box_a: vec3, box_b: vec3, A: mat33, B: mat33, apart: vec3, margin: real):
    """Whether no face of two boxes has the other box beyond it, by more than a margin. box_a, box_b: half-extents, m;
    A, B: axes; apart: from the middle of a to that of b; world, m."""
    turn = wp.transpose(A) * B
    in_a = wp.transpose(A) * apart
    in_b = wp.transpose(B) * apart
    meet = bool(True)
    k = int(0)
    while k < 3:
        over_a = reach_along(box_b, turn[k, 0], turn[k, 1], turn[k, 2])
        over_b = reach_along(box_a, turn[0, k], turn[1, k], turn[2, k])
        if wp.abs(in_a[k]) > box_a[k] + over_a + margin or wp.abs(in_b[k]) > box_b[k] + over_b + margin:
            meet = bool(False)
        k += 1
    return meet
