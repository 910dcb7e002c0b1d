"""Whitened Jacobian rows by ancestor traversal (M-10): W Wᵀ = J M⁻¹ Jᵀ on random trees, J and M dense."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from engine_parts import FAST_COMPILE, column, read, run, zeros
from random_trees import random_scene, random_state

import sharnir as sh
from sharnir.dynamics.crba import composite_inertias, mass_matrix
from sharnir.dynamics.inward import inward_implicit
from sharnir.dynamics.kinematics import kinematics
from sharnir.dynamics.tree import allocate_workspace, upload_tree
from sharnir.impulse.data import StepContext
from sharnir.impulse.layout.scalar_layout import relative_dofs
from sharnir.impulse.row_kinds import LANES_8
from sharnir.impulse.rows.whitened_rows import (
    ContactArms,
    make_row_block,
    make_row_ends,
    store_row_wrenches,
    whiten_contact_pair,
    whiten_dof_row,
    whiten_joint_rows,
    whiten_pair_row,
)
from sharnir.kernels.types import array2, vec3

wp.set_module_options(FAST_COMPILE)
WORLD = -1
ROW_WRENCH_SIZE = 12 * LANES_8  # entries of `Scratch.row_wrench`


@wp.kernel
def factor_kernel(ctx: StepContext, q: array2, v: array2, dofs: int, M: array2):
    """Axes, mass matrix, then the factor of its inverse."""
    kinematics(ctx.tree, ctx.here, q, v, 0)
    composite_inertias(ctx.tree, ctx.here, 0)
    mass_matrix(ctx.tree, ctx.here, M, 0)
    for d in range(dofs):
        ctx.here.E[d, 0] = ctx.tree.armature[d]
    inward_implicit(ctx.tree, ctx.here, v, v, 0, 0, 0)


@wp.func
def three(x: array2, first: int):
    return vec3(x[first, 0], x[first + 1, 0], x[first + 2, 0])


@wp.kernel
def rows_kernel(ctx: StepContext, a: int, b: int, x: array2, length: int, count: int):
    """Rows of wrenches (f_a, n_a, f_b, n_b), x [12 count]: one by one, then all at once behind them."""
    for j in range(count):
        k = 12 * j
        ends = make_row_ends(a, three(x, k), three(x, k + 3), b, three(x, k + 6), three(x, k + 9))
        whiten_pair_row(ctx, ends, ctx.work.W, j * length, 0)
        store_row_wrenches(ctx.work.row_wrench, j, count, ends, 0)
    whiten_joint_rows(ctx, a, b, make_row_block(count * length, length, 0, count), 0)


@wp.kernel
def coordinate_kernel(ctx: StepContext, link: int, d: int):
    whiten_dof_row(ctx, link, d, ctx.work.W, 0, 0)


@wp.kernel
def contact_kernel(ctx: StepContext, axes: array2, a: int, ra: vec3, b: int, rb: vec3, na: int, nb: int, rows: int):
    arms = ContactArms()
    arms.normal = three(axes, 0)
    arms.t1 = three(axes, 3)
    arms.t2 = three(axes, 6)
    arms.a = a
    arms.ra = ra
    arms.b = b
    arms.rb = rb
    whiten_contact_pair(ctx, arms, make_row_block(0, na, nb, rows), 0)


class Mechanism:
    """A random tree at a random pose: axes S [nv, 6] about the pivots, mass matrix M, the engine's factor of M⁻¹."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.model = sh.compile(random_scene(self.rng, 9, armature=True))
        state, n = random_state(self.rng, self.model), self.model.nv
        self.ctx, M = StepContext(), zeros(n * n)
        self.ctx.tree.assign(upload_tree(self.model, "cpu"))
        self.ctx.here.assign(allocate_workspace(self.model, 1, "cpu"))
        run(factor_kernel, self.ctx, column(state.q), column(np.zeros(n)), n, M)
        self.M, self.S = read(M).reshape(n, n), read(self.ctx.here.S).reshape(n, 6)

    def row(self, link: int, f: np.ndarray, n: np.ndarray) -> np.ndarray:
        """J [nv] of a wrench about the pivot on a link: it kinds along the axes between the link and its root."""
        J = np.zeros(self.model.nv)
        while link != WORLD:
            d = slice(self.model.dof_start[link], self.model.dof_start[link + 1])
            J[d] = self.S[d] @ np.concatenate([f, n])
            link = int(self.model.parent[link])
        return J

    def links(self) -> list[tuple[int, int]]:
        """Pairs of links, or a link and the world: of one tree, ancestors of each other, and of different trees."""
        n = self.model.nb
        some = [tuple(int(x) for x in self.rng.choice(n, 2, replace=False)) for _ in range(6)]
        return [*some, (n - 1, WORLD), (WORLD, 0), (n - 1, int(self.model.parent[n - 1])), (3, 3)]

    def assert_response(self, W: np.ndarray, J: np.ndarray) -> None:
        """W Wᵀ = J M⁻¹ Jᵀ."""
        expected = J @ np.linalg.solve(self.M, J.T)
        np.testing.assert_allclose(W @ W.T, expected, rtol=1e-9, atol=1e-10 * max(np.abs(expected).max(), 1e-30))


@pytest.mark.parametrize("count", [3, 6])  # four lanes, and eight
@pytest.mark.parametrize("seed", range(3))
def test_rows_of_two_links_respond_as_the_mass_matrix_says(seed, count):
    m = Mechanism(seed)
    for a, b in m.links():
        x, entries = m.rng.normal(size=(count, 4, 3)), relative_dofs(m.model, a, b)
        n = len(entries)
        m.ctx.work.W, m.ctx.work.row_wrench = zeros(2 * count * n), zeros(ROW_WRENCH_SIZE)
        run(rows_kernel, m.ctx, a, b, column(x.reshape(-1)), n, count)
        both = read(m.ctx.work.W).reshape(2, count, n)
        J = np.array([m.row(a, r[0], r[1]) + m.row(b, r[2], r[3]) for r in x])
        np.testing.assert_allclose(both[1], both[0], rtol=1e-9, atol=1e-11 * np.abs(both).max(initial=0.0))
        m.assert_response(both[0], J)


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_coordinates_make_the_inverse_of_the_mass_matrix(seed):
    m = Mechanism(seed)
    n = m.model.nv
    B = np.zeros((n, n))
    for link in range(m.model.nb):
        for d in range(m.model.dof_start[link], m.model.dof_start[link + 1]):
            m.ctx.work.W = zeros(n)
            entries = [e for e in relative_dofs(m.model, link, WORLD) if e <= d]
            run(coordinate_kernel, m.ctx, link, d)
            B[d, entries] = read(m.ctx.work.W)[: len(entries)]
    m.assert_response(B, np.eye(n))


@pytest.mark.parametrize("rows", [3, 6])
@pytest.mark.parametrize("seed", range(3))
def test_rows_of_contacts_respond_as_the_mass_matrix_says(seed, rows):
    """Translation along three axes at a point and, with six rows, rotation about them, b relative to a."""
    m = Mechanism(seed)
    axes = np.linalg.qr(m.rng.normal(size=(3, 3)))[0]
    for a, b in [pair for pair in m.links() if pair[0] != pair[1]]:
        ra, rb = m.rng.normal(size=(2, 3))
        up_a, up_b = relative_dofs(m.model, a, WORLD), relative_dofs(m.model, b, WORLD)
        own = [d for d in up_b if d not in up_a]
        m.ctx.work.W = zeros(rows * (len(up_a) + len(own)))
        run(contact_kernel, m.ctx, column(axes.reshape(-1)), a, vec3(*ra), b, vec3(*rb), len(up_a), len(own), rows)
        first, second = np.split(read(m.ctx.work.W), [rows * len(up_a)])
        dense = np.zeros((rows, m.model.nv))
        dense[:, up_a] = first.reshape(rows, len(up_a))
        dense[:, own] = second.reshape(rows, len(own))
        J = [m.row(b, e, np.cross(rb, e)) - m.row(a, e, np.cross(ra, e)) for e in axes]
        J += [m.row(b, 0 * e, e) - m.row(a, 0 * e, e) for e in axes]
        m.assert_response(dense, np.array(J[:rows]))
