"""Fused vector operations of the momentum balance, native (see `sharnir.kernels.vector_ops`). z and arrays like it are
workspace columns; residual_carry (lack) and momentum_chord (bend) belong to the state."""

from __future__ import annotations

import warp as wp

from sharnir.kernels.columns import USES_LANES
from sharnir.kernels.types import C_REAL, array2, real
from sharnir.kernels.vector_ops import batched_loop_native, lane_sum_native

_WORLD_COLUMN_NATIVE = """
#if defined(__CUDA_ARCH__)
    const long long m = z.shape[1];
    const long long here = w;
    const long long own = w;
#else
    const long long m = 1;
    const long long here = 0;
    const long long own = (long long)(w) * state.shape[0];
#endif
"""
_PREDICT_NATIVE = """
    v[j] = z.data[k*m + here] + lack.data[k*m + there];
    REAL ahead = bend.data[k*m + own];
    if (order > 0) ahead = ahead + bend.data[(n + k)*m + own];
    if (order > 1) ahead = ahead + bend.data[(2*n + k)*m + own];
    y[j] = v[j] + ratio * ahead;
"""
_STORE_PREDICTED_NATIVE = "zP.data[k*m + here] = v[j]; base.data[k*m + here] = y[j]; z.data[k*m + here] = y[j];"
_CHORD_NATIVE = """
    v[j] = zc.data[k*m + here];
    y[j] = base.data[k*m + here] - zP.data[k*m + here] + v[j];
    v[j] = v[j] * share;
"""
_STORE_CHORD_NATIVE = "z.data[k*m + here] = y[j]; lack.data[k*m + own] = v[j];"
_RESIDUAL_NATIVE = """
    y[j] = zP.data[k*m + here] + z.data[k*m + here] - base.data[k*m + here] - zc.data[k*m + here];
    sum += y[j]*y[j];
"""
_STORE_RESIDUAL_NATIVE = "zc.data[k*m + here] = y[j];"


def _column_loop_native(state: str, load: str, store: str) -> str:
    """Native loop over n coordinates. state: the array that is no workspace column."""
    both = "REAL y[1], v[1]; const int j = 0;" + load + store
    code = _WORLD_COLUMN_NATIVE.replace("state", state) + batched_loop_native("n", load, store, both)
    return code.replace("REAL", C_REAL)


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    const long long there = w;
#else
    const long long there = (long long)(w) * lack.shape[0];
#endif
""" + _column_loop_native("bend", _PREDICT_NATIVE, _STORE_PREDICTED_NATIVE))  # fmt: skip
def predict_momenta(
    z: array2, lack: array2, bend: array2, order: int, ratio: real, n: int, zP: array2, base: array2, w: int
):
    """zP ← z + lack; base, z ← zP + ratio times the prediction of the series `bend`."""
    ...


@wp.func_native(_column_loop_native("lack", _CHORD_NATIVE, _STORE_CHORD_NATIVE))
def store_momentum_chord(zc: array2, base: array2, zP: array2, share: real, n: int, z: array2, lack: array2, w: int):
    """z ← base − zP + zc, the chord correction of the step; lack ← share times the residual zc."""
    ...


@wp.func_native(
    f"{C_REAL} sum = 0;"
    + _column_loop_native("z", _RESIDUAL_NATIVE, _STORE_RESIDUAL_NATIVE)
    + f"""
#if {USES_LANES}
    {lane_sum_native("sum")}
#endif
    return sum;"""
)
def compute_momentum_residual(zP: array2, z: array2, base: array2, zc: array2, n: int, w: int) -> real:
    """zc ← zP + z − base − zc, the residual of the momentum balance (M-33); returns its square."""
    ...
