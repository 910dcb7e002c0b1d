"""The articulated-body algorithm over many worlds: on the GPU where there is one, else on the CPU."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import warp as wp

from sharnir.benchmarks.harness import row
from sharnir.benchmarks.mechanisms import limbs, states
from sharnir.compiler import compile
from sharnir.dynamics.evaluator import Dynamics
from sharnir.kernels.types import np_real
from sharnir.precision import get_precision

CHECKED = 256  # worlds compared with the CPU


def run(quick: bool) -> list[dict[str, Any]]:
    model = compile(limbs())
    gpu = wp.is_cuda_available()
    counts = [8192, 65536, 262144] if gpu else [1024]
    return [measure(model, worlds, "cuda:0" if gpu else "cpu", 5 if quick else 30) for worlds in counts]


def measure(model: Any, worlds: int, device: str, rounds: int) -> dict[str, Any]:
    """Evaluations per second of the kernel alone, data on the device, and its distance from the CPU's result."""
    dynamics, on_cpu = Dynamics(model, worlds, device), Dynamics(model, CHECKED)
    for name, values in zip(("q", "v", "tau"), states(model, worlds), strict=True):
        getattr(dynamics, name).assign(values.astype(np_real))
        getattr(on_cpu, name).assign(np.ascontiguousarray(values[:, :CHECKED]).astype(np_real))
    seconds = []
    for _ in range(rounds + 2):
        wp.synchronize_device(device)
        start = time.perf_counter()
        dynamics.aba()
        wp.synchronize_device(device)
        seconds.append(time.perf_counter() - start)
    rates = worlds / np.array(seconds[2:])
    ours, theirs = dynamics.a.numpy()[:, :CHECKED], on_cpu.aba().numpy()
    error = np.linalg.norm(ours - theirs) / np.linalg.norm(theirs)
    name = wp.get_device(device).name
    return row(
        f"free root + 29 hinges, {worlds} worlds", "evaluations/s", rates, None, None,
        worlds=worlds, device=name, precision=get_precision(), difference_from_cpu=float(error), rounds=rounds,
    )  # fmt: skip
