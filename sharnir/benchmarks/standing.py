"""A capsule humanoid of 27 degrees of freedom standing on a floor: our step against MuJoCo's, in turns."""

from __future__ import annotations

from functools import partial
from typing import Any

from sharnir import scenes
from sharnir.benchmarks.harness import interleaved, row
from sharnir.compiler import compile
from sharnir.simulation import Simulation

DT = 0.005  # s
CHUNK = 200  # steps


def run(quick: bool) -> list[dict[str, Any]]:
    scene = scenes.make("humanoid")
    model = compile(scene)
    epsilon = 1e-3 * float(model.mass.sum()) * 9.81 * DT
    sims = {s: Simulation(model, solver=s, dt=DT, epsilon=epsilon, max_sweeps=20) for s in ("simgc", "simmc")}
    peer, name = _peer(scene)
    for sim in sims.values():
        sim.run(2.0)
    pairs: list[Any] = [(partial(sim.impulses.step, CHUNK), peer) for sim in sims.values()]
    timed = interleaved(pairs, 10 if quick else 60)
    rows = []
    for (solver, sim), (ours, theirs) in zip(sims.items(), timed, strict=True):
        unit = 1e6 / CHUNK
        height = float(sim.body(sim.model.body_names[0]).position[2])
        theirs_us = None if theirs is None else theirs * unit
        rows.append(row(f"humanoid standing, {solver}", "µs", ours * unit, theirs_us, name, height=height))
    return rows


def _peer(scene: Any) -> tuple[Any, str | None]:
    try:
        import mujoco

        from sharnir.benchmarks.mujoco_twin import start, twin
    except ImportError:
        return None, None
    model, peer = compile(scene), twin(scene, DT)
    data = start(model, peer, model.q0, model.v0)
    mujoco.mj_step(peer, data, nstep=400)
    return (lambda: mujoco.mj_step(peer, data, nstep=CHUNK)), f"mujoco {mujoco.__version__}"
