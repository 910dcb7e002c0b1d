"""Runs of sequential impulses as trajectories, in the coordinates of the scene's own model whatever the solver."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from sharnir.errors import SimulationError
from sharnir.model import Model, Reals
from sharnir.progress import bar
from sharnir.rotations import matrix_to_quat

if TYPE_CHECKING:
    from sharnir.simulation import Report, Simulation
    from sharnir.trajectory import Control, Trajectory


def joint_state(sim: Simulation) -> tuple[Reals, Reals, Reals, Reals]:
    """q, v, loop q and loop v of the scene's model at the present state (of one world)."""
    m, inner = sim.model, sim.inner
    if m is inner:
        return sim.q.copy(), sim.v.copy(), sim._column(sim.impulses.state.loop_q).copy(), sim.seen("loop_v").copy()
    q, v = np.zeros(m.nq), np.zeros(m.nv)
    loop_q, loop_v = np.zeros(int(m.loop_q_start[-1])), np.zeros(int(m.loop_v_start[-1]))
    for name in m.joint_names:
        where = m.joint(name)
        if name in inner.joint_names[inner.nb :]:
            joint = sim.joint(name)
            position, velocity = joint.position, joint.velocity
        else:  # a free joint nobody described
            position, velocity = body_state(sim, m.body_names[m.joint_names.index(name)])
        (loop_q if where.closes_loop else q)[where.q] = position
        (loop_v if where.closes_loop else v)[where.v] = velocity
    return q, v, loop_q, loop_v


def body_state(sim: Simulation, name: str) -> tuple[Reals, Reals]:
    """Coordinates of a free joint from the world to a body's frame."""
    body = sim.body(name)
    position = np.concatenate([body.position, matrix_to_quat(body.rotation)])
    return position, np.concatenate([body.velocity, body.rotation.T @ body.angular_velocity])


class Recorder:
    """Collects what a trajectory holds."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self.rows: list[dict[str, Any]] = []
        self.control = np.zeros(sim.model.nv)

    def record(self, report: Report | None) -> None:
        """Note the present state."""
        sim = self.sim
        q, v, loop_q, loop_v = joint_state(sim)
        kinetic, potential = sim.energy
        error = (0.0 if report is None else report.position_error, np.nan)
        self.rows.append({
            "t": sim.time, "q": q, "v": v, "loop_q": loop_q, "loop_v": loop_v, "kinetic": kinetic, "loop_error": error,
            "potential": potential, "work": np.nan, "control": self.control.copy(),
        })  # fmt: skip

    def ask(self, control: Control) -> None:
        """Put what a control function asks for at the present state on the tree's coordinates."""
        sim, model = self.sim, self.sim.model
        q, v, _, _ = joint_state(sim)
        self.control[:] = model.checked("control", control(sim.time, q, v), model.nv)
        for name in model.joint_names[: model.nb]:
            where = model.joint(name)
            if where.v.stop > where.v.start:
                sim.joint(name).control = self.control[where.v]

    def trajectory(self, **facts: Any) -> Trajectory:
        from sharnir.trajectory import Trajectory

        columns: dict[str, Any] = {name: np.array([row[name] for row in self.rows]) for name in self.rows[0]}
        return Trajectory(model=self.sim.model, system=None, **columns, **facts)


def record_run(
    model: Model, recorded: Reals, solver: str, method: str, dt: float, control: Control | None,
    room: dict[str, Any], progress: bool,
) -> Trajectory:  # fmt: skip
    """Run sequential impulses to the recording times, by equal steps of at most dt between them; room: of `Simulation`,
    for contacts and pairs."""
    from sharnir.simulation import Simulation

    sim = Simulation(model, solver=solver, dt=dt, method=method, **room)
    recorder = Recorder(sim)
    if control is not None:
        sim.add_controller(lambda s: recorder.ask(control))
        recorder.ask(control)
    recorder.record(None)
    started, finished = time.perf_counter(), False

    def facts() -> dict[str, Any]:
        return {"solver": solver, "method": method, "dt": dt, "finished": finished, "evaluations": sim.counts.steps,
                "seconds": time.perf_counter() - started}  # fmt: skip

    try:
        with bar(model.name, float(recorded[-1]), progress) as advance:
            for t in recorded[1:]:
                steps = max(1, int(np.ceil((t - sim.time) / dt - 1e-6)))
                step = (t - sim.time) / steps
                if abs(step - sim.dt) > 1e-9 * dt:
                    sim.dt = step
                report = sim.step(steps)
                if control is not None:
                    recorder.ask(control)
                recorder.record(report)
                advance(t)
        finished = True
    except KeyboardInterrupt:
        pass
    except SimulationError as error:
        error.trajectory = recorder.trajectory(**facts())
        raise
    return recorder.trajectory(**facts())
