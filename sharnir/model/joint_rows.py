"""Constraint rows of each joint type: six rows, first those it constrains, then those it leaves free.

A joint between frame P on link a and frame C on link b is described by rows of five kinds, each a scalar g of the two
poses with a rate linear in the links' velocities (M-20..M-24). A joint with n degrees of freedom has 6 − n rows that
must stay zero, followed by n rows that are its velocity coordinates.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class RowForm(IntEnum):
    """What a row measures of frames P and C of a joint."""

    ALONG = 0  # e·(x_C − x_P), e an axis of P
    PERPENDICULAR = 1  # n_P·n_C, axes of P and C
    ABOUT_P = 2  # rotation about an axis of P
    ABOUT_C = 3  # rotation about an axis of C
    HELIX = 4  # e·(x_C − x_P) − pitch·angle, about and along z


JOINT_ROWS = 6  # rows of a joint: constraints first, then coordinates
X, Y, Z = 0, 1, 2
_POINT = [(RowForm.ALONG, X, 0), (RowForm.ALONG, Y, 0), (RowForm.ALONG, Z, 0)]
_ALIGNED = [(RowForm.PERPENDICULAR, X, Z), (RowForm.PERPENDICULAR, Y, Z)]  # z of C along z of P
_PARALLEL = [(RowForm.PERPENDICULAR, Y, Z), (RowForm.PERPENDICULAR, Z, X), (RowForm.PERPENDICULAR, X, Y)]  # all axes
_ROTATION_Z = [(RowForm.ABOUT_P, Z, 0)]
_ROTATION_XYZ = [(RowForm.ABOUT_C, X, 0), (RowForm.ABOUT_C, Y, 0), (RowForm.ABOUT_C, Z, 0)]

# [joint type, row] kind of row and its axes of P and C
JOINT_ROW_TABLE = np.array(
    [
        _POINT + _PARALLEL,
        _POINT + _ALIGNED + _ROTATION_Z,
        _POINT[:2] + _PARALLEL + _POINT[2:],
        _POINT[:2] + _ALIGNED + [(RowForm.HELIX, Z, 0)] + _ROTATION_Z,
        _POINT[:2] + _ALIGNED + _POINT[2:] + _ROTATION_Z,
        [*_POINT, (RowForm.PERPENDICULAR, Z, Z), (RowForm.ABOUT_P, Z, 0), (RowForm.ABOUT_C, Z, 0)],
        _POINT + _ROTATION_XYZ,
        _POINT[2:] + _ALIGNED + _POINT[:2] + _ROTATION_Z,
        _POINT + _ROTATION_XYZ,
    ],
    dtype=np.int32,
)
CONSTRAINT_COUNT = np.array([6, 5, 5, 5, 4, 4, 3, 3, 0], dtype=np.int32)  # [joint type] how many rows are constraints
