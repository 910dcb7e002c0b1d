"""Pseudo-impulses by a team of threads on a GPU, a team for a world (M-43, M-67): the iterates of `sweep_positions`."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import CONTACT_K, Work
from sharnir.impulse.layout.layout import Plan
from sharnir.impulse.row_kinds import HOLD
from sharnir.impulse.solve.gpu_sweep import Share, dense_width, row_value, with_row
from sharnir.impulse.solve.split_impulse import push_wanted
from sharnir.kernels.columns import get, get_int
from sharnir.kernels.lanes import from_lane, from_lane_int, lane, near_row, team_sum
from sharnir.kernels.types import real, vec2


@wp.func
def sweep_positions_kept(
    plan: Plan, work: Work, mine: Share, give: real, dt: real, erp: real, z0: vec2, p0: vec2, hold0: real, w: int
):
    """Limits, then normals of contacts; the largest change of a pseudo-impulse, z, those of the rows and limits that
    this thread keeps."""
    wide = dense_width(plan)
    worst = real(0.0)
    z = z0
    p = p0
    hold = hold0
    r = int(0)
    while r < mine.lines:
        l = get_int(work.lively, 1 + r, w)
        if (plan.line_acts[l] & HOLD) != 0:
            K = get(work.K, l, w)
            before = from_lane(hold, r)
            row = near_row(work.near, wide, r, w)
            s = team_sum(wp.dot(row, z)) - K * before
            after = (wp.clamp(s, get(work.lower, l, w), get(work.upper, l, w)) - s) / K
            if lane() == r:
                hold = after
            z = z + row * (after - before)
            worst = wp.max(worst, wp.abs(after - before))
        r += 1
    c = int(0)
    while c < mine.contacts:
        before = row_value(p, r)
        inverse = get(work.contact_K, CONTACT_K * c + 9, w)
        row = near_row(work.near, wide, r, w)
        missing = push_wanted(work, c, dt, erp, w) - team_sum(wp.dot(row, z))
        after = wp.max((before + missing * inverse) / (real(1.0) + give), real(0.0))
        p = with_row(p, r, after)
        z = z + row * (after - before)
        worst = wp.max(worst, wp.abs(after - before))
        r += from_lane_int(mine.width, c)
        c += 1
    return worst, z, p, hold
