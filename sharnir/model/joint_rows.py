"""Every joint as six rows: what it forbids, then what it leaves free.

A joint between frame P on link a and frame C on link b is described by rows of five kinds, each a scalar g of the
two poses with a rate linear in the links' velocities (M-20..M-24). A joint with n degrees of freedom has 6 − n
rows that must stay zero, followed by n rows that are its velocity coordinates.
"""

from __future__ import annotations

import numpy as np

ALONG = 0  # e·(x_C − x_P), e an axis of P
PERPENDICULAR = 1  # n_P·n_C, axes of P and C
ABOUT_P = 2  # rotation about an axis of P
ABOUT_C = 3  # rotation about an axis of C
HELIX = 4  # e·(x_C − x_P) − pitch·angle, about and along z

X, Y, Z = 0, 1, 2
_POINT = [(ALONG, X, 0), (ALONG, Y, 0), (ALONG, Z, 0)]
_ALIGNED = [(PERPENDICULAR, X, Z), (PERPENDICULAR, Y, Z)]  # z of C along z of P
_PARALLEL = [(PERPENDICULAR, Y, Z), (PERPENDICULAR, Z, X), (PERPENDICULAR, X, Y)]  # all axes
_TURN = [(ABOUT_P, Z, 0)]
_BALL = [(ABOUT_C, X, 0), (ABOUT_C, Y, 0), (ABOUT_C, Z, 0)]

# In the order of sharnir.compiler.loops.LOOP_TYPES: fixed, revolute, prismatic, helical, cylindrical, universal,
# spherical, planar, free.
ROWS = np.array([
    _POINT + _PARALLEL,
    _POINT + _ALIGNED + _TURN,
    _POINT[:2] + _PARALLEL + _POINT[2:],
    _POINT[:2] + _ALIGNED + [(HELIX, Z, 0)] + _TURN,
    _POINT[:2] + _ALIGNED + _POINT[2:] + _TURN,
    [*_POINT, (PERPENDICULAR, Z, Z), (ABOUT_P, Z, 0), (ABOUT_C, Z, 0)],
    _POINT + _BALL,
    _POINT[2:] + _ALIGNED + _POINT[:2] + _TURN,
    _POINT + _BALL,
], dtype=np.int32)  # fmt: skip
CONSTRAINED = np.array([6, 5, 5, 5, 4, 4, 3, 3, 0], dtype=np.int32)
