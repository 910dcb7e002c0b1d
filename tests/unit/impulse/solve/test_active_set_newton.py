"""Semismooth Newton steps on the Delassus problem (M-64), against numpy's solution of the active system."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from engine_parts import FAST_COMPILE, WORLD, Rows, column, put, read, run, zeros

from sharnir.impulse.data import StepContext, make_iterate
from sharnir.impulse.row_kinds import RowKind
from sharnir.impulse.slots import ContactMode, ScalarMode
from sharnir.impulse.solve.active_set_newton import NEWTON_REGULARISATION, newton_applies, newton_step
from sharnir.impulse.solve.delassus import ensure_delassus, gather_delassus_rows, sweep_delassus
from sharnir.kernels.dense import factor_lu, solve_lu
from sharnir.kernels.types import array2, real

wp.set_module_options(FAST_COMPILE)
MU = 0.5
CONTACTS = [(0, 1), (1, WORLD), (0, 2), (2, WORLD), (1, 2)]
SCALARS = [
    ((5, 4, 3), RowKind.BOUND),
    ((11, 6, 2), RowKind.BOUND),
    ((13,), RowKind.FRICTION),
    ((9, 8), RowKind.FRICTION),
]


@wp.kernel
def sweep_kernel(ctx: StepContext, z: array2, sweeps: int, change: array2):
    ensure_delassus(ctx.layout, ctx.work, 0)
    x = make_iterate(z, ctx.work.p, 0)
    gather_delassus_rows(ctx, x, 0)
    for _ in range(sweeps):
        change[0, 0] = sweep_delassus(ctx, 0)


@wp.kernel
def newton_kernel(ctx: StepContext):
    newton_step(ctx.layout, ctx.work, 0)


@wp.kernel
def applies_kernel(ctx: StepContext, out: array2):
    ensure_delassus(ctx.layout, ctx.work, 0)
    out[0, 0] = wp.where(newton_applies(ctx.layout, ctx.work, 0), real(1.0), real(0.0))


@wp.kernel
def lu_kernel(H: array2, x: array2, size: int, stride: int):
    factor_lu(H, size, stride, 0)
    solve_lu(H, x, size, stride, 0)


class SweptProblem:
    """A random problem after some sweeps: impulses p, velocities s and modes of its rows."""

    def __init__(self, seed: int, sweeps: int) -> None:
        rng = np.random.default_rng(seed)
        self.rows, self.change = Rows(rng, contacts=CONTACTS, scalars=SCALARS), zeros(1)
        work = self.work = self.rows.ctx.work
        put(work.contact_target, rng.normal(size=3 * self.rows.contacts))
        put(work.velocity_lower, [0.1, -np.inf, 0, 0])
        put(work.velocity_upper, [np.inf, -0.1, 0, 0])
        put(work.friction_bound, [0, 0, 0.1, 2.0])
        z = column(rng.normal(size=self.rows.nv))
        run(sweep_kernel, self.rows.ctx, z, sweeps, self.change)
        self.n = 3 * self.rows.contacts
        self.update()

    def update(self) -> None:
        scalars = len(SCALARS)
        four = read(self.work.row_impulse)[self.n : self.n + 4 * scalars].reshape(scalars, 4)
        self.p = np.concatenate([read(self.work.row_impulse)[: self.n], four.sum(axis=1)])
        self.s = read(self.work.row_velocity)[: self.n + scalars]

    def modes(self) -> tuple[list[int], list[int]]:
        """Of contacts and of scalar rows, by the impulses they have."""
        contact_modes = self.work.contact_mode.numpy()[: self.rows.contacts, 0].tolist()
        bound = read(self.work.friction_bound)
        p = self.p[self.n :]
        limits = [ScalarMode.FREE if p[l] == 0 else (ScalarMode.LOWER, ScalarMode.UPPER)[l] for l in range(2)]
        sticks = [ScalarMode.FRICTION if abs(p[l]) < bound[l] else ScalarMode.FREE for l in (2, 3)]
        return contact_modes, limits + sticks


def step_in_numpy(before: SweptProblem) -> np.ndarray:
    """p after one Newton step on the active rows, assembled from (M-64)."""
    rows, n = before.rows, before.n
    W = np.concatenate([rows.all_contacts(), rows.all_scalars()])
    A, p, s = W @ W.T, before.p.copy(), before.s.copy()
    contact_modes, scalar_modes = before.modes()
    target = np.concatenate([read(before.work.contact_target), [0.1, -0.1, 0, 0]])
    contact_rows = [m != ContactMode.OPEN for m in contact_modes for _ in range(3)]
    active = np.array(contact_rows + [m != ScalarMode.FREE for m in scalar_modes])
    for i in np.flatnonzero(~active):  # an inactive row loses its impulse; friction at its bound keeps it
        if i < n + 2:
            s, p[i] = s - A[:, i] * p[i], 0
    H = A + float(NEWTON_REGULARISATION) * np.diag(A.diagonal())
    error = target - s
    for c in [c for c, mode in enumerate(contact_modes) if mode == ContactMode.SLIP]:
        t, first = slice(3 * c + 1, 3 * c + 3), 3 * c
        K = A[first : first + 3, first : first + 3]
        r = 1 / np.linalg.eigvalsh(K[1:, 1:])[1]
        v = s[first : first + 3] - target[first : first + 3]
        p_n = max(p[first] - v[0] / K[0, 0], 0)
        y = p[t] - r * (v[1:] + K[0, 1:] * (p_n - p[first]))
        d, turn = y / np.linalg.norm(y), MU * p_n / np.linalg.norm(y)
        across = turn * (np.eye(2) - np.outer(d, d))
        H[t] = across @ H[t]  # p_t + δ_t = μ (p_n + δ_n) d + (μ p_n/|y|)(1 − d dᵀ)(δ_t − r (A δ)_t), over r
        H[t, t] += (np.eye(2) - across) / r
        H[t, first] -= MU * d / r
        error[t] = (MU * p[first] * d - p[t]) / r
    p[active] += np.linalg.solve(H[np.ix_(active, active)], error[active])
    return p


@pytest.mark.parametrize("seed", range(6))
def test_one_step_from_the_right_active_set_is_numpys_linear_solution(seed):
    near, end = SweptProblem(seed, 40), SweptProblem(seed, 4000)
    assert near.modes() == end.modes()
    expected = step_in_numpy(near)
    distance = np.abs(near.p - end.p).max()
    run(newton_kernel, near.rows.ctx)
    near.update()
    np.testing.assert_allclose(near.p, expected, atol=1e-9)
    W = np.concatenate([near.rows.all_contacts(), near.rows.all_scalars()])
    np.testing.assert_allclose(near.s - end.s, W @ (W.T @ (near.p - end.p)), atol=1e-9)  # velocities follow
    assert np.abs(near.p - end.p).max() < max(0.02 * distance, 1e-9)


def test_all_modes_occur_in_these_problems():
    contacts, scalars = zip(*(SweptProblem(seed, 40).modes() for seed in range(6)), strict=True)
    assert {m for modes in contacts for m in modes} == set(ContactMode)
    assert {m for modes in scalars for m in modes} == set(ScalarMode)


@pytest.mark.parametrize(("kinds", "applies"), [(RowKind.BOUND | RowKind.FRICTION, 1), (RowKind.MOTOR, 0)])
def test_newton_applies_to_limits_and_dry_friction_only(kinds, applies):
    rows, out = Rows(np.random.default_rng(0), contacts=[(0, 1)], scalars=[((1, 0), kinds)]), zeros(1)
    run(applies_kernel, rows.ctx, out)
    assert read(out)[0] == applies


@pytest.mark.parametrize("size", [1, 3, 4, 7, 12, 13, 30])
def test_lu_without_row_exchange_solves(size):
    rng, stride = np.random.default_rng(size), size + -size % 4
    H = rng.normal(size=(size, size)) + 3 * size * np.eye(size)
    b = rng.normal(size=size)
    padded = np.zeros((size, stride))
    padded[:, :size] = H.T  # by columns
    x = column(np.concatenate([b, np.zeros(4)]))
    run(lu_kernel, column(padded.reshape(-1)), x, size, stride)
    np.testing.assert_allclose(read(x)[:size], np.linalg.solve(H, b), rtol=1e-12)
