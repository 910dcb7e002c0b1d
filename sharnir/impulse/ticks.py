"""Rate of the clock that kernels read."""

from __future__ import annotations

import time
from functools import cache

import warp as wp

from sharnir.kernels.launch import run_kernel
from sharnir.kernels.objects import Kernel

TICKS = Kernel("sharnir.impulse.step.cpu", "ticks_kernel")


@cache
def ticks_per_second() -> float:
    """Rate of the counter that kernels read (`read_ticks`), 1/s, measured once against the system's clock."""
    counter = wp.zeros(1, dtype=wp.float64, device="cpu")
    readings = []
    for pause in (0.0, 0.0, 0.02):
        time.sleep(pause)
        run_kernel(TICKS, 1, [counter], "cpu")
        readings.append((time.perf_counter(), float(counter.numpy()[0])))
    (t0, c0), (t1, c1) = readings[-2:]
    return (c1 - c0) / (t1 - t0)
