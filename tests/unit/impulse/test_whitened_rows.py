"""Whitened Jacobian rows by ancestor traversal (M-10): W Wᵀ = J M⁻¹ Jᵀ on random trees, J and M dense."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from engine_parts import QUICK, Parts, column, empty, run, seen
from random_trees import random_scene, random_state

import sharnir as sh
from sharnir.dynamics.crba import composite_inertias, mass_matrix
from sharnir.dynamics.inward import inward_implicit
from sharnir.dynamics.kinematics import kinematics
from sharnir.dynamics.tree import allocate_workspace, upload_tree
from sharnir.impulse.layout.scalar_rows import relative_dofs
from sharnir.impulse.rows.whitened_rows import (
    store_row_wrenches,
    whiten_contact_pair,
    whiten_dof_row,
    whiten_joint_rows,
    whiten_pair_row,
)
from sharnir.kernels.types import array2, vec3

wp.set_module_options(QUICK)
WORLD = -1


@wp.kernel
def factor_kernel(s: Parts, q: array2, v: array2, dofs: int, M: array2):
    """Axes, mass matrix, then the factor of its inverse."""
    kinematics(s.tree, s.ws, q, v, 0)
    composite_inertias(s.tree, s.ws, 0)
    mass_matrix(s.tree, s.ws, dofs, M, 0)
    for d in range(dofs):
        s.ws.E[d, 0] = s.tree.armature[d]
    inward_implicit(s.tree, s.ws, v, v, 0, 0)


@wp.func
def three(x: array2, first: int):
    return vec3(x[first, 0], x[first + 1, 0], x[first + 2, 0])


@wp.kernel
def rows_kernel(s: Parts, a: int, b: int, x: array2, wrench: array2, length: int, count: int, W: array2):
    """Rows of wrenches (f_a, n_a, f_b, n_b), x [12 count]: one by one, then all at once behind them."""
    for j in range(count):
        k = 12 * j
        whiten_pair_row(
            s.tree, s.ws, a, three(x, k), three(x, k + 3), b, three(x, k + 6), three(x, k + 9), W, j * length, 0
        )
        store_row_wrenches(wrench, j, count, three(x, k), three(x, k + 3), three(x, k + 6), three(x, k + 9), 0)
    whiten_joint_rows(s.tree, s.ws, wrench, a, b, W, count * length, length, count, 0)


@wp.kernel
def coordinate_kernel(s: Parts, link: int, d: int, W: array2):
    whiten_dof_row(s.tree, s.ws, link, d, W, 0, 0)


@wp.kernel
def contact_kernel(s: Parts, axes: array2, a: int, ra: vec3, b: int, rb: vec3, na: int, nb: int, rows: int, W: array2):
    whiten_contact_pair(
        s.tree, s.ws, three(axes, 0), three(axes, 3), three(axes, 6), a, ra, b, rb, W, 0, na, nb, rows, 0
    )


class Mechanism:
    """A random tree at a random pose: axes S [nv, 6] about the pivots, mass matrix M, the engine's factor of M⁻¹."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.model = sh.compile(random_scene(self.rng, 9, armature=True))
        state, n = random_state(self.rng, self.model), self.model.nv
        self.parts, M = Parts(), empty(n * n)
        self.parts.tree.assign(upload_tree(self.model, "cpu"))
        self.parts.ws.assign(allocate_workspace(self.model, 1, "cpu"))
        run(factor_kernel, self.parts, column(state.q), column(np.zeros(n)), n, M)
        self.M, self.S = seen(M).reshape(n, n), seen(self.parts.ws.S).reshape(n, 6)

    def row(self, link: int, f: np.ndarray, n: np.ndarray) -> np.ndarray:
        """J [nv] of a wrench about the pivot on a link: it acts along the axes between the link and its root."""
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

    def responds(self, W: np.ndarray, J: np.ndarray) -> None:
        expected = J @ np.linalg.solve(self.M, J.T)
        np.testing.assert_allclose(W @ W.T, expected, rtol=1e-9, atol=1e-10 * max(np.abs(expected).max(), 1e-30))


@pytest.mark.parametrize("count", [3, 6])  # four lanes, and eight
@pytest.mark.parametrize("seed", range(3))
def test_rows_of_two_links_respond_as_the_mass_matrix_says(seed, count):
    m = Mechanism(seed)
    for a, b in m.links():
        x, entries = m.rng.normal(size=(count, 4, 3)), relative_dofs(m.model, a, b)
        W, n = empty(2 * count * len(entries)), len(entries)
        run(rows_kernel, m.parts, a, b, column(x.reshape(-1)), empty(96), n, count, W)
        both = seen(W).reshape(2, count, n)
        J = np.array([m.row(a, r[0], r[1]) + m.row(b, r[2], r[3]) for r in x])
        np.testing.assert_allclose(both[1], both[0], rtol=1e-9, atol=1e-11 * np.abs(both).max(initial=0.0))
        m.responds(both[0], J)


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_coordinates_make_the_inverse_of_the_mass_matrix(seed):
    m = Mechanism(seed)
    n = m.model.nv
    B = np.zeros((n, n))
    for link in range(m.model.nb):
        for d in range(m.model.dof_start[link], m.model.dof_start[link + 1]):
            W = empty(n)
            entries = [e for e in relative_dofs(m.model, link, WORLD) if e <= d]
            run(coordinate_kernel, m.parts, link, d, W)
            B[d, entries] = seen(W)[: len(entries)]
    m.responds(B, np.eye(n))


@pytest.mark.parametrize("rows", [3, 6])
@pytest.mark.parametrize("seed", range(3))
def test_rows_of_contacts_respond_as_the_mass_matrix_says(seed, rows):
    """Sliding along three axes at a point and, with six rows, turning about them, of b against a, in two halves."""
    m = Mechanism(seed)
    axes = np.linalg.qr(m.rng.normal(size=(3, 3)))[0]
    for a, b in [pair for pair in m.links() if pair[0] != pair[1]]:
        ra, rb = m.rng.normal(size=(2, 3))
        up_a, up_b = relative_dofs(m.model, a, WORLD), relative_dofs(m.model, b, WORLD)
        own = [d for d in up_b if d not in up_a]
        W = empty(rows * (len(up_a) + len(own)))
        run(contact_kernel, m.parts, column(axes.reshape(-1)), a, vec3(*ra), b, vec3(*rb), len(up_a), len(own), rows, W)
        first, second = np.split(seen(W), [rows * len(up_a)])
        dense = np.zeros((rows, m.model.nv))
        dense[:, up_a] = first.reshape(rows, len(up_a))
        dense[:, own] = second.reshape(rows, len(own))
        J = [m.row(b, e, np.cross(rb, e)) - m.row(a, e, np.cross(ra, e)) for e in axes]
        J += [m.row(b, 0 * e, e) - m.row(a, 0 * e, e) for e in axes]
        m.responds(dense, np.array(J[:rows]))
