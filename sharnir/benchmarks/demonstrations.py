"""Demonstrators in both solvers: times, iterations, and whether they keep pace with the wall clock while watched.

In generalised coordinates a run goes on in real time, with a viewer and a client that reads all, its task anew as often
as it ends; in maximal coordinates it is one attempt, as fast as it goes.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from sharnir.benchmarks.harness import row
from sharnir.benchmarks.view import TOKEN, client
from sharnir.impulse.slots import ReportItem
from sharnir.impulse.ticks import ticks_per_second
from sharnir.progress import bar
from sharnir.scenes import demonstrators
from sharnir.scenes.demonstrators import Performer
from sharnir.simulation.simulation import Simulation
from sharnir.viewer import Address, Live, Player
from sharnir.viewer.loop import rest
from sharnir.viewer.source.pace import FRAME

WATCHED, WATCHED_QUICKLY = 300.0, 20.0  # s of the wall clock


class Taken(NamedTuple):
    """Of every step: s with what controllers took, s of the solver alone, iterations; and s simulated and passed."""

    whole: list[float]
    solver: list[float]
    iterations: list[float]
    attempts: list[bool]  # goals reached, of attempts that ended


def run(quick: bool) -> list[dict[str, Any]]:
    out = []
    for name in demonstrators.names():
        out.append(watched(name, WATCHED_QUICKLY if quick else WATCHED))
        out.append(alone(name, quick))
    return out


def watched(name: str, seconds: float) -> dict[str, Any]:
    """In real time, watched."""
    simulation, performer = demonstrators.ready(name, seed=0)
    live, taken = Live(simulation), Taken([], [], [], [])
    simulation.step()  # loads the kernels
    simulation.reset()
    player = Player(live, Address(port=0, token=TOKEN))
    try:
        with client(player.url, "connected", seconds + 3.0), bar(f"{name}, watched", seconds, True) as advance:
            time.sleep(2.0)  # until it has come
            began, simulated = time.perf_counter(), 0.0
            while (passed := time.perf_counter() - began) < seconds:
                player.listen()
                while simulated < passed:
                    step(simulation, performer, taken)
                    simulated += simulation.dt
                busy = (time.perf_counter() - began - passed) / FRAME
                player.publish()
                player.tidy()
                advance(passed)
                rest(began + passed + FRAME, busy)
            factor = simulated / passed
    finally:
        player.close()
    return facts(f"{name} simgc, watched", simulation, taken, factor)


def alone(name: str, quick: bool) -> dict[str, Any]:
    """One attempt in maximal coordinates, or the first seconds of it."""
    simulation, performer = demonstrators.ready(name, seed=0, solver="simmc")
    taken, duration = Taken([], [], [], []), 5.0 if quick else demonstrators.find(name).duration
    simulation.step()
    simulation.reset()
    began = time.perf_counter()
    with bar(f"{name}, simmc", duration, True) as advance:
        while simulation.time < duration and not taken.attempts:
            step(simulation, performer, taken)
            advance(simulation.time)
    simulated = len(taken.whole) * simulation.dt
    return facts(f"{name} simmc", simulation, taken, simulated / (time.perf_counter() - began))


def step(simulation: Simulation, performer: Performer, taken: Taken) -> None:
    """One step and what is noted of it; a task that is done begins anew."""
    began = time.perf_counter()
    simulation.step()
    taken.whole.append(time.perf_counter() - began)
    report = simulation.impulses.reports(1)[0, :, 0]
    taken.solver.append(float(report[ReportItem.STEP_TICKS]) / ticks_per_second())
    taken.iterations.append(float(report[ReportItem.SWEEP_COUNT]))
    if performer.task.done:
        taken.attempts.append(all(f.met for f in performer.task.figures()))
        simulation.reset()


def facts(case: str, simulation: Simulation, taken: Taken, factor: float) -> dict[str, Any]:
    """A row: the time of a step with its controller, µs."""
    whole, solver = 1e6 * np.array(taken.whole), 1e6 * np.array(taken.solver)
    over = float((whole > 1e6 * simulation.dt).mean())
    return row(
        case, "µs", whole, None, None, dt=simulation.dt, real_time_factor=factor, overruns=over,
        iterations_mean=float(np.mean(taken.iterations)), solver_median=float(np.median(solver)),
        solver_p999=float(np.percentile(solver, 99.9)), goals=taken.attempts,
    ) | {
        "step": f"{1e3 * simulation.dt:g} ms", "solver alone": f"{np.median(solver):.0f}",
        "p99.9": f"{np.percentile(whole, 99.9):.0f}", "over the step": f"{100 * over:.2f} %",
        "iterations": f"{np.mean(taken.iterations):.1f}", "real-time factor": f"{factor:.2f}",
        "goals reached": f"{sum(taken.attempts)} of {len(taken.attempts)}",
    }  # fmt: skip
