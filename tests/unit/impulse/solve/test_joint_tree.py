"""Bilateral rows eliminated along the tree of joints in maximal coordinates, and reduced coordinates (M-115, M-116),
against dense numpy."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from engine_parts import FAST_COMPILE, INVERSE, WORLD, Rows, column, cone_residual, put, read, run, scalar_residual

from sharnir.impulse.data import StepContext, make_iterate
from sharnir.impulse.row_kinds import RowKind, Targets
from sharnir.impulse.slots import ContactMass, Setting, Status, StatusReal
from sharnir.impulse.solve.bilateral_ldl import factor_bilateral, solve_bilateral
from sharnir.impulse.solve.bilateral_projection import apply_swept_impulses, project_rows, set_velocity_offsets
from sharnir.impulse.solve.delassus import ensure_delassus
from sharnir.impulse.solve.dense_pgs import run_pgs_dense
from sharnir.impulse.solve.joint_tree.reduction import reduce_velocity
from sharnir.impulse.solve.pgs_sweep import list_active_scalars, sweep
from sharnir.kernels.types import array2
from sharnir.kernels.vector_ops import copy

wp.set_module_options(FAST_COMPILE)
REVOLUTE, UNIVERSAL, SPHERICAL, FREE = 1, 5, 6, 8  # five, four, three rows and none
# links and kind of each joint: two mechanisms, one on the world and one afloat, each with a joint that closes a loop
JOINTS = [((0, WORLD), REVOLUTE), ((2, 0), SPHERICAL), ((1, 2), REVOLUTE), ((0, 3), UNIVERSAL), ((3, 1), SPHERICAL),
          ((5, 6), REVOLUTE), ((7, 5), REVOLUTE), ((6, 8), SPHERICAL)]  # fmt: skip
LOOP = 4  # closes one: the last that connects its links
# joint whose links it acts on, and kinds; two compliant rows of the tree, one of the loop
SCALARS = [(1, RowKind.COMPLIANT), (1, RowKind.COMPLIANT), (2, RowKind.BOUND), (4, RowKind.COMPLIANT),
           (5, RowKind.COMPLIANT | RowKind.FRICTION), (6, RowKind.FRICTION), (7, RowKind.BOUND)]  # fmt: skip
STARTS = [0, 0, 2, 3, 3, 4, 5, 6, 7]
COUPLING = 6  # an equality
GAMMA = np.array([0.6, 0.02, 0, 0.4, 3.0, 0, 0])


@wp.kernel
def project_kernel(ctx: StepContext):
    factor_bilateral(ctx, 1, 0)
    project_rows(ctx, 0)


@wp.kernel
def solve_kernel(ctx: StepContext, z: array2, targets: int):
    factor_bilateral(ctx, 1, 0)
    solve_bilateral(ctx, z, ctx.work.p, targets, 0)


@wp.kernel
def reduce_kernel(ctx: StepContext, z: array2):
    reduce_velocity(ctx, z, 0)


@wp.kernel
def sweeps_kernel(ctx: StepContext, z: array2, sweeps: int, dense: int):
    """Solve B, sweep the other rows projected, through z or on the Delassus matrix, then apply their impulses and the
    response of B."""
    solve_bilateral(ctx, z, ctx.work.p, int(Targets.VELOCITIES), 0)
    copy(ctx.work.p, ctx.work.p_initial, ctx.layout.impulses, 0)
    set_velocity_offsets(ctx, z, 0)
    list_active_scalars(ctx.layout, ctx.work, 1, 0)
    ctx.work.status[int(Status.IS_DIRECT), 0] = 1
    for n in range(sweeps):
        x = make_iterate(ctx.work.z_reduced, ctx.work.p, 1)
        if dense == 0 or n == 0:
            sweep(ctx, x, 0)
        elif n == 1:
            ensure_delassus(ctx.layout, ctx.work, 0)
            run_pgs_dense(ctx, x, 0, wp.float64(1e300), 0)
    apply_swept_impulses(ctx, z, ctx.work.p, int(Targets.VELOCITIES), 0)


def entries_of(links: tuple[int, int]) -> list[int]:
    """Coordinates of both links, in the order in which rows have them."""
    return [6 * i + 5 - e for i in sorted(links, reverse=True) if i >= 0 for e in range(6)]


def problem(seed: int, torsional: bool = False, spread: float = 1.0, loops: bool = True) -> Rows:
    """Two mechanisms and two free bodies; rows are random, sizes within the factor `spread` of each other. loops: with
    the joint that closes one, and the coupling; without, they have next to no rows of their own."""
    rng = np.random.default_rng(seed)
    joints = [(entries_of(links), kind if loops or k != LOOP else FREE) for k, (links, kind) in enumerate(JOINTS)]
    scalars = [(entries_of(JOINTS[k][0]), kinds if loops or k != LOOP else RowKind.BOUND) for k, kinds in SCALARS]
    rows = Rows(rng, trees=(6,) * 10, joints=joints, scalars=scalars, equalities=[COUPLING] if loops else [],
                torsional=torsional, contacts=[(1, WORLD), (3, 7), (8, 5), (9, 2)], maximal=True,
                joint_scalars=STARTS)  # fmt: skip
    rows.W *= spread ** rng.uniform(-1, 1, size=(rows.W.shape[0], 1))
    rows.upload()
    work = rows.ctx.work
    put(work.joint_target, rng.normal(size=6 * len(JOINTS)))
    put(work.compliant_velocity, rng.normal(size=len(SCALARS)))
    put(work.compliant_gamma, GAMMA)
    put(work.velocity_lower, [0, 0, -0.1, 0, 0, 0, 0.2])
    put(work.velocity_upper, [0, 0, 0.1, 0, 0, 0, 0.2])
    put(work.friction_bound, [0, 0, 0, 0, 0.1, 0.2, 0])
    put(work.contact_target, np.where(np.arange(12) % 3 == 0, 3.0, rng.normal(size=12)))
    return rows


def bilateral(rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """W_B, the diagonal of Γ, targets and places of impulses: joints, compliant rows, the coupling."""
    work, layout = rows.ctx.work, rows.ctx.layout
    W = [rows.joint(k).reshape(-1, rows.nv) for k in range(len(JOINTS))]
    places = np.concatenate([6 * k + np.arange(len(w)) for k, w in enumerate(W)])
    soft = [l for l, row in enumerate(rows.rows) if row.row_kinds & RowKind.COMPLIANT]
    scalars = [*soft, *rows.equalities]
    targets = [read(work.joint_target)[places], read(work.compliant_velocity)[soft], [0.2] * len(rows.equalities)]
    at = layout.scalar_p_start + 4 * np.array(scalars) + np.array([3] * len(soft) + [0] * len(rows.equalities))
    compliance = np.concatenate([np.zeros(len(places)), GAMMA[soft], [0.0] * len(rows.equalities)])
    return (
        np.concatenate([*W, rows.all_scalars()[scalars]]), compliance, np.concatenate(targets),
        np.concatenate([places, at]).astype(int),
    )  # fmt: skip


def projected(rows: Rows, W_u: np.ndarray) -> np.ndarray:
    """W_u (1 − W_Bᵀ (W_B W_Bᵀ + Γ)⁻¹ W_B) W_uᵀ: what is left of W_u W_uᵀ, slacks included."""
    W, compliance, _, _ = bilateral(rows)
    return W_u @ W_u.T - W_u @ W.T @ np.linalg.solve(W @ W.T + np.diag(compliance), W @ W_u.T)


def test_the_tree_spans_all_bodies_and_the_rest_is_left_to_the_dense_factor():
    layout = problem(0).ctx.layout
    assert sorted(layout.tree_joint.numpy()) == [k for k in range(len(JOINTS)) if k != LOOP]
    child, parent = layout.tree_child.numpy(), layout.tree_parent.numpy()
    for n, up in enumerate(parent):  # from the tips inward
        assert up == WORLD or up not in child[:n]
    assert layout.bilaterals == 3 + 1 + 1  # the loop, its compliant row, the coupling
    # five bodies in one mechanism: 1 + 3 + 1 + 2 coordinates and a slack; four in the other: 6 + 1 + 1 + 3; one free;
    # body 4 is free too
    assert sorted(set(layout.link_component_size.numpy())) == [6, 8, 11]


@pytest.mark.parametrize("spread", [1.0, 30.0])
@pytest.mark.parametrize("targets", list(Targets))
@pytest.mark.parametrize("seed", range(3))
def test_the_solution_along_the_tree_is_numpys(seed, targets, spread):
    rows = problem(seed, spread=spread)
    W, compliance, wanted, places = bilateral(rows)
    rng = np.random.default_rng(90 + seed)
    put(rows.ctx.work.p, rng.normal(size=rows.ctx.layout.impulses))
    z0, p0 = rng.normal(size=rows.nv), read(rows.ctx.work.p)
    z = column(z0)
    run(solve_kernel, rows.ctx, z, int(targets))
    soft = compliance > 0
    if targets == Targets.POSITIONS:
        wanted[soft] = 0
    elif targets == Targets.IMPACT:
        wanted[:] = 0
    short = wanted - W @ z0 - compliance * p0[places]
    change = np.linalg.solve(W @ W.T + np.diag(compliance), short)
    np.testing.assert_allclose(read(z), z0 + W.T @ change, rtol=1e-8, atol=1e-8)
    scale = np.abs(change).max()
    np.testing.assert_allclose(read(rows.ctx.work.p)[places], p0[places] + change, rtol=1e-8, atol=1e-9 * scale)


@pytest.mark.parametrize("loops", [False, True])
@pytest.mark.parametrize("torsional", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_reduced_rows_have_the_products_of_projected_ones(seed, torsional, loops):
    rows = problem(seed, torsional, loops=loops)
    run(project_kernel, rows.ctx)
    layout, W = rows.ctx.layout, read(rows.ctx.work.W)
    width = layout.reduced_size
    swept = [2, 4, 5]
    first, size = layout.scalar_component_first.numpy(), layout.scalar_component_size.numpy()
    scalars = np.zeros((len(swept), width))
    for row, l in zip(scalars, swept, strict=True):
        own = slice(first[l], first[l] + size[l])  # dense over its component: the rest is never written or read
        row[own] = W[layout.scalar_projected_start + l * width :][own]
    found = np.concatenate([scalars, *(rows.projected_contact(c) for c in range(rows.contacts))])
    W_u = np.concatenate([rows.all_scalars()[swept], rows.all_contacts()])
    np.testing.assert_allclose(found @ found.T, projected(rows, W_u), atol=1e-10)
    np.testing.assert_allclose(read(rows.ctx.work.scalar_K_projected)[swept], (found[:3] ** 2).sum(axis=1), rtol=1e-10)
    blocks = read(rows.ctx.work.contact_mass).reshape(-1, ContactMass.SIZE)
    for c in range(rows.contacts):
        three = found[3 + rows.width * c :][:3]
        np.testing.assert_allclose(blocks[c, INVERSE].reshape(3, 3), np.linalg.inv(three @ three.T), rtol=1e-7)
    assert not read(rows.ctx.work.dense_row).any()
    z0 = np.random.default_rng(seed).normal(size=rows.nv)
    z = column(np.concatenate([z0, np.zeros(layout.z_size - rows.nv)]))
    run(reduce_kernel, rows.ctx, z)
    W_B, compliance, _, _ = bilateral(rows)
    held = z0 - W_B.T @ np.linalg.solve(W_B @ W_B.T + np.diag(compliance), W_B @ z0)
    np.testing.assert_allclose(found @ read(z)[:width], W_u @ held, atol=1e-10)


@pytest.mark.parametrize("dense", [0, 1])
@pytest.mark.parametrize("loops", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_joints_keep_their_velocities_while_the_others_are_swept(seed, loops, dense):
    """After sweeps over the others, and B's response to them: z = z₀ + Wᵀ p, B has its target velocities,
    and the others obey their laws."""
    rows = problem(seed, loops=loops)
    run(project_kernel, rows.ctx)
    for slot, value in ((Setting.MAX_SWEEPS, 2000), (Setting.ACCELERATE, 1), (Setting.REPLAY_CUT, 1e9)):
        put(rows.ctx.state.settings, [value], slot)
    put(rows.ctx.work.status_real, [1e-11], StatusReal.SWEEP_TOLERANCE)
    z0 = np.random.default_rng(seed).normal(size=rows.nv)
    z = column(z0)
    run(sweeps_kernel, rows.ctx, z, 2000, dense)
    p, z = read(rows.ctx.work.p), read(z)
    np.testing.assert_allclose(z, z0 + rows.velocity_change(p), atol=1e-9)
    W, compliance, targets, places = bilateral(rows)
    np.testing.assert_allclose(W @ z, targets - compliance * p[places], atol=1e-9)
    scalars = rows.scalar_impulses(p)
    s = (rows.all_contacts() @ z - read(rows.ctx.work.contact_target)).reshape(-1, 3)
    assert rows.contact_impulses(p)[:, 0].any() and cone_residual(rows.contact_impulses(p)[:, :3], s, 0.5).max() < 1e-8
    assert scalar_residual(scalars[2], rows.scalar(2) @ z, RowKind.BOUND, -0.1, 0.1, 0) < 1e-8
    assert scalar_residual(scalars[5], rows.scalar(5) @ z, RowKind.FRICTION, 0, 0, 0.2) < 1e-8


def test_a_row_that_the_others_of_its_joint_imply_is_left_out():
    """As of a universal joint whose axes are in line: it gets no impulse, and holds where targets agree."""
    rows = problem(0)
    start = int(rows.ctx.layout.joint_W_start.numpy()[2])
    five = rows.W[start : start + 60, 0].reshape(5, 12)
    five[3] = 0.7 * five[0] - 1.2 * five[2]
    rows.upload()
    target = read(rows.ctx.work.joint_target)
    target[15] = 0.7 * target[12] - 1.2 * target[14]
    put(rows.ctx.work.joint_target, target)
    W, _, wanted, places = bilateral(rows)
    z0 = np.random.default_rng(1).normal(size=rows.nv)
    z = column(z0)
    run(solve_kernel, rows.ctx, z, int(Targets.VELOCITIES))
    p = read(rows.ctx.work.p)
    assert p[15] == 0 and p[[12, 13, 14, 16]].all()
    np.testing.assert_allclose(read(z), z0 + rows.velocity_change(p), atol=1e-9)
    of_tree = [b for b, at in enumerate(places) if at < 6 * len(JOINTS) and at // 6 != LOOP]
    np.testing.assert_allclose((W @ read(z))[of_tree], wanted[of_tree], atol=1e-9)
