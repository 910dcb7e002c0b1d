"""Warnings of a step, for its report."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import State
from sharnir.impulse.slots import ReportItem
from sharnir.kernels.columns import item, set_item
from sharnir.kernels.types import real


@wp.func
def warn_of(state: wp.ref[State], warning: int, w: int):
    """Add a `StepWarning` to the report of the present step."""
    raised = int(item(state.report, ReportItem.WARNINGS, w))
    set_item(state.report, ReportItem.WARNINGS, w, real(raised | warning))
