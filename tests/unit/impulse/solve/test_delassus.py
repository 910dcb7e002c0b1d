"""Projected Gauss–Seidel on the dense Delassus matrix A = W Wᵀ (M-63), against numpy."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from engine_parts import (
    BOUNDS,
    FAST_COMPILE,
    WORLD,
    Rows,
    column,
    cone_residual,
    put,
    read,
    run,
    scalar_residual,
    zeros,
)

from sharnir.impulse.data import StepContext, make_iterate
from sharnir.impulse.row_kinds import RowKind
from sharnir.impulse.solve.delassus import (
    change_is_self_stress,
    ensure_delassus,
    gather_delassus_rows,
    scatter_delassus_rows,
    sweep_delassus,
)
from sharnir.kernels.types import array2, real

wp.set_module_options(FAST_COMPILE)
CONTACTS = [(0, 1), (1, WORLD), (0, 2), (2, WORLD)]
SCALARS = [((5, 4, 3), RowKind.BOUND), ((11, 6, 3), RowKind.BOUND | RowKind.FRICTION), ((13, 5), RowKind.FRICTION)]


@wp.kernel
def build_kernel(ctx: StepContext, out: array2):
    out[0, 0] = wp.where(ensure_delassus(ctx.layout, ctx.work, 0), real(1.0), real(0.0))


@wp.kernel
def sweep_kernel(ctx: StepContext, z: array2, sweeps: int, out: array2):
    x = make_iterate(z, ctx.work.p, 0)
    out[0, 0] = real(gather_delassus_rows(ctx, x, 0))
    for _ in range(sweeps):
        out[1, 0] = sweep_delassus(ctx, 0)
    x = make_iterate(z, ctx.work.p, 0)
    scatter_delassus_rows(ctx, x, 0)


@wp.kernel
def self_stress_kernel(ctx: StepContext, out: array2):
    out[0, 0] = wp.where(change_is_self_stress(ctx.work, 0), real(1.0), real(0.0))


def problem(seed: int = 0) -> Rows:
    """Contacts and scalar rows with a limit, friction or both."""
    rng = np.random.default_rng(seed)
    rows = Rows(rng, contacts=CONTACTS, scalars=SCALARS)
    work = rows.ctx.work
    put(work.contact_target, rng.normal(size=3 * rows.contacts))
    put(work.velocity_lower, [-0.2, -0.1, 0])
    put(work.velocity_upper, [0.3, 0.1, 0])
    put(work.friction_bound, [0, 0.3, 0.5])
    put(work.p, np.abs(rng.normal(size=rows.ctx.layout.impulses)) * 0.1)
    return rows


def test_the_delassus_matrix_is_w_times_its_transpose():
    rows, out = problem(), zeros(1)
    run(build_kernel, rows.ctx, out)
    W = np.concatenate([rows.all_contacts(), rows.all_scalars()])
    n = len(W) + -len(W) % 4
    A = read(rows.ctx.work.delassus)[: n * len(W)].reshape(len(W), n)[:, : len(W)]
    assert read(out)[0] == 1
    np.testing.assert_allclose(A, W @ W.T, atol=1e-12)
    assert not read(rows.ctx.work.dense_row).any()  # the scratch is left clear


def test_the_matrix_is_not_built_for_too_many_rows():
    rows, out = Rows(np.random.default_rng(0), contacts=[(0, 1)] * 33), zeros(1)
    run(build_kernel, rows.ctx, out)
    assert read(out)[0] == 0


@pytest.mark.parametrize("seed", range(4))
def test_sweeps_converge_to_the_complementarity_problem(seed):
    """z − z₀ = Wᵀ(p − p₀), and contacts, limits and dry friction obey their laws at the velocities W z."""
    rows, out = problem(seed), zeros(2)
    z0 = np.random.default_rng(9).normal(size=rows.nv)
    p0, z, work = read(rows.ctx.work.p), column(z0), rows.ctx.work
    for l, (_, kinds) in enumerate(SCALARS):  # a kind that a row does not have starts without impulse
        start = rows.ctx.layout.scalar_p_start + 4 * l
        p0[start : start + 4] *= [bool(kinds & RowKind.BOUND), bool(kinds & RowKind.FRICTION), 0, 0]
    put(work.p, p0)
    run(build_kernel, rows.ctx, out)
    run(sweep_kernel, rows.ctx, z, 3000, out)
    p, z = read(work.p), read(z)
    assert read(out)[1] < 1e-11
    np.testing.assert_allclose(z - z0, rows.velocity_change(p - _without_torsional(rows, p0, p)), atol=1e-10)
    speeds = (rows.all_contacts() @ z).reshape(-1, 3) - read(work.contact_target).reshape(-1, 3)
    assert cone_residual(rows.contact_impulses(p)[:, :3], speeds, 0.5).max() < 1e-9
    assert (rows.contact_impulses(p)[:, 0] > 0).any()
    lower, upper, friction = (read(getattr(work, name)) for name in BOUNDS)
    for l, (_, kinds) in enumerate(SCALARS):
        s = rows.scalar(l) @ z
        assert scalar_residual(rows.scalar_impulses(p)[l], s, kinds, lower[l], upper[l], friction[l]) < 1e-9


def _without_torsional(rows: Rows, p0: np.ndarray, p: np.ndarray) -> np.ndarray:
    """p0, with those torsional and rolling impulses of p that contacts of three rows do not have."""
    out = p0.copy()
    rows.contact_impulses(out)[:, 3:] = rows.contact_impulses(p)[:, 3:]
    return out


@pytest.mark.parametrize(("change_in", "is_self_stress"), [("null space", 1), ("general", 0)])
def test_changes_within_self_stress_are_recognised(change_in, is_self_stress):
    """Two contacts with the same rows: impulses that cancel change no velocity, and sweeps may end (M-83)."""
    rows, out = Rows(np.random.default_rng(1), contacts=[(0, WORLD), (0, WORLD)]), zeros(1)
    first, second = (int(rows.halves[c, 0, 0]) for c in range(2))
    rows.W[second : second + 18] = rows.W[first : first + 18]
    rows.upload()
    run(build_kernel, rows.ctx, out)
    work, change = rows.ctx.work, np.array([0.3, -0.2, 0.5, -0.3, 0.2, -0.5])
    if change_in == "general":
        change[0] = 0.9
    W = rows.all_contacts()
    put(work.row_impulse, change)
    put(work.row_velocity, W @ (W.T @ change))
    run(self_stress_kernel, rows.ctx, out)
    assert read(out)[0] == is_self_stress
