"""The active contact set (M-85): which contacts are swept, and that sweeping only those solves the same problem."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from engine_parts import FAST_COMPILE, WORLD, Rows, column, cone_residual, put, read, run, zeros

from sharnir.impulse.data import StepContext, make_iterate
from sharnir.impulse.slots import Setting, StatusReal, StopReason
from sharnir.impulse.solve.active_contacts import (
    activate_changed_frozen,
    activate_trees,
    extrapolate_active,
    freeze_contacts,
    has_active_tree,
    restart_acceleration,
    sweep_active,
    sweep_frozen,
    unfreeze_contacts,
)
from sharnir.impulse.solve.active_pgs import run_pgs_active
from sharnir.kernels.types import array2, real

wp.set_module_options(FAST_COMPILE)
NO_DEADLINE = 1e300  # ticks
CHAIN = [(i, i + 1) for i in range(9)] + [(0, WORLD), (5, WORLD)]  # contacts of ten bodies in a row


@wp.kernel
def activate_kernel(ctx: StepContext, chosen: wp.array(dtype=int), out: array2):
    """Freeze all, activate the trees of some contacts, and unfreeze the contacts of these."""
    freeze_contacts(ctx.layout, ctx.work, 0)
    for i in range(chosen.shape[0]):
        out[0, 0] = out[0, 0] + real(activate_trees(ctx.work, chosen[i], 0))
    for c in range(ctx.layout.max_contacts):
        out[1 + c, 0] = real(has_active_tree(ctx.work, c, 0))
    unfreeze_contacts(ctx.layout, ctx.work, ctx.work.p, 0)


@wp.kernel
def frozen_kernel(ctx: StepContext, threshold: real, z: array2, out: array2):
    x = make_iterate(z, ctx.work.p, 0)
    out[0, 0] = sweep_frozen(ctx, x, 0)
    out[1, 0] = real(activate_changed_frozen(ctx.layout, ctx.work, threshold, 0))


@wp.kernel
def sweep_kernel(ctx: StepContext, threshold: real, z: array2, out: array2):
    x = make_iterate(z, ctx.work.p, 0)
    worst, change2, activated = sweep_active(ctx, threshold, x, 0)
    out[0, 0] = worst
    out[1, 0] = change2
    out[2, 0] = real(activated)


@wp.kernel
def extrapolate_kernel(ctx: StepContext, beta: real, restart: int, z: array2):
    if restart == 1:
        restart_acceleration(ctx.layout, ctx.work, z, ctx.work.p, 0)
    else:
        extrapolate_active(ctx.layout, ctx.work, beta, z, ctx.work.p, 0)


@wp.kernel
def solve_kernel(ctx: StepContext, z: array2, out: array2):
    x = make_iterate(z, ctx.work.p, 0)
    n, worst, reason = run_pgs_active(ctx, x, wp.float64(NO_DEADLINE), 0)
    out[0, 0] = real(n)
    out[1, 0] = worst
    out[2, 0] = real(reason)


def problem(seed: int = 0, torsional: bool = False) -> Rows:
    rows = Rows(np.random.default_rng(seed), trees=[6] * 10, contacts=CHAIN, torsional=torsional)
    put(rows.ctx.work.contact_target, np.random.default_rng(seed + 1).normal(size=3 * len(CHAIN)) * 0.1)
    return rows


def listed(array: wp.array) -> set[int]:
    """Items of a list that starts with its length."""
    items = array.numpy()[:, 0]
    assert len(set(items[1 : 1 + items[0]])) == items[0]  # nothing twice
    return set(items[1 : 1 + items[0]].tolist())


@pytest.mark.parametrize("chosen", [[2], [0, 9], [10, 3, 2]])
def test_contacts_of_active_trees_and_their_coordinates_are_listed(chosen):
    rows, out = problem(), zeros(1 + len(CHAIN))
    run(activate_kernel, rows.ctx, wp.array(chosen, dtype=int, device="cpu"), out)
    trees = {t for c in chosen for t in CHAIN[c]} - {WORLD}
    contacts = {c for c, pair in enumerate(CHAIN) if trees & set(pair)}
    assert read(out)[0] == len(trees)
    assert set(np.flatnonzero(read(out)[1:])) == contacts == listed(rows.ctx.work.active_contacts)
    assert set(np.flatnonzero(rows.ctx.work.frozen.numpy()[:, 0] == 0)) == contacts
    touched = trees | {t for c in contacts for t in CHAIN[c]} - {WORLD}
    assert listed(rows.ctx.work.touched_dofs) == {d for t in touched for d in rows.tree_entries(t)}


def test_frozen_contacts_keep_their_impulses_until_they_are_swept_separately():
    rows, out = problem(3), zeros(20)
    run(activate_kernel, rows.ctx, wp.array([10], dtype=int, device="cpu"), out)  # the tree 5 and its contacts
    active = listed(rows.ctx.work.active_contacts)
    z0 = np.random.default_rng(5).normal(size=rows.nv)
    z = column(z0)
    run(sweep_kernel, rows.ctx, 1e30, z, out)
    p = rows.contact_impulses(read(rows.ctx.work.p))
    assert {c for c in range(len(CHAIN)) if p[c].any()} <= active == {4, 5, 10}
    np.testing.assert_allclose(read(out)[1], (p**2).sum(), rtol=1e-12)  # squares of all changes
    np.testing.assert_allclose(read(out)[0], np.abs(p).max(), rtol=1e-12)
    run(frozen_kernel, rows.ctx, 1e30, z, out)
    after = rows.contact_impulses(read(rows.ctx.work.p))
    np.testing.assert_array_equal(after[sorted(active)], p[sorted(active)])
    assert any(after[c].any() for c in set(range(len(CHAIN))) - active)
    np.testing.assert_allclose(read(z), z0 + rows.velocity_change(read(rows.ctx.work.p)), atol=1e-11)


def test_only_active_contacts_and_coordinates_they_touch_are_extrapolated():
    rows, out = problem(4, torsional=True), zeros(20)
    run(activate_kernel, rows.ctx, wp.array([10], dtype=int, device="cpu"), out)
    work, rng = rows.ctx.work, np.random.default_rng(0)
    names = ("p", "p_old", "p_direction", "z_old", "z_direction")
    values = {name: rng.normal(size=getattr(work, name).shape[0]) for name in names}
    for name, value in values.items():
        put(getattr(work, name), value)
    z0 = rng.normal(size=rows.nv)
    z = column(z0)
    run(extrapolate_kernel, rows.ctx, 0.25, 0, z)
    active = np.zeros((len(CHAIN), 6), dtype=bool)
    active[[4, 5, 10]] = True
    active = active.reshape(-1)
    p, direction, old, n = values["p"], values["p_direction"], values["p_old"], rows.ctx.layout.impulses
    np.testing.assert_allclose(read(work.p), np.where(active, p + 0.25 * direction[:n], p), rtol=1e-14)
    np.testing.assert_allclose(
        read(work.p_direction)[:n], np.where(active, p - old[:n] + 0.25 * direction[:n], direction[:n]), rtol=1e-12
    )
    moved = np.isin(np.arange(rows.nv), sorted(listed(work.touched_dofs)))
    np.testing.assert_allclose(read(z), np.where(moved, z0 + 0.25 * values["z_direction"][: rows.nv], z0), rtol=1e-14)
    run(extrapolate_kernel, rows.ctx, 0.0, 1, z)
    assert not read(work.p_direction)[:n].any() and not read(work.z_direction)[: rows.nv].any()
    np.testing.assert_array_equal(read(work.p_old)[:n][active], read(work.p)[active])


@pytest.mark.parametrize("torsional", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_sweeps_over_active_contacts_solve_the_whole_problem(seed, torsional):
    """A chain of bodies at rest, of which one is given a velocity into its contact."""
    rows, out = problem(seed, torsional), zeros(3)
    state, work = rows.ctx.state, rows.ctx.work
    z0 = np.zeros(rows.nv)
    z0[rows.tree_entries(3)] = -rows.contact(3)[0][rows.tree_entries(3)]
    put(work.contact_target, np.zeros(3 * len(CHAIN)))
    put(state.settings, [1e9], Setting.REPLAY_CUT)
    put(state.settings, [3000], Setting.MAX_SWEEPS)
    put(work.status_real, [1e-11], StatusReal.SWEEP_TOLERANCE)
    z = column(z0)
    run(solve_kernel, rows.ctx, z, out)
    p, z = read(work.p), read(z)
    assert read(out)[2] == StopReason.CONVERGED and read(out)[1] <= 1e-11 and read(out)[0] < 2000
    np.testing.assert_allclose(z, z0 + rows.velocity_change(p), atol=1e-11)
    speeds = (rows.all_contacts() @ z).reshape(len(CHAIN), rows.width)[:, :3]
    assert cone_residual(rows.contact_impulses(p)[:, :3], speeds, 0.5).max() < 1e-9
    assert (rows.contact_impulses(p)[:, 0] > 0).any()
