"""Primitives of the 32 lanes of a CUDA warp (M-67), against numpy; one warp per world, here two."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from cuda_compiling import GPUS, LANE_OPTIONS, NO_GPU, ptx_of

from sharnir.kernels.columns import LANES, LANES_BLOCK_DIM, ints2
from sharnir.kernels.lanes import (
    allocate_shared,
    count_lanes,
    dense_row3_add,
    dense_row3_dot,
    get_shared,
    lane_index,
    lane_rank,
    lane_sum,
    load_dense_row,
    load_dense_row3,
    put_int_unsynced,
    put_shared,
    put_unsynced,
    read_lane,
    read_lane_int,
    sync_lanes,
    uses_lanes,
)
from sharnir.kernels.types import array2, np_real, real, vec2, vec3

wp.set_module_options(LANE_OPTIONS)
WORLDS, WIDTH, ROWS = 2, 2 * LANES, 5
CLOSE = 1e-12 if np_real == np.float64 else 1e-5


@wp.kernel
def exchange_kernel(x: array2, flags: ints2, out: array2, counts: ints2):
    """Lane t of world w: its index, x of the lane that t points to, Σ x, and counts of flags before it and in all."""
    w = wp.tid() // LANES
    t = lane_index()
    put_unsynced(out, t, w, real(t + 100 * uses_lanes()))
    put_unsynced(out, LANES + t, w, read_lane(x[t, w], (7 * t + 3) % LANES))
    put_unsynced(out, 2 * LANES + t, w, lane_sum(x[t, w]))
    put_int_unsynced(counts, t, w, lane_rank(flags[t, w]))
    put_int_unsynced(counts, LANES + t, w, count_lanes(flags[t, w]))
    put_int_unsynced(counts, 2 * LANES + t, w, read_lane_int(t, 5))
    sync_lanes()


@wp.kernel
def shared_kernel(x: array2, out: array2):
    """Each lane reads from shared memory what the lane after it has written."""
    w = wp.tid() // LANES
    shared = allocate_shared(x)
    put_shared(shared, lane_index(), x[lane_index(), w])
    sync_lanes()
    put_unsynced(out, lane_index(), w, get_shared(shared, (lane_index() + 1) % LANES))


@wp.kernel
def rows_kernel(dense: array2, z: array2, p: vec3, out: array2, moved: array2):
    """Products of rows 1 to 3 with z, of row 4 with z, and z + Wᵀ p."""
    w = wp.tid() // LANES
    t = lane_index()
    z_own = vec2(z[t, w], z[t + LANES, w])
    rows = load_dense_row3(dense, WIDTH, 1, w)
    s = dense_row3_dot(rows, z_own)
    single = lane_sum(wp.dot(load_dense_row(dense, WIDTH, 4, w), z_own))
    if t == 0:
        put_unsynced(out, 0, w, s[0])
        put_unsynced(out, 1, w, s[1])
        put_unsynced(out, 2, w, s[2])
        put_unsynced(out, 3, w, single)
    z_own = dense_row3_add(rows, p, z_own)
    put_unsynced(moved, t, w, z_own[0])
    put_unsynced(moved, t + LANES, w, z_own[1])


KERNELS = (exchange_kernel, shared_kernel, rows_kernel)


def launched(kernel, *arguments) -> None:
    wp.launch(kernel, dim=WORLDS * LANES, inputs=list(arguments), device=GPUS[0], block_dim=LANES_BLOCK_DIM)


def on_gpu(values: np.ndarray) -> wp.array:
    dtype = int if values.dtype.kind == "i" else real
    return wp.array(values.astype(np.int32 if dtype is int else np_real), dtype=dtype, device=GPUS[0])


def test_kernels_compile_for_a_gpu_with_exchanges_between_lanes(tmp_path):
    text = ptx_of(exchange_kernel, tmp_path)
    for kernel in KERNELS:
        assert kernel.key in text
    assert "shfl.sync" in text and "vote.sync.ballot" in text and ".shared" in text


@pytest.mark.skipif(not GPUS, reason=NO_GPU)
def test_lanes_know_their_index_and_exchange_values():
    rng = np.random.default_rng(0)
    x, flags = rng.normal(size=(LANES, WORLDS)), rng.integers(0, 2, (LANES, WORLDS))
    out, counts = on_gpu(np.zeros((3 * LANES, WORLDS))), on_gpu(np.zeros((3 * LANES, WORLDS), dtype=int))
    launched(exchange_kernel, on_gpu(x), on_gpu(flags), out, counts)
    number, given, total = out.numpy().reshape(3, LANES, WORLDS)
    before, all_of_them, five = counts.numpy().reshape(3, LANES, WORLDS)
    lanes = np.arange(LANES)
    np.testing.assert_array_equal(number, np.tile(100 + lanes[:, None], WORLDS))
    np.testing.assert_allclose(given, x[(7 * lanes + 3) % LANES], rtol=CLOSE)
    np.testing.assert_allclose(total, np.tile(x.sum(axis=0), (LANES, 1)), rtol=1e3 * CLOSE)
    np.testing.assert_array_equal(before, np.cumsum(flags, axis=0) - flags)
    np.testing.assert_array_equal(all_of_them, np.tile(flags.sum(axis=0), (LANES, 1)))
    assert (five == 5).all()


@pytest.mark.skipif(not GPUS, reason=NO_GPU)
def test_each_warp_has_its_own_shared_memory():
    x = np.random.default_rng(1).normal(size=(LANES, WORLDS))
    out = on_gpu(np.zeros((LANES, WORLDS)))
    launched(shared_kernel, on_gpu(x), out)
    np.testing.assert_allclose(out.numpy(), np.roll(x, -1, axis=0), rtol=CLOSE)


@pytest.mark.skipif(not GPUS, reason=NO_GPU)
def test_dense_rows_are_multiplied_and_added_by_lanes():
    rng = np.random.default_rng(2)
    dense, z, p = rng.normal(size=(WORLDS, ROWS, WIDTH)), rng.normal(size=(WIDTH, WORLDS)), rng.normal(size=3)
    out, moved = on_gpu(np.zeros((4, WORLDS))), on_gpu(np.zeros((WIDTH, WORLDS)))
    launched(rows_kernel, on_gpu(dense.reshape(WORLDS, -1)), on_gpu(z), vec3(*p), out, moved)
    for w in range(WORLDS):
        np.testing.assert_allclose(out.numpy()[:, w], dense[w, 1:] @ z[:, w], rtol=1e3 * CLOSE, atol=1e3 * CLOSE)
        np.testing.assert_allclose(moved.numpy()[:, w], z[:, w] + dense[w, 1:4].T @ p, rtol=1e3 * CLOSE)
