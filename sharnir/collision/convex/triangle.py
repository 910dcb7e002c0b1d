"""Triangles of surfaces as convex shapes.

A TRIANGLE is a `ShapePose` whose R has as columns its three corners relative to x (world axes, m), counter-clockwise
seen from the front; its size is not used. Its `data` is a set of internal edges, bit k for the one from corner k to
corner k + 1, across which the surface continues flat or upwards. No contact normal leans over such an edge: a shape
above the face is pushed off the face, and one beside it is left to the neighbour.

Triangles have two sides; the one that counts is that of the other shape's center, the front if it is in the plane.
"""

from __future__ import annotations

import warp as wp

from sharnir.collision.shapes import ShapePose
from sharnir.kernels.types import column, real, vec3

# sine of the angle to the face's normal up to which a normal does not lean
MAX_UPRIGHT_SINE = wp.constant(real(1.0e-3))


@wp.func
def front_normal_of(S: ShapePose):
    """Unit normal of a triangle's front; zero if it has no area."""
    a = column(S.R, 0)
    return wp.normalize(wp.cross(column(S.R, 1) - a, column(S.R, 2) - a))


@wp.func
def find_facing_normal(S: ShapePose, p: vec3):
    """Unit normal of a triangle on the side of a point p (world, m); zero if it has no area."""
    n = front_normal_of(S)
    if wp.dot(n, p - S.x - column(S.R, 0)) < real(0.0):
        n = -n
    return n


@wp.func
def is_over_internal_edge(S: ShapePose, n: vec3):
    """Whether a unit normal n off a triangle leans over an internal edge."""
    up = front_normal_of(S)
    along = n - up * wp.dot(n, up)
    edge = int(0)
    max_cosine = real(-2.0)
    for k in range(3):
        out = wp.normalize(wp.cross(column(S.R, (k + 1) % 3) - column(S.R, k), up))
        cosine = wp.dot(out, along)
        if cosine > max_cosine:
            max_cosine = cosine
            edge = k
    return wp.length(along) > MAX_UPRIGHT_SINE and (S.data >> edge) & 1 == 1
