"""A scene run by us and by MuJoCo, side by side: chunks of steps with a clock, and what they show."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from sharnir.compiler.maximal import maximal
from sharnir.errors import SimulationError
from sharnir.impulse.engine import STEPS_PER_GRAPH
from sharnir.impulse.row_kinds import CONTACT_IMPULSES
from sharnir.impulse.settings import MAX_STEPS_PER_LAUNCH
from sharnir.impulse.slots import CONTACT_KEY_SIZE, ContactKey, PrevContact, PrevStep, ReportItem, StopReason
from sharnir.impulse.ticks import ticks_per_second
from sharnir.model.model import Model, Reals
from sharnir.simulation.simulation import Simulation
from sharnir.simulation.step_report import evaluate_steps

LOADED = 1e-3  # of the mean force of the points that touch: with less a point carries no load

UNCONVERGED = (StopReason.CAPPED, StopReason.STALLED)


def place(sim: Simulation, q: Reals) -> None:
    """Start anew at rest at positions q [nq] of the scene's model."""
    posed = replace(sim.model, q0=q, v0=np.zeros(sim.model.nv), cache={})
    inner = maximal(posed) if sim.solver == "simmc" else posed
    sim.impulses.start(*(x[:, None] for x in (inner.q0, inner.v0, inner.loop_q0)))


def _farthest(ways: Reals) -> float:
    """Length of the longest of some vectors [n, 3]."""
    return float(np.linalg.norm(ways, axis=1).max())


class Runner:
    """A run that is timed chunk by chunk. Whoever runs says how to step, where bodies are and how deep they overlap."""

    name = ""

    def __init__(self, dt: float) -> None:
        self.dt = dt
        self.forget()

    def forget(self) -> None:
        """Begin a new record."""
        self.seconds: list[float] = []  # per step, of every chunk
        self.contacts: list[float] = []  # at the end of every chunk, or their mean
        self.sunk = 0.0  # m, the deepest overlap at the end of a chunk
        self.creep = self.jitter = np.nan  # m/s, the fastest body: mean of a second, and of a single step
        self.slip = self.slip_most = np.nan  # m/s, by which loaded points slide: 99 of 100 of them, and all

    def place(self, q: Reals) -> None:
        """Start anew at rest at positions q [nq] of the scene's model."""
        raise NotImplementedError

    def push(self, control: Reals, inputs: Reals) -> None:
        """From now on these forces [nv] on the coordinates, and these inputs of the actuators."""
        raise NotImplementedError

    def advance(self, steps: int) -> None:
        """Some steps and nothing else."""
        raise NotImplementedError

    def note(self, steps: int) -> None:
        """Record what the last steps show."""
        raise NotImplementedError

    def positions(self) -> Reals:
        """[nb, 3] m, of all bodies."""
        raise NotImplementedError

    def touching(self) -> tuple[Reals, Reals, Reals]:
        """A step, and of points that touch as it begins normals [n, 3], speeds against each other [n, 3] and forces
        along the normal (N) [n]."""
        raise NotImplementedError

    def chunk(self, steps: int) -> None:
        """Some steps with a clock."""
        began = time.perf_counter()
        self.advance(steps)
        self.seconds.append((time.perf_counter() - began) / steps)
        self.note(steps)

    def watch_rest(self) -> None:
        """Measure how bodies at rest creep in the next second, move in a single step after it, and slide then."""
        start = self.positions()
        steps = round(1.0 / self.dt)
        for done in range(0, steps, MAX_STEPS_PER_LAUNCH):
            self.advance(min(MAX_STEPS_PER_LAUNCH, steps - done))
        end = self.positions()
        normal, speed, force = self.touching()
        self.creep = _farthest(end - start)
        self.jitter = _farthest(self.positions() - end) / self.dt
        along = speed - normal * np.sum(normal * speed, axis=1, keepdims=True)
        slips = np.linalg.norm(along[force > LOADED * force.mean()], axis=1)
        self.slip, self.slip_most = (float(x) for x in np.percentile(slips, (99, 100))) if len(slips) else (0.0, 0.0)


class Ours(Runner):
    """One of our solvers."""

    def __init__(self, model: Model, solver: str, dt: float, settings: dict[str, Any]) -> None:
        self.name = solver
        self.sim = Simulation(model, solver=solver, dt=dt, **settings)
        self.sim.impulses.step(STEPS_PER_GRAPH + 1)  # loads the kernels
        self.sim.reset()
        self.weight = float(model.mass.sum() * np.linalg.norm(model.gravity))  # N
        super().__init__(dt)

    def forget(self) -> None:
        super().forget()
        self.reports: list[np.ndarray] = []

    def place(self, q: Reals) -> None:
        place(self.sim, q)

    def push(self, control: Reals, inputs: Reals) -> None:
        sim = self.sim
        sim.applied_control.numpy()[: len(control), 0] = control
        if len(inputs):
            sim.impulses.state.actuator_input.numpy()[:, 0] = inputs

    def advance(self, steps: int) -> None:
        self.sim.impulses.step(steps)

    def note(self, steps: int) -> None:
        report = self.sim.impulses.reports(steps)[:, :, 0].copy()
        self.reports.append(report)
        evaluate_steps(self.sim, len(report), report[:, :, None])  # raises where it diverged or ran out of room
        state = self.sim.impulses.state
        count = int(state.prev_contact_keys.numpy()[ContactKey.COUNT, 0])
        gaps = state.prev_contact_geometry.numpy()[:, 0].reshape(-1, PrevContact.SIZE)[:count, PrevContact.GAP]
        self.sunk = max(self.sunk, -float(gaps.min(initial=0.0)))
        self.contacts.append(float(report[:, ReportItem.CONTACT_POINTS].mean()))

    def positions(self) -> Reals:
        self.sim._changed()
        return self.sim.seen("position").reshape(-1, 3).copy()

    def touching(self) -> tuple[Reals, Reals, Reals]:
        sim, state = self.sim, self.sim.impulses.state
        sim._changed()
        seen = {name: sim.seen(name).copy() for name in ("velocity", "position")}
        self.advance(1)
        keys = state.prev_contact_keys.numpy()[:, 0]
        count = int(keys[ContactKey.COUNT])
        pairs = keys[ContactKey.PAIR :: CONTACT_KEY_SIZE][:count]
        links = sim.inner.shape_link[np.array(np.divmod(pairs, len(sim.inner.shape_link)))]
        at = state.prev_contact_geometry.numpy()[:, 0].reshape(-1, PrevContact.SIZE)[:count]
        point, normal = at[:, PrevContact.POINT : PrevContact.NORMAL], at[:, PrevContact.NORMAL : PrevContact.GAP]
        impulse = state.prev_contact_impulse.numpy()[:, 0].reshape(-1, CONTACT_IMPULSES)[:count, :3]
        duration = state.prev_step.numpy()[PrevStep.FORCE_TIME, 0]
        still = np.zeros((1, 6))  # link −1 is the world
        velocity = np.vstack([seen["velocity"].reshape(-1, 6), still])[links]
        arm = point - np.vstack([seen["position"].reshape(-1, 3), still[:, :3]])[links]
        first, second = velocity[..., :3] + np.cross(velocity[..., 3:], arm)
        return normal, second - first, np.sum(normal * impulse, axis=1) / duration

    def facts(self) -> dict[str, Any]:
        """Sweeps, residuals and times of the run."""
        r = np.concatenate(self.reports)
        steps = 1e6 * r[:, ReportItem.STEP_TICKS] / ticks_per_second()
        search = max(0.0, 1e6 * float(np.mean(self.seconds)) - float(steps.mean()))
        residual = float(r[:, ReportItem.SWEEP_RESIDUAL].max())
        return {
            "sweeps_mean": float(r[:, ReportItem.SWEEP_COUNT].mean()),
            "sweeps_max": int(r[:, ReportItem.SWEEP_COUNT].max()),
            "capped": float(np.isin(r[:, ReportItem.STOP_REASON], UNCONVERGED).mean()), "residual": residual,
            "residual_of_weight": residual / (self.weight * self.dt), "search_us": search,
            "step_p99.9": float(np.percentile(steps, 99.9)) + search,
        }  # fmt: skip


class Peer(Runner):
    """MuJoCo."""

    def __init__(self, model: Model, twin: Any) -> None:
        """twin: the MjModel of a model."""
        import mujoco

        from sharnir.io.mujoco_model import start, to_qpos, velocity_order

        self.mujoco = mujoco
        solver = mujoco.mjtSolver(twin.opt.solver).name[6:].lower()
        self.name = f"mujoco {mujoco.__version__} {solver}"
        self.twin = twin
        self.data = start(model, self.twin)
        self.began = start(model, self.twin)
        self._to_qpos, self._order = lambda q: to_qpos(model, q), velocity_order(model)
        super().__init__(float(twin.opt.timestep))

    def place(self, q: Reals) -> None:
        self.mujoco.mj_copyData(self.data, self.twin, self.began)
        self.data.qpos[:], self.data.qvel[:] = self._to_qpos(q), 0.0
        self.mujoco.mj_forward(self.twin, self.data)

    def push(self, control: Reals, inputs: Reals) -> None:
        self.data.qfrc_applied[:] = control[self._order]
        self.data.ctrl[:] = inputs

    def advance(self, steps: int) -> None:
        self.mujoco.mj_step(self.twin, self.data, nstep=steps)

    def note(self, steps: int) -> None:
        self.sunk = max(self.sunk, -float(self.data.contact.dist.min(initial=0.0)))
        self.contacts.append(float(self.data.ncon))
        if self.data.warning.number.any():
            raise SimulationError(f"MuJoCo warns: {self.data.warning.number}")

    def positions(self) -> Reals:
        self.mujoco.mj_kinematics(self.twin, self.data)
        return np.array(self.data.xpos[1:])

    def touching(self) -> tuple[Reals, Reals, Reals]:
        m, d = self.twin, self.data
        self.mujoco.mj_forward(m, d)
        body = m.geom_bodyid[d.contact.geom].T  # [2, n]
        arm = d.contact.pos - d.subtree_com[m.body_rootid[body]]
        first, second = d.cvel[body][..., 3:] + np.cross(d.cvel[body][..., :3], arm)
        wrench = np.zeros((d.ncon, 6))
        for c in range(d.ncon):
            self.mujoco.mj_contactForce(m, d, c, wrench[c])
        normal = d.contact.frame[:, :3].copy()
        self.advance(1)
        return normal, second - first, wrench[:, 0]


def peer_of(model: Model, dt: float, solver: str) -> Peer | None:
    """MuJoCo on the same model, where it is installed."""
    try:
        import mujoco

        from sharnir.io.mujoco_model import twin
    except ImportError:
        return None
    built = twin(model, dt)
    built.opt.solver = {"newton": mujoco.mjtSolver.mjSOL_NEWTON, "cg": mujoco.mjtSolver.mjSOL_CG}[solver]
    return Peer(model, built)
