"""The demonstrators: named scenes with a task and a goal that is checked, by tests and by benchmarks alike.

    outcome = demonstrators.attempt("trailer_robot", seed=3, solver="simgc")
    outcome.met, outcome.figures

A demonstrator is a named scene whose parameter `seed` varies initial pose and friction by up to 10 %, and a task.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sharnir import scenes
from sharnir.errors import unknown
from sharnir.scenes.goals import Figure, Task
from sharnir.scenes.pick_and_place import PickAndPlace
from sharnir.scenes.skybot.turn_valve import TurnValve
from sharnir.simulation import Simulation


class Demonstrator(NamedTuple):
    """task: makes the task of a simulation of the scene. duration: s, the most it may take. rate: 1/s, of its calls."""

    task: Callable[[Simulation], Task]
    duration: float
    rate: float = 100.0


class Outcome(NamedTuple):
    """What an attempt came to. time: s, simulated."""

    figures: list[Figure]
    time: float
    simulation: Simulation

    @property
    def met(self) -> bool:
        """Whether the goal was reached."""
        return all(figure.met for figure in self.figures)

    def __str__(self) -> str:
        return "; ".join(("" if f.met else "NOT MET: ") + str(f) for f in self.figures)


_DEMONSTRATORS: dict[str, Demonstrator] = {
    "manipulator_grasp": Demonstrator(PickAndPlace, 15.0, 200.0),
    "humanoid_valve": Demonstrator(TurnValve, 40.0, 200.0),
}


def names() -> list[str]:
    """Names of all demonstrators."""
    return list(_DEMONSTRATORS)


def find(name: str) -> Demonstrator:
    """A demonstrator by its name."""
    if name not in _DEMONSTRATORS:
        raise unknown("demonstrator", name, _DEMONSTRATORS)
    return _DEMONSTRATORS[name]


def ready(name: str, *, seed: int = 0, solver: str = "simgc", dt: float | None = None) -> tuple[Simulation, Task]:
    """A simulation of a demonstrator with its task as controller, about to start. dt: s; left out, the scene's own."""
    demonstrator = find(name)
    simulation = Simulation(scenes.make(name, seed=seed), solver=solver, dt=dt or scenes.find(name).dt)
    task = demonstrator.task(simulation)
    simulation.add_controller(task, rate=demonstrator.rate)
    return simulation, task


def attempt(name: str, *, seed: int = 0, solver: str = "simgc", dt: float | None = None) -> Outcome:
    """Run a demonstrator until its task is done or its time is over."""
    simulation, task = ready(name, seed=seed, solver=solver, dt=dt)
    duration = find(name).duration
    while simulation.time < duration and not task.done:
        simulation.run(0.1)
    return Outcome(task.figures(), simulation.time, simulation)
