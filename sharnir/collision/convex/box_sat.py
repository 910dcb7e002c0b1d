"""Separating axis test of two boxes over the 15 candidate axes: 3 + 3 face normals and 9 edge cross products.

S. Gottschalk, M. C. Lin, D. Manocha: OBBTree: A hierarchical structure for rapid interference detection, SIGGRAPH 1996.
Here the axis of least penetration, or of largest separation, is kept as contact normal.
"""

from __future__ import annotations

import warp as wp

from sharnir.collision.shapes import ShapePose
from sharnir.kernels.types import DOUBLE, real, vec3

# relative to the size: a later axis must be better by more, to replace an earlier one
TOL_SAT_TIE = wp.constant(real(1.0e-9 if DOUBLE else 1.0e-4))
# squared sine of the angle between edges up to which they count as parallel
MAX_PARALLEL_EDGE_SINE2 = wp.constant(real(1.0e-14 if DOUBLE else 1.0e-6))


@wp.func
def find_separating_axis(A: ShapePose, B: ShapePose, margin: real):
    """Unit normal from A to B along the axis of least penetration, and the gap along it (m), negative where the boxes
    overlap. Returns early with a gap ≥ margin and a meaningless normal once an axis shows that they are farther apart
    than margin (m).

    Axes are tried in a fixed order and a later one must win clearly: of equal ones the choice must not alternate from
    step to step.
    """
    one = real(1.0)
    x = B.x - A.x
    C = wp.transpose(A.R) * B.R
    t = wp.transpose(A.R) * x
    a = A.size
    b = B.size
    tie = TOL_SAT_TIE * (a[0] + a[1] + a[2] + b[0] + b[1] + b[2])
    best = real(-1.0e30)
    n = vec3()
    for i in range(3):  # faces of A
        gap = wp.abs(t[i]) - a[i] - b[0] * wp.abs(C[i, 0]) - b[1] * wp.abs(C[i, 1]) - b[2] * wp.abs(C[i, 2])
        if gap > best + tie:
            best = gap
            e = vec3()
            e[i] = wp.where(t[i] < real(0.0), -one, one)
            n = e
    if best < margin:
        for j in range(3):  # faces of B
            along = t[0] * C[0, j] + t[1] * C[1, j] + t[2] * C[2, j]
            gap = wp.abs(along) - b[j] - a[0] * wp.abs(C[0, j]) - a[1] * wp.abs(C[1, j]) - a[2] * wp.abs(C[2, j])
            if gap > best + tie:
                best = gap
                n = vec3(C[0, j], C[1, j], C[2, j]) * wp.where(along < real(0.0), -one, one)
    if best < margin:
        for i in range(3):  # an edge of each: e_i × c_j
            for j in range(3):
                i1 = (i + 1) % 3
                i2 = (i + 2) % 3
                j1 = (j + 1) % 3
                j2 = (j + 2) % 3
                sine2 = C[i1, j] * C[i1, j] + C[i2, j] * C[i2, j]
                along = t[i2] * C[i1, j] - t[i1] * C[i2, j]
                width = (
                    a[i1] * wp.abs(C[i2, j]) + a[i2] * wp.abs(C[i1, j])
                    + b[j1] * wp.abs(C[i, j2]) + b[j2] * wp.abs(C[i, j1])
                )  # fmt: skip
                # best < (|along| − width) / √square − alike, without the root for axes that lose
                gap_sine = wp.abs(along) - width
                limit = best + tie
                if sine2 > MAX_PARALLEL_EDGE_SINE2 and gap_sine * wp.abs(gap_sine) > limit * wp.abs(limit) * sine2:
                    scale = one / wp.sqrt(sine2)
                    best = gap_sine * scale
                    e = vec3()
                    e[i1] = -C[i2, j]
                    e[i2] = C[i1, j]
                    n = e * wp.where(along < real(0.0), -scale, scale)
    return A.R * n, best
