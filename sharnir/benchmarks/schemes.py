"""The candidates for the integration scheme in one table (docs/method.md, 7.6): energy, creep at rest, order, time."""

from __future__ import annotations

from typing import Any

import numpy as np

import sharnir as sh
from sharnir import scenes

FALL = {n: sum(0.2 * 9.81 * (0.1 + 0.2 * k) for k in range(n)) for n in (1, 5)}  # J, horizontal to hanging
CANDIDATES: list[tuple[str, dict[str, Any]]] = [
    ("paper", {"method": "paper"}),
    *((f"{k} passes", {"passes": k}) for k in range(4)),
]


def energy(solver: str, settings: dict, n: int, dt: float, duration: float) -> str:
    """Largest gain and loss, % of the fall, every fifth step."""
    sim = sh.Simulation(scenes.make("five_link_chain", friction=0.0, n=n), solver=solver, dt=dt, **settings)
    first, seen = sum(sim.energy), []
    try:
        for _ in range(round(duration / dt / 5)):
            sim.step(5)
            seen.append(100 * (sum(sim.energy) - first) / FALL[n])
    except sh.SimulationError:
        return f"diverges at {sim.time:.1f} s"
    return f"{max(0.0, *seen):.2f} / {max(0.0, -min(seen)):.2f}"


def creep(solver: str, settings: dict) -> str:
    """µm that a box on a slope of 20° moves in 60 s after 2 s."""
    sim = sh.Simulation(scenes.make("box_on_slope"), solver=solver, dt=0.01, **settings)
    sim.run(2.0)
    before = sim.body("box").position.copy()
    sim.run(60.0)
    return f"{1e6 * np.linalg.norm(sim.body('box').position - before):.1e}"


def order(solver: str, settings: dict) -> str:
    """Of the positions of three rods after 0.5 s, from 4, 2 and 1 ms."""
    scene = scenes.make("five_link_chain", friction=0.0, n=3)
    truth = sh.simulate(scene, 0.5).q[-1]
    errors = []
    for dt in (0.004, 0.002, 0.001):
        sim = sh.Simulation(scene, solver=solver, dt=dt, **settings)
        sim.run(0.5)
        errors.append(max(abs(sim.joint(f"hinge{k + 1}").position[0] - truth[k]) for k in range(3)))
    return f"{np.log2(errors[0] / errors[1]):.2f}, {np.log2(errors[1] / errors[2]):.2f}"


def microseconds(solver: str, settings: dict) -> str:
    sim = sh.Simulation(scenes.make("five_link_chain", friction=0.0), solver=solver, dt=0.001, **settings)
    return f"{1e6 * np.median([sim.step().seconds for _ in range(2000)]):.1f}"


def main() -> None:
    print("| | 5 links, 10 ms, 60 s | 5 links, 20 ms, 60 s | 1 link, 10 ms, 60 s | 5 links, 1 ms, 20 s "
          "| creep, µm | order | µs |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|")
    cases = ((5, 0.01, 60.0), (5, 0.02, 60.0), (1, 0.01, 60.0), (5, 0.001, 20.0))
    for solver in ("simgc", "simmc"):
        for name, settings in CANDIDATES:
            cells = [energy(solver, settings, *case) for case in cases]
            cells += [creep(solver, settings), order(solver, settings), microseconds(solver, settings)]
            print(f"| {solver}, {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
