"""What is run on the GPU machine for steps: a standing humanoid, GPU against CPU, and steps per second. Prints JSON."""

from __future__ import annotations

import json
import time

import numpy as np
import warp as wp

import sharnir
from sharnir import scenes
from sharnir.solvers.impulse import Impulses
from sharnir.solvers.settings import Settings

DT = 0.005  # s


def started(model: sharnir.Model, worlds: int, device: str) -> Impulses:
    """Worlds that start a little apart from each other."""
    impulses = Impulses(model, worlds, device)
    rng = np.random.default_rng(0)
    v = 0.05 * rng.normal(size=(model.nv, worlds))
    impulses.set(Settings(epsilon=1e-3 * float(model.mass.sum()) * 9.81 * DT, max_sweeps=20), DT)
    impulses.start(np.tile(model.q0[:, None], (1, worlds)), v, np.tile(model.loop_q0[:, None], (1, worlds)))
    return impulses


def main() -> None:
    out: dict[str, object] = {"precision": sharnir.get_precision(), "device": str(wp.get_device("cuda:0").name)}
    for name in ("humanoid", "five_link_chain"):
        model = sharnir.compile(scenes.make(name))
        ends = []
        for device in ("cpu", "cuda:0"):
            impulses = started(model, 64, device)
            impulses.step(100)
            ends.append(impulses.state.q.numpy())
        out[f"{name} GPU against CPU after 100 steps"] = float(np.abs(ends[1] - ends[0]).max())
        for worlds in (8192, 32768, 131072):
            impulses = started(model, worlds, "cuda:0")
            impulses.step(20)
            wp.synchronize()
            began = time.perf_counter()
            for _ in range(5):
                impulses.step(20)
            wp.synchronize()
            seconds = time.perf_counter() - began
            out[f"{name} {worlds} worlds, steps/s"] = worlds * 100 / seconds
            q = impulses.state.q.numpy()
            assert np.isfinite(q).all()
            out[f"{name} {worlds} lowest root, m"] = float(q[2].min()) if name == "humanoid" else 0.0
            del impulses
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
