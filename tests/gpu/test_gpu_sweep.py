"""Sweeps by the 32 lanes of a warp per world (M-67), against the complementarity problem in numpy."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from cuda_compiling import GPUS, LANE_OPTIONS, NO_GPU, ptx_of
from engine_parts import BOUNDS, WORLD, Rows, column, cone_residual, put, read, run, scalar_residual

from sharnir.impulse.data import StepContext
from sharnir.impulse.row_kinds import RowKind
from sharnir.impulse.slots import Status
from sharnir.impulse.solve.gpu.lane_rows import (
    LaneIterate,
    assign_lane_rows,
    list_active_scalars_lanes,
    scatter_dense_rows,
)
from sharnir.impulse.solve.gpu.pgs import load_lanes
from sharnir.impulse.solve.gpu.split_impulse import sweep_split_impulses_registers
from sharnir.impulse.solve.gpu.sweep import store_row_impulses, store_z_registers, sweep_registers
from sharnir.impulse.solve.split_impulse import SLOP, SplitImpulseLoop
from sharnir.kernels.columns import LANES, LANES_BLOCK_DIM
from sharnir.kernels.lanes import allocate_shared, put_unsynced
from sharnir.kernels.types import DOUBLE, array2, real

wp.set_module_options(LANE_OPTIONS)
WORLDS = 2
DT, ERP = 0.01, 0.2
CLOSE = 1e-9 if DOUBLE else 1e-4
TREES = [6] * 7  # more coordinates than lanes
CONTACTS = [(0, 1), (1, WORLD), (2, 3), (4, WORLD), (5, 6), (0, 6)]
SCALARS = [
    ((8, 7), RowKind.BOUND),
    ((20, 19, 18), RowKind.BOUND | RowKind.FRICTION),
    ((41,), RowKind.FRICTION),
    ((30, 2), RowKind.BOUND),
]


@wp.kernel
def rows_kernel(ctx: StepContext):
    """Active scalar rows, and all rows dense."""
    w = wp.tid() // LANES
    list_active_scalars_lanes(ctx.layout, ctx.work, w)
    scatter_dense_rows(ctx, assign_lane_rows(ctx.layout, ctx.work, w), w)


@wp.kernel
def warm_start_kernel(ctx: StepContext, z: array2):
    w = wp.tid() // LANES
    x = load_lanes(ctx, assign_lane_rows(ctx.layout, ctx.work, w), z, allocate_shared(z), w)
    store_z_registers(ctx.layout, x.z, z, w)


@wp.kernel
def sweep_kernel(ctx: StepContext, z: array2, sweeps: int, change: array2):
    w = wp.tid() // LANES
    x = load_lanes(ctx, assign_lane_rows(ctx.layout, ctx.work, w), z, allocate_shared(z), w)
    worst = real(0.0)
    for _ in range(sweeps):
        worst = sweep_registers(ctx, x, w)
    store_row_impulses(ctx, x, ctx.work.p, w)
    store_z_registers(ctx.layout, x.z, z, w)
    put_unsynced(change, 0, w, worst)


@wp.kernel
def push_kernel(ctx: StepContext, compliance: real, z: array2, sweeps: int, change: array2):
    w = wp.tid() // LANES
    x = LaneIterate()
    x.rows = assign_lane_rows(ctx.layout, ctx.work, w)
    loop = SplitImpulseLoop()
    loop.dt = real(DT)
    loop.erp = real(ERP)
    loop.compliance = compliance
    for _ in range(sweeps):
        sweep_split_impulses_registers(ctx, x, loop, w)
    store_row_impulses(ctx, x, ctx.work.p, w)
    store_z_registers(ctx.layout, x.z, z, w)
    put_unsynced(change, 0, w, loop.worst)


def on_gpu(kernel, *arguments) -> None:
    run(kernel, *arguments, threads=WORLDS * LANES, block=LANES_BLOCK_DIM, device=GPUS[0])


def problem(torsional: bool) -> tuple[Rows, np.ndarray]:
    """Two worlds with their own rows, written dense, and an initial z; the last scalar row is inactive."""
    rng = np.random.default_rng(0)
    rows = Rows(rng, TREES, CONTACTS, SCALARS, torsional=torsional, columns=WORLDS, device=GPUS[0])
    work = rows.ctx.work
    K = work.scalar_K.numpy()
    K[3] = 0
    work.scalar_K.assign(K)
    put(work.contact_target, np.tile([1.5, 0.1, -0.2], len(CONTACTS)))
    put(work.velocity_lower, [-0.1, -0.2, 0, 0])
    put(work.velocity_upper, [0.1, 0.2, 0, 0])
    put(work.friction_bound, [0, 0.2, 0.5, 0])
    on_gpu(rows_kernel, rows.ctx)
    put(work.status, np.ones(1), Status.WARM_STARTED)  # impulses are not applied to z
    return rows, rng.normal(size=(rows.nv, WORLDS))


def test_kernels_compile_for_a_gpu_with_exchanges_between_lanes(tmp_path):
    text = ptx_of(sweep_kernel, tmp_path)
    for kernel in (rows_kernel, warm_start_kernel, sweep_kernel, push_kernel):
        assert kernel.key in text
    assert text.count("shfl.sync") > 20


@pytest.mark.skipif(not GPUS, reason=NO_GPU)
@pytest.mark.parametrize("torsional", [False, True])
def test_rows_are_written_dense(torsional):
    rows, _ = problem(torsional)
    written = rows.ctx.work.gpu_dense_rows.numpy()
    for w in range(WORLDS):
        assert rows.ctx.work.active_scalars.numpy()[:4, w].tolist() == [3, 0, 1, 2]
        dense = np.concatenate([rows.all_scalars(w)[:3], rows.all_contacts(w)])
        width = rows.nv + -rows.nv % LANES
        found = written[w][: len(dense) * width].reshape(len(dense), width)
        np.testing.assert_allclose(found[:, : rows.nv], dense, rtol=1e-6)
        assert not found[:, rows.nv :].any()


@pytest.mark.skipif(not GPUS, reason=NO_GPU)
def test_warm_start_impulses_of_contacts_are_applied():
    rows, z0 = problem(torsional=True)
    p = np.random.default_rng(1).normal(size=(rows.ctx.layout.impulses, WORLDS))
    p[: rows.ctx.layout.contact_p_start] = 0
    put(rows.ctx.work.p, p)
    z = column(z0, GPUS[0])
    put(rows.ctx.work.status, np.zeros(1), Status.WARM_STARTED)
    on_gpu(warm_start_kernel, rows.ctx, z)
    for w in range(WORLDS):
        np.testing.assert_allclose(read(z, w), z0[:, w] + rows.velocity_change(p[:, w], w), atol=CLOSE)


@pytest.mark.skipif(not GPUS, reason=NO_GPU)
@pytest.mark.parametrize("torsional", [False, True])
def test_sweeps_by_lanes_solve_the_complementarity_problem(torsional):
    rows, z0 = problem(torsional)
    z, change = column(z0, GPUS[0]), column(np.zeros((1, WORLDS)), GPUS[0])
    on_gpu(sweep_kernel, rows.ctx, z, 5000, change)
    for w in range(WORLDS):
        p, after = read(rows.ctx.work.p, w), read(z, w)
        assert read(change, w)[0] < CLOSE
        np.testing.assert_allclose(after, z0[:, w] + rows.velocity_change(p, w), atol=CLOSE)
        velocities = (rows.all_contacts(w) @ after).reshape(len(CONTACTS), rows.width)
        found, s = rows.contact_impulses(p), velocities[:, :3] - [1.5, 0.1, -0.2]
        assert (found[:, 0] > 0).any() and cone_residual(found[:, :3], s, 0.5).max() < CLOSE
        for l, (_, kinds) in enumerate(SCALARS[:3]):
            bounds = (read(getattr(rows.ctx.work, name), w)[l] for name in BOUNDS)
            assert scalar_residual(rows.scalar_impulses(p)[l], rows.scalar(l, w) @ after, kinds, *bounds) < CLOSE
        if torsional:
            spin, bound = found[:, 3], 0.05 * found[:, 0]
            np.testing.assert_allclose(spin, np.clip(spin - velocities[:, 3], -bound, bound), atol=CLOSE)


@pytest.mark.skipif(not GPUS, reason=NO_GPU)
@pytest.mark.parametrize("compliance", [0.0, 0.1])
def test_pseudo_impulses_by_lanes_solve_the_linear_complementarity_problem(compliance):
    rows, _ = problem(torsional=False)
    gaps = np.array([-2e-3, -1e-3, 4e-3, -3e-3, -1e-4, 2e-3])
    put(rows.ctx.work.contact_gap, gaps)
    z, change = column(np.zeros((rows.nv, WORLDS)), GPUS[0]), column(np.zeros((1, WORLDS)), GPUS[0])
    on_gpu(push_kernel, rows.ctx, compliance, z, 5000, change)
    slop = float(SLOP)
    target = np.where(gaps + slop > 0, -(gaps + slop) / DT, -ERP * (gaps + slop) / DT)
    for w in range(WORLDS):
        p, after = read(rows.ctx.work.p, w), read(z, w)
        assert read(change, w)[0] < CLOSE
        np.testing.assert_allclose(after, rows.velocity_change(p, w), atol=CLOSE)
        normals = np.array([rows.contact(c, w)[0] for c in range(len(CONTACTS))])
        push = rows.contact_impulses(p)[:, 0]
        excess = normals @ after + compliance * (normals**2).sum(axis=1) * push - target
        np.testing.assert_allclose(np.minimum(push, excess), 0, atol=CLOSE)
        for l in range(2):
            s, hold = rows.scalar(l, w) @ after, rows.scalar_impulses(p)[l, 0]
            low, high = ((-0.1, 0.1), (-0.2, 0.2))[l]
            assert abs(s - np.clip(s - hold, low, high)) < CLOSE
