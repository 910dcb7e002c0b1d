"""What is run on the GPU machine: every tree algorithm against the CPU, then the batch benchmark. Prints JSON."""

from __future__ import annotations

import json
import time

import numpy as np
import warp as wp

import sharnir
import sharnir.benchmarks
from sharnir import dynamics
from sharnir.benchmarks.mechanisms import limbs, states


def differences(worlds: int = 1000) -> dict[str, float]:
    """Relative distance of the GPU's results from the CPU's, by algorithm."""
    model = sharnir.compile(limbs())
    q, v, tau = states(model, worlds)
    f_ext = np.random.default_rng(2).normal(size=(model.nb, 6, worlds))
    calls = {
        "aba": lambda d: dynamics.aba(model, q, v, tau, f_ext, device=d),
        "rnea": lambda d: dynamics.rnea(model, q, v, tau, f_ext, device=d),
        "crba": lambda d: dynamics.crba(model, q, device=d),
        "whitened": lambda d: dynamics.whitened(model, q, device=d),
        "jacobian": lambda d: dynamics.jacobian(model, q, "limb0_5", (0.1, 0.2, 0.3), device=d),
        "energy": lambda d: np.array(dynamics.energy(model, q, v, device=d)),
        "momentum": lambda d: np.array(dynamics.momentum(model, q, v, device=d)),
        "velocities": lambda d: dynamics.body_velocities(model, q, v, device=d),
    }
    out = {}
    for name, call in calls.items():
        cpu, gpu = call("cpu"), call("cuda:0")
        out[name] = float(np.linalg.norm(gpu - cpu) / np.linalg.norm(cpu))
    return out


def main() -> None:
    started = time.perf_counter()
    result = {"precision": sharnir.get_precision(), "device": wp.get_device("cuda:0").name}
    result["difference_from_cpu"] = differences()
    result["aba_batch"] = sharnir.benchmarks.run("aba_batch")["rows"]
    result["seconds"] = time.perf_counter() - started
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
