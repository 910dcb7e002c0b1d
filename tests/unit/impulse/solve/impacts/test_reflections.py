"""Reflections of impacts (M-87..M-89) on random whitened rows, against the least energy found by scipy."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from engine_parts import FAST_COMPILE, WORLD, Rows, column, put, read, run
from scipy.optimize import nnls

from sharnir.impulse.data import StepContext, make_iterate
from sharnir.impulse.slots import GroupSum, Impact, Mu
from sharnir.impulse.solve.impacts.impact_mix import blend_impacts, group_restitution
from sharnir.impulse.solve.impacts.reflections import impact_power, list_impacts, reflect
from sharnir.kernels.types import array2, real
from sharnir.kernels.vector_ops import copy

wp.set_module_options(FAST_COMPILE)
PAIRS = [(0, 1), (1, WORLD), (2, WORLD), (0, 2), (1, 2)]
THRESHOLD = 1e-9
SEEDS = pytest.mark.parametrize("seed", range(6))


@wp.kernel
def reflect_kernel(ctx: StepContext, counts: array2):
    found, bouncing = list_impacts(ctx, 0, ctx.work.z_impact, 0)
    counts[0, 0] = real(found)
    counts[1, 0] = real(bouncing)
    compressed = make_iterate(ctx.work.z_compressed, ctx.work.p_compression, 0)
    x = make_iterate(ctx.work.z_reflected, ctx.work.p_reflected, 0)
    copy(ctx.work.z_impact, x.z, ctx.layout.z_size, 0)
    reflect(ctx, compressed, x, 0)
    counts[2, 0] = impact_power(ctx, x.p, 0, ctx.work.z_impact, 0)
    counts[3, 0] = impact_power(ctx, x.p, 0, x.z, 0)


@wp.kernel
def blend_kernel(ctx: StepContext, shares: array2):
    inelastic = make_iterate(ctx.work.z_compressed, ctx.work.p_inelastic, 0)
    blend_impacts(ctx, inelastic, ctx.work.p_reflected, 0)
    for i in range(3):
        shares[i, 0] = group_restitution(ctx.work, i, 0)


def problem(seed: int, e: list[float], mu: float = 0.0, closing: float = -1e9, torsional: bool = False) -> Rows:
    """Contacts that would all close within the step, some of which approach."""
    rows = Rows(np.random.default_rng(seed), contacts=PAIRS, torsional=torsional)
    work, n = rows.ctx.work, len(PAIRS)
    rows.ctx.layout.contact_model.has_restitution = 1
    impact = np.zeros((n, Impact.SIZE))
    impact[:, Impact.RESTITUTION], impact[:, Impact.THRESHOLD], impact[:, Impact.CLOSING] = e, THRESHOLD, closing
    work.impact = column(impact.reshape(-1))
    work.impact_member = wp.zeros((n, 1), dtype=int, device="cpu")
    work.contact_group = wp.zeros((3, 1), dtype=int, device="cpu")
    work.group_sum = column(np.zeros(3 * GroupSum.SIZE))
    friction = np.zeros((n, Mu.SIZE))
    friction[:] = mu, 0.05 * mu, 0.03 * mu
    put(work.contact_mu, friction.reshape(-1))
    z = np.random.default_rng(seed + 100).normal(size=rows.nv)
    put(work.z_impact, z * (1 if (normals(rows) @ z < 0).any() else -1))
    return rows


def normals(rows: Rows) -> np.ndarray:
    return np.array([rows.contact(c)[0] for c in range(len(PAIRS))])


def reflections(W: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Reflect z until no row of W approaches: twice the impulses that leave the least energy."""
    for _ in range(64):
        rows = W[W @ z < -THRESHOLD]
        if not len(rows):
            break
        z = z + 2 * rows.T @ nnls(rows.T, -z)[0]
    return z


@SEEDS
def test_elastic_impacts_are_reflections(seed):
    rows, out = problem(seed, [1.0] * 5), column(np.zeros(4))
    z = read(rows.ctx.work.z_impact)
    run(reflect_kernel, rows.ctx, out)
    after = read(rows.ctx.work.z_reflected)[: rows.nv]
    np.testing.assert_allclose(after, reflections(normals(rows), z), atol=1e-9)
    assert after @ after == pytest.approx(z @ z, rel=1e-14)
    np.testing.assert_allclose(
        z + rows.velocity_change(read(rows.ctx.work.p_reflected)[: rows.ctx.layout.impulses]), after, atol=1e-12
    )
    approaching = (normals(rows) @ z < 0).sum()
    assert read(out)[:2].tolist() == [approaching, approaching]
    assert abs(read(out)[2:].sum()) < 1e-12  # the work of the impulses


@SEEDS
@pytest.mark.parametrize("torsional", [False, True])
def test_friction_takes_energy_within_its_cones(seed, torsional):
    """Contacts without restitution among them; the work counted is the change of the energy."""
    rows, out = problem(seed, [1.0, 0.0, 1.0, 1.0, 0.0], 0.6, torsional=torsional), column(np.zeros(4))
    z = read(rows.ctx.work.z_impact)
    run(reflect_kernel, rows.ctx, out)
    after = read(rows.ctx.work.z_reflected)[: rows.nv]
    p = rows.contact_impulses(read(rows.ctx.work.p_reflected)[: rows.ctx.layout.impulses])
    assert after @ after <= (z @ z) * (1 + 1e-14)
    assert read(out)[2:].sum() == pytest.approx(after @ after - z @ z, abs=1e-11)
    assert (normals(rows) @ after > -1e-8).all()
    assert (p[:, 0] >= 0).all() and (np.hypot(p[:, 1], p[:, 2]) <= 0.6 * p[:, 0] + 1e-12).all()
    if torsional:
        assert (np.abs(p[:, 3]) <= 0.03 * p[:, 0] + 1e-12).all()
        assert (np.hypot(p[:, 4], p[:, 5]) <= 0.018 * p[:, 0] + 1e-12).all()


@SEEDS
@pytest.mark.parametrize("mu", [0.0, 0.6])
def test_lower_restitution_is_a_mean_and_takes_energy(seed, mu):
    """Contacts 0, 1, 3 and 4 connect all trees: one mean coefficient. Without friction the mean is that of the
    reflections and of the least energy."""
    e = [0.5, 0.8, 0.5, 0.2, 0.9]
    rows, shares = problem(seed, e, mu), column(np.zeros(3))
    z = read(rows.ctx.work.z_impact)
    run(reflect_kernel, rows.ctx, column(np.zeros(4)))
    elastic, pressed = (
        read(rows.ctx.work.z_reflected)[: rows.nv],
        read(rows.ctx.work.p_reflected)[: rows.ctx.layout.impulses],
    )
    run(blend_kernel, rows.ctx, shares)
    p = read(rows.ctx.work.p_reflected)[: rows.ctx.layout.impulses]
    after = z + rows.velocity_change(p)
    assert after @ after <= (z @ z) * (1 + 1e-14)
    assert (rows.contact_impulses(p)[:, 0] >= 0).all()
    if mu == 0.0:
        W = normals(rows)
        inelastic = z + W.T @ nnls(W.T, -z)[0]
        weights = rows.contact_impulses(pressed)[:, 0] ** 2 * (W * W).sum(1)
        mean = weights @ np.array(e) / weights.sum()
        if len(set(read(shares).round(12))) == 1:
            assert read(shares)[0] == pytest.approx(mean, rel=1e-10)
            np.testing.assert_allclose(after, (1 - mean) * inelastic + mean * elastic, atol=1e-7)


def test_groups_that_do_not_touch_have_their_own_restitution():
    """Trees 0 and 1 hit each other, tree 2 the ground."""
    for seed in range(40):
        rows, shares = problem(seed, [0.3, 0.0, 0.9, 0.0, 0.0]), column(np.zeros(3))
        impact = read(rows.ctx.work.impact).reshape(5, -1)
        impact[[1, 3, 4], Impact.CLOSING] = 1e9  # out of reach
        put(rows.ctx.work.impact, impact.reshape(-1))
        if (normals(rows) @ read(rows.ctx.work.z_impact))[[0, 2]].max() < 0:
            break
    run(reflect_kernel, rows.ctx, column(np.zeros(4)))
    run(blend_kernel, rows.ctx, shares)
    np.testing.assert_allclose(read(shares), [0.3, 0.3, 0.9], rtol=1e-12)
