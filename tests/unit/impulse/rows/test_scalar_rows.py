"""Scalar rows that are sums of others: rows of couplings, against dense rows in numpy."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from engine_parts import FAST_COMPILE, Rows, column, integers, numbers, read, run, zeros

from sharnir.enums import ScalarSource
from sharnir.impulse.data import StepContext
from sharnir.impulse.row_kinds import RowKind
from sharnir.impulse.rows.scalar_rows import combine_coupling, measure_scalar
from sharnir.kernels.types import array2

wp.set_module_options(FAST_COMPILE)
RATIO, OFFSET = -1.7, 0.4
COUPLING = 2  # number of its row, after the leader's and the follower's


@wp.kernel
def coupling_kernel(ctx: StepContext, q: array2, out: array2):
    combine_coupling(ctx.layout, ctx.work.W, COUPLING, 0)
    out[0, 0] = measure_scalar(ctx, ctx.here, COUPLING, q, q, 0)


@pytest.mark.parametrize("seed", range(4))
def test_the_row_of_a_coupling_is_the_followers_minus_the_ratio_times_the_leaders(seed):
    """Leader and follower share some of their coordinates; its position is q_f − ratio q_l − offset. Sums of two
    products: 1e-14."""
    rng = np.random.default_rng(seed)
    leader, follower = (sorted(rng.choice(9, 5, replace=False).tolist(), reverse=True) for _ in range(2))
    union = sorted({*leader, *follower}, reverse=True)
    rows = Rows(rng, trees=(6, 3), scalars=[(leader, RowKind.BOUND), (follower, RowKind.BOUND), (union, RowKind.BOUND)])
    layout, places = rows.ctx.layout, [leader[0], follower[0]]
    summands = [e.index(d) if d in e else -1 for d in union for e in (leader, follower)]
    layout.summand_map_start = integers([0, 0, len(rows.index)])
    layout.index = integers([*rows.index, *summands])
    layout.scalar_source_kind = integers([ScalarSource.TREE_DOF, ScalarSource.TREE_DOF, ScalarSource.COUPLING])
    layout.scalar_source = integers([places[0], 0, places[1], 0, 0, 1])
    layout.scalar_q = integers([*places, 0])
    layout.scalar_ratio = numbers([0, 0, 0, 0, RATIO, OFFSET])
    q, out, expected = rng.normal(size=9), zeros(1), rows.scalar(1) - RATIO * rows.scalar(0)
    run(coupling_kernel, rows.ctx, column(q), out)
    rows.W = rows.ctx.work.W.numpy()
    np.testing.assert_allclose(rows.scalar(COUPLING), expected, atol=1e-14)
    np.testing.assert_allclose(read(out)[0], q[places[1]] - RATIO * q[places[0]] - OFFSET, atol=1e-14)
