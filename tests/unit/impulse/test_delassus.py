"""Projected Gauss–Seidel on the dense Delassus matrix A = W Wᵀ (M-63), against numpy."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from engine_parts import BOUNDS, QUICK, WORLD, Parts, Rows, column, cone_residual, empty, line_residual, put, run, seen

from sharnir.impulse.row_kinds import BOUND, FRICTION
from sharnir.impulse.solve.delassus import (
    change_is_self_stress,
    ensure_delassus,
    gather_delassus_rows,
    scatter_delassus_rows,
    sweep_delassus,
)
from sharnir.kernels.types import array2, real

wp.set_module_options(QUICK)
CONTACTS = [(0, 1), (1, WORLD), (0, 2), (2, WORLD)]
LINES = [((5, 4, 3), BOUND), ((11, 6, 3), BOUND | FRICTION), ((13, 5), FRICTION)]


@wp.kernel
def build_kernel(s: Parts, out: array2):
    out[0, 0] = wp.where(ensure_delassus(s.plan, s.work, 0), real(1.0), real(0.0))


@wp.kernel
def sweep_kernel(s: Parts, z: array2, sweeps: int, out: array2):
    out[0, 0] = real(gather_delassus_rows(s.plan, s.work, z, s.work.p, 0))
    for _ in range(sweeps):
        out[1, 0] = sweep_delassus(s.plan, s.work, 0)
    scatter_delassus_rows(s.plan, s.work, z, s.work.p, 0)


@wp.kernel
def self_stress_kernel(s: Parts, out: array2):
    out[0, 0] = wp.where(change_is_self_stress(s.work, 0), real(1.0), real(0.0))


def problem(seed: int = 0) -> Rows:
    """Contacts and scalar rows with a limit, friction or both."""
    rng = np.random.default_rng(seed)
    rows = Rows(rng, contacts=CONTACTS, lines=LINES)
    work = rows.parts.work
    put(work.contact_target, rng.normal(size=3 * rows.contacts))
    put(work.velocity_lower, [-0.2, -0.1, 0])
    put(work.velocity_upper, [0.3, 0.1, 0])
    put(work.friction_bound, [0, 0.3, 0.5])
    put(work.p, np.abs(rng.normal(size=rows.parts.plan.impulses)) * 0.1)
    return rows


def test_the_delassus_matrix_is_w_times_its_transpose():
    rows, out = problem(), empty(1)
    run(build_kernel, rows.parts, out)
    W = np.concatenate([rows.all_contacts(), rows.all_lines()])
    n = len(W) + -len(W) % 4
    A = seen(rows.parts.work.delassus)[: n * len(W)].reshape(len(W), n)[:, : len(W)]
    assert seen(out)[0] == 1
    np.testing.assert_allclose(A, W @ W.T, atol=1e-12)
    assert not seen(rows.parts.work.dense_row).any()  # the scratch is left clear


def test_it_is_not_built_of_too_many_rows():
    rows, out = Rows(np.random.default_rng(0), contacts=[(0, 1)] * 33), empty(1)
    run(build_kernel, rows.parts, out)
    assert seen(out)[0] == 0


@pytest.mark.parametrize("seed", range(4))
def test_sweeps_converge_to_the_complementarity_problem(seed):
    """z − z₀ = Wᵀ(p − p₀), and contacts, limits and dry friction obey their laws at the speeds W z."""
    rows, out = problem(seed), empty(2)
    z0 = np.random.default_rng(9).normal(size=rows.nv)
    p0, z, work = seen(rows.parts.work.p), column(z0), rows.parts.work
    for l, (_, acts) in enumerate(LINES):  # what does not act has no impulse to begin with
        start = rows.parts.plan.scalar_p_start + 4 * l
        p0[start : start + 4] *= [bool(acts & BOUND), bool(acts & FRICTION), 0, 0]
    put(work.p, p0)
    run(build_kernel, rows.parts, out)
    run(sweep_kernel, rows.parts, z, 3000, out)
    p, z = seen(work.p), seen(z)
    assert seen(out)[1] < 1e-11
    np.testing.assert_allclose(z - z0, rows.pushed(p - _turning_left_out(rows, p0, p)), atol=1e-10)
    speeds = (rows.all_contacts() @ z).reshape(-1, 3) - seen(work.contact_target).reshape(-1, 3)
    assert cone_residual(rows.contact_impulses(p)[:, :3], speeds, 0.5).max() < 1e-9
    assert (rows.contact_impulses(p)[:, 0] > 0).any()
    lower, upper, friction = (seen(getattr(work, name)) for name in BOUNDS)
    for l, (_, acts) in enumerate(LINES):
        s = rows.line(l) @ z
        assert line_residual(rows.line_impulses(p)[l], s, acts, lower[l], upper[l], friction[l]) < 1e-9


def _turning_left_out(rows: Rows, p0: np.ndarray, p: np.ndarray) -> np.ndarray:
    """p0, with the impulses of spin and rolling that contacts of three rows do not have as in p."""
    out = p0.copy()
    rows.contact_impulses(out)[:, 3:] = rows.contact_impulses(p)[:, 3:]
    return out


@pytest.mark.parametrize(("along", "ends"), [("null space", 1), ("anything", 0)])
def test_changes_along_self_stress_are_told_from_others(along, ends):
    """Two contacts with the same rows: impulses that cancel change no speed, and sweeps need not go on (M-83)."""
    rows, out = Rows(np.random.default_rng(1), contacts=[(0, WORLD), (0, WORLD)]), empty(1)
    first, second = (int(rows.halves[c, 0, 0]) for c in range(2))
    rows.W[second : second + 18] = rows.W[first : first + 18]
    rows.upload()
    run(build_kernel, rows.parts, out)
    work, change = rows.parts.work, np.array([0.3, -0.2, 0.5, -0.3, 0.2, -0.5])
    if along == "anything":
        change[0] = 0.9
    W = rows.all_contacts()
    put(work.row_impulse, change)
    put(work.row_velocity, W @ (W.T @ change))
    run(self_stress_kernel, rows.parts, out)
    assert seen(out)[0] == ends
