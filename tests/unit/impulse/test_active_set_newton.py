"""Semismooth Newton steps on the Delassus problem (M-64), against numpy's solution of the active system."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from engine_parts import QUICK, WORLD, Parts, Rows, column, empty, put, run, seen

from sharnir.impulse.row_kinds import BOUND, FRICTION, MOTOR
from sharnir.impulse.solve.active_set_newton import newton_applies, newton_step
from sharnir.impulse.solve.delassus import ensure_delassus, gather_delassus_rows, sweep_delassus
from sharnir.kernels.dense import factor_lu, solve_lu
from sharnir.kernels.types import array2, real

wp.set_module_options(QUICK)
OPEN, STICKS, SLIDES = range(3)
FREE, LOWER, UPPER, RUBS = range(4)
GIVE = 1e-5  # of a row's weight, added to its own response
MU = 0.5
CONTACTS = [(0, 1), (1, WORLD), (0, 2), (2, WORLD), (1, 2)]
LINES = [((5, 4, 3), BOUND), ((11, 6, 2), BOUND), ((13,), FRICTION), ((9, 8), FRICTION)]


@wp.kernel
def sweep_kernel(s: Parts, z: array2, sweeps: int, change: array2):
    ensure_delassus(s.plan, s.work, 0)
    gather_delassus_rows(s.plan, s.work, z, s.work.p, 0)
    for _ in range(sweeps):
        change[0, 0] = sweep_delassus(s.plan, s.work, 0)


@wp.kernel
def newton_kernel(s: Parts):
    newton_step(s.plan, s.work, 0)


@wp.kernel
def allowed_kernel(s: Parts, out: array2):
    ensure_delassus(s.plan, s.work, 0)
    out[0, 0] = wp.where(newton_applies(s.plan, s.work, 0), real(1.0), real(0.0))


@wp.kernel
def lu_kernel(H: array2, x: array2, size: int, stride: int):
    factor_lu(H, size, stride, 0)
    solve_lu(H, x, size, stride, 0)


class Solved:
    """Sweeps of a random problem, as many as asked for: impulses p, speeds s and modes of its rows."""

    def __init__(self, seed: int, sweeps: int) -> None:
        rng = np.random.default_rng(seed)
        self.rows, self.change = Rows(rng, contacts=CONTACTS, lines=LINES), empty(1)
        work = self.work = self.rows.parts.work
        put(work.contact_target, rng.normal(size=3 * self.rows.contacts))
        put(work.velocity_lower, [0.1, -np.inf, 0, 0])
        put(work.velocity_upper, [np.inf, -0.1, 0, 0])
        put(work.friction_bound, [0, 0, 0.1, 2.0])
        z = column(rng.normal(size=self.rows.nv))
        run(sweep_kernel, self.rows.parts, z, sweeps, self.change)
        self.n = 3 * self.rows.contacts
        self.look()

    def look(self) -> None:
        lines = len(LINES)
        four = seen(self.work.row_impulse)[self.n : self.n + 4 * lines].reshape(lines, 4)
        self.p = np.concatenate([seen(self.work.row_impulse)[: self.n], four.sum(axis=1)])
        self.s = seen(self.work.row_velocity)[: self.n + lines]

    def modes(self) -> tuple[list[int], list[int]]:
        """Of contacts and of scalar rows, by the impulses they have."""
        deeds = self.work.contact_mode.numpy()[: self.rows.contacts, 0].tolist()
        bound = seen(self.work.friction_bound)
        p = self.p[self.n :]
        hold = [FREE if p[l] == 0 else (LOWER, UPPER)[l] for l in range(2)]
        return deeds, hold + [RUBS if abs(p[l]) < bound[l] else FREE for l in (2, 3)]


def step_in_numpy(before: Solved) -> np.ndarray:
    """p after one Newton step on the rows that act, assembled from (M-64)."""
    rows, n = before.rows, before.n
    W = np.concatenate([rows.all_contacts(), rows.all_lines()])
    A, p, s = W @ W.T, before.p.copy(), before.s.copy()
    contact_modes, line_modes = before.modes()
    target = np.concatenate([seen(before.work.contact_target), [0.1, -0.1, 0, 0]])
    acts = np.array([m != OPEN for m in contact_modes for _ in range(3)] + [m != FREE for m in line_modes])
    for i in np.flatnonzero(~acts):  # what is open gives up its impulse; friction at its bound keeps it
        if i < n or i < n + 2:
            s, p[i] = s - A[:, i] * p[i], 0
    H = A + GIVE * np.diag(A.diagonal())
    lack = target - s
    for c in [c for c, mode in enumerate(contact_modes) if mode == SLIDES]:
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
        lack[t] = (MU * p[first] * d - p[t]) / r
    p[acts] += np.linalg.solve(H[np.ix_(acts, acts)], lack[acts])
    return p


@pytest.mark.parametrize("seed", range(6))
def test_one_step_from_the_right_active_set_is_numpys_linear_solution(seed):
    near, end = Solved(seed, 40), Solved(seed, 4000)
    assert near.modes() == end.modes()
    expected = step_in_numpy(near)
    off = np.abs(near.p - end.p).max()
    run(newton_kernel, near.rows.parts)
    near.look()
    np.testing.assert_allclose(near.p, expected, atol=1e-9)
    W = np.concatenate([near.rows.all_contacts(), near.rows.all_lines()])
    np.testing.assert_allclose(near.s - end.s, W @ (W.T @ (near.p - end.p)), atol=1e-9)  # speeds follow
    assert np.abs(near.p - end.p).max() < max(0.02 * off, 1e-9)


def test_all_modes_occur_in_these_problems():
    contacts, lines = zip(*(Solved(seed, 40).modes() for seed in range(6)), strict=True)
    assert {m for modes in contacts for m in modes} == {OPEN, STICKS, SLIDES}
    assert {m for modes in lines for m in modes} == {FREE, LOWER, UPPER, RUBS}


@pytest.mark.parametrize(("acts", "allowed"), [(BOUND | FRICTION, 1), (MOTOR, 0)])
def test_steps_are_for_limits_and_dry_friction_only(acts, allowed):
    rows, out = Rows(np.random.default_rng(0), contacts=[(0, 1)], lines=[((1, 0), acts)]), empty(1)
    run(allowed_kernel, rows.parts, out)
    assert seen(out)[0] == allowed


@pytest.mark.parametrize("size", [1, 3, 4, 7, 12, 13, 30])
def test_lu_without_row_exchange_solves(size):
    rng, stride = np.random.default_rng(size), size + -size % 4
    H = rng.normal(size=(size, size)) + 3 * size * np.eye(size)
    b = rng.normal(size=size)
    padded = np.zeros((size, stride))
    padded[:, :size] = H.T  # by columns
    x = column(np.concatenate([b, np.zeros(4)]))
    run(lu_kernel, column(padded.reshape(-1)), x, size, stride)
    np.testing.assert_allclose(seen(x)[:size], np.linalg.solve(H, b), rtol=1e-12)
