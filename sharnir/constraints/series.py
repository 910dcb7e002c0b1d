"""Values that change smoothly from step to step, and where they will be next.

A series of n values is stored as the last values, their first and second differences, and the order of extrapolation
that would have met the last values best: 0, 1 or 2. Noise makes it fall back by itself.
"""

from __future__ import annotations

import warp as wp

from sharnir.access import get, item, set_item
from sharnir.maths import array2, real, vec3


@wp.func
def order_of(series: array2, n: int, w: int):
    """Order of extrapolation of n values."""
    return item(series, 3 * n, w)


@wp.func
def expected(series: array2, i: int, n: int, w: int):
    """Value i of n in the step to come."""
    order = order_of(series, n, w)
    value = item(series, i, w)
    if order > real(0.5):
        value = value + item(series, n + i, w)
    if order > real(1.5):
        value = value + item(series, 2 * n + i, w)
    return value


@wp.func
def follow(series: array2, values: array2, n: int, w: int):
    """Take note of the values of a step."""
    misses = vec3()
    i = int(0)
    while i < n:
        value = get(values, i, w)
        miss = value - item(series, i, w)
        slope = item(series, n + i, w)
        curve = item(series, 2 * n + i, w)
        bent = miss - slope
        misses = misses + vec3(miss * miss, bent * bent, (bent - curve) * (bent - curve))
        set_item(series, 2 * n + i, w, bent)
        set_item(series, n + i, w, miss)
        set_item(series, i, w, value)
        i += 1
    order = real(0.0)
    if misses[1] < misses[0]:
        order = real(1.0)
    if misses[2] < wp.min(misses[0], misses[1]):
        order = real(2.0)
    set_item(series, 3 * n, w, order)


@wp.func
def forget(series: array2, size: int, w: int):
    """Start anew."""
    i = int(0)
    while i < size:
        set_item(series, i, w, real(0.0))
        i += 1
