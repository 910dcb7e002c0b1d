"""The demonstrators: named scenes with a task and a goal that is checked, by tests and by benchmarks alike.

    outcome = demonstrators.attempt("trailer_robot", seed=3, solver="simgc")
    outcome.met, outcome.figures

A demonstrator is a named scene whose parameter `seed` varies initial pose and friction by up to 10 %, and a task.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from rich.table import Table

from sharnir import scenes
from sharnir.errors import unknown
from sharnir.progress import bar
from sharnir.scenes.demonstrators.pick_and_place import PickAndPlace
from sharnir.scenes.demonstrators.trailer_task import TowTask
from sharnir.scenes.goals import Figure, Task
from sharnir.scenes.skybot.lift_stone import LiftStone
from sharnir.scenes.skybot.turn_valve import TurnValve
from sharnir.simulation.run_steps import deferred_interrupt
from sharnir.simulation.simulation import Simulation

NOTICE = 0.1  # s simulated, between looks at whether the task is done


class Demonstrator(NamedTuple):
    """task: makes the task of a simulation of the scene. duration: s, the most it may take. rate: 1/s, of its calls."""

    task: Callable[[Simulation], Task]
    duration: float
    rate: float = 100.0


class Outcome(NamedTuple):
    """What an attempt came to. time: s, simulated. finished: False where it was interrupted."""

    task: Task
    time: float
    simulation: Simulation
    finished: bool

    @property
    def figures(self) -> list[Figure]:
        """What was reached."""
        return self.task.figures()

    @property
    def met(self) -> bool:
        """Whether the goal was reached."""
        return all(figure.met for figure in self.figures)

    def __str__(self) -> str:
        return "; ".join(("" if f.met else "NOT MET: ") + str(f) for f in self.figures)


_DEMONSTRATORS: dict[str, Demonstrator] = {
    "manipulator_grasp": Demonstrator(PickAndPlace, 15.0, 200.0),
    "trailer_robot": Demonstrator(TowTask, duration=90.0),
    "humanoid_valve": Demonstrator(TurnValve, 40.0, 200.0),
    "humanoid_stone": Demonstrator(LiftStone, 25.0, 200.0),
}


def names() -> list[str]:
    """Names of all demonstrators."""
    return list(_DEMONSTRATORS)


def find(name: str) -> Demonstrator:
    """A demonstrator by its name."""
    if name not in _DEMONSTRATORS:
        raise unknown("demonstrator", name, _DEMONSTRATORS)
    return _DEMONSTRATORS[name]


class Performer:
    """The controller that performs a demonstrator's task, and begins it anew where the simulation does."""

    def __init__(self, name: str, simulation: Simulation) -> None:
        self._make = find(name).task
        self.task = self._make(simulation)
        simulation.add_controller(self, rate=find(name).rate)

    def restart(self, simulation: Simulation) -> None:
        """A new task from the present state on."""
        self.task = self._make(simulation)

    def __call__(self, simulation: Simulation) -> None:
        self.task(simulation)


def ready(
    name: str, *, solver: str = "simgc", dt: float | None = None, **parameters: Any
) -> tuple[Simulation, Performer]:
    """A simulation of a demonstrator and who performs its task, about to start. dt: s; left out, the scene's own.
    parameters: of the scene."""
    find(name)
    simulation = Simulation(
        scenes.make(name, **parameters), solver=solver, dt=scenes.find(name).dt if dt is None else dt
    )
    return simulation, Performer(name, simulation)


def attempt(
    name: str, *, solver: str = "simgc", dt: float | None = None, record: Path | None = None, rate: float = 60.0,
    progress: bool = False, **parameters: Any,
) -> Outcome:  # fmt: skip
    """Run a demonstrator until its task is done or its time is over. record: a new file (.mcap), with `rate` states a
    second. progress: show a bar. parameters: of the scene. Ctrl-C ends it; what was reached until then is returned."""
    simulation, performer = ready(name, solver=solver, dt=dt, **parameters)
    duration, finished = find(name).duration, True
    steps = max(1, round(NOTICE / simulation.dt))
    try:
        with (
            nullcontext() if record is None else simulation.record(record, rate=rate, seed=parameters.get("seed")),
            bar(f"{name}, {solver}", duration, progress) as advance,
            deferred_interrupt() as interrupted,
        ):
            while simulation.time < duration - 1e-9 and not performer.task.done:
                simulation.step(steps)
                if simulation.recorder is not None:
                    simulation.recorder.catch_up()
                advance(simulation.time)
                if interrupted():
                    raise KeyboardInterrupt
            advance(duration)
    except KeyboardInterrupt:
        finished = False
    return Outcome(performer.task, simulation.time, simulation, finished)


def figures_table(name: str, outcome: Outcome) -> Table:
    """What a demonstrator reached."""
    simulation = outcome.simulation
    title = f"{name}: {outcome.time:g} s by {simulation.solver}, step {simulation.dt:g} s"
    table = Table("figure", "reached", "asked for", "met", title=title, padding=(0, 0))
    for f in outcome.figures:
        table.add_row(f.name, f"{f.value:.4g} {f.unit}".strip(), f.range, "yes" if f.met else "NO")
    return table
