"""Layout of bilateral rows (M-46): order, couplings and envelope, against a dense symbolic factorisation in numpy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from engine_parts import Rows

from sharnir.impulse.row_kinds import BilateralKind, RowKind
from sharnir.model.joint_rows import CONSTRAINT_COUNT

REVOLUTE, SPHERICAL = 1, 6


def random_rows(seed: int) -> Rows:
    """Loop joints over random coordinates, couplings, a compliant row, an unbounded motor and a limit."""
    rng, nv = np.random.default_rng(seed), 24
    joints = [(sorted(rng.choice(nv, 4, replace=False).tolist(), reverse=True), k) for k in (REVOLUTE, SPHERICAL) * 2]
    scalars = [
        (rng.choice(nv, 2, replace=False).tolist(), k)
        for k in (RowKind.BOUND, RowKind.COMPLIANT, RowKind.MOTOR, RowKind.BOUND, RowKind.BOUND)
    ]
    return Rows(rng, trees=[3] * 8, joints=joints, scalars=scalars, equalities=[0, 3])


def laid_out(rows: Rows, name: str) -> list[int]:
    return getattr(rows.ctx.layout, name).numpy().tolist()


def pattern(rows: Rows) -> np.ndarray:
    """[b, b] where W Wᵀ + Γ may have entries, rows in their order of elimination."""
    n, index = rows.ctx.layout.bilaterals, laid_out(rows, "index")
    starts, lengths = laid_out(rows, "bilateral_index_start"), laid_out(rows, "bilateral_row_length")
    touched = np.zeros((n, rows.nv), dtype=int)
    for b in range(n):
        touched[b, index[starts[b] : starts[b] + lengths[b]]] = 1
    return (touched @ touched.T) > 0


@pytest.mark.parametrize("seed", range(6))
def test_every_entry_of_the_factor_lies_in_the_envelope(seed):
    """Symbolic elimination: a pivot couples all rows below that it is coupled with."""
    rows = random_rows(seed)
    filled, n = pattern(rows), rows.ctx.layout.bilaterals
    for k in range(n):
        below = np.flatnonzero(filled[k + 1 :, k]) + k + 1
        filled[np.ix_(below, below)] = True
    first, starts = laid_out(rows, "envelope_first_column"), laid_out(rows, "envelope_row_start")
    assert all(np.flatnonzero(filled[b])[0] >= first[b] for b in range(n))
    assert rows.ctx.layout.L_size == sum(b - f for b, f in enumerate(first))
    assert starts == [sum(j - first[j] for j in range(b)) for b in range(n)]


@pytest.mark.parametrize("seed", range(6))
def test_coupled_rows_are_the_entries_of_the_matrix_below_its_diagonal(seed):
    rows = random_rows(seed)
    A, near, starts = pattern(rows), laid_out(rows, "coupled_rows"), laid_out(rows, "coupled_row_start")
    found = [near[a:b] for a, b in pairwise(starts)]
    assert found == [np.flatnonzero(A[b, :b]).tolist() for b in range(len(A))]


@pytest.mark.parametrize("seed", range(6))
def test_every_bilateral_row_is_there_once_joints_first_motors_last(seed):
    """Limits and bounded kinds are left to sweeps; a compliant row has a coordinate of its own behind those of z."""
    rows = random_rows(seed)
    kinds, impulses = laid_out(rows, "bilateral_kind"), laid_out(rows, "bilateral_p")
    in_joints = [6 * k + j for k, (_, kind) in enumerate(rows.joints) for j in range(CONSTRAINT_COUNT[kind])]
    first = rows.ctx.layout.scalar_p_start
    assert sorted(impulses) == [*in_joints, first, first + 4 + 3, first + 8 + 2, first + 12]
    assert kinds.count(BilateralKind.JOINT) == len(in_joints) == 16
    last = [k for k in kinds if k in (BilateralKind.BOUND, BilateralKind.MOTOR)]
    assert last == [BilateralKind.BOUND, BilateralKind.BOUND, BilateralKind.MOTOR] == kinds[-3:]
    assert laid_out(rows, "scalar_bounded_kinds") == [0, 0, 0, 0, RowKind.BOUND]
    slack = [s for s in laid_out(rows, "bilateral_slack") if s >= 0]
    layout = rows.ctx.layout
    assert slack == [rows.nv] and layout.z_size == layout.reduced_size == rows.nv + 1
