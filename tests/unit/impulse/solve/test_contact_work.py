"""Impulses that sweeps left unconverged add no energy (M-111), and those of contacts at rest let them rest (M-86)."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from engine_parts import FAST_COMPILE, WORLD, Rows, column, put, read, run
from scipy.optimize import nnls

from sharnir.impulse.data import StepContext, make_iterate
from sharnir.impulse.row_kinds import RowKind
from sharnir.impulse.slots import GroupSum, Impact, Mu, ReportItem, StepWarning
from sharnir.impulse.solve.contact_work import bound_added_energy
from sharnir.impulse.solve.impacts.resting_impulses import settle_resting

wp.set_module_options(FAST_COMPILE)
TREES = (6, 6, 6, 6)
PAIRS = [(0, 1), (1, WORLD), (2, WORLD), (2, 3)]  # two groups
SEEDS = pytest.mark.parametrize("seed", range(8))


@wp.kernel
def bound_kernel(ctx: StepContext):
    x = make_iterate(ctx.here.z, ctx.work.p, 0)
    bound_added_energy(ctx, x, 0, 0)


@wp.kernel
def settle_kernel(ctx: StepContext):
    x = make_iterate(ctx.work.z_impact, ctx.work.p_inelastic, 0)
    kick = make_iterate(ctx.work.z_kick, ctx.work.p_inelastic, 0)
    settle_resting(ctx, x, kick, 0)


def problem(seed: int, torsional: bool = False) -> Rows:
    rng = np.random.default_rng(seed)
    rows = Rows(rng, TREES, PAIRS, scalars=[([2], RowKind.BOUND), ([8], RowKind.BOUND)], torsional=torsional)
    put(rows.ctx.layout.scalar_lower, [-1.0, -1.0])
    put(rows.ctx.layout.scalar_upper, [1.0, 1.0])
    rows.ctx.work.contact_group = wp.zeros((len(TREES), 1), dtype=int, device="cpu")
    rows.ctx.work.group_sum = column(np.zeros(GroupSum.SIZE * len(TREES)))
    return rows


def impulses(rows: Rows, size: float) -> np.ndarray:
    """Random impulses of limits and contacts, normal ones positive."""
    p = np.zeros(rows.ctx.layout.impulses)
    p[rows.ctx.layout.scalar_p_start : rows.ctx.layout.contact_p_start : 4] = rows.rng.normal(size=2)
    contact = rows.rng.normal(size=(len(PAIRS), 6))
    contact[:, 0], contact[:, rows.width :] = np.abs(contact[:, 0]), 0.0
    p[rows.ctx.layout.contact_p_start :] = contact.reshape(-1)
    return size * p


@SEEDS
@pytest.mark.parametrize("torsional", [False, True])
def test_energy_is_taken_group_by_group(seed, torsional):
    """Each group keeps its impulses, or has the largest share of them that adds nothing, zero where none does."""
    rows = problem(seed, torsional)
    p, z0 = impulses(rows, 0.3), rows.rng.normal(size=rows.nv)
    y = rows.velocity_change(p)
    put(rows.ctx.work.p, p)
    put(rows.ctx.work.contact_chord, np.zeros(3 * len(PAIRS)))
    put(rows.ctx.work.contact_target, np.zeros(3 * len(PAIRS)))
    rows.ctx.here.z = column(z0 + y)
    run(bound_kernel, rows.ctx)
    left, z = read(rows.ctx.work.p)[: p.size], read(rows.ctx.here.z)[: rows.nv]
    limited = 0
    for group in (slice(0, 12), slice(12, 24)):
        added, size2 = y[group] @ (z0[group] + 0.5 * y[group]), y[group] @ y[group]
        share = 1.0 if added <= 0 else np.clip(-1.998 * (y[group] @ z0[group]) / size2, 0.0, 1.0)
        limited += share < 1.0
        np.testing.assert_allclose(z[group], z0[group] + share * y[group], atol=1e-12)
        assert z[group] @ z[group] <= z0[group] @ z0[group] + 1e-12 or share == 1.0
    np.testing.assert_allclose(z, z0 + rows.velocity_change(left), atol=1e-12)
    warned = int(rows.ctx.state.report.numpy()[ReportItem.WARNINGS, 0]) & StepWarning.ENERGY_LIMITED
    assert bool(warned) == (limited > 0)


def test_converged_impulses_keep_their_bits():
    rows = problem(3)
    W = np.array([rows.contact(c)[0] for c in range(len(PAIRS))])
    z0 = rows.rng.normal(size=rows.nv)
    p = np.zeros(rows.ctx.layout.impulses)
    p[rows.ctx.layout.contact_p_start :: 6] = nnls(W.T, -z0)[0]
    put(rows.ctx.work.p, p)
    z = z0 + rows.velocity_change(p)
    rows.ctx.here.z = column(z)
    run(bound_kernel, rows.ctx)
    np.testing.assert_array_equal(read(rows.ctx.here.z)[: rows.nv], z)
    np.testing.assert_array_equal(read(rows.ctx.work.p)[: p.size], p)


@SEEDS
def test_contacts_at_rest_rest_after_half_a_kick_whatever_sweeps_begin_with(seed):
    """Without friction: the impulses of the least energy; the forces of the step get them twice."""
    rows = problem(seed)
    work, n = rows.ctx.work, len(PAIRS)
    work.impact = column(np.zeros(n * Impact.SIZE))
    work.impact_member = wp.array(np.array([[1], [1], [0], [1]], dtype=np.int32), device="cpu")
    work.z_half_kick = column(np.zeros(rows.nv))
    put(work.contact_mu, np.zeros(n * Mu.SIZE))
    z0 = rows.rng.normal(size=rows.nv)
    begin = np.zeros(rows.ctx.layout.impulses)
    begin[rows.ctx.layout.contact_p_start :: 6] = 50.0 * np.abs(rows.rng.normal(size=n)) * [1, 1, 0, 1]
    put(work.p_inelastic, begin)
    put(work.z_impact, z0 + rows.velocity_change(begin))
    put(work.z_kick, np.zeros(rows.nv))
    run(settle_kernel, rows.ctx)
    W = np.array([rows.contact(c)[0] for c in (0, 1, 3)])
    change = W.T @ nnls(W.T, -z0)[0]
    np.testing.assert_allclose(read(work.z_impact)[: rows.nv], z0 + change, atol=1e-6)
    np.testing.assert_allclose(read(work.z_half_kick)[: rows.nv], z0, atol=1e-10)
    np.testing.assert_allclose(read(work.z_kick)[: rows.nv], 2 * change, atol=1e-6)
