"""Equality constraints of inverse kinematics: loop joints and couplings; and limits of loop joints' coordinates."""

from __future__ import annotations

import numpy as np

from sharnir.control.kinematics import Kinematics
from sharnir.model.joint_rows import CONSTRAINT_COUNT
from sharnir.model.model import Model, Reals


class LoopConstraints:
    """Rows that must stay zero, of loops and then of couplings, and rows of loop coordinates with limits."""

    def __init__(self, model: Model) -> None:
        self._model = model
        fixed = CONSTRAINT_COUNT[model.loop_kind]
        self._held = np.flatnonzero(np.tile(np.arange(6), model.loops) < np.repeat(fixed, 6))
        loop = np.repeat(np.arange(model.loops), np.diff(model.loop_v_start))
        inside = np.arange(len(loop)) - model.loop_v_start[loop]
        self._row = 6 * loop + fixed[loop] + inside  # of the loop rows, by loop coordinate
        self.rows = len(self._held) + len(model.coupling_names)
        self._leader, self._follower = model.coupling_coordinate.reshape(-1, 2).T

    def bound(self, lower: Reals, upper: Reals) -> None:
        """Take the limits [nc] of all coordinates; those of loop joints are kept here."""
        m = self._model
        lower, upper = lower[m.nv :], upper[m.nv :]
        here = np.flatnonzero((np.isfinite(lower) | np.isfinite(upper)) & (m.coordinate_positions[m.nv :] >= 0))
        self._bounded, self._bounded_q = self._row[here], m.coordinate_positions[m.nv + here] - m.nq
        self._lower, self._upper = lower[here], upper[here]

    def gaps(self, at: Kinematics, q: Reals) -> Reals:
        """[rows] m, rad or 1, by which they do not hold."""
        m = self._model
        position = np.concatenate([q, at.loop_q])
        leader, follower = (position[m.coordinate_positions[c]] for c in (self._leader, self._follower))
        return np.concatenate([at.gap[self._held], follower - m.coupling_ratio * leader - m.coupling_offset])

    def jacobian(self, at: Kinematics) -> Reals:
        """[rows, nv] of the gaps."""
        m = self._model
        J = np.zeros((self.rows, m.nv))
        J[: len(self._held)] = at.J_loop[self._held]
        if len(self._leader):
            rates = np.concatenate([np.eye(m.nv), at.J_loop[self._row]])
            J[len(self._held) :] = rates[self._follower] - m.coupling_ratio[:, None] * rates[self._leader]
        return J

    def room(self, at: Kinematics) -> tuple[Reals, Reals, Reals]:
        """Rows [bounded, nv] of loop coordinates with limits, and how far they may go down and up."""
        here = at.loop_q[self._bounded_q]
        return at.J_loop[self._bounded], np.minimum(self._lower - here, 0.0), np.maximum(self._upper - here, 0.0)
