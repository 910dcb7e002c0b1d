"""Bounding volumes: extents of oriented and axis-aligned bounding boxes, and their overlap."""

from __future__ import annotations

import warp as wp

from sharnir.collision.shapes import Geometry
from sharnir.enums import ShapeKind
from sharnir.kernels.types import column, mat33, real, vec3


@wp.func
def box_extent_along(half: vec3, x: real, y: real, z: real):
    """Extent (m) of a box with these half-extents from its center along direction (x, y, z) in its axes."""
    return wp.abs(x) * half[0] + wp.abs(y) * half[1] + wp.abs(z) * half[2]


@wp.func
def aabb_half_extents(geo: Geometry, s: int, R: mat33, rounds_only: bool):
    """Half-extents of the AABB of a shape, m; infinite for a half-space. rounds_only: all shapes are spheres, capsules
    and half-spaces."""
    kind = geo.kind[s]
    size = geo.size[s]
    out = vec3(geo.bounding_radius[s], geo.bounding_radius[s], geo.bounding_radius[s])
    if not rounds_only and (kind == ShapeKind.BOX or kind == ShapeKind.CYLINDER or kind == ShapeKind.HULL):
        k = int(0)
        while k < 3:
            out[k] = box_extent_along(geo.box_half[s], R[k, 0], R[k, 1], R[k, 2])
            k += 1
    elif kind == ShapeKind.CAPSULE:
        z = column(R, 2) * size[1]
        out = vec3(wp.abs(z[0]), wp.abs(z[1]), wp.abs(z[2])) + vec3(size[0], size[0], size[0])
    elif kind == ShapeKind.HALF_SPACE:
        out = vec3(real(wp.inf), real(wp.inf), real(wp.inf))
    return out


@wp.func
def has_tight_box(kind: int):
    """Whether a shape has an oriented bounding box tighter than its bounding sphere: box, cylinder or hull."""
    return kind == ShapeKind.BOX or kind == ShapeKind.CYLINDER or kind == ShapeKind.HULL


@wp.func
def is_obb_overlapping(half_a: vec3, half_b: vec3, A: mat33, B: mat33, offset: vec3, margin: real):
    """Whether two oriented boxes overlap within a margin (m), tested on the 6 face normals only (not on edge cross
    products: conservative). half_a, half_b: half-extents, m; A, B: axes; offset: from the center of a to that of b;
    world, m."""
    R_ab = wp.transpose(A) * B
    in_a = wp.transpose(A) * offset
    in_b = wp.transpose(B) * offset
    overlapping = bool(True)
    k = int(0)
    while k < 3:
        over_a = box_extent_along(half_b, R_ab[k, 0], R_ab[k, 1], R_ab[k, 2])
        over_b = box_extent_along(half_a, R_ab[0, k], R_ab[1, k], R_ab[2, k])
        if wp.abs(in_a[k]) > half_a[k] + over_a + margin or wp.abs(in_b[k]) > half_b[k] + over_b + margin:
            overlapping = bool(False)
        k += 1
    return overlapping
