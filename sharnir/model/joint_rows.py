"""Constraint rows of each joint type: six rows, first those it constrains, then those it leaves free.

A joint between frame P on link a and frame C on link b is described by rows of five kinds, each a scalar g of the two
poses with a rate linear in the links' velocities (M-20..M-24). A joint with n degrees of freedom has 6 − n rows that
must stay zero, followed by n rows that are its velocity coordinates.
"""

from __future__ import annotations

import numpy as np

ROW_ALONG = 0  # e·(x_C − x_P), e an axis of P
ROW_PERPENDICULAR = 1  # n_P·n_C, axes of P and C
ROW_ABOUT_P = 2  # rotation about an axis of P
ROW_ABOUT_C = 3  # rotation about an axis of C
ROW_HELIX = 4  # e·(x_C − x_P) − pitch·angle, about and along z

X, Y, Z = 0, 1, 2
_POINT = [(ROW_ALONG, X, 0), (ROW_ALONG, Y, 0), (ROW_ALONG, Z, 0)]
_ALIGNED = [(ROW_PERPENDICULAR, X, Z), (ROW_PERPENDICULAR, Y, Z)]  # z of C along z of P
_PARALLEL = [(ROW_PERPENDICULAR, Y, Z), (ROW_PERPENDICULAR, Z, X), (ROW_PERPENDICULAR, X, Y)]  # all axes
_ROTATION_Z = [(ROW_ABOUT_P, Z, 0)]
_ROTATION_XYZ = [(ROW_ABOUT_C, X, 0), (ROW_ABOUT_C, Y, 0), (ROW_ABOUT_C, Z, 0)]

# [joint type, row] kind of row and its axes of P and C
JOINT_ROW_TABLE = np.array(
    [
        _POINT + _PARALLEL,
        _POINT + _ALIGNED + _ROTATION_Z,
        _POINT[:2] + _PARALLEL + _POINT[2:],
        _POINT[:2] + _ALIGNED + [(ROW_HELIX, Z, 0)] + _ROTATION_Z,
        _POINT[:2] + _ALIGNED + _POINT[2:] + _ROTATION_Z,
        [*_POINT, (ROW_PERPENDICULAR, Z, Z), (ROW_ABOUT_P, Z, 0), (ROW_ABOUT_C, Z, 0)],
        _POINT + _ROTATION_XYZ,
        _POINT[2:] + _ALIGNED + _POINT[:2] + _ROTATION_Z,
        _POINT + _ROTATION_XYZ,
    ],
    dtype=np.int32,
)
CONSTRAINT_COUNT = np.array([6, 5, 5, 5, 4, 4, 3, 3, 0], dtype=np.int32)  # [joint type] how many rows are constraints
