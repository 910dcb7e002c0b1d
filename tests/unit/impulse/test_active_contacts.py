"""The active contact set (M-85): which contacts are swept, and that sweeping only those solves the same problem."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from engine_parts import QUICK, WORLD, Parts, Rows, column, cone_residual, empty, put, run, seen

from sharnir.impulse.slots import Setting, StatusReal
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

wp.set_module_options(QUICK)
FOREVER = 1e300  # ticks
CHAIN = [(i, i + 1) for i in range(9)] + [(0, WORLD), (5, WORLD)]  # contacts of ten bodies in a row


@wp.kernel
def activate_kernel(s: Parts, chosen: wp.array(dtype=int), out: array2):
    """Freeze all, activate the trees of some contacts, and unfreeze the contacts of these."""
    freeze_contacts(s.plan, s.work, 0)
    for i in range(chosen.shape[0]):
        out[0, 0] = out[0, 0] + real(activate_trees(s.work, chosen[i], 0))
    for c in range(s.plan.max_contacts):
        out[1 + c, 0] = real(has_active_tree(s.work, c, 0))
    unfreeze_contacts(s.plan, s.work, s.work.p, 0)


@wp.kernel
def look_kernel(s: Parts, least: real, z: array2, out: array2):
    out[0, 0] = sweep_frozen(s.plan, s.work, z, s.work.p, 0)
    out[1, 0] = real(activate_changed_frozen(s.plan, s.work, least, 0))


@wp.kernel
def sweep_kernel(s: Parts, least: real, z: array2, out: array2):
    worst, square, more = sweep_active(s.plan, s.work, least, z, s.work.p, 0)
    out[0, 0] = worst
    out[1, 0] = square
    out[2, 0] = real(more)


@wp.kernel
def ahead_kernel(s: Parts, beta: real, anew: int, z: array2):
    if anew == 1:
        restart_acceleration(s.plan, s.work, z, s.work.p, 0)
    else:
        extrapolate_active(s.plan, s.work, beta, z, s.work.p, 0)


@wp.kernel
def solve_kernel(s: Parts, z: array2, out: array2):
    n, worst, reason = run_pgs_active(s.plan, s.state, s.work, z, wp.float64(FOREVER), 0)
    out[0, 0] = real(n)
    out[1, 0] = worst
    out[2, 0] = real(reason)


def problem(seed: int = 0, turning: bool = False) -> Rows:
    rows = Rows(np.random.default_rng(seed), trees=[6] * 10, contacts=CHAIN, turning=turning)
    put(rows.parts.work.contact_target, np.random.default_rng(seed + 1).normal(size=3 * len(CHAIN)) * 0.1)
    return rows


def listed(array: wp.array) -> set[int]:
    items = array.numpy()[:, 0]
    assert len(set(items[1 : 1 + items[0]])) == items[0]  # nothing twice
    return set(items[1 : 1 + items[0]].tolist())


@pytest.mark.parametrize("chosen", [[2], [0, 9], [10, 3, 2]])
def test_contacts_of_active_trees_and_their_coordinates_are_listed(chosen):
    rows, out = problem(), empty(1 + len(CHAIN))
    run(activate_kernel, rows.parts, wp.array(chosen, dtype=int, device="cpu"), out)
    trees = {t for c in chosen for t in CHAIN[c]} - {WORLD}
    contacts = {c for c, pair in enumerate(CHAIN) if trees & set(pair)}
    assert seen(out)[0] == len(trees)
    assert set(np.flatnonzero(seen(out)[1:])) == contacts == listed(rows.parts.work.active_contacts)
    assert set(np.flatnonzero(rows.parts.work.frozen.numpy()[:, 0] == 0)) == contacts
    touched = trees | {t for c in contacts for t in CHAIN[c]} - {WORLD}
    assert listed(rows.parts.work.touched_dofs) == {d for t in touched for d in rows.tree_entries(t)}


def test_frozen_contacts_stay_as_they_are_and_are_looked_at_apart():
    rows, out = problem(3), empty(20)
    run(activate_kernel, rows.parts, wp.array([10], dtype=int, device="cpu"), out)  # the tree 5 and its contacts
    active = listed(rows.parts.work.active_contacts)
    z0 = np.random.default_rng(5).normal(size=rows.nv)
    z = column(z0)
    run(sweep_kernel, rows.parts, 1e30, z, out)
    p = rows.contact_impulses(seen(rows.parts.work.p))
    assert {c for c in range(len(CHAIN)) if p[c].any()} <= active == {4, 5, 10}
    np.testing.assert_allclose(seen(out)[1], (p**2).sum(), rtol=1e-12)  # squares of all changes
    np.testing.assert_allclose(seen(out)[0], np.abs(p).max(), rtol=1e-12)
    run(look_kernel, rows.parts, 1e30, z, out)
    after = rows.contact_impulses(seen(rows.parts.work.p))
    np.testing.assert_array_equal(after[sorted(active)], p[sorted(active)])
    assert any(after[c].any() for c in set(range(len(CHAIN))) - active)
    np.testing.assert_allclose(seen(z), z0 + rows.pushed(seen(rows.parts.work.p)), atol=1e-11)


def test_only_active_contacts_and_what_they_move_are_extrapolated():
    rows, out = problem(4, turning=True), empty(20)
    run(activate_kernel, rows.parts, wp.array([10], dtype=int, device="cpu"), out)
    work, rng = rows.parts.work, np.random.default_rng(0)
    names = ("p", "p_old", "p_direction", "z_old", "z_direction")
    values = {name: rng.normal(size=getattr(work, name).shape[0]) for name in names}
    for name, value in values.items():
        put(getattr(work, name), value)
    z0 = rng.normal(size=rows.nv)
    z = column(z0)
    run(ahead_kernel, rows.parts, 0.25, 0, z)
    active = np.zeros((len(CHAIN), 6), dtype=bool)
    active[[4, 5, 10]] = True
    active = active.reshape(-1)
    p, way, old, n = values["p"], values["p_direction"], values["p_old"], rows.parts.plan.impulses
    np.testing.assert_allclose(seen(work.p), np.where(active, p + 0.25 * way[:n], p), rtol=1e-14)
    np.testing.assert_allclose(
        seen(work.p_direction)[:n], np.where(active, p - old[:n] + 0.25 * way[:n], way[:n]), rtol=1e-12
    )
    moved = np.isin(np.arange(rows.nv), sorted(listed(work.touched_dofs)))
    np.testing.assert_allclose(seen(z), np.where(moved, z0 + 0.25 * values["z_direction"][: rows.nv], z0), rtol=1e-14)
    run(ahead_kernel, rows.parts, 0.0, 1, z)
    assert not seen(work.p_direction)[:n].any() and not seen(work.z_direction)[: rows.nv].any()
    np.testing.assert_array_equal(seen(work.p_old)[:n][active], seen(work.p)[active])


@pytest.mark.parametrize("turning", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_sweeps_of_active_contacts_solve_for_all(seed, turning):
    """A pile of which most rests: only two contacts are off at first."""
    rows, out = problem(seed, turning), empty(3)
    state, work = rows.parts.state, rows.parts.work
    z0 = np.zeros(rows.nv)
    z0[rows.tree_entries(3)] = -rows.contact(3)[0][rows.tree_entries(3)]
    put(work.contact_target, np.zeros(3 * len(CHAIN)))
    put(state.settings, [1e9], Setting.REPLAY_CUT)
    put(state.settings, [3000], Setting.MAX_SWEEPS)
    put(work.status_real, [1e-11], StatusReal.SWEEP_TOLERANCE)
    z = column(z0)
    run(solve_kernel, rows.parts, z, out)
    p, z = seen(work.p), seen(z)
    assert seen(out)[2] == 0 and seen(out)[1] <= 1e-11 and seen(out)[0] < 2000  # it ends when it has settled
    np.testing.assert_allclose(z, z0 + rows.pushed(p), atol=1e-11)
    speeds = (rows.all_contacts() @ z).reshape(len(CHAIN), rows.width)[:, :3]
    assert cone_residual(rows.contact_impulses(p)[:, :3], speeds, 0.5).max() < 1e-9
    assert (rows.contact_impulses(p)[:, 0] > 0).any()
