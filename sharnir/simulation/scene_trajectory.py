"""Runs of the impulse solver as trajectories, in the coordinates of the scene's own model."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sharnir.errors import SimulationError
from sharnir.impulse.settings import MAX_STEPS_PER_LAUNCH
from sharnir.model.model import Model, Reals
from sharnir.progress import bar
from sharnir.simulation.joint_map import joint_map, scene_state
from sharnir.simulation.run_steps import deferred_interrupt

if TYPE_CHECKING:
    from sharnir.simulation.simulate import Control, Trajectory
    from sharnir.simulation.simulation import Simulation
    from sharnir.simulation.step_report import Report


class TrajectoryCollector:
    """Collects what a trajectory holds."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self.rows: list[dict[str, Any]] = []
        self.control = np.zeros(sim.model.nv)
        self.joints = joint_map(sim.model, sim.inner)

    def record(self, report: Report | None) -> None:
        """Note the present state."""
        sim = self.sim
        q, v, loop_q, loop_v = scene_state(sim, self.joints)
        kinetic, potential = sim.energy
        error = (0.0 if report is None else report.position_error, np.nan)
        self.rows.append({
            "t": sim.time, "q": q, "v": v, "loop_q": loop_q, "loop_v": loop_v, "kinetic": kinetic, "loop_error": error,
            "potential": potential, "work": np.nan, "control": self.control.copy(),
        })  # fmt: skip

    def ask(self, control: Control) -> None:
        """Put what a control function asks for at the present state on the tree's coordinates."""
        sim, model = self.sim, self.sim.model
        q, v, _, _ = scene_state(sim, self.joints)
        self.control[:] = model.checked("control", control(sim.time, q, v), model.nv)
        for name in model.joint_names[: model.nb]:
            where = model.joint(name)
            if where.v.stop > where.v.start:
                sim.joint(name).control = self.control[where.v]

    def trajectory(self, **facts: Any) -> Trajectory:
        from sharnir.simulation.simulate import Trajectory

        columns: dict[str, Any] = {name: np.array([row[name] for row in self.rows]) for name in self.rows[0]}
        return Trajectory(model=self.sim.model, system=None, **columns, **facts)


def take_steps(sim: Simulation, steps: int, interrupted: Callable[[], bool]) -> Report:
    """Take steps in blocks; while recording, let the writer catch up in between. Returns the last report."""
    while True:
        block = min(steps, MAX_STEPS_PER_LAUNCH if sim.recorder is None else sim.recorder.block)
        report = sim.step(block)
        steps -= block
        if sim.recorder is not None:
            sim.recorder.catch_up()
        if interrupted():
            raise KeyboardInterrupt
        if steps <= 0:
            return report


def run_impulses(
    model: Model, recorded: Reals, solver: str, method: str, dt: float, control: Control | None,
    room: dict[str, Any], progress: bool, path: str | Path | None, rate: float,
) -> Trajectory:  # fmt: skip
    """Run the impulse solver to the recording times, by equal steps of at most dt (s) between them. room: capacities
    for contacts and pairs; path, rate: of `Simulation.record`, where there is a path."""
    from sharnir.simulation.simulation import Simulation

    sim = Simulation(model, solver=solver, dt=dt, method=method, **room)
    collector = TrajectoryCollector(sim)
    if control is not None:
        sim.add_controller(lambda s: collector.ask(control))
        collector.ask(control)
    collector.record(None)
    started, finished = time.perf_counter(), False

    def facts() -> dict[str, Any]:
        return {"solver": solver, "method": method, "dt": dt, "finished": finished, "evaluations": sim.counts.steps,
                "seconds": time.perf_counter() - started, "warnings": sim.counts.warnings}  # fmt: skip

    try:
        recording = nullcontext() if path is None else sim.record(path, rate=rate)
        shown = bar(model.name, float(recorded[-1]), progress)
        with recording, shown as advance, deferred_interrupt() as interrupted:
            for t in recorded[1:]:
                steps = max(1, int(np.ceil((t - sim.time) / dt - 1e-6)))
                step = (t - sim.time) / steps
                if abs(step - sim.dt) > 1e-9 * dt:
                    sim.dt = step
                report = take_steps(sim, steps, interrupted)
                if control is not None:
                    collector.ask(control)
                collector.record(report)
                advance(t)
        finished = True
    except KeyboardInterrupt:
        pass
    except SimulationError as error:
        error.trajectory = collector.trajectory(**facts())
        raise
    return collector.trajectory(**facts())
