"""Fused vector operations of the momentum balance, native (see `sharnir.kernels.vector_ops`). z and arrays like it are
workspace columns; residual_carry and momentum_chord belong to the state."""

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
    v[j] = z.data[k*m + here] + carry.data[k*m + there];
    REAL ahead = chord.data[k*m + own];
    if (order > 0) ahead = ahead + chord.data[(n + k)*m + own];
    if (order > 1) ahead = ahead + chord.data[(2*n + k)*m + own];
    y[j] = v[j] + ratio * ahead;
"""
_STORE_PREDICTED_NATIVE = """
    z_momentum.data[k*m + here] = v[j];
    z_base.data[k*m + here] = y[j];
    z.data[k*m + here] = y[j];
"""
_CHORD_NATIVE = """
    v[j] = z_residual.data[k*m + here];
    y[j] = z_base.data[k*m + here] - z_momentum.data[k*m + here] + v[j];
    v[j] = v[j] * share;
"""
_STORE_CHORD_NATIVE = "z.data[k*m + here] = y[j]; carry.data[k*m + own] = v[j];"
_RESIDUAL_NATIVE = """
    y[j] = z_momentum.data[k*m + here] + z.data[k*m + here] - z_base.data[k*m + here] - z_residual.data[k*m + here];
    sum += y[j]*y[j];
"""
_STORE_RESIDUAL_NATIVE = "z_residual.data[k*m + here] = y[j];"


def _column_loop_native(state: str, load: str, store: str) -> str:
    """Native loop over n coordinates. state: the array that is no workspace column."""
    both = "REAL y[1], v[1]; const int j = 0;" + load + store
    code = _WORLD_COLUMN_NATIVE.replace("state", state) + batched_loop_native("n", load, store, both)
    return code.replace("REAL", C_REAL)


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    const long long there = w;
#else
    const long long there = (long long)(w) * carry.shape[0];
#endif
""" + _column_loop_native("chord", _PREDICT_NATIVE, _STORE_PREDICTED_NATIVE))  # fmt: skip
def predict_momenta(
    z: array2, carry: array2, chord: array2, order: int, ratio: real, n: int, z_momentum: array2, z_base: array2, w: int
):
    """z_momentum ← z + carry; z_base, z ← z_momentum + ratio times the prediction of the series `chord`."""
    ...


@wp.func_native(_column_loop_native("carry", _CHORD_NATIVE, _STORE_CHORD_NATIVE))
def store_momentum_chord(
    z_residual: array2, z_base: array2, z_momentum: array2, share: real, n: int, z: array2, carry: array2, w: int
):
    """z ← z_base − z_momentum + z_residual, the chord correction of the step; carry ← share times z_residual."""
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
def compute_momentum_residual(
    z_momentum: array2, z: array2, z_base: array2, z_residual: array2, n: int, w: int
) -> real:
    """z_residual, before it the whitened chord momenta, ← z_momentum + z − z_base − z_residual, the residual of the
    momentum balance (M-33); returns its square."""
    ...
