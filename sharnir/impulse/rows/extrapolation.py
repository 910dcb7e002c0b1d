"""Adaptive-order extrapolation of values that change smoothly from step to step.

A series of n values is stored as the last values, their first and second differences, and the order of extrapolation
that would have met the last values best: 0, 1 or 2. With noise the order falls back by itself.
"""

from __future__ import annotations

import warp as wp

from sharnir.kernels.columns import USES_LANES, item, set_item
from sharnir.kernels.types import C_REAL, array2, real, vec3
from sharnir.kernels.vector_ops import batched_loop_native, lane_sum_native

SERIES_TERMS = 3  # of a value: the last one, its change and the change of that; the order follows behind


@wp.func
def extrapolation_order_of(history: array2, n: int, w: int):
    """Order of extrapolation of a series of n values."""
    return item(history, SERIES_TERMS * n, w)


@wp.func
def predict_value(history: array2, i: int, n: int, w: int):
    """Predict value i of n in the next step."""
    order = extrapolation_order_of(history, n, w)
    value = item(history, i, w)
    if order > real(0.5):
        value = value + item(history, n + i, w)
    if order > real(1.5):
        value = value + item(history, 2 * n + i, w)
    return value


_SERIES_NATIVE = f"""
#if defined(__CUDA_ARCH__)
    const long long m = series.shape[1];
    {C_REAL}* last = series.data + w;
    const {C_REAL}* now = values.data + w;
#else
    const long long m = 1;
    {C_REAL}* last = series.data + (long long)(w) * series.shape[0];
    const {C_REAL}* now = values.data;
#endif
    {C_REAL} a = 0, b = 0, c = 0;
"""
_DIFFERENCES_NATIVE = """
    y[j] = now[k*m]; v[j] = y[j] - last[k*m]; u[j] = v[j] - last[(n + k)*m];
    const REAL curve = u[j] - last[(2*n + k)*m];
    a += v[j]*v[j]; b += u[j]*u[j]; c += curve*curve;
"""
_STORE_NATIVE = "last[k*m] = y[j]; last[(n + k)*m] = v[j]; last[(2*n + k)*m] = u[j];"
_DIFFERENCES_AND_STORE_NATIVE = "REAL y[1], v[1], u[1]; const int j = 0;" + _DIFFERENCES_NATIVE + _STORE_NATIVE


@wp.func_native(
    _SERIES_NATIVE
    + batched_loop_native("n", _DIFFERENCES_NATIVE, _STORE_NATIVE, _DIFFERENCES_AND_STORE_NATIVE).replace(
        "REAL", C_REAL
    )
    + f"""
#if {USES_LANES}
    {lane_sum_native("a", "b", "c")}
#endif
    return wp::vec_t<3,{C_REAL}>(a, b, c);"""
)
def record_values(series: array2, values: array2, n: int, w: int) -> vec3:
    """Store new values and differences; returns the squared errors that extrapolations of order 0, 1 and 2 would have
    had."""
    ...


@wp.func
def update_series(history: array2, values: array2, n: int, w: int):
    """Store the values of a step and choose the order of extrapolation."""
    misses = record_values(history, values, n, w)
    order = real(0.0)
    if misses[1] < misses[0]:
        order = real(1.0)
    if misses[2] < wp.min(misses[0], misses[1]):
        order = real(2.0)
    set_item(history, SERIES_TERMS * n, w, order)


@wp.func
def reset_series(history: array2, size: int, w: int):
    """Reset a series."""
    i = int(0)
    while i < size:
        set_item(history, i, w, real(0.0))
        i += 1
