"""Unilateral and bounded rows projected onto the null space of the bilateral rows B (M-48), against dense numpy."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from engine_parts import QUICK, WORLD, Parts, Rows, column, cone_residual, line_residual, put, run, seen

from sharnir.impulse.row_kinds import BOUND, COMPLIANT, FRICTION
from sharnir.impulse.slots import ContactMass
from sharnir.impulse.solve.bilateral_ldl import factor_bilateral, solve_bilateral
from sharnir.impulse.solve.bilateral_projection import project_rows, set_velocity_offsets, update_bilateral_impulses
from sharnir.impulse.solve.pgs_sweep import list_active_scalars, sweep
from sharnir.kernels.types import array2
from sharnir.kernels.vector_ops import copy

wp.set_module_options(QUICK)
SPHERICAL = 6  # three rows
JOINTS = [((8, 7, 6, 5, 4, 3), SPHERICAL), ((11, 10, 9, 2, 1, 0), SPHERICAL)]
LINES = [((5, 4), COMPLIANT), ((10, 9, 8), BOUND), ((1, 0), FRICTION | BOUND), ((13, 12), BOUND)]


@wp.kernel
def project_kernel(s: Parts):
    factor_bilateral(s.plan, s.state, s.work, 1, 0)
    project_rows(s.plan, s.state, s.work, 0)


@wp.kernel
def sweeps_kernel(s: Parts, z: array2, sweeps: int):
    """B solved, the other rows swept while B is held, then B's response."""
    solve_bilateral(s.plan, s.work, z, s.work.p, 0, 0)
    copy(s.work.p, s.work.p_initial, s.plan.impulses, 0)
    set_velocity_offsets(s.plan, s.work, z, 0)
    list_active_scalars(s.plan, s.work, 1, 0)
    for _ in range(sweeps):
        sweep(s.loops, s.plan, s.work, 1, z, s.work.p, 0)
    update_bilateral_impulses(s.plan, s.work, s.work.p, 0)


def problem(seed: int, turning: bool = False) -> Rows:
    rng = np.random.default_rng(seed)
    rows = Rows(rng, trees=(6, 3, 3, 4), joints=JOINTS, lines=LINES, contacts=[(0, 1), (2, WORLD)], equalities=[3],
                turning=turning)  # fmt: skip
    work = rows.parts.work
    put(work.joint_target, rng.normal(size=12))
    put(work.compliant_velocity, [0.4, 0, 0, 0])
    put(work.compliant_gamma, [0.6, 0, 0, 0])
    put(work.velocity_lower, [0, -0.1, 0.05, 0.2])
    put(work.velocity_upper, [0, 0.1, 0.3, 0.2])
    put(work.friction_bound, [0, 0, 0.2, 0])
    put(work.contact_target, [3.0, 0.1, 0.2, 3.0, -0.3, 0.1])
    return rows


def bilateral(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """W_B and the diagonal of Γ: joints, the soft force, the equality."""
    W = np.concatenate([rows.joint(0), rows.joint(1), rows.line(0)[None], rows.line(3)[None]])
    return W, np.array([0.0] * 6 + [0.6, 0.0])


def projected(rows: Rows, W_u: np.ndarray) -> np.ndarray:
    """W_u (1 − W_Bᵀ (W_B W_Bᵀ + Γ)⁻¹ W_B)."""
    W, give = bilateral(rows)
    return W_u - W_u @ W.T @ np.linalg.solve(W @ W.T + np.diag(give), W)


@pytest.mark.parametrize("turning", [False, True])
def test_projected_rows_are_those_of_the_formula_and_do_not_move_what_is_held(turning):
    rows = problem(0, turning)
    run(project_kernel, rows.parts)
    plan, W = rows.parts.plan, seen(rows.parts.work.W)
    width, rank = plan.z_size, rows.nv
    assert width == rank + 1  # a slack of the soft row
    lines = np.array([W[plan.scalar_projected_start + l * width :][:width] for l in (1, 2)])
    contacts = np.array([W[plan.contact_projected_start + (6 * c + j) * width :][:width]
                         for c in range(2) for j in range(rows.width)])  # fmt: skip
    expected = projected(rows, np.concatenate([rows.all_lines()[1:3], rows.all_contacts()]))
    held = np.concatenate([lines, contacts])
    np.testing.assert_allclose(held[:, :rank], expected, atol=1e-11)
    B, give = bilateral(rows)
    rigid = give == 0
    np.testing.assert_allclose(held[:, :rank] @ B[rigid].T, 0, atol=1e-11)
    np.testing.assert_allclose(held[:, :rank] @ B[~rigid].T, -np.sqrt(0.6) * held[:, rank:], atol=1e-11)  # slack
    np.testing.assert_allclose(seen(rows.parts.work.scalar_K_projected)[1:3], (lines**2).sum(axis=1), rtol=1e-11)
    blocks = seen(rows.parts.work.contact_mass).reshape(-1, ContactMass.SIZE)
    for c in range(2):
        three = contacts[rows.width * c :][:3]
        np.testing.assert_allclose(blocks[c, :9].reshape(3, 3), np.linalg.inv(three @ three.T), rtol=1e-8)
    assert not seen(rows.parts.work.dense_row).any()


@pytest.mark.parametrize("seed", range(3))
def test_bilateral_rows_keep_their_speeds_while_the_others_are_swept(seed):
    """After sweeps over the others, and B's response to them: z = z₀ + Wᵀ p, B has the speeds sought,
    and the others obey their laws."""
    rows = problem(seed)
    run(project_kernel, rows.parts)
    z0 = np.random.default_rng(seed).normal(size=rows.nv)
    z = column(np.concatenate([z0, [0.0]]))
    run(sweeps_kernel, rows.parts, z, 400)
    p, z = seen(rows.parts.work.p), seen(z)[: rows.nv]
    np.testing.assert_allclose(z, z0 + rows.pushed(p), atol=1e-9)
    W, give = bilateral(rows)
    sought = np.concatenate([seen(rows.parts.work.joint_target)[[0, 1, 2, 6, 7, 8]], [0.4, 0.2]])
    lines = rows.line_impulses(p)
    soft = np.array([0.0] * 6 + [lines[0, 3], 0.0])
    np.testing.assert_allclose(W @ z, sought - give * soft, atol=1e-9)
    s = (rows.all_contacts() @ z - seen(rows.parts.work.contact_target)).reshape(-1, 3)
    assert rows.contact_impulses(p)[:, 0].any() and cone_residual(rows.contact_impulses(p)[:, :3], s, 0.5).max() < 1e-8
    assert line_residual(lines[1], rows.line(1) @ z, BOUND, -0.1, 0.1, 0) < 1e-8
    assert line_residual(lines[2], rows.line(2) @ z, FRICTION | BOUND, 0.05, 0.3, 0.2) < 1e-8
