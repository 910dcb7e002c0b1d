"""Sweeps by a team of 32 threads for each world (M-67) solve the problems of one thread; numpy judges."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from cuda_compiling import GPUS, TEAM_OPTIONS, WITHOUT, ptx_of
from engine_parts import BOUNDS, WORLD, Parts, Rows, column, cone_residual, line_residual, put, run, seen

from sharnir.impulse.row_kinds import BOUND, FRICTION
from sharnir.impulse.solve.gpu.lane_rows import assign_lane_rows, list_active_scalars_lanes, scatter_dense_rows
from sharnir.impulse.solve.gpu.split_impulse import sweep_split_impulses_registers
from sharnir.impulse.solve.gpu.sweep import (
    apply_warm_start,
    fill_shared_memory,
    load_row_impulses,
    load_row_targets,
    load_z_registers,
    store_row_impulses,
    store_z_registers,
    sweep_registers,
)
from sharnir.impulse.solve.split_impulse import SLOP
from sharnir.kernels.columns import LANES, LANES_BLOCK_DIM
from sharnir.kernels.lanes import allocate_shared, lane_index, put_unsynced
from sharnir.kernels.types import DOUBLE, array2, real, vec2

wp.set_module_options(TEAM_OPTIONS)
WORLDS = 2
DT, ERP = 0.01, 0.2
CLOSE = 1e-9 if DOUBLE else 1e-4
TREES = [6] * 7  # more coordinates than threads
CONTACTS = [(0, 1), (1, WORLD), (2, 3), (4, WORLD), (5, 6), (0, 6)]
LINES = [((8, 7), BOUND), ((20, 19, 18), BOUND | FRICTION), ((41,), FRICTION), ((30, 2), BOUND)]


@wp.kernel
def rows_kernel(s: Parts):
    """Active scalar rows, and all rows dense."""
    w = wp.tid() // LANES
    list_active_scalars_lanes(s.plan, s.work, w)
    scatter_dense_rows(s.plan, s.work, assign_lane_rows(s.plan, s.work, w), w)


@wp.kernel
def start_kernel(s: Parts, z: array2):
    w = wp.tid() // LANES
    mine = assign_lane_rows(s.plan, s.work, w)
    p, _four = load_row_impulses(s.plan, s.work, mine, s.work.p, w)
    store_z_registers(s.plan, apply_warm_start(s.plan, s.work, mine, load_z_registers(s.plan, z, w), p, w), z, w)


@wp.kernel
def sweep_kernel(s: Parts, z: array2, sweeps: int, change: array2):
    w = wp.tid() // LANES
    mine = assign_lane_rows(s.plan, s.work, w)
    p, four = load_row_impulses(s.plan, s.work, mine, s.work.p, w)
    x = load_z_registers(s.plan, z, w)
    sought = load_row_targets(s.work, mine, w)
    pool = allocate_shared(z)
    fill_shared_memory(s.plan, s.work, mine, pool, w)
    worst = real(0.0)
    for _ in range(sweeps):
        worst, x, p, four = sweep_registers(s.plan, s.work, mine, pool, sought, x, p, four, w)
    store_row_impulses(s.plan, s.work, mine, p, four, s.work.p, w)
    store_z_registers(s.plan, x, z, w)
    put_unsynced(change, 0, w, worst)


@wp.kernel
def positions_kernel(s: Parts, give: real, z: array2, sweeps: int, change: array2):
    w = wp.tid() // LANES
    mine = assign_lane_rows(s.plan, s.work, w)
    x = vec2()
    p = vec2()
    hold = real(0.0)
    worst = real(0.0)
    for _ in range(sweeps):
        worst, x, p, hold = sweep_split_impulses_registers(
            s.plan, s.work, mine, give, real(DT), real(ERP), x, p, hold, w
        )
    store_z_registers(s.plan, x, z, w)
    for k in range(2):
        if mine.at[k] >= 0:
            put_unsynced(s.work.p, mine.at[k], w, p[k])
    if lane_index() < mine.lines:
        put_unsynced(s.work.p, s.plan.scalar_p_start + 4 * s.work.active_scalars[1 + lane_index(), w], w, hold)
    put_unsynced(change, 0, w, worst)


def on_gpu(kernel, *arguments) -> None:
    run(kernel, *arguments, threads=WORLDS * LANES, block=LANES_BLOCK_DIM, device=GPUS[0])


def problem(turning: bool) -> tuple[Rows, np.ndarray]:
    """Two worlds with rows of their own, laid out dense; and z to start from. The last scalar row does not act."""
    rng = np.random.default_rng(0)
    rows = Rows(rng, TREES, CONTACTS, LINES, turning=turning, columns=WORLDS, device=GPUS[0])
    work = rows.parts.work
    K = work.scalar_K.numpy()
    K[3] = 0
    work.scalar_K.assign(K)
    put(work.contact_target, np.tile([1.5, 0.1, -0.2], len(CONTACTS)))
    put(work.velocity_lower, [-0.1, -0.2, 0, 0])
    put(work.velocity_upper, [0.1, 0.2, 0, 0])
    put(work.friction_bound, [0, 0.2, 0.5, 0])
    on_gpu(rows_kernel, rows.parts)
    return rows, rng.normal(size=(rows.nv, WORLDS))


def test_they_compile_for_a_gpu_with_exchanges_between_threads(tmp_path):
    text = ptx_of(sweep_kernel, tmp_path)
    for kernel in (rows_kernel, start_kernel, sweep_kernel, positions_kernel):
        assert kernel.key in text
    assert text.count("shfl.sync") > 20


@pytest.mark.skipif(not GPUS, reason=WITHOUT)
@pytest.mark.parametrize("turning", [False, True])
def test_rows_are_laid_out_dense(turning):
    rows, _ = problem(turning)
    near = rows.parts.work.gpu_dense_rows.numpy()
    for w in range(WORLDS):
        assert rows.parts.work.active_scalars.numpy()[:4, w].tolist() == [3, 0, 1, 2]
        dense = np.concatenate([rows.all_lines(w)[:3], rows.all_contacts(w)])
        width = rows.nv + -rows.nv % LANES
        found = near[w][: len(dense) * width].reshape(len(dense), width)
        np.testing.assert_allclose(found[:, : rows.nv], dense, rtol=1e-6)
        assert not found[:, rows.nv :].any()


@pytest.mark.skipif(not GPUS, reason=WITHOUT)
def test_contacts_start_from_their_impulses():
    rows, z0 = problem(turning=True)
    p = np.random.default_rng(1).normal(size=(rows.parts.plan.impulses, WORLDS))
    p[: rows.parts.plan.contact_p_start] = 0
    put(rows.parts.work.p, p)
    z = column(z0, GPUS[0])
    on_gpu(start_kernel, rows.parts, z)
    for w in range(WORLDS):
        np.testing.assert_allclose(seen(z, w), z0[:, w] + rows.pushed(p[:, w], w), atol=CLOSE)


@pytest.mark.skipif(not GPUS, reason=WITHOUT)
@pytest.mark.parametrize("turning", [False, True])
def test_sweeps_of_a_team_solve_the_complementarity_problem(turning):
    rows, z0 = problem(turning)
    z, change = column(z0, GPUS[0]), column(np.zeros((1, WORLDS)), GPUS[0])
    on_gpu(sweep_kernel, rows.parts, z, 5000, change)
    for w in range(WORLDS):
        p, after = seen(rows.parts.work.p, w), seen(z, w)
        assert seen(change, w)[0] < CLOSE
        np.testing.assert_allclose(after, z0[:, w] + rows.pushed(p, w), atol=CLOSE)
        speeds = (rows.all_contacts(w) @ after).reshape(len(CONTACTS), rows.width)
        found, s = rows.contact_impulses(p), speeds[:, :3] - [1.5, 0.1, -0.2]
        assert (found[:, 0] > 0).any() and cone_residual(found[:, :3], s, 0.5).max() < CLOSE
        for l, (_, acts) in enumerate(LINES[:3]):
            bounds = (seen(getattr(rows.parts.work, name), w)[l] for name in BOUNDS)
            assert line_residual(rows.line_impulses(p)[l], rows.line(l, w) @ after, acts, *bounds) < CLOSE
        if turning:
            spin, most = found[:, 3], 0.05 * found[:, 0]
            np.testing.assert_allclose(spin, np.clip(spin - speeds[:, 3], -most, most), atol=CLOSE)


@pytest.mark.skipif(not GPUS, reason=WITHOUT)
@pytest.mark.parametrize("give", [0.0, 0.1])
def test_pseudo_impulses_of_a_team_solve_the_linear_complementarity_problem(give):
    rows, _ = problem(turning=False)
    gaps = np.array([-2e-3, -1e-3, 4e-3, -3e-3, -1e-4, 2e-3])
    put(rows.parts.work.contact_gap, gaps)
    z, change = column(np.zeros((rows.nv, WORLDS)), GPUS[0]), column(np.zeros((1, WORLDS)), GPUS[0])
    on_gpu(positions_kernel, rows.parts, give, z, 5000, change)
    slop = float(SLOP)
    wanted = np.where(gaps + slop > 0, -(gaps + slop) / DT, -ERP * (gaps + slop) / DT)
    for w in range(WORLDS):
        p, after = seen(rows.parts.work.p, w), seen(z, w)
        assert seen(change, w)[0] < CLOSE
        np.testing.assert_allclose(after, rows.pushed(p, w), atol=CLOSE)
        normals = np.array([rows.contact(c, w)[0] for c in range(len(CONTACTS))])
        push = rows.contact_impulses(p)[:, 0]
        excess = normals @ after + give * (normals**2).sum(axis=1) * push - wanted
        np.testing.assert_allclose(np.minimum(push, excess), 0, atol=CLOSE)
        for l in range(2):
            s, hold = rows.line(l, w) @ after, rows.line_impulses(p)[l, 0]
            low, high = ((-0.1, 0.1), (-0.2, 0.2))[l]
            assert abs(s - np.clip(s - hold, low, high)) < CLOSE
