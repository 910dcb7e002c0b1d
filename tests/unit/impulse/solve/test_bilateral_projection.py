"""Unilateral and bounded rows projected onto the null space of the bilateral rows B (M-48), against dense numpy."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from engine_parts import FAST_COMPILE, INVERSE, WORLD, Rows, column, cone_residual, put, read, run, scalar_residual

from sharnir.impulse.data import StepContext, make_iterate
from sharnir.impulse.row_kinds import RowKind, Targets
from sharnir.impulse.slots import ContactMass
from sharnir.impulse.solve.bilateral_ldl import factor_bilateral, solve_bilateral
from sharnir.impulse.solve.bilateral_projection import apply_swept_impulses, project_rows, set_velocity_offsets
from sharnir.impulse.solve.pgs_sweep import list_active_scalars, sweep
from sharnir.kernels.types import array2
from sharnir.kernels.vector_ops import copy

wp.set_module_options(FAST_COMPILE)
SPHERICAL = 6  # three rows
JOINTS = [((8, 7, 6, 5, 4, 3), SPHERICAL), ((11, 10, 9, 2, 1, 0), SPHERICAL)]
SCALARS = [
    ((5, 4), RowKind.COMPLIANT),
    ((10, 9, 8), RowKind.BOUND),
    ((1, 0), RowKind.FRICTION | RowKind.BOUND),
    ((13, 12), RowKind.BOUND),
]


@wp.kernel
def project_kernel(ctx: StepContext):
    factor_bilateral(ctx, 1, 0)
    project_rows(ctx, 0)


@wp.kernel
def sweeps_kernel(ctx: StepContext, z: array2, sweeps: int):
    """Solve B, sweep the other rows projected, then apply their impulses and the response of B."""
    solve_bilateral(ctx, z, ctx.work.p, int(Targets.VELOCITIES), 0)
    copy(ctx.work.p, ctx.work.p_initial, ctx.layout.impulses, 0)
    set_velocity_offsets(ctx, z, 0)
    list_active_scalars(ctx.layout, ctx.work, 1, 0)
    for _ in range(sweeps):
        x = make_iterate(ctx.work.z_reduced, ctx.work.p, 1)
        sweep(ctx, x, 0)
    apply_swept_impulses(ctx, z, ctx.work.p, int(Targets.VELOCITIES), 0)


def problem(seed: int, torsional: bool = False) -> Rows:
    rng = np.random.default_rng(seed)
    rows = Rows(rng, trees=(6, 3, 3, 4), joints=JOINTS, scalars=SCALARS, contacts=[(0, 1), (2, WORLD)], equalities=[3],
                torsional=torsional)  # fmt: skip
    work = rows.ctx.work
    put(work.joint_target, rng.normal(size=12))
    put(work.compliant_velocity, [0.4, 0, 0, 0])
    put(work.compliant_gamma, [0.6, 0, 0, 0])
    put(work.velocity_lower, [0, -0.1, 0.05, 0.2])
    put(work.velocity_upper, [0, 0.1, 0.3, 0.2])
    put(work.friction_bound, [0, 0, 0.2, 0])
    put(work.contact_target, [3.0, 0.1, 0.2, 3.0, -0.3, 0.1])
    return rows


def bilateral(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """W_B and the diagonal of Γ: joints, the compliant row, the equality."""
    W = np.concatenate([rows.joint(0), rows.joint(1), rows.scalar(0)[None], rows.scalar(3)[None]])
    return W, np.array([0.0] * 6 + [0.6, 0.0])


def projected(rows: Rows, W_u: np.ndarray) -> np.ndarray:
    """W_u (1 − W_Bᵀ (W_B W_Bᵀ + Γ)⁻¹ W_B)."""
    W, compliance = bilateral(rows)
    return W_u - W_u @ W.T @ np.linalg.solve(W @ W.T + np.diag(compliance), W)


@pytest.mark.parametrize("torsional", [False, True])
def test_projected_rows_are_those_of_the_formula_and_do_not_move_bilateral_rows(torsional):
    rows = problem(0, torsional)
    run(project_kernel, rows.ctx)
    layout, W = rows.ctx.layout, read(rows.ctx.work.W)
    width, rank = layout.z_size, rows.nv
    assert width == rank + 1  # a slack of the compliant row
    scalars = np.array([W[layout.scalar_projected_start + l * width :][:width] for l in (1, 2)])
    contacts = np.concatenate([rows.projected_contact(c) for c in range(2)])
    expected = projected(rows, np.concatenate([rows.all_scalars()[1:3], rows.all_contacts()]))
    found = np.concatenate([scalars, contacts])
    np.testing.assert_allclose(found[:, :rank], expected, atol=1e-11)
    B, compliance = bilateral(rows)
    rigid = compliance == 0
    np.testing.assert_allclose(found[:, :rank] @ B[rigid].T, 0, atol=1e-11)
    np.testing.assert_allclose(found[:, :rank] @ B[~rigid].T, -np.sqrt(0.6) * found[:, rank:], atol=1e-11)  # slack
    np.testing.assert_allclose(read(rows.ctx.work.scalar_K_projected)[1:3], (scalars**2).sum(axis=1), rtol=1e-11)
    blocks = read(rows.ctx.work.contact_mass).reshape(-1, ContactMass.SIZE)
    for c in range(2):
        three = contacts[rows.width * c :][:3]
        np.testing.assert_allclose(blocks[c, INVERSE].reshape(3, 3), np.linalg.inv(three @ three.T), rtol=1e-8)
    assert not read(rows.ctx.work.dense_row).any()


@pytest.mark.parametrize("seed", range(3))
def test_bilateral_rows_keep_their_velocities_while_the_others_are_swept(seed):
    """After sweeps over the others, and B's response to them: z = z₀ + Wᵀ p, B has its target velocities,
    and the others obey their laws."""
    rows = problem(seed)
    run(project_kernel, rows.ctx)
    z0 = np.random.default_rng(seed).normal(size=rows.nv)
    z = column(np.concatenate([z0, [0.0]]))
    run(sweeps_kernel, rows.ctx, z, 400)
    p, z = read(rows.ctx.work.p), read(z)[: rows.nv]
    np.testing.assert_allclose(z, z0 + rows.velocity_change(p), atol=1e-9)
    W, compliance = bilateral(rows)
    targets = np.concatenate([read(rows.ctx.work.joint_target)[[0, 1, 2, 6, 7, 8]], [0.4, 0.2]])
    scalars = rows.scalar_impulses(p)
    compliant = np.array([0.0] * 6 + [scalars[0, 3], 0.0])
    np.testing.assert_allclose(W @ z, targets - compliance * compliant, atol=1e-9)
    s = (rows.all_contacts() @ z - read(rows.ctx.work.contact_target)).reshape(-1, 3)
    assert rows.contact_impulses(p)[:, 0].any() and cone_residual(rows.contact_impulses(p)[:, :3], s, 0.5).max() < 1e-8
    assert scalar_residual(scalars[1], rows.scalar(1) @ z, RowKind.BOUND, -0.1, 0.1, 0) < 1e-8
    assert scalar_residual(scalars[2], rows.scalar(2) @ z, RowKind.FRICTION | RowKind.BOUND, 0.05, 0.3, 0.2) < 1e-8
